//! Scans: whole, by key, by offsets, along rows.

use device_std::scalar::Scalar;
use gpu_core::{Blocks, DeviceGrid, Slice, SliceMut};
use kernels_rs::primitives::operators::Operator;
use kernels_rs::primitives::scan::{Scans, by_keys, segmented, whole};

use super::Workspace;
use super::segments::{Segments, check_offsets};
use super::workspace::{Layout, apart, tiles};
use crate::error::{Result, same_len};
use crate::{Number, Scan, ScanOperator};

/// Scans `input` into `output`; see [`Scan`] for what comes out.
///
/// One read and one write of each element.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) for another length of the output,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn scan<'a, 'b, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'b, T>>,
) -> Result<()> {
    let (input, mut output) = (workspace.read(input)?, workspace.write(output)?);
    let (from, to) = apart_arrays(*input, output.reborrow())?;
    enqueue::<T, O, u8>(workspace, operator, how, from, to, None)
}

/// [`scan`] that overwrites its input.
///
/// # Errors
/// [`TooLarge`](crate::Error::TooLarge).
pub fn scan_in_place<'a, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    data: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let mut data = workspace.write(data)?;
    let (from, to) = same_array(data.reborrow());
    enqueue::<T, O, u8>(workspace, operator, how, from, to, None)
}

/// A scan that begins anew wherever the key changes. Keys are compared by their bits.
///
/// # Errors
/// As [`scan`], also for another length of the keys.
pub fn scan_by_key<'a, 'b, 'c, T: Number, K: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    keys: impl Into<Slice<'c, K>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'b, T>>,
) -> Result<()> {
    let (keys, input, mut output) =
        (workspace.read(keys)?, workspace.read(input)?, workspace.write(output)?);
    let (keys, (from, to)) = (*keys, apart_arrays(*input, output.reborrow())?);
    same_len("keys", from.1, keys.len())?;
    enqueue(workspace, operator, how, from, to, Some(Segments::Keys(keys)))
}

/// [`scan_by_key`] that overwrites its input.
///
/// # Errors
/// As [`scan_by_key`].
pub fn scan_by_key_in_place<'a, 'c, T: Number, K: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    keys: impl Into<Slice<'c, K>>,
    data: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (keys, mut data) = (workspace.read(keys)?, workspace.write(data)?);
    let (keys, (from, to)) = (*keys, same_array(data.reborrow()));
    same_len("keys", from.1, keys.len())?;
    enqueue(workspace, operator, how, from, to, Some(Segments::Keys(keys)))
}

/// A scan of each segment: segment s is `offsets[s]..offsets[s + 1]`, and may be empty.
///
/// Offsets rise from 0 to the number of elements. They are on the device and no error is given where
/// they do not: the scan begins anew where a segment that is not empty begins (backward, ends) within
/// the array, and nowhere else.
///
/// # Errors
/// As [`scan`], and [`TooManySegments`](crate::Error::TooManySegments) for more segments than
/// elements.
pub fn segmented_scan<'a, 'b, 'c, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    offsets: impl Into<Slice<'c, u64>>,
    input: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'b, T>>,
) -> Result<()> {
    let (offsets, input, mut output) =
        (workspace.read(offsets)?, workspace.read(input)?, workspace.write(output)?);
    let (offsets, (from, to)) = (*offsets, apart_arrays(*input, output.reborrow())?);
    check_offsets(offsets.len(), from.1)?;
    enqueue::<T, O, u8>(workspace, operator, how, from, to, Some(Segments::Offsets(offsets)))
}

/// [`segmented_scan`] that overwrites its input.
///
/// # Errors
/// As [`segmented_scan`].
pub fn segmented_scan_in_place<'a, 'c, T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    offsets: impl Into<Slice<'c, u64>>,
    data: impl Into<SliceMut<'a, T>>,
) -> Result<()> {
    let (offsets, mut data) = (workspace.read(offsets)?, workspace.write(data)?);
    let (offsets, (from, to)) = (*offsets, same_array(data.reborrow()));
    check_offsets(offsets.len(), from.1)?;
    enqueue::<T, O, u8>(workspace, operator, how, from, to, Some(Segments::Offsets(offsets)))
}

