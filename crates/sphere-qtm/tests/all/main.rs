//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod common;
mod cover;
mod geo;
mod mesh;
mod nearest;
mod properties;
mod regions;
mod scipy;
mod voronoi;

#[cfg(feature = "cuda")]
mod resident;
#[cfg(feature = "cuda")]
mod shapes;
#[cfg(feature = "cuda")]
mod streams;
