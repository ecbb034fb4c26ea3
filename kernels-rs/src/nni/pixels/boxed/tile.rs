//! The pixels that query points steal, or sites own, if they lie in a box of pixels around each: from a tile in shared
//! memory.
//!
//! All lengths are in half pixels. Let d be the distance of a pixel p to its site, and a its distance to the query
//! point q. q steals p where a < d.
//!
//! **Where the region ends.** Let V be the places of the plane, not pixels alone, that are nearer to q than to any
//! site. V is convex and holds q, and every pixel that q steals lies in it. At a place x within 1 of p, the nearest
//! site is at most d + 1 away, and q at least a - 1. So if d + 2 <= a no such x is in V, and p is *clear*. A row of
//! clear pixels is a wall that V does not cross, for the pixels are 2 apart.
//!
//! V ends before such a row if the pixels at both ends of the box are clear as well, in all rows on the way. For the
//! straight way from q to anything beyond would meet one of the three walls. The border of the raster is a wall, too:
//! where the box reaches beyond it, pixels are made clear. A site's own cell ends in the same way; V is then the site's
//! Voronoi cell with its border.
//!
//! **The test of a pixel.** A pixel's word has d^2 in its upper half and (d + 2)^2, rounded up, in its lower half, each
//! with the half's highest bit set. Subtract a^2 + 1 from both halves: nothing is borrowed, and the bit stays where
//! d^2, or (d + 2)^2, is greater than a^2. So one subtraction makes both tests. The upper bit is shifted into the row's
//! bits. The lower bit is only combined over the row: whether any pixel has it.

use core::cell::Cell;

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, math, thread, warp};

use crate::nni::pixels::NONE;
use crate::nni::pixels::geometry::{Width, squared};
use crate::nni::pixels::region::{Bounds, FEW, Neighbour, Position, Region};

/// Threads of a block.
pub(super) const BLOCK: u32 = 256;

/// Pixels that a thread gathers at once.
const BATCH: usize = 6;

/// How far the smallest boxes reach from the pixel under the query point, in pixels to each side.
pub const SMALL: i32 = 3;
/// The same for larger boxes.
pub const MEDIUM: i32 = 7;
/// The same for the largest boxes, whose rows fill a word.
pub const LARGE: i32 = 14;

/// Pixels along a tile's sides: what shared memory holds, and so wide that the cells of a warp lie in one row.
const fn sides(reach: i32) -> [u32; 2] {
    match reach {
        SMALL => [104, 44],
        MEDIUM => [112, 44],
        _ => [94, 56],
    }
}

/// Pixels from the tile's border to the first query point's.
const fn margin(reach: i32) -> u32 {
    reach as u32 + 1
}

/// Cells of a tile in x and y, for boxes of a reach.
pub const fn boxed_cells(reach: i32, supersample: u32) -> [u32; 2] {
    let [columns, rows] = sides(reach);
    let most = 2 * margin(reach) + 1;
    [(columns - most) / supersample + 1, (rows - most) / supersample + 1]
}

/// The reach of the boxes that suffice for nearly all cells of random points, for a number of points and of pixels; the
/// largest reach if none suffices.
#[cfg(not(target_arch = "nvptx64"))]
pub fn boxed_reach(points: u64, pixels: u64) -> i32 {
    // Among random points, a corner of a cell is farther than r with a probability of about six times exp(-density pi
    // r^2). In a box that is 1% for an exponent of 5.5.
    let expected = |reach: i32| {
        points as f64 / pixels as f64 * std::f64::consts::PI * f64::from(reach * reach)
    };
    [SMALL, MEDIUM].into_iter().find(|&reach| expected(reach) >= 5.5).unwrap_or(LARGE)
}

/// A tile of pixels.
#[derive(Clone, Copy)]
pub(super) struct Tile<const REACH: i32> {
    /// The two squared distances of each pixel.
    words: SharedArray<u32>,
    /// The site of each pixel.
    sites: SharedArray<u32>,
    /// The pixel of the raster that is the tile's first; beyond the raster at its borders.
    origin: [i32; 2],
    /// Columns of the raster.
    width: Width,
    /// Columns and rows of the raster.
    extent: [i32; 2],
}

