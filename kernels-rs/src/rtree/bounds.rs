//! The bounding boxes of runs of points, and of runs of boxes.

use device_std::{Out, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Places;
use super::layout::{FANOUT, MAX_REPEATED};
use crate::spatial::place::Place;

/// Threads of a block.
const BLOCK: usize = 256;

/// Writes the bounding box of each run of 32 points. Grid: a thread for each point.
///
/// # Safety
/// The columns have `len` elements, at least one; `boxes` has a box for each run.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn bound_points<T: Place>(places: Places<'_, T>, boxes: Out<'_, [T; 4]>) {
    let i = thread::index_1d();
    // An index beyond the last point is brought to it, which the box of its run holds already.
    let from = u64::min(i, places.len as u64 - 1);
    let place = |i: u64| [places.x.get(i), places.y.get(i)];
    let [x, y] = place(from);
    // Each lane compares its own share of the points before the run, also where the run has no point for it.
    let first = i - warp::lane_id() as u64;
    let mut repeats = first >= MAX_REPEATED as u64 && first < places.len as u64;
    let mut before = FANOUT;
    while repeats && before <= MAX_REPEATED {
        repeats = place(i - before as u64) == [x, y];
        before += FANOUT;
    }
    // SAFETY: the whole warp comes here.
    unsafe {
        let [west, south, east, north] = around([x, y, x, y]);
        let is_place = west == east && south == north;
        let repeats = warp::all(warp::FULL, repeats && is_place);
        let north = if repeats { T::NAN } else { north };
        if warp::lane_id() == 0 && i < places.len as u64 {
            boxes.set(i / FANOUT as u64, [west, south, east, north]);
        }
    }
}

/// Writes the bounding box of each run of 32 of `len` boxes, which stand from `first` on; those boxes go from `parents` on.
/// Grid: a thread for each of them.
///
/// # Safety
/// There are `len` boxes, at least one, and room for a box for each run of them, apart from these.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn bound_boxes<T: Place>(boxes: Out<'_, [T; 4]>, first: u32, len: u32, parents: u32) {
    let i = thread::index_1d();
    let bounds = boxes.get(first as u64 + u64::min(i, len as u64 - 1));
    // SAFETY: the whole warp comes here.
    let bounds = unsafe { around(bounds) };
    if warp::lane_id() == 0 && i < len as u64 {
        boxes.set(parents as u64 + i / FANOUT as u64, bounds);
    }
}

/// The box around the boxes of a warp.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn around<T: Place>([west, south, east, north]: [T; 4]) -> [T; 4] {
    // SAFETY: passed on to the caller.
    unsafe {
        [
            warp::reduce(west, T::least),
            warp::reduce(south, T::least),
            warp::reduce(east, T::greatest),
            warp::reduce(north, T::greatest),
        ]
    }
}
