//! Spreads the winners of every 256th row to all rows, and writes the results.
//!
//! A block has a tile of 32 columns and 256 rows, a warp 32 of the rows, a thread a column of these:
//!
//! 1. If the sites are far off: the [cut] between the winners known at both ends of the tile. The warps share the
//!    candidates among them. In most columns of an open sea the two win all rows.
//! 2. The winner of the warp's first row, by [`search::winner`] among the candidates that the cut leaves. The warps
//!    exchange these winners.
//! 3. If these winners, with the cut, decide all rows of the span, it is written; likewise if every pixel is a site.
//!    Otherwise the parts above and below the cut take steps 4 and 5, one after the other.
//! 4. If there are many candidates between the first winner and the last, the winners of rows 8, 16 and 24, by a walk
//!    over all of them.
//! 5. The winners of eight rows at a time, by a walk over the candidates from the last winner on. It ends at the next
//!    known winner, or where no candidate can win the last of the eight rows any more, and hence none of the others.
//!    Then the eight rows are written.
//!
//! ```text
//! tile 32 x 256    winners known in its first row and in the next tile's
//!   warp 0   rows 0 .. 31     own first winner by search      |  shared.ends: each warp reads the next one's
//!   warp 1   rows 32 .. 63    own first winner                |  first winner as the end of its span
//!    ..
//!   warp 7   rows 224 .. 255  own first winner                |  the next tile's known winner
//! ```
//!
//! In a walk over near candidates (`close_sites`) a candidate and row take little more than one addition and one
//! minimum. In a sparse raster most candidates are skipped before: a gap alone that is longer than the distance of a
//! known candidate cannot win. If 32 bits do not hold the keys, a part is cut once more. If that decides nothing
//! either, costs and rows are compared separately (`far`).
//!
//! Two barriers: after the cuts are shared, and after the first winners are.

mod close_sites;
mod far;
mod outputs;
mod span;

use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{In, Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::cut::{self, Sides, WarpWinners};
use super::rows::Column;
use super::search::{self, Candidates, Metric, Pixels, RectangularPixels};
use super::{BLOCK, FAR, GROUP, NONE, SPAN, TILE_ROWS, WORD};
pub use close_sites::MAX_NARROW;
pub use outputs::Number;
use outputs::{Distances, Indices, Numbers, Pixel, Squares, Value};
use span::Span;

/// Rows whose winners one walk finds at the end.
const OCTET: u32 = 8;

/// Rows of a span, beside its first, whose winners are found first if there are many candidates.
const COARSE: usize = (SPAN / OCTET) as usize - 1;

/// From more candidates than this on, a walk for rows 8, 16 and 24 comes first, which narrows the walks of eight rows.
const LONG: u32 = 24;

/// Candidates that a walk compares together.
const FOUR: usize = 4;

/// Bytes of shared memory of a block.
const fn shared_bytes<C: Plain + PartialOrd>() -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<C>::new(&mut carver);
    carver.bytes()
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared<C> {
    /// The winners at the ends of the warps' spans.
    ends: SharedArray<u32>,
    /// The winners above the columns' cuts.
    above: WarpWinners<C>,
    /// The winners below the columns' cuts.
    below: WarpWinners<C>,
}

impl<C: Plain + PartialOrd> Shared<C> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            ends: carver.array((TILE_ROWS / SPAN + 1) * WORD),
            above: WarpWinners::new(carver),
            below: WarpWinners::new(carver),
        }
    }
}

/// The sides of the raster, and the elements of a padded row.
#[arguments]
pub struct Raster {
    /// Elements from one row of candidates to the next: the width, padded to whole words.
    pub pitch: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// The arguments of a spreading kernel, whatever it writes.
#[arguments]
pub struct Spread<'a, C, T> {
    /// The candidates that [`nearest_columns`](mod@super::rows::nearest_columns) gives.
    pub nearest: In<'a, C>,
    /// The winners of every 256th row: a row of the pitch for every tile row and one more.
    pub winners: In<'a, u32>,
    /// An element a pixel.
    pub out: Out<'a, T>,
    /// The raster's sides.
    pub raster: Raster,
    /// Winners of first rows are searched up to this squared distance: the limit, plus the rows that such a winner
    /// stands for. So if an end of a span has no site in reach, no pixel of the span has one within the limit.
    pub search_limit: u64,
    /// Most squared distance of a site.
    pub limit: u64,
}

/// Writes for every pixel the nearest site's linear index (row * width + column) or the squared distance to it; all
/// bits set if no site is within the limit.
///
/// Grid: a block a tile, in the order of `place_of`.
///
/// # Safety
/// The slices have what [`Spread`](struct@Spread) says.
#[kernel(block = BLOCK, resident = 4, shared = shared_bytes::<u32>(), instances(
    indices: <u32, Indices>;
    squares: <u32, Squares>;
))]
pub unsafe fn spread_narrow<T: Number, N: Numbers<T>>(spread: Spread<'_, u16, T>) {
    // SAFETY: the whole block comes here.
    unsafe { spread.tile(Pixels, N::new(spread.raster.width)) }
}

/// Writes the distance to the nearest site, times `scale`; infinite if no site is within the limit. See
/// [`mod@spread_narrow`].
///
/// # Safety
/// As for [`mod@spread_narrow`].
#[kernel(block = BLOCK, resident = 4, shared = shared_bytes::<u32>())]
pub unsafe fn spread_distances(spread: Spread<'_, u16, f32>, scale: f64) {
    // SAFETY: the whole block comes here.
    unsafe { spread.tile(Pixels, Distances { scale }) }
}

