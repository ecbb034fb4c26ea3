//! The bounding boxes of runs of points, and of runs of boxes.

use device_std::{kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::layout::FANOUT;
use crate::spatial::place::Place;

/// Threads of a block.
const BLOCK: usize = 256;

/// Points at one place of which every search finds enough: as many as the longest list in registers.
pub const MAX_REPEATED: u32 = 64;

/// Whether a box repeats a place: it holds points of one place alone, and so do the [`MAX_REPEATED`] points before them, the
/// same one. Its northern edge is NaN; the southern one, which is the same, stands for it. A box around boxes that all repeat
/// a place is marked likewise, since the greatest of NaN and a number is the number.
#[inline(always)]
pub fn is_repeated<T: Place>([_, _, _, north]: [T; 4]) -> bool {
    north.widened().is_nan()
}

/// Writes the bounding box of each run of 32 points. Grid: a thread for each point.
///
/// # Safety
/// `x` and `y` have `len` elements, at least one; `boxes` has room for a box for each run, aligned to 16 bytes.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn bound_points<T: Place>(x: *const T, y: *const T, len: u64, boxes: *mut [T; 4]) {
    let i = thread::index_1d();
    // SAFETY: an index beyond the last point is brought to it, which the box of its run holds already.
    unsafe {
        let from = u64::min(i, len - 1) as usize;
        let place = |i: usize| [*x.add(i), *y.add(i)];
        let [x, y] = place(from);
        let mut repeats = from >= MAX_REPEATED as usize;
        let mut before = FANOUT;
        while repeats && before <= MAX_REPEATED {
            repeats = place(from - before as usize) == [x, y];
            before += FANOUT;
        }
        let [west, south, east, north] = around([x, y, x, y]);
        let is_place = west == east && south == north;
        let repeats = warp::all(warp::FULL, repeats && is_place);
        put(if repeats { [west, south, east, T::NAN] } else { [west, south, east, north] }, i, len, boxes);
    }
}

/// Writes the bounding box of each run of 32 boxes. Grid: a thread for each of them.
///
/// # Safety
/// There are `len` boxes, at least one, aligned to 16 bytes; `parents` has room for a box for each run of them.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn bound_boxes<T: Place>(boxes: *const [T; 4], len: u64, parents: *mut [T; 4]) {
    let i = thread::index_1d();
    // SAFETY: as in `bound_points`.
    unsafe {
        let bounds = T::load_box(boxes.add(u64::min(i, len - 1) as usize));
        put(around(bounds), i, len, parents);
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

/// Writes the box of a warp's run, if the first of the run is there.
///
/// # Safety
/// There is room for the box.
#[inline(always)]
unsafe fn put<T: Place>(bounds: [T; 4], i: u64, len: u64, to: *mut [T; 4]) {
    if warp::lane_id() == 0 && i < len {
        // SAFETY: passed on to the caller.
        unsafe { *to.add((i / FANOUT as u64) as usize) = bounds };
    }
}
