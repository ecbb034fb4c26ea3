//! Writes a span: the 32 rows of one column that a thread has.
//!
//! A cut divides a span into at most two parts. Each part is written by the first of these ways that fits:
//!
//! ```text
//! the winners at its ends and at the cut are two:        write_settled, no candidate is read
//! square pixels, 1700 pixels, 248 candidates or fewer:    write_near, keys of 32 bits
//! one more cut, which decides it:                        write_settled
//! else:                                                  write_far
//! ```

use device_std::vector;

use super::outputs::Output;
use super::{Cut, OCTET, Raster};
use crate::voronoi::monotone::cut::{self, Sides};
use crate::voronoi::monotone::rows::Column;
use crate::voronoi::monotone::search::{Candidates, Metric, Won};

/// The rows of one column that a thread writes.
#[derive(Clone, Copy)]
pub struct Span<'a, M: Metric> {
    /// How distances are counted.
    pub metric: M,
    /// The candidates of the column.
    pub column: Candidates<'a, M::Column>,
    /// The raster's sides.
    pub raster: Raster,
    /// The first row.
    pub y: u32,
    /// The row after the last: [`SPAN`] rows on, or the raster's end.
    pub end: u32,
    /// Most squared distance of a site.
    pub limit: M::Cost,
}

/// A candidate at the end of a walk: its row, and its gap squared.
#[derive(Clone, Copy)]
pub struct End {
    /// The row.
    pub row: u32,
    /// The square.
    pub square: u64,
}

/// Rows of a span, the last exclusive, whose winners lie between two rows.
#[derive(Clone, Copy)]
pub struct SpanPart {
    /// The first row.
    pub from: u32,
    /// The row after the last.
    pub to: u32,
    /// The winner of the first row.
    pub low: u32,
    /// A winner of the last row or of one below.
    pub high: u32,
}

