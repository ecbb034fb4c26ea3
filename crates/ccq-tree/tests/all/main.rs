//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod apart;
mod build;
mod coded;
mod common;
mod fields;
mod file;
mod geo;
mod query;
mod regions;

#[cfg(feature = "cuda")]
mod resident;
#[cfg(feature = "cuda")]
mod sets;
#[cfg(feature = "cuda")]
mod streams;
#[cfg(feature = "cuda")]
mod tiles;
