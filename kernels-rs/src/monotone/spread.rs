//! From the winners of every 256th row to those of all rows, and to what is asked for.
//!
//! A block serves a tile of 32 columns and 256 rows, a warp 32 of the rows, a thread a column of
//! these:
//!
//! 1. The winner of the warp's first row, by [`search::winner`]; the block shares these.
//! 2. If there are many candidates between the first winner and the next warp's, the winners of rows
//!    8, 16 and 24, by a walk over all of them.
//! 3. The winners of eight rows at a time, by a walk over the candidates from the last winner on: down
//!    to the next winner known, or to where none can win the last of the eight rows any
//!    more, and hence none of the others. Then the eight rows are written.
//!
//! In a walk the cost of a candidate `rho` rows below the first row, with gap g, at row j is
//! (rho - j)^2 + g^2 = (rho^2 + g^2) - 2 j rho + j^2: but for j^2, which all candidates share, it
//! is linear in j. With the candidate's place in the low 8 bits of the number, which orders ties, a
//! candidate and row take little more than one addition and one minimum. Most candidates of a sparse raster do
//! not come so far: a gap alone that is longer than the distance of a known candidate cannot win.

use device_std::shared::{Carver, SharedArray};
use device_std::{math, thread, vector, warp};

use super::rows::Column;
use super::search::{self, Candidates, Metric};
use super::{GROUP, NONE, PADDING, SPAN, TILE_ROWS, WORD};

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

/// What is written for each pixel, and where: it moves along with the pixel.
pub trait Output: Copy {
    /// Whether [`put`](Self::put) looks at the column.
    const NEEDS_COLUMN: bool;

    /// The same so many pixels on.
    fn moved(self, pixels: u64) -> Self;

    /// Writes the pixel, whose nearest site is in `row` and `column`, at the squared distance `cost`.
    ///
    /// # Safety
    /// The pixel is the raster's, and no other thread touches it.
    unsafe fn put(self, row: u32, column: u32, cost: u64);

    /// Writes the pixel, which has no nearest site.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    unsafe fn put_none(self);
}

macro_rules! outputs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* }
        $needs:literal, |$own:ident, $row:ident, $column:ident, $cost:ident| $put:expr,
        $none:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name {
            $(#[allow(missing_docs)] pub $field: $type,)*
        }

        impl Output for $name {
            const NEEDS_COLUMN: bool = $needs;

            #[inline(always)]
            fn moved(mut self, pixels: u64) -> Self {
                self.out = self.out.wrapping_add(pixels as usize);
                self
            }

            #[inline(always)]
            unsafe fn put(self, $row: u32, $column: u32, $cost: u64) {
                let ($own, _) = (self, ($row, $column, $cost));
                // SAFETY: passed on to the caller.
                unsafe { *self.out = $put }
            }

            #[inline(always)]
            unsafe fn put_none(self) {
                // SAFETY: passed on to the caller.
                unsafe { *self.out = $none }
            }
        }
    )+};
}

