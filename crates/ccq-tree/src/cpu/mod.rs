//! Trees on the CPU, on all cores; in a pool of one thread, on one.

mod build;
mod merge;
mod merged;

pub(crate) use build::build_tile;
pub use build::{build, build_forest};
#[cfg(feature = "cuda")]
pub(crate) use merge::{Merging, of_root};
pub use merged::Merged;

use crate::{Aggregate, Cell, Fields, Result, Tree};

/// A data field of any type for each node of a tree.
///
/// Work: O(nodes), in 8 bytes a node beside the fields.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core) where there is not the memory.
pub fn fields<T: Cell, A: Aggregate<T>>(tree: &Tree<T>, aggregate: A) -> Result<Fields<'_, T, A>> {
    crate::fields::of_nodes(tree, aggregate)
}
