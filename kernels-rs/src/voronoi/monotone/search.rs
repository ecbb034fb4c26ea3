//! Finds the winner of one row of a column among the candidates of a range of rows, and the winners of a level's rows.
//!
//! ```text
//!  low  ........................ the range, between the winners of the level above
//!        ^  ^  ^  ^              four rows upward at a time
//!  y  ---*--*--*--*-------       the row itself
//!        v  v  v  v              four rows downward
//!  high ........................
//!       stop when the square of the rows alone is not below the best cost
//! ```
//!
//! Eight loads are in flight at a time. The search costs the rows up to the winner's distance, not the range.

use device_std::shared::Plain;
use device_std::{In, Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::rows::Column;
use super::{BLOCK, FAR, LEVEL_RATIO, NONE, WORD};

/// How squared distances are counted, and by which types.
pub trait Metric: Copy {
    /// The type of a candidate's column.
    type Column: Column;
    /// The type of a squared distance.
    type Cost: Plain + PartialOrd;
    /// More than any squared distance.
    const MOST: Self::Cost;
    /// Whether costs are squares in pixels, of 32 bits: then keys may be used (`close_sites`).
    const PLAIN: bool;

    /// The number of the raster's first column in the whole raster; 0 if the raster is not a strip.
    fn first(self) -> u32;

    /// The squared distance for these columns and rows. Either may be negative, in two's complement.
    fn cost(self, columns: u32, rows: u32) -> Self::Cost;

    /// A limit as a cost; a limit too large for one becomes [`MOST`](Self::MOST).
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
    fn first(self) -> u32 {
        0
    }

    #[inline(always)]
    fn cost(self, columns: u32, rows: u32) -> u32 {
        // Modulo 2^32 a square does not depend on the sign.
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
#[arguments]
pub struct RectangularPixels {
    /// The number of the raster's first column in the wider raster.
    pub first: u32,
    /// The square of a step in x.
    pub across: u32,
    /// The square of a step in y.
    pub down: u32,
}

impl Metric for RectangularPixels {
    type Column = u32;
    type Cost = u64;
    const MOST: u64 = u64::MAX;
    const PLAIN: bool = false;

    #[inline(always)]
    fn first(self) -> u32 {
        self.first
    }

    #[inline(always)]
    fn cost(self, columns: u32, rows: u32) -> u64 {
        let square = |n: u32| (n as i32 as i64).wrapping_mul(n as i32 as i64) as u64;
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
#[derive(Clone, Copy)]
pub struct Candidates<'a, C> {
    /// From the column's candidate in row 0 on.
    pub nearest: In<'a, C>,
    /// Elements from one row to the next.
    pub pitch: u32,
    /// Its number; in a strip of a wider raster, its number in the whole.
    pub x: u32,
}

impl<'a, C: Column> Candidates<'a, C> {
    /// The candidate of a row.
    #[inline(always)]
    pub fn of_row(&self, row: u32) -> C {
        self.from_row(row).get(0)
    }

    /// The candidates from a row's on.
    #[inline(always)]
    pub fn from_row(&self, row: u32) -> In<'a, C> {
        self.nearest.from(C::bytes_between(row, self.pitch))
    }

    /// Columns from a candidate to this column, modulo 2^32, which is all that a square needs.
    #[inline(always)]
    pub fn gap(&self, candidate: C) -> u32 {
        self.x.wrapping_sub(candidate.number())
    }
}

/// A winner and its cost.
#[derive(Clone, Copy)]
pub struct Won<M: Metric> {
    /// The row of its candidate.
    pub row: u32,
    /// The squared distance to it.
    pub cost: M::Cost,
}

/// From this distance on, in columns, a winner is [`FAR`]: cuts pay from there. From 100 on dense rasters were slower.
const FAR_OFF: u32 = 200;

/// Rows on each side that [`winner`] compares before it tests whether to go on: their loads are in flight together.
const STEP: usize = 4;

/// Returns the winner of row `y` among the rows `low..=high`, and its cost, which is at most `limit`; else [`NONE`].
///
/// Compares the rows nearest to `y` first, upward and downward alike, until no row that is left can be as near as the
/// best so far. Beyond the ends it compares the end's row again, as if it were farther away than it is: that never
/// wins, and costs no branch. `low <= high`, both rows of the raster.
#[inline(always)]
pub fn winner<M: Metric>(
    metric: M,
    column: Candidates<M::Column>,
    y: u32,
    (low, high): (u32, u32),
    limit: M::Cost,
) -> Won<M> {
    let mut best = limit;
    let mut row = NONE;
    // The row of the range nearest to `y`; the next rows upward and downward, which may pass `low` and `high`; and how
    // far both are from `y`.
    let base = u32::max(low, u32::min(y, high));
    // A raster has fewer than 2^31 rows: `up` cannot pass -2^31, nor `down` 2^32.
    let mut up = base as i32;
    let mut down = base;
    let mut rows = y.abs_diff(base);
    loop {
        let ups: [u32; STEP] = core::array::from_fn(|k| i32::max(up - k as i32, low as i32) as u32);
        let downs: [u32; STEP] = core::array::from_fn(|k| u32::min(down + k as u32, high));
        let (above, below) =
            (ups.map(|row| column.of_row(row)), downs.map(|row| column.of_row(row)));
        let mut k = 0;
        while k < STEP {
            // All rows compared before lie south of this one, so it wins a tie.
            let cost = metric.cost(column.gap(above[k]), rows + k as u32);
            if above[k].is_site() & (cost <= best) {
                best = cost;
                row = ups[k];
            }
            // All rows compared before lie north of this one, so it loses a tie.
            let cost = metric.cost(column.gap(below[k]), rows + k as u32);
            if below[k].is_site() & (cost < best) {
                best = cost;
                row = downs[k];
            }
            k += 1;
        }
        up -= STEP as i32;
        down += STEP as u32;
        rows += STEP as u32;
        // The least cost that a row further on may have. Upward a tie would win, downward not.
        let nearest = metric.cost(0, rows);
        if !((up >= low as i32) & (nearest <= best) | (down <= high) & (nearest < best)) {
            return Won { row, cost: best };
        }
    }
}

/// The rows of a level of the search: 0, `spacing`, 2 `spacing` .. and the last row of the raster.
#[arguments]
pub struct Rows {
    /// Elements of a row.
    pub pitch: u32,
    /// Rows of the raster.
    pub height: u32,
    /// From one row of the level to the next.
    pub spacing: u32,
    /// Rows of the level.
    pub count: u32,
    /// Most squared distance of a winner that must be found.
    pub limit: u64,
}

/// A level of the search.
#[arguments]
pub struct Level<'a, C> {
    /// The candidates that [`nearest_columns`](mod@super::rows::nearest_columns) gives.
    pub nearest: In<'a, C>,
    /// The winners of every `8 spacing`-th row, if they are known.
    pub above: Option<In<'a, u32>>,
    /// `pitch * count` of them.
    pub winners: Out<'a, u32>,
    /// Its rows.
    pub rows: Rows,
}

/// Writes the winners of a level's rows: `winners[k]` has those of row `min(k spacing, height - 1)`, with [`FAR`] set
/// if they are far. A winner farther than the limit may be given as [`NONE`].
///
/// Grid: a warp for every 32 columns and winner row: blocks of 8 winner rows, the columns fastest.
///
/// # Safety
/// The level's slices have what it says.
#[kernel(block = BLOCK)]
pub unsafe fn search_rows(level: Level<'_, u16>) {
    level.search(Pixels);
}

/// [`search_rows`](const@search_rows) for large rasters, and for pixels that are not square. If the raster is a strip
/// of a wider one, `nearest` has columns of the whole.
///
/// # Safety
/// As for [`search_rows`](const@search_rows).
#[kernel(block = BLOCK)]
pub unsafe fn search_rows_wide(level: Level<'_, u32>, ground: RectangularPixels) {
    level.search(ground);
}

impl<C: Column> Level<'_, C> {
    /// The winners of one level; see [`search_rows`](const@search_rows).
    #[inline(always)]
    fn search<M: Metric<Column = C>>(self, metric: M) {
        let Self { nearest, above, winners, rows } = self;
        let Rows { pitch, height, spacing, count, limit } = rows;
        let across = (pitch / WORD).max(1);
        let block = thread::block_idx_x();
        let band = block.checked_div(across).unwrap_or(0);
        let x = (block - band * across) * WORD + warp::lane_id();
        let k = band * (thread::block_dim_x() / WORD) + warp::warp_id();
        if k >= count {
            return;
        }
        let y = u64::min(k as u64 * spacing as u64, height as u64 - 1) as u32;
        let column = Candidates { nearest: nearest.from(x), pitch, x: x + metric.first() };
        let mut rows = (0, height - 1);
        if let Some(above) = above {
            // The level above has winners on both sides of `k`, or in row `k` itself: then the range is that one
            // winner.
            let parent = above.from((k / LEVEL_RATIO) as u64 * pitch as u64 + x as u64);
            let is_parent = k.is_multiple_of(LEVEL_RATIO);
            rows = (parent.get(0), parent.get(if is_parent { 0 } else { pitch as usize }));
        }
        // An end without a site in reach. No row between can have one, by the limit that the host set.
        let found = if rows.0 == NONE || rows.1 == NONE {
            NONE
        } else {
            let rows = (rows.0 & !FAR, rows.1 & !FAR);
            let Won { row, cost } = winner(metric, column, y, rows, M::limit(limit));
            if (row != NONE) & (metric.cost(FAR_OFF, 0) <= cost) { row | FAR } else { row }
        };
        winners.set(k as u64 * pitch as u64 + x as u64, found);
    }
}
