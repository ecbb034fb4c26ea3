//! Places on a sphere, in f64 with the same bits on every back end.

use device_std::math;
use device_std::real::Real;

/// Sine and cosine of an angle in degrees, within two units in the last place; exact for multiples of 90 degrees. NaN
/// if the angle is not finite.
///
/// The nearest multiple of 90 is subtracted, without rounding. The rest, at most 45, goes into the Taylor series of
/// both.
#[inline(always)]
pub fn sine_cosine(degrees: f64) -> [f64; 2] {
    let quarters = math::round_ties_even(degrees / 90.0);
    let t = (degrees - 90.0 * quarters) * (core::f64::consts::PI / 180.0);
    let square = t * t;
    let (mut sine, mut cosine) = (1.0, 1.0);
    let mut k = 9;
    while k > 0 {
        // Horner's scheme: terms 2k and 2k + 1 follow from those before.
        sine = 1.0 - sine * square / (2 * k * (2 * k + 1)) as f64;
        cosine = 1.0 - cosine * square / (2 * k * (2 * k - 1)) as f64;
        k -= 1;
    }
    let sine = t * sine;
    let turn = quarters - 4.0 * math::floor(quarters * 0.25);
    if turn == 0.0 {
        [sine, cosine]
    } else if turn == 1.0 {
        [cosine, -sine]
    } else if turn == 2.0 {
        [-sine, -cosine]
    } else {
        [-cosine, sine]
    }
}

/// A longitude between -180 and 180 degrees.
#[inline(always)]
pub fn normalised(longitude: f64) -> f64 {
    if (-180.0..=180.0).contains(&longitude) {
        return longitude;
    }
    longitude - 360.0 * math::floor((longitude + 180.0) / 360.0)
}

/// The vector of length 1 to a place, from degrees.
#[inline(always)]
pub fn unit_vector(longitude: f64, latitude: f64) -> [f64; 3] {
    let [sin_lon, cos_lon] = sine_cosine(longitude);
    let [sin_lat, cos_lat] = sine_cosine(latitude);
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// How far to the west, as an arc, still counts as east: two nanometres on the ground, more than the rounding error of
/// places on one meridian.
pub const WEST: f64 = 2.5e-16;

/// The quadrant of one unit vector around another. Bit 0 is set if it lies to the east, by half a turn at most; bit 1
/// is set if it lies no farther south.
#[inline(always)]
pub fn quadrant(vector: [f64; 3], round: [f64; 3]) -> u32 {
    let turn = round[0] * vector[1] - round[1] * vector[0];
    (turn >= -WEST) as u32 | ((vector[2] >= round[2]) as u32) << 1
}

/// A vector on an octahedron that is unfolded to a square from -1 to 1, with the north in the middle. The northern faces lie
/// around it. Each southern face is turned over at its edge on the equator.
#[inline(always)]
pub fn unfolded([x, y, z]: [f64; 3]) -> [f64; 2] {
    let long = x.abs() + y.abs() + z.abs();
    let (u, v) = (x / long, y / long);
    if z >= 0.0 {
        return [u, v];
    }
    [(1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v)]
}

/// The angle between two unit vectors whose difference has this square: the great-circle distance on the
/// sphere of radius 1.
#[inline(always)]
pub fn arc_of_squared_chord<R: Real>(squared: R) -> R {
    squared.arc_of_squared_chord()
}

/// The square of the chord of an angle; beyond half a circle the square of the longest chord.
#[inline(always)]
pub fn squared_chord_of_arc(arc: f64) -> f64 {
    let half = f64::min(arc, core::f64::consts::PI) * (90.0 / core::f64::consts::PI);
    let [sine, _] = sine_cosine(half);
    4.0 * sine * sine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_are_those_of_the_standard_library() {
        for i in -80_000..80_000 {
            let degrees = f64::from(i) * 0.009_37;
            let [sine, cosine] = sine_cosine(degrees);
            let (s, c) = degrees.to_radians().sin_cos();
            // The conversion to radians rounds by a share of the angle.
            let slack = 2.3e-16 * (2.0 + degrees.abs().to_radians());
            assert!((sine - s).abs() < slack && (cosine - c).abs() < slack, "{degrees}");
        }
        for (degrees, expected) in
            [(0.0, [0.0, 1.0]), (90.0, [1.0, 0.0]), (180.0, [0.0, -1.0]), (-90.0, [-1.0, 0.0])]
        {
            let [sine, cosine] = sine_cosine(degrees);
            assert_eq!([sine + 0.0, cosine + 0.0], expected);
        }
        assert!(sine_cosine(f64::INFINITY)[0].is_nan() && sine_cosine(f64::NAN)[1].is_nan());
    }

    #[test]
    fn near_places_lie_near_each_other_on_the_octahedron() {
        for i in 0..2000 {
            let (longitude, latitude) =
                (f64::from(i % 50) * 7.2 - 180.0, f64::from(i / 50) * 4.4 - 86.0);
            let [a, b] = [0.0, 0.01].map(|more| unfolded(unit_vector(longitude, latitude + more)));
            assert!(a.iter().all(|along| along.abs() <= 1.0));
            // Along the edges that are cut a place jumps to the mirrored side.
            let jumps = latitude < 0.0 && (longitude % 90.0).abs() < 1e-9;
            assert!(jumps || (a[0] - b[0]).hypot(a[1] - b[1]) < 4e-4, "{longitude} {latitude}");
        }
    }

    #[test]
    fn arcs_are_great_circles() {
        let (a, b) = (unit_vector(179.0, 0.0), unit_vector(-179.0, 0.0));
        let squared: f64 = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum();
        assert!((arc_of_squared_chord(squared).to_degrees() - 2.0).abs() < 1e-12);
        assert!((squared_chord_of_arc(2f64.to_radians()) - squared).abs() < 1e-15);
        assert_eq!((normalised(190.0), normalised(-180.0)), (-170.0, -180.0));
        assert_eq!((normalised(540.0), normalised(-190.0)), (-180.0, 170.0));
    }
}
