//! The primitives on a GPU, over device columns.
//!
//! Every function enqueues its work on the stream of its [`Workspace`] and returns. No call waits for the device: even
//! a result of one number goes to a device column. Temporary storage comes from the workspace, which grows at the first
//! call that needs more and keeps its size, so that later calls allocate nothing.
//!
//! # Examples
//!
//! Each function shares the example of its twin in [`cpu`](crate::cpu). Slices are columns here, and grids are
//! [`DeviceGrid`](gpu_core::DeviceGrid)s, which know their width. Where the twin on the host returns values, the call
//! writes them to columns that the caller provides. The forms of the calls are:
//!
//! ```
//! use gpu_core::{DeviceChoice, DeviceGrid, Gpu, GridSpec};
//! use gpu_scan::gpu::{Workspace, reduce, scan, scan_rows_in_place, select_if, sort_in_place};
//! use gpu_scan::{Predicate, Scan, Sort, Sum};
//!
//! # fn main() -> Result<(), gpu_scan::Error> {
//! let gpu = Gpu::open(DeviceChoice::Software)?;
//! let mut workspace = Workspace::new(&gpu)?;
//! let mut input = gpu.upload(&[3u32, 1, 4])?;
//!
//! // A result for each element.
//! let mut sums = gpu.zeroed::<u32>(3)?;
//! scan(&mut workspace, Sum, Scan::inclusive(), &input, &mut sums)?;
//! assert_eq!(sums.to_host()?, [3, 4, 8]);
//!
//! // One number.
//! let mut total = gpu.zeroed::<u32>(1)?;
//! reduce(&mut workspace, Sum, &input, &mut total)?;
//! assert_eq!(total.to_host()?, [8]);
//!
//! // Results at the front of a column as long as the input, and how many there are.
//! let (mut large, mut count) = (gpu.zeroed::<u32>(3)?, gpu.zeroed::<u64>(1)?);
//! select_if(&mut workspace, Predicate::at_least(3), &input, &mut large, &mut count)?;
//! assert_eq!(count.to_host()?, [2]);
//! assert_eq!(large.to_host()?[..2], [3, 4]);
//!
//! // In place.
//! sort_in_place(&mut workspace, Sort::ascending(), &mut input)?;
//! assert_eq!(input.to_host()?, [1, 3, 4]);
//!
//! // A grid: here one row of three cells.
//! let mut grid = DeviceGrid::from_column(input, GridSpec::of_pixels(3, 1))?;
//! scan_rows_in_place(&mut workspace, Sum, Scan::inclusive(), &mut grid)?;
//! assert_eq!(grid.column().to_host()?, [1, 4, 8]);
//! # Ok(())
//! # }
//! ```

mod columns;
mod elementwise;
mod extent;
mod histogram;
mod merge;
mod reduce;
mod runs;
mod scan;
mod search;
mod segmented_sort;
mod select;
mod sort;
mod top_k;
mod workspace;

pub use columns::{scan_columns, scan_columns_in_place};
pub use elementwise::{adjacent_difference, fill, gather, scatter, sequence, transpose};
pub use extent::extent;
pub use histogram::{histogram, histogram_even};
pub use merge::{merge_keys, merge_pairs};
pub use reduce::{index_of_max, index_of_min, reduce};
pub use runs::{reduce_by_key, run_lengths, segmented_reduce};
pub use scan::{
    scan, scan_by_key, scan_by_key_in_place, scan_in_place, scan_rows, scan_rows_in_place,
    segmented_scan, segmented_scan_in_place,
};
pub use search::{lower_bound, upper_bound};
pub use segmented_sort::{segmented_sort, segmented_sort_pairs};
pub use select::{partition, partition_three, select_flagged, select_if, unique};
pub use sort::{argsort, sort, sort_in_place, sort_pairs, sort_pairs_in_place, sort_with_indices};
pub use top_k::{segmented_top_k, top_k};
pub use workspace::Workspace;
