//! Scans along the columns of a grid.

use device_std::{In, Out};
use gpu_core::{Blocks, DeviceGrid, Slice};
use kernels_rs::primitives::columns::{Grid, chunks, scan, sums};
use kernels_rs::primitives::operators::EXCLUSIVE;

use super::Workspace;
use super::scan::initial;
use super::workspace::Layout;
use crate::error::{Result, same_len};
use crate::{Number, Scan, ScanOperator};

/// Scans each column of a grid, from the first row to the last; a backward scan goes from the last to the first.
///
/// Two reads and one write of each element. A thread takes a chunk of rows of a column, which suits grids that are
/// wider than a warp. For few, long columns, transpose the grid and scan its rows.
///
/// Example: see [`cpu::scan_columns`](crate::cpu::scan_columns()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) for grids of different size.
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
    let input = Slice::from(input.column()).cast().input();
    let output = output.column_mut().cast().output();
    enqueue(workspace, operator, how, (input, output), shape)
}

/// Scans like [`scan_columns`], in place: the result overwrites the input.
///
/// Example: see [`cpu::scan_columns_in_place`](crate::cpu::scan_columns_in_place()), called in [this
/// form](crate::gpu#examples).
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
    let data = grid.column_mut().cast().output();
    enqueue(workspace, operator, how, (data.as_input(), data), shape)
}

/// Enqueues the chunks' sums, the scan of these, and that of the chunks.
fn enqueue<T: Number, O: ScanOperator<T>>(
    workspace: &mut Workspace,
    operator: O,
    how: Scan<T>,
    (input, output): (In<'_, O::Element>, Out<'_, O::Element>),
    (width, height): (u32, u32),
) -> Result<()> {
    let (rows, chunks) = chunks(width, height);
    let threads = u64::from(width) * u64::from(chunks);
    let mut layout = Layout::default();
    let place = layout.part::<O::Element>(if chunks > 1 { threads } else { 0 });
    let sums = workspace.arena(&layout)?.at(&place);
    let (sums_kernel, scan_kernel) =
        (<O::Kernel as sums::Instance<_>>::KERNEL, <O::Kernel as scan::Instance<_>>::KERNEL);
    let blocks = Blocks::for_each(&scan_kernel, threads)?;
    let blocks_of_sums = Blocks::for_each(&scan_kernel, u64::from(width))?;
    let grid = Grid { width, height, rows, mode: how.mode() };
    let parameters = operator.parameters();
    let of_chunks = scan::Args {
        input,
        output,
        before: (chunks > 1).then(|| sums.as_input()),
        grid,
        initial: initial(operator, how),
        parameters,
    };
    let gpu = workspace.gpu();
    gpu.check_argument(&input)?;
    gpu.check_argument(&output)?;
    // SAFETY: the grids are as large as stated, and there is a sum for each chunk of each column.
    unsafe {
        if chunks > 1 {
            let grid = Grid { mode: grid.mode & !EXCLUSIVE, ..grid };
            let up = sums::Args { input, output: sums, grid, parameters };
            gpu.enqueue(sums_kernel, blocks, up)?;
            let of_sums = scan::Args {
                input: sums.as_input(),
                output: sums,
                before: None,
                grid: Grid { width, height: chunks, rows: chunks, mode: EXCLUSIVE },
                initial: initial(operator, Scan::inclusive()),
                parameters,
            };
            gpu.enqueue(scan_kernel, blocks_of_sums, of_sums)?;
        }
        gpu.enqueue(scan_kernel, blocks, of_chunks)?;
    }
    Ok(())
}
