//! Results of a search on the device other than quadrants: a mask, runs of cells, and statistics of a window.

use std::cmp::Ordering;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Blocks, Column, DeviceGrid};
use gpu_scan::gpu::{Workspace, reduce, scan_in_place};
use gpu_scan::{Max, Min, Scan, Sum};
use kernels_rs::ccq::query as kernels;
use kernels_rs::spatial::morton;

use super::DeviceTree;
use super::query::{Condition, Counted, Search, count, quadrants};
use crate::cell::{Keys, Ranges};
use crate::params::Window;
use crate::{Cell, Error, Peak, Quadrant, Query, Result, Run, Statistics};

/// Returns a raster of the same sides, with 1 in the cells that satisfy all conditions and 0 in the others.
/// [`mask`](crate::mask()) on the host gives the same result. Enqueues and returns; after one call it can be captured.
///
/// Example: see [`mask`](crate::mask()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - The errors of [`count`].
/// - [`Error::NeedsRaster`]: a range cuts through a bin, and its raster is not given. This is an error even if the
///   search then finds no such cell, since the check comes first.
pub fn mask(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<DeviceGrid<u8>> {
    let gpu = workspace.gpu().clone();
    let Some(search) = Search::new(&gpu, conditions, query)? else {
        let grid = *conditions[0].grid();
        return Ok(DeviceGrid::from_column(gpu.zeroed(0)?, grid)?);
    };
    if search.lacks_raster() {
        return Err(Error::NeedsRaster);
    }
    // SAFETY: the kernel writes every cell.
    let mut cells = unsafe { gpu.uninitialized::<u8>(search.grid.cells() as usize)? };
    let conditions = search.instance();
    let kernel = kernels::paint::find(|&of| of == conditions).expect("an instance for each");
    let arguments = kernels::paint::Args { question: search.question(), mask: cells.output() };
    // SAFETY: trees and rasters come with their lengths, and rasters are there where bins are cut.
    unsafe { gpu.enqueue(kernel, Blocks::x(search.squares() as u32), arguments)? };
    Ok(DeviceGrid::from_column(cells, search.grid)?)
}

/// Returns the cells that satisfy all conditions, as runs, as [`runs`](crate::runs()) gives them on the host. Waits for
/// the runs and copies them to the host, so a graph cannot capture this call.
///
/// Example: see [`runs`](crate::runs()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`mask`]; [`Error::TooManyRuns`] beyond 2^32 - 1.
pub fn runs(
    workspace: &mut Workspace,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Vec<Run>> {
    let Some(found) = DeviceRuns::find(workspace, conditions, query)? else {
        return Ok(Vec::new());
    };
    found.to_host()
}

/// The runs of what a search finds, in device memory.
pub(super) struct DeviceRuns {
    pub runs: Column<[u32; kernels::RUN]>,
    /// Where the runs of each row begin; the last element is the number of all runs.
    pub rows: Column<u32>,
}

impl DeviceRuns {
    /// Waits for the number of runs; `None` without cells.
    pub fn find(
        workspace: &mut Workspace,
        conditions: &[Condition<'_>],
        query: &Query,
    ) -> Result<Option<Self>> {
        let gpu = workspace.gpu().clone();
        gpu.refuse_in_capture("the number of runs")?;
        let mask = mask(workspace, conditions, query)?;
        let (width, height) = (mask.width(), mask.height());
        if mask.grid().cells() == 0 {
            return Ok(None);
        }
        let height_of_all = height as usize;
        let mut rows = gpu.zeroed::<u32>(height_of_all + 1)?;
        let find = |counts: &mut Column<u32>, out: Option<&mut Column<[u32; kernels::RUN]>>| {
            let (mask, counts) = (mask.column().input(), counts.output());
            let room = out.as_ref().map_or(0, |out| out.len() as u32);
            let blocks = Blocks::x(height.div_ceil(kernels::BLOCK as u32 / 32));
            // SAFETY: the mask has a cell for each, `counts` an element for each row, `out` the room.
            unsafe {
                let out = out.map(|out| out.output().cast());
                let arguments = kernels::find_runs::Args { mask, width, height, counts, out, room };
                gpu.enqueue(kernels::find_runs, blocks, arguments)
            }
        };
        find(&mut rows, None)?;
        // Their places among all have 32 bits.
        let most = u64::from(u32::MAX);
        if u64::from(height) * u64::from(width.div_ceil(2)) > most {
            let runs = rows.first_to_host(height_of_all)?.into_iter().map(u64::from).sum();
            if runs > most {
                return Err(Error::TooManyRuns { runs, most });
            }
        }
        scan_in_place(workspace, Sum, Scan::exclusive(0), &mut rows)?;
        let mut total = gpu.zeroed::<u32>(1)?;
        gpu.copy(rows.slice(height_of_all..height_of_all + 1)?, &mut total)?;
        let total = total.to_host()?[0];
        let mut runs = gpu.zeroed::<[u32; kernels::RUN]>(total as usize)?;
        find(&mut rows, Some(&mut runs))?;
        Ok(Some(Self { runs, rows }))
    }

    /// Waits for the runs.
    pub fn to_host(&self) -> Result<Vec<Run>> {
        let run = |[row, column0, column1]: [u32; kernels::RUN]| Run { row, column0, column1 };
        let runs = self.runs.to_host()?;
        Ok(parallel::map(runs.len(), FINE, |i| run(runs[i])))
    }
}

/// Counts the values in a window, and finds the least and the greatest, as [`statistics`](crate::statistics()) does on
/// the host. Waits for the results, so a graph cannot capture this call.
///
/// Example: see [`statistics`](crate::statistics()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Error::Window`]; [`Error::Core`] where memory or the device fails.
pub fn statistics<T: Cell>(
    workspace: &mut Workspace,
    tree: &DeviceTree<T>,
    query: &Query,
) -> Result<Statistics> {
    let (cells, bounds) = bounds(workspace, tree, query)?;
    let value = |key: u32| T::of_key(key).bound();
    let [min, max] = [bounds.0, bounds.1].map(|key| (cells > 0).then(|| value(key)));
    Ok(Statistics { cells, min, max })
}

/// The number of values in a window, the least key and the greatest.
fn bounds<T: Cell>(
    workspace: &mut Workspace,
    tree: &DeviceTree<T>,
    query: &Query,
) -> Result<(u64, (u32, u32))> {
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("the values in a window")?;
    let conditions = [Condition::new(tree)];
    let Some(search) = Search::new(&gpu, &conditions, query)? else { return Ok((0, (0, 0))) };
    let squares = search.squares();
    let Counted { cells, bounds, .. } = search.count(&gpu, true)?;
    let mut sum = gpu.zeroed::<u64>(1)?;
    reduce(workspace, Sum, cells.slice(0..squares)?, &mut sum)?;
    let mut ends = gpu.zeroed::<u32>(2)?;
    reduce(workspace, Min, bounds.slice(0..squares)?, ends.slice_mut(0..1)?)?;
    reduce(workspace, Max, bounds.slice(squares..2 * squares)?, ends.slice_mut(1..2)?)?;
    let ends = ends.to_host()?;
    Ok((sum.to_host()?[0], (ends[0], ends[1])))
}

/// Returns the `k` cells with the greatest values in a window, the greatest first. Equal values come in Z-order.
/// [`top_k`](crate::top_k()) on the host gives the same result. Waits for the cells, so a graph cannot capture this
/// call.
///
/// A bisection finds the least of the `k` values, with at most 32 counts. Then the host fetches all leaves from that
/// value on. Where many cells have that value, these leaves have more than `k` cells.
///
/// Example: see [`top_k`](crate::top_k()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// - The errors of [`statistics`].
/// - [`Error::Binned`]: the tree has bins.
pub fn top_k<T: Cell>(
    workspace: &mut Workspace,
    tree: &DeviceTree<T>,
    k: usize,
    query: &Query,
) -> Result<Vec<Peak>> {
    if !tree.params.bins.is_empty() {
        return Err(Error::Binned { what: "a search for the greatest values" });
    }
    let (cells, (mut low, mut high)) = bounds(workspace, tree, query)?;
    let wanted = (k as u64).min(cells);
    if wanted == 0 {
        return Ok(Vec::new());
    }
    // Enough cells lie from `low` on, and too few above `high`.
    while low < high {
        let middle = high - (high - low) / 2;
        let above = Keys(middle, u32::MAX);
        let keys = Ranges { inside: above, touched: above, raw: above };
        let found = count(workspace, &[Condition::new(tree).keys(keys)], query)?.to_host()?[1];
        if found >= wanted {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    // Nothing is inside, so that the search ends at leaves, each of one value.
    let keys = Ranges { inside: Keys::NONE, touched: Keys(low, u32::MAX), raw: Keys::ALL };
    let mut leaves = quadrants(workspace, &[Condition::new(tree).keys(keys)], query)?;
    // In Z-order already, which a stable sort keeps among equal values.
    leaves.sort_by(|a, b| b.max.partial_cmp(&a.max).unwrap_or(Ordering::Equal));
    let mut peaks = Vec::new();
    let window = query.window.unwrap_or(Window::of(&tree.grid)).and(Window::of(&tree.grid));
    for leaf in leaves {
        match window {
            Some(window) => cells_of(&leaf, window, wanted as usize, &mut peaks),
            None => break,
        }
    }
    Ok(peaks)
}

/// Takes the cells of a leaf in a window, in Z-order, until there are as many as wanted.
fn cells_of(leaf: &Quadrant, window: Window, wanted: usize, peaks: &mut Vec<Peak>) {
    let mut open = vec![(leaf.row, leaf.column, leaf.size)];
    while let Some((row, column, size)) = open.pop() {
        if peaks.len() >= wanted {
            return;
        }
        let part = Window { row0: row, column0: column, row1: row + size, column1: column + size };
        if part.and(window).is_none() {
            continue;
        }
        if size == 1 {
            peaks.push(Peak { row, column, value: leaf.max });
            continue;
        }
        let half = size / 2;
        for corner in (0..4).rev() {
            let (x, y) = morton::decode(corner);
            open.push((row + y * half, column + x * half, half));
        }
    }
}
