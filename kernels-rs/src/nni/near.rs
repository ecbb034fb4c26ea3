//! The query of small circles, from tiles of pixels in shared memory.
//!
//! A block takes a tile of cells. It gathers what the queries ask of the tile's pixels, and of those
//! around it that a circle may reach, into a few words each ([`Packing`]):
//!
//! - for each value a word with its upper bits; above those of the first, the squared distance to the
//!   pixel's site, in half pixels, cut off just beyond the circle's: a pixel counts where this is more
//!   than its squared distance to the query point, so the comparison is the test of the circle too;
//! - one word or more with a one, and the lower bits of the values.
//!
//! The words have room for the sums over a circle. So one comparison with a constant tests a pixel, and
//! an addition a word sums its values and counts it: two for one value, three for two, six for four.
//! A thread takes a few cells one below the other, for which it loads each pixel once. All offsets are
//! constants: there is a kernel for each supersampling and circle that is worth it, and a circle
//! between two of them takes the larger.
//!
//! A tile with a pixel so far from its site that the site's region of influence may end before a
//! query point is left to [`query_listed`](super::query_listed).

use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, thread, vector, warp};

use super::geometry::{Width, means, squared};
use super::rasterise::SITES;
use super::values::{MOST_VALUES, Scales, Values};

/// Threads of a block.
const BLOCK: u32 = 256;
const WARPS: u32 = BLOCK / warp::SIZE;

/// Bits of a value that is made unsigned.
const VALUE_BITS: u32 = 31;
/// What makes a value unsigned: fixed-point values are within 2^30 of 0.
const SHIFT: i64 = 1 << 30;

/// Pixels that a thread gathers at once.
const BATCH: usize = 4;

/// The most cells of a thread.
const MOST_CELLS: usize = 8;

/// The most words of a pixel.
const MOST_WORDS: usize = 8;

