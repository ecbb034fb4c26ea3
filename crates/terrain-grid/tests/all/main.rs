//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod gdal;
mod made;
mod parts;
mod products;
mod surfaces;

#[cfg(feature = "cuda")]
mod graph;
#[cfg(feature = "cuda")]
mod streams;
