//! Combines means over parts of the data points to means over all: see [`crate::idw::part`].

use device_std::real::Real;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::idw::BLOCK;
use crate::idw::part::{Weight, mean};

/// Adds a part: replaces each target's mean over the earlier parts by the mean over these and the new part. Grid: a
/// thread a target.
///
/// # Safety
/// `part_values` and `means` have `columns * count` elements, `part_weights` and `weights` `2 * count`.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn add_part<T: Real>(
    count: u64,
    columns: u32,
    part_values: In<'_, T>,
    part_weights: In<'_, f64>,
    means: Out<'_, f64>,
    weights: Out<'_, f64>,
) {
    let target = thread::index_1d();
    if target >= count {
        return;
    }
    let sum = weights.get(count + target);
    let before = Weight { exponent: weights.get(target), sum };
    let (both, shares) = before.plus(weight_of(part_weights, count, target));
    weights.set(target, both.exponent);
    weights.set(count + target, both.sum);
    let mut column = 0;
    while column < columns as u64 {
        let at = column * count + target;
        let of_part = part_values.get(at).to_f64();
        means.set(at, mean([means.get(at), of_part], shares));
        column += 1;
    }
}

/// The weight of a target, from the columns of powers of two and of sums.
#[inline(always)]
fn weight_of(weights: In<'_, f64>, count: u64, target: u64) -> Weight {
    let sum = weights.get(count + target);
    Weight { exponent: weights.get(target), sum }
}

/// Writes the means as results, NaN where nothing has a weight. Grid: a thread a target.
///
/// # Safety
/// `means` and `results` have `columns * count` elements, `weights` `2 * count`.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn write_means<T: Real>(
    count: u64,
    columns: u32,
    means: In<'_, f64>,
    weights: In<'_, f64>,
    results: Out<'_, T>,
) {
    let target = thread::index_1d();
    if target >= count {
        return;
    }
    let is_some = weight_of(weights, count, target).is_some();
    let mut column = 0;
    while column < columns as u64 {
        let at = column * count + target;
        let result = if is_some { means.get(at) } else { f64::NAN };
        results.set(at, T::from_f64(result));
        column += 1;
    }
}
