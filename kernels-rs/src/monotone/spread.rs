//! From the winners of every 256th row to those of all rows, and to what is asked for.
//!
//! A block serves a tile of 32 columns and 256 rows, a warp 32 of the rows, a thread a column of
//! these:
//!
//! 1. Where the sites are far off: the [cut] between the winners known at both ends of the tile. The
//!    warps share the candidates among them. In most columns of an open sea the two win all rows.
//! 2. The winner of the warp's first row, by [`search::winner`] among those that the cut leaves; the
//!    block shares these.
//! 3. Where these winners, with the cut, settle the span, it is written; likewise where every pixel is a
//!    site. Otherwise its parts above and below the cut come one after the other:
//! 4. If there are many candidates between the first winner and the last, the winners of rows 8, 16 and
//!    24, by a walk over all of them.
//! 5. The winners of eight rows at a time, by a walk over the candidates from the last winner on: down
//!    to the next winner known, or to where none can win the last of the eight rows any
//!    more, and hence none of the others. Then the eight rows are written.
//!
//! In a walk the cost of a candidate `rho` rows below the first row, with gap g, at row j is
//! (rho - j)^2 + g^2 = (rho^2 + g^2) - 2 j rho + j^2: but for j^2, which all candidates share, it
//! is linear in j. With the candidate's place in the low 8 bits of the number, which orders ties, a
//! candidate and row take little more than one addition and one minimum. Most candidates of a sparse raster do
//! not come so far: a gap alone that is longer than the distance of a known candidate cannot win.
//! Where numbers of 32 bits do not hold that, a part is cut once more, and only if that settles nothing
//! costs and rows are compared apart.

use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{math, thread, vector, warp};

use super::cut::{self, Found, Sides};
use super::rows::Column;
use super::search::{self, Candidates, Metric, Won};
use super::{FAR, GROUP, NONE, PADDING, SPAN, TILE_ROWS, WORD};

/// Rows whose winners one walk finds at the end.
const OCTET: u32 = 8;

/// Bytes of shared memory of a tile, whatever the costs.
pub const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = Shared::<u64>::new(&mut carver);
    carver.bytes()
};

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared<C> {
    /// The winners at the ends of the warps' spans.
    ends: SharedArray<u32>,
    /// The winners above the columns' cuts.
    above: Found<C>,
    /// Those below.
    below: Found<C>,
}

impl<C: Plain + PartialOrd> Shared<C> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            ends: carver.array((TILE_ROWS / SPAN + 1) * WORD),
            above: Found::new(carver),
            below: Found::new(carver),
        }
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

    /// Whether [`put_short`](Self::put_short) serves squared distances with no bits but these.
    #[inline(always)]
    fn is_short(self, _bits: u64) -> bool {
        true
    }

    /// [`put`](Self::put) in less time.
    ///
    /// # Safety
    /// As [`put`](Self::put); the cost [is short](Self::is_short).
    #[inline(always)]
    unsafe fn put_short(self, row: u32, column: u32, cost: u64) {
        // SAFETY: passed on to the caller.
        unsafe { self.put(row, column, cost) }
    }

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
}

/// Distances, times a scale.
#[derive(Clone, Copy)]
pub struct Distances32 {
    /// The pixel.
    pub out: *mut f32,
    /// Ground units of a distance of 1.
    pub scale: f64,
}

/// The root in `f64`, times the scale, as `f32`.
///
/// Of a whole number that `f32` holds, the root rounded to `f64` and then to `f32` is the one rounded
/// to `f32` at once: 53 bits are no fewer than twice 24 and two (Figueroa 1995,
/// doi:10.1145/221332.221334). That takes a third of the time.
impl Output for Distances32 {
    const NEEDS_COLUMN: bool = false;

    #[inline(always)]
    fn moved(mut self, pixels: u64) -> Self {
        self.out = self.out.wrapping_add(pixels as usize);
        self
    }