/// A scan along each row of a grid.
///
/// # Errors
/// As [`scan`], for grids of different size.
pub fn scan_rows<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    input: &DeviceGrid<T>,
    output: &mut DeviceGrid<T>,
) -> Result<()> {
    same_len("columns of the output", input.width() as usize, output.width() as usize)?;
    let width = u64::from(input.width());
    let input = workspace.read(input.column())?;
    let mut output = workspace.write(output.column_mut())?;
    let (from, to) = apart_arrays(*input, output.reborrow())?;
    enqueue::<T, O, u8>(workspace, operator, how, from, to, Some(Segments::Rows(width)))
}

/// [`scan_rows`] that overwrites its input.
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
    let mut data = workspace.write(grid.column_mut())?;
    let (from, to) = same_array(data.reborrow());
    enqueue::<T, O, u8>(workspace, operator, how, from, to, Some(Segments::Rows(width)))
}

type Source<T> = (*const T, usize);
type Target<T> = *mut T;

fn apart_arrays<T>(
    input: Slice<'_, T>,
    mut output: SliceMut<'_, T>,
) -> Result<(Source<T>, Target<T>)> {
    same_len("output", input.len(), output.len())?;
    let (from, to, len) = (input.as_ptr(), output.as_mut_ptr(), input.len());
    apart(("input", from, len), ("output", to, len))?;
    Ok(((from, len), to))
}

fn same_array<T>(mut data: SliceMut<'_, T>) -> (Source<T>, Target<T>) {
    let start = data.as_mut_ptr();
    ((start, data.len()), start)
}

/// What comes before the first element, as kernels take it.
pub(super) fn initial<T: Number, O: ScanOperator<T>>(operator: O, how: Scan<T>) -> O::Element {
    let kernel = operator.kernel();
    how.initial.map_or(kernel.lower(kernel.identity()), bytemuck::cast)
}

/// Enqueues the head bits, if there are segments, and the scan.
fn enqueue<T: Number, O: ScanOperator<T>, K: Number>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    (input, len): Source<T>,
    output: Target<T>,
    segments: Option<Segments<'_, K>>,
) -> Result<()> {
    let len = len as u64;
    let tiles = tiles(len, O::Kernel::TILE)?;
    // Keys as wide as elements are read by the scan itself.
    let keys = match &segments {
        Some(Segments::Keys(keys)) if size_of::<K>() == size_of::<T>() && !how.backward => {
            Some(keys.as_ptr().cast::<O::Element>())
        }
        _ => None,
    };
    let segments = if keys.is_some() { None } else { segments };
    let mut layout = Layout::default();
    let words = if segments.is_some() { len.div_ceil(32) } else { 0 };
    let bits = layout.part::<u32>(words);
    let bits = workspace.arena(&layout)?.at(&bits);
    if let Some(segments) = &segments {
        // SAFETY: the part has a word for every 32 elements.
        unsafe { segments.enqueue(workspace.gpu(), len, how.backward, bits)? };
    }
    let (initial, mode, parameters) = (initial(operator, how), how.mode(), operator.parameters());
    let (control, status) = (workspace.control(), workspace.statuses(u64::from(tiles), 1)?);
    let (input, output) = (input.cast::<O::Element>(), output.cast::<O::Element>());
    debug_assert_eq!(size_of::<T>() * O::Element::LANES, 16);
    let (gpu, blocks) = (workspace.gpu(), Blocks::x(tiles));
    // SAFETY: the arrays are as long as the kernels ask and have elements of the same size; the
    // workspace's storage is used on its own stream only.
    unsafe {
        if let Some(keys) = keys {
            let arguments = by_keys::Args {
                input,
                output,
                len,
                keys,
                mode,
                initial,
                parameters,
                control,
                status,
            };
            gpu.enqueue(<O::Kernel as by_keys::Instance<_>>::KERNEL, blocks, arguments)?;
        } else if segments.is_some() {
            let heads = bits.cast_const();
            let arguments = segmented::Args {
                input,
                output,
                len,
                heads,
                mode,
                initial,
                parameters,
                control,
                status,
            };
            gpu.enqueue(<O::Kernel as segmented::Instance<_>>::KERNEL, blocks, arguments)?;
        } else {
            let arguments =
                whole::Args { input, output, len, mode, initial, parameters, control, status };
            gpu.enqueue(<O::Kernel as whole::Instance<_>>::KERNEL, blocks, arguments)?;
        }
    }
    Ok(())
}
