//! Nearest sites on the globe, of a raster in longitude and latitude.
//!
//! The square of half the chord between two pixels is `h = A + c (c' B)`: A is a table by the difference of rows, B one by the
//! difference of columns, c and c' are the cosines of the rows' latitudes. The CPU of `pba_voronoi::geodesic` has the same plan and its
//! proofs.
//!
//! 1. [`rows`](super::rows) gives every pixel the nearest site of its row on the plane. [`find_row_ends`](const@find_row_ends) keeps each row's
//!    first and last site. [`go_round`](const@go_round) takes one of these where it is nearer the other way round the globe, and
//!    writes `c' B`, the *gap* of each candidate, column by column.
//! 2. [`solve_columns`](const@solve_columns), a warp a column: the row of each pixel's winner.
//! 3. [`name_sites`](mod@name_sites): the indices of the winners' sites, row by row again.
//! 4. [`measure_arcs`](mod@measure_arcs): great-circle distances, from indices.
//!
//! A column is solved as on the CPU. `near` are the candidates whose h is the least but for rounding:
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
    /// More than rounding takes from any h.
    pub slack: f64,
    /// The radius of the sphere.
    pub radius: f64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Columns of the raster of which this one is a strip; its own where it is none.
    pub whole: u32,
    /// The number there of the first column.
    pub first: u32,
    /// Elements from a row of candidates to the next.
    pub pitch: u32,
}

impl Globe<'_> {
    /// How many columns lie between two, the short way round.
    #[inline(always)]
    fn steps(self, a: u32, b: u32) -> f64 {
        let columns = a.abs_diff(b) as f64;
        f64::min(columns, (self.turn - columns).abs())
    }

    /// A site of a row, or one of the row's ends if that is nearer to a column the short way round; of two the western one.
    #[inline(always)]
    fn nearer_round(self, site: u32, [first, last]: [u32; 2], place: u32) -> u32 {
        let steps = if site == NONE { f64::INFINITY } else { self.steps(site, place) };
        let nearer = |(site, steps): (u32, f64), end: u32| {
            // In a strip those that are not in the whole count as none.
            if end >= self.whole {
                return (site, steps);
            }
            let round = self.steps(end, place);
            let is_nearer = (round < steps) | ((round == steps) & (end < site));
            if is_nearer { (end, round) } else { (site, steps) }
        };
        nearer(nearer((site, steps), first), last).0
    }

    /// How many rows, from one on, have an A of at most this.
    #[inline(always)]
    fn reach(self, most: f64) -> u32 {
        let (mut low, mut high) = (0, vector::unknown(self.height));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.along.get(middle) <= most {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// A pixel's candidate on the globe, from that on the plane and the row's first and last site.
    #[inline(always)]
    fn candidate(self, [x, row]: [u32; 2], site: u32, [first, last]: [u32; 2]) -> u32 {
        if self.whole == self.width {
            if first == NONE {
                return NONE;
            }
            if self.cosine.get(row) == 0.0 {
                return first;
            }
            // Whoever goes from between the two over an edge meets one of them before.
            if (first <= x) & (x <= last) & (self.turn - last.wrapping_sub(first) as f64 > 0.5) {
                return site;
            }
        }
        self.nearer_round(site, [first, last], self.first.wrapping_add(x))
    }
}

/// The first and the last site of each row; [`NONE`] in a row without one. Grid: a thread a row.
///
/// # Safety
/// `nearest` has `pitch * height` elements as [`nearest_columns`](mod@super::rows::nearest_columns) gives them, `firsts` and `lasts` one a row.
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

/// The square of a block, of those that lie row by row over the raster.
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

/// Makes candidates on the plane those on the globe: across the raster's edges, and at the poles, where all sites of a row are
/// one place and the first counts. Writes their gaps column by column, infinite where there is none. Grid: a block a square of
/// [`SQUARE`] by `SQUARE` pixels.
///
/// In a strip, which has no rows at the poles, `firsts` and `lasts` are the sites that one meets going from it to the west and to the
/// east; those that are not in the whole count as none.
///
/// # Safety
/// `nearest` has `pitch * height` elements, of a strip as [`reach_beyond`](const@super::reach_beyond) gives them; `firsts` and `lasts`
/// have one a row, of a whole raster what [`find_row_ends`](const@find_row_ends) gave of `nearest`; `gaps` has `width * height`.
#[kernel(block = BLOCK, carve = |carver| square::<f64>(carver))]
pub unsafe fn go_round(
    nearest: Out<'_, u32>,
    firsts: In<'_, u32>,
    lasts: In<'_, u32>,
    gaps: Out<'_, f64>,
    globe: Globe<'_>,
) {
    let turned = square::<f64>(&mut Carver::new());
    let Square { corner: [left, top], column, row } = Square::of_block(globe);
    // SAFETY: elements of the square are below its size, and each is written by one thread; the whole block comes to the
    // barrier, which stands between writes and reads.
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
            if (x < globe.width) & (y < globe.height) {
                let gap = turned.load(column * (SQUARE + 1) + c);
                gaps.set(x as u64 * globe.height as u64 + y as u64, gap);
            }
            c += Square::STEP;
        }
    }
}

