//! The queries by Sibson's areas: what each sums, and a cell [row by row](super::spans).

#[cfg(feature = "nni")]
use device_std::kernel;
use device_std::thread;

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::finish::deviation;
use super::geometry::{Width, means};
use super::region::{Bounds, Neighbour, Region};
use super::spans::Diagram;
use super::values::{Scales, Values, place_of};
use crate::nni::tallies::SITES;

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
    /// Nothing.
    pub(super) const NONE: Self = Self { count: 0, sums: [0; N], way: [0; 2] };

    /// Sums what a query point steals from the sites that reach it; where that is nothing, the
    /// sites that touch it.
    ///
    /// `before`, which may be there if all sites reach everywhere, gives the sums of the values of
    /// all pixels before one. Then a row takes two looks at it, however many sites it has; and the
    /// ways are not summed.
    #[inline(always)]
    pub fn of(
        cell: &impl Region,
        site_limit: u64,
        values: impl Fn(u32) -> [i32; N],
        before: Option<impl Fn(usize) -> [i64; N]>,
    ) -> Self {
        let mut areas = Self::NONE;
        if cell.is_beyond(site_limit) {
            return areas;
        }
        match before {
            Some(before) => cell.rows(|y, first, last| {
                if first <= last {
                    let start = cell.position().index(first, y);
                    let pixels = (last - first + 1) as u32;
                    areas.count += pixels;
                    let (from, to) = (before(start), before(start + pixels as usize));
                    let mut k = 0;
                    while k < N {
                        areas.sums[k] += to[k].wrapping_sub(from[k]);
                        k += 1;
                    }
                }
            }),
            None => cell.in_any_order(site_limit, |site, pixels| {
                areas.add(site, pixels, values(site.site));
            }),
        }
        if areas.count == 0 { Self::touching(cell, site_limit, values) } else { areas }
    }

    /// Sums the sites that touch a query point which steals nothing.
    #[inline(always)]
    pub fn touching(cell: &impl Region, site_limit: u64, values: impl Fn(u32) -> [i32; N]) -> Self {
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
        // A run is shorter than 2^31 pixels, and a product of two numbers of 32 bits is one instruction.
        let pixels = pixels as i32 as i64;
        let mut k = 0;
        while k < N {
            self.sums[k] += pixels * values[k] as i64;
            k += 1;
        }
        self.way[0] += pixels * site.dx as i64;
        self.way[1] += pixels * site.dy as i64;
    }
}

/// From the sums of one value to those of the next: one for each pixel and one more, made even so that
/// each value's start at a multiple of 16 bytes.
#[inline(always)]
pub const fn sum_plane(pixels: usize) -> usize {
    (pixels + 2) & !1
}

/// Where a cell of the DEM asks from, in half pixels.
#[inline(always)]
pub(super) fn query_point(column: u32, row: u32, supersample: u32) -> [i32; 2] {
    [column, row].map(|i| (supersample * (2 * i + 1)) as i32)
}

/// A DEM, and what its queries look at.
#[derive(Clone, Copy)]
pub(super) struct Scene<const N: usize> {
    pub tallies: *const u64,
    pub nearest: *const u32,
    pub values: Values<N>,
    pub spans: *const i32,
    pub span_rows: u32,
    pub site_limit: u64,
    pub cells: [u32; 2],
    pub reciprocal: u64,
    pub supersample: u32,
    pub scales: Scales,
    pub dem: *mut f32,
    pub counts: *mut u32,
    /// Null, or for each value the sums of all pixels before each.
    pub sums: *const i64,
    pub deviations: *mut f32,
}

impl<const N: usize> Scene<N> {
    /// Where queries look.
    ///
    /// # Safety
    /// `spans` has `span_rows` elements, or `span_rows` is `i32::MAX`, and rows of the circle alone are asked for.
    #[inline(always)]
    pub unsafe fn bounds(&self) -> Bounds<impl Fn(i32) -> i32 + Copy> {
        let spans = self.spans;
        Bounds {
            extent: self.cells.map(|side| (self.supersample * side) as i32),
            circle_rows: self.span_rows as i32,
            // SAFETY: passed on to the caller.
            reach: move |k: i32| unsafe { *spans.add(k as usize) },
        }
    }

    /// Whether the raster has a site.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    pub unsafe fn has_sites(&self) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { *self.tallies.add(SITES) > 0 }
    }

    /// Interpolates a cell of the DEM row by row.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    pub unsafe fn query(&self, column: u32, row: u32) {
        // SAFETY: the walk keeps within the raster and the rows of the circle; the cell is in the DEM.
        unsafe {
            let bounds = self.bounds();
            let extent = bounds.extent;
            let nearest = |x: i32, y: i32| {
                *self.nearest.add((y as i64 * extent[0] as i64 + x as i64) as usize)
            };
            let width = Width::new(extent[0] as u32, self.reciprocal);
            let diagram = Diagram { nearest, width, bounds };
            let mut areas = Areas::NONE;
            if self.has_sites() {
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
                let cell = diagram.stolen_by(query_point(column, row, self.supersample));
                areas = Areas::of(&cell, self.site_limit, |site| self.values.of(site), before);
            }
            self.put(column, row, &areas);
        }
    }

    /// Writes what a cell of the DEM has.
    ///
    /// # Safety
    /// As for the kernels; the cell is in the DEM.
    #[inline(always)]
    pub unsafe fn put(&self, column: u32, row: u32, areas: &Areas<N>) {
        let [columns, rows] = self.cells;
        let index = row as usize * columns as usize + column as usize;
        // SAFETY: passed on to the caller.
        unsafe {
            let values = means(areas.sums, areas.count, |k| self.scales.of(k));
            let mut k = 0;
            while k < N {
                *self.dem.add(k * (columns as usize * rows as usize) + index) = values[k];
                k += 1;
            }
            if !self.counts.is_null() {
                *self.counts.add(index) = areas.count;
            }
            if !self.deviations.is_null() {
                *self.deviations.add(index) = deviation(areas, self.supersample);
            }
        }
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
            if column < self.cells[0] && row < self.cells[1] {
                // SAFETY: passed on to the caller.
                unsafe { self.query(column, row) };
            }
            item += thread::grid_dim_x();
        }
    }
}

/// Interpolates the cells of listed tiles, of `tile_columns` by `tile_rows` cells, row by row within a circle. `listed` has
/// their number, then the tiles.
///
/// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of its pixels
/// lie to the left of the query point, and as many to the right. Grid: any; each block takes [`COLUMNS`] by [`ROWS`]
/// cells of a tile in turn.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` an element for each pixel, `values` `N` for each, which lie as [`Values`] says, `spans`
/// `span_rows`, `counts` (unless null) one for each cell, `dem` as many for each value, one value after
/// the other. The raster has `supersample` times the cells' columns and rows; `reciprocal` is that of its
/// width. The sides of a tile are multiples of those of a block.
#[cfg(feature = "nni")]
#[kernel(block = COLUMNS * ROWS, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn query_listed<const N: usize>(
    tallies: *const u64,
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
