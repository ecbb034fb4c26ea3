//! From the winners of every 256th row to those of all rows, and to what is asked for.
//!
//! A block serves a tile of 32 columns and 256 rows, a warp 32 of the rows, a thread a column of
//! these:
//!
//! 1. The winner of the warp's first row, by [`search::winner`]; the block shares these.
//! 2. The winners of rows 8, 16 and 24 of the 32, all in one walk over the candidates between the
//!    first winner and the next warp's.
//! 3. Likewise the winners of eight rows at a time, which are written at once.
//!
//! In a walk the cost of a candidate `rho` rows below the base row, with gap g, at row j is
//! (rho - j)^2 + g^2 = (rho^2 + g^2) - 2 j rho + j^2: but for j^2, which all candidates share, it
//! is linear in j. With the candidate's place in the low 8 bits of the number, which orders ties, a
//! candidate and row take one multiply-add and one minimum.

use device_std::shared::{Carver, SharedArray};
use device_std::{math, thread, warp};

use super::rows::Column;
use super::search::{self, Candidates, Metric};
use super::{GROUP, NONE, SPAN, TILE_ROWS, WORD};

/// Rows whose winners one walk finds at the end.
const OCTET: u32 = 8;

/// Bytes of shared memory of a tile.
pub const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = Winners::new(&mut carver);
    carver.bytes()
};

/// The winners at the ends of the warps' spans.
#[derive(Clone, Copy)]
struct Winners {
    rows: SharedArray<u32>,
}

impl Winners {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { rows: carver.array((TILE_ROWS / SPAN + 1) * WORD) }
    }
}

/// The sides of the raster, and the elements of a padded row.
#[derive(Clone, Copy)]
pub struct Raster {
    /// Elements from one row of candidates to the next: the width, padded to whole words.
    pub pitch: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// What is written for each pixel.
pub trait Output: Copy {
    /// Whether [`put`](Self::put) looks at the column.
    const NEEDS_COLUMN: bool;

    /// Writes pixel `p`, whose nearest site is in `row` and `column`, at the squared distance
    /// `cost`.
    ///
    /// # Safety
    /// The output has an element `p` that no other thread touches.
    unsafe fn put(self, p: u64, row: u32, column: u32, cost: u64);

    /// Writes pixel `p`, which has no nearest site.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    unsafe fn put_none(self, p: u64);
}

macro_rules! outputs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* }
        $needs:literal, |$out:ident, $p:ident, $row:ident, $column:ident, $cost:ident| $put:expr,
        $none:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name {
            $(#[allow(missing_docs)] pub $field: $type,)*
        }

        impl Output for $name {
            const NEEDS_COLUMN: bool = $needs;

            #[inline(always)]
            unsafe fn put(self, $p: u64, $row: u32, $column: u32, $cost: u64) {
                let ($out, _) = (self, ($row, $column, $cost));
                // SAFETY: passed on to the caller.
                unsafe { *self.out.add($p as usize) = $put }
            }

            #[inline(always)]
            unsafe fn put_none(self, p: u64) {
                // SAFETY: passed on to the caller.
                unsafe { *self.out.add(p as usize) = $none }
            }
        }
    )+};
}

outputs! {
    /// Linear indices of 32 bits.
    Indices32 { out: *mut u32, width: u32 } true,
        |own, _p, row, column, _cost| row.wrapping_mul(own.width).wrapping_add(column), u32::MAX;
    /// Linear indices of 64 bits.
    Indices64 { out: *mut u64, width: u32 } true,
        |own, _p, row, column, _cost| row as u64 * own.width as u64 + column as u64, u64::MAX;
    /// Squared distances of 32 bits.
    Squares32 { out: *mut u32 } false, |_own, _p, _row, _column, cost| cost as u32, u32::MAX;
    /// Squared distances of 64 bits.
    Squares64 { out: *mut u64 } false, |_own, _p, _row, _column, cost| cost, u64::MAX;
    /// Distances, times a scale.
    Distances32 { out: *mut f32, scale: f64 } false,
        |own, _p, _row, _column, cost| (math::sqrt(cost as f64) * own.scale) as f32, f32::INFINITY;
}

