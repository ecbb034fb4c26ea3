//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod accuracy;
mod clouds;
mod common;
mod double;
mod expansion;
mod gdal;
mod globe;
mod input;
mod neighbours;
mod pairs;
mod parts;
mod together;
mod validation;

#[cfg(feature = "cuda")]
mod resident;
#[cfg(feature = "cuda")]
mod streams;
