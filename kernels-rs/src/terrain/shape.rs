//! Curvature and ruggedness: the products of a neighbourhood without Horn's gradient.
//!
//! As in [`gradient`](super::gradient), heights are subtracted before anything else.

use device_std::math;

use super::kind::{Kind, Product};
use super::scales::Scale;

/// The partial derivatives of Zevenbergen and Thorne's surface (1987) at the cell, in sides of the cell to the north.
/// The surface is the polynomial of nine terms through the nine heights.
struct Derivatives {
    /// Twice the first derivatives, to the east and to the south.
    east: f32,
    south: f32,
    /// The second derivatives: to the east, to the south, and four times the mixed one.
    east_east: f32,
    south_south: f32,
    east_south: f32,
}

impl Derivatives {
    #[inline(always)]
    fn of(n: &[f32; 9], ratio: f32) -> Self {
        Self {
            east: (n[5] - n[3]) * ratio,
            south: n[7] - n[1],
            east_east: (((n[3] - n[4]) + (n[5] - n[4])) * ratio) * ratio,
            south_south: (n[1] - n[4]) + (n[7] - n[4]),
            east_south: ((n[0] - n[2]) + (n[8] - n[6])) * ratio,
        }
    }

    /// A sum of second derivatives over the squared length of the gradient, in units of length; 0 on level ground.
    #[inline(always)]
    fn per_square(&self, sum: f32, scale: &Scale) -> (f32, bool) {
        let squared = self.east * self.east + self.south * self.south;
        let all = squared + self.east_east + self.south_south + self.east_south;
        let curvature = (sum / squared) * scale.factor;
        let value = if squared > 0.0 { curvature } else { 0.0 };
        (value, !all.is_nan() && !value.is_nan())
    }
}

/// Plan curvature: the second derivative along the contour line. [`Scale::factor`] is the rise of a unit of height over
/// the square of the side to the north.
#[derive(Clone, Copy)]
pub struct Plan;

/// Profile curvature: the second derivative along the gradient, with the sign changed. The scale is as for [`Plan`].
#[derive(Clone, Copy)]
pub struct Profile;

impl Product for Plan {
    const KIND: Kind = Kind::Plan;

    #[inline(always)]
    fn of(n: &[f32; 9], scale: &Scale) -> (f32, bool) {
        let d = Derivatives::of(n, scale.ratio);
        let mixed = (0.5 * d.east_south) * (d.east * d.south);
        let sum = (d.east_east * (d.south * d.south) + d.south_south * (d.east * d.east)) - mixed;
        d.per_square(sum, scale)
    }
}

impl Product for Profile {
    const KIND: Kind = Kind::Profile;

    #[inline(always)]
    fn of(n: &[f32; 9], scale: &Scale) -> (f32, bool) {
        let d = Derivatives::of(n, scale.ratio);
        let mixed = (0.5 * d.east_south) * (d.east * d.south);
        let sum = (d.east_east * (d.east * d.east) + d.south_south * (d.south * d.south)) + mixed;
        d.per_square(-sum, scale)
    }
}

/// The Terrain Ruggedness Index of Riley, DeGloria and Elliot (1999): the root of the sum of the squares of the
/// differences to the neighbours.
#[derive(Clone, Copy)]
pub struct Riley;

/// The index of Wilson et al. (2007): the mean of the differences' absolute values.
#[derive(Clone, Copy)]
pub struct Wilson;

/// The Topographic Position Index (Weiss 2001): the height over the mean of the neighbours'.
#[derive(Clone, Copy)]
pub struct Position;

/// Roughness (Wilson et al. 2007): the highest less the lowest of the nine.
#[derive(Clone, Copy)]
pub struct Roughness;

/// The sum of a function of the eight differences to the neighbours, from the north-west on; NaN if a neighbour is NaN.
#[inline(always)]
fn sum_of_differences(n: &[f32; 9], of: impl Fn(f32) -> f32) -> f32 {
    let mut sum = 0.0;
    let mut i = 0;
    while i < 9 {
        if i != 4 {
            sum += of(n[i] - n[4]);
        }
        i += 1;
    }
    sum
}

impl Product for Riley {
    const KIND: Kind = Kind::Riley;

    #[inline(always)]
    fn of(n: &[f32; 9], _: &Scale) -> (f32, bool) {
        let sum = sum_of_differences(n, |d| d * d);
        (math::sqrt_f32(sum), !sum.is_nan())
    }
}

impl Product for Wilson {
    const KIND: Kind = Kind::Wilson;

    #[inline(always)]
    fn of(n: &[f32; 9], _: &Scale) -> (f32, bool) {
        let sum = sum_of_differences(n, f32::abs);
        (0.125 * sum, !sum.is_nan())
    }
}

impl Product for Position {
    const KIND: Kind = Kind::Position;

    #[inline(always)]
    fn of(n: &[f32; 9], _: &Scale) -> (f32, bool) {
        let sum = sum_of_differences(n, |d| -d);
        (0.125 * sum, !sum.is_nan())
    }
}

impl Product for Roughness {
    const KIND: Kind = Kind::Roughness;

    #[inline(always)]
    fn of(n: &[f32; 9], _: &Scale) -> (f32, bool) {
        let (mut low, mut high) = (n[4], n[4]);
        let mut i = 0;
        while i < 9 {
            low = f32::min(low, n[i]);
            high = f32::max(high, n[i]);
            i += 1;
        }
        // The least and the greatest skip a NaN, a sum does not. The sign is dropped: host and device disagree on which
        // zero is the lower.
        let roughness = f32::abs(high - low);
        let is_known = !(sum_of_differences(n, f32::abs) + roughness).is_nan();
        (roughness, is_known)
    }
}
