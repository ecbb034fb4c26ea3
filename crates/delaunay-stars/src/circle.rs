//! Centres of circles, and areas of polygons, relative to a place at the origin.

use kernels_rs::stars::angles::{cross, square};

/// The centre of the circle through the origin and two places that are not in line with it.
pub(crate) fn centre(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    let (of_a, of_b) = (square(a), square(b));
    let scale = 0.5 / cross(a, b);
    [(of_a * b[1] - of_b * a[1]) * scale, (of_b * a[0] - of_a * b[0]) * scale]
}

/// The area and the centre of gravity of a polygon, its corners counter-clockwise.
pub(crate) fn area_and_centroid(corners: &[[f64; 2]]) -> (f64, [f64; 2]) {
    let after = corners.iter().skip(1).chain(corners.first());
    let (mut twice, mut moments) = (0.0, [0.0; 2]);
    for (&a, &b) in corners.iter().zip(after) {
        let part = cross(a, b);
        twice += part;
        moments[0] += part * (a[0] + b[0]);
        moments[1] += part * (a[1] + b[1]);
    }
    (twice / 2.0, moments.map(|moment| moment / (3.0 * twice)))
}
