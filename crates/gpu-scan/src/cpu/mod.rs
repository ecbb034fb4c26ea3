//! The primitives on the CPU, over slices, by all cores: the results of the GPU's, bit for bit.
//!
//! Where a GPU function writes to the front of an array and counts, its twin here returns a vector.
//! Scans and reductions have no twin yet.

mod elementwise;
mod select;

pub use elementwise::{adjacent_difference, fill, gather, scatter, sequence, transpose};
pub use select::{partition, partition_three, run_lengths, select_flagged, select_if, unique};

/// Elements that a core works on at a time.
const CHUNK: usize = 1 << 16;
