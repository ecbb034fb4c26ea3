//! Turns boxes along runs of points, and along runs of boxes: see [`turned`](super::turned).

use core::array;

use device_std::{In, Out, kernel, math, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::bounds::Level;
use super::codes::Places;
use super::layout::{FANOUT, is_repeated};
use super::turned::{Stored, TurnedBox, difference, dot, length_across};
use crate::spatial::place::Place;

/// Threads of a block.
const BLOCK: usize = 256;

/// Writes the turned box of each run of 32 points in the plane. `boxes` are the upright ones. Grid: a thread for each
/// point.
///
/// # Safety
/// The columns have `len` elements, at least one; there are boxes for each run.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn turn_points<T: Place>(
    places: Places<'_, T>,
    boxes: In<'_, [[T; 2]; 2]>,
    turned: Out<'_, [[f64; 2]; 3]>,
) {
    // SAFETY: passed on to the caller.
    unsafe { turn_runs(&places, boxes, turned) }
}

/// As [`turn_points`](mod@turn_points), of unit vectors.
///
/// # Safety
/// As for `turn_points`; there is a z.
#[kernel(block = BLOCK)]
pub unsafe fn turn_vectors(
    places: Places<'_, f64>,
    boxes: In<'_, [[f64; 3]; 2]>,
    turned: Out<'_, [[f64; 3]; 3]>,
) {
    // SAFETY: passed on to the caller.
    unsafe { turn_runs(&places, boxes, turned) }
}

/// Writes the turned box of each run of 32 turned boxes of a level in the plane. Grid: a thread for each of them.
///
/// # Safety
/// The boxes and their parents are there, apart from each other.
#[kernel(block = BLOCK)]
pub unsafe fn turn_boxes(turned: Out<'_, [[f64; 2]; 3]>, level: Level) {
    // SAFETY: passed on to the caller.
    unsafe { turn_level(turned, level) }
}

/// As [`turn_boxes`](mod@turn_boxes), of boxes of unit vectors.
///
/// # Safety
/// As for `turn_boxes`.
#[kernel(block = BLOCK)]
pub unsafe fn turn_boxes_of_vectors(turned: Out<'_, [[f64; 3]; 3]>, level: Level) {
    // SAFETY: passed on to the caller.
    unsafe { turn_level(turned, level) }
}

/// The turned boxes of runs of points.
///
/// # Safety
/// The whole warp comes to the same call; the rest as for `turn_points`.
#[inline(always)]
unsafe fn turn_runs<T: Place, const D: usize>(
    places: &Places<'_, T>,
    boxes: In<'_, [[T; D]; 2]>,
    turned: Out<'_, Stored<D>>,
) {
    let i = thread::index_1d();
    // An index beyond the last point is brought to it.
    let last = places.len as u64 - 1;
    let place: [T; D] = places.place(u64::min(i, last));
    let repeats = is_repeated(boxes.get(u64::min(i, last) / FANOUT as u64));
    let point = place.map(Place::widened);
    // SAFETY: passed on to the caller.
    let of_run = unsafe { around([point; 2], point, 0.0, repeats) };
    if warp::lane_id() == 0 && i <= last {
        turned.set(i / FANOUT as u64, of_run);
    }
}

/// The turned boxes of runs of turned boxes.
///
/// # Safety
/// The whole warp comes to the same call; the rest as for `turn_boxes`.
#[inline(always)]
unsafe fn turn_level<const D: usize>(turned: Out<'_, Stored<D>>, level: Level) {
    let i = thread::index_1d();
    let child = TurnedBox::of(turned.get(level.first as u64 + u64::min(i, level.len as u64 - 1)));
    let repeats = child.length.is_nan();
    let ends = if child.length < f64::INFINITY { child.ends() } else { [child.centre; 2] };
    let width = if repeats { 0.0 } else { child.width };
    // SAFETY: passed on to the caller.
    let of_run = unsafe { around(ends, child.axis, width, repeats) };
    if warp::lane_id() == 0 && i < level.len as u64 {
        turned.set(level.parents as u64 + i / FANOUT as u64, of_run);
    }
}