/// The highest bit of both halves of a word.
const BITS: u32 = 0x8000_8000;
/// The bit of the lower half: the pixel is not clear.
const OPEN: u32 = 0x8000;
/// A number in both halves.
const BOTH: u32 = 0x1_0001;
/// The greatest squared distance in a word; greater ones are stored as this. No distance in a box is as large.
const MOST: u32 = 0x7fff;

/// The word of a pixel whose squared distance to its site is given, in half pixels.
#[inline(always)]
fn word(squared: u64) -> u32 {
    // Up to this squared distance d^2, (d + 2)^2 fits a half, too.
    const NEAR: u32 = 0x7000;
    let own = u64::min(squared, MOST as u64) as u32;
    let mut farther = MOST;
    if own <= NEAR {
        // (d + 2)^2 = d^2 + 4 d + 4, and 4 d is the root of 16 d^2.
        let root = math::sqrt_f32((16 * own) as f32);
        let whole = root as u32;
        farther = own + 4 + whole + ((whole as f32) < root) as u32;
    }
    BITS | own << 16 | farther
}

impl<const REACH: i32> Tile<REACH> {
    const COLUMNS: u32 = sides(REACH)[0];
    const PIXELS: u32 = sides(REACH)[0] * sides(REACH)[1];

    /// The tile's memory.
    pub const fn carve(carver: &mut Carver) -> [SharedArray<u32>; 2] {
        [carver.array(Self::PIXELS), carver.array(Self::PIXELS)]
    }

    /// The tile in which the base of the first query point is `first`; not gathered.
    #[inline(always)]
    pub fn new(
        [words, sites]: [SharedArray<u32>; 2],
        first: [u32; 2],
        extent: [i32; 2],
        reciprocal: u64,
    ) -> Self {
        let origin = first.map(|base| base as i32 - margin(REACH) as i32);
        Self { words, sites, origin, width: Width::new(extent[0] as u32, reciprocal), extent }
    }

    /// Gathers the pixels.
    ///
    /// # Safety
    /// All threads of the block come here, and to a barrier afterwards. The raster has a site.
    #[inline(always)]
    pub unsafe fn gather(&self, nearest: In<'_, u32>) {
        let mut first = thread::thread_idx_x();
        while first < Self::PIXELS {
            let mut places = [(0, 0); BATCH];
            let mut inside = [false; BATCH];
            let mut sites = [0; BATCH];
            // Beyond the raster and beyond the tile, loads read unused elements: without branches between them the
            // loads are in flight together.
            let mut i = 0;
            while i < BATCH {
                let index = first + i as u32 * BLOCK;
                let row = index / Self::COLUMNS;
                let x = self.origin[0] + (index - row * Self::COLUMNS) as i32;
                let y = self.origin[1] + row as i32;
                let within = [
                    i32::max(0, i32::min(self.extent[0] - 1, x)),
                    i32::max(0, i32::min(self.extent[1] - 1, y)),
                ];
                inside[i] = within[0] == x && within[1] == y;
                places[i] = (x, y);
                let pixel = within[1] as i64 * self.extent[0] as i64 + within[0] as i64;
                sites[i] = nearest.get(pixel);
                i += 1;
            }
            let mut i = 0;
            while i < BATCH {
                let index = first + i as u32 * BLOCK;
                let (column, row) = self.width.split(sites[i]);
                let own = 4 * squared(places[i].0 - column, places[i].1 - row);
                if index < Self::PIXELS {
                    // SAFETY: `index` is below the arrays' length; each is one thread's own.
                    unsafe {
                        // A pixel beyond the raster is not stolen, has no owner, and is clear.
                        self.words.store(index, if inside[i] { word(own) } else { BITS });
                        self.sites.store(index, if inside[i] { sites[i] } else { NONE });
                    }
                }
                i += 1;
            }
            first += BLOCK * BATCH as u32;
        }
    }

