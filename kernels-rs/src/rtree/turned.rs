//! Boxes turned along their points: runs of points, and runs of such boxes.
//!
//! ```text
//!  upright  +--------+      turned      . /.
//!           |     . '|             . /  ' /
//!           |  . '   |          . / ' . /         a place at the upper left is as near to the upright box
//!           |. '     |         /. ' . /           as to its corner, which is far from all points
//!           +--------+         ' . /
//! ```
//!
//! A box has an axis through its centre. It holds what is within half its length along the axis, and within half its width
//! across: a rectangle in the plane, a cylinder in space. The axis is the direction in which the points vary most.
//!
//! Rounding: a box is a little larger than its points need, and [`TurnedBox::gap`] a little less than what it computes.
//! Together they are far above the rounding of f64, so no point of a box is nearer than its gap.

use core::array;

use device_std::math;

/// A box as it lies in memory: a unit vector along its axis; its centre; half its length, half its width. Both halves
/// of a box that [repeats](super::layout::is_repeated) a place are NaN.
pub type Stored<const D: usize> = [[f64; D]; 3];

/// A box turned along its points.
#[derive(Clone, Copy)]
pub struct TurnedBox<const D: usize> {
    /// A unit vector along the axis.
    pub axis: [f64; D],
    /// The centre.
    pub centre: [f64; D],
    /// Half the length along the axis; NaN for a box that repeats a place.
    pub length: f64,
    /// Half the width across.
    pub width: f64,
}

impl<const D: usize> TurnedBox<D> {
    /// The box in memory.
    #[inline(always)]
    pub fn of([axis, centre, halves]: Stored<D>) -> Self {
        Self { axis, centre, length: halves[0], width: halves[1] }
    }

    /// At most the square of the distance between a place and any point of the box, in f64 as
    /// [`squared`](super::descent::squared) computes it. NaN for a box that repeats a place. All squares are to be below the
    /// end of f64.
    #[inline(always)]
    pub fn gap(&self, place: [f64; D]) -> f64 {
        let way = difference(place, self.centre);
        let along = f64::max(dot(way, self.axis).abs() - self.length, 0.0);
        let across = f64::max(length_across(way, self.axis) - self.width, 0.0);
        // `max` drops NaN.
        let gap = if self.length.is_nan() { f64::NAN } else { along * along + across * across };
        // Squares of a point below normal numbers may lose more than this factor has.
        if gap < 1e-290 { 0.0 } else { gap * (1.0 - 1e-13) }
    }

    /// The ends of the axis.
    #[inline(always)]
    pub fn ends(&self) -> [[f64; D]; 2] {
        [-self.length, self.length]
            .map(|along| array::from_fn(|i| self.centre[i] + along * self.axis[i]))
    }
}

/// The vector from `b` to `a`.
#[inline(always)]
pub fn difference<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    array::from_fn(|i| a[i] - b[i])
}

/// The scalar product of two vectors.
#[inline(always)]
pub fn dot<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    let (mut sum, mut i) = (a[0] * b[0], 1);
    while i < D {
        sum += a[i] * b[i];
        i += 1;
    }
    sum
}

/// The length of the part of a vector across a unit vector. From the cross product: the square of the length less that
/// along the axis would lose digits.
#[inline(always)]
pub fn length_across<const D: usize>(way: [f64; D], axis: [f64; D]) -> f64 {
    let turn = |i: usize, j: usize| way[i] * axis[j] - way[j] * axis[i];
    if D == 2 {
        return turn(0, 1).abs();
    }
    let across = [turn(0, 1), turn(1, D - 1), turn(D - 1, 0)];
    math::sqrt(dot(across, across))
}
