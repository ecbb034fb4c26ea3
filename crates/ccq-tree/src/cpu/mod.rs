//! Trees on the CPU, on all cores of the current rayon pool.

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
/// ```
/// use ccq_tree::{CodedParams, Sum, build_coded, cpu};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![0.5, 0.5, 2.0, 0.25], GridSpec::of_pixels(2, 2))?;
/// let tree = build_coded(&Device::Cpu, raster.view(), &CodedParams::new())?;
/// let total = cpu::fields::<f64, _>(&tree, Sum)?.root().expect("there are values");
/// assert_eq!((total.cells, total.sum.to_f64()), (4, 3.25));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::Binned`](crate::Error::Binned) for a coded tree of bins; [`Error::Core`](crate::Error::Core) where memory
/// does not suffice.
pub fn fields<'t, T: Number, A: Aggregate<T>>(
    tree: impl Into<Fielded<'t, T>>,
    aggregate: A,
) -> Result<Fields<'t, T, A>> {
    crate::fields::of_nodes(tree.into(), aggregate)
}
