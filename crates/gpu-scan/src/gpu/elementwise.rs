//! Elementwise primitives: fill, sequence, adjacent difference, gather, scatter, transpose.

use device_std::host::Kernel;
use device_std::{In, Out};
use gpu_core::{Arguments, Blocks, DeviceGrid, Slice, SliceMut};
use kernels_rs::primitives::elementwise::{self as kernels, MOVED, SIDE, tile_len};

use super::Workspace;
use super::workspace::apart;
use crate::error::{Error, Result, same_len};
use crate::number::{Index, Number, sealed::IndexSize};

/// The most blocks of a grid in y.
const MAX_Y: u32 = 65_535;

/// Sets every element to `value`.
///
/// Example: see [`cpu::fill`](crate::cpu::fill()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Core`](Error::Core).
pub fn fill<'a, T: Number>(
    workspace: &mut Workspace,
    value: T,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let output = output.into();
    let len = output.len() as u64;
    let output = output.cast().output();
    let arguments = kernels::fill::Args { output, len, value: value.bits() };
    let kernel = <T::Bits as kernels::fill::Instance>::KERNEL;
    // SAFETY: the output has `len` elements.
    unsafe { launch(workspace, kernel, len.div_ceil(tile_len(size_of::<T>())), arguments) }
}

/// Sets element i to `start + i * step`: wrapping for integers, two rounded operations for floats.
///
/// Example: see [`cpu::sequence`](crate::cpu::sequence()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Core`](Error::Core).
pub fn sequence<'a, T: Number>(
    workspace: &mut Workspace,
    start: T,
    step: T,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let output = output.into();
    let len = output.len() as u64;
    let (start, step) = (bytemuck::cast(start), bytemuck::cast(step));
    let output = output.cast().output();
    let arguments = kernels::sequence::Args { output, len, start, step };
    let kernel = <T::Sum as kernels::sequence::Instance>::KERNEL;
    // SAFETY: the output has `len` elements.
    unsafe { launch(workspace, kernel, len.div_ceil(tile_len(size_of::<T>())), arguments) }
}

/// `output[i] = input[i] - input[i - 1]`, and the first element as it is. For integers, which wrap, this is the inverse
/// of an inclusive sum.
///
/// Example: see [`cpu::adjacent_difference`](crate::cpu::adjacent_difference()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length), [`Overlap`](Error::Overlap).
pub fn adjacent_difference<'a, T: Number>(
    workspace: &mut Workspace,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (input, output) = (input.into(), output.into());
    same_len("output", input.len(), output.len())?;
    apart(("input", input), ("output", &output))?;
    let len = input.len() as u64;
    let (input, output) = (input.cast().input(), output.cast().output());
    let arguments = kernels::difference::Args { input, output, len };
    let kernel = <T::Sum as kernels::difference::Instance>::KERNEL;
    // SAFETY: both arrays have `len` elements and are apart.
    unsafe { launch(workspace, kernel, len.div_ceil(tile_len(size_of::<T>())), arguments) }
}

/// `output[i] = input[indices[i]]`. If an index lies beyond the input, the call leaves the output's element unchanged.
///
/// Example: see [`cpu::gather`](crate::cpu::gather()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is an index for each element of the output,
/// [`Overlap`](Error::Overlap) of the output with one of the others.
pub fn gather<'a, T: Number, I: Index>(
    workspace: &mut Workspace,
    indices: impl Into<Slice<'a, I>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (indices, input, output) = (indices.into(), input.into(), output.into());
    same_len("output", indices.len(), output.len())?;
    apart(("input", input), ("output", &output))?;
    apart(("indices", indices), ("output", &output))?;
    let (len, input_len) = (indices.len() as u64, input.len() as u64);
    let (input, output) = (input.cast::<T::Bits>().input(), output.cast().output());
    // SAFETY: the arrays are as long as stated, and the output is apart.
    unsafe {
        match I::SIZE {
            IndexSize::Four => {
                let indices = indices.cast::<u32>().input();
                enqueue_gather(workspace, (indices, len), (input, input_len), output)
            }
            IndexSize::Eight => {
                let indices = indices.cast::<u64>().input();
                enqueue_gather(workspace, (indices, len), (input, input_len), output)
            }
        }
    }
}

