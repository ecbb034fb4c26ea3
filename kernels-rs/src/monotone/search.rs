//! The winner of one row of a column, among the candidates between two rows.

use device_std::{thread, warp};

use super::rows::Column;
use super::{LEVEL_RATIO, NONE, WORD};

/// How squared distances are counted.
pub trait Metric: Copy {
    /// What holds the column of a candidate.
    type Column: Column;
    /// What holds a squared distance.
    type Cost: Copy + PartialOrd;
    /// More than any squared distance.
    const MOST: Self::Cost;
    /// Whether costs are plain squares in pixels, of 32 bits.
    const PLAIN: bool;

    /// The squared distance of so many columns and rows.
    fn cost(self, columns: u32, rows: u32) -> Self::Cost;

    /// A limit as a cost; what is too large for one becomes [`MOST`](Self::MOST).
    fn limit(limit: u64) -> Self::Cost;

    /// The cost as a number.
    fn number(cost: Self::Cost) -> u64;
}

/// Square pixels, and squared distances below 2^32 - 1.
#[derive(Clone, Copy)]
pub struct Pixels;

impl Metric for Pixels {
    type Column = u16;
    type Cost = u32;
    const MOST: u32 = u32::MAX;
    const PLAIN: bool = true;

    #[inline(always)]
    fn cost(self, columns: u32, rows: u32) -> u32 {
        columns.wrapping_mul(columns).wrapping_add(rows.wrapping_mul(rows))
    }
    #[inline(always)]
    fn limit(limit: u64) -> u32 {
        if limit < u32::MAX as u64 { limit as u32 } else { u32::MAX }
    }
    #[inline(always)]
    fn number(cost: u32) -> u64 {
        cost as u64
    }
}

/// Pixels whose sides are `sqrt(across)` and `sqrt(down)`, and squared distances below 2^63.
#[derive(Clone, Copy)]
pub struct Ground {
    /// The square of a step in x.
    pub across: u32,
    /// The square of a step in y.
    pub down: u32,
}

impl Metric for Ground {
    type Column = u32;
    type Cost = u64;
    const MOST: u64 = u64::MAX;
    const PLAIN: bool = false;

    #[inline(always)]
    fn cost(self, columns: u32, rows: u32) -> u64 {
        let square = |n: u32| (n as u64).wrapping_mul(n as u64);
        let across = square(columns).wrapping_mul(self.across as u64);
        across.wrapping_add(square(rows).wrapping_mul(self.down as u64))
    }
    #[inline(always)]
    fn limit(limit: u64) -> u64 {
        limit
    }
    #[inline(always)]
    fn number(cost: u64) -> u64 {
        cost
    }
}

/// The candidates of one column of the raster: in every row the site nearest to it.
pub struct Candidates<C> {
    /// The column's candidate in row 0.
    pub start: *const C,
    /// Elements from one row to the next.
    pub pitch: u32,
    /// The column of the raster.
    pub x: u32,
}

impl<C> Clone for Candidates<C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Candidates<C> {}

impl<C: Column> Candidates<C> {
    /// The candidate of a row.
    ///
    /// # Safety
    /// The row is one of the raster's.
    #[inline(always)]
    pub unsafe fn of_row(&self, row: u32) -> C {
        // SAFETY: passed on to the caller.
        unsafe { *self.start.add((row as u64 * self.pitch as u64) as usize) }
    }

    /// Columns between ours and a candidate's.
    #[inline(always)]
    pub fn gap(&self, candidate: C) -> u32 {
        self.x.abs_diff(candidate.number())
    }
}

/// Rows that [`winner`] looks at on each side before it asks whether to go on: so many loads are
/// in flight together.
const STEP: usize = 2;

/// The winner of row `y` among the rows `low..=high`, no farther than `limit`; else [`NONE`].
///
/// It looks at the rows nearest to `y` first, upward and downward alike, until none that is left can
/// be as near as the best so far. A row may be looked at twice, at the ends.
///
/// # Safety
/// `low <= high`, both rows of the raster.
#[inline(always)]
pub unsafe fn winner<M: Metric>(
    metric: M,
    column: Candidates<M::Column>,
    y: u32,
    (low, high): (u32, u32),
    limit: M::Cost,
) -> u32 {
    let mut best = limit;
    let mut row = NONE;
    // The next rows upward and downward; the first may be below `low`, the second above `high`.
    let mut up = if y < high { y as i32 } else { high as i32 };
    let mut down = if y > low { y } else { low };
    loop {
        let mut ups = [low; STEP];
        let mut downs = [high; STEP];
        let mut k = 0;
        while k < STEP {
            let above = up - k as i32;
            let below = down + k as u32;
            if above > low as i32 {
                ups[k] = above as u32;
            }
            if below < high {
                downs[k] = below;
            }
            k += 1;
        }
        // SAFETY: the rows are in `low..=high`.
        let candidates = unsafe {
            (ups.map(|row| column.of_row(row)), downs.map(|row| column.of_row(row)))
        };
        k = 0;
        while k < STEP {
            // Whatever was looked at before lies south of this row: it wins where they tie.
            let cost = metric.cost(column.gap(candidates.0[k]), y.abs_diff(ups[k]));
            if candidates.0[k].is_site() && cost <= best {
                best = cost;
                row = ups[k];
            }
            // And north of this one.
            let cost = metric.cost(column.gap(candidates.1[k]), y.abs_diff(downs[k]));
            if candidates.1[k].is_site() && cost < best {
                best = cost;
                row = downs[k];
            }
            k += 1;
        }
        up -= STEP as i32;
        down += STEP as u32;
        let up_can_win = up >= low as i32 && metric.cost(0, y.abs_diff(up as u32)) <= best;
        let down_can_win = down <= high && metric.cost(0, down.abs_diff(y)) < best;
        if !(up_can_win || down_can_win) {
            return row;
        }
    }
}

/// The winners of one level; see [`search_rows`](super::search_rows).
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn level<M: Metric>(
    metric: M,
    nearest: *const M::Column,
    above: *const u32,
    winners: *mut u32,
    (pitch, height): (u32, u32),
    (spacing, levels): (u32, u32),
    limit: u64,
) {
    let across = (pitch / WORD).max(1);
    let block = thread::block_idx_x();
    let band = block.checked_div(across).unwrap_or(0);
    let x = (block - band * across) * WORD + warp::lane_id();
    let k = band * (thread::block_dim_x() / WORD) + warp::warp_id();
    if k >= levels {
        return;
    }
    let y = u64::min(k as u64 * spacing as u64, height as u64 - 1) as u32;
    // SAFETY: `x < pitch` and `k < levels`; the level above has winners on both sides of `k`, or
    // `k` is its last.
    unsafe {
        let column = Candidates { start: nearest.add(x as usize), pitch, x };
        let mut rows = (0, height - 1);
        if !above.is_null() {
            let parent = above.add(((k / LEVEL_RATIO) as u64 * pitch as u64 + x as u64) as usize);
            let is_parent = k.is_multiple_of(LEVEL_RATIO);
            rows = (*parent, *parent.add(if is_parent { 0 } else { pitch as usize }));
        }
        let found = if rows.0 == NONE || rows.1 == NONE {
            NONE
        } else {
            winner(metric, column, y, rows, M::limit(limit))
        };
        *winners.add((k as u64 * pitch as u64 + x as u64) as usize) = found;
    }
}
