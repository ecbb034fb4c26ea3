//! Lower and upper bounds.

use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::search::{RESIDENT, TILE, bounds as kernel, pivot_steps};

use super::Workspace;
use super::workspace::{apart, tiles};
use crate::error::{Result, same_len};
use crate::number::{Direction, Number, total_order};

/// For each query the number of elements of `sorted` that are less: the first place where it could
/// be inserted.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last. Of an array that is not sorted
/// the results are some numbers up to its length. Each query takes log2(n) reads.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a result for each query,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn lower_bound<'a, 'b, 'c, T: Number>(
    workspace: &mut Workspace,
    sorted: impl Into<Slice<'a, T>>,
    queries: impl Into<Slice<'b, T>>,
    output: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (sorted, queries, mut output) =
        (workspace.read(sorted)?, workspace.read(queries)?, workspace.write(output)?);
    bounds(workspace, *sorted, *queries, false, output.reborrow())
}

/// For each query the number of elements of `sorted` that are less or equal: the last place where
/// it could be inserted. Otherwise as [`lower_bound`].
///
/// # Errors
/// As [`lower_bound`].
pub fn upper_bound<'a, 'b, 'c, T: Number>(
    workspace: &mut Workspace,
    sorted: impl Into<Slice<'a, T>>,
    queries: impl Into<Slice<'b, T>>,
    output: impl Into<SliceMut<'c, u64>>,
) -> Result<()> {
    let (sorted, queries, mut output) =
        (workspace.read(sorted)?, workspace.read(queries)?, workspace.write(output)?);
    bounds(workspace, *sorted, *queries, true, output.reborrow())
}

fn bounds<T: Number>(
    workspace: &mut Workspace,
    sorted: Slice<'_, T>,
    queries: Slice<'_, T>,
    upper: bool,
    mut output: SliceMut<'_, u64>,
) -> Result<()> {
    same_len("output", queries.len(), output.len())?;
    let to = ("output", output.as_mut_ptr().cast_const(), output.len());
    apart(("sorted", sorted.as_ptr(), sorted.len()), to)?;
    apart(("queries", queries.as_ptr(), queries.len()), to)?;
    let count = queries.len() as u64;
    let len = sorted.len() as u64;
    let most = workspace.gpu().multiprocessors() * RESIDENT;
    let tiles = tiles(count, TILE)?;
    let blocks = tiles.min(most);
    let tiles_of_block = u64::from(tiles / blocks.max(1));
    let arguments = kernel::Args {
        sorted: sorted.as_ptr().cast(),
        len,
        queries: queries.as_ptr().cast(),
        count,
        parameters: total_order::<T>(Direction::Ascending).parameters(),
        upper: u32::from(upper),
        steps: pivot_steps(len, tiles_of_block, size_of::<T>()),
        output: output.as_mut_ptr(),
    };
    let kernel = <T::Bits as kernel::Instance>::KERNEL;
    // SAFETY: the arrays are as long as the kernel asks; without queries there is no block.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(blocks), arguments)? };
    Ok(())
}
