//! The query of small circles, from tiles of pixels in shared memory.
//!
//! A block takes a tile of cells. It gathers what the queries ask of the tile's pixels, and of those
//! around it that a circle may reach, into eight bytes each:
//!
//! - above, 10 bits of squared distance to the pixel's site, in half pixels, cut off just beyond the
//!   circle's: a pixel counts where this is more than its squared distance to the query point, so
//!   the comparison is the test of the circle too; and the upper 22 bits of the site's value;
//! - below, a one at bit 20, and the lower 9 bits of the value.
//!
//! So one comparison with a constant and two additions test a pixel, sum its value and count it.
//! A thread takes a few cells one below the other, for which it loads each pixel once. All offsets are
//! constants: there is a kernel for each supersampling and circle that is worth it, and a circle
//! between two of them takes the larger.
//!
//! A tile with a pixel so far from its site that the site's region of influence may end before a
//! query point is left to [`query_listed`](super::query_listed).

use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::geometry::{Width, mean, squared};
use super::rasterise::SITES;

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

/// Pixels that a thread gathers at once.
const BATCH: usize = 4;

/// A kernel's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearShape {
    /// Pixels along a cell's side.
    pub supersample: u32,
    /// The squared radius of the largest circle, in half pixels.
    pub circle: u32,
    /// Cells of a tile in x.
    pub columns: u32,
    /// Cells of a tile in y.
    pub rows: u32,
}

impl NearShape {
    /// A tile 64 pixels wide.
    const fn new(supersample: u32, circle: u32, rows: u32) -> Self {
        Self { supersample, circle, columns: 64 / supersample, rows }
    }

    /// How far the circle reaches to the west and north, in pixels.
    const fn reach(self) -> u32 {
        let on_centre = self.supersample % 2;
        let mut reach = 0;
        while (2 * (reach + 1) + on_centre - 1).pow(2) <= self.circle {
            reach += 1;
        }
        reach
    }

    /// Pixels along the tile's sides.
    const fn sides(self) -> [u32; 2] {
        let halo = 2 * self.reach();
        [self.columns * self.supersample + halo, self.rows * self.supersample + halo]
    }

    /// Pixels of the tile.
    const fn pixels(self) -> u32 {
        self.sides()[0] * self.sides()[1]
    }

    /// Cells of a thread, one below the other.
    const fn cells_of_thread(self) -> u32 {
        self.columns * self.rows / BLOCK
    }

    /// Shared memory to launch with.
    pub const fn shared_bytes(self) -> u32 {
        let mut carver = Carver::new();
        let _: SharedArray<u64> = carver.array(self.pixels());
        let _: SharedArray<u32> = carver.array(WARPS);
        carver.bytes()
    }
}

/// The most cells of a thread.
const MOST_CELLS: usize = 8;

/// A tile of a kernel's shape. Positions of queries are in half pixels.
#[derive(Clone, Copy)]
struct Tile<const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32> {
    pixels: SharedArray<u64>,
    /// The pixel of the raster that is the tile's first; beyond the raster at its borders.
    origin: [i32; 2],
    /// Columns of the raster.
    width: Width,
    /// Columns and rows of the raster.
    extent: [i32; 2],
}

/// The running sums of a thread's cells, as the tile's words add up.
#[derive(Clone, Copy)]
struct Stolen {
    high: [u32; MOST_CELLS],
    low: [u32; MOST_CELLS],
}

impl<const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32> Tile<SUPERSAMPLE, CIRCLE, ROWS> {
    const SHAPE: NearShape = NearShape::new(SUPERSAMPLE, CIRCLE, ROWS);
    const WIDTH: u32 = Self::SHAPE.sides()[0];
    const REACH: i32 = Self::SHAPE.reach() as i32;
    const CELLS: usize = Self::SHAPE.cells_of_thread() as usize;
    /// 1 where query points are the corners of pixels.
    const ON_CORNER: i32 = 1 - (SUPERSAMPLE % 2) as i32;

