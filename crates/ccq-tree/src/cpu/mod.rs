//! Trees on the CPU, on all cores; in a pool of one thread, on one.

mod build;
mod merge;
mod merged;

pub(crate) use build::build_tile;
pub(crate) use build::{build, build_forest};
#[cfg(feature = "cuda")]
pub(crate) use merge::Merging;
pub(crate) use merge::{Tiles, merge, of_root, relinked};
pub use merged::Merged;

use crate::{Aggregate, Fielded, Fields, Number, Result};

/// Returns a data field of any type for each node of a [`Tree`](crate::Tree), or of a [`CodedTree`](crate::CodedTree) without bins.
///
/// Work: O(nodes), in 8 bytes a node beside the fields.
///
/// # Errors
/// [`Error::Binned`](crate::Error::Binned) for a coded tree of bins; [`Error::Core`](crate::Error::Core) where there is not the memory.
pub fn fields<'t, T: Number, A: Aggregate<T>>(
    tree: impl Into<Fielded<'t, T>>,
    aggregate: A,
) -> Result<Fields<'t, T, A>> {
    crate::fields::of_nodes(tree.into(), aggregate)
}
