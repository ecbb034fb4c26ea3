//! A stereographic chart of the unit sphere: places around a middle as two coordinates.
//!
//! In the coordinates of a chart, the squared chord of two places is `16 |a - b|^2 / ((4 + |a|^2) (4 + |b|^2))`. So a
//! function that is smooth away from a place in the plane is as smooth in a chart, up to these factors. Within a
//! distance of 2 the factors are smooth. A chart has the whole sphere except the antipode of its middle.

use device_std::math;

use super::sphere::sine_cosine;

/// The chart around a middle, its axes to the east and to the north.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// The unit vector to the middle.
    pub middle: [f64; 3],
    east: [f64; 3],
    north: [f64; 3],
}

/// Nearer to a pole than this, every direction counts as east.
const POLAR: f64 = 1e-12;

/// Places count as the antipode of the middle if their cosine to the middle, plus 1, is below this.
const ANTIPODAL: f64 = 1e-9;

#[inline(always)]
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A vector of length 1 in a direction; to the pole if there is no direction.
#[inline(always)]
fn normalised([x, y, z]: [f64; 3]) -> [f64; 3] {
    let length = math::sqrt(x * x + y * y + z * z);
    if length > 0.0 && length < f64::INFINITY {
        [x / length, y / length, z / length]
    } else {
        [0.0, 0.0, 1.0]
    }
}

impl Chart {
    /// The chart around the place in a direction, which need not have length 1.
    #[inline(always)]
    pub fn around(direction: [f64; 3]) -> Self {
        let middle = normalised(direction);
        let [x, y, z] = middle;
        let is_polar = x * x + y * y < POLAR;
        let east = normalised(if is_polar { [1.0 - x * x, -x * y, -x * z] } else { [-y, x, 0.0] });
        let north =
            [y * east[2] - z * east[1], z * east[0] - x * east[2], x * east[1] - y * east[0]];
        Self { middle, east, north }
    }

    /// The chart with its axes turned to the left by `eighths` eighths of a right angle.
    #[inline(always)]
    pub fn turned(&self, eighths: u32) -> Self {
        let [sine, cosine] = sine_cosine(11.25 * eighths as f64);
        let Self { middle, east, north } = *self;
        let sum = |a: f64, b: f64, axis: usize| a * east[axis] + b * north[axis];
        let both = |a: f64, b: f64| [sum(a, b, 0), sum(a, b, 1), sum(a, b, 2)];
        Self { middle, east: both(cosine, sine), north: both(-sine, cosine) }
    }

    /// The coordinates of the place with this unit vector; those of the antipode are very large.
    #[inline(always)]
    pub fn place(&self, vector: [f64; 3]) -> [f64; 2] {
        let factor = 2.0 / f64::max(1.0 + dot(self.middle, vector), ANTIPODAL);
        [factor * dot(self.east, vector), factor * dot(self.north, vector)]
    }

    /// The unit vector to the place with these coordinates.
    #[inline(always)]
    pub fn vector(&self, [u, v]: [f64; 2]) -> [f64; 3] {
        let square = u * u + v * v;
        let (along, up) = (4.0 / (4.0 + square), (4.0 - square) / (4.0 + square));
        let axis = |i: usize| along * (u * self.east[i] + v * self.north[i]) + up * self.middle[i];
        [axis(0), axis(1), axis(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::sphere::unit_vector;

    #[test]
    fn places_come_back_from_their_coordinates() {
        for (lon, lat) in
            [(0.0, 0.0), (179.9, -45.0), (30.0, 90.0), (-60.0, -90.0), (12.0, 89.99999)]
        {
            let chart = Chart::around(unit_vector(lon, lat).map(|x| 7.0 * x));
            for (other_lon, other_lat) in [(lon, lat), (lon + 5.0, lat * 0.9), (-100.0, 20.0)] {
                let vector = unit_vector(other_lon, other_lat);
                let back = chart.vector(chart.place(vector));
                let off = |i: usize| (back[i] - vector[i]).abs();
                assert!(off(0) + off(1) + off(2) < 1e-14, "{lon}, {lat}: {back:?}, {vector:?}");
            }
        }
    }

    #[test]
    fn chords_follow_from_coordinates() {
        let chart = Chart::around(unit_vector(20.0, 50.0));
        let (a, b) = (unit_vector(25.0, 40.0), unit_vector(-10.0, 70.0));
        let ([u, v], [s, t]) = (chart.place(a), chart.place(b));
        let expected = 16.0 * ((u - s).powi(2) + (v - t).powi(2))
            / ((4.0 + u * u + v * v) * (4.0 + s * s + t * t));
        let chord: f64 = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum();
        assert!((chord - expected).abs() < 1e-14);
        // Coordinates along the meridian grow to the north, and with longitude to the east.
        let [east, north] = chart.place(unit_vector(21.0, 51.0));
        assert!(east > 0.0 && north > 0.0);
    }

    #[test]
    fn a_turned_chart_has_turned_coordinates() {
        let chart = Chart::around(unit_vector(20.0, 50.0));
        let vector = unit_vector(21.0, 52.0);
        let ([u, v], [s, t]) = (chart.place(vector), chart.turned(4).place(vector));
        let root = 0.5f64.sqrt();
        assert!((s - root * (u + v)).abs() < 1e-15 && (t - root * (v - u)).abs() < 1e-15);
        let back = chart.turned(3).vector(chart.turned(3).place(vector));
        assert!((0..3).all(|axis| (back[axis] - vector[axis]).abs() < 1e-15));
    }

    #[test]
    fn no_direction_and_the_antipode_have_numbers() {
        let [u, v] = Chart::around([0.0; 3]).place([0.0, 0.0, -1.0]);
        assert!(u.is_finite() && v.is_finite());
        let chart = Chart::around([f64::NAN, 1.0, 2.0]);
        assert_eq!(chart.middle, [0.0, 0.0, 1.0]);
    }
}