outputs! {
    /// Linear indices of 32 bits.
    Indices32 { out: *mut u32, width: u32 } true,
        |own, row, column, _cost| row.wrapping_mul(own.width).wrapping_add(column), u32::MAX;
    /// Linear indices of 64 bits.
    Indices64 { out: *mut u64, width: u32 } true,
        |own, row, column, _cost| row as u64 * own.width as u64 + column as u64, u64::MAX;
    /// Squared distances of 32 bits.
    Squares32 { out: *mut u32 } false, |_own, _row, _column, cost| cost as u32, u32::MAX;
    /// Squared distances of 64 bits.
    Squares64 { out: *mut u64 } false, |_own, _row, _column, cost| cost, u64::MAX;
    /// Distances, times a scale.
    Distances32 { out: *mut f32, scale: f64 } false,
        |own, _row, _column, cost| (math::sqrt(cost as f64) * own.scale) as f32, f32::INFINITY;
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
    /// Writes the span, whose first row `first` wins, and the row after it `next`.
    #[inline(always)]
    unsafe fn write<O: Output>(self, (first, next): (u32, u32), out: O) {
        // SAFETY: the winners are rows, the pixels are the raster's.
        unsafe {
            if first == NONE || next == NONE {
                self.write_none(out);
                return;
            }
            let end = |row| End { row, square: self.square(row) };
            let (first, next) = (end(first), end(next));
            if M::PLAIN && self.is_near(first, next) {
                self.write_near(first, next, out);
            } else {
                self.write_far(first.row, next.row, out);
            }
        }
    }

    /// The gap of a row's candidate, squared.
    #[inline(always)]
    unsafe fn square(self, row: u32) -> u64 {
        // SAFETY: passed on to the caller.
        let gap = self.column.gap(unsafe { self.column.of_row(row) }) as i32 as i64;
        gap.wrapping_mul(gap) as u64
    }

    /// Writes the span where no site is within the limit.
    #[inline(always)]
    unsafe fn write_none<O: Output>(self, out: O) {
        let mut out = out.moved(self.pixel(self.y));
        let mut y = self.y;
        let end = vector::unknown(u32::min(self.y + SPAN, self.raster.height));
        while y < end {
            // SAFETY: the pixel is the raster's.
            unsafe { out.put_none() };
            out = out.moved(self.raster.width as u64);
            y += 1;
        }
    }

    /// Whether all that [`walk_near`](Self::walk_near) can meet on the span fits its numbers: at
    /// most so many candidates that 8 bits number them, and no winner farther than [`NEAR`].
    #[inline(always)]
    fn is_near(self, first: End, next: End) -> bool {
        let rows = (next.row as i64 - (self.y + SPAN) as i64).unsigned_abs();
        let above = (first.row as i64 - self.y as i64).unsigned_abs();
        let near = (NEAR as u64) * (NEAR as u64);
        next.row - first.row < 256 - PADDING
            && above * above + first.square <= near
            && rows * rows + next.square <= near
    }

    /// Writes the span where [`is_near`](Self::is_near).
    #[inline(always)]
    unsafe fn write_near<O: Output>(self, first: End, next: End, out: O) {
        let (mut low, next) = (first.narrow(), next.narrow());
        let mut ends = [next.row; COARSE + 1];
        if next.row - low.row > LONG {
            // SAFETY: the ends are rows of the raster.
            let keys = unsafe {
                self.walk_near::<COARSE, { OCTET as usize }, 8>(self.y + OCTET, low, next)
            };
            let mut j = 0;
            while j < COARSE {
                ends[j] = low.row + (keys[j] as u32 & 0xff);
                j += 1;
            }
        }
        let mut y = self.y;
        let end = u32::min(self.y + SPAN, self.raster.height);
        while y < end {
            // SAFETY: the ends are rows of the raster.
            unsafe {
                let next = NearEnd { row: ends[0], square: self.square(ends[0]) as i32 };
                let keys = self.walk_near::<ROWS, 1, 4>(y, low, next);
                let won = |j: usize| Won {
                    row: low.row + (keys[j] as u32 & 0xff),
                    cost: M::limit(((keys[j] >> 8) + (j * j) as i32) as u32 as u64),
                };
                self.write_rows::<ROWS, _>(y, core::array::from_fn(won), out);
                low.row += keys[LAST] as u32 & 0xff;
                let rho = low.row as i32 - y as i32 - LAST as i32;
                low.square = (keys[LAST] >> 8) + (LAST * LAST) as i32 - rho * rho;
            }
            ends = [ends[1], ends[2], ends[3], ends[3]];
            y += OCTET;
        }
    }

    /// For `N` rows from `y` on, `STEP` apart, the least key of a candidate from `low` to `next`, or
    /// a few below.
    ///
    /// The key of a candidate for row j is its cost less j^2, times 256, and its place after `low`.
    /// The candidates come `G` at a time, for the loads, and four at a time are compared, the first
    /// of them `rho` rows below `y`: with k from 0 to 3 and gap g the cost less j^2 is
    /// g^2 + rho^2 + k (2 rho + k) - j (2 rho + 2 k), of which -2 j k and what k alone gives are
    /// constants.
    #[inline(always)]
    unsafe fn walk_near<const N: usize, const STEP: usize, const G: usize>(
        self,
        y: u32,
        low: NearEnd,
        next: NearEnd,
    ) -> [i32; N] {
        let bottom = (STEP * (N - 1)) as i32;
        let farthest = i32::min(low.farthest(y, bottom), next.farthest(y, bottom)) as u32;
        let mut keys = [BEYOND; N];
        let mut rho = low.row as i32 - y as i32;
        let last = next.row as i32 - y as i32;
        let mut place = 0;
        // SAFETY: `low` is a row.
        let mut first = unsafe { self.column.pointer_to(low.row) };
        let pitch = M::Column::bytes_between(1, self.raster.pitch);
        loop {
            // SAFETY: `low..=next` are rows, and `PADDING` more are there below the last.
            let candidates: [M::Column; G] =
                core::array::from_fn(|k| unsafe { *first.byte_add(k * pitch) });
            let squares = candidates.map(|candidate| {
                let gap = self.column.gap(candidate);
                gap.wrapping_mul(gap)
            });
            let mut k = 0;
            while k < G {
                let four: [u32; FOUR] = core::array::from_fn(|i| squares[k + i]);
                let nearest = u32::min(u32::min(four[0], four[1]), u32::min(four[2], four[3]));
                if nearest <= farthest {
                    meet::<N, STEP>(&mut keys, four, farthest, rho + k as i32, place + k as i32);
                }
                k += FOUR;
            }
            rho += G as i32;
            place += G as i32;
            first = first.wrapping_byte_add(G * pitch);
            // Rows from here to the last of those asked for.
            let reach = rho - bottom;
            let best = (keys[N - 1] >> 8) + bottom * bottom;
            if (rho > last) | ((reach > 0) & (reach * reach >= best)) {
                return keys;
            }
        }
    }

    /// Writes the span by plain comparisons.
    #[inline(always)]
    unsafe fn write_far<O: Output>(self, first: u32, next: u32, out: O) {
        let mut low = first;
        let mut ends = [next; COARSE + 1];
        if next - low > LONG {
            // SAFETY: `low..=next` are rows of the raster.
            let won =
                unsafe { self.walk_far::<COARSE, { OCTET as usize }>(self.y + OCTET, low, next) };
            let mut j = 0;
            while j < COARSE {
                ends[j] = won[j].row;
                j += 1;
            }
        }
        let mut y = self.y;
        let end = u32::min(self.y + SPAN, self.raster.height);
        while y < end {
            // SAFETY: `low..=next` are rows of the raster.
            unsafe {
                let won = self.walk_far::<FAR_ROWS, 1>(y, low, ends[0]);
                self.write_rows(y, won, out);
                low = won[FAR_ROWS - 1].row;
            }
            y += FAR_ROWS as u32;
            if y.is_multiple_of(OCTET) {
                ends = [ends[1], ends[2], ends[3], ends[3]];
            }
        }
    }

    /// The winners of `N` rows from `y` on, `STEP` apart, among the candidates from `low` to `next`, or
    /// a few below.
    #[inline(always)]
    unsafe fn walk_far<const N: usize, const STEP: usize>(
        self,
        y: u32,
        low: u32,
        next: u32,
    ) -> [Won<M>; N] {
        let bottom = y + (STEP * (N - 1)) as u32;
        // SAFETY: `low..=next` are rows.
        let farthest = unsafe {
            let (above, below) = (self.farthest(low, y, bottom), self.farthest(next, y, bottom));
            if above < below { above } else { below }
        };
        let mut won = [Won { row: low, cost: M::MOST }; N];
        let mut row = low;
        loop {
            // SAFETY: `low..=next` are rows, and `PADDING` more are there below the last.
            let candidates: [M::Column; FOUR] =
                core::array::from_fn(|k| unsafe { self.column.of_row(row + k as u32) });
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
            let is_beaten = row > bottom && self.metric.cost(0, row - bottom) >= won[N - 1].cost;
            if row > next || is_beaten {
                return won;
            }
        }
    }

    /// The largest cost of a row's candidate in the rows from `y` to `bottom`.
    #[inline(always)]
    unsafe fn farthest(self, row: u32, y: u32, bottom: u32) -> M::Cost {
        // SAFETY: passed on to the caller.
        let gap = self.column.gap(unsafe { self.column.of_row(row) });
        let first = self.metric.cost(gap, row.wrapping_sub(y));
        let last = self.metric.cost(gap, row.wrapping_sub(bottom));
        if first < last { last } else { first }
    }

    /// Writes `N` rows from `y` on, as far as the raster goes.
    #[inline(always)]
    unsafe fn write_rows<const N: usize, O: Output>(self, y: u32, won: [Won<M>; N], out: O) {
        let columns = won.map(|Won { row, .. }| match O::NEEDS_COLUMN {
            // SAFETY: a winner is a row of the raster.
            true => unsafe { self.column.of_row(row) }.number(),
            false => 0,
        });
        let mut out = out.moved(self.pixel(y));
        let is_whole = (y + N as u32 <= self.raster.height) & (self.limit == M::MOST);
        let mut j = 0;
        if is_whole {
            while j < N {
                // SAFETY: the pixel is the raster's.
                unsafe { out.put(won[j].row, columns[j], M::number(won[j].cost)) };
                out = out.moved(self.raster.width as u64);
                j += 1;
            }
            return;
        }
        while j < N {
            if y + (j as u32) < self.raster.height {
                // SAFETY: the pixel is the raster's.
                unsafe {
                    if won[j].cost <= self.limit {
                        out.put(won[j].row, columns[j], M::number(won[j].cost));
                    } else {
                        out.put_none();
                    }
                }
            }
            out = out.moved(self.raster.width as u64);
            j += 1;
        }
    }

    /// The linear index of the column's pixel in a row.
    #[inline(always)]
    fn pixel(self, y: u32) -> u64 {
        y as u64 * self.raster.width as u64 + self.column.x as u64
    }
}