/// A kernel's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearShape {
    /// Values of a pixel.
    pub values: usize,
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
    pub const fn new(values: usize, supersample: u32, circle: u32, rows: u32) -> Self {
        Self { values, supersample, circle, columns: 64 / supersample, rows }
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

    /// Pixels of the circle.
    const fn pixels_of_circle(self) -> u32 {
        let (reach, on_corner) = (self.reach() as i32, 1 - (self.supersample % 2) as i32);
        let mut pixels = 0;
        let mut y = -reach;
        while y <= reach - on_corner {
            let mut x = -reach;
            while x <= reach - on_corner {
                let (dx, dy) = (2 * x + on_corner, 2 * y + on_corner);
                pixels += ((dx * dx + dy * dy) as u32 <= self.circle) as u32;
                x += 1;
            }
            y += 1;
        }
        pixels
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

    /// The pairs of words of the tile's pixels, and a flag for each warp.
    const fn carve(self, carver: &mut Carver) -> (SharedArray<u64>, SharedArray<u32>) {
        let pairs = Packing::of(self).words.div_ceil(2) as u32;
        (carver.array(pairs * self.pixels()), carver.array(WARPS))
    }

    /// Shared memory to launch with.
    pub const fn shared_bytes(self) -> u32 {
        let mut carver = Carver::new();
        let _ = self.carve(&mut carver);
        carver.bytes()
    }
}

/// What the words of a pixel hold: word `k < N` the upper bits of value `k`, those after them the
/// lower bits of the values, and a one.
#[derive(Clone, Copy)]
struct Packing {
    /// How many there are.
    words: usize,
    /// Lower bits of each value.
    low_bits: [u32; MOST_VALUES],
    /// Where they are: word and shift.
    low: [(usize, u32); MOST_VALUES],
    /// Where the one is.
    one: (usize, u32),
    /// Bits of the number of a circle's pixels.
    count_bits: u32,
    /// The bits below the distance in the first word.
    first_bits: u32,
}

impl Packing {
    /// Words with room for the sums over the circle of a shape.
    const fn of(shape: NearShape) -> Self {
        let count_bits = u32::BITS - shape.pixels_of_circle().leading_zeros();
        // Up to one more than the circle's own squared radius.
        let distance_bits = u32::BITS - (shape.circle + 1).leading_zeros();
        assert!(count_bits <= distance_bits);
        let first_bits = u32::BITS - distance_bits;
        let mut packing = Self {
            words: shape.values,
            low_bits: [0; MOST_VALUES],
            low: [(0, 0); MOST_VALUES],
            one: (shape.values, 0),
            count_bits,
            first_bits,
        };
        let mut used = count_bits;
        let mut k = 0;
        while k < shape.values {
            let upper_bits = if k == 0 { first_bits } else { u32::BITS - count_bits };
            packing.low_bits[k] = VALUE_BITS - upper_bits;
            let room = packing.low_bits[k] + count_bits;
            if used + room > u32::BITS {
                packing.words += 1;
                used = 0;
            }
            packing.low[k] = (packing.words, used);
            used += room;
            k += 1;
        }
        packing.words += 1;
        assert!(packing.words <= MOST_WORDS);
        packing
    }

    /// The words of a pixel.
    #[inline(always)]
    fn pack<const N: usize>(&self, distance: u32, values: [i32; N]) -> [u32; MOST_WORDS] {
        let mut words = [0; MOST_WORDS];
        words[0] = distance << self.first_bits;
        words[self.one.0] = 1 << self.one.1;
        let mut k = 0;
        while k < N {
            let value = (values[k] as i64 + SHIFT) as u32;
            words[k] |= value >> self.low_bits[k];
            let (word, shift) = self.low[k];
            words[word] |= (value & ((1 << self.low_bits[k]) - 1)) << shift;
            k += 1;
        }
        words
    }

    /// The sums of the values, and how many they are of each, from sums of words.
    #[inline(always)]
    fn unpack<const N: usize>(&self, words: &[u32; MOST_WORDS]) -> ([i64; N], u32) {
        let count = words[self.one.0] >> self.one.1 & ((1 << self.count_bits) - 1);
        let mut sums = [0; N];
        let mut k = 0;
        while k < N {
            let (word, shift) = self.low[k];
            let low = words[word] >> shift & ((1 << (self.low_bits[k] + self.count_bits)) - 1);
            sums[k] = ((words[k] as i64) << self.low_bits[k]) + low as i64 - count as i64 * SHIFT;
            k += 1;
        }
        (sums, count)
    }
}

/// Adds the first `count` words, if a condition holds.
///
/// The compiler would first select what to add, which takes an instruction more a word than an addition
/// that is skipped.
#[inline(always)]
fn add_words(
    count: usize,
    condition: bool,
    sums: &mut [u32; MOST_WORDS],
    words: &[u32; MOST_WORDS],
) {
    #[cfg(target_arch = "nvptx64")]
    {
        macro_rules! predicated {
            ($additions:literal $($word:literal $sum:ident $term:ident)+) => {
                // SAFETY: arithmetic.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred p; setp.ne.u32 p, {condition}, 0; ",
                            $additions,
                            " }}"
                        ),
                        condition = in(reg32) condition as u32,
                        $($sum = inout(reg32) sums[$word], $term = in(reg32) words[$word],)+
                        options(pure, nomem, nostack, preserves_flags),
                    )
                }
            };
        }
        // As many as the packings have.
        match count {
            2 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t};"
                0 a s 1 b t
            ),
            3 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u};"
                0 a s 1 b t 2 c u
            ),
            4 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u}; \
                 @p add.u32 {d}, {d}, {v};"
                0 a s 1 b t 2 c u 3 d v
            ),
            6 => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u}; \
                 @p add.u32 {d}, {d}, {v}; @p add.u32 {e}, {e}, {w}; @p add.u32 {f}, {f}, {x};"
                0 a s 1 b t 2 c u 3 d v 4 e w 5 f x
            ),
            _ => predicated!(
                "@p add.u32 {a}, {a}, {s}; @p add.u32 {b}, {b}, {t}; @p add.u32 {c}, {c}, {u}; \
                 @p add.u32 {d}, {d}, {v}; @p add.u32 {e}, {e}, {w}; @p add.u32 {f}, {f}, {x}; \
                 @p add.u32 {g}, {g}, {y};"
                0 a s 1 b t 2 c u 3 d v 4 e w 5 f x 6 g y
            ),
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    for word in 0..count {
        sums[word] += if condition { words[word] } else { 0 };
    }
}

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
    unsafe fn load(&self, index: u32) -> [u32; MOST_WORDS] {
        let mut words = [0; MOST_WORDS];
        let mut pair = 0;
        while pair < Self::PAIRS {
            // SAFETY: passed on to the caller.
            let both = unsafe { self.pixels.load(pair as u32 * Self::SHAPE.pixels() + index) };
            // Else a comparison of this half becomes one of 64 bits.
            words[(2 * pair) % MOST_WORDS] = vector::unknown((both >> 32) as u32);
            words[(2 * pair + 1) % MOST_WORDS] = both as u32;
            pair += 1;
        }
        words
    }

    /// Sets the words of a pixel of the tile.
    ///
    /// # Safety
    /// The tile has the pixel, which is this thread's own until the next barrier.
    #[inline(always)]
    unsafe fn store(&self, index: u32, words: [u32; MOST_WORDS]) {
        let mut pair = 0;
        while pair < Self::PAIRS {
            let high = words[(2 * pair) % MOST_WORDS] as u64;
            let both = high << 32 | words[(2 * pair + 1) % MOST_WORDS] as u64;
            // SAFETY: passed on to the caller.
            unsafe { self.pixels.store(pair as u32 * Self::SHAPE.pixels() + index, both) };
            pair += 1;
        }
    }

    /// Gathers the tile's pixels; whether a site's region of influence may end within the reach of
    /// one of the thread's pixels.
    ///
    /// # Safety
    /// `nearest` and `values` have an element for each pixel of the raster, which has a site.
    #[inline(always)]
    unsafe fn gather(
        &self,
        nearest: *const u32,
        values: Values<N>,
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
            let mut values_of = [[0; N]; BATCH];
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
                values_of[i] = unsafe { values.of(sites[i]) };
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
    /// The circles lie in the tile.
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
                // SAFETY: passed on to the caller.
                let mut words = unsafe { self.load(at as u32) };
                let distance = words[0];
                words[0] &= (1 << Self::PACKING.first_bits) - 1;
                let mut cell = 0;
                while cell < Self::CELLS {
                    let away = Self::away(i, J, cell);
                    if away <= CIRCLE {
                        // The pixel under the query point always counts: it is stolen, or it is a
                        // site, and then it is all that counts.
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

    /// The squared distance from the query point of a cell of the thread to the pixel that is `i` to
    /// the right of and `j` below the base pixel of the first.
    #[inline(always)]
    const fn away(i: i32, j: i32, cell: usize) -> u32 {
        let dx = 2 * i + Self::ON_CORNER;
        let dy = 2 * (j - cell as i32 * SUPERSAMPLE as i32) + Self::ON_CORNER;
        (dx * dx + dy * dy) as u32
    }

    /// The sum of the words of the sites among the four pixels that touch the query point, which is
    /// their corner.
    ///
    /// # Safety
    /// As [`row`](Self::row).
    #[inline(always)]
    unsafe fn touching_sites(&self, base: u32) -> [u32; MOST_WORDS] {
        let mut sums = [0; MOST_WORDS];
        let mut k = 0;
        while k < 4 {
            // SAFETY: passed on to the caller.
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

/// Adds all rows of pixels that the circles of a thread's cells have. A row is a parameter of its
/// function, so that all that depends on it is decided when compiling; those beyond the last do
/// nothing.
macro_rules! all_rows {
    ($tile:expr, $base:expr, $stolen:expr) => {
        all_rows!($tile, $base, $stolen; -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 8 9 10)
    };
    ($tile:expr, $base:expr, $stolen:expr; $($row:literal)+) => {
        $($tile.row::<$row>($base, &mut $stolen);)+
    };
}

/// The running sums of the words of what a thread's cells steal.
type Stolen = [[u32; MOST_WORDS]; MOST_CELLS];

/// What the kernels of this file look at and write.
#[derive(Clone, Copy)]
pub(crate) struct Scene<const N: usize> {
    pub tallies: *const u64,
    pub nearest: *const u32,
    pub values: Values<N>,
    pub circle_limit: u32,
    pub site_limit: u64,
    pub cells: [u32; 2],
    pub reciprocal: u64,
    pub first_tile: u32,
    pub scales: Scales,
    pub dem: *mut f32,
    pub counts: *mut u32,
    pub listed: *mut u32,
}

impl<const N: usize> Scene<N> {
    /// Interpolates the cells of the block's tile, or puts it into the list.
    ///
    /// # Safety
    /// As for the kernels; `SUPERSAMPLE`, `CIRCLE` and `ROWS` are those of their shape.
    #[inline(always)]
    pub unsafe fn interpolate<const SUPERSAMPLE: u32, const CIRCLE: u32, const ROWS: u32>(&self) {
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
        // SAFETY: the raster is as the caller says; every thread of the block comes to the barrier,
        // after which nobody writes to shared memory.
        unsafe {
            let has_sites = *self.tallies.add(SITES) > 0;
            let mut is_far = false;
            if has_sites {
                is_far = tile.gather(self.nearest, self.values, self.circle_limit, self.site_limit);
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
                    *self.listed.add(1 + atomic::add_u32(self.listed, 1) as usize) = index;
                }
                return;
            }
            self.cells_of_thread(&tile, first, has_sites);
        }
    }

    /// Interpolates the cells of this thread. `first` is the tile's first cell.
    ///
    /// # Safety
    /// As [`interpolate`](Self::interpolate); the tile has been gathered, if there are sites.
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
        let mut stolen = [[0; MOST_WORDS]; MOST_CELLS];
        // SAFETY: passed on to the caller; the cell is checked against the DEM.
        unsafe {
            if has_sites {
                all_rows!(tile, base, stolen);
            }
            let column = first[0] + column;
            let mut cell = 0;
            while cell < shape.cells_of_thread() {
                let row = first[1] + row + cell;
                let (mut sums, mut count) = packing.unpack::<N>(&stolen[cell as usize]);
                if on_corner && count == 0 && has_sites && self.site_limit > 2 {
                    let touching = tile.touching_sites(base + cell * SUPERSAMPLE * width);
                    (sums, count) = packing.unpack::<N>(&touching);
                }
                if column < columns && row < rows {
                    let at = row as usize * columns as usize + column as usize;
                    let values = means(sums, count, |k| self.scales.of(k));
                    let mut k = 0;
                    while k < N {
                        let plane = k * (rows as usize * columns as usize);
                        *self.dem.add(plane + at) = values[k];
                        k += 1;
                    }
                    if !self.counts.is_null() {
                        *self.counts.add(at) = count;
                    }
                }
                cell += 1;
            }
        }
    }
}
