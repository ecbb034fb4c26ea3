//! A strip's winners by walks over the candidates.
//!
//! The winners of eight rows and [`LANES`] columns are found at once. The walk begins at the first winner of the row
//! above, because a winner's row never decreases down a column. It ends when no further candidate can win the last of
//! the eight rows. As in the GPU's walk (`kernels_rs::voronoi::monotone::spread`), a candidate's cost less j^2 is
//! linear in the row j, and its place is in the low bits. So a candidate takes one addition and one minimum for each
//! row, here on whole vectors.
//!
//! Keys hold to 500 pixels. If sixteen columns have a farther site, [`divide`] halves a block of their rows, and the
//! walk goes on below the block.

use std::ops::Range;

use super::divide::{self, Block};
use super::outputs::{Sinks, Winner};
use super::rows::{Candidates, Column, LANES};
use crate::metric::Metric;

/// Rows that go together.
const ROWS: usize = 8;

/// The last of them.
const LAST: usize = ROWS - 1;

/// Bits of a key that number the candidate: its place in the walk.
const PLACE_BITS: u32 = 10;

/// Most candidates of a walk.
const PLACES: i32 = 1 << PLACE_BITS;

/// Distances that the walk serves are shorter, in pixels.
const NEAR: i32 = 500;

/// Stands for a longer gap along the row, and for a row without a site, whose column is far to the
/// right of the raster.
const FAR: i32 = 1000;

/// Writes a strip of columns. False, and nothing written, if the metric is not that of square pixels, or squared
/// distances do not fit 32 bits.
///
/// # Safety
/// No other thread writes these columns of the sinks.
pub(super) unsafe fn strip<C: Column>(
    candidates: &Candidates<C>,
    columns: Range<usize>,
    metric: Metric,
    sinks: &Sinks<'_>,
) -> bool {
    if !metric.is_narrow || !C::NARROW {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions; the rest is passed on to the caller.
        unsafe { strip_avx2(candidates, columns, metric, sinks) };
        return true;
    }
    // SAFETY: passed on to the caller.
    unsafe { strip_by_groups(candidates, columns, metric, sinks) };
    true
}

/// [`strip_by_groups`] compiled for wider vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn strip_avx2<C: Column>(
    candidates: &Candidates<C>,
    columns: Range<usize>,
    metric: Metric,
    sinks: &Sinks<'_>,
) {
    // SAFETY: passed on to the caller.
    unsafe { strip_by_groups(candidates, columns, metric, sinks) }
}

/// All groups of a strip, eight rows at a time: they share cache lines.
#[inline(always)]
unsafe fn strip_by_groups<C: Column>(
    candidates: &Candidates<C>,
    columns: Range<usize>,
    metric: Metric,
    sinks: &Sinks<'_>,
) {
    let limit = metric.limit.min((NEAR * NEAR) as u64) as i32;
    let mut groups: [Group; super::STRIP / LANES] =
        std::array::from_fn(|i| Group::new(columns.start + i * LANES, limit));
    let used = columns.len().div_ceil(LANES);
    for y in (0..candidates.height as i32).step_by(ROWS) {
        for group in &mut groups[..used] {
            if y < group.next {
                continue;
            }
            let lanes = LANES.min(columns.end - group.x);
            // SAFETY: passed on to the caller.
            unsafe {
                if group.write_sites(candidates, y, lanes, sinks) {
                    continue;
                }
                if !group.write_near(candidates, y, lanes, metric, sinks) {
                    group.write_far(candidates, y, lanes, metric, sinks);
                }
            }
        }
    }
}

/// Sixteen columns, and the winners of the row above in each.
struct Group {
    /// The first column.
    x: usize,
    /// The first row that is not written yet.
    next: i32,
    /// The northernmost of `rows`: candidates before it win no more.
    low: i32,
    /// The winners' rows.
    rows: [i32; LANES],
    /// Their squared gaps along the row; where there is none, the limit.
    squares: [i32; LANES],
    /// Whether there is one.
    found: [bool; LANES],
}

