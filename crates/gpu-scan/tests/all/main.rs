//! The tests of the crate, in one binary: what is generic over elements and operators is compiled once
//! for all of them.

mod cpu;

/// The error of an array that has not the length of another.
fn length(what: &'static str, expected: u64, found: u64) -> gpu_scan::Error {
    gpu_core::Error::Length { what, expected, found }.into()
}

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
mod top_k;
#[cfg(feature = "cuda")]
mod types;
