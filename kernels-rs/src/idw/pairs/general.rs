//! Sums in f64, for whatever the kernels in f32 do not: on the sphere, in f64, leaving one point out.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::Points;
use crate::idw::targets::Targets;
use crate::idw::weights::weight_by;
use crate::idw::{BLOCK, SEVERAL, TILE};
use crate::spatial::sphere::arc_of_squared_chord;

const ALL: usize = SEVERAL as usize;

/// The squared distance in f64: in the plane in units, on the sphere of the arc in units.
///
/// # Safety
/// `point` is one of `points` places of `dimensions` dimensions.
#[inline(always)]
pub(super) unsafe fn squared_distance(
    dimensions: u32,
    scale: f64,
    (point, points): (*const f64, usize),
    query: [f64; 3],
) -> f64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let dx = *point - query[0];
        let dy = *point.add(points) - query[1];
        let plane = dx * dx + dy * dy;
        if dimensions < 3 {
            return plane * (scale * scale);
        }
        let dz = *point.add(2 * points) - query[2];
        let arc = arc_of_squared_chord(plane + dz * dz) * scale;
        arc * arc
    }
}

/// A query's place as those of the points are: in the plane, or the unit vector.
///
/// # Safety
/// The query is below the count; on the sphere `vectors` has three columns of `count` elements.
#[inline(always)]
pub(super) unsafe fn place_of(targets: &Targets, vectors: *const f64, query: u64) -> [f64; 3] {
    // SAFETY: passed on to the caller.
    unsafe {
        if vectors.is_null() {
            let [x, y] = targets.at(query);
            return [x, y, 0.0];
        }
        let (i, n) = (query as usize, targets.count as usize);
        [*vectors.add(i), *vectors.add(i + n), *vectors.add(i + 2 * n)]
    }
}

/// Sums in f64, straight from global memory. Grid in x: a thread a query; in y: blocks that share the
/// segments.
///
/// # Safety
/// `places` has `2 * points` elements, on the sphere three times as many, and `vectors` then those of
/// `count` queries, else it is null; `left_out`, unless null, has for each point the query that leaves it
/// out; `exponents`, unless null, has `count` elements; the rest as for
/// [`sum_tiles`](mod@super::direct::sum_tiles).
#[kernel(block = BLOCK, instances(one: <1>; several: <ALL>))]
pub unsafe fn sum_in_f64<const V: usize>(
    places: *const f64,
    values: *const f64,
    ranges: *const f64,
    points: u32,
    segment: u32,
    x: *const f64,
    y: *const f64,
    vectors: *const f64,
    count: u64,
    width: u32,
    grid: [f64; 3],
    law: u32,
    scale: f64,
    smoothing: f64,
    exponent: f64,
    exponents: *const f64,
    left_out: *const u32,
    partial: *mut f64,
) {
    let query = thread::index_1d();
    if query >= count {
        return;
    }
    let points = Points { places, values, count: points, segment, ranges };
    let targets = Targets { x, y, count, width, height: 0, grid };
    let dimensions = if vectors.is_null() { 2 } else { 3 };
    // SAFETY: query and points are below their counts; the caller's arrays are as long as said.
    unsafe {
        let place = place_of(&targets, vectors, query);
        let exponent = if exponents.is_null() { exponent } else { *exponents.add(query as usize) };
        let (first, last) = points.segments();
        let mut segment = first;
        while segment < last {
            let mut weights = 0.0;
            let mut values = [0.0; V];
            let mut i = segment as u64 * points.segment as u64 * TILE as u64;
            let end = u64::min(i + points.segment as u64 * TILE as u64, points.count as u64);
            while i < end {
                let point = i as usize;
                let at = (points.places.add(point), points.count as usize);
                let squared = squared_distance(dimensions, scale, at, place) + smoothing;
                let mut weight = weight_by(law, squared, exponent);
                if !left_out.is_null() && *left_out.add(point) as u64 == query {
                    weight = 0.0;
                }
                weights += weight;
                let mut v = 0;
                while v < V {
                    let value = *points.values.add(point + v * points.count as usize);
                    values[v] += weight * (value - points.offset(v));
                    v += 1;
                }
                i += 1;
            }
            let split = thread::grid_dim_y() > 1;
            let row = if split { segment as u64 } else { 0 } * (1 + V as u64);
            let mut c = 0;
            while c < 1 + V {
                let sum = partial.add(((row + c as u64) * count + query) as usize);
                let before = if split || segment == first { 0.0 } else { *sum };
                *sum = before + if c == 0 { weights } else { values[(c - 1) % V] };
                c += 1;
            }
            segment += 1;
        }
    }
}