impl Group {
    fn new(x: usize, limit: i32) -> Self {
        let (rows, squares, found) = ([0; LANES], [limit; LANES], [false; LANES]);
        Self { x, next: 0, low: 0, rows, squares, found }
    }

    /// Writes eight rows from `y` on where every pixel is a site. False, and nothing written, where one is not.
    ///
    /// # Safety
    /// No other thread writes these columns of the sinks.
    #[inline(always)]
    unsafe fn write_sites<C: Column>(
        &mut self,
        candidates: &Candidates<C>,
        y: i32,
        lanes: usize,
        sinks: &Sinks<'_>,
    ) -> bool {
        let rows = y as u32..(y as u32 + ROWS as u32).min(candidates.height);
        let place = candidates.place(self.x);
        let own: [C; LANES] = std::array::from_fn(|lane| C::new(place as usize + lane));
        if lanes < LANES || rows.clone().any(|row| *candidates.group(row, self.x) != own) {
            return false;
        }
        for row in rows.clone() {
            let winner = |lane: usize| Winner { row, column: place + lane as u32, cost: 0 };
            // SAFETY: passed on to the caller.
            unsafe { sinks.put_squares(row, self.x, lanes, &[0; LANES], winner) };
        }
        self.low = rows.end as i32 - 1;
        (self.rows, self.squares, self.found) = ([self.low; LANES], [0; LANES], [true; LANES]);
        true
    }

    /// Writes eight rows from `y` on by a walk. False, and the rows to be written otherwise, where sites are too far.
    ///
    /// # Safety
    /// No other thread writes these columns of the sinks.
    #[inline(always)]
    unsafe fn write_near<C: Column>(
        &mut self,
        candidates: &Candidates<C>,
        y: i32,
        lanes: usize,
        metric: Metric,
        sinks: &Sinks<'_>,
    ) -> bool {
        let limit = metric.limit.min((NEAR * NEAR) as u64) as i32;
        let is_limited = metric.limit <= (NEAR * NEAR) as u64;
        // Winners of the rows before that are farther than a walk reaches win nothing here, or leave no near site.
        if self.low > y + NEAR {
            return false;
        }
        let low = self.low.max(y - NEAR);
        let Some(keys) = self.walk(candidates, y, low, limit) else { return false };
        let height = candidates.height as i32;
        for (j, keys) in (0..).zip(&keys).take((height - y) as usize) {
            let mut squares = [0; LANES];
            let mut is_near = true;
            for (lane, square) in squares.iter_mut().enumerate() {
                let cost = (keys[lane] >> PLACE_BITS) + j * j;
                is_near &= cost <= limit || lane >= lanes;
                *square = if cost <= limit { cost as u32 } else { u32::MAX };
            }
            if !is_limited && !is_near {
                return false;
            }
            let winner = |lane| self.winner(candidates, keys[lane], squares[lane], lane, low);
            // SAFETY: passed on to the caller.
            unsafe { sinks.put_squares((y + j) as u32, self.x, lanes, &squares, winner) };
        }
        self.advance(y + ROWS as i32, &keys[LAST], low, limit);
        true
    }

    /// Writes a block of rows from `y` on by halving it.
    ///
    /// # Safety
    /// As of [`write_near`](Self::write_near).
    #[inline(always)]
    unsafe fn write_far<C: Column>(
        &mut self,
        candidates: &Candidates<C>,
        y: i32,
        lanes: usize,
        metric: Metric,
        sinks: &Sinks<'_>,
    ) {
        let end = (y as u32 + divide::BLOCK).min(candidates.height);
        let block = Block::new(candidates, metric, self.x, self.low as u32);
        // SAFETY: passed on to the caller.
        let last = unsafe { block.write(y as u32, end, lanes, sinks) };
        for (lane, winner) in last.iter().enumerate() {
            self.found[lane] = winner.is_some();
            if let Some((row, square)) = *winner {
                self.rows[lane] = row as i32;
                self.squares[lane] = square.min((NEAR * NEAR) as u32) as i32;
            }
        }
        self.low = self.rows.iter().fold(i32::MAX, |low, &row| low.min(row));
        self.next = end as i32;
    }

