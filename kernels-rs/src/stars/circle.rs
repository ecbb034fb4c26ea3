//! Circles through a place, without centre and radius.

use super::predicates::Place;
use crate::spatial::place::Bounds;

/// Error bounds of [`Circle`]: at most 11 roundings go into each of its terms, and as many into the numbers that a box
/// is compared with.
pub const ROUNDING: f64 = 32.0 / (1u64 << 53) as f64;

/// A circle through the origin: `f(x, y) = w (x^2 + y^2) + u x + v y` is below 0 inside it.
///
/// Centre and radius may be enormous for sites that are nearly on a line; `u`, `v` and `w` are not.
#[derive(Clone, Copy)]
pub struct Circle {
    /// The factor of x.
    pub u: f64,
    /// The factor of y.
    pub v: f64,
    /// The factor of the square.
    pub w: f64,
    /// Bounds of the errors of the three.
    pub errors: [f64; 3],
}

impl Circle {
    /// Stands for a circle that holds everything.
    pub const EVERYTHING: Self = Self { u: 0.0, v: 0.0, w: 0.0, errors: [0.0; 3] };

    /// The circle through the origin and two places; the second lies to the left of the first.
    #[inline(always)]
    pub fn through(a: Place, b: Place) -> Self {
        let (of_a, of_b) = (a[0] * a[0] + a[1] * a[1], b[0] * b[0] + b[1] * b[1]);
        let minors =
            [[of_b * a[1], of_a * b[1]], [of_a * b[0], of_b * a[0]], [a[0] * b[1], a[1] * b[0]]];
        let [u, v, w] = minors.map(|[left, right]| left - right);
        let errors = minors.map(|[left, right]| ROUNDING * (left.abs() + right.abs()));
        Self { u, v, w, errors }
    }

    /// `f` of a place.
    #[inline(always)]
    pub fn at(&self, [x, y]: Place) -> f64 {
        self.w * (x * x + y * y) + self.u * x + self.v * y
    }

    /// The bound of the error of `f` if x and y are at most this large.
    #[inline(always)]
    pub fn bound(&self, [x, y]: Place) -> f64 {
        self.errors[2] * (x * x + y * y) + self.errors[0] * x.abs() + self.errors[1] * y.abs()
    }

    /// Whether a place may lie inside.
    #[inline(always)]
    pub fn may_hold(&self, place: Place) -> bool {
        self.at(place) <= self.bound(place)
    }

    /// Whether a place lies outside for sure.
    #[inline(always)]
    pub fn is_outside(&self, place: Place) -> bool {
        self.at(place) > self.bound(place)
    }

    /// Whether a box may hold a place inside.
    ///
    /// `f` is least in the box where the box is nearest to the centre. The bound is that of the box's farthest corner,
    /// so it holds for every place in the box.
    #[inline(always)]
    pub fn may_meet(&self, [[west, south], [east, north]]: Bounds<f64, 2>) -> bool {
        if self.w <= self.errors[2] {
            return true;
        }
        let scale = -0.5 / self.w;
        let x = f64::min(f64::max(self.u * scale, west), east);
        let y = f64::min(f64::max(self.v * scale, south), north);
        let far = [f64::max(west.abs(), east.abs()), f64::max(south.abs(), north.abs())];
        self.at([x, y]) <= self.bound(far)
    }
}
