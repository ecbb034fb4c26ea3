//! 32 places near each other, and points and boxes in f32 relative to one of these places.
//!
//! Places have `D` coordinates: x and y in the plane, or a unit vector on the globe.
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

use core::array;

use device_std::{math, warp};

use crate::spatial::place::{Bounds, Place};

/// The place that a group measures from, and its unit.
#[derive(Clone, Copy)]
pub struct Origin<const D: usize = 2> {
    place: [f64; D],
    /// A power of two that brings all coordinates below 2^61, so that squares are below the end of f32.
    scale: f64,
}

impl<const D: usize> Origin<D> {
    /// A place in f32.
    #[inline(always)]
    pub fn place(&self, place: [f64; D]) -> [f32; D] {
        self.way(place).map(|along| self.length(along))
    }

    /// A length in f32.
    #[inline(always)]
    pub fn length(&self, along: f64) -> f32 {
        (along * self.scale) as f32
    }

    /// The vector from the origin to a place, on the ground.
    #[inline(always)]
    pub fn way(&self, place: [f64; D]) -> [f64; D] {
        array::from_fn(|axis| place[axis] - self.place[axis])
    }

    /// What lengths on the ground are multiplied by: a power of two.
    #[inline(always)]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// A box in f32.
    #[inline(always)]
    pub fn bounds<T: Place>(&self, bounds: Bounds<T, D>) -> Bounds<f32, D> {
        bounds.map(|corner| self.place(corner.map(Place::widened)))
    }
}

/// The places of a warp's lanes.
#[derive(Clone, Copy)]
pub struct Group<const D: usize = 2> {
    /// The place that the group measures from.
    pub origin: Origin<D>,
    /// The lane's place; the origin for a lane without one.
    pub place: [f32; D],
    /// The bounding box of all places.
    bounds: Bounds<f32, D>,
}

