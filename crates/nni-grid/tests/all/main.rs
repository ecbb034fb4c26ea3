//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod accuracy;
mod clouds;
mod common;
mod displacement;
mod exact;
mod gaps;
mod interpolation;
mod lengths;
mod linear;
mod odd;
mod options;
mod outside;
mod parts;

#[cfg(feature = "cuda")]
mod resident;
mod stray;
#[cfg(feature = "cuda")]
mod streams;
