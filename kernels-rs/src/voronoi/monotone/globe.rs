//! Nearest sites on the globe, of a raster in longitude and latitude.
//!
//! The square of half the chord between two pixels is `h = A + c (c' B)`. A is a table by the difference of rows, B a
//! table by the difference of columns; c and c' are the cosines of the rows' latitudes. So in a row of sites B alone
//! decides, and a column has one candidate a row, as on the plane. `pba_voronoi::geodesic` on the CPU has the same plan
//! and its proofs.
//!
//! 1. [`rows`](super::rows) gives every pixel the nearest site of its row on the plane.
//!    [`find_row_ends`](const@find_row_ends) keeps each row's first and last site. [`go_round`](const@go_round) takes
//!    one of these if it is nearer the other way round the globe, and writes `c' B`, the *gap* of each candidate,
//!    column by column.
//! 2. [`solve_columns`](const@solve_columns), a warp a column: the row of each pixel's winner.
//! 3. [`name_sites`](mod@name_sites): the indices of the winners' sites, row by row again.
//! 4. [`measure_arcs`](mod@measure_arcs): great-circle distances, from indices.
//!
//! Down a column the winner's row never goes back. For the pixels lie on half a meridian, and the great circle of
//! places equally far from two candidates meets it once. Since f64 rounds h, a halving keeps all candidates that are
//! *near*: their h is within `slack` of the least. A candidate beyond loses by more than rounding at the middle row and
//! at the pole, and so in between.
//!
//! ```text
//! for each run of rows between two sites of the column, with the candidates from site to site
//!     solve(rows, candidates):
//!         one candidate is left:   it wins all rows
//!         at most 32 rows:         a lane a row compares the candidates that can win one of them
//!         else:                    the warp finds the near ones of the middle row, a lane a candidate
//!                                  solve(the rows before it, the candidates up to the last near one)
//!                                  solve(the rows after it, the candidates from the first near one on)
//! ```

use device_std::real::Real;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::spread::Number;
use super::{BLOCK, NONE};

/// A raster on the globe.
#[arguments]
pub struct Globe<'a> {
    /// A, one for each row.
    pub along: In<'a, f64>,
    /// B, one for each column of the whole.
    pub across: In<'a, f64>,
    /// c, one for each row: exactly 0 at a pole.
    pub cosine: In<'a, f64>,
    /// Columns of a turn.
    pub turn: f64,
    /// More than the rounding error of any h.
    pub slack: f64,
    /// The radius of the sphere.
    pub radius: f64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Columns of the wider raster, if this raster is a strip; else its own columns.
    pub whole: u32,
    /// The number, in the whole, of the first column.
    pub first: u32,
    /// Elements from a row of candidates to the next.
    pub pitch: u32,
}

impl Globe<'_> {
    /// The number of columns between two columns, the short way round.
    #[inline(always)]
    fn steps(self, a: u32, b: u32) -> f64 {
        let columns = a.abs_diff(b) as f64;
        f64::min(columns, (self.turn - columns).abs())
    }

    /// Returns a site of a row, or an end of the row if that is nearer to a column the short way round. If both are
    /// equally near, it is the western one.
    #[inline(always)]
    fn nearer_round(self, site: u32, [first, last]: [u32; 2], place: u32) -> u32 {
        let steps = if site == NONE { f64::INFINITY } else { self.steps(site, place) };
        let nearer = |(site, steps): (u32, f64), end: u32| {
            // In a strip an end that is not in the whole raster counts as none.
            if end >= self.whole {
                return (site, steps);
            }
            let round = self.steps(end, place);
            let is_nearer = (round < steps) | ((round == steps) & (end < site));
            if is_nearer { (end, round) } else { (site, steps) }
        };
        nearer(nearer((site, steps), first), last).0
    }

    /// A pixel's candidate on the globe, from the candidate on the plane and the row's first and last site.
    #[inline(always)]
    fn candidate(self, [x, row]: [u32; 2], site: u32, [first, last]: [u32; 2]) -> u32 {
        if self.whole == self.width {
            if first == NONE {
                return NONE;
            }
            if self.cosine.get(row) == 0.0 {
                return first;
            }
            // Between the two ends, the way round the globe meets an end before the raster's edge. So no site is nearer
            // that way.
            if (first <= x) & (x <= last) & (self.turn - last.wrapping_sub(first) as f64 > 0.5) {
                return site;
            }
        }
        self.nearer_round(site, [first, last], self.first.wrapping_add(x))
    }
}