/// [`mod@spread_narrow`] for large rasters, and for pixels that are not square, as in
/// [`search_rows_wide`](const@super::search::search_rows_wide). Indices have 64 bits if 32 cannot name all pixels.
/// Squares are `across dx^2 + down dy^2`. If the raster is a strip, its first column is column `first` of the whole,
/// which has `whole` columns. Then `nearest` has columns of the whole, and indices are those of the whole.
///
/// # Safety
/// As for [`mod@spread_narrow`].
#[kernel(block = BLOCK, shared = shared_bytes::<u64>(), instances(
    indices: <u32, Indices>;
    long_indices: <u64, Indices>;
    squares: <u64, Squares>;
    short_squares: <u32, Squares>;
))]
pub unsafe fn spread_wide<T: Number, N: Numbers<T>>(
    spread: Spread<'_, u32, T>,
    first: u32,
    whole: u32,
    across: u32,
    down: u32,
) {
    // SAFETY: the whole block comes here.
    unsafe { spread.tile(RectangularPixels { first, across, down }, N::new(whole)) }
}

impl<C: Column, T: Copy> Spread<'_, C, T> {
    /// The work of a block: its tile; see [`mod@spread_narrow`].
    ///
    /// # Safety
    /// The whole block comes here, with shared memory for it.
    #[inline(always)]
    unsafe fn tile<M: Metric<Column = C>, V: Value<T>>(self, metric: M, value: V) {
        let Self { nearest, winners, out, raster, search_limit, limit } = self;
        let out = Pixel { out, value };
        let shared = Shared::<M::Cost>::new(&mut Carver::new());
        let (tile_x, tile_y) = place_of(thread::block_idx_x(), raster);
        if tile_x * WORD >= raster.pitch {
            return;
        }
        let x = tile_x * WORD + warp::lane_id();
        let last = raster.height - 1;
        let first = tile_y * TILE_ROWS;
        let y = first as u64 + (warp::warp_id() * SPAN) as u64;
        // SAFETY: the barriers stand between the stores and the loads of what is shared; all threads of a
        // column agree on whether it is cut.
        unsafe {
            let (nearest, pitch) = (nearest.from(x), raster.pitch);
            let column = Candidates { nearest, pitch, x: metric.first() + x };
            let known = winners.from(tile_y as u64 * raster.pitch as u64 + x as u64);
            let known = (known.get(0), known.get(raster.pitch));
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
                        // Loaded again when the part below the cut is due: registers are scarce.
                        let below_cut = || {
                            (shared.below.least(), shared.ends.load(thread::thread_idx_x() + WORD))
                        };
                        span.write(own, tile.within(y, end, cut, next), below_cut, out);
                    }
                }
            }
        }
    }
}

/// A column of a tile.
#[derive(Clone, Copy)]
struct Tile<'a, M: Metric> {
    metric: M,
    column: Candidates<'a, M::Column>,
    shared: Shared<M::Cost>,
    /// The winners of the tile's first row, and of the next tile's.
    known: (u32, u32),
    /// Whether both are far.
    is_far: bool,
    first: u32,
    /// The last row of the raster.
    last: u32,
}

/// Stands for no cut: a row below every raster.
const UNCUT: u32 = u32::MAX;

impl<M: Metric> Tile<'_, M> {
    /// Cuts the column between the known winners, if both are far. Stores the winners that this warp finds in its
    /// eighth of the candidates.
    #[inline(always)]
    unsafe fn cut(self) -> u32 {
        let (low, high) = self.known;
        if !self.is_far || low == NONE || high == NONE || high == low {
            return UNCUT;
        }
        let rows = (self.first, u32::min(self.first + TILE_ROWS, self.last));
        let cut = cut::cut_between::<M, 8>(self.metric, self.column, self.known, rows);
        // `+ 1` covers the remainder. A share beyond the last candidate compares that one again, which does no harm.
        let share = (high - low) / (TILE_ROWS / SPAN) + 1;
        let from = u32::min(low + warp::warp_id() * share, high);
        let to = u32::min(from + share, high + 1);
        let Sides { above, below } = cut::sides(self.metric, self.column, cut, (from, to));
        // SAFETY: one element a thread, and the caller's barrier before any load.
        unsafe {
            self.shared.above.store(above);
            self.shared.below.store(below);
        }
        cut
    }

    /// Finds the winner of a span's first row, or [`NONE`].
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
        // Known without a search: one candidate, the tile's first row, or the raster's last row.
        if low == high || y == self.first as u64 {
            low
        } else if y >= self.last as u64 {
            high
        } else {
            search::winner(self.metric, self.column, y as u32, (low, high), limit).row
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

/// A cut within a span: its row, the winners of the row before and of the row itself, and the winner of the row after
/// the span.
#[derive(Clone, Copy)]
struct Cut {
    row: u32,
    above: u32,
    below: u32,
    next: u32,
}

/// Returns the tile of a block. Blocks take [`GROUP`] tiles side by side, then the tiles below these, then the next
/// group.
#[inline(always)]
fn place_of(block: u32, raster: Raster) -> (u32, u32) {
    let tiles_down = raster.height.div_ceil(TILE_ROWS);
    let in_group = GROUP * tiles_down;
    let group = block.checked_div(in_group).unwrap_or(0);
    let place = block - group * in_group;
    (group * GROUP + place % GROUP, place / GROUP)
}