    /// Gathers the tile's pixels; whether a site's region of influence may end within the reach of
    /// one of the thread's pixels.
    ///
    /// # Safety
    /// `nearest` and `values` have an element for each pixel of the raster, which has a site.
    #[inline(always)]
    unsafe fn gather(
        &self,
        nearest: *const u32,
        values: *const i32,
        circle_limit: u32,
        site_limit: u64,
    ) -> bool {
        let pixels = Self::SHAPE.pixels();
        let mut is_far = false;
        let mut first = thread::thread_idx_x();
        while first < pixels {
            let mut places = [(0, 0); BATCH];
            let mut inside = [false; BATCH];
            let mut sites = [0; BATCH];
            let mut values_of = [0; BATCH];
            // Beyond the raster, and beyond the tile, something is loaded that is not used: without
            // branches between them the loads are in flight together.
            let mut i = 0;
            while i < BATCH {
                let index = first + i as u32 * BLOCK;
                let row = index / Self::WIDTH;
                let x = self.origin[0] + (index - row * Self::WIDTH) as i32;
                let y = self.origin[1] + row as i32;
                let within = [
                    i32::max(0, i32::min(self.extent[0] - 1, x)),
                    i32::max(0, i32::min(self.extent[1] - 1, y)),
                ];
                inside[i] = within[0] == x && within[1] == y;
                places[i] = (x, y);
                let pixel = within[1] as i64 * self.extent[0] as i64 + within[0] as i64;
                // SAFETY: the pixel is in the raster.
                sites[i] = unsafe { *nearest.add(pixel as usize) };
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                // SAFETY: `nearest` holds indices of pixels.
                values_of[i] = unsafe { *values.add(sites[i] as usize) };
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                let index = first + i as u32 * BLOCK;
                let (column, row) = self.width.split(sites[i]);
                let own = 4 * squared(places[i].0 - column, places[i].1 - row);
                let mut distance = u64::min(own, circle_limit as u64 + 1) as u32;
                if !inside[i] {
                    distance = 0;
                }
                // The query is less than twice that far from the site.
                is_far |= inside[i] && own > site_limit >> 2;
                let value = (values_of[i] as i64 + SHIFT) as u32;
                let high = distance << HIGH_BITS | value >> LOW_BITS;
                let low = ONE_PIXEL | value & ((1 << LOW_BITS) - 1);
                if index < pixels {
                    // SAFETY: `index < pixels`; each is one thread's own.
                    unsafe { self.pixels.store(index, (high as u64) << 32 | low as u64) };
                }
                i += 1;
            }
            first += BLOCK * BATCH as u32;
        }
        is_far
    }

    /// Adds the pixels of one row, `J` below the base pixel of the thread's first cell, to the cells
    /// whose circles have it. `base` is that pixel's place in the tile.
    ///
    /// # Safety
    /// The circles lie in the tile.
    #[inline(always)]
    unsafe fn row<const J: i32>(&self, base: u32, stolen: &mut Stolen) {
        if J > Self::REACH - Self::ON_CORNER + (Self::CELLS as i32 - 1) * SUPERSAMPLE as i32 {
            return;
        }
        // Both loops unroll, and the conditions are decided when compiling.
        let mut i = -Self::REACH;
        while i <= Self::REACH - Self::ON_CORNER {
            if (0..Self::CELLS).any(|cell| Self::away(i, J, cell) <= CIRCLE) {
                let at = base as i32 + J * Self::WIDTH as i32 + i;
                // SAFETY: passed on to the caller.
                let word = unsafe { self.pixels.load(at as u32) };
                let (high, low) = ((word >> 32) as u32, word as u32);
                let value = high & ((1 << HIGH_BITS) - 1);
                let mut cell = 0;
                while cell < Self::CELLS {
                    let away = Self::away(i, J, cell);
                    if away <= CIRCLE {
                        // The pixel under the query point always counts: it is stolen, or it is a
                        // site, and then it is all that counts.
                        let counts = away == 0 || high >= (away + 1) << HIGH_BITS;
                        stolen.high[cell] += if counts { value } else { 0 };
                        stolen.low[cell] += if counts { low } else { 0 };
                    }
                    cell += 1;
                }
            }
            i += 1;
        }
    }

