//! Values beside a point that lies very far away, next to Sibson's weights in double-double arithmetic.
//!
//! The cells of places between the hull of the others and the stray point reach halfway to it.

use crate::common::{on_all, only};
use crate::exact::unlimited;
use gpu_core::GridSpec;
use nni_grid::Weights;
use std::ops::{Add, Div, Mul, Sub};
use testing::{Cloud, clouds};

/// An unevaluated sum of two numbers, of 106 bits (Dekker 1971, doi:10.1007/BF01397083).
#[derive(Clone, Copy)]
struct Double(f64, f64);

/// The sum and its rounding error (Knuth's TwoSum).
fn two_sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    let part = sum - a;
    Double(sum, (a - (sum - part)) + (b - part))
}

impl From<f64> for Double {
    fn from(value: f64) -> Self {
        Self(value, 0.0)
    }
}

impl Add for Double {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (two_sum(self.0, other.0), two_sum(self.1, other.1));
        let Double(high, middle) = two_sum(high.0, high.1 + low.0);
        two_sum(high, middle + low.1)
    }
}

impl Sub for Double {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self(-other.0, -other.1)
    }
}

impl Mul for Double {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let error = self.0.mul_add(other.0, -product);
        two_sum(product, error + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Double {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = Self::from(self.0 / other.0);
        let second = Self::from((self - first * other).0 / other.0);
        let third = Self::from((self - (first + second) * other).0 / other.0);
        first + second + third
    }
}

type Place = [Double; 2];

fn dot(a: Place, b: Place) -> Double {
    a[0] * b[0] + a[1] * b[1]
}

fn less(a: Place, b: Place) -> Place {
    [a[0] - b[0], a[1] - b[1]]
}

/// What of a polygon is nearer to one place than to another.
fn nearer(polygon: &[Place], to: Place, than: Place) -> Vec<Place> {
    let normal = less(than, to);
    let room = (dot(than, than) - dot(to, to)) * 0.5.into();
    let excess = |place| dot(normal, place) - room;
    let mut kept = Vec::new();
    for (i, &a) in polygon.iter().enumerate() {
        let b = polygon[(i + 1) % polygon.len()];
        let (of_a, of_b) = (excess(a), excess(b));
        if of_a.0 <= 0.0 {
            kept.push(a);
        }
        if (of_a.0 <= 0.0) != (of_b.0 <= 0.0) {
            let (part, way) = (of_a / (of_a - of_b), less(b, a));
            kept.push([a[0] + way[0] * part, a[1] + way[1] * part]);
        }
    }
    kept
}

/// Twice a polygon's area.
fn area(polygon: &[Place]) -> Double {
    let mut sum = Double::from(0.0);
    for (i, &from) in polygon.iter().enumerate().skip(1) {
        let [a, b] = [from, polygon[(i + 1) % polygon.len()]].map(|p| less(p, polygon[0]));
        sum = sum + (a[0] * b[1] - a[1] * b[0]);
    }
    sum
}

/// Sibson's interpolant of values at a place by definition: the Voronoi cell that the place would have, and what of it is
/// each site's. The cell must lie within `reach`.
fn sibson(cloud: &Cloud, values: &[f64], [x, y]: [f64; 2], reach: f64) -> f64 {
    let from = |i: usize, at: f64, all: &[f64]| Double::from(all[i]) - at.into();
    let place = |i: usize| [from(i, x, &cloud.x), from(i, y, &cloud.y)];
    let here = [0.0.into(); 2];
    let mut order: Vec<_> = (0..cloud.len()).map(place).zip(values).collect();
    order.sort_by(|(a, _), (b, _)| dot(*a, *a).0.total_cmp(&dot(*b, *b).0));
    let corners = [(1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)];
    let mut cell: Vec<Place> =
        corners.map(|(x, y)| [x * reach, y * reach].map(Double::from)).into();
    for (site, _) in &order {
        cell = nearer(&cell, here, *site);
    }
    let (mut total, mut mean) = (Double::from(0.0), Double::from(0.0));
    for (site, value) in &order {
        let mut stolen = cell.clone();
        for (other, _) in order.iter().filter(|(other, _)| less(*other, *site)[0].0 != 0.0) {
            stolen = nearer(&stolen, *site, *other);
            if stolen.is_empty() {
                break;
            }
        }
        let weight = area(&stolen);
        (total, mean) = (total + weight, mean + weight * (**value).into());
    }
    let largest = cell.iter().flatten().map(|c| c.0.abs()).fold(0.0, f64::max);
    assert!(largest < 0.9 * reach, "the cell of {x}, {y} has no end");
    (mean / total).0
}

#[test]
fn values_beside_a_stray_point_are_those_of_double_double_arithmetic() {
    let grid = GridSpec::new(13.0, 991.0, 49.0, 20, 20).unwrap();
    for (points, seed, far) in
        [(5, 2, 1e12), (40, 3, 1e12), (500, 1, 1e12), (40, 3, 1e8), (40, 4, 1e10), (40, 5, 1e18)]
    {
        let mut cloud = clouds::stray(points, seed);
        (cloud.x[points - 1], cloud.y[points - 1]) = (far, far);
        for values in [cloud.z.clone(), cloud.x.clone()] {
            let cloud = Cloud { z: values.clone(), ..cloud.clone() };
            let dem = on_all(&cloud, grid, &unlimited().hull(true));
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let range = values.iter().copied().fold(0.0, f64::max) - least;
            let (mut worst, mut compared) = (0.0f64, 0);
            for (cell, &value) in (0..).zip(only(&dem)).filter(|(_, value)| !value.is_nan()) {
                let (x, y) = grid.cell_centre(cell % grid.width, cell / grid.width);
                let off = (f64::from(value) - sibson(&cloud, &values, [x, y], 1e4 * far)).abs();
                assert!(
                    off <= 1e-5 * range,
                    "{points} points, {far:e}: {value} off by {off:e} of {range:e} at {x}, {y}"
                );
                (worst, compared) = (worst.max(off / range), compared + 1);
            }
            println!("{points} points, stray at {far:e}: {compared} cells, worst {worst:.1e}");
            assert!(compared > 150, "{compared}");
        }
    }
}

#[test]
fn the_mean_of_the_neighbours_places_is_the_query_beside_a_stray_point() {
    let grid = GridSpec::new(13.0, 991.0, 49.0, 20, 20).unwrap();
    for (points, seed) in [(5, 2), (500, 1)] {
        for weights in [Weights::Sibson, Weights::Laplace] {
            let dem = on_all(
                &clouds::stray(points, seed),
                grid,
                &unlimited().hull(true).weights(weights),
            );
            let deviations = dem.deviations.as_ref().unwrap().values();
            let worst = deviations.iter().copied().fold(0.0, f32::max);
            println!("{points} points, {weights:?}: {worst:e} cells");
            assert!(worst < 1e-3, "{points} points, {weights:?}: {worst} cells");
        }
    }
}
