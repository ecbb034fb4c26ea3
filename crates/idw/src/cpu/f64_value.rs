//! Computes a target's value from all points in f64, relative to the nearest point, so that no weight overflows. It is
//! for targets on a point or very far from all points, and where speed matters less.

use kernels_rs::idw::part::Weight;
use kernels_rs::spatial::sphere;

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::pairs::limit::Limit;
use crate::ground::RADIUS;

/// The square of the distance on the ground.
pub(super) fn squared_distance(geographic: bool, a: [f64; 3], b: [f64; 3]) -> f64 {
    let [dx, dy, dz] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let squared = dx * dx + dy * dy + dz * dz;
    if geographic { on_ground(squared) } else { squared }
}

/// The square of the great-circle distance, from that of the chord.
pub(super) fn on_ground(squared_chord: f64) -> f64 {
    (sphere::arc_of_squared_chord(squared_chord) * RADIUS).powi(2)
}

/// A target's place as the index has those of points.
pub(super) fn place(geographic: bool, (x, y): (f64, f64)) -> [f64; 3] {
    if geographic { sphere::unit_vector(x, y) } else { [x, y, 0.0] }
}

/// Value `v` at a target, without the point that is left out, and how much all others weigh: all those within the limit, if
/// there is one.
pub(super) fn value(
    index: &Index,
    params: &Params,
    target: (f64, f64),
    (left_out, limit): (Option<u32>, Option<Limit>),
    exponent: f64,
    v: usize,
) -> (f64, Weight) {
    let target = place(index.geographic, target);
    let smoothing = params.smoothing * params.smoothing;
    let squared =
        |i: usize| squared_distance(index.geographic, index.places[i], target) + smoothing;
    let counts = |i: usize| {
        let difference =
            |limit: Limit| limit.holds([0, 1, 2].map(|k| index.places[i][k] - target[k]));
        Some(index.order[i]) != left_out && limit.is_none_or(difference)
    };
    let all = || (0..index.len()).filter(|&i| counts(i));
    let nearest = all().map(squared).fold(f64::INFINITY, f64::min);
    let (mut weights, mut sum) = (0.0, 0.0);
    let range = index.range(v);
    if nearest > 0.0 {
        for i in all() {
            let ratio = squared(i) / nearest;
            let weight = if exponent == -1.0 { 1.0 / ratio } else { ratio.powf(exponent) };
            weights += weight;
            sum += weight * (index.value(v, i) - range.offset);
        }
        sum += range.offset * weights;
    } else {
        for i in all().filter(|&i| squared(i) == 0.0) {
            weights += 1.0;
            sum += index.value(v, i);
        }
    }
    if weights > 0.0 {
        let value = (sum / weights).clamp(range.low, range.high);
        (value, Weight::at_square(nearest, exponent, weights))
    } else {
        (f64::NAN, Weight::NONE)
    }
}
