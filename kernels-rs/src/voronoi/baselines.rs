//! Exact discrete Voronoi diagram by scans and pruning: crate `pba-voronoi`, `Baseline::ScanPrune`.
//!
//! The plan follows You and Zhang, *Constructing Natural Neighbor Interpolation Based Grid DEM
//! Using CUDA*, after Cao et al.'s Parallel Banding Algorithm (2010, doi:10.1145/1730804.1730818):
//!
//! 1. [`scan_rows`](const@scan_rows), a block a row: the nearest site of each pixel within its row. A forward max-scan
//!    over the site columns gives the nearest site on the left, a backward min-scan the nearest on the right. The
//!    nearer of the two is kept, or the left one if they tie.
//! 2. [`prune_columns`](const@prune_columns), a block a column: each row offers one [candidate](Candidate) to the
//!    column. Over the rows, the squared distances to two candidates differ by a linear function, so each candidate
//!    wins the rows on one side. All candidates that win no row against their two neighbours are pruned at once, and a
//!    prefix sum compacts the rest. This repeats until nothing changes.
//! 3. [`assign_intervals`](const@assign_intervals): each candidate that is left wins the rows from where it beats the
//!    one above it to where the one below beats it. Every pixel takes the winner of its row.
//!
//! The paper compares intersection points as floats. We compare the first whole row where the lower candidate is
//! strictly nearer: an integer, so the result is exact. A tie goes to the upper candidate, and so to the lowest site
//! index, since candidates are in row order. Pruning all at once is safe: a pruned candidate wins no row against its
//! neighbours, hence none against all. So the winner of a row is never pruned.

use device_std::block::BlockScan;
use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, kernel, math, thread};

use super::BLOCK;

/// Columns of the tile that a block of [`assign_intervals`](const@assign_intervals) serves: a warp writes one row.
pub const ASSIGN_COLUMNS: u32 = 32;

/// Rows that one thread of [`assign_intervals`](const@assign_intervals) walks down.
pub const ASSIGN_STRIP: u32 = 64;

/// Rows that a block of [`assign_intervals`](const@assign_intervals) serves.
pub const ASSIGN_ROWS: u32 = BLOCK / ASSIGN_COLUMNS * ASSIGN_STRIP;

/// `nearest` where the raster has no site.
pub const NONE: u32 = u32::MAX;

/// No site in this row, as [`scan_rows`](const@scan_rows) writes it.
const NO_COLUMN: i32 = -1;

/// Bytes of shared memory for [`scan_rows`](const@scan_rows).
const ROW_SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = BlockScan::<i32>::new(&mut carver);
    carver.bytes()
};

/// Bytes of shared memory for [`prune_columns`](const@prune_columns).
const COLUMN_SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = Carried::new(&mut carver);
    carver.bytes()
};

/// The nearest site column within the row, for each pixel; -1 in a row without a site.
///
/// `sites` is a byte mask, nonzero at a site. Grid: one block a row.
///
/// # Safety
/// `sites` and `nearest` have `width * gridDim.x` elements.
#[kernel(block = BLOCK, shared = ROW_SHARED)]
pub unsafe fn scan_rows(sites: In<'_, u8>, nearest: Out<'_, i32>, width: u32) {
    let scan = BlockScan::<i32>::new(&mut Carver::new());
    let row = thread::block_idx_x() as u64 * width as u64;
    // SAFETY: the block owns its row; the loops' bounds are the same in all its threads.
    unsafe {
        scan_left(scan, sites.from(row), nearest.from(row), width as i32);
        scan_right(scan, sites.from(row), nearest.from(row), width as i32);
    }
}

/// Writes the last site column at or before each pixel, by a forward max-scan.
#[inline(always)]
unsafe fn scan_left(scan: BlockScan<i32>, sites: In<u8>, left: Out<i32>, width: i32) {
    let mut carried = NO_COLUMN;
    let mut tile = 0;
    while tile < width {
        let x = tile + thread::thread_idx_x() as i32;
        let is_site = x < width && sites.get(x as usize) != 0;
        let own = if is_site { x } else { NO_COLUMN };
        // SAFETY: the whole block runs each turn.
        let (last, tile_last) = unsafe { scan.inclusive(own, NO_COLUMN, i32::max) };
        if x < width {
            left.set(x as usize, last.max(carried));
        }
        carried = carried.max(tile_last);
        tile += BLOCK as i32;
    }
}