    #[inline(always)]
    unsafe fn put(self, _row: u32, _column: u32, cost: u64) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = (math::sqrt(cost as f64) * self.scale) as f32 }
    }

    #[inline(always)]
    fn is_short(self, bits: u64) -> bool {
        (bits < 1 << 24) & (self.scale == 1.0)
    }

    #[inline(always)]
    unsafe fn put_short(self, _row: u32, _column: u32, cost: u64) {
        // The root of 0 would take the instruction's slow way.
        let root = math::sqrt_f32(u32::max(cost as u32, 1) as f32);
        // SAFETY: passed on to the caller.
        unsafe { *self.out = if cost == 0 { 0.0 } else { root } }
    }

    #[inline(always)]
    unsafe fn put_none(self) {
        // SAFETY: passed on to the caller.
        unsafe { *self.out = f32::INFINITY }
    }
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
    let shared = Shared::<M::Cost>::new(&mut Carver::new());
    let (tile_x, tile_y) = place_of(thread::block_idx_x(), raster);
    if tile_x * WORD >= raster.pitch {
        return;
    }
    let x = tile_x * WORD + warp::lane_id();
    let last = raster.height - 1;
    let first = tile_y * TILE_ROWS;
    let y = first as u64 + (warp::warp_id() * SPAN) as u64;
    // SAFETY: `x < pitch`; winners of the tile's first row and of the next tile's are there. The
    // barriers stand between the stores and the loads of what is shared; all threads of a column
    // agree on whether it is cut.
    unsafe {
        let column = Candidates { start: nearest.add(x as usize), pitch: raster.pitch, x };
        let known = winners.add((tile_y as u64 * raster.pitch as u64 + x as u64) as usize);
        let known = (*known, *known.add(raster.pitch as usize));
        let is_far = (known.0 & known.1 & FAR) != 0;
        let row_of = |winner| if winner == NONE { NONE } else { winner & !FAR };
        let known = (row_of(known.0), row_of(known.1));
        let tile = Tile { metric, column, shared, known, is_far, first, last };
        let cut = tile.cut();
        thread::sync_threads();
        let own = tile.winner_of(y, cut, M::limit(search_limit));
        shared.ends.store(thread::thread_idx_x(), own);
        if warp::warp_id() == 0 {
            shared.ends.store(TILE_ROWS / SPAN * WORD + thread::thread_idx_x(), known.1);
        }
        thread::sync_threads();
        let next = shared.ends.load(thread::thread_idx_x() + WORD);
        let end = u64::min(y + SPAN as u64, raster.height as u64) as u32;
        let span = Span { metric, column, raster, y: y as u32, end, limit: M::limit(limit) };
        let is_land = warp::all(warp::FULL, span.may_be_land(own, next));
        if y <= last as u64 {
            let y = y as u32;
            if x < raster.width {
                if is_land && span.is_land() {
                    span.write_land(out);
                } else if own == NONE || next == NONE {
                    span.write_none(out);
                } else {
                    // Loaded again where it is needed: registers are scarce.
                    let below_cut =
                        || (shared.below.least(), shared.ends.load(thread::thread_idx_x() + WORD));
                    span.write(own, tile.within(y, end, cut, next), below_cut, out);
                }
            }
        }
    }
}

/// A column of a tile.
#[derive(Clone, Copy)]
struct Tile<M: Metric> {
    metric: M,
    column: Candidates<M::Column>,
    shared: Shared<M::Cost>,
    /// The winners of the tile's first row, and of the next tile's.
    known: (u32, u32),
    /// Whether both are far.
    is_far: bool,
    first: u32,
    /// The last row of the raster.
    last: u32,
}

/// No cut.
const UNCUT: u32 = u32::MAX;

impl<M: Metric> Tile<M> {
    /// Cuts the column between the winners that are known, if they are far, and shares what this warp
    /// finds in its part of the candidates.
    #[inline(always)]
    unsafe fn cut(self) -> u32 {
        let (low, high) = self.known;
        if !self.is_far || low == NONE || high == NONE || high == low {
            return UNCUT;
        }
        // SAFETY: the winners are rows of the raster; the shares of the warps lie between them.
        unsafe {
            let rows = (self.first, u32::min(self.first + TILE_ROWS, self.last));
            let cut = cut::cut_between::<M, 8>(self.metric, self.column, self.known, rows);
            let share = (high - low) / (TILE_ROWS / SPAN) + 1;
            let from = u32::min(low + warp::warp_id() * share, high);
            let to = u32::min(from + share, high + 1);
            let Sides { above, below } = cut::sides(self.metric, self.column, cut, (from, to));
            self.shared.above.store(above);
            self.shared.below.store(below);
            cut
        }
    }

    /// The winner of a span's first row, or [`NONE`].
    #[inline(always)]
    unsafe fn winner_of(self, y: u64, cut: u32, limit: M::Cost) -> u32 {
        let (mut low, mut high) = self.known;
        if low == NONE || high == NONE {
            return NONE;
        }
        if cut != UNCUT {
            // SAFETY: the warps have shared what they found.
            unsafe {
                if y < cut as u64 {
                    high = self.shared.above.least();
                } else {
                    low = self.shared.below.least();
                }
            }
        }
        if low == high || y == self.first as u64 {
            low
        } else if y >= self.last as u64 {
            high
        } else {
            // SAFETY: winners are rows of the raster.
            unsafe { search::winner(self.metric, self.column, y as u32, (low, high), limit).row }
        }
    }

