//! The queries by [`spans`](super::spans), a thread a cell.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::finish::deviation;
use super::geometry::{Width, mean};
use super::rasterise::{NODATA, SITES, count_flags};
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
    ///
    /// `before`, which may be there if all sites reach everywhere, gives the sum of the values of
    /// all pixels before one. Then a row takes two looks at it, however many sites it has; and the
    /// ways are not summed.
    #[inline(always)]
    pub fn of<N: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        cell: &Cell<'_, N, R>,
        site_limit: u64,
        value: impl Fn(u32) -> i32,
        before: Option<impl Fn(usize) -> i64>,
    ) -> Self {
        let mut areas = Self::NONE;
        cell.rows(|y, first, last| {
            if let Some(before) = &before {
                if first <= last {
                    let start = cell.index(first, y);
                    let pixels = (last - first + 1) as u32;
                    areas.count += pixels;
                    areas.sum += before(start + pixels as usize).wrapping_sub(before(start));
                }
                return;
            }
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

/// A DEM, and what its queries look at.
#[derive(Clone, Copy)]
struct Scene {
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cells: [u32; 2],
    reciprocal: u64,
    supersample: u32,
    offset: f64,
    step: f64,
    dem: *mut f32,
    counts: *mut u32,
    /// Null, or the sum of the values of all pixels before each.
    sums: *const i64,
    deviations: *mut f32,
}

impl Scene {
    /// Interpolates a cell, if it is in the DEM.
    ///
    /// # Safety
    /// As for [`query_spans`]; all threads of the warp come here.
    #[inline(always)]
    unsafe fn query(&self, column: u32, row: u32) {
        let [columns, rows] = self.cells;
        let is_cell = column < columns && row < rows;
        let mut is_empty = false;
        if is_cell {
            let extent = self.cells.map(|side| (self.supersample * side) as i32);
            let q = [column, row].map(|i| (self.supersample * (2 * i + 1)) as i32);
            // SAFETY: the walk keeps within the raster and the rows of the circle, the cell is in the
            // DEM.
            unsafe {
                let diagram = Diagram {
                    nearest: |x: i32, y: i32| {
                        *self.nearest.add((y as i64 * extent[0] as i64 + x as i64) as usize)
                    },
                    width: Width::new(extent[0] as u32, self.reciprocal),
                    extent,
                    circle_rows: self.span_rows as i32,
                    reach: |k: i32| *self.spans.add(k as usize),
                };
                let mut areas = Areas::NONE;
                if *self.tallies.add(SITES) > 0 {
                    let value = |site: u32| *self.values.add(site as usize);
                    let before = |pixel: usize| *self.sums.add(pixel);
                    let before = (!self.sums.is_null()).then_some(before);
                    areas = Areas::of(&diagram.stolen_by(q), self.site_limit, value, before);
                }
                let index = row as usize * columns as usize + column as usize;
                *self.dem.add(index) = mean(areas.sum, areas.count, self.offset, self.step);
                if !self.counts.is_null() {
                    *self.counts.add(index) = areas.count;
                }
                if !self.deviations.is_null() {
                    *self.deviations.add(index) = deviation(&areas, self.supersample);
                }
                is_empty = areas.count == 0;
            }
        }
        // SAFETY: passed on to the caller.
        unsafe { count_flags(is_empty, self.tallies.add(NODATA)) };
    }
}

/// Interpolates cells, as the kernels of [`near`](super::near) do, with a circle of any size, or none
/// where `span_rows` is `i32::MAX`, and counts those without a value.
///
/// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of its
/// pixels lie to the left of the query point, and as many to the right. Grid: one block for
/// [`COLUMNS`] by [`ROWS`] cells, row by row, from block `first_block` on.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` and `values` an element for each pixel, `spans`
/// `span_rows`, `dem` and (unless null) `counts` one for each cell. The raster has `supersample`
/// times the cells' columns and rows; `reciprocal` is that of its width. `sums` is null, or there is
/// no site limit and it has what [`gather_sums`] wrote, scanned; `deviations` is null, or has an element
/// for each cell, and `sums` is null.
#[kernel(block = 256, resident = 3)]
pub unsafe fn query_spans(
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    first_block: u32,
    offset: f64,
    step: f64,
    dem: *mut f32,
    counts: *mut u32,
    sums: *const i64,
    deviations: *mut f32,
) {
    let cells = [cell_columns, cell_rows];
    let scene = Scene {
        tallies,
        nearest,
        values,
        spans,
        span_rows,
        site_limit,
        cells,
        reciprocal,
        supersample,
        offset,
        step,
        dem,
        counts,
        sums,
        deviations,
    };
    let (block, thread) = (first_block + thread::block_idx_x(), thread::thread_idx_x());
    let blocks_x = cell_columns.div_ceil(COLUMNS);
    let block_row = block.checked_div(blocks_x).unwrap_or(0);
    let column = (block - block_row * blocks_x) * COLUMNS + thread % COLUMNS;
    // SAFETY: passed on to the caller.
    unsafe { scene.query(column, block_row * ROWS + thread / COLUMNS) };
}

/// [`query_spans`] for the cells of listed tiles, of `tile_columns` by `tile_rows` cells. `listed` has
/// their number, then the tiles.
///
/// Grid: any; each block takes [`COLUMNS`] by [`ROWS`] cells of a tile in turn.
///
/// # Safety
/// As for [`query_spans`]; the sides of a tile are multiples of [`COLUMNS`] and [`ROWS`].
#[kernel(block = 256)]
pub unsafe fn query_listed(
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    listed: *const u32,
    tile_columns: u32,
    tile_rows: u32,
    offset: f64,
    step: f64,
    dem: *mut f32,
    counts: *mut u32,
) {
    let cells = [cell_columns, cell_rows];
    let scene = Scene {
        tallies,
        nearest,
        values,
        spans,
        span_rows,
        site_limit,
        cells,
        reciprocal,
        supersample,
        offset,
        step,
        dem,
        counts,
        sums: core::ptr::null(),
        deviations: core::ptr::null_mut(),
    };
    let tiles_x = cell_columns.checked_div(tile_columns).unwrap_or(0)
        + (cell_columns.checked_rem(tile_columns).unwrap_or(0) > 0) as u32;
    let parts_x = tile_columns / COLUMNS;
    let parts = parts_x * (tile_rows / ROWS);
    // SAFETY: the list has its number.
    let work = unsafe { *listed } * parts;
    let mut item = thread::block_idx_x();
    while item < work {
        let number = item.checked_div(parts).unwrap_or(0);
        let part = item - number * parts;
        // SAFETY: `number` is below the list's.
        let tile = unsafe { *listed.add(1 + number as usize) };
        let tile_row = tile.checked_div(tiles_x).unwrap_or(0);
        let part_row = part.checked_div(parts_x).unwrap_or(0);
        let thread = thread::thread_idx_x();
        let column = (tile - tile_row * tiles_x) * tile_columns
            + (part - part_row * parts_x) * COLUMNS
            + thread % COLUMNS;
        let row = tile_row * tile_rows + part_row * ROWS + thread / COLUMNS;
        // SAFETY: passed on to the caller; the loop is the same in the whole block.
        unsafe { scene.query(column, row) };
        item += thread::grid_dim_x();
    }
}

/// Writes the value of every pixel's site, and a 0 after the last: scanned, the sums of the values of
/// all pixels before each.
///
/// Grid: one thread an element.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` and `values` have `pixels` elements, `sums` one more.
#[kernel(block = 256)]
pub unsafe fn gather_sums(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    sums: *mut i64,
    pixels: u64,
) {
    let pixel = thread::index_1d();
    if pixel > pixels {
        return;
    }
    let p = pixel as usize;
    // SAFETY: guarded by `pixels`; with sites `nearest` holds indices of pixels.
    unsafe {
        let mut value = 0;
        if pixel < pixels && *tallies.add(SITES) > 0 {
            value = *values.add(*nearest.add(p) as usize);
        }
        *sums.add(p) = value as i64;
    }
}