    /// The pixels that a query point, in half pixels, steals.
    ///
    /// # Safety
    /// The tile has been gathered, and has the box round the query point with a pixel more to each side.
    #[inline(always)]
    pub unsafe fn stolen_by<R>(
        &self,
        q: [i32; 2],
        bounds: Bounds<R>,
    ) -> Boxed<'_, R, REACH, false> {
        let at = Position { q, extent: self.extent };
        Boxed { tile: self, at, bounds, owner: NONE, is_closed: Cell::new(true) }
    }

    /// The Voronoi cell of a site.
    ///
    /// # Safety
    /// As [`stolen_by`](Self::stolen_by) for the site's pixel.
    #[inline(always)]
    pub unsafe fn cell_of<R>(&self, site: u32, bounds: Bounds<R>) -> Boxed<'_, R, REACH, true> {
        let (column, row) = self.width.split(site);
        let at = Position { q: [2 * column + 1, 2 * row + 1], extent: self.extent };
        Boxed { tile: self, at, bounds, owner: site, is_closed: Cell::new(true) }
    }

    /// The site at a pixel of the raster, if there is one.
    ///
    /// # Safety
    /// The tile has been gathered, and has the pixel.
    #[inline(always)]
    pub unsafe fn site_at(&self, pixel: [i32; 2]) -> Option<u32> {
        // SAFETY: the tile has the pixel, as the caller says.
        let site = unsafe { self.sites.load(self.number(pixel) as u32) };
        (self.width.split(site) == (pixel[0], pixel[1])).then_some(site)
    }

    /// The number of a pixel of the tile.
    #[inline(always)]
    fn number(&self, [x, y]: [i32; 2]) -> i32 {
        (y - self.origin[1]) * Self::COLUMNS as i32 + x - self.origin[0]
    }
}

/// The pixels that a query point steals, or with `OWNED` those of a site, as far as they lie in the box.
pub(super) struct Boxed<'a, R, const REACH: i32, const OWNED: bool> {
    tile: &'a Tile<REACH>,
    at: Position,
    bounds: Bounds<R>,
    owner: u32,
    is_closed: Cell<bool>,
}

/// A row of a box.
struct Row {
    /// Bit k: the pixel at offset k - REACH - 1 is stolen.
    stolen: u32,
    /// [`OPEN`] where a pixel is not clear.
    any: u32,
    /// [`OPEN`] where the first or the last pixel is not clear.
    ends: u32,
}

impl<R: Fn(i32) -> i32, const REACH: i32, const OWNED: bool> Boxed<'_, R, REACH, OWNED> {
    /// Whether the region ended in the box, as far as the rows have shown.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Tests the pixels of row `y` in the box, and one more on each side.
    #[inline(always)]
    fn row(&self, y: i32) -> Row {
        let [x, _] = self.at.base();
        let at = self.tile.number([x, y]);
        let (down, corner) = (self.at.down(y), self.at.on_corner());
        // The squared distance to the pixel at r is down^2 + (2 r + corner)^2 = down^2 + corner + 4 r corner + 4 r^2.
        let common = BOTH * (down * down + corner + 1) as u32;
        let step = BOTH * 4 * corner as u32;
        let mut row = Row { stolen: 0, any: 0, ends: 0 };
        let mut r = REACH + 1;
        while r >= -REACH - 1 {
            let place = (at + r) as u32;
            // SAFETY: the tile has the pixel.
            let word = unsafe { self.tile.words.load(place) };
            let rest = word
                .wrapping_sub(common.wrapping_add(step.wrapping_mul(r as u32)))
                .wrapping_sub(BOTH * (4 * r * r) as u32);
            let is_stolen = match OWNED {
                // SAFETY: as above.
                true => (unsafe { self.tile.sites.load(place) } == self.owner) as u32,
                false => rest >> 31,
            };
            row.stolen = row.stolen << 1 | is_stolen;
            row.any |= rest;
            if r == REACH + 1 || r == -REACH - 1 {
                row.ends |= rest;
            }
            r -= 1;
        }
        row
    }

    /// The first and the last pixel of a row that the circle has and that are stolen.
    #[inline(always)]
    fn interval(&self, y: i32, stolen: u32) -> [i32; 2] {
        if stolen == 0 {
            return [0, -1];
        }
        let first = stolen.trailing_zeros() as i32 - REACH - 1;
        let last = 31 - stolen.leading_zeros() as i32 - REACH - 1;
        self.bounds.in_circle(self.at, y, [first, last])
    }
}

