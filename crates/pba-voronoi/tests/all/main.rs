//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod exactness;
mod globe;
mod ground;
mod scipy;
mod strips;
mod transforms;

#[cfg(feature = "cuda")]
mod graph;
#[cfg(feature = "cuda")]
mod hostile;
#[cfg(feature = "cuda")]
mod streams;
