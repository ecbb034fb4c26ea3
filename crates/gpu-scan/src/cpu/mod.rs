//! The primitives on the CPU, over slices, on rayon's threads.
//!
//! The functions have the names of those on the GPU and give the same results, bit for bit: for
//! sums of floats too, since both follow [one order](crate#sums-of-floats). Only a NaN that an
//! addition makes may differ, in sign and payload, which IEEE 754 leaves to the processor.

mod reduce;
mod scan;
mod segments;
mod tile;

pub use reduce::{index_of_max, index_of_min, reduce};
pub use scan::{
    scan, scan_by_key, scan_by_key_in_place, scan_in_place, scan_rows, scan_rows_in_place,
    segmented_scan, segmented_scan_in_place,
};
