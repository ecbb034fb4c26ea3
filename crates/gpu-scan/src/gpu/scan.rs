//! Scans: whole, by key, by offsets, along rows.

use device_std::In;
use gpu_core::{Blocks, DeviceGrid, Element, Slice, SliceMut};
use kernels_rs::primitives::flags::{self, key_bits};
use kernels_rs::primitives::operators::Operator;
use kernels_rs::primitives::scan::{Arrays, Chain, Cuts, How, Scans, by_keys, segmented, whole};

use super::Workspace;
use super::workspace::{Layout, apart, tiles};
use crate::error::{Result, check_offsets, same_len};
use crate::{Number, Scan, ScanOperator};

/// Scans `input` into `output`; [`Scan`] defines the result.
///
/// Cost: one read and one write of each element.
///
/// Example: see [`cpu::scan`](crate::cpu::scan()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) for another length of the output,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn scan<'a, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let arrays = apart_arrays(input.into(), output.into())?;
    enqueue::<T, O, u8>(workspace, operator, how, arrays, None)
}

/// Scans like [`scan`], in place: the result overwrites the input.
///
/// Example: see [`cpu::scan_in_place`](crate::cpu::scan_in_place()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`TooLarge`](crate::Error::TooLarge).
pub fn scan_in_place<'a, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    data: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let array = same_array(data.into());
    enqueue::<T, O, u8>(workspace, operator, how, array, None)
}

/// Scans, and starts again wherever the key changes. Keys are compared by their bits.
///
/// Example: see [`cpu::scan_by_key`](crate::cpu::scan_by_key()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`scan`], also for another length of the keys.
pub fn scan_by_key<'a, T: Number, K: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    keys: impl Into<Slice<'a, K>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (keys, arrays) = (keys.into(), apart_arrays(input.into(), output.into())?);
    same_len("keys", arrays.len as usize, keys.len())?;
    enqueue(workspace, operator, how, arrays, Some(Segments::Keys(keys)))
}

/// Scans like [`scan_by_key`], in place: the result overwrites the input.
///
/// Example: see [`cpu::scan_by_key_in_place`](crate::cpu::scan_by_key_in_place()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`scan_by_key`].
pub fn scan_by_key_in_place<'a, T: Number, K: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    keys: impl Into<Slice<'a, K>>,
    data: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (keys, array) = (keys.into(), same_array(data.into()));
    same_len("keys", array.len as usize, keys.len())?;
    enqueue(workspace, operator, how, array, Some(Segments::Keys(keys)))
}

/// Scans each segment by itself. Segment s is `offsets[s]..offsets[s + 1]`, and may be empty.
///
/// Offsets must rise from 0 to the number of elements. They are on the device, so wrong offsets give no error. Then the
/// scan starts again at some elements, of which nothing more is said.
///
/// Example: see [`cpu::segmented_scan`](crate::cpu::segmented_scan()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`scan`]; [`Length`](gpu_core::Error::Length) without any offset.
pub fn segmented_scan<'a, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    offsets: impl Into<Slice<'a, u64>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (offsets, arrays) = (offsets.into(), apart_arrays(input.into(), output.into())?);
    check_offsets(offsets.len())?;
    enqueue::<T, O, u8>(workspace, operator, how, arrays, Some(Segments::Offsets(offsets)))
}

/// Scans like [`segmented_scan`], in place: the result overwrites the input.
///
/// Example: see [`cpu::segmented_scan_in_place`](crate::cpu::segmented_scan_in_place()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`segmented_scan`].
pub fn segmented_scan_in_place<'a, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    offsets: impl Into<Slice<'a, u64>>,
    data: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (offsets, array) = (offsets.into(), same_array(data.into()));
    check_offsets(offsets.len())?;
    enqueue::<T, O, u8>(workspace, operator, how, array, Some(Segments::Offsets(offsets)))
}

/// Scans each row of a grid.
///
/// Example: see [`cpu::scan_rows`](crate::cpu::scan_rows()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`scan`], for grids of different size.
pub fn scan_rows<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    input: &DeviceGrid<T>,
    output: &mut DeviceGrid<T>,
) -> Result<()> {
    same_len("columns of the output", input.width() as usize, output.width() as usize)?;
    let width = u64::from(input.width());
    let arrays = apart_arrays(input.column().into(), output.column_mut())?;
    enqueue::<T, O, u8>(workspace, operator, how, arrays, Some(Segments::Rows(width)))
}

/// Scans like [`scan_rows`], in place: the result overwrites the input.
///
/// Example: see [`cpu::scan_rows_in_place`](crate::cpu::scan_rows_in_place()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// [`TooLarge`](crate::Error::TooLarge).
pub fn scan_rows_in_place<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    grid: &mut DeviceGrid<T>,
) -> Result<()> {
    let width = u64::from(grid.width());
    let array = same_array(grid.column_mut());
    enqueue::<T, O, u8>(workspace, operator, how, array, Some(Segments::Rows(width)))
}

