//! Finds the winners of a span whose sites are far or many. Costs and rows are compared separately, since keys of 32
//! bits do not hold them. The plan is the same as for [near walks](super::close_sites), four rows at a time.

use super::outputs::Output;
use super::span::{Span, SpanPart};
use super::{COARSE, FOUR, LONG, OCTET};
use crate::voronoi::monotone::rows::Column;
use crate::voronoi::monotone::search::{Metric, Won};

/// Rows of a walk: four, not eight, since a row takes two or three registers in place of one.
const FAR_ROWS: usize = 4;

impl<M: Metric> Span<'_, M> {
    /// Writes a part of the span by plain comparisons.
    #[inline(always)]
    pub fn write_far<O: Output>(self, part: SpanPart, out: O) {
        let SpanPart { mut low, high: next, .. } = part;
        let mut ends = [next; COARSE + 1];
        if next - low > LONG {
            let won = self.walk_far::<COARSE, { OCTET as usize }>(self.y + OCTET, low, next);
            let mut j = 0;
            while j < COARSE {
                ends[j] = won[j].row;
                j += 1;
            }
        }
        let mut y = self.y;
        while y < part.to {
            if y + FAR_ROWS as u32 > part.from {
                let won = self.walk_far::<FAR_ROWS, 1>(y, low, ends[0]);
                self.write_rows(y, part, won, out);
                low = won[FAR_ROWS - 1].row;
            }
            y += FAR_ROWS as u32;
            if y.is_multiple_of(OCTET) {
                ends = [ends[1], ends[2], ends[3], ends[3]];
            }
        }
    }

    /// Finds the winners of `N` rows from `y` on, `STEP` apart, among the candidates from `low` to `next` and a few
    /// below.
    #[inline(always)]
    fn walk_far<const N: usize, const STEP: usize>(
        self,
        y: u32,
        low: u32,
        next: u32,
    ) -> [Won<M>; N] {
        let bottom = y + (STEP * (N - 1)) as u32;
        let (above, below) = (self.farthest(low, y, bottom), self.farthest(next, y, bottom));
        // `low` costs at most `above` in each of the rows, and `next` at most `below`: a gap that alone costs more
        // cannot win.
        let farthest = if above < below { above } else { below };
        let mut won = [Won { row: low, cost: M::MOST }; N];
        let mut row = low;
        loop {
            // `low..=next` are rows, and `PADDING` more are there below the last.
            let candidates: [M::Column; FOUR] =
                core::array::from_fn(|k| self.column.of_row(row + k as u32));
            let mut k = 0;
            while k < FOUR {
                let gap = self.column.gap(candidates[k]);
                if candidates[k].is_site() & (self.metric.cost(gap, 0) <= farthest) {
                    let row = row + k as u32;
                    let mut j = 0;
                    while j < N {
                        let rows = row.wrapping_sub(y).wrapping_sub((j * STEP) as u32);
                        let cost = self.metric.cost(gap, rows);
                        if cost < won[j].cost {
                            won[j] = Won { row, cost };
                        }
                        j += 1;
                    }
                }
                k += 1;
            }
            row += FOUR as u32;
            // The next candidates lie so far south of the last row that they cannot win it, and so none of the rows
            // before.
            let is_beaten = row > bottom && self.metric.cost(0, row - bottom) >= won[N - 1].cost;
            if row > next || is_beaten {
                return won;
            }
        }
    }

    /// The largest cost of a row's candidate in the rows from `y` to `bottom`.
    #[inline(always)]
    fn farthest(self, row: u32, y: u32, bottom: u32) -> M::Cost {
        let gap = self.column.gap(self.column.of_row(row));
        let first = self.metric.cost(gap, row.wrapping_sub(y));
        let last = self.metric.cost(gap, row.wrapping_sub(bottom));
        if first < last { last } else { first }
    }
}
