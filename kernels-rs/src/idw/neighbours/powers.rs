//! The adaptive power of each query.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::idw::BLOCK;
use crate::idw::pattern::Pattern;

/// Writes minus half the power that follows from the mean distance of each query to its neighbours. Grid: a
/// thread a query.
///
/// # Safety
/// `distances` and `exponents` have `count` elements.
#[kernel(named, block = BLOCK)]
pub unsafe fn adapt_powers(
    distances: *const f64,
    count: u64,
    expected: f64,
    levels: [f64; 5],
    bounds: [f64; 2],
    exponents: *mut f64,
) {
    let query = thread::index_1d();
    if query >= count {
        return;
    }
    let pattern = Pattern { expected, levels, bounds };
    // SAFETY: the query is below the count.
    unsafe {
        let power = pattern.power(*distances.add(query as usize));
        *exponents.add(query as usize) = -0.5 * power;
    }
}
