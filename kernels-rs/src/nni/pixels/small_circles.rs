//! The query of small circles, from tiles of pixels in shared memory.
//!
//! A block takes a tile of cells. For each pixel of the tile, and each pixel around it that a circle may reach, the
//! block packs what queries need into a few words (`packing`):
//!
//! - for each value, a word with its upper bits. The first of these words also has, above them, the squared distance
//!   from the pixel to its site, in half pixels, cut off just beyond the circle's squared radius. A pixel counts if
//!   this is more than its squared distance to the query point, so the one comparison also tests the circle;
//! - one word or more with a one, and the lower bits of the values.
//!
//! The words are wide enough for the sums over a circle. So one comparison with a constant tests a pixel, and an
//! addition a word sums its values and counts it. One value takes two words, two take three, four take six. A thread
//! takes a few cells one below the other, and loads each pixel once for all of them. All offsets are constants: there
//! is a kernel for each supersampling and each circle that is worth it. A circle between two of them takes the larger.
//!
//! In some tiles a pixel is so far from its site that the site's region of influence may end before a query point. Such
//! a tile is left to [`query_listed`](mod@super::query_listed).

mod packing;
mod shape;

use device_std::shared::{Carver, SharedArray};
use device_std::{Out, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::geometry::{Width, means, squared};
use super::query::Results;
use super::values::{Scales, Sites};
use packing::{MAX_WORDS, Packing, add_words};

pub use shape::NearShape;

/// Threads of a block.
const BLOCK: u32 = 256;
const WARPS: u32 = BLOCK / warp::SIZE;

/// Pixels that a thread gathers at once.
const BATCH: usize = 4;

/// The most cells of a thread.
const MAX_CELLS: usize = 8;

/// A tile of a kernel's shape. Positions of queries are in half pixels.
#[derive(Clone, Copy)]
struct Tile<const N: usize, const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32> {
    /// The words of the pixels, two at a time: all first pairs, then all second ones.
    pixels: SharedArray<u64>,
    /// The pixel of the raster that is the tile's first; beyond the raster at its borders.
    origin: [i32; 2],
    /// Columns of the raster.
    width: Width,
    /// Columns and rows of the raster.
    extent: [i32; 2],
}

impl<const N: usize, const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32>
    Tile<N, SUPERSAMPLE, CIRCLE, ROWS>
{
    const SHAPE: NearShape = NearShape::new(N, SUPERSAMPLE, CIRCLE, ROWS);
    const PACKING: Packing = Packing::of(Self::SHAPE);
    const PAIRS: usize = Self::PACKING.words.div_ceil(2);
    const WIDTH: u32 = Self::SHAPE.sides()[0];
    const REACH: i32 = Self::SHAPE.reach() as i32;
    const CELLS: usize = Self::SHAPE.cells_of_thread() as usize;
    /// 1 where query points are the corners of pixels.
    const ON_CORNER: i32 = 1 - (SUPERSAMPLE % 2) as i32;

    /// The words of a pixel of the tile.
    ///
    /// # Safety
    /// The tile has the pixel, and has been gathered.
    #[inline(always)]
    unsafe fn load(&self, index: u32) -> [u32; MAX_WORDS] {
        let mut words = [0; MAX_WORDS];
        let mut pair = 0;
        while pair < Self::PAIRS {
            // SAFETY: the tile has the pixel, as the caller says.
            let both = unsafe { self.pixels.load(pair as u32 * Self::SHAPE.pixels() + index) };
            // Hidden from the compiler, which would make a comparison of this half one of 64 bits.
            words[(2 * pair) % MAX_WORDS] = vector::unknown((both >> 32) as u32);
            words[(2 * pair + 1) % MAX_WORDS] = both as u32;
            pair += 1;
        }
        words
    }

    /// Sets the words of a pixel of the tile.
    ///
    /// # Safety
    /// The tile has the pixel, which is this thread's own until the next barrier.
    #[inline(always)]
    unsafe fn store(&self, index: u32, words: [u32; MAX_WORDS]) {
        let mut pair = 0;
        while pair < Self::PAIRS {
            let high = words[(2 * pair) % MAX_WORDS] as u64;
            let both = high << 32 | words[(2 * pair + 1) % MAX_WORDS] as u64;
            // SAFETY: the pixel is this thread's own, as the caller says.
            unsafe { self.pixels.store(pair as u32 * Self::SHAPE.pixels() + index, both) };
            pair += 1;
        }
    }

    /// Gathers the tile's pixels. Returns whether a site's region of influence may end within the reach of one of the
    /// thread's pixels. There are sites.
    #[inline(always)]
    fn gather(&self, of_raster: Sites<'_>, circle_limit: u32, site_limit: u64) -> bool {
        let values = of_raster.values();
        let pixels = Self::SHAPE.pixels();
        let mut is_far = false;
        let mut first = thread::thread_idx_x();
        while first < pixels {
            let mut places = [(0, 0); BATCH];
            let mut inside = [false; BATCH];
            let mut sites = [0; BATCH];
            let mut values_of = [[0; N]; BATCH];
            // Beyond the raster and beyond the tile, loads read unused elements: without branches between them the
            // loads are in flight together.
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
                sites[i] = of_raster.nearest.get(pixel);
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                values_of[i] = values.of(sites[i]);
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
                // A query point that steals the pixel is less than twice `own`'s distance from the site.
                is_far |= inside[i] && own > site_limit >> 2;
                if index < pixels {
                    // SAFETY: `index < pixels`; each is one thread's own.
                    unsafe { self.store(index, Self::PACKING.pack(distance, values_of[i])) };
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
    /// The circles lie in the tile, which has been gathered.
    #[inline(always)]
    unsafe fn row<const J: i32>(&self, base: u32, stolen: &mut Stolen) {
        let last = Self::REACH - Self::ON_CORNER + (Self::CELLS as i32 - 1) * SUPERSAMPLE as i32;
        if J < -Self::REACH || J > last {
            return;
        }
        // The loops unroll, and the conditions are decided when compiling.
        let mut i = -Self::REACH;
        while i <= Self::REACH - Self::ON_CORNER {
            if (0..Self::CELLS).any(|cell| Self::away(i, J, cell) <= CIRCLE) {
                let at = base as i32 + J * Self::WIDTH as i32 + i;
                // SAFETY: the pixel is in a circle.
                let mut words = unsafe { self.load(at as u32) };
                let distance = words[0];
                words[0] &= (1 << Self::PACKING.first_bits) - 1;
                let mut cell = 0;
                while cell < Self::CELLS {
                    let away = Self::away(i, J, cell);
                    if away <= CIRCLE {
                        // The pixel under the query point always counts: it is stolen, or it is a site, and then
                        // nothing else counts.
                        let counts =
                            away == 0 || distance >= (away + 1) << Self::PACKING.first_bits;
                        let sums = &mut stolen[cell];
                        add_words(Self::PACKING.words, counts, sums, &words);
                    }
                    cell += 1;
                }
            }
            i += 1;
        }
    }

    /// The squared distance from the query point of the thread's cell `cell` to a pixel. The pixel is `i` to the right
    /// of and `j` below the base pixel of the thread's first cell.
    #[inline(always)]
    const fn away(i: i32, j: i32, cell: usize) -> u32 {
        let dx = 2 * i + Self::ON_CORNER;
        let dy = 2 * (j - cell as i32 * SUPERSAMPLE as i32) + Self::ON_CORNER;
        (dx * dx + dy * dy) as u32
    }

    /// The sum of the words of the sites among the four pixels around the query point, which is their corner.
    ///
    /// # Safety
    /// As [`row`](Self::row).
    #[inline(always)]
    unsafe fn touching_sites(&self, base: u32) -> [u32; MAX_WORDS] {
        let mut sums = [0; MAX_WORDS];
        let mut k = 0;
        while k < 4 {
            // SAFETY: the circles have the pixels that touch the query point.
            let words = unsafe { self.load(base - k / 2 * Self::WIDTH - k % 2) };
            if words[0] >> Self::PACKING.first_bits == 0 {
                let mut word = 0;
                while word < Self::PACKING.words {
                    sums[word] += words[word];
                    word += 1;
                }
            }
            k += 1;
        }
        sums
    }
}

/// Adds all rows of pixels that the circles of a thread's cells have. A row is a constant parameter of its function, so
/// that all that depends on it is decided when compiling; rows beyond the last do nothing.
macro_rules! all_rows {
    ($tile:expr, $base:expr, $stolen:expr) => {
        all_rows!($tile, $base, $stolen; -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 8 9 10)
    };
    ($tile:expr, $base:expr, $stolen:expr; $($row:literal)+) => {
        $($tile.row::<$row>($base, &mut $stolen);)+
    };
}

/// The running sums of the words of the pixels that a thread's cells steal.
type Stolen = [[u32; MAX_WORDS]; MAX_CELLS];

/// The inputs and outputs of a query.
#[derive(Clone, Copy)]
struct Scene<'a, const N: usize> {
    sites: Sites<'a>,
    circle_limit: u32,
    site_limit: u64,
    cells: [u32; 2],
    reciprocal: u64,
    first_tile: u32,
    results: Results<'a>,
    listed: Out<'a, u32>,
}

impl<const N: usize> Scene<'_, N> {
    /// Interpolates the cells of the block's tile, or lists the tile.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn interpolate<const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32>(&self) {
        let shape = Tile::<N, SUPERSAMPLE, CIRCLE, ROWS>::SHAPE;
        let [columns, rows] = self.cells;
        let (pixels, flags) = shape.carve(&mut Carver::new());
        let tiles_x = columns.div_ceil(shape.columns);
        let index = self.first_tile + thread::block_idx_x();
        let tile_row = index.checked_div(tiles_x).unwrap_or(0);
        let first = [(index - tile_row * tiles_x) * shape.columns, tile_row * shape.rows];
        let extent = [(SUPERSAMPLE * columns) as i32, (SUPERSAMPLE * rows) as i32];
        let tile = Tile::<N, SUPERSAMPLE, CIRCLE, ROWS> {
            pixels,
            origin: first.map(|cell| (SUPERSAMPLE * cell) as i32 - shape.reach() as i32),
            width: Width::new(extent[0] as u32, self.reciprocal),
            extent,
        };
        let has_sites = self.sites.are_some();
        let mut is_far = false;
        if has_sites {
            is_far = tile.gather(self.sites, self.circle_limit, self.site_limit);
        }
        // SAFETY: every thread of the block comes to the barrier, after which nobody writes to shared memory.
        unsafe {
            let is_far = warp::any(warp::FULL, is_far);
            let lane = warp::lane_id();
            if lane == 0 {
                flags.store(warp::warp_id(), is_far as u32);
            }
            thread::sync_threads();
            let flag = if lane < WARPS { flags.load(lane) } else { 0 };
            if warp::any(warp::FULL, flag != 0) {
                if thread::thread_idx_x() == 0 {
                    self.listed.set(1 + self.listed.fetch_add(0u32, 1) as usize, index);
                }
                return;
            }
            self.cells_of_thread(&tile, first, has_sites);
        }
    }

    /// Interpolates the cells of this thread. `first` is the tile's first cell.
    ///
    /// # Safety
    /// The tile has been gathered, if there are sites.
    #[inline(always)]
    unsafe fn cells_of_thread<const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32>(
        &self,
        tile: &Tile<N, SUPERSAMPLE, CIRCLE, ROWS>,
        first: [u32; 2],
        has_sites: bool,
    ) {
        let shape = Tile::<N, SUPERSAMPLE, CIRCLE, ROWS>::SHAPE;
        let packing = Tile::<N, SUPERSAMPLE, CIRCLE, ROWS>::PACKING;
        let on_corner = SUPERSAMPLE.is_multiple_of(2);
        let [columns, rows] = self.cells;
        let column = thread::thread_idx_x() % shape.columns;
        let row = thread::thread_idx_x() / shape.columns * shape.cells_of_thread();
        let width = shape.sides()[0];
        let to_base = SUPERSAMPLE / 2 + shape.reach();
        let base = (row * SUPERSAMPLE + to_base) * width + column * SUPERSAMPLE + to_base;
        let mut stolen = [[0; MAX_WORDS]; MAX_CELLS];
        if has_sites {
            // SAFETY: the tile has the circles of its cells, and has been gathered.
            unsafe {
                all_rows!(tile, base, stolen);
            }
        }
        let column = first[0] + column;
        let mut cell = 0;
        while cell < shape.cells_of_thread() {
            let row = first[1] + row + cell;
            let (mut sums, mut count) = packing.unpack::<N>(&stolen[cell as usize]);
            if on_corner && count == 0 && has_sites && self.site_limit > 2 {
                // SAFETY: as above.
                let touching = unsafe { tile.touching_sites(base + cell * SUPERSAMPLE * width) };
                (sums, count) = packing.unpack::<N>(&touching);
            }
            if column < columns && row < rows {
                let Results { scales, dem, counts } = self.results;
                let at = row as usize * columns as usize + column as usize;
                let values = means(sums, count, |k| Scales(scales).of(k));
                let mut k = 0;
                while k < N {
                    let plane = k * (rows as usize * columns as usize);
                    dem.set(plane + at, values[k]);
                    k += 1;
                }
                if let Some(counts) = counts {
                    counts.set(at, count);
                }
            }
            cell += 1;
        }
    }
}

/// Interpolates the cells of tiles, from tile `first_tile` on, row by row of tiles.
///
/// The query point of cell (column, row) is `supersample * (2 column + 1, 2 row + 1)`, in half pixels. A pixel counts
/// under three conditions. It is nearer to the query point than to its own site. It lies within the circle of squared
/// radius `circle_limit`. And its site is nearer to the query point than `site_limit` (squared). If no pixel counts,
/// the query point is on a site or amid four pixels, and the sites among the pixels that touch it count.
///
/// If the raster has no sites, every cell is NaN. Tiles in which the site limit plays a part are not interpolated but
/// listed: `listed` has their number, which starts at 0, then the tiles.
/// Grid: one block a tile.
///
/// An instance's name has its values, supersampling, circle and rows, as [`NearShape::new`] takes them. Instances with
/// the same values and supersampling are in the order of their circles, smaller first.
///
/// # Safety
/// The slices have what [`Sites`], with `N` values, and [`Results`] say, for `cells` columns and rows of cells;
/// `reciprocal` is that of the raster's width. `listed` has one element more than there are tiles, and `circle_limit`
/// is at most the shape's circle.
#[kernel(
    block = BLOCK,
    shared = NearShape::new(N, SUPERSAMPLE, CIRCLE, ROWS).shared_bytes(),
    key: NearShape = NearShape::new(N, SUPERSAMPLE, CIRCLE, ROWS),
    instances(
        of_1_1_36_32: <1, 1, 36, 32>, resident = 4;
        of_1_1_100_16: <1, 1, 100, 16>, resident = 4;
        of_1_2_64_16: <1, 2, 64, 16>, resident = 4;
        of_1_2_144_16: <1, 2, 144, 16>, resident = 4;
        of_2_1_36_32: <2, 1, 36, 32>, resident = 3;
        of_2_1_100_16: <2, 1, 100, 16>, resident = 4;
        of_2_2_64_16: <2, 2, 64, 16>, resident = 4;
        of_2_2_144_8: <2, 2, 144, 8>, resident = 4;
        of_4_1_36_16: <4, 1, 36, 16>, resident = 3;
        of_4_1_100_8: <4, 1, 100, 8>, resident = 4;
        of_4_2_64_8: <4, 2, 64, 8>, resident = 4;
    )
)]
pub unsafe fn query_near<
    const N: usize,
    const SUPERSAMPLE: u32,
    const CIRCLE: u32,
    const ROWS: u32,
>(
    sites: Sites<'_>,
    circle_limit: u32,
    site_limit: u64,
    cells: [u32; 2],
    reciprocal: u64,
    first_tile: u32,
    results: Results<'_>,
    listed: Out<'_, u32>,
) {
    let scene = Scene::<N> {
        sites,
        circle_limit,
        site_limit,
        cells,
        reciprocal,
        first_tile,
        results,
        listed,
    };
    // SAFETY: the whole block is here.
    unsafe { scene.interpolate::<SUPERSAMPLE, CIRCLE, ROWS>() };
}
