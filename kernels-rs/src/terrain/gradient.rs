//! What is made of the gradient over a cell's 3 x 3 neighbourhood (Horn 1981): slope and brightness.
//!
//! These functions are the host's too: f32 operations in a stated order, each correctly
//! rounded, so host and device give the same bits. Differences of heights come before all else, so that
//! nothing is lost where the ground is high. Sums of differences whose square leaves the range of f32,
//! beyond 1e19, count as vertical.

use device_std::{arguments, math};

/// What becomes of a cell with a neighbour that is NaN or beyond the raster.
pub trait Edge: Copy {
    /// Whether such a neighbour counts as level with the cell; else the cell becomes NaN.
    const IS_LEVEL: bool;
}

/// It is NaN.
#[derive(Clone, Copy)]
pub struct Nodata;

/// The neighbour counts as level with it.
#[derive(Clone, Copy)]
pub struct Level;

impl Edge for Nodata {
    const IS_LEVEL: bool = false;
}

impl Edge for Level {
    const IS_LEVEL: bool = true;
}

/// What is made of a gradient.
pub trait Product: Copy {
    /// From Horn's sums of the differences of heights, to the east and to the south.
    fn of(self, east: f32, south: f32) -> f32;
}

/// A product that needs no more than the square of what makes rises over unit lengths of the sums.
pub trait Slope: Product {
    /// Whether it is in percent, else in degrees.
    const IS_PERCENT: bool;

    /// With that square.
    fn new(factor_squared: f32) -> Self;
}

/// The slope as an angle in degrees, within 1e-6 of itself.
#[derive(Clone, Copy)]
pub struct Degrees {
    /// The square of what makes rises over unit lengths of the sums.
    pub factor_squared: f32,
}

/// The slope as rise over run, in percent.
#[derive(Clone, Copy)]
pub struct Percent {
    /// As [`Degrees::factor_squared`].
    pub factor_squared: f32,
}

/// Lambert's brightness, from 0 to 1, within 1e-6.
#[arguments]
pub struct Shade {
    /// As [`Degrees::factor_squared`].
    pub factor_squared: f32,
    /// The direction to the light: east and south, times the factor; and up.
    pub light: [f32; 3],
}

impl Product for Degrees {
    #[inline(always)]
    fn of(self, east: f32, south: f32) -> f32 {
        degrees_of_squared((east * east + south * south) * self.factor_squared)
    }
}

impl Product for Percent {
    #[inline(always)]
    fn of(self, east: f32, south: f32) -> f32 {
        100.0 * math::sqrt_f32((east * east + south * south) * self.factor_squared)
    }
}

impl Slope for Degrees {
    const IS_PERCENT: bool = false;

    #[inline(always)]
    fn new(factor_squared: f32) -> Self {
        Self { factor_squared }
    }
}

impl Slope for Percent {
    const IS_PERCENT: bool = true;

    #[inline(always)]
    fn new(factor_squared: f32) -> Self {
        Self { factor_squared }
    }
}

impl Product for Shade {
    #[inline(always)]
    #[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
    fn of(self, east: f32, south: f32) -> f32 {
        let [x, y, up] = self.light;
        let towards = up - (east * x + south * y);
        let squared = 1.0 + (east * east + south * south) * self.factor_squared;
        let brightness = (0.5 * towards) * twice_reciprocal_sqrt(squared);
        f32::min(1.0, f32::max(0.0, brightness))
    }
}

/// Twice the reciprocal of the square root, within 8e-7 of itself, and exact of 1; of a number beyond
/// 1e38 that of 1e38.
///
/// The GPU has an instruction for it, which the host has not. This is the same on both: half the
/// exponent by a shift, and two steps of Newton's method. The constants of the first step are those
/// of J. Kadlec, which leave an error of 7e-4.
#[inline(always)]
fn twice_reciprocal_sqrt(x: f32) -> f32 {
    let x = f32::min(x, 1e38);
    let y = f32::from_bits(0x5f1f_fff9_u32.wrapping_sub(x.to_bits() >> 1));
    let y = (y * 0.703_952_25) * (2.389_244_6 - (x * y) * y);
    y * (3.0 - (x * y) * y)
}