/// A tile; see [`spread_indices`](super::spread_indices).
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn tile<M: Metric, O: Output>(
    metric: M,
    nearest: *const M::Column,
    winners: *const u32,
    raster: Raster,
    (search_limit, limit): (u64, u64),
    out: O,
) {
    let shared = Winners::new(&mut Carver::new());
    let (tile_x, tile_y) = place_of(thread::block_idx_x(), raster);
    if tile_x * WORD >= raster.pitch {
        return;
    }
    let x = tile_x * WORD + warp::lane_id();
    let last = raster.height - 1;
    let y = tile_y as u64 * TILE_ROWS as u64 + (warp::warp_id() * SPAN) as u64;
    // SAFETY: `x < pitch`; winners of the tile's first row and of the next tile's are there. The
    // barrier stands between the stores and the loads of the shared winners.
    unsafe {
        let column = Candidates { start: nearest.add(x as usize), pitch: raster.pitch, x };
        let above = winners.add((tile_y as u64 * raster.pitch as u64 + x as u64) as usize);
        let below = *above.add(raster.pitch as usize);
        let above = *above;
        let own = if warp::warp_id() == 0 || above == NONE || below == NONE {
            if below == NONE { NONE } else { above }
        } else if y >= last as u64 {
            below
        } else {
            search::winner(metric, column, y as u32, (above, below), M::limit(search_limit))
        };
        shared.rows.store(thread::thread_idx_x(), own);
        if warp::warp_id() == 0 {
            shared.rows.store(TILE_ROWS / SPAN * WORD + thread::thread_idx_x(), below);
        }
        thread::sync_threads();
        if y <= last as u64 {
            let next = shared.rows.load(thread::thread_idx_x() + WORD);
            let span = Span { metric, column, raster, y: y as u32, limit: M::limit(limit) };
            if x < raster.width {
                span.write((own, next), out);
            }
        }
    }
}

/// The tile of a block: [`GROUP`] tiles side by side, then those below them, then the next group.
#[inline(always)]
fn place_of(block: u32, raster: Raster) -> (u32, u32) {
    let tiles_down = raster.height.div_ceil(TILE_ROWS);
    let in_group = GROUP * tiles_down;
    let group = block.checked_div(in_group).unwrap_or(0);
    let place = block - group * in_group;
    (group * GROUP + place % GROUP, place / GROUP)
}

/// The rows of one column that a thread serves: [`SPAN`] from `y` on, as far as the raster goes.
#[derive(Clone, Copy)]
struct Span<M: Metric> {
    metric: M,
    column: Candidates<M::Column>,
    raster: Raster,
    y: u32,
    limit: M::Cost,
}

/// A winner and its cost.
#[derive(Clone, Copy)]
struct Won<M: Metric> {
    row: u32,
    cost: M::Cost,
}

impl<M: Metric> Span<M> {
    /// Writes the span, whose first row `winners.0` wins, and the row after it `winners.1`.
    #[inline(always)]
    unsafe fn write<O: Output>(self, winners: (u32, u32), out: O) {
        let rows = u32::min(SPAN, self.raster.height - self.y);
        // SAFETY: the winners are rows, the pixels are the raster's.
        unsafe {
            if winners.0 == NONE || winners.1 == NONE {
                let mut j = 0;
                while j < rows {
                    out.put_none(self.pixel(self.y + j));
                    j += 1;
                }
            } else if M::PLAIN && self.is_near(winners, rows) {
                self.write_octets(winners, rows, out, |y, low, high| {
                    self.walk_packed::<3>(y + OCTET, OCTET, low, high)
                }, |y, low, high| self.walk_packed::<8>(y, 1, low, high));
            } else {
                self.write_octets(winners, rows, out, |y, low, high| {
                    self.walk::<3>(y + OCTET, OCTET, low, high)
                }, |y, low, high| self.walk::<8>(y, 1, low, high));
            }
        }
    }

    /// Writes the span, eight rows at a time; `coarse` finds the winners of rows 8, 16 and 24
    /// between two rows, `fine` those of eight rows.
    #[inline(always)]
    unsafe fn write_octets<O: Output>(
        self,
        (first, next): (u32, u32),
        rows: u32,
        out: O,
        coarse: impl Fn(u32, u32, u32) -> [Won<M>; 3],
        fine: impl Fn(u32, u32, u32) -> [Won<M>; 8],
    ) {
        let [a, b, c] = coarse(self.y, first, next);
        let mut ends = [a.row, b.row, c.row, next];
        let mut low = first;
        let mut done = 0;
        while done < rows {
            let y = self.y + done;
            let won = fine(y, low, ends[0]);
            // SAFETY: the rows are the raster's.
            unsafe { self.write_octet(y, &won, out) };
            low = ends[0];
            ends = [ends[1], ends[2], ends[3], ends[3]];
            done += OCTET;
        }
    }