    /// The squared distance from the query point of a cell of the thread to the pixel that is `i` to
    /// the right of and `j` below the base pixel of the first.
    #[inline(always)]
    const fn away(i: i32, j: i32, cell: usize) -> u32 {
        let dx = 2 * i + Self::ON_CORNER;
        let dy = 2 * (j - cell as i32 * SUPERSAMPLE as i32) + Self::ON_CORNER;
        (dx * dx + dy * dy) as u32
    }

    /// The sum and the number of the sites among the four pixels that touch the query point, which is
    /// their corner.
    ///
    /// # Safety
    /// As [`row`](Self::row).
    #[inline(always)]
    unsafe fn touching_sites(&self, base: u32) -> (i64, u32) {
        let (mut sum, mut count) = (0, 0);
        let mut k = 0;
        while k < 4 {
            // SAFETY: passed on to the caller.
            let word = unsafe { self.pixels.load(base - k / 2 * Self::WIDTH - k % 2) };
            let (high, low) = ((word >> 32) as u32, word as u32);
            if high >> HIGH_BITS == 0 {
                sum += ((high as i64) << LOW_BITS) + (low % ONE_PIXEL) as i64 - SHIFT;
                count += 1;
            }
            k += 1;
        }
        (sum, count)
    }
}

impl Stolen {
    /// The sum of a cell's values, and how many they are.
    #[inline(always)]
    fn of(&self, cell: usize) -> (i64, u32) {
        let count = self.low[cell] / ONE_PIXEL;
        let low = (self.low[cell] % ONE_PIXEL) as i64;
        (((self.high[cell] as i64) << LOW_BITS) + low - count as i64 * SHIFT, count)
    }
}

