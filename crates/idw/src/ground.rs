//! What follows from where points lie as a whole: the area that they cover, and the unit of length.

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

    /// A power of two near the spacing of the points, in ground units: distances in it are numbers of
    /// moderate size.
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

    /// The pattern that adaptive powers follow from, with one point less where each is left out in turn.
    pub fn pattern(&self, how: Adaptive, leave_out: bool) -> Pattern {
        let area = if how.area > 0.0 { how.area } else { self.area() };
        let points = (self.count - usize::from(leave_out)) as f64;
        let Adaptive { levels, r_min, r_max, .. } = how;
        Pattern { expected: 0.5 * (area / points).sqrt(), levels, bounds: [r_min, r_max] }
    }
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
    fn the_pattern_expects_half_the_spacing_of_a_lattice() {
        let bounds = Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: 20.0, max_y: 20.0 });
        let ground = Ground { count: 100, bounds, geographic: false };
        assert_eq!(ground.pattern(Adaptive::default(), false).expected, 1.0);
        assert_eq!(ground.unit(), 2.0);
    }
}
