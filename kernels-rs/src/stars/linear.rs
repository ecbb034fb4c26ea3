//! Values that are linear in each triangle.

use super::angles::{cross, way};
use super::predicates::Place;

/// Which part of an edge lies before a place on it.
#[inline(always)]
pub fn part_of_edge(place: Place, [from, to]: [Place; 2]) -> f64 {
    let ([x, y], [east, north]) = (way(from, to), way(from, place));
    (east * x + north * y) / (x * x + y * y)
}

/// The value on an edge, from the values of its ends.
#[inline(always)]
pub fn on_edge(part: f64, [a, b]: [f64; 2]) -> f64 {
    a * (1.0 - part) + b * part
}

/// The value in a triangle, from its corners and their values.
#[inline(always)]
pub fn in_triangle(place: Place, corners: [Place; 3], values: [f64; 3]) -> f64 {
    let [a, b, c] = corners.map(|corner| way(place, corner));
    let parts = [cross(b, c), cross(c, a), cross(a, b)];
    let sum = parts[0] + parts[1] + parts[2];
    (values[0] * parts[0] + values[1] * parts[1] + values[2] * parts[2]) / sum
}