/// The arrays of a scan as its kernels take them: `E` has the bits of `T`.
fn apart_arrays<'a, T: Number, E: Element>(
    input: Slice<'a, T>,
    output: SliceMut<'a, T>,
) -> Result<Arrays<'a, E>> {
    same_len("output", input.len(), output.len())?;
    apart(("input", input), ("output", &output))?;
    let len = input.len() as u64;
    Ok(Arrays { input: input.cast().input(), output: output.cast().output(), len })
}

fn same_array<T: Number, E: Element>(data: SliceMut<'_, T>) -> Arrays<'_, E> {
    let len = data.len() as u64;
    let output = data.cast().output();
    Arrays { input: output.as_input(), output, len }
}

/// Returns the value before the first element, as kernels take it.
pub(super) fn initial<T: Number, O: ScanOperator<T>>(operator: O, how: Scan<T>) -> O::Element {
    let kernel = operator.kernel();
    how.initial.map_or(kernel.lower(kernel.identity()), bytemuck::cast)
}

/// How an array is cut into segments.
enum Segments<'a, K> {
    /// At changes of a key.
    Keys(Slice<'a, K>),
    /// At offsets, one more than segments.
    Offsets(Slice<'a, u64>),
    /// Into rows of this width.
    Rows(u64),
}

/// The same for the kernels.
enum Borders<'a, T> {
    None,
    Cuts(Cuts<'a>),
    /// Keys as wide as elements, in a forward scan, which reads them itself.
    Keys(In<'a, T>),
}

/// Enqueues the scan, after the head bits if keys are wider or narrower than elements, or the scan is backward.
fn enqueue<T: Number, O: ScanOperator<T>, K: Number>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    arrays: Arrays<'_, O::Element>,
    segments: Option<Segments<'_, K>>,
) -> Result<()> {
    let tiles = tiles(arrays.len, O::Kernel::TILE)?;
    let kernel_how = How {
        mode: how.mode(),
        initial: initial(operator, how),
        parameters: operator.parameters(),
    };
    let none = Cuts { bits: In::empty(), offsets: In::empty(), count: 0, width: 0 };
    let borders = match segments {
        None => Borders::None,
        Some(Segments::Keys(keys)) if size_of::<K>() == size_of::<T>() && !how.backward => {
            Borders::Keys(keys.cast::<O::Element>().input())
        }
        Some(Segments::Keys(keys)) => {
            let bits = enqueue_bits(workspace, keys, how.backward)?;
            Borders::Cuts(Cuts { bits, ..none })
        }
        Some(Segments::Offsets(offsets)) => {
            let count = offsets.len() as u64;
            Borders::Cuts(Cuts { offsets: offsets.input(), count, ..none })
        }
        Some(Segments::Rows(width)) => Borders::Cuts(Cuts { width, ..none }),
    };
    let chain = Chain { control: workspace.control(), status: workspace.status(tiles)? };
    let (gpu, blocks, how) = (workspace.gpu(), Blocks::x(tiles), kernel_how);
    // SAFETY: the arrays are the same or apart, and as long as the kernels ask.
    unsafe {
        match borders {
            Borders::None => {
                let arguments = whole::Args { arrays, how, chain };
                gpu.enqueue(<O::Kernel as whole::Instance<_>>::KERNEL, blocks, arguments)?;
            }
            Borders::Cuts(cuts) => {
                let arguments = segmented::Args { arrays, cuts, how, chain };
                gpu.enqueue(<O::Kernel as segmented::Instance<_>>::KERNEL, blocks, arguments)?;
            }
            Borders::Keys(keys) => {
                let arguments = by_keys::Args { arrays, keys, how, chain };
                gpu.enqueue(<O::Kernel as by_keys::Instance<_>>::KERNEL, blocks, arguments)?;
            }
        }
    }
    Ok(())
}

/// Enqueues writing a bit for each key: whether it differs from the one before (the one after, if `tails`).
fn enqueue_bits<'a, K: Number>(
    workspace: &mut Workspace,
    keys: Slice<'_, K>,
    tails: bool,
) -> Result<In<'a, u32>> {
    let len = keys.len() as u64;
    let mut layout = Layout::default();
    let bits = layout.part::<u32>(len.div_ceil(32));
    let bits = workspace.arena(&layout)?.at(&bits);
    let kernel = <K::Bits as key_bits::Instance>::KERNEL;
    let blocks = Blocks::x(len.div_ceil(u64::from(flags::TILE)) as u32);
    let keys = keys.cast().input();
    let arguments = key_bits::Args { keys, len, tails: u32::from(tails), bits };
    // SAFETY: there is a bit for each key, in whole words.
    unsafe { workspace.gpu().enqueue(kernel, blocks, arguments)? };
    Ok(bits.as_input())
}
