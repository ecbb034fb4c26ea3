//! Turns boxes along runs of points, and along runs of boxes: see [`turned`](super::turned).
//!
//! A thread makes a box, and goes over the parts of its run three times. For ten million points that takes 0.2 ms on an
//! H200. A warp that takes a run together takes 0.6 ms, most of it for sums across lanes.

use core::array;

use device_std::shared::{Carver, Plain};
use device_std::{In, Out, kernel, math, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::bounds::Level;
use super::codes::Places;
use super::layout::{FANOUT, is_repeated};
use super::list::STRIDE;
use super::turned::{Stored, TurnedBox, difference, dot, length_across};
use crate::spatial::place::Place;

/// Threads of a block: a warp, since the points of one fill half of the shared memory that a block may have.
const BLOCK: usize = 32;

/// The range of no numbers.
const NOTHING: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

/// Writes the turned box of each run of 32 points in the plane. `boxes` are the upright ones. Grid: a thread for each
/// run.
///
/// # Safety
/// The columns have `len` elements, at least one; there are boxes for each run.
#[kernel(block = BLOCK, shared = bytes_of_runs::<T, 2>(), instances(f32: <f32>; f64: <f64>))]
pub unsafe fn turn_points<T: Place + Plain>(
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
#[kernel(block = BLOCK, shared = bytes_of_runs::<f64, 3>())]
pub unsafe fn turn_vectors(
    places: Places<'_, f64>,
    boxes: In<'_, [[f64; 3]; 2]>,
    turned: Out<'_, [[f64; 3]; 3]>,
) {
    // SAFETY: passed on to the caller.
    unsafe { turn_runs(&places, boxes, turned) }
}

/// Writes the turned box of each run of 32 turned boxes of a level in the plane. Grid: a thread for each run.
///
/// # Safety
/// The boxes and their parents are there, apart from each other.
#[kernel(block = BLOCK)]
pub unsafe fn turn_boxes(turned: Out<'_, [[f64; 2]; 3]>, level: Level) {
    turn_level(turned, level);
}

/// As [`turn_boxes`](mod@turn_boxes), of boxes of unit vectors.
///
/// # Safety
/// As for `turn_boxes`.
#[kernel(block = BLOCK)]
pub unsafe fn turn_boxes_of_vectors(turned: Out<'_, [[f64; 3]; 3]>, level: Level) {
    turn_level(turned, level);
}

/// Bytes of shared memory for the points of a block's runs.
const fn bytes_of_runs<T: Plain, const D: usize>() -> u32 {
    let mut carver = Carver::new();
    let _ = carver.array::<T>(BLOCK as u32 * D as u32 * STRIDE);
    carver.bytes()
}

/// The turned boxes of runs of points. A warp brings the points of its 32 runs to shared memory: neighbouring lanes load
/// neighbouring points, though each then needs those of its own run.
///
/// # Safety
/// The whole warp comes to the same call; the rest as for `turn_points`.
#[inline(always)]
unsafe fn turn_runs<T: Place + Plain, const D: usize>(
    places: &Places<'_, T>,
    boxes: In<'_, [[T; D]; 2]>,
    turned: Out<'_, Stored<D>>,
) {
    let (run, lane) = (thread::index_1d(), warp::lane_id());
    // Axis `axis` of point `i` of a lane's run is element `STRIDE (32 axis + lane) + i`, in banks of their own for all lanes.
    let staged = Carver::new().array::<T>(BLOCK as u32 * D as u32 * STRIDE);
    let element = |axis: usize, of: u32, i: u32| STRIDE * (axis as u32 * warp::SIZE + of) + i;
    // SAFETY: passed on to the caller; elements are below the number that a warp has, and written before they are read.
    unsafe {
        let mut of = 0;
        while of < vector::unknown(warp::SIZE) {
            let point = (run - lane as u64 + of as u64) * FANOUT as u64 + lane as u64;
            let place: [T; D] = places.place(u64::min(point, places.len as u64 - 1));
            let mut axis = 0;
            while axis < D {
                staged.store(element(axis, of, lane), place[axis]);
                axis += 1;
            }
            of += 1;
        }
        warp::sync_warp(warp::FULL);
    }
    let first = run * FANOUT as u64;
    if first >= places.len as u64 {
        return;
    }
    let count = u64::min(places.len as u64 - first, FANOUT as u64) as u32;
    let repeats = is_repeated(boxes.get(run));
    let part = |i: u32| {
        // SAFETY: as above.
        let place = array::from_fn(|axis| unsafe { staged.load(element(axis, lane, i)) }.widened());
        Part { ends: [place; 2], axis: [0.0; D], width: 0.0, repeats }
    };
    turned.set(run, around(count, part));
}

/// The turned boxes of runs of turned boxes.
#[inline(always)]
fn turn_level<const D: usize>(turned: Out<'_, Stored<D>>, level: Level) {
    let run = thread::index_1d();
    let first = run * FANOUT as u64;
    if first >= level.len as u64 {
        return;
    }
    let count = u64::min(level.len as u64 - first, FANOUT as u64) as u32;
    let part = |i: u32| {
        let child = TurnedBox::of(turned.get(level.first as u64 + first + i as u64));
        let repeats = child.length.is_nan();
        let ends = if child.length < f64::INFINITY { child.ends() } else { [child.centre; 2] };
        let width = if repeats { 0.0 } else { child.width };
        Part { ends, axis: child.axis, width, repeats }
    };
    turned.set(level.parents as u64 + run, around(count, part));
}

/// What a box is made around: a segment between two ends, with all that is within `width` of it across `axis`.
struct Part<const D: usize> {
    ends: [[f64; D]; 2],
    axis: [f64; D],
    width: f64,
    /// Whether it repeats a place. Then it counts as that place.
    repeats: bool,
}

/// The box around some parts. If all repeat places, the box repeats too.
///
/// ```text
/// axis    of the greatest second moment of the ends, about the first one: near enough to the mean
/// centre  of the ends' extents along the axis and across
/// halves  the greatest of the ends along and across, with what a width adds
/// ```
#[inline(always)]
fn around<const D: usize>(count: u32, part: impl Fn(u32) -> Part<D>) -> Stored<D> {
    let origin = part(0).ends[0];
    let axis = axis_of(count, &part, origin);
    let centre = centre_of(count, &part, origin, axis);
    let (mut length, mut width) = (0.0, 0.0);
    let (mut are_repeated, mut is_endless, mut i) = (true, false, 0);
    while i < vector::unknown(count) {
        let part = part(i);
        let lean = part.width * length_across(part.axis, axis);
        let mut end = 0;
        while end < 2 {
            let way = difference(part.ends[end], centre);
            let (along, across) = (dot(way, axis).abs() + lean, length_across(way, axis));
            length = f64::max(length, along);
            width = f64::max(width, across + part.width);
            // `max` drops NaN.
            is_endless |= !(along + across).is_finite();
            end += 1;
        }
        are_repeated &= part.repeats;
        i += 1;
    }
    if are_repeated {
        return [axis, centre, [f64::NAN; D]];
    }
    if is_endless {
        // Coordinates near the end of f64: the box is the plane, or space.
        return [[0.0; D], [0.0; D], [f64::INFINITY; D]];
    }
    // More than the rounding of what is above.
    let more = 1e-14 * (length + width);
    let halves = [length + more, width + more];
    [axis, centre, array::from_fn(|i| if i < 2 { halves[i] } else { 0.0 })]
}

/// The direction in which the ends of parts vary most.
#[inline(always)]
fn axis_of<const D: usize>(
    count: u32,
    part: &impl Fn(u32) -> Part<D>,
    origin: [f64; D],
) -> [f64; D] {
    let (mut sums, mut squares) = ([0.0; D], [[0.0; D]; D]);
    let mut i = 0;
    while i < vector::unknown(count) {
        for end in part(i).ends {
            let way = difference(end, origin);
            sums = array::from_fn(|i| sums[i] + way[i]);
            squares = array::from_fn(|i| array::from_fn(|j| squares[i][j] + way[i] * way[j]));
        }
        i += 1;
    }
    let count = 2.0 * count as f64;
    principal(array::from_fn(|i| array::from_fn(|j| squares[i][j] - sums[i] * sums[j] / count)))
}

/// The middle of the ends of parts, along an axis and across.
#[inline(always)]
fn centre_of<const D: usize>(
    count: u32,
    part: &impl Fn(u32) -> Part<D>,
    origin: [f64; D],
    axis: [f64; D],
) -> [f64; D] {
    let (mut along, mut across) = (NOTHING, [NOTHING; D]);
    let mut i = 0;
    while i < vector::unknown(count) {
        for end in part(i).ends {
            let way = difference(end, origin);
            let on_axis = dot(way, axis);
            let widened = |range: [f64; 2], number: f64| {
                [f64::min(range[0], number), f64::max(range[1], number)]
            };
            along = widened(along, on_axis);
            across = array::from_fn(|i| widened(across[i], way[i] - on_axis * axis[i]));
        }
        i += 1;
    }
    let middle = |[least, greatest]: [f64; 2]| 0.5 * (least + greatest);
    array::from_fn(|i| origin[i] + middle(along) * axis[i] + middle(across[i]))
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
