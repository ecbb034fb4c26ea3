//! Centres of circles, and areas of polygons, relative to a place at the origin.

/// The centre of the circle through the origin and two places that are not in line with it.
pub(crate) fn centre(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    let square = |[x, y]: [f64; 2]| x * x + y * y;
    let (of_a, of_b) = (square(a), square(b));
    let scale = 0.5 / cross(a, b);
    [(of_a * b[1] - of_b * a[1]) * scale, (of_b * a[0] - of_a * b[0]) * scale]
}

/// Twice the signed area of the triangle of the origin, `a` and `b`: positive if they turn counter-clockwise.
///
/// It is exact to two units in the last place, however flat the triangle is. This is Kahan's difference of products (Jeannerod,
/// Louvet and Muller 2013, "Further analysis of Kahan's algorithm for the accurate computation of 2 x 2 determinants",
/// doi:10.1090/S0025-5718-2013-02679-8).
pub(crate) fn cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    let right = a[1] * b[0];
    let error = (-a[1]).mul_add(b[0], right);
    a[0].mul_add(b[1], -right) + error
}

/// Twice the area of the triangle of the origin, `a` and `b`, which turn counter-clockwise. If rounding has made it 0 or less, it
/// is the error that rounding may make: callers divide by it.
pub(crate) fn positive_cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    // The ways themselves are rounded.
    let rounding = f64::EPSILON / 4.0 * ((a[0] * b[1]).abs() + (a[1] * b[0]).abs());
    let cross = cross(a, b);
    if cross > 0.0 { cross } else { rounding }
}

/// The cotangent of the angle at a place `b` between the origin and `a`, times twice the area of the triangle.
pub(crate) fn cotangent(a: [f64; 2], b: [f64; 2]) -> f64 {
    b[0] * (b[0] - a[0]) + b[1] * (b[1] - a[1])
}

/// Eight times the signed area of the part of a site's Voronoi cell that belongs to one triangle of its star.
///
/// The site lies at the origin, its neighbours are `a` and `b`. The part is a kite: the site, the middle of one edge, the centre of
/// the circle, the middle of the other edge. It is computed from angles, since the centre may be far away.
pub(crate) fn kite(a: [f64; 2], b: [f64; 2], twice_area: f64) -> f64 {
    let square = |[x, y]: [f64; 2]| x * x + y * y;
    (square(a) * cotangent(a, b) + square(b) * cotangent(b, a)) / twice_area
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
