//! How far a circle through the ends of an edge reaches to the left, in f32 with a bound of the error.
//!
//! The centres of circles through both ends `0` and `a` of an edge lie on the line through its middle across it: that of the
//! circle through a place `c` at `(a + t a') / 2`, with `a'` for `a` turned left, and `t = height / left`:
//!
//! ```text
//! left   = a x c           twice the area of the triangle
//! height = c . (c - a)
//! ```
//!
//! Of the places on the left that of the least `t` is the third corner: its circle holds no other.
//!
//! Places are at most `W` from the origin along an axis, and rounded by `u = 2^-24` of that; so is the edge's first end, and
//! their difference is wrong by `4 u W`. With `|a|` for the sum of its coordinates' magnitudes:
//!
//! - `left` is wrong by less than `12 u W |a|`;
//! - `height` of a place that is nearer to the first end than `2 |a|`, by less than `28 u W |a|`; of one farther away, where it
//!   is at least half the square of its distance, by less than a part `28 u W / |a|`.
//!
//! Each place gets the least `t` that it may have so. Where that of the next best is above the greatest that the best may
//! have, f32 has decided.

use device_std::{math, warp};

use crate::stars::rough::NONE;

/// Half a unit in the last place of 1.
pub const HALF_ULP: f32 = 1.0 / (1u32 << 24) as f32;

/// An edge, seen from its first end.
#[derive(Clone, Copy)]
pub struct Chord {
    /// The way to the other end.
    way: [f32; 2],
    /// By how much `height` and `left` of a place may be wrong.
    of_height: f32,
    of_left: f32,
    /// By which part of itself `t` of a place far away may be wrong.
    part: f32,
}

/// The place whose circle reaches least far of those seen.
#[derive(Clone, Copy)]
pub struct Least {
    /// Which; [`NONE`] before there is one.
    pub site: u32,
    /// Its `t`, at least.
    t: f32,
    left: f32,
    /// That of the next best, at least.
    next: f32,
}

impl Chord {
    /// The edge along a way among places that are at most `reach` from the origin along an axis.
    #[inline(always)]
    pub fn new(way: [f32; 2], reach: f32) -> Self {
        let length = way[0].abs() + way[1].abs();
        let rounding = HALF_ULP * reach;
        Self {
            way,
            of_height: 28.0 * rounding * length,
            of_left: 12.0 * rounding * length,
            part: 40.0 * rounding * math::reciprocal_f32(length),
        }
    }

    /// The least `t` that a place may have, and its `left`. It may be on the left where this is above [`of_left`](Self::of_left).
    #[inline(always)]
    fn see(&self, [x, y]: [f32; 2]) -> (f32, f32) {
        let [ax, ay] = self.way;
        let left = math::mul_add_f32(ax, y, -(ay * x));
        let height = math::mul_add_f32(x, x - ax, math::mul_add_f32(y, y - ay, -self.of_height));
        let divisor = f32::max(left + self.of_left.copysign(height), f32::MIN_POSITIVE);
        (height * math::reciprocal_f32(divisor), left)
    }

    /// Whether a place may be on the left with a circle that reaches no farther than `t`.
    #[inline(always)]
    pub fn may_reach_less(&self, place: [f32; 2], t: f32) -> bool {
        let (own, left) = self.see(place);
        left > -self.of_left && f32::min(own, own - own * self.part) <= t
    }

    /// The greatest distance from the first end of what a circle that reaches to `t` has on the left, squared, or of the
    /// circle over the edge.
    ///
    /// With its centre on the left this is the place across the circle. Else the circle over the edge holds what is on the left.
    #[inline(always)]
    pub fn farthest_squared(&self, t: f32) -> f32 {
        let [x, y] = self.way;
        let t = f32::max(t, 0.0);
        (x * x + y * y) * math::mul_add_f32(t, t, 1.0)
    }

    /// The centre of that circle.
    #[inline(always)]
    pub fn centre(&self, t: f32) -> [f32; 2] {
        let [x, y] = self.way;
        let t = f32::max(t, 0.0);
        [0.5 * (x - t * y), 0.5 * (y + t * x)]
    }
}

impl Least {
    /// Nothing seen yet.
    pub const NONE: Self = Self { site: NONE, t: f32::INFINITY, left: 0.0, next: f32::INFINITY };

    /// Sees a place that is not an end of the edge.
    #[inline(always)]
    pub fn see(&mut self, chord: &Chord, site: u32, place: [f32; 2], counts: bool) {
        let (t, left) = chord.see(place);
        if counts && left > -chord.of_left {
            self.next = f32::min(self.next, f32::max(t, self.t));
            (self.site, self.left) = if t < self.t { (site, left) } else { (self.site, self.left) };
            self.t = f32::min(self.t, t);
        }
    }

    /// The least of those that all lanes saw.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of_warp(&self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let t = warp::reduce(self.t, f32::min);
            let lane = warp::ballot(warp::FULL, self.t == t).trailing_zeros();
            let next = if warp::lane_id() == lane { self.next } else { self.t };
            Self {
                site: warp::shuffle(warp::FULL, self.site, lane),
                t,
                left: warp::shuffle(warp::FULL, self.left, lane),
                next: warp::reduce(next, f32::min),
            }
        }
    }

    /// The greatest `t` that the place may have. Infinite, or not a number, where there is none, or f32 does not tell that it is on
    /// the left.
    #[inline(always)]
    pub fn most(&self, chord: &Chord) -> f32 {
        if self.left <= 4.0 * chord.of_left {
            return f32::INFINITY;
        }
        let of_quotient = chord.of_height + self.t.abs() * chord.of_left;
        let error = 4.0 * of_quotient * math::reciprocal_f32(self.left);
        self.t + error + 8.0 * HALF_ULP * self.t.abs()
    }

    /// Whether no other place seen may reach as little as `most`.
    #[inline(always)]
    pub fn is_sure(&self, chord: &Chord, most: f32) -> bool {
        f32::min(self.next, self.next - self.next * chord.part) > most
    }
}