    /// Writes eight rows from `y` on, as far as the raster goes.
    #[inline(always)]
    unsafe fn write_octet<O: Output>(self, y: u32, won: &[Won<M>; 8], out: O) {
        let columns = won.map(|Won { row, .. }| match O::NEEDS_COLUMN {
            // SAFETY: a winner is a row of the raster.
            true => unsafe { self.column.of_row(row) }.number(),
            false => 0,
        });
        let p = self.pixel(y);
        let mut j = 0;
        while j < OCTET as usize {
            let Won { row, cost } = won[j];
            // SAFETY: the pixel is the raster's.
            unsafe {
                if y + (j as u32) < self.raster.height {
                    let p = p + j as u64 * self.raster.width as u64;
                    if cost <= self.limit {
                        out.put(p, row, columns[j], M::number(cost));
                    } else {
                        out.put_none(p);
                    }
                }
            }
            j += 1;
        }
    }

    /// The linear index of the column's pixel in a row.
    #[inline(always)]
    fn pixel(self, y: u32) -> u64 {
        y as u64 * self.raster.width as u64 + self.column.x as u64
    }

    /// Whether all that [`walk_packed`](Self::walk_packed) can meet on the span fits its numbers:
    /// at most 256 candidates, and no winner farther than [`NEAR`].
    #[inline(always)]
    unsafe fn is_near(self, (first, next): (u32, u32), rows: u32) -> bool {
        // SAFETY: the winners are rows.
        let (above, below) = unsafe { (self.column.of_row(first), self.column.of_row(next)) };
        let square = |gap: u32, rows: u32| gap as u64 * gap as u64 + rows as u64 * rows as u64;
        let end = self.y + rows - 1;
        let near = (NEAR as u64) * (NEAR as u64);
        next - first < 256
            && square(self.column.gap(above), self.y.abs_diff(first)) <= near
            && square(self.column.gap(below), end.abs_diff(next)) <= near
    }

    /// The winners of the rows `y`, `y + step`, .. among the candidates `low..=high`.
    #[inline(always)]
    unsafe fn walk<const N: usize>(self, y: u32, step: u32, low: u32, high: u32) -> [Won<M>; N] {
        let mut won = [Won { row: low, cost: M::MOST }; N];
        let mut row = low;
        while row <= high {
            // SAFETY: `low..=high` are rows.
            let candidate = unsafe { self.column.of_row(row) };
            let gap = self.column.gap(candidate);
            let mut j = 0;
            while j < N {
                let cost = self.metric.cost(gap, row.abs_diff(y + j as u32 * step));
                if candidate.is_site() && cost < won[j].cost {
                    won[j] = Won { row, cost };
                }
                j += 1;
            }
            row += 1;
        }
        won
    }

    /// [`walk`](Self::walk), where [`is_near`](Self::is_near).
    #[inline(always)]
    unsafe fn walk_packed<const N: usize>(
        self,
        y: u32,
        step: u32,
        low: u32,
        high: u32,
    ) -> [Won<M>; N] {
        let mut keys = [i32::MAX; N];
        let mut row = low;
        while row <= high {
            // A row beyond the end stands for the end.
            let second = u32::min(row + 1, high);
            // SAFETY: `low..=high` are rows.
            let candidates = unsafe { [self.column.of_row(row), self.column.of_row(second)] };
            self.meet(&mut keys, candidates[0], row, y, step, low);
            self.meet(&mut keys, candidates[1], second, y, step, low);
            row += 2;
        }
        let mut won = [Won { row: low, cost: M::MOST }; N];
        let mut j = 0;
        while j < N {
            let below = j as i32 * step as i32;
            won[j] = Won {
                row: low + (keys[j] as u32 & 0xff),
                cost: M::limit(((keys[j] >> 8) + below * below) as u32 as u64),
            };
            j += 1;
        }
        won
    }

    /// Compares one candidate with the best so far of every row.
    #[inline(always)]
    fn meet<const N: usize>(
        self,
        keys: &mut [i32; N],
        candidate: M::Column,
        row: u32,
        y: u32,
        step: u32,
        low: u32,
    ) {
        let gap = if candidate.is_site() { self.column.gap(candidate) } else { FAR };
        let gap = if gap < FAR { gap as i32 } else { FAR as i32 };
        let rho = row.wrapping_sub(y) as i32;
        let key = (gap * gap + rho * rho) << 8 | (row - low) as i32;
        let slope = (rho * step as i32) << 9;
        let mut j = 0;
        while j < N {
            let here = key - j as i32 * slope;
            if here < keys[j] {
                keys[j] = here;
            }
            j += 1;
        }
    }
}

/// The farthest winner, in pixels, at the ends of a span that [`Span::walk_packed`] serves. Within
/// the span a winner is then nearer than `NEAR + SPAN`.
const NEAR: u32 = 1700;

/// Stands for a larger gap, and for none: more than any winner's distance. A key is below
/// 256 (FAR^2 + (NEAR + SPAN)^2 + 2 * 32 (NEAR + SPAN)) < 2^31.
const FAR: u32 = 1800;
