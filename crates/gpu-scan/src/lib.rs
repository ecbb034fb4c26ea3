//! Parallel primitives over typed device columns, as CUB has them for C++.
//!
//! | | [`gpu`] |
//! |---|---|
//! | reduce | [`reduce`](gpu::reduce) (sum, min, max), [`index_of_min`](gpu::index_of_min), [`index_of_max`](gpu::index_of_max), [`extent`](gpu::extent()), [`segmented_reduce`](gpu::segmented_reduce), [`reduce_by_key`](gpu::reduce_by_key) |
//! | scan | [`scan`](gpu::scan) (sum, min, max, last valid; inclusive, exclusive, backward), [`scan_by_key`](gpu::scan_by_key), [`segmented_scan`](gpu::segmented_scan), [`scan_rows`](gpu::scan_rows), [`scan_columns`](gpu::scan_columns) |
//! | select | [`select_if`](gpu::select_if), [`select_flagged`](gpu::select_flagged), [`unique`](gpu::unique), [`partition`](gpu::partition), [`partition_three`](gpu::partition_three), [`run_lengths`](gpu::run_lengths) |
//! | sort | [`sort`](gpu::sort()), [`sort_pairs`](gpu::sort_pairs), [`argsort`](gpu::argsort), [`sort_with_indices`](gpu::sort_with_indices), [`segmented_sort`](gpu::segmented_sort), [`segmented_sort_pairs`](gpu::segmented_sort_pairs), [`top_k`](gpu::top_k), [`segmented_top_k`](gpu::segmented_top_k) |
//! | count | [`histogram`](gpu::histogram) (between given bounds), [`histogram_even`](gpu::histogram_even) |
//! | sorted | [`lower_bound`](gpu::lower_bound), [`upper_bound`](gpu::upper_bound), [`merge_keys`](gpu::merge_keys), [`merge_pairs`](gpu::merge_pairs) |
//! | move | [`fill`](gpu::fill), [`sequence`](gpu::sequence), [`gather`](gpu::gather), [`scatter`](gpu::scatter), [`transpose`](gpu::transpose), [`adjacent_difference`](gpu::adjacent_difference) |
//!
//! Each has a twin of the same name in [`cpu`], over slices, with the same result bit for bit. The twin of `extent` is
//! [`gpu_core::Extent::of`].
//!
//! Elements are `u8`, `u16`, `u32`, `i32`, `u64`, `i64`, `f32`, `f64`. Sorts take all of these as keys, and values of 4 or
//! 8 bytes.
//! Arrays may be any parts of columns, and may be longer than 2^32. A call checks its arguments before it enqueues
//! anything.
//!
//! ```
//! use gpu_core::{DeviceChoice, Gpu};
//! use gpu_scan::gpu::{Workspace, scan};
//! use gpu_scan::{LastValid, Scan, Sum};
//!
//! # fn main() -> Result<(), gpu_scan::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?;
//! let mut workspace = Workspace::new(&gpu)?;
//!
//! let counts = gpu.upload(&[3u32, 1, 4, 1, 5])?;
//! let mut offsets = gpu.zeroed::<u32>(5)?;
//! scan(&mut workspace, Sum, Scan::exclusive(0), &counts, &mut offsets)?;
//! assert_eq!(offsets.to_host()?, [0, 3, 4, 8, 9]);
//!
//! let heights = gpu.upload(&[f32::NAN, 2.0, f32::NAN, 7.0])?;
//! let mut filled = gpu.zeroed::<f32>(4)?;
//! scan(&mut workspace, LastValid(f32::NAN), Scan::inclusive().backward(), &heights, &mut filled)?;
//! assert_eq!(filled.to_host()?, [2.0, 2.0, 7.0, 7.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Sums of floats
//!
//! A sum of floats depends on the order of its additions. Here that order depends only on the length of the array, not
//! on timing or the device. The same input gives the same bits in every run.
//!
//! A scan works on tiles of 256 threads x 8 rows x 16 bytes. Elements beyond the array's end count as zeros. The order:
//!
//! - A row has 32 vectors of 16 bytes. A vector is added up from its first element on.
//! - The sums of a row's vectors are scanned by doubling distances (Hillis and Steele 1986, DOI 10.1145/7902.7903).
//! - Rows, the 8 groups of 8 rows, and tiles follow one after the other.
//!
//! A reduction cuts the array into at most 1056 chunks. A chunk has whole tiles of 256 x 4 vectors. The order:
//!
//! - Each of a thread's four rows has a sum of its own over the chunk's tiles.
//! - Then a thread's rows are added one after the other, and lanes and warps pairwise.
//! - At the end, thread t adds up the sums of chunks t, t + 256, .., and the threads' sums are added as in a chunk.
//!
//! A reduction by key has tiles of 256 threads x 20 elements. If key and value together have more than 8 bytes, a
//! thread takes 12 elements; if more than 12 bytes, it takes 8. The order:
//!
//! - A thread adds up its own elements of each run, from the run's first element on. For a run that began earlier, it
//!   starts at its own first element.
//! - The sum of the run's earlier elements in the tile adds up earlier warps and lanes, each from the run's first
//!   element on. Warps are added one after the other, lanes by doubling distances.
//! - The thread's sum is added to the sum of these earlier elements. This total is then added to the sum of the earlier
//!   tiles, tile by tile.
//!
//! A segmented reduction gives a segment to 2^[`lanes_log2`](kernels_rs::primitives::segment_totals::lanes_log2) lanes.
//! Longer segments get more lanes; the mean length decides. Each of n lanes adds up every nth element to a sum that
//! begins at 0. Then the lanes are added pairwise.
//!
//! A segment with more than 512 elements for each lane is cut into chunks of 16,384 elements. A block of 256 threads
//! adds up a chunk in the same way, and then its warps' sums pairwise. The chunks' sums are then added up in the same
//! way.
//!
//! A scan along columns takes a column row by row, in chunks of [`chunks`](kernels_rs::primitives::columns::chunks)
//! rows. Each chunk is added up from its first row on, and then the chunks one after the other. At last, the sum of all
//! earlier chunks is added to each chunk's rows. The number of rows of a chunk depends on the shape of the grid alone.
//!
//! # The order of numbers
//!
//! Merges and searches use one total order: -inf < .. < -0.0 < +0.0 < .. < +inf < NaN; NaNs with the sign bit come
//! last. Histograms compare floats as numbers: there -0.0 equals +0.0.
//!
//! # For kernels of your own
//!
//! The building blocks of the primitives are in `device-std`, in layers. The table in docs/internals/gpu-scan.md says
//! which threads must cooperate and where a result is valid.
#![deny(missing_docs)]

pub mod cpu;
mod error;
#[cfg(feature = "cuda")]
pub mod gpu;
mod histogram;
mod number;
mod operators;
mod options;
mod predicate;

pub use error::{Error, Result};
pub use histogram::Histogram;
pub use number::{Count, Direction, Index, Key, Number, Payload};
pub use operators::{LastValid, Max, Min, ReduceOperator, ScanOperator, Sum};
pub use options::{Merge, Scan, Sort, TopK};
pub use predicate::Predicate;
