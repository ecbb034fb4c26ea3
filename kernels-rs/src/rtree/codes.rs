//! Where points come along the curve.

use device_std::{atomic, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::layout::FANOUT;
use crate::spatial::frame::Frame;
use crate::spatial::hilbert;
use crate::spatial::place::Place;

/// Levels of the curve over the bounds of the points: codes have twice as many bits. More levels cost passes of the sort
/// and gain nothing on points that are even; points that need more are sorted by their ranks.
pub const LEVELS: u32 = 24;

/// Threads of a block.
const BLOCK: usize = 256;

/// Writes the code of each point along the curve over a rectangle, and x and y side by side into `pairs`. The rectangle has
/// its south-western corner at `corner` and `per_unit` columns and rows to a unit, `2^LEVELS` of each in all. The lowest
/// index of an x and of a y that is not finite goes into `bad`, whose two elements are above all indices before. Grid: a
/// thread for each point.
///
/// # Safety
/// `x`, `y` and `codes` have `len` elements, `pairs` has room for as many pairs, `bad` has two elements.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn find_codes<T: Place>(
    x: *const T,
    y: *const T,
    len: u64,
    corner: [f64; 2],
    per_unit: [f64; 2],
    codes: *mut u64,
    pairs: *mut u64,
    bad: *mut i64,
) {
    let i = thread::index_1d();
    if i >= len {
        return;
    }
    let frame = Frame::new(corner, per_unit, LEVELS);
    // SAFETY: guarded by the length; the lowest index is found by an atomic.
    unsafe {
        let place = [*x.add(i as usize), *y.add(i as usize)];
        T::store_pair(pairs, i, place);
        let [x, y] = place.map(Place::widened);
        *codes.add(i as usize) = hilbert::number::<LEVELS>(frame.column(x), frame.row(y));
        if !x.is_finite() {
            atomic::min_i64(bad, i as i64);
        }
        if !y.is_finite() {
            atomic::min_i64(bad.add(1), i as i64);
        }
    }
}

/// Counts the points whose code is that of the point a leaf further on, though they lie elsewhere: the order of such points
/// does not follow the curve, and their leaves would overlap. Grid: a thread for each point.
///
/// # Safety
/// `codes` and `order` have `len` elements, `order` names pairs, `crowded` has one element.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn count_crowded<T: Place>(
    codes: *const u64,
    order: *const u32,
    pairs: *const u64,
    len: u64,
    crowded: *mut u32,
) {
    let i = thread::index_1d();
    let j = i + FANOUT as u64;
    let mut is_crowded = false;
    // SAFETY: guarded by the length; the whole warp comes to the ballot.
    unsafe {
        if j < len && *codes.add(i as usize) == *codes.add(j as usize) {
            let place = |i: u64| T::load_pair(pairs, *order.add(i as usize) as u64);
            is_crowded = place(i) != place(j);
        }
        let count = warp::ballot(warp::FULL, is_crowded).count_ones();
        if count > 0 && warp::lane_id() == 0 {
            atomic::add_u32(crowded, count);
        }
    }
}

/// Marks, along a column in order, each value that is not that of the one before: 1, else 0. Their running sum is the rank
/// of each value. Grid: a thread for each point.
///
/// # Safety
/// `column`, `order` and `steps` have `len` elements, `order` names elements of the column.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn mark_steps<T: Place>(column: *const T, order: *const u32, len: u64, steps: *mut u32) {
    let i = thread::index_1d() as usize;
    if (i as u64) < len {
        // SAFETY: guarded by the length.
        unsafe {
            let value = |i: usize| *column.add(*order.add(i) as usize);
            *steps.add(i) = (i > 0 && value(i) != value(i - 1)) as u32;
        }
    }
}

/// Writes the rank of each point's value, from the order of a column and the running sums of [`mark_steps`]; with `codes`,
/// in place of ranks, the code of the ranks of both columns along a curve of 31 levels, `other` being those of x. Grid: a
/// thread for each point.
///
/// # Safety
/// `order`, `sums` and `ranks` have `len` elements; `other` and `codes` have as many, or are null.
#[kernel(block = BLOCK)]
pub unsafe fn find_rank_codes(
    order: *const u32,
    sums: *const u32,
    len: u64,
    other: *const u32,
    ranks: *mut u32,
    codes: *mut u64,
) {
    let i = thread::index_1d() as usize;
    if (i as u64) < len {
        // SAFETY: guarded by the length; the order is a permutation.
        unsafe {
            let (point, rank) = (*order.add(i) as usize, *sums.add(i));
            if codes.is_null() {
                *ranks.add(point) = rank;
            } else {
                *codes.add(point) = rank_code(*other.add(point), rank);
            }
        }
    }
}

/// The code of a pair of ranks.
#[inline(always)]
pub fn rank_code(column: u32, row: u32) -> u64 {
    // Two values of neighbouring ranks may share a code; 32 places may not, whatever the number of points.
    hilbert::number::<31>(column >> 1, row >> 1)
}
