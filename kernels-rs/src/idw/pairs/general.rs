//! Sums in f64, where the f32 kernels do not apply: on the sphere, for f64 results, and with one point left out.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::Segmented;
use crate::idw::targets::Targets;
use crate::idw::weights::{Weighting, weight_by};
use crate::idw::{BLOCK, SEVERAL, TILE};
use crate::spatial::sphere::arc_of_squared_chord;

const ALL: usize = SEVERAL as usize;

/// The squared distance in f64: in the plane in units, on the sphere the squared arc in units. `point` begins at one
/// point's x in the places of `points` points.
#[inline(always)]
pub(super) fn squared_distance(
    dimensions: u32,
    scale: f64,
    (point, points): (In<'_, f64>, usize),
    target: [f64; 3],
) -> f64 {
    let dx = point.get(0u32) - target[0];
    let dy = point.get(points) - target[1];
    let plane = dx * dx + dy * dy;
    if dimensions < 3 {
        return plane * (scale * scale);
    }
    let dz = point.get(2 * points) - target[2];
    let arc = arc_of_squared_chord(plane + dz * dz) * scale;
    arc * arc
}

/// A target's place in the form of the points' places: in the plane, or the unit vector.
#[inline(always)]
pub(super) fn place_of(
    targets: &Targets<'_>,
    vectors: Option<In<'_, f64>>,
    target: u64,
) -> [f64; 3] {
    let Some(vectors) = vectors else {
        let [x, y] = targets.at(target);
        return [x, y, 0.0];
    };
    let n = targets.count;
    [vectors.get(target), vectors.get(target + n), vectors.get(target + 2 * n)]
}

/// Sums in f64, straight from global memory. Grid in x: a thread a target; in y: blocks that share the
/// segments.
///
/// # Safety
/// The slices have what their structs say. On the sphere `vectors` has x, y and z of the unit vector of each target,
/// column after column; in the plane it is `None`. `left_out` has for each point the target that leaves it out.
/// `partial` is as for [`sum_tiles`](mod@super::direct::sum_tiles).
#[kernel(block = BLOCK, instances(one: <1>; several: <ALL>))]
pub unsafe fn sum_in_f64<const V: usize>(
    points: Segmented<'_>,
    targets: Targets<'_>,
    vectors: Option<In<'_, f64>>,
    law: u32,
    scale: f64,
    weighting: Weighting<'_>,
    left_out: Option<In<'_, u32>>,
    partial: Out<'_, f64>,
) {
    let (target, count) = (thread::index_1d(), targets.count);
    if target >= count {
        return;
    }
    let dimensions = if vectors.is_none() { 2 } else { 3 };
    let place = place_of(&targets, vectors, target);
    let exponent = weighting.exponent_of(target);
    let (first, last) = points.segments();
    let Segmented { points, segment: tiles } = points;
    let mut segment = first;
    while segment < last {
        let mut weights = 0.0;
        let mut values = [0.0; V];
        let mut i = segment as u64 * tiles as u64 * TILE as u64;
        let end = u64::min(i + tiles as u64 * TILE as u64, points.count as u64);
        while i < end {
            let point = i as usize;
            let at = (points.places.from(point), points.count as usize);
            let squared = squared_distance(dimensions, scale, at, place) + weighting.smoothing;
            let mut weight = weight_by(law, squared, exponent);
            if left_out.is_some_and(|left_out| left_out.get(point) as u64 == target) {
                weight = 0.0;
            }
            weights += weight;
            let mut v = 0;
            while v < V {
                let value = points.values.get(point + v * points.count as usize);
                values[v] += weight * (value - points.offset(v));
                v += 1;
            }
            i += 1;
        }
        let split = thread::grid_dim_y() > 1;
        let row = if split { segment as u64 } else { 0 } * (1 + V as u64);
        let mut c = 0;
        while c < 1 + V {
            let sum = (row + c as u64) * count + target;
            let before = if split || segment == first { 0.0 } else { partial.get(sum) };
            partial.set(sum, before + if c == 0 { weights } else { values[(c - 1) % V] });
            c += 1;
        }
        segment += 1;
    }
}
