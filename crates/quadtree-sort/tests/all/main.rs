//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod build;
mod file;
mod globe;
mod parts;
mod queries;
mod types;
mod values;

#[cfg(feature = "cuda")]
mod index;
#[cfg(feature = "cuda")]
mod resident;
#[cfg(feature = "cuda")]
mod stream;
#[cfg(feature = "cuda")]
mod streams;
