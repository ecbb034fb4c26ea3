//! The query of small circles, from tiles of pixels in shared memory.
//!
//! A block takes a tile of cells. It gathers what the queries ask of the tile's pixels, and of those
//! around it that a circle may reach, into eight bytes each:
//!
//! - above, 10 bits of squared distance to the pixel's site, in half pixels, cut off beyond the
//!   circle's: a pixel counts where this is more than its squared distance to the query point, so
//!   the comparison is the test of the circle too; and the upper 22 bits of the site's value;
//! - below, a one at bit 20, and the lower 9 bits of the value.
//!
//! So two additions sum the value and count the pixel, with no carry in a circle of less than 1024
//! pixels. Then each cell walks over the rows of its circle. Only where a tile has a pixel so far
//! from its site that the site's region of influence may end before the query point does the walk
//! look at sites, through `nearest`.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::NONE;
use super::geometry::{Width, mean, squared};
use super::query::Areas;
use super::spans::Diagram;

/// The largest squared radius of a circle, in half pixels.
pub const MAX_CIRCLE: u64 = 1022;

/// Threads of a block.
const BLOCK: u32 = 256;
const WARPS: u32 = BLOCK / warp::SIZE;

/// Bits of a value in the word that has the squared distance above them.
const HIGH_BITS: u32 = 22;
/// The other bits of a value.
const LOW_BITS: u32 = 9;
/// The count in the other word.
const ONE_PIXEL: u32 = 1 << 20;
/// What makes a value unsigned: fixed-point values are within 2^30 of 0.
const SHIFT: i64 = 1 << 30;

/// Cells that a block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// Base-2 logarithm of the cells in x.
    pub columns_log2: u32,
    /// Base-2 logarithm of the cells in y.
    pub rows_log2: u32,
}

impl TileShape {
    /// The shape for a circle that reaches `reach` pixels to each side: the largest whose pixels fit
    /// the shared memory that every device gives.
    pub const fn of(supersample: u32, reach: u32) -> Self {
        let mut shape = Self { columns_log2: 6, rows_log2: 4 };
        while shape.shared_bytes(supersample, reach) > 40 << 10 {
            if shape.columns_log2 > shape.rows_log2 {
                shape.columns_log2 -= 1;
            } else {
                shape.rows_log2 -= 1;
            }
        }
        shape
    }

    const fn pixels(self, supersample: u32, reach: u32) -> u32 {
        side(supersample, self.columns_log2, reach) * side(supersample, self.rows_log2, reach)
    }

    /// Cells of a tile.
    pub const fn cells(self) -> u32 {
        1 << (self.columns_log2 + self.rows_log2)
    }

    /// Shared memory to launch with.
    pub const fn shared_bytes(self, supersample: u32, reach: u32) -> u32 {
        let mut carver = Carver::new();
        let _: SharedArray<u64> = carver.array(self.pixels(supersample, reach));
        let _: SharedArray<u32> = carver.array(WARPS);
        carver.bytes()
    }
}

/// Pixels along a side of a tile.
#[inline(always)]
const fn side(supersample: u32, cells_log2: u32, reach: u32) -> u32 {
    (supersample << cells_log2) + 2 * reach
}

/// A tile, and what its queries have in common. Positions of queries are in half pixels.
#[derive(Clone, Copy)]
struct Tile {
    nearest: *const u32,
    pixels: SharedArray<u64>,
    /// Pixels along the tile's sides.
    sides: [u32; 2],
    /// The pixel of the raster that is the tile's first; beyond the raster at its borders.
    origin: [i32; 2],
    /// Pixels of the raster in x.
    width: Width,
    /// Pixels of the raster.
    extent: [i32; 2],
    circle_limit: u32,
    site_limit: u64,
}

/// The running sum of a query, as the tile's words add up.
#[derive(Clone, Copy)]
struct Stolen {
    high: u32,
    low: u32,
}

/// Pixels that a thread gathers at once.
const BATCH: usize = 4;

