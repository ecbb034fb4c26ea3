//! Decides many rows by two: the *cut* between two winners.
//!
//! Let candidate `low` win row `from`, and `high`, farther south, row `to`. The cut is the first row at which `high` is
//! nearer than `low`.
//!
//! ```text
//!  from   -------- low wins
//!    :
//!  cut - 1 ------- does a candidate between beat low here?    no: low wins all rows from `from` to here
//!  cut    -------- does a candidate between beat high here?   no: high wins all rows from here to `to`
//!    :
//!  to     -------- high wins
//! ```
//!
//! Winners never go back. If `low` wins a row, no candidate south of it wins a row farther north; likewise for `high`.
//! So one walk over the candidates between, two comparisons each, decides up to 256 rows. It pays if sites are far and
//! winners few, as in an open sea. If a candidate does win, the walk has halved the rest: `low` to the winner of the
//! row before the cut, and the winner of the cut to `high`.

use device_std::shared::{Carver, Plain, SharedArray};
use device_std::warp;

use super::rows::Column;
use super::search::{Candidates, Metric, Won};
use super::{BLOCK, WORD};

impl<M: Metric> Won<M> {
    /// Takes another if it is nearer. Of two as near the first one stays: callers come from north to south.
    #[inline(always)]
    pub fn meet(&mut self, other: Self) {
        if other.cost < self.cost {
            *self = other;
        }
    }
}

/// Returns the first row after `from` at which `high` is nearer than `low`, at most `to`, by bisection. `to` is at most
/// `2^HALVINGS` rows on.
#[inline(always)]
pub fn cut_between<M: Metric, const HALVINGS: u32>(
    metric: M,
    column: Candidates<M::Column>,
    (low, high): (u32, u32),
    (from, to): (u32, u32),
) -> u32 {
    let (a, b) = (column.gap(column.of_row(low)), column.gap(column.of_row(high)));
    let (mut before, mut cut) = (from, to);
    let mut k = 0;
    while k < HALVINGS {
        // Once the two are neighbours `row` is `before`, where `low` wins: nothing changes. So all lanes halve equally
        // often.
        let row = (before + cut) / 2;
        if metric.cost(b, high.wrapping_sub(row)) < metric.cost(a, low.wrapping_sub(row)) {
            cut = row;
        } else {
            before = row;
        }
        k += 1;
    }
    cut
}

/// The winners of the row before a cut and of the cut.
#[derive(Clone, Copy)]
pub struct Sides<M: Metric> {
    /// The winner of the row before.
    pub above: Won<M>,
    /// The winner of the cut.
    pub below: Won<M>,
}

/// Candidates that [`sides`] loads together: their loads are in flight at once. At most one more than `PADDING` rows.
const TOGETHER: usize = 8;

/// Finds the winners on both sides of a cut among the candidates of the rows `from..to`. Candidates a few rows below
/// are compared too, which does no harm: they are candidates of the column as well.
#[inline(always)]
pub fn sides<M: Metric>(
    metric: M,
    column: Candidates<M::Column>,
    cut: u32,
    (from, to): (u32, u32),
) -> Sides<M> {
    let none = Won { row: from, cost: M::MOST };
    let mut sides = Sides { above: none, below: none };
    let mut row = from;
    let pitch = M::Column::bytes_between(1, column.pitch);
    let mut first = column.from_row(from);
    while row < to {
        // `row` is one of the raster, and `PADDING` more are there below the last.
        let candidates: [M::Column; TOGETHER] = core::array::from_fn(|k| first.get(pitch.times(k)));
        let mut k = 0;
        while k < TOGETHER {
            let gap = column.gap(candidates[k]);
            let row = row + k as u32;
            let rows = row.wrapping_sub(cut);
            if candidates[k].is_site() {
                sides.above.meet(Won { row, cost: metric.cost(gap, rows.wrapping_add(1)) });
                sides.below.meet(Won { row, cost: metric.cost(gap, rows) });
            }
            k += 1;
        }
        row += TOGETHER as u32;
        first = first.wrapping_from(pitch.times(TOGETHER));
    }
    sides
}

/// The warps of a block.
const WARPS: u32 = BLOCK / WORD;

/// The winners that the warps of a block have found on one side of their columns' cuts, each in its share of the
/// candidates.
#[derive(Clone, Copy)]
pub struct WarpWinners<C> {
    rows: SharedArray<u32>,
    costs: SharedArray<C>,
}

impl<C: Plain + PartialOrd> WarpWinners<C> {
    /// Takes its shared memory from the carver.
    #[inline(always)]
    pub const fn new(carver: &mut Carver) -> Self {
        Self { rows: carver.array(BLOCK), costs: carver.array(BLOCK) }
    }

    /// Stores the winner that this thread's warp has found in its column.
    ///
    /// # Safety
    /// No other thread does so for it, and none loads it between the same two barriers.
    #[inline(always)]
    pub unsafe fn store<M: Metric<Cost = C>>(self, won: Won<M>) {
        let at = warp::warp_id() * WORD + warp::lane_id();
        // SAFETY: one element a thread.
        unsafe {
            self.rows.store(at, won.row);
            self.costs.store(at, won.cost);
        }
    }

    /// Returns the row of the best winner in this thread's column. The warps' shares come from north to south, so the
    /// first of several as near wins.
    ///
    /// # Safety
    /// All warps have stored theirs, before a barrier.
    #[inline(always)]
    pub unsafe fn least(self) -> u32 {
        let mut at = warp::lane_id();
        // SAFETY: one element a thread of the block.
        unsafe {
            let (mut row, mut cost) = (self.rows.load(at), self.costs.load(at));
            let mut k = 1;
            while k < WARPS {
                at += WORD;
                let (other_row, other) = (self.rows.load(at), self.costs.load(at));
                if other < cost {
                    (row, cost) = (other_row, other);
                }
                k += 1;
            }
            row
        }
    }
}