/// Writes the first and the last site of each row; [`NONE`] in a row without one. Grid: a thread a row.
///
/// # Safety
/// `nearest` has `pitch * height` elements as [`nearest_columns`](mod@super::rows::nearest_columns) gives them,
/// `firsts` and `lasts` one a row.
#[kernel(block = BLOCK)]
pub unsafe fn find_row_ends(
    nearest: In<'_, u32>,
    firsts: Out<'_, u32>,
    lasts: Out<'_, u32>,
    globe: Globe<'_>,
) {
    let row = thread::index_1d();
    if (row < globe.height as u64) & (globe.width > 0) {
        let first = row * globe.pitch as u64;
        firsts.set(row, nearest.get(first));
        lasts.set(row, nearest.get(first + globe.width as u64 - 1));
    }
}

/// Side of the square of pixels that a block turns.
pub const SQUARE: u32 = 32;

/// A square in shared memory: its rows are one element longer, so that its columns lie in different banks.
const fn square<T: Plain>(carver: &mut Carver) -> SharedArray<T> {
    carver.array(SQUARE * (SQUARE + 1))
}

/// Gaps, column by column.
#[arguments]
pub struct Gaps<'a> {
    /// `height` for each column.
    pub all: Out<'a, f64>,
    /// For each column and each [`SQUARE`] rows the upper word of the least of their gaps.
    pub leasts: Out<'a, u32>,
}

/// The upper word of a number's bits. For numbers of at least 0 it rises with the number.
#[inline(always)]
fn upper(number: f64) -> u32 {
    (number.to_bits() >> 32) as u32
}

/// The least number with this upper word, if it is not negative.
#[inline(always)]
fn from_upper(word: u32) -> f64 {
    f64::from_bits((word as u64) << 32)
}

/// The square of a block; the squares lie row by row over the raster.
struct Square {
    /// Its first column and row.
    corner: [u32; 2],
    /// Where the thread is in it.
    column: u32,
    row: u32,
}

impl Square {
    /// Rows that the threads of a block are apart.
    const STEP: u32 = BLOCK / SQUARE;

    #[inline(always)]
    fn of_block(globe: Globe<'_>) -> Self {
        let across = globe.width.div_ceil(SQUARE);
        let number = thread::block_idx_x();
        let down = number.checked_div(across).unwrap_or(0);
        let thread = thread::thread_idx_x();
        Self {
            corner: [(number - down * across) * SQUARE, down * SQUARE],
            column: thread % SQUARE,
            row: thread / SQUARE,
        }
    }
}