impl<M: Metric> Span<'_, M> {
    /// Writes the span, whose first row `first` wins, with its cut. `below_cut` gives the winner of the cut and the
    /// winner of the row after the span once more, so that they need no registers meanwhile.
    #[inline(always)]
    pub fn write<O: Output>(
        self,
        first: u32,
        cut: Cut,
        below_cut: impl Fn() -> (u32, u32),
        out: O,
    ) {
        let Cut { row, above, below, next } = cut;
        if first == above && below == next {
            let all = SpanPart { from: self.y, to: self.end, low: first, high: next };
            self.write_settled(all, row, out);
            return;
        }
        // A loop, so that the code of a part stands once.
        let mut part = SpanPart { from: self.y, to: row, low: first, high: above };
        loop {
            self.write_part(part, out);
            if part.to >= self.end {
                return;
            }
            let (low, high) = below_cut();
            part = SpanPart { from: part.to, to: self.end, low, high };
        }
    }

    /// Writes a part of the span.
    #[inline(always)]
    fn write_part<O: Output>(self, part: SpanPart, out: O) {
        let end = |row| End { row, square: self.square(row) };
        let (low, high) = (end(part.low), end(part.high));
        if M::PLAIN && self.is_near(low, high) {
            self.write_near(part, low.narrow(), high.narrow(), out);
            return;
        }
        let mut cut = part.to;
        let mut is_settled = part.low == part.high;
        if !is_settled {
            let (rows, ends) = ((part.from, part.to), (part.low, part.high));
            cut = cut::cut_between::<M, 5>(self.metric, self.column, ends, rows);
            let between = (part.low, part.high + 1);
            let Sides { above, below } = cut::sides(self.metric, self.column, cut, between);
            // A cut at the part's end: no row of the part lies from there on.
            is_settled = above.row == part.low && (below.row == part.high || cut == part.to);
        }
        if is_settled {
            self.write_settled(part, cut, out);
        } else {
            self.write_far(part, out);
        }
    }

    /// Whether every pixel may be a site, judged by both ends: a pixel that is a site has its own row as winner. Spares
    /// the loads of `is_land`.
    #[inline(always)]
    pub fn may_be_land(self, first: u32, next: u32) -> bool {
        first == self.y && next == u32::min(self.end, self.raster.height - 1)
    }

    /// Whether every pixel is a site.
    #[inline(always)]
    pub fn is_land(self) -> bool {
        // A pixel is a site if its gap is 0: one `or` a row, no branch.
        let mut gaps = 0;
        let mut y = self.y;
        let last = self.raster.height - 1;
        while y < self.end {
            let mut k = 0;
            while k < OCTET {
                gaps |= self.column.gap(self.column.of_row(u32::min(y + k, last)));
                k += 1;
            }
            y += OCTET;
        }
        gaps == 0
    }

    /// Writes a span of sites alone.
    #[inline(always)]
    pub fn write_land<O: Output>(self, out: O) {
        let mut out = out.moved(self.pixel(self.y));
        let mut y = self.y;
        while y < self.end {
            out.put_short(y, self.column.x, 0);
            out = out.moved(self.raster.width as u64);
            y += 1;
        }
    }

    /// Writes the rows of a part that `low` wins before the cut, and `high` from there on.
    #[inline(always)]
    fn write_settled<O: Output>(self, part: SpanPart, cut: u32, out: O) {
        let SpanPart { low, high, .. } = part;
        let of_row = |row| self.column.gap(self.column.of_row(row));
        let gaps = (of_row(low), of_row(high));
        let mut y = self.y;
        while y < self.end {
            let won = |j: usize| {
                let at = y + j as u32;
                let (row, gap) = if at < cut { (low, gaps.0) } else { (high, gaps.1) };
                Won { row, cost: self.metric.cost(gap, row.wrapping_sub(at)) }
            };
            self.write_rows::<ROWS, _>(y, part, core::array::from_fn(won), out);
            y += OCTET;
        }
    }

    /// The gap of a row's candidate, squared.
    #[inline(always)]
    pub fn square(self, row: u32) -> u64 {
        let gap = self.column.gap(self.column.of_row(row)) as i32 as i64;
        gap.wrapping_mul(gap) as u64
    }

    /// Writes a span without a site within the limit.
    #[inline(always)]
    pub fn write_none<O: Output>(self, out: O) {
        let mut out = out.moved(self.pixel(self.y));
        let mut y = self.y;
        let end = vector::unknown(self.end);
        while y < end {
            out.put_none();
            out = out.moved(self.raster.width as u64);
            y += 1;
        }
    }

    /// Writes `N` rows from `y` on, as far as they are the part's.
    #[inline(always)]
    pub fn write_rows<const N: usize, O: Output>(
        self,
        y: u32,
        part: SpanPart,
        won: [Won<M>; N],
        out: O,
    ) {
        let columns = won.map(|Won { row, .. }| match O::NEEDS_COLUMN {
            true => self.column.of_row(row).number(),
            false => 0,
        });
        let mut out = out.moved(self.pixel(y));
        let is_whole = (y >= part.from) & (y + N as u32 <= part.to) & (self.limit == M::MOST);
        // Nothing to test row by row: all rows are the part's, there is no limit, and squares are short.
        let bits = won.iter().fold(0, |bits, won| bits | M::number(won.cost));
        let mut j = 0;
        if is_whole & out.is_short(bits) {
            while j < N {
                out.put_short(won[j].row, columns[j], M::number(won[j].cost));
                out = out.moved(self.raster.width as u64);
                j += 1;
            }
            return;
        }
        while j < N {
            let row = y + j as u32;
            if (row >= part.from) & (row < part.to) {
                if won[j].cost <= self.limit {
                    out.put(won[j].row, columns[j], M::number(won[j].cost));
                } else {
                    out.put_none();
                }
            }
            out = out.moved(self.raster.width as u64);
            j += 1;
        }
    }

    /// The linear index of the column's pixel in a row.
    #[inline(always)]
    fn pixel(self, y: u32) -> u64 {
        y as u64 * self.raster.width as u64 + (self.column.x - self.metric.first()) as u64
    }
}

/// Rows that are written together.
pub const ROWS: usize = OCTET as usize;
