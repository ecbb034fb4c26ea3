//! Reductions to one value.

use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::operators::Order;
use kernels_rs::primitives::reduce::{self as kernels, Input, chunks};

use super::Workspace;
use super::workspace::Layout;
use crate::error::{Result, same_len};
use crate::number::{Direction, nan_last};
use crate::{Number, ReduceOperator};

/// Combines all elements into `result[0]`. The sum of no elements is 0. The least (greatest) of no elements, or of
/// NaNs alone, is the type's greatest (least) value, or an infinity.
///
/// Cost: one read of each element.
///
/// Example: see [`cpu::reduce`](crate::cpu::reduce()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length): the result does not have one element.
pub fn reduce<'a, T: Number, O: ReduceOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    input: impl Into<Slice<'a, T>>,
    result: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (input, result) = (input.into(), result.into());
    same_len("result", 1, result.len())?;
    let len = input.len() as u64;
    let (tiles, blocks) = chunks(len, size_of::<T>());
    // Without elements one block still writes the identity.
    let blocks = blocks.max(1) as u32;
    let mut layout = Layout::default();
    let partials = layout.part::<O::Element>(u64::from(blocks));
    let partials = workspace.arena(&layout)?.at(&partials);
    let arguments = kernels::reduce::Args {
        input: Input { elements: input.cast().input(), len, tiles },
        parameters: operator.parameters(),
        partials,
        done: workspace.done(),
        result: result.cast().output(),
    };
    let kernel = <O::Reduction as kernels::reduce::Instance<_>>::KERNEL;
    // SAFETY: the arrays are as long as the kernel asks.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(blocks), arguments)? };
    Ok(())
}

/// Writes the index of the least element to `result[0]`; of several equal ones the lowest index. It is `u64::MAX` if
/// all elements are NaN, or there are none. NaN is ignored; -0.0 is less than +0.0.
///
/// Example: see [`cpu::index_of_min`](crate::cpu::index_of_min()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length): the result does not have one element.
pub fn index_of_min<'a, T: Number>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    result: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    index_of_first(workspace, Direction::Ascending, input.into(), result.into())
}

/// Returns the index of the greatest element, under the rules of [`index_of_min`].
///
/// Example: see [`cpu::index_of_max`](crate::cpu::index_of_max()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`index_of_min`].
pub fn index_of_max<'a, T: Number>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    result: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    index_of_first(workspace, Direction::Descending, input.into(), result.into())
}

fn index_of_first<T: Number>(
    workspace: &mut Workspace,
    direction: Direction,
    input: Slice<'_, T>,
    result: SliceMut<'_, u64>,
) -> Result<()> {
    same_len("result", 1, result.len())?;
    let len = input.len() as u64;
    let (tiles, blocks) = chunks(len, size_of::<T>());
    let blocks = blocks.max(1) as u32;
    let mut layout = Layout::default();
    let partials = layout.part::<u64>(2 * u64::from(blocks));
    let partials = workspace.arena(&layout)?.at(&partials);
    let order: Order<T::Bits> = nan_last::<T>(direction);
    let arguments = kernels::index_of_least::Args {
        input: Input { elements: input.cast().input(), len, tiles },
        parameters: order.parameters(),
        // NaNs have the highest ranks.
        most: (u64::MAX >> (64 - 8 * size_of::<T>())) - 2 * T::NANS,
        partials,
        done: workspace.done(),
        result: result.output(),
    };
    let kernel = <T::Bits as kernels::index_of_least::Instance>::KERNEL;
    // SAFETY: as above.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(blocks), arguments)? };
    Ok(())
}