/// Turns candidates on the plane into candidates on the globe: across the raster's edges, and at the poles. At a pole
/// all sites of a row are one place, and the first counts. Writes the candidates' gaps column by column, infinite
/// without a candidate, and the upper word of the least gap of each [`SQUARE`] rows. Grid: a block a square of `SQUARE`
/// by `SQUARE` pixels.
///
/// A strip has no rows at the poles. There `firsts` and `lasts` are the first sites that one meets from the strip to
/// the west and to the east. Sites that are not in the whole count as none.
///
/// # Safety
/// `nearest` has `pitch * height` elements; for a strip, as [`reach_beyond`](const@super::reach_beyond) gives them.
/// `firsts` and `lasts` have one a row; for a whole raster, what [`find_row_ends`](const@find_row_ends) wrote.
/// [`struct@Gaps`] says the rest.
#[kernel(block = BLOCK, carve = |carver| square::<f64>(carver))]
pub unsafe fn go_round(
    nearest: Out<'_, u32>,
    firsts: In<'_, u32>,
    lasts: In<'_, u32>,
    gaps: Gaps<'_>,
    globe: Globe<'_>,
) {
    let turned = square::<f64>(&mut Carver::new());
    let Square { corner: [left, top], column, row } = Square::of_block(globe);
    // SAFETY: elements of the square are below its size, and each is written by one thread; the whole block comes to
    // the barrier, which stands between writes and reads.
    unsafe {
        let mut r = row;
        while r < SQUARE {
            let (x, y) = (left + column, top + r);
            if (x < globe.width) & (y < globe.height) {
                let at = y as u64 * globe.pitch as u64 + x as u64;
                let ends = [firsts.get(y), lasts.get(y)];
                let site = globe.candidate([x, y], nearest.get(at), ends);
                nearest.set(at, site);
                let mut gap = f64::INFINITY;
                if site != NONE {
                    let steps = site.abs_diff(globe.first.wrapping_add(x));
                    gap = globe.cosine.get(y) * globe.across.get(steps);
                }
                turned.store(r * (SQUARE + 1) + column, gap);
            }
            r += Square::STEP;
        }
        thread::sync_threads();
        let mut c = row;
        while c < SQUARE {
            let (x, y) = (left + c, top + column);
            let mut gap = f64::INFINITY;
            if (x < globe.width) & (y < globe.height) {
                gap = turned.load(column * (SQUARE + 1) + c);
                gaps.all.set(x as u64 * globe.height as u64 + y as u64, gap);
            }
            let least = warp::min(upper(gap));
            if (column == 0) & (x < globe.width) {
                let squares = globe.height.div_ceil(SQUARE) as u64;
                gaps.leasts.set(x as u64 * squares + (top / SQUARE) as u64, least);
            }
            c += Square::STEP;
        }
    }
}

/// Candidates up to which the rows of a warp are not divided.
const FEW: u32 = 128;

/// Rows, or candidates, from one on, and the one after the last.
type Range = [u32; 2];

/// The nearest candidate that a lane has seen so far. Candidates come in their order.
struct Best {
    least: f64,
    winner: u32,
    /// A range with all near candidates, and perhaps others.
    near: Range,
}

impl Best {
    const NONE: Self = Self { least: f64::INFINITY, winner: NONE, near: [NONE, 0] };

    #[inline(always)]
    fn see(&mut self, candidate: u32, h: f64, slack: f64) {
        // If this one is nearer by more than the slack, no candidate before is near.
        if h + slack < self.least {
            self.near[0] = candidate;
        }
        if h <= self.least + slack {
            self.near[1] = candidate + 1;
        }
        if h < self.least {
            (self.least, self.winner) = (h, candidate);
        }
    }

    /// Returns the winner of all lanes and a range with all near candidates; `None` if no lane has seen any.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn of_warp(self, slack: f64) -> Option<(u32, Range)> {
        // SAFETY: passed on to the caller.
        unsafe {
            let least = least_of_warp(self.least);
            if least == f64::INFINITY {
                return None;
            }
            let winner = warp::min(if self.least == least { self.winner } else { NONE });
            let near = if self.least <= least + slack { self.near } else { [NONE, 0] };
            Some((winner, [warp::min(near[0]), warp::max(near[1])]))
        }
    }
}

/// A column of the raster, whose rows a warp solves. All lanes call all its functions with the same arguments.
struct Column<'a> {
    globe: Globe<'a>,
    gaps: Gaps<'a>,
    winners: Out<'a, u32>,
    /// The element of the column's first row in gaps and winners.
    first: u64,
    /// The element of its first square in the least gaps.
    first_square: u64,
    lane: u32,
}