impl<const D: usize> Group<D> {
    /// Makes the group of the lanes' places. Lanes without `is_there` have no place; `None` if no lane has one. `extent`
    /// are the bounds of the points.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn new(place: [f64; D], is_there: bool, extent: Bounds<f64, D>) -> Option<Self> {
        // SAFETY: passed on to the caller.
        // Coordinates are below 2^61, differences below 2^62, and the sum of three squares below 2^126: f32 ends at 2^128.
        unsafe { Self::of_size(place, is_there, extent, 60) }
    }

    /// As [`new`](Self::new), in a unit that gives the farthest coordinate the exponent `size`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of_size(
        place: [f64; D],
        is_there: bool,
        extent: Bounds<f64, D>,
        size: u64,
    ) -> Option<Self> {
        // SAFETY: passed on to the caller.
        unsafe {
            let there = warp::ballot(warp::FULL, is_there);
            if there == 0 {
                return None;
            }
            let leader = there.trailing_zeros();
            let of_leader = place.map(|along| warp::shuffle(warp::FULL, along, leader));
            let mut origin = Origin { place: of_leader, scale: 1.0 };
            // A lane without a place takes the origin, which widens no bounding box.
            let way = if is_there { origin.way(place) } else { [0.0; D] };
            let [least, greatest] = extent.map(|corner| origin.way(corner));
            let farthest = [way, least, greatest]
                .as_flattened()
                .iter()
                .fold(0, |most, along| u32::max(most, (along.abs().to_bits() >> 32) as u32));
            // The upper half of an f64 has its exponent in bits 20 to 30. The scale's exponent makes that of the product
            // `size`, and stays among those of normal numbers, so that the scale is an exact power of two.
            let exponent = (warp::max(farthest) >> 20) as u64;
            let scale = u64::clamp(2 * 1023 + size - u64::min(exponent, 2047), 1, 2046);
            origin.scale = f64::from_bits(scale << 52);
            let place = way.map(|along| origin.length(along));
            Some(Self { origin, place, bounds: [place; 2] }.of_lanes(true))
        }
    }

    /// Returns the same group with a bounding box around the places of some lanes alone: those that walk again.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of_lanes(&self, is_one: bool) -> Self {
        // SAFETY: passed on to the caller.
        Self { bounds: unsafe { bounds_of_lanes(self.place, is_one) }, ..*self }
    }

    /// The bounding box of the places.
    #[inline(always)]
    pub fn bounds(&self) -> Bounds<f32, D> {
        self.bounds
    }

    /// The squared distance between a box and the bounding box of the places.
    #[inline(always)]
    pub fn gap(&self, bounds: Bounds<f32, D>) -> f32 {
        gap(bounds, self.bounds)
    }

    /// Whether the point of this lane may lie within the circle of any lane, for points far from all places. `wanted` are
    /// the bits of the square of the lane's radius; `towards` is one of the points, the same for all lanes.
    ///
    /// The box around all places is too coarse for that: its near corner with the radius of the farthest place reaches
    /// much deeper than any circle. So this measures along the way to the points. No circle crosses the line across the
    /// way that touches the circle which reaches farthest.
    ///
    /// ```text
    ///  places       circles          points
    ///    :::          )  |          . .  .
    ///    :::           ) |        .  . |.  .
    ///    ::: ------------)---> w  . .  | .  .      w (point - place) <= |w| |point - place| < |w| radius
    ///    :::           ) |          .  | .         so  w point < the greatest of  |w| radius + w place
    /// ```
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn is_within_a_circle(
        &self,
        point: [f32; D],
        towards: [f32; D],
        wanted: u32,
    ) -> bool {
        let along = |place: [f32; D]| {
            let (mut sum, mut lost, mut axis) = (0.0, 0.0, 0);
            while axis < D {
                let part = towards[axis] * place[axis];
                sum += part;
                lost += 1e-6 * part.abs();
                axis += 1;
            }
            (sum, lost)
        };
        let squared = square(towards);
        // Smaller products may be below f32's normal numbers. A list whose radius is that small is never done.
        if squared < 1e-30 {
            return true;
        }
        let (of_place, lost) = along(self.place);
        let length = math::sqrt_f32(squared) * (1.0 + 2e-6);
        let front = math::sqrt_f32(f32::from_bits(wanted)) * length + of_place + lost;
        let front = if wanted > 0 { f32::max(0.0, front) } else { 0.0 };
        let (of_point, lost) = along(point);
        // SAFETY: passed on to the caller. The bits of numbers that are not negative have their order.
        of_point - lost <= f32::from_bits(unsafe { warp::max(front.to_bits()) })
    }

    /// The squared distance between a box and the lane's place.
    #[inline(always)]
    pub fn gap_of_lane(&self, bounds: Bounds<f32, D>) -> f32 {
        gap(bounds, [self.place; 2])
    }

    /// The squared distance between the farthest corner of a box and the lane's place.
    #[inline(always)]
    pub fn far_of_lane(&self, [least, greatest]: Bounds<f32, D>) -> f32 {
        square::<D>(array::from_fn(|axis| {
            let place = self.place[axis];
            f32::max((least[axis] - place).abs(), (greatest[axis] - place).abs())
        }))
    }

    /// The squared distance between a point and the lane's place.
    #[inline(always)]
    pub fn squared(&self, point: [f32; D]) -> f32 {
        square::<D>(array::from_fn(|axis| point[axis] - self.place[axis]))
    }

    /// At least the distance of the lane's place from the origin.
    #[inline(always)]
    fn far(&self) -> f32 {
        let (mut far, mut axis) = (self.place[0].abs(), 1);
        while axis < D {
            far += self.place[axis].abs();
            axis += 1;
        }
        far
    }

    /// [`bound`](Self::bound) of a square in f64, on the ground.
    #[inline(always)]
    pub fn bound_of(&self, squared: f64) -> f32 {
        self.bound((squared * self.origin.scale * self.origin.scale) as f32 * (1.0 + 1e-6))
    }

    /// Bounds the f32 difference of a coordinate whose true difference, on the ground, is at most `along`.
    #[inline(always)]
    pub fn reach_along(&self, along: f64) -> f32 {
        (along * self.origin.scale) as f32 * (1.0 + 1e-6) + 3e-7 * self.far() + 1e-18
    }

    /// Returns the greatest f32 square of any point that is, in truth, no farther than some point with the f32 square
    /// given.
    ///
    /// With `u = 2^-24`, the coordinates of point and place are each rounded by at most `u` of themselves, and so is
    /// their difference. With what its square loses, a distance d is wrong by less than `u (2 |place| + 5 d)`. The bound
    /// has that twice: once for the given point, once for the other.
    #[inline(always)]
    pub fn bound(&self, squared: f32) -> f32 {
        // Twice the error is 4 u |place| = 2.4e-7 |place| and 10 u d = 6e-7 d. The rest of 3e-7 and 1e-6 is for the
        // rounding of this sum and root. 1e-18 is for squares below f32's normal numbers, 2^-126.
        let radius = math::sqrt_f32(squared) * (1.0 + 1e-6) + 3e-7 * self.far() + 1e-18;
        radius * radius * (1.0 + 1e-6)
    }
}

/// The bounding box of a place of each lane that `is_one`.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
pub unsafe fn bounds_of_lanes<const D: usize>(place: [f32; D], is_one: bool) -> Bounds<f32, D> {
    let or = |along: f32, other: f32| if is_one { along } else { other };
    // SAFETY: passed on to the caller.
    unsafe {
        [
            place.map(|along| warp::reduce(or(along, f32::INFINITY), f32::min)),
            place.map(|along| warp::reduce(or(along, f32::NEG_INFINITY), f32::max)),
        ]
    }
}

/// The squared distance between two boxes.
#[inline(always)]
fn gap<const D: usize>([low, high]: Bounds<f32, D>, [least, greatest]: Bounds<f32, D>) -> f32 {
    square::<D>(array::from_fn(|axis| {
        f32::max(0.0, f32::max(low[axis] - greatest[axis], least[axis] - high[axis]))
    }))
}

/// The squared length of a vector. It rises with each part, even after rounding: products and sums round in order.
#[inline(always)]
fn square<const D: usize>(way: [f32; D]) -> f32 {
    let (mut squared, mut axis) = (way[D - 1] * way[D - 1], D - 1);
    while axis > 0 {
        axis -= 1;
        squared = math::mul_add_f32(way[axis], way[axis], squared);
    }
    squared
}
