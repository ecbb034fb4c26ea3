//! Scans along the columns of a grid.

use gpu_core::{Blocks, DeviceGrid};
use kernels_rs::columns::{ColumnScans, chunks};
use kernels_rs::operators::EXCLUSIVE;

use super::Workspace;
use super::scan::initial;
use super::workspace::Layout;
use crate::error::{Result, same_len};
use crate::{Number, Scan, ScanOperator};

/// A scan along each column of a grid, from the first row to the last or, backward, from the last
/// to the first.
///
/// Two reads and one write of each element. Threads are given out by columns and chunks of rows,
/// which suits grids that are wider than a warp; few, long columns are better transposed and
/// scanned along rows.
///
/// # Errors
/// [`Length`](crate::Error::Length) for grids of different size.
pub fn scan_columns<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    input: &DeviceGrid<T>,
    output: &mut DeviceGrid<T>,
) -> Result<()> {
    same_len("columns of the output", input.width() as usize, output.width() as usize)?;
    same_len("rows of the output", input.height() as usize, output.height() as usize)?;
    let shape = (input.width(), input.height());
    let from = workspace.read(input.column())?;
    let mut to = workspace.write(output.column_mut())?;
    enqueue(workspace, operator, how, (from.as_ptr(), to.as_mut_ptr()), shape)
}

/// [`scan_columns`] that overwrites its input.
///
/// # Errors
/// [`Core`](crate::Error::Core).
pub fn scan_columns_in_place<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    grid: &mut DeviceGrid<T>,
) -> Result<()> {
    let shape = (grid.width(), grid.height());
    let mut data = workspace.write(grid.column_mut())?;
    let to = data.as_mut_ptr();
    enqueue(workspace, operator, how, (to.cast_const(), to), shape)
}

/// Enqueues the chunks' sums, the scan of these, and that of the chunks.
fn enqueue<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    (input, output): (*const T, *mut T),
    (width, height): (u32, u32),
) -> Result<()> {
    let (rows, chunks) = chunks(width, height);
    let threads = u64::from(width) * u64::from(chunks);
    let mut layout = Layout::default();
    let sums = layout.part::<O::Element>(if chunks > 1 { threads } else { 0 });
    let sums = workspace.arena(&layout)?.at(&sums);
    let (sums_kernel, scan_kernel) = (O::Kernel::SUMS, O::Kernel::SCAN);
    let blocks = Blocks::for_each(&scan_kernel, threads)?;
    let blocks_of_sums = Blocks::for_each(&scan_kernel, u64::from(width))?;
    let [p0, p1, p2, p3] = operator.parameters();
    let nothing = initial(operator, Scan::inclusive());
    let (input, output) = (input.cast(), output.cast());
    let none = std::ptr::null();
    let gpu = workspace.gpu();
    // SAFETY: the grids are as large as said, and there is a sum for each chunk of each column; the
    // workspace's storage is used on its own stream only.
    unsafe {
        if chunks > 1 {
            let mode = how.mode() & !EXCLUSIVE;
            let of_chunks = (input, sums, none, width, height, rows, mode, nothing, p0, p1, p2, p3);
            gpu.launch(sums_kernel, blocks, 0, of_chunks)?;
            let from = sums.cast_const();
            let of_sums =
                (from, sums, none, width, chunks, chunks, EXCLUSIVE, nothing, p0, p1, p2, p3);
            gpu.launch(scan_kernel, blocks_of_sums, 0, of_sums)?;
        }
        let before = if chunks > 1 { sums.cast_const() } else { none };
        let (mode, initial) = (how.mode(), initial(operator, how));
        let arguments = (input, output, before, width, height, rows, mode, initial, p0, p1, p2, p3);
        gpu.launch(scan_kernel, blocks, 0, arguments)?;
    }
    Ok(())
}