    /// The cut within a span from `y` to `end`, with the winners on both sides; else its end.
    #[inline(always)]
    unsafe fn within(self, y: u32, end: u32, cut: u32, next: u32) -> Cut {
        if cut > y && cut <= end {
            // SAFETY: the warps have shared what they found.
            unsafe {
                let (above, below) = (self.shared.above.least(), self.shared.below.least());
                Cut { row: cut, above, below, next }
            }
        } else {
            Cut { row: end, above: next, below: next, next }
        }
    }
}

/// A row of a span, with the winners of the row before, of the row itself, and of the row after the
/// span.
#[derive(Clone, Copy)]
struct Cut {
    row: u32,
    above: u32,
    below: u32,
    next: u32,
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

/// The rows of one column that a thread serves.
#[derive(Clone, Copy)]
struct Span<M: Metric> {
    metric: M,
    column: Candidates<M::Column>,
    raster: Raster,
    y: u32,
    /// The row after the last: [`SPAN`] rows on, or the raster's end.
    end: u32,
    limit: M::Cost,
}

/// Rows of a span, the last exclusive, of which the winners lie between two.
#[derive(Clone, Copy)]
struct Part {
    from: u32,
    to: u32,
    low: u32,
    high: u32,
}

impl<M: Metric> Span<M> {
    /// Writes the span, whose first row `first` wins, with its cut; `below_cut` gives the winner of the
    /// cut and that of the row after the span once more.
    #[inline(always)]
    unsafe fn write<O: Output>(
        self,
        first: u32,
        cut: Cut,
        below_cut: impl Fn() -> (u32, u32),
        out: O,
    ) {
        let Cut { row, above, below, next } = cut;
        // SAFETY: the winners are rows, the pixels are the raster's.
        unsafe {
            if first == above && below == next {
                let all = Part { from: self.y, to: self.end, low: first, high: next };
                self.write_settled(all, row, out);
                return;
            }
            let mut part = Part { from: self.y, to: row, low: first, high: above };
            loop {
                self.write_part(part, out);
                if part.to >= self.end {
                    return;
                }
                let (low, high) = below_cut();
                part = Part { from: part.to, to: self.end, low, high };
            }
        }
    }

    /// Writes a part of the span.
    #[inline(always)]
    unsafe fn write_part<O: Output>(self, part: Part, out: O) {
        // SAFETY: the winners are rows, the pixels are the raster's.
        unsafe {
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
                is_settled = above.row == part.low && (below.row == part.high || cut == part.to);
            }
            if is_settled {
                self.write_settled(part, cut, out);
            } else {
                self.write_far(part, out);
            }
        }
    }

    /// Whether every pixel may be a site, for what its ends are.
    #[inline(always)]
    fn may_be_land(self, first: u32, next: u32) -> bool {
        first == self.y && next == u32::min(self.end, self.raster.height - 1)
    }

    /// Whether every pixel is a site.
    #[inline(always)]
    unsafe fn is_land(self) -> bool {
        let mut gaps = 0;
        let mut y = self.y;
        let last = self.raster.height - 1;
        while y < self.end {
            let mut k = 0;
            while k < OCTET {
                // SAFETY: `PADDING` rows are there below the last.
                gaps |= self.column.gap(unsafe { self.column.of_row(u32::min(y + k, last)) });
                k += 1;
            }
            y += OCTET;
        }
        gaps == 0
    }

    /// Writes the span where every pixel is a site.
    #[inline(always)]
    unsafe fn write_land<O: Output>(self, out: O) {
        let mut out = out.moved(self.pixel(self.y));
        let mut y = self.y;
        while y < self.end {
            // SAFETY: the pixel is the raster's.
            unsafe { out.put_short(y, self.column.x, 0) };
            out = out.moved(self.raster.width as u64);
            y += 1;
        }
    }

