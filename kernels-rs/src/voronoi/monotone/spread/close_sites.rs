//! Finds the winners of a span whose sites are near: one addition and one minimum for each candidate and row.
//!
//! The cost of a candidate `rho` rows below the first row, with gap g, at row j is (rho - j)^2 + g^2 = (rho^2 + g^2) -
//! 2 j rho + j^2. But for j^2, which all candidates share, it is linear in j. A *key* is 256 times that, plus the
//! candidate's place among those walked:
//!
//! ```text
//! bits 31 .. 8    cost less j^2        bits 7 .. 0    place: of equal costs the northern candidate has the lesser key
//! ```
//!
//! So the least key of a row tells its winner and its cost. On Hopper, 8 rows and 4 candidates take 40 instructions,
//! since one instruction adds and takes the minimum.

use super::outputs::Output;
use super::span::{End, ROWS, Span, SpanPart};
use super::{COARSE, FOUR, LONG, OCTET};
use crate::voronoi::monotone::rows::Column;
use crate::voronoi::monotone::search::{Metric, Won};
use crate::voronoi::monotone::{PADDING, SPAN};

/// More than any key, and so far below 2^31 that the terms added to keys do not overflow it.
const BEYOND: i32 = 2_000_000_000;

/// The farthest winner, in pixels, at the ends of a part that [`Span::walk_near`] may write. For the candidates that it
/// compares, neither the gap nor the rows exceed NEAR + 2 SPAN. So a key is below 512 (NEAR + 2 SPAN)^2 + 512 * 24
/// (NEAR + 2 SPAN) < [`BEYOND`]. A row without a site counts as column 65,535, which is farther off than that.
const NEAR: u32 = 1700;

/// Most columns of a raster whose candidates have 16 bits.
pub const MAX_NARROW: u32 = u16::MAX as u32 - NEAR - 4 * SPAN;

/// The last of eight rows.
const LAST: usize = ROWS - 1;

impl End {
    /// The same end with its square in 32 bits; only if [`Span::is_near`].
    #[inline(always)]
    pub fn narrow(self) -> NearEnd {
        NearEnd { row: self.row, square: self.square as i32 }
    }
}

/// An [`End`] whose square has 32 bits.
#[derive(Clone, Copy)]
pub struct NearEnd {
    row: u32,
    square: i32,
}

impl NearEnd {
    /// The largest cost of its candidate in the rows from `y` to `y + bottom`: at one of both ends, since a cost is
    /// convex.
    #[inline(always)]
    fn farthest(self, y: u32, bottom: i32) -> i32 {
        let first = self.row as i32 - y as i32;
        let last = first - bottom;
        self.square + i32::max(first * first, last * last)
    }
}

