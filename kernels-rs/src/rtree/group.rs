//! 32 places near each other, and points and boxes in f32 relative to one of these places.
//!
//! In: an f64 place of each lane. Out: f32 coordinates, distances, and a bound of their error.
//!
//! ```text
//! f64:  x = 5 000 000.125      f32(x) = 5 000 000.0: the eighth of a metre is lost
//!       origin = 5 000 000.0   f32(x - origin) = 0.125: nothing is lost
//! ```
//!
//! f32 has a relative error, so it is accurate if its values are small. A point becomes f32 only after the subtraction
//! of the group's origin in f64. Rounding keeps order: if a point lies in a box, its f32 coordinates lie in the f32
//! box. So no f32 distance of a point is below the f32 distance of a box around it. [`Group::bound`] tells how far f32
//! distances may be from the true ones.

use device_std::{math, warp};

use crate::spatial::place::Place;

/// The place that a group measures from, and its unit.
#[derive(Clone, Copy)]
pub struct Origin {
    x: f64,
    y: f64,
    /// A power of two that brings all coordinates below 2^61, so that squares are below the end of f32.
    scale: f64,
}

impl Origin {
    /// An x in f32.
    #[inline(always)]
    pub fn x(&self, x: f64) -> f32 {
        ((x - self.x) * self.scale) as f32
    }

    /// A y in f32.
    #[inline(always)]
    pub fn y(&self, y: f64) -> f32 {
        ((y - self.y) * self.scale) as f32
    }

    /// A length in f32.
    #[inline(always)]
    pub fn length(&self, along: f64) -> f32 {
        (along * self.scale) as f32
    }

    /// The vector from the origin to a place, on the ground.
    #[inline(always)]
    pub fn way(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [x - self.x, y - self.y]
    }

    /// What lengths on the ground are multiplied by: a power of two.
    #[inline(always)]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// A box in f32.
    #[inline(always)]
    pub fn bounds<T: Place>(&self, [west, south, east, north]: [T; 4]) -> [f32; 4] {
        [
            self.x(west.widened()),
            self.y(south.widened()),
            self.x(east.widened()),
            self.y(north.widened()),
        ]
    }
}

/// The places of a warp's lanes.
#[derive(Clone, Copy)]
pub struct Group {
    /// The place that the group measures from.
    pub origin: Origin,
    /// The lane's place; the origin for a lane without one.
    pub x: f32,
    /// Its y.
    pub y: f32,
    /// The bounding box of all places.
    bounds: [f32; 4],
}