impl<R: Fn(i32) -> i32, const REACH: i32, const OWNED: bool> Region for Boxed<'_, R, REACH, OWNED> {
    #[inline(always)]
    fn position(&self) -> Position {
        self.at
    }

    /// The box has one column more on each side. A cell that extends beyond may have neighbours outside of these
    /// columns.
    #[inline(always)]
    fn has_column(&self, r: i32) -> bool {
        self.at.is_column(r) && ((r + REACH + 1) as u32) < 2 * REACH as u32 + 3
    }

    /// In the smallest boxes one word has a bit for each pixel. A warp's lanes then take a pixel each until the lane
    /// with the most pixels has none left, instead of waiting for each other in each row.
    #[inline(always)]
    fn in_any_order(&self, site_limit: u64, mut run: impl FnMut(Neighbour, u32)) {
        if REACH > SMALL {
            self.rows(|y, first, last| {
                self.runs(y, first, last, site_limit, &mut run);
            });
            return;
        }
        // A row beyond the box counts if the raster or the circle ends with it; the columns beyond the box never do.
        let [side, top] = [2 * REACH + 1, self.start_row() - REACH - 1];
        let mut pixels = 0u64;
        self.rows(|y, first, last| {
            if first <= last {
                let row = ((2 << (last - first)) - 1) << (first + REACH + 1) >> 1;
                pixels |= (row & ((1 << side) - 1)) << ((y - top) * side);
            }
        });
        while pixels != 0 {
            let place = pixels.trailing_zeros() as i32;
            pixels &= pixels - 1;
            let row = place / side;
            let site = self.neighbour(place - row * side - REACH, top + row);
            if (site.squared() as u64) < site_limit {
                run(site, 1);
            }
        }
    }

    #[inline(always)]
    fn neighbour(&self, r: i32, y: i32) -> Neighbour {
        let [x, _] = self.at.base();
        // SAFETY: the tile has the pixels of the box, and one more to each side.
        let site = unsafe { self.tile.sites.load(self.tile.number([x + r, y]) as u32) };
        let (column, row) = self.tile.width.split(site);
        let [x, y] = self.at.q;
        Neighbour { site, dx: 2 * column + 1 - x, dy: 2 * row + 1 - y }
    }

    #[inline(always)]
    fn rows(&self, mut row: impl FnMut(i32, i32, i32)) {
        // If the circle lies in the box, nothing beyond the box counts.
        let is_circle_boxed = self.bounds.circle_rows <= 2 * REACH + 1;
        let mut step = 1;
        while step >= -1 {
            let mut y = if step > 0 { self.start_row() } else { self.start_row() - 1 };
            let (mut ends, mut is_open) = (0, true);
            while is_open && self.bounds.has_row(self.at, y) {
                if (y - self.start_row()).abs() > REACH + 1 {
                    ends = OPEN;
                    break;
                }
                let found = self.row(y);
                ends |= found.ends & OPEN;
                is_open = (found.any | ends) & OPEN != 0;
                let [first, last] = self.interval(y, found.stolen);
                row(y, first, last);
                y += step;
            }
            if ends != 0 && !is_circle_boxed {
                self.is_closed.set(false);
            }
            step -= 2;
        }
    }

    #[inline(always)]
    fn runs(
        &self,
        y: i32,
        first: i32,
        last: i32,
        site_limit: u64,
        mut run: impl FnMut(Neighbour, u32),
    ) {
        let mut r = first;
        while r <= last {
            let site = self.neighbour(r, y);
            let mut end = r;
            if last - r >= FEW {
                while end < last && self.neighbour(end + 1, y).site == site.site {
                    end += 1;
                }
            }
            if (site.squared() as u64) < site_limit {
                run(site, (end - r + 1) as u32);
            }
            r = end + 1;
        }
    }
}