/// Finds the first site column at or after each pixel, by a backward min-scan. Writes the nearer of this one and the
/// one on the left, which `nearest` holds on entry.
#[inline(always)]
unsafe fn scan_right(scan: BlockScan<i32>, sites: In<u8>, nearest: Out<i32>, width: i32) {
    const NO_RIGHT: i32 = i32::MAX;
    let mut carried = NO_RIGHT;
    let mut end = width;
    while end > 0 {
        let x = end - 1 - thread::thread_idx_x() as i32;
        let is_site = x >= 0 && sites.get(x as usize) != 0;
        let own = if is_site { x } else { NO_RIGHT };
        // SAFETY: the whole block runs each turn.
        let (first, tile_first) = unsafe { scan.inclusive(own, NO_RIGHT, i32::min) };
        if x >= 0 {
            let right = first.min(carried);
            // A value that this thread wrote or, in the forward scan, another thread before a barrier.
            let left = nearest.get(x as usize);
            let right_is_nearer = left == NO_COLUMN || right - x < x - left;
            if right != NO_RIGHT && right_is_nearer {
                nearest.set(x as usize, right);
            }
        }
        carried = carried.min(tile_first);
        end -= BLOCK as i32;
    }
}

/// A site that a row offers to a column: the row's site nearest to the column.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Candidate {
    /// The site's row.
    pub row: i32,
    /// The site's column.
    pub column: i32,
}

/// The first row where `lower` is strictly nearer to column `x` than `upper`, clamped to
/// `0..=height`; `upper` lies in a row above.
///
/// With a candidate's gap g = (x - column)^2, `lower` is strictly nearer in row y where
/// `2 y (lower.row - upper.row) > lower.row^2 + lower.g - upper.row^2 - upper.g`. The right side
/// stays below 2^63, because a raster has less than 2^32 pixels and sides below 2^31. The quotient
/// is taken in f64 and then corrected, which is exact and cheaper than a division of i64.
#[inline(always)]
fn first_row_won(upper: Candidate, lower: Candidate, x: i32, height: i32) -> i32 {
    let gap = |c: Candidate| {
        let g = (x - c.column) as i64;
        g * g
    };
    let (above, below) = (upper.row as i64, lower.row as i64);
    let numerator = (below - above) * (below + above) + gap(lower) - gap(upper);
    let denominator = 2 * (below - above);
    let mut quotient = math::floor(numerator as f64 / denominator as f64) as i64;
    let rest = numerator.wrapping_sub(quotient.wrapping_mul(denominator));
    if rest < 0 {
        quotient -= 1;
    } else if rest >= denominator {
        quotient += 1;
    }
    // Not `clamp`, whose assertion is a panic path.
    i64::max(0, i64::min(quotient + 1, height as i64)) as i32
}

/// The shared memory of a block of [`prune_columns`](const@prune_columns): the scan's storage, and the last candidate
/// of the tile before, which compaction may have overwritten in global memory.
#[derive(Clone, Copy)]
struct Carried {
    scan: BlockScan<u32>,
    row: SharedArray<i32>,
    column: SharedArray<i32>,
}

impl Carried {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self { scan: BlockScan::new(carver), row: carver.array(1), column: carver.array(1) }
    }
}

/// The candidates that win at least one row of their column, in row order.
///
/// `nearest` comes from [`scan_rows`](const@scan_rows). The candidates of column x are written at
/// `candidates[x * height ..]` and counted in `counts[x]`. Grid: one block a column.
///
/// # Safety
/// `nearest` and `candidates` have `gridDim.x * height` elements, `counts` has `gridDim.x`.
#[kernel(block = BLOCK, shared = COLUMN_SHARED)]
pub unsafe fn prune_columns(
    nearest: In<'_, i32>,
    candidates: Out<'_, Candidate>,
    counts: Out<'_, u32>,
    height: u32,
) {
    let shared = Carried::new(&mut Carver::new());
    let x = thread::block_idx_x();
    // SAFETY: the block owns its column; counts come from block-wide scans, so the loops turn
    // equally often in all threads.
    unsafe {
        let list = candidates.from(x as u64 * height as u64);
        let mut count = collect(shared.scan, nearest, list, x, height);
        loop {
            let kept = prune(shared, list, count, x as i32, height as i32);
            if kept == count {
                break;
            }
            count = kept;
        }
        if thread::thread_idx_x() == 0 {
            counts.set(x, count);
        }
    }
}

/// Lists the candidate of every row that has a site; returns how many there are.
#[inline(always)]
unsafe fn collect(
    scan: BlockScan<u32>,
    nearest: In<i32>,
    list: Out<Candidate>,
    x: u32,
    height: u32,
) -> u32 {
    let width = thread::grid_dim_x();
    let mut count = 0;
    let mut tile = 0;
    while tile < height {
        let row = tile + thread::thread_idx_x();
        let column = if row < height {
            nearest.get(row as u64 * width as u64 + x as u64)
        } else {
            NO_COLUMN
        };
        let offers = column != NO_COLUMN;
        // SAFETY: the whole block runs each turn.
        let (position, all) = unsafe { scan.exclusive_count(offers) };
        if offers {
            list.set(count + position, Candidate { row: row as i32, column });
        }
        count += all;
        tile += BLOCK;
    }
    // SAFETY: the whole block is here; the list is read by other threads next.
    unsafe { thread::sync_threads() };
    count
}

