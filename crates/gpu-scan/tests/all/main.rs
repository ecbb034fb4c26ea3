//! The tests of the crate, in one binary: what is generic over elements and operators is compiled once
//! for all of them.

mod cpu;

#[cfg(feature = "cuda")]
mod by_key;
#[cfg(feature = "cuda")]
mod columns;
#[cfg(feature = "cuda")]
mod common;
#[cfg(feature = "cuda")]
mod extent;
#[cfg(feature = "cuda")]
mod graph;
#[cfg(feature = "cuda")]
mod histogram;
#[cfg(feature = "cuda")]
mod hostile;
#[cfg(feature = "cuda")]
mod large;
#[cfg(feature = "cuda")]
mod primitives;
#[cfg(feature = "cuda")]
mod segments;
#[cfg(feature = "cuda")]
mod sort;
#[cfg(feature = "cuda")]
mod sorted;
#[cfg(feature = "cuda")]
mod streams;
#[cfg(feature = "cuda")]
mod types;
