//! Places on a sphere.

use gpu_core::Bounds;
use rayon::prelude::*;

/// Mean radius of the Earth in metres (IUGG, R1).
pub const RADIUS: f64 = 6_371_008.8;

/// A longitude between -180 and 180 degrees.
pub(crate) fn normalised(longitude: f64) -> f64 {
    if (-180.0..=180.0).contains(&longitude) {
        return longitude;
    }
    (longitude + 180.0).rem_euclid(360.0) - 180.0
}

/// The vector of length 1 to a place, from degrees.
pub(crate) fn unit_vector(longitude: f64, latitude: f64) -> [f64; 3] {
    let ((sin_lon, cos_lon), (sin_lat, cos_lat)) =
        (longitude.to_radians().sin_cos(), latitude.to_radians().sin_cos());
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// The vectors of many places, as columns.
pub(crate) fn unit_vectors(longitudes: &[f64], latitudes: &[f64]) -> [Vec<f64>; 3] {
    let all: Vec<[f64; 3]> =
        longitudes.par_iter().zip(latitudes).map(|(&lon, &lat)| unit_vector(lon, lat)).collect();
    [0, 1, 2].map(|axis| all.iter().map(|v| v[axis]).collect())
}

/// The angle between two vectors whose difference has this square.
pub(crate) fn arc_of_squared_chord(squared: f64) -> f64 {
    2.0 * (squared.sqrt() * 0.5).min(1.0).asin()
}

/// The chord of an angle, squared.
pub(crate) fn squared_chord_of_arc(arc: f64) -> f64 {
    let half = (arc.min(std::f64::consts::PI) * 0.5).sin();
    4.0 * half * half
}

/// The area between two meridians and two parallels, in square metres.
pub(crate) fn zone_area(b: Bounds) -> f64 {
    let height = b.max_y.to_radians().sin() - b.min_y.to_radians().sin();
    RADIUS * RADIUS * height * (b.max_x - b.min_x).to_radians()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_great_circles() {
        let (a, b) = (unit_vector(179.0, 0.0), unit_vector(-179.0, 0.0));
        let squared = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum();
        assert!((arc_of_squared_chord(squared).to_degrees() - 2.0).abs() < 1e-12);
        assert!((squared_chord_of_arc(2f64.to_radians()) - squared).abs() < 1e-15);
        assert_eq!(normalised(190.0), -170.0);
        assert_eq!(normalised(-180.0), -180.0);
    }
}
