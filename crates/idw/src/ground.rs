//! Properties of a whole set of points: the area that it covers, and the unit of length.

use gpu_core::Bounds;
use kernels_rs::idw::pattern::Pattern;

use crate::Adaptive;

/// Mean radius of the Earth in metres (IUGG, R1).
pub const RADIUS: f64 = 6_371_008.8;

/// The number and the bounds of some points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ground {
    pub count: usize,
    pub bounds: Option<Bounds>,
    /// Whether coordinates are degrees on the sphere.
    pub geographic: bool,
}

impl Ground {
    /// The area that the points cover, in square ground units; 0 where they lie on a line.
    pub fn area(&self) -> f64 {
        let Some(b) = self.bounds else { return 0.0 };
        if self.geographic {
            return zone_area(b);
        }
        (b.max_x - b.min_x) * (b.max_y - b.min_y)
    }

    /// The unit of length, in ground units: a power of two near the spacing of the points, so that distances are
    /// numbers of moderate size.
    pub fn unit(&self) -> f64 {
        let (Some(b), n) = (self.bounds, self.count as f64) else { return 1.0 };
        let degree = if self.geographic { RADIUS.to_radians() } else { 1.0 };
        let longest = (b.max_x - b.min_x).max(b.max_y - b.min_y) * degree;
        let spacing = (self.area() / n).sqrt().max(longest / n);
        if spacing > 0.0 && spacing.is_finite() {
            2f64.powi((spacing.log2().round() as i32).clamp(-500, 500))
        } else {
            1.0
        }
    }

    /// Returns the pattern from which adaptive powers follow; in cross-validation it counts one point less.
    pub fn pattern(&self, how: Adaptive, leave_out: bool) -> Pattern {
        let area = if how.area > 0.0 { how.area } else { self.area() };
        let points = self.count - usize::from(leave_out);
        let neighbours = how.neighbours.min(points as u32);
        let expected = expected_distance(neighbours, area / points as f64);
        let Adaptive { levels, r_min, r_max, .. } = how;
        Pattern { expected, levels, bounds: [r_min, r_max] }
    }
}

/// The mean distance from a place to its `neighbours` nearest points that is expected in a random pattern, where a
/// point has this area.
///
/// The nearest is expected at half the spacing, and number i at `i - 1/2` over `i - 1` times the distance of the one
/// before it (Thompson 1956, doi:10.2307/1933159). So the mean of k grows by `k + 1/2` over k.
fn expected_distance(neighbours: u32, area: f64) -> f64 {
    let growth = |k: u32| (f64::from(k) + 0.5) / f64::from(k);
    (2..=neighbours).map(growth).product::<f64>() * 0.5 * area.sqrt()
}

/// The area between two meridians and two parallels, in square metres.
fn zone_area(b: Bounds) -> f64 {
    let height = b.max_y.to_radians().sin() - b.min_y.to_radians().sin();
    RADIUS * RADIUS * height * (b.max_x - b.min_x).to_radians()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_one_neighbour_expects_half_the_spacing_of_a_lattice() {
        let bounds = Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: 20.0, max_y: 20.0 });
        let ground = Ground { count: 100, bounds, geographic: false };
        let of_nearest = Adaptive::default().neighbours(1);
        assert_eq!(ground.pattern(of_nearest, false).expected, 1.0);
        assert_eq!(ground.unit(), 2.0);
    }

    #[test]
    fn no_more_neighbours_are_expected_than_there_are_points() {
        let bounds = Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: 20.0, max_y: 20.0 });
        let ground = Ground { count: 4, bounds, geographic: false };
        let expected = |neighbours, leave_out| {
            ground.pattern(Adaptive::default().neighbours(neighbours), leave_out).expected
        };
        assert_eq!(expected(10, false), expected(4, false));
        assert_eq!(expected(10, true), expected(3, true));
    }

    #[test]
    fn the_mean_distance_of_a_random_pattern_is_as_thompson_has_it() {
        // Gamma(i + 1/2) / (i - 1)! / sqrt(pi), by hand, of the first four: 1/2, 3/4, 15/16, 35/32.
        let of_each = [0.5, 0.75, 0.9375, 1.09375];
        for k in 1..=4 {
            let mean = of_each[..k].iter().sum::<f64>() / k as f64;
            assert!((expected_distance(k as u32, 1.0) - mean).abs() < 1e-15, "{k}");
        }
    }
}