    /// Writes the rows of a part that `low` wins before the cut, and `high` from there on.
    #[inline(always)]
    unsafe fn write_settled<O: Output>(self, part: Part, cut: u32, out: O) {
        let Part { low, high, .. } = part;
        // SAFETY: the winners are rows, the pixels are the raster's.
        unsafe {
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
        let end = vector::unknown(self.end);
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

    /// Writes a part of the span where [`is_near`](Self::is_near).
    #[inline(always)]
    unsafe fn write_near<O: Output>(self, part: Part, low: NearEnd, next: NearEnd, out: O) {
        let mut low = low;
        let mut ends = [next.row; COARSE + 1];
        if next.row - low.row > LONG {
            // SAFETY: the ends are rows of the raster.
            let keys =
                unsafe { self.walk_near::<COARSE, { OCTET as usize }>(self.y + OCTET, low, next) };
            let mut j = 0;
            while j < COARSE {
                ends[j] = low.row + (keys[j] as u32 & 0xff);
                j += 1;
            }
        }
        let mut y = self.y;
        while y < part.to {
            if y + OCTET > part.from {
                // SAFETY: the ends are rows of the raster.
                unsafe {
                    let next = NearEnd { row: ends[0], square: self.square(ends[0]) as i32 };
                    let keys = self.walk_near::<ROWS, 1>(y, low, next);
                    let won = |j: usize| Won {
                        row: low.row + (keys[j] as u32 & 0xff),
                        cost: M::limit(((keys[j] >> 8) + (j * j) as i32) as u32 as u64),
                    };
                    self.write_rows::<ROWS, _>(y, part, core::array::from_fn(won), out);
                    low.row += keys[LAST] as u32 & 0xff;
                    let rho = low.row as i32 - y as i32 - LAST as i32;
                    low.square = (keys[LAST] >> 8) + (LAST * LAST) as i32 - rho * rho;
                }
            }
            ends = [ends[1], ends[2], ends[3], ends[3]];
            y += OCTET;
        }
    }

    /// For `N` rows from `y` on, `STEP` apart, the least key of a candidate from `low` to `next`, or
    /// a few below.
    ///
    /// The key of a candidate for row j is its cost less j^2, times 256, and its place after `low`.
    /// The candidates come four at a time, the first of them `rho` rows below `y`: with k from 0 to 3
    /// and gap g the cost less j^2 is g^2 + rho^2 + k (2 rho + k) - j (2 rho + 2 k), of which -2 j k
    /// and what k alone gives are constants.
    #[inline(always)]
    unsafe fn walk_near<const N: usize, const STEP: usize>(
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
            let candidates: [M::Column; FOUR] =
                core::array::from_fn(|k| unsafe { *first.byte_add(k * pitch) });
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
            first = first.wrapping_byte_add(FOUR * pitch);
            // Rows from here to the last of those asked for.
            let reach = rho - bottom;
            let best = (keys[N - 1] >> 8) + bottom * bottom;
            if (rho > last) | ((reach > 0) & (reach * reach >= best)) {
                return keys;
            }
        }
    }

    /// Writes a part of the span by plain comparisons.
    #[inline(always)]
    unsafe fn write_far<O: Output>(self, part: Part, out: O) {
        let Part { mut low, high: next, .. } = part;
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
        while y < part.to {
            if y + FAR_ROWS as u32 > part.from {
                // SAFETY: `low..=next` are rows of the raster.
                unsafe {
                    let won = self.walk_far::<FAR_ROWS, 1>(y, low, ends[0]);
                    self.write_rows(y, part, won, out);
                    low = won[FAR_ROWS - 1].row;
                }
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

    /// Writes `N` rows from `y` on, as far as they are the part's.
    #[inline(always)]
    unsafe fn write_rows<const N: usize, O: Output>(
        self,
        y: u32,
        part: Part,
        won: [Won<M>; N],
        out: O,
    ) {
        let columns = won.map(|Won { row, .. }| match O::NEEDS_COLUMN {
            // SAFETY: a winner is a row of the raster.
            true => unsafe { self.column.of_row(row) }.number(),
            false => 0,
        });
        let mut out = out.moved(self.pixel(y));
        let is_whole = (y >= part.from) & (y + N as u32 <= part.to) & (self.limit == M::MOST);
        let bits = won.iter().fold(0, |bits, won| bits | M::number(won.cost));
        let mut j = 0;
        if is_whole & out.is_short(bits) {
            while j < N {
                // SAFETY: the pixel is the raster's.
                unsafe { out.put_short(won[j].row, columns[j], M::number(won[j].cost)) };
                out = out.moved(self.raster.width as u64);
                j += 1;
            }
            return;
        }
        while j < N {
            let row = y + j as u32;
            if (row >= part.from) & (row < part.to) {
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

/// The farthest winner, in pixels, at the ends of a part that [`Span::walk_near`] serves. Of the
/// candidates that it compares neither the gap nor the rows pass NEAR + 2 SPAN, so that a key is
/// below 512 (NEAR + 2 SPAN)^2 + 512 * 24 (NEAR + 2 SPAN) < [`BEYOND`]; and a row without a site, whose
/// column is taken for 65,535, is farther off than that.
const NEAR: u32 = 1700;

/// Most columns of a raster whose candidates have 16 bits.
pub const MAX_NARROW: u32 = u16::MAX as u32 - NEAR - 4 * SPAN;