/// Drops every candidate that wins no row against its two neighbours, and closes the gaps in
/// place; returns how many are left.
#[inline(always)]
unsafe fn prune(shared: Carried, list: Out<Candidate>, count: u32, x: i32, height: i32) -> u32 {
    let thread = thread::thread_idx_x();
    let mut kept = 0;
    let mut tile = 0;
    while tile < count {
        let at = tile + thread;
        // SAFETY: a tile is read whole before the barriers in the scan. It is written after them, at or before its own
        // start. Shared memory carries the one old value from before the tile.
        unsafe {
            let mut keep = at < count;
            let mut own = Candidate { row: 0, column: 0 };
            if keep {
                own = list.get(at);
                let from = if at == 0 {
                    0
                } else {
                    let above = if thread == 0 {
                        Candidate { row: shared.row.load(0), column: shared.column.load(0) }
                    } else {
                        list.get(at as usize - 1)
                    };
                    first_row_won(above, own, x, height)
                };
                let to = if at + 1 == count {
                    height
                } else {
                    first_row_won(own, list.get(at as usize + 1), x, height)
                };
                keep = from < to;
            }
            let (position, all) = shared.scan.exclusive_count(keep);
            if keep {
                list.set(kept + position, own);
            }
            if thread == BLOCK - 1 {
                shared.row.store(0, own.row);
                shared.column.store(0, own.column);
            }
            thread::sync_threads();
            kept += all;
        }
        tile += BLOCK;
    }
    kept
}

/// The nearest site's linear index (row * width + column) for each pixel.
///
/// `candidates` and `counts` come from [`prune_columns`](const@prune_columns); a column without candidates gets
/// [`NONE`]. A thread serves a strip of rows of one column: it finds the strip's first winner by
/// bisection and walks on from there. Grid: x covers the columns in tiles of [`ASSIGN_COLUMNS`], y
/// the rows in tiles of [`ASSIGN_ROWS`]; blocks stride over y.
///
/// # Safety
/// `candidates` and `nearest` have `width * height` elements, `counts` has `width`.
#[kernel(block = BLOCK)]
pub unsafe fn assign_intervals(
    candidates: In<'_, Candidate>,
    counts: In<'_, u32>,
    nearest: Out<'_, u32>,
    width: u32,
    height: u32,
) {
    let x = thread::block_idx_x() * ASSIGN_COLUMNS + thread::thread_idx_x() % ASSIGN_COLUMNS;
    if x >= width {
        return;
    }
    let strip = thread::thread_idx_x() / ASSIGN_COLUMNS * ASSIGN_STRIP;
    let mut tile = thread::block_idx_y() as u64 * ASSIGN_ROWS as u64;
    let list = candidates.from(x as u64 * height as u64);
    let count = counts.get(x);
    while tile < height as u64 {
        assign_strip(list, count, nearest, (x, width), (tile as u32 + strip, height));
        tile += thread::grid_dim_y() as u64 * ASSIGN_ROWS as u64;
    }
}

/// Writes the winners of column `x` from row `row` on, for at most [`ASSIGN_STRIP`] rows; none from
/// `height` on.
#[inline(always)]
fn assign_strip(
    list: In<Candidate>,
    count: u32,
    nearest: Out<u32>,
    (x, width): (u32, u32),
    (row, height): (u32, u32),
) {
    if row >= height {
        return;
    }
    let won_from = |k: u32| {
        // Called with 1 <= k < count.
        let (above, below) = (list.get(k as usize - 1), list.get(k));
        first_row_won(above, below, x as i32, height as i32) as u32
    };
    // The last candidate whose first row is not beyond `row`.
    let (mut winner, mut beyond) = (0, count);
    while beyond - winner > 1 {
        let middle = winner + (beyond - winner) / 2;
        if won_from(middle) <= row {
            winner = middle;
        } else {
            beyond = middle;
        }
    }
    let index_of = |k: u32| {
        if count == 0 {
            return NONE;
        }
        let site = list.get(k);
        site.row as u32 * width + site.column as u32
    };
    let next_change = |k: u32| if k + 1 < count { won_from(k + 1) } else { height };

    let mut site = index_of(winner);
    let mut change = next_change(winner);
    let end = if height - row < ASSIGN_STRIP { height } else { row + ASSIGN_STRIP };
    let mut y = row;
    while y < end {
        if y == change {
            winner += 1;
            site = index_of(winner);
            change = next_change(winner);
        }
        nearest.set(y as u64 * width as u64 + x as u64, site);
        y += 1;
    }
}

device_std::ptx_module! { "voronoi" }