/// Enqueues a gather.
///
/// # Safety
/// There are this many indices and elements of the input; the output has an element for each index, and is apart.
pub(super) unsafe fn enqueue_gather<I: Copy, B: kernels::gather::Instance<I> + Copy>(
    workspace: &Workspace,
    (indices, len): (In<'_, I>, u64),
    (input, input_len): (In<'_, B>, u64),
    output: Out<'_, B>,
) -> Result<()> {
    let arguments = kernels::gather::Args { indices, len, input, input_len, output };
    // SAFETY: the caller's promise; the kernel checks the indices.
    unsafe { launch(workspace, B::KERNEL, len.div_ceil(MOVED), arguments) }
}

/// `output[indices[i]] = input[i]`. Indices should be distinct: if elements share an index, the call writes any one of
/// them. The call ignores an element whose index lies beyond the output.
///
/// Example: see [`cpu::scatter`](crate::cpu::scatter()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is an index for each element of the input,
/// [`Overlap`](Error::Overlap) of the output with one of the others.
pub fn scatter<'a, T: Number, I: Index>(
    workspace: &mut Workspace,
    indices: impl Into<Slice<'a, I>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (indices, input, output) = (indices.into(), input.into(), output.into());
    same_len("indices", input.len(), indices.len())?;
    apart(("input", input), ("output", &output))?;
    apart(("indices", indices), ("output", &output))?;
    let (len, output_len) = (input.len() as u64, output.len() as u64);
    let blocks = len.div_ceil(MOVED);
    let (input, output) = (input.cast().input(), output.cast().output());
    // SAFETY: as above.
    unsafe {
        match I::SIZE {
            IndexSize::Four => {
                let indices = indices.cast().input();
                let arguments = kernels::scatter::Args { indices, len, input, output, output_len };
                let kernel = <T::Bits as kernels::scatter::Instance<u32>>::KERNEL;
                launch(workspace, kernel, blocks, arguments)
            }
            IndexSize::Eight => {
                let indices = indices.cast().input();
                let arguments = kernels::scatter::Args { indices, len, input, output, output_len };
                let kernel = <T::Bits as kernels::scatter::Instance<u64>>::KERNEL;
                launch(workspace, kernel, blocks, arguments)
            }
        }
    }
}

/// Transposes: `output[x][y] = input[y][x]`.
///
/// Example: see [`cpu::transpose`](crate::cpu::transpose()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the sides of the output are the swapped sides of the input,
/// [`TooLarge`](Error::TooLarge) for more than 2,097,120 rows.
pub fn transpose<T: Number>(
    workspace: &mut Workspace,
    input: &DeviceGrid<T>,
    output: &mut DeviceGrid<T>,
) -> Result<()> {
    let (width, height) = (input.width(), input.height());
    same_len("columns of the output", height as usize, output.width() as usize)?;
    same_len("rows of the output", width as usize, output.height() as usize)?;
    let blocks = Blocks { x: width.div_ceil(SIDE), y: height.div_ceil(SIDE) };
    if blocks.y > MAX_Y {
        let most = u64::from(MAX_Y * SIDE) * u64::from(width);
        return Err(Error::TooLarge { elements: input.column().len() as u64, most });
    }
    let (input, output) = (Slice::from(input.column()), output.column_mut());
    let (input, output) = (input.cast().input(), output.cast().output());
    let arguments = kernels::transpose::Args { input, output, width, height };
    let kernel = <T::Bits as kernels::transpose::Instance>::KERNEL;
    // SAFETY: both grids have `width * height` elements, and are apart: one is borrowed alone.
    unsafe { workspace.gpu().enqueue(kernel, blocks, arguments)? };
    Ok(())
}

/// Enqueues a kernel.
///
/// # Safety
/// As [`gpu_core::Gpu::launch`].
unsafe fn launch<A: Arguments>(
    workspace: &Workspace,
    kernel: Kernel<A>,
    blocks: u64,
    arguments: A,
) -> Result<()> {
    let name = kernel.host.name;
    let blocks = i32::try_from(blocks)
        .map_err(|_| gpu_core::Error::LaunchTooLarge { kernel: name, blocks })?;
    // SAFETY: the arrays are the caller's promise.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(blocks as u32), arguments)? };
    Ok(())
}
