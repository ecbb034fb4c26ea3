//! An index of points by cells, for crate `idw`: points sorted by cell, and where each cell begins; or
//! places sorted along Hilbert's curve ([`number_on_curve`] in place of step 1).
//!
//! Cells are the squares of a uniform grid, row by row from the south-west. Points beyond the grid
//! belong to the nearest cell of its edge; since that keeps their order along both axes, a search that
//! includes the cells of a box still finds every point of the box.
//!
//! 1. [`number_cells`]: the cell of each point, and the points of each cell.
//! 2. For each 8 bits of the cell numbers, [`count_digits`] and, behind a scan of the counts,
//!    [`scatter_digits`]: a stable sort, so that points of a cell stay in the order of their indices.
//! 3. [`gather_columns`]: the points' columns in the new order.

use device_std::shared::{Carver, SharedArray};
use device_std::{atomic, kernel, thread, warp};

use crate::idw_cells::Cells;

/// Threads of a block.
pub const BLOCK: u32 = 256;

const WARPS: u32 = BLOCK / warp::SIZE;

/// Values of a digit of 8 bits.
pub const DIGITS: u32 = 256;

/// Keys that a thread sorts.
const KEYS: u32 = 16;

/// Keys that a block sorts.
pub const TILE: u32 = BLOCK * KEYS;

/// Shared memory of [`count_digits`].
pub const COUNT_SHARED: u32 = DIGITS * 4;

/// Shared memory of [`scatter_digits`].
pub const SCATTER_SHARED: u32 = WARPS * DIGITS * 4;

/// Writes the cell of each point, and counts the points of each cell in `counts`, which starts at zero.
/// Grid: a thread a point.
///
/// # Safety
/// `x`, `y`, `keys` have `points` elements, `counts` one for each cell.
#[kernel(block = 256)]
pub unsafe fn number_cells(
    x: *const f64,
    y: *const f64,
    points: u32,
    west: f64,
    south: f64,
    per_unit: f64,
    columns: u32,
    rows: u32,
    keys: *mut u32,
    counts: *mut u32,
) {
    let point = thread::index_1d();
    if point >= points as u64 {
        return;
    }
    let cells = Cells { west, south, per_unit, columns, rows };
    let i = point as usize;
    // SAFETY: the point is below the count; the cell is in the grid.
    unsafe {
        let key = cells.row(*y.add(i)) * columns + cells.column(*x.add(i));
        *keys.add(i) = key;
        atomic::add_u32(counts.add(key as usize), 1);
    }
}

/// Bits of a cell's column, and of its row, on Hilbert's curve.
const CURVE_BITS: u32 = 16;

/// Writes where each place comes along Hilbert's curve over a square of `2^16` by `2^16` cells. Places
/// beyond it belong to the nearest cell of its edge. Grid: a thread a place.
///
/// # Safety
/// `x`, `y`, `keys` have `places` elements.
#[kernel(block = 256)]
pub unsafe fn number_on_curve(
    x: *const f64,
    y: *const f64,
    places: u64,
    west: f64,
    south: f64,
    per_unit: f64,
    keys: *mut u32,
) {
    let place = thread::index_1d();
    if place >= places {
        return;
    }
    let side = 1 << CURVE_BITS;
    let cells = Cells { west, south, per_unit, columns: side, rows: side };
    let i = place as usize;
    // SAFETY: the place is below the count.
    unsafe { *keys.add(i) = hilbert(cells.column(*x.add(i)), cells.row(*y.add(i))) };
}

/// The number of a cell: from the largest quarters down, two bits for the quarter in the order in which
/// the curve enters them, the square turned or mirrored so that its entry lies in the south-west.
#[inline(always)]
fn hilbert(mut x: u32, mut y: u32) -> u32 {
    let mut number = 0;
    let mut bit = CURVE_BITS;
    while bit > 0 {
        bit -= 1;
        let (right, upper) = (x >> bit & 1, y >> bit & 1);
        number = number << 2 | ((3 * right) ^ upper);
        if upper == 0 {
            // All ones where the square is mirrored.
            let mirrored = right.wrapping_neg();
            (x, y) = (y ^ mirrored, x ^ mirrored);
        }
    }
    number
}

/// Moves values to where they belong: element `i` of each column goes to `order[i]`. Grid: a thread an
/// element.
///
/// # Safety
/// `order` names each of `len` elements once; `from` and `to` have `columns * len` elements.
#[kernel(block = 256)]
pub unsafe fn scatter_values(
    order: *const u32,
    len: u64,
    columns: u32,
    from: *const f32,
    to: *mut f32,
) {
    let i = thread::index_1d();
    if i >= len {
        return;
    }
    // SAFETY: the element is below the length.
    unsafe {
        let target = *order.add(i as usize) as usize;
        let mut column = 0;
        while column < columns as usize {
            let start = column * len as usize;
            *to.add(start + target) = *from.add(start + i as usize);
            column += 1;
        }
    }
}