impl Group {
    /// Makes the group of the lanes' places. Lanes without `is_there` have no place; `None` if no lane has one. `extent`
    /// are the bounds of the points.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn new(place: [f64; 2], is_there: bool, extent: [f64; 4]) -> Option<Self> {
        // SAFETY: passed on to the caller.
        // Coordinates are below 2^61, differences below 2^62, and the sum of two squares below 2^125: f32 ends at 2^128.
        unsafe { Self::of_size(place, is_there, extent, 60) }
    }

    /// As [`new`](Self::new), in a unit that gives the farthest coordinate the exponent `size`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of_size(
        place: [f64; 2],
        is_there: bool,
        extent: [f64; 4],
        size: u64,
    ) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe {
            let there = warp::ballot(warp::FULL, is_there);
            if there == 0 {
                return None;
            }
            let leader = there.trailing_zeros();
            let [x, y] = place.map(|along| warp::shuffle(warp::FULL, along, leader));
            // A lane without a place takes the origin, which widens no bounding box.
            let [dx, dy] = if is_there { [place[0] - x, place[1] - y] } else { [0.0; 2] };
            let [west, south, east, north] = extent;
            let farthest = [dx, dy, west - x, south - y, east - x, north - y]
                .iter()
                .fold(0, |most, along| u32::max(most, (along.abs().to_bits() >> 32) as u32));
            // The upper half of an f64 has its exponent in bits 20 to 30. The scale's exponent makes that of the product
            // `size`, and stays among those of normal numbers, so that the scale is an exact power of two.
            let exponent = (warp::max(farthest) >> 20) as u64;
            let scale = u64::clamp(2 * 1023 + size - u64::min(exponent, 2047), 1, 2046);
            let origin = Origin { x, y, scale: f64::from_bits(scale << 52) };
            let [x, y] = [(dx * origin.scale) as f32, (dy * origin.scale) as f32];
            Some(Self { origin, x, y, bounds: [x, y, x, y] }.of_lanes(true))
        }
    }

    /// Returns the same group with a bounding box around the places of some lanes alone: those that walk again.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of_lanes(&self, is_one: bool) -> Self {
        let or = |along: f32, other: f32| if is_one { along } else { other };
        let (x, y) = (self.x, self.y);
        // SAFETY: passed on to the caller.
        let bounds = unsafe {
            [
                warp::reduce(or(x, f32::INFINITY), f32::min),
                warp::reduce(or(y, f32::INFINITY), f32::min),
                warp::reduce(or(x, f32::NEG_INFINITY), f32::max),
                warp::reduce(or(y, f32::NEG_INFINITY), f32::max),
            ]
        };
        Self { bounds, ..*self }
    }

    /// The bounding box of the places.
    #[inline(always)]
    pub fn bounds(&self) -> [f32; 4] {
        self.bounds
    }

    /// The squared distance between a box and the bounding box of the places.
    #[inline(always)]
    pub fn gap(&self, bounds: [f32; 4]) -> f32 {
        gap(bounds, self.bounds)
    }

    /// The squared distance between a box and the lane's place.
    #[inline(always)]
    pub fn gap_of_lane(&self, bounds: [f32; 4]) -> f32 {
        gap(bounds, [self.x, self.y, self.x, self.y])
    }

    /// The squared distance between a point and the lane's place.
    #[inline(always)]
    pub fn squared(&self, x: f32, y: f32) -> f32 {
        square(x - self.x, y - self.y)
    }

    /// [`bound`](Self::bound) of a square in f64, on the ground.
    #[inline(always)]
    pub fn bound_of(&self, squared: f64) -> f32 {
        self.bound((squared * self.origin.scale * self.origin.scale) as f32 * (1.0 + 1e-6))
    }

    /// Bounds the f32 difference of a coordinate whose true difference, on the ground, is at most `along`.
    #[inline(always)]
    pub fn reach_along(&self, along: f64) -> f32 {
        let far = f32::abs(self.x) + f32::abs(self.y);
        (along * self.origin.scale) as f32 * (1.0 + 1e-6) + 3e-7 * far + 1e-18
    }

    /// Returns the greatest f32 square of any point that is, in truth, no farther than some point with the f32 square
    /// given.
    ///
    /// With `u = 2^-24`, the coordinates of point and place are each rounded by at most `u` of themselves, and so is
    /// their difference. With what its square loses, a distance d is wrong by less than `u (2 |place| + 5 d)`. The bound
    /// has that twice: once for the given point, once for the other.
    #[inline(always)]
    pub fn bound(&self, squared: f32) -> f32 {
        // |x| + |y| is at least |place|. Twice the error is 4 u |place| = 2.4e-7 |place| and 10 u d = 6e-7 d; the rest of
        // 3e-7 and 1e-6 is for the rounding of this sum and root. 1e-18 is for squares below f32's normal numbers,
        // 2^-126.
        let along = f32::abs(self.x) + f32::abs(self.y);
        let radius = math::sqrt_f32(squared) * (1.0 + 1e-6) + 3e-7 * along + 1e-18;
        radius * radius * (1.0 + 1e-6)
    }
}

/// The squared distance between two boxes.
#[inline(always)]
fn gap(a: [f32; 4], b: [f32; 4]) -> f32 {
    let along = |axis: usize| f32::max(0.0, f32::max(a[axis] - b[axis + 2], b[axis] - a[axis + 2]));
    square(along(0), along(1))
}

/// The squared length of a vector. It rises with both parts, even after rounding: a product and a sum round in order.
#[inline(always)]
fn square(x: f32, y: f32) -> f32 {
    math::mul_add_f32(x, x, y * y)
}
