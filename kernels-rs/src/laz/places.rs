//! Coordinates in the units of a reference system: the kernel `place_points`.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// A coordinate of a file's unit in that of the reference system, as LAS has it.
#[inline(always)]
pub fn coordinate(along: i32, scale: f64, offset: f64) -> f64 {
    along as f64 * scale + offset
}

/// Writes the coordinates of `count` points along an axis. Grid: a thread for each.
///
/// # Safety
/// Both columns have `count` elements.
#[kernel(block = 256)]
pub unsafe fn place_points(
    along: In<'_, i32>,
    count: u64,
    scale: f64,
    offset: f64,
    coordinates: Out<'_, f64>,
) {
    let i = thread::index_1d();
    if i < count {
        coordinates.set(i, coordinate(along.get(i), scale, offset));
    }
}
