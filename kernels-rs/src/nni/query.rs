//! The queries by [`spans`](super::spans), a thread a cell.

#[cfg(feature = "nni")]
use device_std::kernel;
use device_std::thread;

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::finish::deviation;
use super::geometry::{Width, means};
use super::rasterise::{NODATA, SITES, count_flags};
use super::spans::{Cell, Diagram, Neighbour};
use super::values::{Scales, Values, place_of};

/// Cells of a block in x.
pub const COLUMNS: u32 = 32;
/// Cells of a block in y.
pub const ROWS: u32 = 8;

/// What an area-weighted query sums.
#[derive(Clone, Copy)]
pub struct Areas<const N: usize> {
    /// Pixels.
    pub count: u32,
    /// Each of the values, as often as its site has pixels.
    pub sums: [i64; N],
    /// Ways to the sites, likewise; in half pixels.
    pub way: [i64; 2],
}

impl<const N: usize> Areas<N> {
    const NONE: Self = Self { count: 0, sums: [0; N], way: [0; 2] };

    /// Sums what a query point steals from the sites that reach it; where that is nothing, the
    /// sites that touch it.
    ///
    /// `before`, which may be there if all sites reach everywhere, gives the sums of the values of
    /// all pixels before one. Then a row takes two looks at it, however many sites it has; and the
    /// ways are not summed.
    #[inline(always)]
    pub fn of<D: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        cell: &Cell<'_, D, R>,
        site_limit: u64,
        values: impl Fn(u32) -> [i32; N],
        before: Option<impl Fn(usize) -> [i64; N]>,
    ) -> Self {
        let mut areas = Self::NONE;
        if cell.is_beyond(site_limit) {
            return areas;
        }
        cell.rows(|y, first, last| {
            if let Some(before) = &before {
                if first <= last {
                    let start = cell.index(first, y);
                    let pixels = (last - first + 1) as u32;
                    areas.count += pixels;
                    let (from, to) = (before(start), before(start + pixels as usize));
                    let mut k = 0;
                    while k < N {
                        areas.sums[k] += to[k].wrapping_sub(from[k]);
                        k += 1;
                    }
                }
                return;
            }
            cell.runs(y, first, last, site_limit, |site, pixels| {
                areas.add(site, pixels, values(site.site));
            });
        });
        if areas.count == 0 { Self::touching(cell, site_limit, values) } else { areas }
    }

    /// Sums the sites that touch a query point which steals nothing.
    #[inline(always)]
    pub fn touching<D: Fn(i32, i32) -> u32, R: Fn(i32) -> i32>(
        cell: &Cell<'_, D, R>,
        site_limit: u64,
        values: impl Fn(u32) -> [i32; N],
    ) -> Self {
        let mut areas = Self::NONE;
        cell.touching_sites(|site| {
            if (site.squared() as u64) < site_limit {
                areas.add(site, 1, values(site.site));
            }
        });
        areas
    }

    #[inline(always)]
    fn add(&mut self, site: Neighbour, pixels: u32, values: [i32; N]) {
        self.count += pixels;
        let mut k = 0;
        while k < N {
            self.sums[k] += pixels as i64 * values[k] as i64;
            k += 1;
        }
        self.way[0] += pixels as i64 * site.dx as i64;
        self.way[1] += pixels as i64 * site.dy as i64;
    }
}

/// From the sums of one value to those of the next: one for each pixel and one more, made even so that
/// each value's start at a multiple of 16 bytes.
#[inline(always)]
pub const fn sum_plane(pixels: usize) -> usize {
    (pixels + 2) & !1
}

/// A DEM, and what its queries look at.
#[derive(Clone, Copy)]
struct Scene<const N: usize> {
    tallies: *mut u64,
    nearest: *const u32,
    values: Values<N>,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cells: [u32; 2],
    reciprocal: u64,
    supersample: u32,
    scales: Scales,
    dem: *mut f32,
    counts: *mut u32,
    /// Null, or for each value the sums of all pixels before each.
    sums: *const i64,
    deviations: *mut f32,
}