/// The box around a part of each lane: a segment between two ends, with all that is within `width` of it across `axis`.
/// Parts that repeat places count as those places. If all do, the box repeats too.
///
/// ```text
/// axis    of the greatest second moment of the ends about their mean
/// centre  of the ends' extents along the axis and across
/// halves  the greatest of the ends along and across, with what a width adds
/// ```
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn around<const D: usize>(
    ends: [[f64; D]; 2],
    of_part: [f64; D],
    width: f64,
    repeats: bool,
) -> Stored<D> {
    // SAFETY: passed on to the caller.
    unsafe {
        let sum = |value: f64| warp::reduce(value, |a, b| a + b);
        let mean: [f64; D] =
            array::from_fn(|i| sum(0.5 * ends[0][i] + 0.5 * ends[1][i]) / warp::SIZE as f64);
        let ways = ends.map(|end| difference(end, mean));
        let moments: [[f64; D]; D] = array::from_fn(|i| {
            array::from_fn(|j| sum(ways[0][i] * ways[0][j] + ways[1][i] * ways[1][j]))
        });
        let axis = principal(moments);
        let middle = |a: f64, b: f64| {
            let least = warp::reduce(f64::min(a, b), f64::min);
            0.5 * (least + warp::reduce(f64::max(a, b), f64::max))
        };
        let along = ways.map(|way| dot(way, axis));
        let across: [[f64; D]; 2] =
            array::from_fn(|end| array::from_fn(|i| ways[end][i] - along[end] * axis[i]));
        let shift = middle(along[0], along[1]);
        let centre: [f64; D] =
            array::from_fn(|i| mean[i] + shift * axis[i] + middle(across[0][i], across[1][i]));
        let ways = ends.map(|end| difference(end, centre));
        let is_endless = width == f64::INFINITY;
        let lean = width * length_across(of_part, axis);
        let most = |[a, b]: [f64; 2], more: f64| warp::reduce(f64::max(a, b) + more, f64::max);
        let length = most(ways.map(|way| dot(way, axis).abs()), lean);
        let width = most(ways.map(|way| length_across(way, axis)), width);
        // More than the rounding of what is above.
        let more = 1e-14 * (length + width);
        let halves = if warp::all(warp::FULL, repeats) {
            [f64::NAN; 2]
        } else if length + width < f64::INFINITY && !warp::any(warp::FULL, is_endless) {
            [length + more, width + more]
        } else {
            // Coordinates near the end of f64: the box is the plane, or space.
            return [[0.0; D], [0.0; D], [f64::INFINITY; D]];
        };
        [axis, centre, array::from_fn(|i| if i < 2 { halves[i] } else { 0.0 })]
    }
}

/// A unit vector, nearly that of the greatest eigenvalue of a symmetric matrix that is not negative. By powers of the
/// matrix, since any unit vector will do.
#[inline(always)]
fn principal<const D: usize>(matrix: [[f64; D]; D]) -> [f64; D] {
    let (mut axis, mut greatest) = (matrix[0], matrix[0][0]);
    let mut i = 1;
    while i < D {
        if matrix[i][i] > greatest {
            (axis, greatest) = (matrix[i], matrix[i][i]);
        }
        i += 1;
    }
    let mut power = 0u32;
    while power < vector::unknown(6) {
        axis = unit(axis);
        axis = array::from_fn(|i| dot(matrix[i], axis));
        power += 1;
    }
    unit(axis)
}

/// A vector of length 1 in the direction of another; along x if that is too short or too long to tell.
#[inline(always)]
fn unit<const D: usize>(vector: [f64; D]) -> [f64; D] {
    let most = vector.iter().fold(0.0, |most, along| f64::max(most, along.abs()));
    let scaled = vector.map(|along| along / most);
    let length = math::sqrt(dot(scaled, scaled));
    let is_told = most > 0.0 && most < f64::INFINITY && length >= 1.0;
    array::from_fn(|i| match is_told {
        true => scaled[i] / length,
        false => (i == 0) as u32 as f64,
    })
}
