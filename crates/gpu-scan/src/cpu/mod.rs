//! The primitives on the CPU, over slices, on rayon's threads.
//!
//! The functions have the same names as on the GPU and give the same results, bit for bit. This holds for sums of
//! floats too, since both follow [one order](crate#sums-of-floats). Only a NaN that results from an addition may differ
//! in sign and payload, which IEEE 754 leaves to the processor.
//!
//! If a GPU function writes to the front of an array and counts, its twin here returns a vector.

mod columns;
mod elementwise;
mod histogram;
mod merge;
mod reduce;
mod runs;
mod scan;
mod search;
mod segments;
mod select;
mod sort;
mod stretches;
mod tile;

pub use columns::{scan_columns, scan_columns_in_place};
pub use elementwise::{adjacent_difference, fill, gather, scatter, sequence, transpose};
pub use histogram::{histogram, histogram_even};
pub use merge::{merge_keys, merge_pairs};
pub use reduce::{index_of_max, index_of_min, reduce};
pub use runs::{reduce_by_key, run_lengths, segmented_reduce};
pub use scan::{
    scan, scan_by_key, scan_by_key_in_place, scan_in_place, scan_rows, scan_rows_in_place,
    segmented_scan, segmented_scan_in_place,
};
pub use search::{lower_bound, upper_bound};
pub use select::{partition, partition_three, select_flagged, select_if, unique};
pub(crate) use sort::SortsBits;
pub use sort::{
    argsort, segmented_sort, segmented_sort_pairs, segmented_top_k, sort, sort_in_place,
    sort_pairs, sort_pairs_in_place, top_k,
};

/// Elements that a core works on at a time.
const CHUNK: usize = 1 << 16;
