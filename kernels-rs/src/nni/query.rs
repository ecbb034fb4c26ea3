//! The queries by [`spans`](super::spans), a thread a cell.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::geometry::{Width, mean};
use super::spans::{Cell, Diagram, Neighbour};

/// Cells of a block in x.
pub const COLUMNS: u32 = 32;
/// Cells of a block in y.
pub const ROWS: u32 = 8;

/// What an area-weighted query sums.
#[derive(Clone, Copy)]
pub struct Areas {
    /// Pixels.
    pub count: u32,
    /// Values, each as often as it has pixels.
    pub sum: i64,
    /// Ways to the sites, likewise; in half pixels.
    pub way: [i64; 2],
}

impl Areas {
    const NONE: Self = Self { count: 0, sum: 0, way: [0; 2] };

    /// Sums what a query point steals from the sites that reach it; where that is nothing, the
    /// sites that touch it.
    #[inline(always)]
    pub fn of<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        cell: &Cell<'_, N, R>,
        site_limit: u64,
        value: impl Fn(u32) -> i32,
    ) -> Self {
        let mut areas = Self::NONE;
        cell.rows(|y, first, last| {
            cell.runs(y, first, last, |site, pixels| {
                if (site.squared() as u64) < site_limit {
                    areas.add(site, pixels, value(site.site));
                }
            });
        });
        if areas.count == 0 { Self::touching(cell, site_limit, value) } else { areas }
    }

    /// Sums the sites that touch a query point which steals nothing.
    #[inline(always)]
    pub fn touching<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        cell: &Cell<'_, N, R>,
        site_limit: u64,
        value: impl Fn(u32) -> i32,
    ) -> Self {
        let mut areas = Self::NONE;
        cell.touching_sites(|site| {
            if (site.squared() as u64) < site_limit {
                areas.add(site, 1, value(site.site));
            }
        });
        areas
    }

    #[inline(always)]
    fn add(&mut self, site: Neighbour, pixels: u32, value: i32) {
        self.count += pixels;
        self.sum += pixels as i64 * value as i64;
        self.way[0] += pixels as i64 * site.dx as i64;
        self.way[1] += pixels as i64 * site.dy as i64;
    }
}

/// Interpolates every cell of the DEM, as [`query_tiles`](super::query_tiles) does, with a circle of
/// any size, or none where `span_rows` is `i32::MAX`.
///
/// Grid: one block for [`COLUMNS`] by [`ROWS`] cells, row by row.
///
/// # Safety
/// As `query_tiles`.
#[kernel(block = 256)]
pub unsafe fn query_spans(
    tallies: *const u32,
    nearest: *const u32,
    values: *const i32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    offset: f64,
    step: f64,
    dem: *mut f32,
    counts: *mut u32,
) {
    let Some([column, row]) = cell_of_thread(cell_columns, cell_rows) else { return };
    let extent = [(supersample * cell_columns) as i32, (supersample * cell_rows) as i32];
    let q = [(supersample * (2 * column + 1)) as i32, (supersample * (2 * row + 1)) as i32];
    // SAFETY: the walk keeps within the raster and the rows of the circle, the cell is in the DEM.
    unsafe {
        let diagram = Diagram {
            nearest: |x: i32, y: i32| {
                *nearest.add((y as i64 * extent[0] as i64 + x as i64) as usize)
            },
            width: Width::new(extent[0] as u32, reciprocal),
            extent,
            circle_rows: span_rows as i32,
            reach: |k: i32| *spans.add(k as usize),
        };
        let mut areas = Areas::NONE;
        if *tallies.add(super::SITES) > 0 {
            let value = |site: u32| *values.add(site as usize);
            areas = Areas::of(&diagram.stolen_by(q), site_limit, value);
        }
        let index = row as usize * cell_columns as usize + column as usize;
        *dem.add(index) = mean(areas.sum, areas.count, offset, step);
        if !counts.is_null() {
            *counts.add(index) = areas.count;
        }
    }
}

/// The cell (column, row) of this thread, if it has one.
#[inline(always)]
fn cell_of_thread(columns: u32, rows: u32) -> Option<[u32; 2]> {
    let (block, thread) = (thread::block_idx_x(), thread::thread_idx_x());
    let blocks_x = columns.div_ceil(COLUMNS);
    let block_row = block.checked_div(blocks_x).unwrap_or(0);
    let column = (block - block_row * blocks_x) * COLUMNS + thread % COLUMNS;
    let row = block_row * ROWS + thread / COLUMNS;
    (column < columns && row < rows).then_some([column, row])
}