/// The last of eight rows.
const LAST: usize = ROWS - 1;

/// A candidate at the end of a walk: its row, and its gap squared.
#[derive(Clone, Copy)]
struct End {
    row: u32,
    square: u64,
}

impl End {
    #[inline(always)]
    fn narrow(self) -> NearEnd {
        NearEnd { row: self.row, square: self.square as i32 }
    }
}

/// An [`End`] of which the square fits.
#[derive(Clone, Copy)]
struct NearEnd {
    row: u32,
    square: i32,
}

impl NearEnd {
    /// Its largest cost in the rows from `y` to `y + bottom`.
    #[inline(always)]
    fn farthest(self, y: u32, bottom: i32) -> i32 {
        let first = self.row as i32 - y as i32;
        let last = first - bottom;
        self.square + i32::max(first * first, last * last)
    }
}

/// Compares four candidates, the first `rho` rows below the first row, with the best so far of every
/// row; but for those whose gap alone is too long.
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

/// Rows that a walk serves.
const ROWS: usize = OCTET as usize;

/// Rows that a walk serves where sites are far: fewer, as it keeps more of each.
const FAR_ROWS: usize = 4;

/// Rows of a span, beside its first, whose winners are found first if there are many candidates.
const COARSE: usize = (SPAN / OCTET) as usize - 1;

/// More candidates than this are many.
const LONG: u32 = 24;

/// Candidates that a walk compares together.
const FOUR: usize = 4;

/// More than any key, with room for what is added to keys.
const BEYOND: i32 = 2_000_000_000;

/// The farthest winner, in pixels, at the ends of a span that [`Span::walk_near`] serves. The
/// candidates that it compares are nearer than NEAR + 2 SPAN, so that a key is below
/// 256 (NEAR + 2 SPAN)^2 + 512 * 7 (NEAR + SPAN) < 2^31; and a row without a site, whose column is
/// taken for 65,535, is farther off than that.
const NEAR: u32 = 1700;

/// Most columns of a raster whose candidates have 16 bits.
pub const MAX_NARROW: u32 = u16::MAX as u32 - NEAR - 4 * SPAN;