impl Tile {
    /// Gathers the tile's pixels; whether a site's region of influence may end within the reach of
    /// one of the thread's pixels.
    ///
    /// # Safety
    /// `values` has an element for each pixel of the raster, which has a site.
    #[inline(always)]
    unsafe fn gather(&self, values: *const i32) -> bool {
        let pixels = self.sides[0] * self.sides[1];
        // So few pixels are split exactly: the half keeps the product off whole numbers.
        let reciprocal = 1.0 / self.sides[0] as f32;
        let split = |index: u32| {
            let row = ((index as f32 + 0.5) * reciprocal) as u32;
            ((index - row * self.sides[0]) as i32, row as i32)
        };
        let mut needs_check = false;
        let mut first = thread::thread_idx_x();
        while first < pixels {
            let mut sites = [NONE; BATCH];
            let mut places = [(0, 0); BATCH];
            let mut values_of = [0; BATCH];
            let mut i = 0;
            while i < BATCH {
                let (x, y) = split(first + i as u32 * BLOCK);
                let place = (self.origin[0] + x, self.origin[1] + y);
                // Beyond the tile's last row too, where nothing will be stored.
                let is_inside = (place.0 as u32) < self.extent[0] as u32
                    && (place.1 as u32) < self.extent[1] as u32;
                places[i] = place;
                if is_inside {
                    // SAFETY: the pixel is in the raster.
                    sites[i] = unsafe { *self.nearest.add(self.index(place.0, place.1)) };
                }
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                if sites[i] != NONE {
                    // SAFETY: `nearest` holds indices of pixels.
                    values_of[i] = unsafe { *values.add(sites[i] as usize) };
                }
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                let index = first + i as u32 * BLOCK;
                let mut distance = 0;
                if sites[i] != NONE {
                    let (column, row) = self.width.split(sites[i]);
                    let own = 4 * squared(places[i].0 - column, places[i].1 - row);
                    distance = u64::min(own, self.circle_limit as u64 + 1) as u32;
                    // The query is less than twice that far from the site.
                    needs_check |= own > self.site_limit >> 2;
                }
                if index < pixels {
                    let value = (values_of[i] as i64 + SHIFT) as u32;
                    let high = distance << HIGH_BITS | value >> LOW_BITS;
                    let low = ONE_PIXEL | value & ((1 << LOW_BITS) - 1);
                    // SAFETY: `index < pixels`; each is one thread's own.
                    unsafe { self.pixels.store(index, (high as u64) << 32 | low as u64) };
                }
                i += 1;
            }
            first += BLOCK * BATCH as u32;
        }
        needs_check
    }

    #[inline(always)]
    fn index(&self, x: i32, y: i32) -> usize {
        (y as i64 * self.extent[0] as i64 + x as i64) as usize
    }

    /// Sums the pixels of the circle that the query point steals. Where `checked`, only those whose
    /// sites reach it.
    ///
    /// # Safety
    /// `spans` has `rows` elements, and the circle lies in the tile.
    #[inline(always)]
    unsafe fn circle(&self, q: [i32; 2], spans: *const i32, rows: i32, checked: bool) -> Stolen {
        let mut stolen = Stolen { high: 0, low: 0 };
        // The pixel under the query point; where that is a corner, the one to its lower right.
        let base = [q[0] >> 1, q[1] >> 1];
        let on_corner = 1 - (q[0] & 1);
        let top = base[1] - (rows >> 1);
        let mut k = 0;
        while k < rows {
            // SAFETY: `k < rows`.
            let reach = unsafe { *spans.add(k as usize) };
            let dy = 2 * (top + k) + 1 - q[1];
            let dx = on_corner - 2 * reach;
            // The least word above that counts, and how it grows from one pixel to the next.
            let mut least = ((dx * dx + dy * dy + 1) as u32) << HIGH_BITS;
            let mut growth = ((4 * dx + 4) as u32) << HIGH_BITS;
            let x = base[0] - reach;
            let row = (top + k - self.origin[1]) as u32 * self.sides[0];
            let mut at = row + (x - self.origin[0]) as u32;
            let end = at + (2 * reach + 1 - on_corner) as u32;
            while at < end {
                // SAFETY: the circle lies in the tile.
                let word = unsafe { self.pixels.load(at) };
                let (high, low) = ((word >> 32) as u32, word as u32);
                let mut counts = high >= least;
                if checked && counts {
                    let column = self.origin[0] + (at - row) as i32;
                    // SAFETY: a pixel that counts is in the raster.
                    let site = unsafe { *self.nearest.add(self.index(column, top + k)) };
                    counts = self.influences(site, q);
                }
                stolen.high += if counts { high & ((1 << HIGH_BITS) - 1) } else { 0 };
                stolen.low += if counts { low } else { 0 };
                least = least.wrapping_add(growth);
                growth = growth.wrapping_add(8 << HIGH_BITS);
                at += 1;
            }
            k += 1;
        }
        stolen
    }

    /// Whether the query point lies in a site's region of influence.
    #[inline(always)]
    fn influences(&self, site: u32, q: [i32; 2]) -> bool {
        let (column, row) = self.width.split(site);
        squared(2 * column + 1 - q[0], 2 * row + 1 - q[1]) < self.site_limit
    }
}

impl Stolen {
    /// The sum of the values, and how many they are.
    #[inline(always)]
    fn sum(self) -> (i64, u32) {
        let count = self.low / ONE_PIXEL;
        let shifted = ((self.high as i64) << LOW_BITS) + (self.low % ONE_PIXEL) as i64;
        (shifted - count as i64 * SHIFT, count)
    }
}

