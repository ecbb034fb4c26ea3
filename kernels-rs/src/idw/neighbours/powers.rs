//! The adaptive power of each target.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::idw::BLOCK;
use crate::idw::pattern::Pattern;

/// Writes minus half the power of each target, which follows from the mean distance to its neighbours. Grid: a thread a
/// target.
///
/// # Safety
/// `distances` and `exponents` have `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn adapt_powers(
    distances: In<'_, f64>,
    count: u64,
    expected: f64,
    levels: [f64; 5],
    bounds: [f64; 2],
    exponents: Out<'_, f64>,
) {
    let target = thread::index_1d();
    if target >= count {
        return;
    }
    let pattern = Pattern { expected, levels, bounds };
    exponents.set(target, -0.5 * pattern.power(distances.get(target)));
}