/// Counts the digits of each block's keys: `counts[digit * blocks + block]`. Grid: a block for each
/// [`TILE`] keys.
///
/// # Safety
/// `keys` has `len` elements, `counts` [`DIGITS`] for each block.
#[kernel(block = 256)]
pub unsafe fn count_digits(keys: *const u32, len: u32, shift: u32, counts: *mut u32) {
    let histogram: SharedArray<u32> = Carver::new().array(DIGITS);
    let (me, block) = (thread::thread_idx_x(), thread::block_idx_x());
    // SAFETY: the block stays together; a digit is below `DIGITS`, a thread's digit its own.
    unsafe {
        histogram.store(me, 0);
        thread::sync_threads();
        let mut round = 0;
        while round < KEYS {
            let i = block * TILE + round * BLOCK + me;
            if i < len {
                histogram.atomic_add(*keys.add(i as usize) >> shift & (DIGITS - 1), 1);
            }
            round += 1;
        }
        thread::sync_threads();
        *counts.add((me * thread::grid_dim_x() + block) as usize) = histogram.load(me);
    }
}

/// Moves keys, and the indices beside them, behind those of lower digits, in order. `offsets` is the
/// exclusive scan of [`count_digits`]' counts. Where `order_in` is null the indices count up from 0.
/// Grid: as for [`count_digits`].
///
/// # Safety
/// All but `offsets` have `len` elements (or are null, as said), and none is both read and written.
#[kernel(block = 256)]
pub unsafe fn scatter_digits(
    keys_in: *const u32,
    order_in: *const u32,
    len: u32,
    shift: u32,
    offsets: *const u32,
    keys_out: *mut u32,
    order_out: *mut u32,
) {
    let next: SharedArray<u32> = Carver::new().array(WARPS * DIGITS);
    let (me, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let (lane, row) = (warp::lane_id(), warp::warp_id() * DIGITS);
    // A warp's keys lie side by side, so that keys keep their order.
    let first = block * TILE + warp::warp_id() * (KEYS * warp::SIZE) + lane;
    // SAFETY: the block stays together; barriers stand between the phases, in each of which a thread
    // touches its own digit of all warps, or a warp its own row, by atomics.
    unsafe {
        let mut w = 0;
        while w < WARPS {
            next.store(w * DIGITS + me, 0);
            w += 1;
        }
        thread::sync_threads();
        let mut round = 0;
        while round < KEYS {
            let i = first + round * warp::SIZE;
            if i < len {
                let digit = *keys_in.add(i as usize) >> shift & (DIGITS - 1);
                next.atomic_add(row + digit, 1);
            }
            round += 1;
        }
        thread::sync_threads();
        let mut start = *offsets.add((me * thread::grid_dim_x() + block) as usize);
        let mut w = 0;
        while w < WARPS {
            let count = next.load(w * DIGITS + me);
            next.store(w * DIGITS + me, start);
            start += count;
            w += 1;
        }
        thread::sync_threads();
        let mut round = 0;
        while round < KEYS {
            let i = first + round * warp::SIZE;
            let valid = i < len;
            let key = if valid { *keys_in.add(i as usize) } else { 0 };
            // Lanes behind the end form a group of their own, which writes nothing.
            let digit = if valid { key >> shift & (DIGITS - 1) } else { DIGITS };
            let group = warp::match_any(warp::FULL, digit);
            let leader = group.trailing_zeros();
            let mut base = 0;
            if valid && lane == leader {
                base = next.atomic_add(row + digit, group.count_ones());
            }
            let base = warp::shuffle(warp::FULL, base, leader);
            if valid {
                let at = (base + (group & warp::lanes_below()).count_ones()) as usize;
                *keys_out.add(at) = key;
                *order_out.add(at) = if order_in.is_null() { i } else { *order_in.add(i as usize) };
            }
            round += 1;
        }
    }
}

/// Gathers `columns` columns of `len` elements, one after the other: element `i` comes from
/// `order[i]`. Grid: a thread an element.
///
/// # Safety
/// `order` has `len` elements below `len`, `from` and `to` `columns * len`.
#[kernel(block = 256)]
pub unsafe fn gather_columns(
    order: *const u32,
    len: u32,
    columns: u32,
    from: *const f64,
    to: *mut f64,
) {
    let i = thread::index_1d();
    if i >= len as u64 {
        return;
    }
    // SAFETY: the element is below the length.
    unsafe {
        let source = *order.add(i as usize) as usize;
        let mut column = 0;
        while column < columns as usize {
            let start = column * len as usize;
            *to.add(start + i as usize) = *from.add(start + source);
            column += 1;
        }
    }
}

device_std::ptx_module! {
    "idw_index": number_cells, number_on_curve, count_digits, scatter_digits, gather_columns,
    scatter_values
}
