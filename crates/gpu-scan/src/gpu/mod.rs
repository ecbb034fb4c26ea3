//! The primitives on a GPU, over device columns.
//!
//! Every function enqueues its work on the stream of the [`Workspace`] it is given and returns:
//! nothing waits for the device, and results that are a single number are written to a device
//! column too. Temporary storage comes from the workspace, which grows at the first call that
//! needs more and stays so: in steady state nothing is allocated.

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
mod segments;
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
pub use top_k::top_k;
pub use workspace::Workspace;
