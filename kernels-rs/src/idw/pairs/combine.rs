//! The segments' sums become results, or targets to rescue.

use device_std::real::Real;
use device_std::{In, Out, arguments, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::within;
use crate::idw::BLOCK;
use crate::idw::points::range;
use crate::idw::targets::{Frame, Targets};

/// Targets whose sum of weights lies outside `LEAST` to `MOST`, or that have squared distances in units from `FARTHEST`
/// on, are computed again in f64.
const LEAST: f64 = 8.5e-22;
const MOST: f64 = 3.0e38;
const FARTHEST: f32 = 1.0e18;

/// Whether squares of distances may leave the range of f32.
#[inline(always)]
pub(in crate::idw) fn is_far(x: f32, y: f32, smoothing: f32) -> bool {
    let squared = x * x + y * y + smoothing;
    squared.is_nan() || squared >= FARTHEST
}

/// Whether a sum of weights is good enough to tell the value.
#[inline(always)]
pub(in crate::idw) fn is_good_weight(weight: f64) -> bool {
    weight > LEAST && weight < MOST
}

/// Whether a mean, relative to its offset, is good enough.
#[inline(always)]
pub(in crate::idw) fn is_good_mean(mean: f64) -> bool {
    mean > -MOST && mean < MOST
}

/// Puts a target on the list, which holds the number of its targets and then the targets. Each target comes at most
/// once.
#[inline(always)]
pub(in crate::idw) fn list(rescued: Out<'_, u32>, target: u64) {
    let at = rescued.fetch_add(0u32, 1);
    rescued.set(1 + at as usize, target as u32);
}

/// The sums that a launch writes.
#[arguments]
pub struct Sums<'a> {
    /// How many segments they are divided into.
    pub segments: u32,
    /// How many values a point has.
    pub values: u32,
    /// 1 if the sums were made in f32, else 0: in f64 nothing is too far.
    pub in_f32: u32,
    /// For each segment a row of sums of weights, one for each target, then a row of weighted sums for each value.
    pub partial: In<'a, f64>,
}

/// Adds the segments' sums of each target, in order, and writes the results. If there are `weights`, they get `at_one`,
/// the power of two that a data point one unit away weighs, and then the sums of weights in multiples of it. Grid: a
/// thread a target.
///
/// # Safety
/// The targets and the sums are as their structs say. `ranges` has three numbers for each value; `results` has a row of
/// targets for each value, `weights` two rows. `rescued` begins with 0, and has an element more than there are targets.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn combine<T: Real>(
    sums: Sums<'_>,
    targets: Targets<'_>,
    frame: Frame,
    smoothing: f64,
    ranges: In<'_, f64>,
    results: Out<'_, T>,
    at_one: f64,
    weights: Option<Out<'_, f64>>,
    rescued: Out<'_, u32>,
) {
    let (target, count) = (thread::index_1d(), targets.count);
    if target >= count {
        return;
    }
    let row_len = (1 + sums.values as u64) * count;
    // The sum over the segments of weights, or of a value.
    let sum = |column: u32| {
        let (mut sum, mut segment) = (0.0, 0);
        while segment < sums.segments as u64 {
            sum += sums.partial.get(segment * row_len + column as u64 * count + target);
            segment += 1;
        }
        sum
    };
    let [x, y] = targets.at(target);
    let weight = sum(0);
    let far = sums.in_f32 != 0 && is_far(frame.x(x) as f32, frame.y(y) as f32, smoothing as f32);
    let mut good = is_good_weight(weight) && !far;
    let mut v = 0;
    while v < sums.values {
        let range = range(ranges, v as usize);
        let mean = sum(1 + v) / weight;
        good = good && is_good_mean(mean);
        results.set(v as u64 * count + target, T::from_f64(within(range[0] + mean, range)));
        v += 1;
    }
    if let Some(weights) = weights {
        weights.set(target, at_one);
        weights.set(count + target, weight);
    }
    if !good {
        list(rescued, target);
    }
}
