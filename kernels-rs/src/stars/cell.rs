//! Corners of Voronoi cells, their areas and centres of gravity, relative to a place at the origin.

use super::angles::{cross, square};
use super::predicates::Place;

/// The centre of the circle through the origin and two places; the three are not on one line.
#[inline(always)]
pub fn centre(a: Place, b: Place) -> Place {
    let (of_a, of_b) = (square(a), square(b));
    let scale = 0.5 / cross(a, b);
    [(of_a * b[1] - of_b * a[1]) * scale, (of_b * a[0] - of_a * b[0]) * scale]
}

/// Sums over the sides of a polygon, whose corners come in counter-clockwise order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polygon {
    twice_area: f64,
    moments: [f64; 2],
}

impl Polygon {
    /// Adds the side from one corner to the next.
    #[inline(always)]
    pub fn add(&mut self, a: Place, b: Place) {
        let part = cross(a, b);
        self.twice_area += part;
        self.moments[0] += part * (a[0] + b[0]);
        self.moments[1] += part * (a[1] + b[1]);
    }

    /// The area.
    #[inline(always)]
    pub fn area(&self) -> f64 {
        self.twice_area / 2.0
    }

    /// The centre of gravity.
    #[inline(always)]
    pub fn centroid(&self) -> Place {
        self.moments.map(|moment| moment / (3.0 * self.twice_area))
    }
}