impl<M: Metric> Span<'_, M> {
    /// Whether keys hold everything that [`walk_near`](Self::walk_near) may meet on the span: 8 bits number the
    /// candidates, and no winner is farther than [`NEAR`].
    #[inline(always)]
    pub fn is_near(self, first: End, next: End) -> bool {
        let rows = (next.row as i64 - (self.y + SPAN) as i64).unsigned_abs();
        let above = (first.row as i64 - self.y as i64).unsigned_abs();
        let near = (NEAR as u64) * (NEAR as u64);
        // A walk reads up to `PADDING` candidates below the last.
        next.row - first.row < 256 - PADDING
            && above * above + first.square <= near
            && rows * rows + next.square <= near
    }

    /// Writes a part of the span; only if [`is_near`](Self::is_near).
    #[inline(always)]
    pub fn write_near<O: Output>(self, part: SpanPart, low: NearEnd, next: NearEnd, out: O) {
        let mut low = low;
        let mut ends = [next.row; COARSE + 1];
        if next.row - low.row > LONG {
            let keys = self.walk_near::<COARSE, { OCTET as usize }>(self.y + OCTET, low, next);
            let mut j = 0;
            while j < COARSE {
                ends[j] = low.row + (keys[j] as u32 & 0xff);
                j += 1;
            }
        }
        let mut y = self.y;
        while y < part.to {
            if y + OCTET > part.from {
                let next = NearEnd { row: ends[0], square: self.square(ends[0]) as i32 };
                let keys = self.walk_near::<ROWS, 1>(y, low, next);
                let won = |j: usize| Won {
                    row: low.row + (keys[j] as u32 & 0xff),
                    cost: M::limit(((keys[j] >> 8) + (j * j) as i32) as u32 as u64),
                };
                self.write_rows::<ROWS, _>(y, part, core::array::from_fn(won), out);
                // The walk of the next rows begins at the last winner. Its gap's square follows from its key.
                low.row += keys[LAST] as u32 & 0xff;
                let rho = low.row as i32 - y as i32 - LAST as i32;
                low.square = (keys[LAST] >> 8) + (LAST * LAST) as i32 - rho * rho;
            }
            // By moves, not by an index at run time: the array stays in registers.
            ends = [ends[1], ends[2], ends[3], ends[3]];
            y += OCTET;
        }
    }

    /// Finds for `N` rows from `y` on, `STEP` apart, the least key of the candidates from `low` to `next` and a few
    /// below.
    ///
    /// The key of a candidate for row j is its cost less j^2, times 256, plus its place after `low`. The candidates
    /// come four at a time, the first of them `rho` rows below `y`. With k from 0 to 3 and gap g, the cost less j^2 is
    /// g^2 + rho^2 + k (2 rho + k) - j (2 rho + 2 k). The term -2 j k and those of k alone are constants.
    #[inline(always)]
    fn walk_near<const N: usize, const STEP: usize>(
        self,
        y: u32,
        low: NearEnd,
        next: NearEnd,
    ) -> [i32; N] {
        let bottom = (STEP * (N - 1)) as i32;
        // A candidate whose gap alone is longer than both ends' distances cannot win any of the rows.
        let farthest = i32::min(low.farthest(y, bottom), next.farthest(y, bottom)) as u32;
        let mut keys = [BEYOND; N];
        let mut rho = low.row as i32 - y as i32;
        let last = next.row as i32 - y as i32;
        let mut place = 0;
        let mut first = self.column.from_row(low.row);
        let pitch = M::Column::bytes_between(1, self.raster.pitch);
        loop {
            // `low..=next` are rows, and `PADDING` more are there below the last.
            let candidates: [M::Column; FOUR] = core::array::from_fn(|k| first.get(pitch.times(k)));
            let squares = candidates.map(|candidate| {
                let gap = self.column.gap(candidate);
                gap.wrapping_mul(gap)
            });
            let [a, b, c, d] = squares;
            if u32::min(u32::min(a, b), u32::min(c, d)) <= farthest {
                meet::<N, STEP>(&mut keys, squares, farthest, rho, place);
            }
            rho += FOUR as i32;
            place += FOUR as i32;
            first = first.wrapping_from(pitch.times(FOUR));
            // How far the next candidate lies south of the last of the `N` rows. If that alone costs as much as the
            // last row's best, no candidate from here on wins the last row, and so none wins a row before it.
            let reach = rho - bottom;
            let best = (keys[N - 1] >> 8) + bottom * bottom;
            if (rho > last) | ((reach > 0) & (reach * reach >= best)) {
                return keys;
            }
        }
    }
}

/// Compares four candidates with the best so far of every row; the first is `rho` rows below the first row. Candidates
/// whose gap alone is too long are skipped: they get [`BEYOND`] as key.
#[inline(always)]
fn meet<const N: usize, const STEP: usize>(
    keys: &mut [i32; N],
    squares: [u32; FOUR],
    farthest: u32,
    rho: i32,
    place: i32,
) {
    let slope = rho << 9;
    let common = ((rho * rho) << 8) + place;
    let four: [i32; FOUR] = core::array::from_fn(|k| {
        let own = common + k as i32 * slope;
        let key = ((squares[k] as i32) << 8).wrapping_add(own);
        if squares[k] <= farthest { key } else { BEYOND }
    });
    // The four candidates are first compared among themselves, by constants: then one comparison a row with the best so
    // far.
    let mut j = 0;
    while j < N {
        let mut key = four[0];
        let mut k = 1;
        while k < FOUR {
            let own = (k * k * 256 + k) as i32 - (512 * j * STEP * k) as i32;
            key = i32::min(key, four[k] + own);
            k += 1;
        }
        keys[j] = i32::min(keys[j], key - (j * STEP) as i32 * slope);
        j += 1;
    }
}