/// A list of cells, or sites, whose region does not end in its box.
#[arguments]
pub struct Left<'a> {
    /// How many entries there are, and how many of them warps have taken: two numbers, 0 at first.
    pub counts: Out<'a, u32>,
    /// An element for each cell or site that may be listed.
    pub entries: Out<'a, u32>,
}

impl Left<'_> {
    /// Lists the entries of those lanes for which `is_left` is set.
    ///
    /// # Safety
    /// All lanes of the warp come here.
    #[inline(always)]
    pub(super) unsafe fn append(self, is_left: bool, entry: u32) {
        // SAFETY: the whole warp is here, as the caller says.
        unsafe {
            let lanes = warp::ballot(warp::FULL, is_left);
            if lanes == 0 {
                return;
            }
            let first = self.add_by_one_lane(0, lanes.trailing_zeros(), lanes.count_ones());
            if is_left {
                let before = (lanes & warp::lanes_below()).count_ones();
                self.entries.set(first + before, entry);
            }
        }
    }

    /// Calls `work` for each entry. Warps take 32 at a time until none is left, since one entry may take a thousand
    /// times as long as another.
    ///
    /// # Safety
    /// All lanes of the warp come here, and the list is complete.
    #[inline(always)]
    pub(super) unsafe fn each(self, mut work: impl FnMut(u32)) {
        let count = self.counts.get(0u32);
        loop {
            // SAFETY: the whole warp is here, as the caller says.
            let first = unsafe { self.add_by_one_lane(1, 0, warp::SIZE) };
            if first >= count {
                return;
            }
            let i = first + warp::lane_id();
            if i < count {
                work(self.entries.get(i));
            }
            // SAFETY: as above.
            unsafe { warp::sync_warp(warp::FULL) };
        }
    }

    /// Adds to one of the counts, by one of the lanes; all lanes get the count before.
    ///
    /// # Safety
    /// All lanes of the warp come here.
    #[inline(always)]
    unsafe fn add_by_one_lane(self, number: u32, lane: u32, added: u32) -> u32 {
        let mut was = 0;
        if warp::lane_id() == lane {
            was = self.counts.fetch_add(number, added);
        }
        // SAFETY: the whole warp is here, as the caller says.
        unsafe { warp::shuffle(warp::FULL, was, lane) }
    }
}

/// The cells of a DEM that a block takes: as many as fit a tile.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    first: [u32; 2],
    /// Columns and rows of cells.
    sides: [u32; 2],
}

impl Cells {
    /// The cells of tile `tile` of a DEM; tiles are numbered row by row.
    #[inline(always)]
    pub fn of_tile<const REACH: i32>(tile: u32, cells: [u32; 2], supersample: u32) -> Self {
        let most = boxed_cells(REACH, u32::max(1, supersample));
        let tiles_x = cells[0].div_ceil(u32::max(1, most[0]));
        let row = tile.checked_div(tiles_x).unwrap_or(0);
        let first = [(tile - row * tiles_x) * most[0], row * most[1]];
        let left = [cells[0] - first[0], cells[1] - first[1]];
        Self { first, sides: [u32::min(most[0], left[0]), u32::min(most[1], left[1])] }
    }

    /// The base of the first cell.
    #[inline(always)]
    pub fn base(self, supersample: u32) -> [u32; 2] {
        self.first.map(|cell| supersample * cell + supersample / 2)
    }

    /// Calls `work` for each cell, side by side in the whole block; threads without a cell pass `None`.
    #[inline(always)]
    pub fn each(self, mut work: impl FnMut(Option<[u32; 2]>)) {
        let count = self.sides[0] * self.sides[1];
        let mut first = 0;
        while first < count {
            let i = first + thread::thread_idx_x();
            let row = i.checked_div(self.sides[0]).unwrap_or(0);
            let cell = [self.first[0] + i - row * self.sides[0], self.first[1] + row];
            work((i < count).then_some(cell));
            first += BLOCK;
        }
    }
}