impl Column<'_> {
    #[inline(always)]
    fn gap(&self, candidate: u32) -> f64 {
        self.gaps.all.get(self.first + candidate as u64)
    }

    /// h of a row and a candidate. Without a candidate it is infinite, or NaN in a row at a pole: neither compares as
    /// less.
    #[inline(always)]
    fn h(&self, row: u32, cosine: f64, candidate: u32) -> f64 {
        self.globe.along.get(candidate.abs_diff(row)) + cosine * self.gap(candidate)
    }

    #[inline(always)]
    fn win(&self, row: u32, winner: u32) {
        self.winners.set(self.first + row as u64, winner);
    }

    /// Writes one winner to rows. All lanes leave the loop together: after a loop that lanes leave one by one, ptxas of
    /// CUDA 13.0 shuffled before they had converged.
    #[inline(always)]
    fn fill(&self, [start, end]: Range, winner: u32) {
        let mut first = start;
        while first < vector::unknown(end) {
            let row = first + self.lane;
            if row < end {
                self.win(row, winner);
            }
            first += warp::SIZE;
        }
    }

    /// An upper bound of a row's least h: the least of three candidates, the one of its own row or nearest to it, the
    /// first, the last.
    #[inline(always)]
    fn known(&self, row: u32, cosine: f64, [low, high]: Range) -> f64 {
        let own = u32::min(u32::max(row, low), high - 1);
        let [own, first, last] = [own, low, high - 1].map(|place| self.h(row, cosine, place));
        // `min` skips NaN.
        f64::min(own, f64::min(first, f64::min(last, f64::INFINITY)))
    }

    /// Solves the rows of a warp, a lane a row.
    ///
    /// A candidate's h is nowhere less than its *bound*, computed from the rows' least cosine and the row nearest to
    /// it. If the bound is above the known h of every row, the candidate wins none. Rounding keeps the order of sums
    /// and products.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "where nothing is known all can be")]
    #[inline(always)]
    unsafe fn compare(&self, [start, end]: Range, [low, high]: Range) {
        let row = u32::min(start + self.lane, end - 1);
        let cosine = self.globe.cosine.get(row);
        let known = self.known(row, cosine, [low, high]);
        let (mut least, mut winner) = (f64::INFINITY, NONE);
        // SAFETY: passed on to the caller: all lanes have the same ranges.
        unsafe {
            // Only upper words are compared; one more is above every known h. After infinity comes NaN, and the test
            // passes.
            let most = from_upper(warp::max(upper(known)) + 1);
            let least_cosine = from_upper(warp::min(upper(cosine)));
            let mut first = low;
            while first < vector::unknown(high) {
                let candidate = first + self.lane;
                let mut can_win = false;
                if candidate < high {
                    let nearest = u32::min(u32::max(candidate, start), end - 1);
                    let bound = self.h(nearest, least_cosine, candidate);
                    can_win = !(bound > most);
                }
                let mut left = warp::ballot(warp::FULL, can_win);
                while left != 0 {
                    let candidate = first + left.trailing_zeros();
                    left &= left - 1;
                    let h = self.h(row, cosine, candidate);
                    if h < least {
                        (least, winner) = (h, candidate);
                    }
                }
                first += warp::SIZE;
            }
        }
        if start + self.lane < end {
            self.win(row, winner);
        }
    }

    /// Finds a row's winner among candidates. Returns a range with all near candidates, if there is any.
    ///
    /// 32 candidates, a square, are skipped together if the nearest of their rows and the least of their gaps give more
    /// than a known h.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "where nothing is known all can be")]
    #[inline(always)]
    unsafe fn near(&self, row: u32, candidates: Range) -> Option<Range> {
        let [low, high] = candidates;
        let cosine = self.globe.cosine.get(row);
        let slack = self.globe.slack;
        let most = self.known(row, cosine, candidates) + slack;
        let mut best = Best::NONE;
        let end = (high - 1) / SQUARE + 1;
        let mut first = low / SQUARE;
        // SAFETY: passed on to the caller: all lanes have the same ranges.
        unsafe {
            while first < vector::unknown(end) {
                let square = first + self.lane;
                let mut is_wanted = false;
                if square < end {
                    let least = from_upper(self.gaps.leasts.get(self.first_square + square as u64));
                    let rows = [square * SQUARE, square * SQUARE + SQUARE - 1];
                    let nearest = u32::min(u32::max(row, rows[0]), rows[1]);
                    let bound = self.globe.along.get(nearest.abs_diff(row)) + cosine * least;
                    // `!(..)`: also wanted if nothing is known, so that `most` is NaN.
                    is_wanted = !(bound > most);
                }
                let mut left = warp::ballot(warp::FULL, is_wanted);
                while left != 0 {
                    let candidate = (first + left.trailing_zeros()) * SQUARE + self.lane;
                    left &= left - 1;
                    if (candidate >= low) & (candidate < high) {
                        best.see(candidate, self.h(row, cosine, candidate), slack);
                    }
                }
                first += warp::SIZE;
            }
            let (winner, near) = best.of_warp(slack)?;
            if self.lane == 0 {
                self.win(row, winner);
            }
            Some(near)
        }
    }

    /// Solves rows among candidates. The stack of parts still to be solved lies in the lanes, a part a lane: parts
    /// halve, so 32 are enough for 2^32 rows.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn solve(&self, rows: Range, candidates: Range) {
        let (mut rows, mut candidates) = (rows, candidates);
        let (mut own, mut parts) = ([0; 4], 0);
        loop {
            let [[start, end], [low, high]] = [rows, candidates];
            let is_only = high - low == 1;
            if is_only || start >= end {
                let is_there = is_only && self.gap(low) < f64::INFINITY;
                self.fill(rows, if is_there { low } else { NONE });
            } else if end - start <= warp::SIZE && high - low <= FEW {
                // SAFETY: passed on to the caller.
                unsafe { self.compare(rows, candidates) };
            } else {
                let middle = start + (end - start) / 2;
                // SAFETY: passed on to the caller.
                if let Some(near) = unsafe { self.near(middle, candidates) } {
                    if self.lane == parts {
                        own = [middle + 1, end, near[0], high];
                    }
                    parts += 1;
                    (rows, candidates) = ([start, middle], [low, near[1]]);
                    continue;
                }
                self.fill(rows, NONE);
            }
            if parts == 0 {
                return;
            }
            parts -= 1;
            // SAFETY: passed on to the caller: all lanes have as many parts.
            let part = own.map(|number| unsafe { warp::shuffle(warp::FULL, number, parts) });
            (rows, candidates) = ([part[0], part[1]], [part[2], part[3]]);
        }
    }
}