/// The kernels, each with its shape and the rows of pixels that a thread's circles have.
macro_rules! near {
    ($($name:ident, $supersample:literal, $circle:literal, $rows:literal: $($row:literal)+;)+) => {
        /// The shapes for which there is a kernel, smaller circles first.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const NEAR: &[(NearShape, Near)] =
            &[$((NearShape::new($supersample, $circle, $rows), $name)),+];

        $(
            /// Interpolates the cells of tiles, from tile `first_tile` on, row by row of tiles.
            ///
            /// The cell (column, row) asks from `supersample * (2 column + 1, 2 row + 1)`, in half
            /// pixels. A pixel counts when it is nearer to the query point than to its own site, within
            /// the circle of squared radius `circle_limit`, and its site is nearer to the query point
            /// than `site_limit` (squared). Where none counts the query point is on a site, or amid
            /// four: then the sites among the pixels that touch it count. Everywhere, if the raster
            /// has no sites, the cell is NaN. Tiles in which the site limit plays a part are not
            /// interpolated, but put into `listed`: their number, which starts at 0, then they.
            /// Grid: one block a tile, [`NearShape::shared_bytes`] of shared memory.
            ///
            /// # Safety
            /// `tallies` has the number of sites, `nearest` and `values` an element for each pixel,
            /// `listed` one more than there are tiles, `dem` and (unless null) `counts` one for each
            /// cell. The raster has `supersample` times the cells' columns and rows; `reciprocal` is
            /// that of its width. `circle_limit` is at most the shape's circle.
            #[kernel(block = 256, resident = 4)]
            pub unsafe fn $name(
                tallies: *const u64,
                nearest: *const u32,
                values: *const i32,
                circle_limit: u32,
                site_limit: u64,
                cell_columns: u32,
                cell_rows: u32,
                reciprocal: u64,
                first_tile: u32,
                offset: f64,
                step: f64,
                dem: *mut f32,
                counts: *mut u32,
                listed: *mut u32,
            ) {
                type Shaped = Tile<$supersample, $circle, $rows>;
                const SHAPE: NearShape = Shaped::SHAPE;
                let mut carver = Carver::new();
                let pixels = carver.array(SHAPE.pixels());
                let flags: SharedArray<u32> = carver.array(WARPS);

                let tiles_x = cell_columns.div_ceil(SHAPE.columns);
                let index = first_tile + thread::block_idx_x();
                let tile_row = index.checked_div(tiles_x).unwrap_or(0);
                let first = [(index - tile_row * tiles_x) * SHAPE.columns, tile_row * SHAPE.rows];
                let extent =
                    [($supersample * cell_columns) as i32, ($supersample * cell_rows) as i32];
                let tile = Shaped {
                    pixels,
                    origin: [
                        ($supersample * first[0]) as i32 - Shaped::REACH,
                        ($supersample * first[1]) as i32 - Shaped::REACH,
                    ],
                    width: Width::new(extent[0] as u32, reciprocal),
                    extent,
                };
                // SAFETY: the raster is as the caller says; every thread of the block comes to the
                // barrier, after which nobody writes to shared memory.
                unsafe {
                    let has_sites = *tallies.add(SITES) > 0;
                    let mut is_far = false;
                    if has_sites {
                        is_far = tile.gather(nearest, values, circle_limit, site_limit);
                    }
                    let is_far = warp::any(warp::FULL, is_far);
                    let lane = warp::lane_id();
                    if lane == 0 {
                        flags.store(warp::warp_id(), is_far as u32);
                    }
                    thread::sync_threads();
                    let flag = if lane < WARPS { flags.load(lane) } else { 0 };
                    if warp::any(warp::FULL, flag != 0) {
                        if thread::thread_idx_x() == 0 {
                            *listed.add(1 + atomic::add_u32(listed, 1) as usize) = index;
                        }
                        return;
                    }

                    let column = thread::thread_idx_x() % SHAPE.columns;
                    let row = thread::thread_idx_x() / SHAPE.columns * SHAPE.cells_of_thread();
                    let to_base = $supersample / 2 + Shaped::REACH as u32;
                    let base = (row * $supersample + to_base) * Shaped::WIDTH
                        + column * $supersample + to_base;
                    let mut stolen = Stolen { high: [0; MOST_CELLS], low: [0; MOST_CELLS] };
                    if has_sites {
                        $(tile.row::<$row>(base, &mut stolen);)+
                    }
                    let column = first[0] + column;
                    let mut cell = 0;
                    while cell < Shaped::CELLS {
                        let row = first[1] + row + cell as u32;
                        let (mut sum, mut count) = stolen.of(cell);
                        if Shaped::ON_CORNER == 1 && count == 0 && has_sites && site_limit > 2 {
                            let below = cell as u32 * $supersample * Shaped::WIDTH;
                            (sum, count) = tile.touching_sites(base + below);
                        }
                        if column < cell_columns && row < cell_rows {
                            let at = row as usize * cell_columns as usize + column as usize;
                            *dem.add(at) = mean(sum, count, offset, step);
                            if !counts.is_null() {
                                *counts.add(at) = count;
                            }
                        }
                        cell += 1;
                    }
                }
            }
        )+
    };
}

near! {
    query_near_1_36, 1, 36, 32:
        -3 -2 -1 0 1 2 3 4 5 6 7 8 9 10;
    query_near_1_100, 1, 100, 16:
        -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 8;
    query_near_2_64, 2, 64, 16:
        -4 -3 -2 -1 0 1 2 3 4 5;
    query_near_2_144, 2, 144, 16:
        -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7;
}

/// A kernel of [`NEAR`].
#[cfg(not(target_arch = "nvptx64"))]
pub type Near = device_std::host::Kernel<(
    *const u64,
    *const u32,
    *const i32,
    u32,
    u64,
    u32,
    u32,
    u64,
    u32,
    f64,
    f64,
    *mut f32,
    *mut u32,
    *mut u32,
)>;
