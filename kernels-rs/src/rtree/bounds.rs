//! The bounding boxes of runs of points, and of runs of boxes.

use device_std::{Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Places;
use super::layout::{FANOUT, MAX_REPEATED};
use crate::spatial::place::{Bounds, Place, are_same};

/// Threads of a block.
const BLOCK: usize = 256;

/// Writes the bounding box of each run of 32 points in the plane. Grid: a thread for each point.
///
/// # Safety
/// The columns have `len` elements, at least one; `boxes` has a box for each run.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn bound_points<T: Place>(places: Places<'_, T>, boxes: Out<'_, [[T; 2]; 2]>) {
    // SAFETY: passed on to the caller.
    unsafe { bound_runs(&places, boxes) }
}

/// As [`bound_points`](mod@bound_points), of unit vectors.
///
/// # Safety
/// As for `bound_points`; there is a z.
#[kernel(block = BLOCK)]
pub unsafe fn bound_vectors(places: Places<'_, f64>, boxes: Out<'_, [[f64; 3]; 2]>) {
    // SAFETY: passed on to the caller.
    unsafe { bound_runs(&places, boxes) }
}

/// Writes the bounding box of each run of 32 boxes of a level in the plane. Grid: a thread for each of them.
///
/// # Safety
/// The boxes and their parents are there, apart from each other.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn bound_boxes<T: Place>(boxes: Out<'_, [[T; 2]; 2]>, level: Level) {
    // SAFETY: passed on to the caller.
    unsafe { bound_level(boxes, level) }
}

/// As [`bound_boxes`](mod@bound_boxes), of boxes of unit vectors.
///
/// # Safety
/// As for `bound_boxes`.
#[kernel(block = BLOCK)]
pub unsafe fn bound_boxes_of_vectors(boxes: Out<'_, [[f64; 3]; 2]>, level: Level) {
    // SAFETY: passed on to the caller.
    unsafe { bound_level(boxes, level) }
}

/// Boxes of a level, and where the boxes around their runs go.
#[arguments]
pub struct Level {
    /// The first box.
    pub first: u32,
    /// How many, at least one.
    pub len: u32,
    /// Where the box of the first run goes.
    pub parents: u32,
}

/// The boxes of runs of points.
///
/// # Safety
/// The whole warp comes to the same call; the rest as for `bound_points`.
#[inline(always)]
unsafe fn bound_runs<T: Place, const D: usize>(
    places: &Places<'_, T>,
    boxes: Out<'_, [[T; D]; 2]>,
) {
    let i = thread::index_1d();
    let place = |i: u64| -> [T; D] { places.place(i) };
    // An index beyond the last point is brought to it, which the box of its run holds already.
    let own = place(u64::min(i, places.len as u64 - 1));
    // Each lane compares its own share of the points before the run, also where the run has no point for it.
    let first = i - warp::lane_id() as u64;
    let mut repeats = first >= MAX_REPEATED as u64 && first < places.len as u64;
    let mut before = FANOUT;
    while repeats && before <= MAX_REPEATED {
        repeats = are_same(place(i - before as u64), own);
        before += FANOUT;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        let [least, mut greatest] = around([own; 2]);
        if warp::all(warp::FULL, repeats && are_same(least, greatest)) {
            greatest[D - 1] = T::NAN;
        }
        if warp::lane_id() == 0 && i < places.len as u64 {
            boxes.set(i / FANOUT as u64, [least, greatest]);
        }
    }
}

/// The boxes of runs of boxes.
///
/// # Safety
/// The whole warp comes to the same call; the rest as for `bound_boxes`.
#[inline(always)]
unsafe fn bound_level<T: Place, const D: usize>(boxes: Out<'_, [[T; D]; 2]>, level: Level) {
    let i = thread::index_1d();
    let bounds = boxes.get(level.first as u64 + u64::min(i, level.len as u64 - 1));
    // SAFETY: passed on to the caller.
    let bounds = unsafe { around(bounds) };
    if warp::lane_id() == 0 && i < level.len as u64 {
        boxes.set(level.parents as u64 + i / FANOUT as u64, bounds);
    }
}

/// The box around the boxes of a warp.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn around<T: Place, const D: usize>([least, greatest]: Bounds<T, D>) -> Bounds<T, D> {
    // SAFETY: passed on to the caller.
    unsafe {
        [
            least.map(|along| warp::reduce(along, T::least)),
            greatest.map(|along| warp::reduce(along, T::greatest)),
        ]
    }
}