/// The angle whose tangent has this square, in degrees.
///
/// A polynomial in the square of the tangent, or beyond 45 degrees of the cotangent, by Remez' method:
/// its relative error is below 1e-7.
#[inline(always)]
pub fn degrees_of_squared(squared: f32) -> f32 {
    /// Of the arc tangent over the tangent, lowest power first.
    const ARC_TANGENT: [f64; 8] = [
        0.9999999009903499,
        -0.33331990746481266,
        0.19969723900164751,
        -0.1401948092241485,
        0.09914292856776338,
        -0.05948639345657555,
        0.024252403279073104,
        -0.00469327605784631,
    ];
    /// The same in degrees, for twice the tangent.
    const OF_TWICE: [f32; 8] = {
        let mut scaled = [0.0; 8];
        let mut scale = 90.0 / core::f64::consts::PI;
        let mut k = 0;
        while k < 8 {
            scaled[k] = (ARC_TANGENT[k] * scale) as f32;
            scale /= 4.0;
            k += 1;
        }
        scaled
    };
    let twice_cotangent = twice_reciprocal_sqrt(squared);
    let is_steep = squared > 1.0;
    let t = if is_steep { twice_cotangent } else { squared * twice_cotangent };
    let square = t * t;
    let mut sum = OF_TWICE[7];
    let mut k = 7;
    while k > 0 {
        k -= 1;
        sum = sum * square + OF_TWICE[k];
    }
    let angle = sum * t;
    if is_steep { 90.0 - angle } else { angle }
}

/// The product of a cell with this neighbourhood, row-major from the north-west, where a NaN is no
/// neighbour; and whether it has one, which it has not where the cell is NaN nor, by the [`Edge`], where a
/// neighbour is.
#[inline(always)]
pub(super) fn product_with_known<P: Product, E: Edge>(mut n: [f32; 9], product: P) -> (f32, bool) {
    if E::IS_LEVEL {
        let mut i = 0;
        while i < 9 {
            n[i] = if n[i].is_nan() { n[4] } else { n[i] };
            i += 1;
        }
    }
    let twice = |a: f32| a + a;
    let east = ((n[2] - n[0]) + (n[8] - n[6])) + twice(n[5] - n[3]);
    let south = ((n[6] - n[0]) + (n[8] - n[2])) + twice(n[7] - n[1]);
    (product.of(east, south), !(east + south + n[4]).is_nan())
}

/// The product of a cell with this neighbourhood, row-major from the north-west, where a NaN is no
/// neighbour. NaN where the cell is and, by the [`Edge`], where a neighbour is.
#[inline(always)]
pub fn product_of<P: Product, E: Edge>(n: [f32; 9], product: P) -> f32 {
    let (value, is_known) = product_with_known::<P, E>(n, product);
    if is_known { value } else { f32::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_arc_tangent() {
        let mut worst = 0.0f64;
        for i in 0..400_000 {
            let tangent = (f64::from(i) * 1e-4).powi(3);
            let squared = (tangent * tangent) as f32;
            let expected = f64::from(squared).sqrt().atan().to_degrees();
            let error = (f64::from(degrees_of_squared(squared)) - expected).abs();
            worst = worst.max(error / expected.max(1e-15));
        }
        assert!(worst <= 1e-6, "{worst}");
        assert_eq!(degrees_of_squared(0.0), 0.0);
        assert_eq!(degrees_of_squared(f32::INFINITY), 90.0);
    }

    #[test]
    fn reciprocal_roots_are_close() {
        let mut worst = 0.0f64;
        for i in 0..1_000_000 {
            let x = (f64::from(i) * 2e-5 - 4.0).exp2() as f32;
            let error = f64::from(twice_reciprocal_sqrt(x)) / 2.0 * f64::from(x).sqrt() - 1.0;
            worst = worst.max(error.abs());
        }
        assert!(worst <= 8e-7, "{worst}");
        assert_eq!(twice_reciprocal_sqrt(1.0), 2.0);
    }
}