/// Interpolates the cells of tiles, from tile `first_tile` on, row by row of tiles.
///
/// The cell (column, row) asks from `supersample * (2 column + 1, 2 row + 1)`, in half pixels.
/// `spans` holds for each of the `span_rows` rows of the query circle, from the top, how many of its
/// pixels lie to the left of the query point, and as many to the right. A pixel counts when it
/// is nearer to the query point than to its own site, and that site is nearer to the query point
/// than `site_limit` (squared, in half pixels). Where none counts the query point is on a site, or
/// amid four: then the sites among the pixels that touch it count. Where still none counts, and
/// everywhere if the raster has no sites, the cell is NaN. Grid: one block a tile of `1 <<
/// columns_log2` by `1 << rows_log2` cells, [`TileShape::shared_bytes`] of shared memory.
///
/// # Safety
/// `tallies` has the number of sites, `nearest` and `values` an element for each pixel, `spans`
/// `span_rows`, `dem` and (unless null) `counts` one for each cell. The raster has `supersample`
/// times the cells' columns and rows; `reciprocal` is that of its width. `circle_limit`, the squared
/// radius of the circle, is at most [`MAX_CIRCLE`].
#[kernel(block = 256, resident = 5)]
pub unsafe fn query_tiles(
    tallies: *const u32,
    nearest: *const u32,
    values: *const i32,
    spans: *const i32,
    span_rows: u32,
    circle_limit: u32,
    site_limit: u64,
    cell_columns: u32,
    cell_rows: u32,
    reciprocal: u64,
    supersample: u32,
    columns_log2: u32,
    rows_log2: u32,
    first_tile: u32,
    offset: f64,
    step: f64,
    dem: *mut f32,
    counts: *mut u32,
) {
    let tiles_x = cell_columns.div_ceil(1 << columns_log2);
    let tile = first_tile + thread::block_idx_x();
    let tile_row = tile.checked_div(tiles_x).unwrap_or(0);
    let first_column = (tile - tile_row * tiles_x) << columns_log2;
    let first_row = tile_row << rows_log2;

    let reach = span_rows >> 1;
    let sides = [side(supersample, columns_log2, reach), side(supersample, rows_log2, reach)];
    let mut carver = Carver::new();
    let extent = [(supersample * cell_columns) as i32, (supersample * cell_rows) as i32];
    let tile = Tile {
        nearest,
        pixels: carver.array(sides[0] * sides[1]),
        sides,
        origin: [
            (supersample * first_column) as i32 - reach as i32,
            (supersample * first_row) as i32 - reach as i32,
        ],
        width: Width::new(extent[0] as u32, reciprocal),
        extent,
        circle_limit,
        site_limit,
    };
    let flags: SharedArray<u32> = carver.array(WARPS);
    // SAFETY: the raster is as the caller says; every thread of the block comes to the barrier, after
    // which nobody writes to shared memory.
    unsafe {
        let has_sites = *tallies.add(super::SITES) > 0;
        let mut checked = false;
        if has_sites {
            checked = tile.gather(values);
        }
        let checked = warp::any(warp::FULL, checked);
        if warp::lane_id() == 0 {
            flags.store(warp::warp_id(), checked as u32);
        }
        thread::sync_threads();
        let lane = warp::lane_id();
        let flag = if lane < WARPS { flags.load(lane) } else { 0 };
        let checked = warp::any(warp::FULL, flag != 0);

        // Without a circle: only the pixels that touch a query point are asked for.
        let diagram = Diagram {
            nearest: |x: i32, y: i32| *nearest.add(tile.index(x, y)),
            width: tile.width,
            extent,
            circle_rows: i32::MAX,
            reach: |_| 0,
        };
        let mut cell = thread::thread_idx_x();
        while cell < 1 << (columns_log2 + rows_log2) {
            let column = first_column + (cell & ((1 << columns_log2) - 1));
            let row = first_row + (cell >> columns_log2);
            cell += BLOCK;
            if column >= cell_columns || row >= cell_rows {
                continue;
            }
            let q = [(supersample * (2 * column + 1)) as i32, (supersample * (2 * row + 1)) as i32];
            let mut stolen = (0, 0);
            if has_sites {
                stolen = if checked {
                    tile.circle(q, spans, span_rows as i32, true).sum()
                } else {
                    tile.circle(q, spans, span_rows as i32, false).sum()
                };
                if stolen.1 == 0 {
                    let value = |site: u32| *values.add(site as usize);
                    let areas = Areas::touching(&diagram.stolen_by(q), site_limit, value);
                    stolen = (areas.sum, areas.count);
                }
            }
            let (sum, count) = stolen;
            let index = row as usize * cell_columns as usize + column as usize;
            *dem.add(index) = mean(sum, count, offset, step);
            if !counts.is_null() {
                *counts.add(index) = count;
            }
        }
    }
}