/// Candidates beyond which it is worth finding out which can be near at all.
const MANY: u32 = 64;

/// Candidates up to which the rows of a warp are not divided.
const FEW: u32 = 256;

/// Rows, or candidates, from one on, and the one after the last.
type Range = [u32; 2];

/// A column of the raster, whose rows a warp solves. All lanes come to all its functions with the same arguments.
struct Column<'a> {
    globe: Globe<'a>,
    gaps: In<'a, f64>,
    winners: Out<'a, u32>,
    /// Of the column's first row in both.
    first: u64,
    lane: u32,
}

impl Column<'_> {
    #[inline(always)]
    fn gap(&self, candidate: u32) -> f64 {
        self.gaps.get(self.first + candidate as u64)
    }

    /// h of a row and a candidate; infinite where there is none, no number in a row at a pole. Both are less than nothing else.
    #[inline(always)]
    fn h(&self, row: u32, cosine: f64, candidate: u32) -> f64 {
        self.globe.along.get(candidate.abs_diff(row)) + cosine * self.gap(candidate)
    }

    #[inline(always)]
    fn win(&self, row: u32, winner: u32) {
        self.winners.set(self.first + row as u64, winner);
    }

    #[inline(always)]
    fn fill(&self, [start, end]: Range, winner: u32) {
        let mut row = start + self.lane;
        while row < vector::unknown(end) {
            self.win(row, winner);
            row += warp::SIZE;
        }
    }

    /// Solves the rows of a warp, a lane a row.
    ///
    /// A candidate's h is nowhere less than its *bound*, from the rows' least cosine and the row that is nearest to it. It wins no row if the bound
    /// is more than each row has from the first or the last candidate. Sums and products of f64 keep their order when they are rounded.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn compare(&self, [start, end]: Range, [low, high]: Range) {
        let row = u32::min(start + self.lane, end - 1);
        let cosine = self.globe.cosine.get(row);
        let known = f64::min(self.h(row, cosine, low), self.h(row, cosine, high - 1));
        let (mut least, mut winner) = (f64::INFINITY, NONE);
        // SAFETY: passed on to the caller: all lanes have the same ranges.
        unsafe {
            // Words of the bits of numbers that are not negative are in order. What comes after infinity is no number.
            let known = f64::min(known, f64::INFINITY);
            let most = f64::from_bits((warp::max((known.to_bits() >> 32) as u32) as u64 + 1) << 32);
            let is_any = !(most < f64::INFINITY);
            let cosine_least =
                f64::from_bits((warp::min((cosine.to_bits() >> 32) as u32) as u64) << 32);
            let mut first = low;
            while first < vector::unknown(high) {
                let candidate = first + self.lane;
                let mut can_win = false;
                if candidate < high {
                    let nearest = u32::min(u32::max(candidate, start), end - 1);
                    can_win = is_any || self.h(nearest, cosine_least, candidate) <= most;
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

    /// The candidates that can be within the slack of a row's nearest, as far as their rows tell.
    #[inline(always)]
    fn within_reach(&self, row: u32, cosine: f64, [low, high]: Range) -> Range {
        let own = u32::min(u32::max(row, low), high - 1);
        let [own, first, last] = [own, low, high - 1].map(|place| self.h(row, cosine, place));
        let known = f64::min(own, f64::min(first, last));
        let reach = self.globe.reach(known + self.globe.slack);
        // One of the three is among these.
        [u32::max(low, (row + 1).saturating_sub(reach)), u32::min(high, row + reach)]
    }

    /// Finds a row's winner among candidates. Gives those that are as near but for rounding, if there is any.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn near(&self, row: u32, candidates: Range) -> Option<Range> {
        let cosine = self.globe.cosine.get(row);
        let [low, high] = match candidates[1] - candidates[0] > MANY {
            true => self.within_reach(row, cosine, candidates),
            false => candidates,
        };
        let of_lane = |first: u32| {
            let candidate = first + self.lane;
            if candidate < high { self.h(row, cosine, candidate) } else { f64::INFINITY }
        };
        let of_first = of_lane(low);
        let mut least = f64::min(of_first, f64::INFINITY);
        let mut first = low + warp::SIZE;
        while first < vector::unknown(high) {
            least = f64::min(least, of_lane(first));
            first += warp::SIZE;
        }
        // SAFETY: passed on to the caller: all lanes have the same ranges.
        unsafe {
            let least = least_of_warp(least);
            if least == f64::INFINITY {
                return None;
            }
            let most = least + self.globe.slack;
            let (mut winner, mut near) = (NONE, [NONE, 0]);
            let (mut first, mut h) = (low, of_first);
            loop {
                let close = warp::ballot(warp::FULL, h <= most);
                let best = warp::ballot(warp::FULL, h == least);
                if (best != 0) & (winner == NONE) {
                    winner = first + best.trailing_zeros();
                }
                if close != 0 {
                    near = [
                        u32::min(near[0], first + close.trailing_zeros()),
                        first + warp::SIZE - close.leading_zeros(),
                    ];
                }
                first += warp::SIZE;
                if first >= vector::unknown(high) {
                    break;
                }
                h = of_lane(first);
            }
            if self.lane == 0 {
                self.win(row, winner);
            }
            Some(near)
        }
    }

    /// Solves rows among candidates. What is still to be done lies in the lanes, a part a lane: parts halve, so 32 are enough.
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

/// The least of the numbers of all lanes, which are not negative: their bits are in order.
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

/// The row of each pixel's winner, column by column; [`NONE`] where there is no site. Grid: a warp a column.
///
/// # Safety
/// `gaps` has `width * height` elements as [`go_round`](const@go_round) writes them, `winners` as many.
#[kernel(block = COLUMNS_BLOCK)]
pub unsafe fn solve_columns(gaps: In<'_, f64>, winners: Out<'_, u32>, globe: Globe<'_>) {
    let x = thread::index_1d() / warp::SIZE as u64;
    if x >= globe.width as u64 {
        return;
    }
    let height = globe.height;
    let lane = warp::lane_id();
    let column = Column { globe, gaps, winners, first: x * height as u64, lane };
    // Where rows are so near that the slack spans several, those beside a site are as near as it.
    let are_apart = height > 1 && globe.along.get(1) > globe.slack;
    // Rows before `start` are solved, of which the last is the site `low`, if it is one.
    let (mut start, mut low, mut base) = (0, 0, 0);
    while base < vector::unknown(height) {
        let row = base + lane;
        let is_site = are_apart && row < height && column.gap(row) == 0.0;
        if is_site {
            column.win(row, row);
        }
        // SAFETY: the whole warp comes here.
        unsafe {
            let mut sites = warp::ballot(warp::FULL, is_site);
            while sites != 0 {
                let skipped = sites.trailing_zeros();
                let site = base + skipped;
                if start < site {
                    column.solve([start, site], [low, site + 1]);
                }
                let many = (sites >> skipped).trailing_ones();
                (start, low) = (site + many, site + many - 1);
                sites &= u32::MAX.checked_shl(skipped + many).unwrap_or(0);
            }
        }
        base += warp::SIZE;
    }
    if start < height {
        // SAFETY: the whole warp comes here.
        unsafe { column.solve([start, height], [low, height]) };
    }
}

/// The linear index of each pixel's site, all bits set where there is none. Grid: a block a square of [`SQUARE`] by `SQUARE` pixels.
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
    // SAFETY: elements of the square are below its size, and each is written by one thread; the whole block comes to the
    // barrier, which stands between writes and reads.
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
                    // At a pole all sites of the winner's row are as near, and the first counts.
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

/// Forgets indices of sites that are farther than `most`, and writes the great-circle distances that are wanted, infinite where
/// there is no site. Grid: a thread a pixel.
///
/// # Safety
/// `indices` and the outputs that are there have `width * height` elements.
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
