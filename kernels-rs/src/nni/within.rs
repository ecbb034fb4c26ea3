//! How many points lie within bounds.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::rasterise::count_flags;

/// Adds the number of points within bounds to `count`. Grid: a thread a point.
///
/// # Safety
/// `x` and `y` have `points` elements, `count` one.
#[kernel(named, block = 256)]
pub unsafe fn count_within(
    x: *const f64,
    y: *const f64,
    points: u64,
    min_x: f64,
    min_y: f64,
    max_x: f64,
    max_y: f64,
    count: *mut u64,
) {
    let point = thread::index_1d();
    let mut is_within = false;
    if point < points {
        // SAFETY: guarded by `points`.
        let (x, y) = unsafe { (*x.add(point as usize), *y.add(point as usize)) };
        is_within = min_x <= x && x <= max_x && min_y <= y && y <= max_y;
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_within, count) };
}
