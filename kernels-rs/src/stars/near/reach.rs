//! How far a circle through the ends of an edge reaches to the left, in f32 with a bound of the error.
//!
//! The centres of circles through both ends `0` and `a` of an edge lie on the line through its middle, across it. The
//! circle through a place `c` has its centre at `(a + t a') / 2`, with `a'` for `a` turned left, and
//! `t = height / left`:
//!
//! ```text
//!        c
//!      .   .        t < 0: the centre is on the right, and the circle's part on the left is less than half of it
//!     .  o  .       t = 0: the edge is the diameter
//!      .   .        t > 0: the centre o is on the left
//!     0 --- a       the greater t is, the more of the left the circle holds
//! ```
//!
//! ```text
//! left   = a x c           twice the area of the triangle
//! height = c . (c - a)
//! ```
//!
//! Among the places on the left, the place with the least `t` is the third corner: its circle holds no other place.
//! (From `|c|^2 = 2 c . m` for a centre m follows `c . c = c . a + t (a x c)`.)
//!
//! Coordinates are at most `W`, and rounded by `u W` with `u = 2^-24`. So is the edge's first end, and a difference of
//! two places is wrong by `4 u W` at most. With `|a|` for the sum of the magnitudes of a's coordinates:
//!
//! - `left` is wrong by less than `12 u W |a|`;
//! - `height` is wrong by less than `28 u W |a|` for a place that is nearer to the first end than `2 |a|`. A place
//!   farther away has a `height` of at least half the square of its distance, which is wrong by less than a part `28 u
//!   W / |a|`.
//!
//! So each place gets the least `t` that it may have. The least `t` of the next best place may be above the greatest
//! `t` of the best: then f32 has decided. Otherwise f64 decides between all places whose least `t` is not above it.

use device_std::{math, warp};

use crate::stars::rough::NONE;

/// Half a unit in the last place of 1.
pub const HALF_ULP: f32 = 1.0 / (1u32 << 24) as f32;

/// An edge, seen from its first end.
#[derive(Clone, Copy)]
pub struct Chord {
    /// The vector to the other end.
    way: [f32; 2],
    /// By how much `height` and `left` of a place may be wrong.
    of_height: f32,
    of_left: f32,
    /// By which part of itself `t` of a place far away may be wrong.
    part: f32,
}

/// The place whose circle reaches least far among those seen.
#[derive(Clone, Copy)]
pub struct Least {
    /// The site; [`NONE`] before there is one.
    pub site: u32,
    /// The least `t` that it may have.
    t: f32,
    left: f32,
    /// The least `t` that the next best may have.
    next: f32,
}

impl Chord {
    /// The edge along a vector, among places whose coordinates are at most `reach`.
    #[inline(always)]
    pub fn new(way: [f32; 2], reach: f32) -> Self {
        let length = way[0].abs() + way[1].abs();
        let rounding = HALF_ULP * reach;
        Self {
            way,
            of_height: 28.0 * rounding * length,
            of_left: 12.0 * rounding * length,
            // 28 by the analysis above; the rest is a margin.
            part: 40.0 * rounding * math::reciprocal_f32(length),
        }
    }

    /// The least `t` that a place may have, and its `left`. It may be on the left where this is above
    /// [`of_left`](Self::of_left).
    #[inline(always)]
    fn see(&self, [x, y]: [f32; 2]) -> (f32, f32) {
        let [ax, ay] = self.way;
        let left = math::mul_add_f32(ax, y, -(ay * x));
        let height = math::mul_add_f32(x, x - ax, math::mul_add_f32(y, y - ay, -self.of_height));
        // The divisor that makes `t` least: the greater one for a positive height, the lesser one for a negative
        // height.
        let divisor = f32::max(left + self.of_left.copysign(height), f32::MIN_POSITIVE);
        (height * math::reciprocal_f32(divisor), left)
    }

    /// Whether a place may be on the left with a circle that reaches no farther than `t`.
    #[inline(always)]
    pub fn may_reach_less(&self, place: [f32; 2], t: f32) -> bool {
        let (own, left) = self.see(place);
        left > -self.of_left && f32::min(own, own - own * self.part) <= t
    }

    /// Two circles may count: the circle that reaches to `t`, and the circle over the edge. Of all places in them on
    /// the left of the edge, this is the farthest one's squared distance from the first end.
    ///
    /// If the centre is on the left, this is the place across the circle. Otherwise the circle over the edge holds the
    /// part on the left.
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

    /// Combines what all lanes saw: the least, and the next best among all.
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

    /// The greatest `t` that the place may have. Infinite or NaN if there is no place, or if f32 does not tell that it
    /// is on the left.
    #[inline(always)]
    pub fn most(&self, chord: &Chord) -> f32 {
        // `left` is more than four times its error. So a quotient is off by at most 4 / 3 of the first-order error, and
        // the least and the greatest `t` by twice that. 4 leaves a margin.
        if self.left <= 4.0 * chord.of_left {
            return f32::INFINITY;
        }
        let of_quotient = chord.of_height + self.t.abs() * chord.of_left;
        let error = 4.0 * of_quotient * math::reciprocal_f32(self.left);
        self.t + error + 8.0 * HALF_ULP * self.t.abs()
    }

    /// Whether every other place seen reaches farther than `most`.
    #[inline(always)]
    pub fn is_sure(&self, chord: &Chord, most: f32) -> bool {
        f32::min(self.next, self.next - self.next * chord.part) > most
    }
}