impl<const N: usize> Scene<N> {
    /// Interpolates a cell, if it is in the DEM.
    ///
    /// # Safety
    /// As for the kernels; all threads of the warp come here.
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
                    let values = |site: u32| self.values.of(site);
                    let plane = sum_plane(extent[0] as usize * extent[1] as usize);
                    let before = |pixel: usize| {
                        let mut sums = [0; N];
                        let mut k = 0;
                        while k < N {
                            sums[k] = *self.sums.add(k * plane + pixel);
                            k += 1;
                        }
                        sums
                    };
                    let before = (!self.sums.is_null()).then_some(before);
                    areas = Areas::of(&diagram.stolen_by(q), self.site_limit, values, before);
                }
                let index = row as usize * columns as usize + column as usize;
                let values = means(areas.sums, areas.count, |k| self.scales.of(k));
                let mut k = 0;
                while k < N {
                    let plane = k * (columns as usize * rows as usize);
                    *self.dem.add(plane + index) = values[k];
                    k += 1;
                }
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

    /// Interpolates the cells of block `block`, of [`COLUMNS`] by [`ROWS`] cells, row by row.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    unsafe fn query_block(&self, block: u32) {
        let thread = thread::thread_idx_x();
        let blocks_x = self.cells[0].div_ceil(COLUMNS);
        let block_row = block.checked_div(blocks_x).unwrap_or(0);
        let column = (block - block_row * blocks_x) * COLUMNS + thread % COLUMNS;
        // SAFETY: passed on to the caller.
        unsafe { self.query(column, block_row * ROWS + thread / COLUMNS) };
    }

    /// Interpolates the cells of listed tiles, of `tile` cells in x and y: the blocks take
    /// [`COLUMNS`] by [`ROWS`] cells of a tile in turn.
    ///
    /// # Safety
    /// As for the kernels; `listed` has the number of tiles, then they; the sides of a tile are
    /// multiples of [`COLUMNS`] and [`ROWS`].
    #[inline(always)]
    unsafe fn query_listed(&self, listed: *const u32, tile: [u32; 2]) {
        let [tile_columns, tile_rows] = tile;
        let tiles_x = self.cells[0].checked_div(tile_columns).unwrap_or(0)
            + (self.cells[0].checked_rem(tile_columns).unwrap_or(0) > 0) as u32;
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
            unsafe { self.query(column, row) };
            item += thread::grid_dim_x();
        }
    }
}

/// Interpolates cells, as the kernels for small circles do, with a circle of any size, or none where
/// `span_rows` is `i32::MAX`, and counts those without a value.
///
/// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of its pixels
/// lie to the left of the query point, and as many to the right. Grid: one block for [`COLUMNS`] by
/// [`ROWS`] cells, row by row, from block `first_block` on.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` an element for each pixel, `values` `N` for each, which lie as [`Values`] says, `spans`
/// `span_rows`, `counts` (unless null) one for each cell, `dem` as many for each value, one value after
/// the other. The raster has `supersample` times the cells' columns and rows; `reciprocal` is that of its
/// width. `sums` is null, or there is no site limit and it has what [`const@gather_sums`] wrote, scanned;
/// `deviations` is null, or has an element for each cell, and `sums` is null.
#[cfg(feature = "nni")]
#[kernel(block = COLUMNS * ROWS, instances(
    one: <1>, resident = 3;
    two: <2>, resident = 2;
    four: <4>, resident = 2;
))]
pub unsafe fn query_spans<const N: usize>(
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    spans: *const i32,
    span_rows: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    first_block: u32,
    scales: *const f64,
    dem: *mut f32,
    counts: *mut u32,
    sums: *const i64,
    deviations: *mut f32,
) {
    let scene = Scene::<N> {
        tallies,
        nearest,
        values: Values { first: values, turned },
        spans,
        span_rows,
        site_limit,
        cells: [cell_columns, cell_rows],
        reciprocal,
        supersample,
        scales: Scales(scales),
        dem,
        counts,
        sums,
        deviations,
    };
    // SAFETY: passed on to the caller.
    unsafe { scene.query_block(first_block + thread::block_idx_x()) };
}

/// As [`mod@query_spans`] for the cells of listed tiles, of `tile_columns` by `tile_rows` cells. `listed` has
/// their number, then the tiles.
///
/// Grid: any; each block takes [`COLUMNS`] by [`ROWS`] cells of a tile in turn.
///
/// # Safety
/// As for [`mod@query_spans`]; the sides of a tile are multiples of those of a block.
#[cfg(feature = "nni")]
#[kernel(block = COLUMNS * ROWS, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn query_listed<const N: usize>(
    tallies: *mut u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
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
    scales: *const f64,
    dem: *mut f32,
    counts: *mut u32,
) {
    let scene = Scene::<N> {
        tallies,
        nearest,
        values: Values { first: values, turned },
        spans,
        span_rows,
        site_limit,
        cells: [cell_columns, cell_rows],
        reciprocal,
        supersample,
        scales: Scales(scales),
        dem,
        counts,
        sums: core::ptr::null(),
        deviations: core::ptr::null_mut(),
    };
    // SAFETY: passed on to the caller.
    unsafe { scene.query_listed(listed, [tile_columns, tile_rows]) };
}

/// Writes the values of every pixel's site, and zeros after the last: scanned, the sums of the values of
/// all pixels before each.
///
/// Grid: one thread for every pixel, and one more.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` has `pixels` elements, `values` has `value_count` for
/// each, which lie as [`Values`] says, `sums` [`sum_plane`] for each value.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn gather_sums(
    tallies: *const u64,
    nearest: *const u32,
    values: *const i32,
    turned: u32,
    value_count: u32,
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
        let is_pixel = pixel < pixels && *tallies.add(SITES) > 0;
        let place = if is_pixel { place_of(*nearest.add(p), turned) } else { 0 };
        let mut k = 0;
        while k < value_count as usize {
            let mut value = 0;
            if is_pixel {
                value = *values.add(place * value_count as usize + k);
            }
            *sums.add(k * sum_plane(pixels as usize) + p) = value as i64;
            k += 1;
        }
    }
}