/// Returns the least number of all lanes. They are not negative, so their bits have the order of the numbers.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn least_of_warp(own: f64) -> f64 {
    let bits = own.to_bits();
    let (high, low) = ((bits >> 32) as u32, bits as u32);
    // SAFETY: passed on to the caller.
    unsafe {
        let least = warp::min(high);
        let low = warp::min(if high == least { low } else { u32::MAX });
        f64::from_bits((least as u64) << 32 | low as u64)
    }
}

/// Threads of a block of [`solve_columns`](const@solve_columns).
const COLUMNS_BLOCK: u32 = 128;

/// Writes the row of each pixel's winner, column by column; [`NONE`] if there is no site. Grid: a warp a column.
///
/// # Safety
/// [`struct@Gaps`] has what [`go_round`](const@go_round) wrote, `winners` `width * height` elements.
#[kernel(block = COLUMNS_BLOCK)]
pub unsafe fn solve_columns(gaps: Gaps<'_>, winners: Out<'_, u32>, globe: Globe<'_>) {
    let x = thread::index_1d() / warp::SIZE as u64;
    if x >= globe.width as u64 {
        return;
    }
    let height = globe.height;
    let lane = warp::lane_id();
    let first_square = x * height.div_ceil(SQUARE) as u64;
    let column = Column { globe, gaps, winners, first: x * height as u64, first_square, lane };
    // If rows are so close that the slack spans several, rows beside a site are near too: then sites divide nothing.
    let are_apart = height > 1 && globe.along.get(1) > globe.slack;
    // Rows before `start` are solved; the last of them is the site `low`, if there is one. Rows before `base` have been
    // read. The bits of `sites` are the sites among the last 32 of these that are yet to come.
    let (mut start, mut low, mut base, mut sites) = (0, 0, 0, 0);
    // SAFETY: the whole warp comes here; only the lanes' own numbers differ.
    unsafe {
        loop {
            while sites == 0 && base < vector::unknown(height) {
                let row = base + lane;
                let is_site = are_apart && row < height && column.gap(row) == 0.0;
                if is_site {
                    column.win(row, row);
                }
                sites = warp::ballot(warp::FULL, is_site);
                base += warp::SIZE;
            }
            let skipped = sites.trailing_zeros();
            let site = if sites == 0 { height } else { base - warp::SIZE + skipped };
            if start < site {
                column.solve([start, site], [low, u32::min(site + 1, height)]);
            }
            if sites == 0 {
                return;
            }
            // Sites that follow each other.
            let many = (sites >> skipped).trailing_ones();
            (start, low) = (site + many, site + many - 1);
            sites &= u32::MAX.checked_shl(skipped + many).unwrap_or(0);
        }
    }
}

