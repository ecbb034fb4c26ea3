//! How densely points lie, from those of one leaf.

use device_std::{math, warp};

use super::group::bounds_of_lanes;
use crate::spatial::place::Bounds;

/// How much larger the area of a leaf's points is than their tight box, which leaves out the space up to the next leaf.
const MORE: f32 = 1.0 / 0.88;

/// On the globe an oblique leaf fills more than the two longer sides of its box.
const OBLIQUE: f32 = 1.25;

/// The least ratio of a leaf's sides when its density is estimated: points along a line have a box without area.
const SLIMMEST: f32 = 0.25;

/// The points of a leaf.
#[derive(Clone, Copy)]
pub struct Density<const D: usize> {
    /// Their bounding box.
    pub bounds: Bounds<f32, D>,
    /// The area of a point; 0 if they lie at one place.
    area: f32,
}

impl<const D: usize> Density<D> {
    /// The density of the lanes' points; a lane has one if it `is_there`.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn of(is_there: bool, point: [f32; D]) -> Self {
        // SAFETY: passed on to the caller.
        let (bounds, count) = unsafe {
            let count = warp::ballot(warp::FULL, is_there).count_ones() as f32;
            (bounds_of_lanes(point, is_there), count)
        };
        let [least, greatest] = bounds;
        let (mut long, mut next, mut axis) = (greatest[0] - least[0], 0.0, 1);
        while axis < D {
            let side = greatest[axis] - least[axis];
            next = f32::max(next, f32::min(long, side));
            long = f32::max(long, side);
            axis += 1;
        }
        let short = f32::max(next, SLIMMEST * long);
        let more = if D > 2 { OBLIQUE * MORE } else { MORE };
        Self { bounds, area: long * short * more / count }
    }

    /// The square of a radius whose circle holds, in each of `lists` parts, more than `wanted` points, by three or four
    /// standard deviations. Points are to lie around its centre as in the leaf. Infinite if the leaf tells nothing.
    #[inline(always)]
    pub fn circle_of(&self, wanted: u32, lists: usize) -> f32 {
        let wanted = wanted as f32;
        // The number of points in a circle is about Poisson's: its deviation is the root of its mean. With four
        // quadrants one of them more often has too few.
        let spread = if lists == 1 { 3.0 } else { 4.0 };
        let of_list = wanted + spread * (math::sqrt_f32(wanted) + 1.0);
        // Area of a point times points is pi r^2.
        let squared = of_list * lists as f32 * self.area * (1.0 / core::f32::consts::PI);
        // Points at one place tell no density.
        if self.area > 0.0 { squared } else { f32::INFINITY }
    }
}
