//! The kernels of `gpu-scan`: reductions, scans, selections, sorts and what goes with them, over arrays.
//!
//! A module has one subject. What several modules share is in [`operators`] and [`value`], or in `device-std` if it is
//! not about arrays of numbers.

#[cfg(feature = "columns")]
pub mod columns;
#[cfg(feature = "elementwise")]
pub mod elementwise;
#[cfg(feature = "extent")]
pub mod extent;
#[cfg(feature = "flags")]
pub mod flags;
#[cfg(feature = "histogram")]
pub mod histogram;
#[cfg(feature = "merge")]
pub mod merge;
#[cfg(any(feature = "segment_keys", feature = "segment_totals", feature = "top_k"))]
pub mod offsets;
pub mod operators;
#[cfg(feature = "reduce")]
pub mod reduce;
#[cfg(feature = "reduce_by_key")]
pub mod reduce_by_key;
#[cfg(feature = "scan")]
pub mod scan;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "segment_keys")]
pub mod segment_keys;
#[cfg(feature = "segment_totals")]
pub mod segment_totals;
#[cfg(feature = "select")]
pub mod select;
#[cfg(feature = "sort")]
pub mod sort;
#[cfg(feature = "top_k")]
pub mod top_k;
pub mod value;