/// Writes the linear index of each pixel's site, all bits set if there is none. Grid: a block a square of [`SQUARE`] by
/// `SQUARE` pixels.
///
/// # Safety
/// `nearest` has `pitch * height` elements, `winners` `width * height`, column by column, `firsts` one a row, `indices`
/// `width * height`, row by row.
#[kernel(block = BLOCK, carve = |carver| square::<u32>(carver), instances(u32: <u32>; u64: <u64>))]
pub unsafe fn name_sites<I: Number>(
    nearest: In<'_, u32>,
    winners: In<'_, u32>,
    firsts: In<'_, u32>,
    indices: Out<'_, I>,
    globe: Globe<'_>,
) {
    let turned = square::<u32>(&mut Carver::new());
    let Square { corner: [left, top], column, row } = Square::of_block(globe);
    // SAFETY: elements of the square are below its size, and each is written by one thread; the whole block comes to
    // the barrier, which stands between writes and reads.
    unsafe {
        let mut c = row;
        while c < SQUARE {
            let (x, y) = (left + c, top + column);
            if (x < globe.width) & (y < globe.height) {
                let winner = winners.get(x as u64 * globe.height as u64 + y as u64);
                turned.store(column * (SQUARE + 1) + c, winner);
            }
            c += Square::STEP;
        }
        thread::sync_threads();
        let mut r = row;
        while r < SQUARE {
            let (x, y) = (left + column, top + r);
            if (x < globe.width) & (y < globe.height) {
                let winner = turned.load(r * (SQUARE + 1) + column);
                let mut index = I::NONE;
                if winner < globe.height {
                    // At a pole all sites of the winner's row are equally near, and the first counts.
                    let site = if globe.cosine.get(y) == 0.0 {
                        firsts.get(winner)
                    } else {
                        nearest.get(winner as u64 * globe.pitch as u64 + x as u64)
                    };
                    index = I::of(winner as u64 * globe.whole as u64 + site as u64);
                }
                indices.set(y as u64 * globe.width as u64 + x as u64, index);
            }
            r += Square::STEP;
        }
    }
}

/// Erases indices of sites that are farther than `most`, and writes the wanted great-circle distances, infinite if
/// there is no site. Grid: a thread a pixel.
///
/// # Safety
/// `indices` and the outputs that exist have `width * height` elements.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn measure_arcs<I: Number>(
    indices: Out<'_, I>,
    out: Option<Out<'_, f32>>,
    out_f64: Option<Out<'_, f64>>,
    globe: Globe<'_>,
    most: f64,
) {
    let p = thread::index_1d();
    let width = globe.width.max(1) as u64;
    if p >= width * globe.height as u64 {
        return;
    }
    let index = indices.get(p);
    let mut distance = f64::INFINITY;
    let whole = globe.whole.max(1) as u64;
    if index.wide() < whole * globe.height as u64 {
        let (row, site_row) = ((p / width) as u32, (index.wide() / whole) as u32);
        let column = globe.first + (p - row as u64 * width) as u32;
        let site = (index.wide() - site_row as u64 * whole) as u32;
        let gap = globe.cosine.get(site_row) * globe.across.get(site.abs_diff(column));
        let h = globe.along.get(site_row.abs_diff(row)) + globe.cosine.get(row) * gap;
        distance = globe.radius * (4.0 * h).arc_of_squared_chord();
        if distance > most {
            distance = f64::INFINITY;
            indices.set(p, I::NONE);
        }
    }
    if let Some(out) = out {
        out.set(p, distance as f32);
    }
    if let Some(out) = out_f64 {
        out.set(p, distance);
    }
}
