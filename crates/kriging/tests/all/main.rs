//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod common;
mod gstat;
mod input;
mod validation;
mod values;
mod variogram;

#[cfg(feature = "cuda")]
mod resident;
