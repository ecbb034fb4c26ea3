//! Means over parts of the data points become those over all: see [`crate::idw::part`].

use device_std::real::Real;
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::idw::BLOCK;
use crate::idw::part::{Weight, mean};

/// The weight of a query, of columns of the powers of two and of the sums.
///
/// # Safety
/// `weights` has `2 * count` elements, and the query is below the count.
#[inline(always)]
unsafe fn weight_of(weights: *const f64, count: u64, query: u64) -> Weight {
    // SAFETY: passed on to the caller.
    unsafe {
        let sum = *weights.add((count + query) as usize);
        Weight { exponent: *weights.add(query as usize), sum }
    }
}

/// Adds a part: brings the means of each query to those of what was added before and of the part. Grid: a thread a query.
///
/// # Safety
/// `part_values` and `means` have `columns * count` elements, `part_weights` and `weights` `2 * count`.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn add_part<T: Real>(
    count: u64,
    columns: u32,
    part_values: *const T,
    part_weights: *const f64,
    means: *mut f64,
    weights: *mut f64,
) {
    let query = thread::index_1d();
    if query >= count {
        return;
    }
    // SAFETY: the query is below the count.
    unsafe {
        let before = weight_of(weights, count, query);
        let (both, shares) = before.plus(weight_of(part_weights, count, query));
        *weights.add(query as usize) = both.exponent;
        *weights.add((count + query) as usize) = both.sum;
        let mut column = 0;
        while column < columns as u64 {
            let at = (column * count + query) as usize;
            let of_part = (*part_values.add(at)).to_f64();
            *means.add(at) = mean([*means.add(at), of_part], shares);
            column += 1;
        }
    }
}

/// Writes the means as results, NaN where nothing has a weight. Grid: a thread a query.
///
/// # Safety
/// `means` and `results` have `columns * count` elements, `weights` `2 * count`.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn write_means<T: Real>(
    count: u64,
    columns: u32,
    means: *const f64,
    weights: *const f64,
    results: *mut T,
) {
    let query = thread::index_1d();
    if query >= count {
        return;
    }
    // SAFETY: the query is below the count.
    unsafe {
        let is_some = weight_of(weights, count, query).is_some();
        let mut column = 0;
        while column < columns as u64 {
            let at = (column * count + query) as usize;
            let result = if is_some { *means.add(at) } else { f64::NAN };
            *results.add(at) = T::from_f64(result);
            column += 1;
        }
    }
}
