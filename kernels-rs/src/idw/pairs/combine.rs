//! The segments' sums become results, or queries to rescue.

use device_std::real::Real;
use device_std::{atomic, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::within;
use crate::idw::BLOCK;
use crate::idw::targets::{Frame, Targets};

/// Sums of weights beyond these bounds, and distances beyond the other (squared, in units), are computed
/// anew in f64.
const LEAST: f64 = 8.5e-22;
const MOST: f64 = 3.0e38;
const FARTHEST: f32 = 1.0e18;

/// Whether squares of distances may leave the range of f32.
#[inline(always)]
pub(super) fn is_far(x: f32, y: f32, smoothing: f32) -> bool {
    let squared = x * x + y * y + smoothing;
    squared.is_nan() || squared >= FARTHEST
}

/// Whether a sum of weights tells the value.
#[inline(always)]
pub(super) fn is_good_weight(weight: f64) -> bool {
    weight > LEAST && weight < MOST
}

/// Whether a mean, less its offset, does.
#[inline(always)]
pub(super) fn is_good_mean(mean: f64) -> bool {
    mean > -MOST && mean < MOST
}

/// Puts a query on the list: the number of those on it, then they themselves.
///
/// # Safety
/// The list has room for every query, and each comes once.
#[inline(always)]
pub(super) unsafe fn list(rescued: *mut u32, query: u64) {
    // SAFETY: passed on to the caller.
    unsafe {
        let at = atomic::add_u32(rescued, 1);
        *rescued.add(1 + at as usize) = query as u32;
    }
}

/// Adds the segments' sums of each query, in order, and writes the results; `in_f32` is not 0 where they
/// were made in f32: in f64 nothing is far. Where `weights` is not null, it gets `at_one`, the power of two that a data
/// point one unit away weighs, and then the sums of weights beside it. Grid: a thread a query.
///
/// # Safety
/// `partial` has rows of `count` sums: for each of `segments` one of weights, then `value_count` of values;
/// `ranges` three numbers for each value, `results` `count` elements for each; `weights`, unless null, twice as many as
/// there are queries; `rescued` is 0 and has
/// room for `count` more; `x` and `y` are as for [`sum_tiles`](mod@super::direct::sum_tiles).
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn combine<T: Real>(
    segments: u32,
    value_count: u32,
    in_f32: u32,
    x: *const f64,
    y: *const f64,
    count: u64,
    width: u32,
    grid: [f64; 3],
    centre: [f64; 2],
    scale: f64,
    smoothing: f64,
    ranges: *const f64,
    partial: *const f64,
    results: *mut T,
    at_one: f64,
    weights: *mut f64,
    rescued: *mut u32,
) {
    let query = thread::index_1d();
    if query >= count {
        return;
    }
    let targets = Targets { x, y, count, width, height: 0, grid };
    let frame = Frame::new(centre, scale);
    let row_len = (1 + value_count as u64) * count;
    // The sum over the segments of weights, or of a value.
    let sum = |column: u32| {
        let (mut sum, mut segment) = (0.0, 0);
        while segment < segments as u64 {
            let at = segment * row_len + column as u64 * count + query;
            // SAFETY: the query is below the count; the caller's arrays are as long as said.
            sum += unsafe { *partial.add(at as usize) };
            segment += 1;
        }
        sum
    };
    // SAFETY: as above.
    unsafe {
        let [x, y] = targets.at(query);
        let weight = sum(0);
        let far = in_f32 != 0 && is_far(frame.x(x) as f32, frame.y(y) as f32, smoothing as f32);
        let mut good = is_good_weight(weight) && !far;
        let mut v = 0;
        while v < value_count {
            let of_value = ranges.add(3 * v as usize);
            let range = [*of_value, *of_value.add(1), *of_value.add(2)];
            let mean = sum(1 + v) / weight;
            good = good && is_good_mean(mean);
            *results.add((v as u64 * count + query) as usize) =
                T::from_f64(within(range[0] + mean, range));
            v += 1;
        }
        if !weights.is_null() {
            *weights.add(query as usize) = at_one;
            *weights.add((count + query) as usize) = weight;
        }
        if !good {
            list(rescued, query);
        }
    }
}