    /// The keys of eight rows from `y` on, by candidates from row `low` on; `None` where sites are too far.
    #[inline(always)]
    fn walk<C: Column>(
        &self,
        candidates: &Candidates<C>,
        y: i32,
        low: i32,
        limit: i32,
    ) -> Option<[[i32; LANES]; ROWS]> {
        let mut keys: [[i32; LANES]; ROWS] =
            std::array::from_fn(|j| [(limit + 1 - (j * j) as i32) << PLACE_BITS; LANES]);
        // No candidate with a longer gap can win any of the rows.
        let farthest: [i32; LANES] = std::array::from_fn(|lane| {
            let first = (self.rows[lane] - y).max(-FAR);
            let last = first - LAST as i32;
            let known = self.squares[lane] + i32::max(first * first, last * last);
            if self.found[lane] { known.min(limit) } else { limit }
        });
        let (height, x) = (candidates.height as i32, candidates.place(self.x));
        let bottom = y + LAST as i32;
        let mut row = low;
        while row < height {
            let place = row - low;
            if place >= PLACES {
                return None;
            }
            let start = row as usize * candidates.pitch + self.x;
            let columns = &candidates.columns[start..start + LANES];
            let mut squares = [0; LANES];
            let mut can_win = false;
            for lane in 0..LANES {
                let gap = (x + lane as u32) as i32 - columns[lane].number() as i32;
                let gap = gap.abs().min(FAR);
                squares[lane] = gap * gap;
                can_win |= squares[lane] <= farthest[lane];
            }
            if can_win {
                meet(&mut keys, &squares, row - y, place);
            }
            row += 1;
            let reach = row - bottom;
            if reach > 0 && row % 4 == 0 {
                let most = keys[LAST].iter().fold(i32::MIN, |most, &key| most.max(key));
                if reach * reach >= (most >> PLACE_BITS) + (LAST * LAST) as i32 {
                    break;
                }
            }
        }
        Some(keys)
    }

    /// The winner that a key names, `square` far, of a walk from row `low` on.
    #[inline(always)]
    fn winner<C: Column>(
        &self,
        candidates: &Candidates<C>,
        key: i32,
        square: u32,
        lane: usize,
        low: i32,
    ) -> Winner {
        if square == u32::MAX {
            return Winner::NONE;
        }
        let row = (low + (key & (PLACES - 1))) as u32;
        Winner { row, column: candidates.at(row, self.x + lane).number(), cost: square.into() }
    }

    /// Takes the winners of the last of the eight rows; `y` is the row after it.
    #[inline(always)]
    fn advance(&mut self, y: i32, keys: &[i32; LANES], low: i32, limit: i32) {
        for (lane, &key) in keys.iter().enumerate() {
            let cost = (key >> PLACE_BITS) + (LAST * LAST) as i32;
            self.found[lane] = cost <= limit;
            let row = low + (key & (PLACES - 1));
            // Without a winner: none farther than the limit counts.
            let reach = (limit as f32).sqrt() as i32 + 1;
            self.rows[lane] = if self.found[lane] { row } else { (y - reach).max(low) };
            let rho = row - (y - 1);
            self.squares[lane] = cost - rho * rho;
        }
        self.low = self.rows.iter().fold(i32::MAX, |low, &row| low.min(row));
    }
}

/// Compares a row's candidates, `rho` rows below the first of the eight, with the best so far.
#[inline(always)]
fn meet(keys: &mut [[i32; LANES]; ROWS], squares: &[i32; LANES], rho: i32, place: i32) {
    let own = ((rho * rho) << PLACE_BITS) + place;
    let slope = rho << (PLACE_BITS + 1);
    let mut costs = [0; LANES];
    for lane in 0..LANES {
        costs[lane] = (squares[lane] << PLACE_BITS) + own;
    }
    for (j, keys) in (0..).zip(keys) {
        let down = j * slope;
        for lane in 0..LANES {
            keys[lane] = keys[lane].min(costs[lane] - down);
        }
    }
}
