//! Areas and angles of triangles, relative to a place at the origin.

use device_std::math;

/// Twice the signed area of the triangle of the origin, `a` and `b`: positive if they turn counter-clockwise.
///
/// It is exact to two units in the last place, however flat the triangle is. This is Kahan's difference of products
/// (Jeannerod, Louvet and Muller 2013, "Further analysis of Kahan's algorithm for the accurate computation of 2 x 2
/// determinants", doi:10.1090/S0025-5718-2013-02679-8).
#[inline(always)]
pub fn cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    let right = a[1] * b[0];
    let error = math::mul_add(-a[1], b[0], right);
    math::mul_add(a[0], b[1], -right) + error
}

/// Twice the area of the triangle of the origin, `a` and `b`, which turn counter-clockwise. If rounding has made it 0
/// or less, it is the error that rounding may make: callers divide by it.
#[inline(always)]
pub fn positive_cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    let cross = cross(a, b);
    // The vectors themselves are rounded. One of the two products is known, and the other differs from it by the cross
    // product.
    let products = math::mul_add(2.0, (a[1] * b[0]).abs(), cross.abs());
    if cross > 0.0 { cross } else { f64::EPSILON / 4.0 * products }
}

/// Whether a vector `b` surely points to the left of a vector `a`: both are rounded.
#[inline(always)]
pub fn is_left(a: [f64; 2], b: [f64; 2]) -> bool {
    cross(a, b) > 2.0 * f64::EPSILON * ((a[0] * b[1]).abs() + (a[1] * b[0]).abs())
}

/// The cotangent of the angle at a place `b` between the origin and `a`, times twice the area of the triangle.
#[inline(always)]
pub fn cotangent(a: [f64; 2], b: [f64; 2]) -> f64 {
    b[0] * (b[0] - a[0]) + b[1] * (b[1] - a[1])
}

/// The vector from a site to a neighbour.
#[derive(Clone, Copy)]
pub struct Edge {
    way: [f64; 2],
    squared: f64,
}

impl Edge {
    /// From the origin to a place.
    #[inline(always)]
    pub fn to(way: [f64; 2]) -> Self {
        Self { way, squared: dot(way, way) }
    }
}

/// Eight times the signed area of the part of a site's Voronoi cell that belongs to one triangle of its star.
///
/// The site lies at the origin; `a` and `b` are edges to neighbours that follow each other counter-clockwise. The part
/// is a kite: the site, the middle of one edge, the centre of the circle, the middle of the other edge. It is computed
/// from angles, since the centre may be far away.
#[inline(always)]
pub fn kite(a: &Edge, b: &Edge) -> f64 {
    let between = way(a.way, b.way);
    // Cotangents of the angles at both neighbours, times twice the area.
    let (at_a, at_b) = (-dot(a.way, between), dot(b.way, between));
    math::mul_add(a.squared, at_b, b.squared * at_a) / positive_cross(a.way, b.way)
}

/// The sum of both products, which is rounded twice.
#[inline(always)]
pub fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    math::mul_add(a[0], b[0], a[1] * b[1])
}

/// The square of a length.
#[inline(always)]
pub fn square([x, y]: [f64; 2]) -> f64 {
    x * x + y * y
}

/// The vector from one place to another.
#[inline(always)]
pub fn way(from: [f64; 2], to: [f64; 2]) -> [f64; 2] {
    [to[0] - from[0], to[1] - from[1]]
}
