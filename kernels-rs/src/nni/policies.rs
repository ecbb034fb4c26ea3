//! How points that share a site merge, and what cells without a value take.

use device_std::math;

/// How points at one place, or in one pixel, merge: their mean.
pub const MEAN: u32 = 0;
/// How points at one place, or in one pixel, merge: the lowest value.
pub const MIN: u32 = 1;
/// How points at one place, or in one pixel, merge: the highest value.
pub const MAX: u32 = 2;
/// How points at one place, or in one pixel, merge: the value of the first point.
pub const FIRST: u32 = 3;
/// How points at one place, or in one pixel, merge: the value of the last point.
pub const LAST: u32 = 4;

/// A cell without a value stays so.
pub const FILL_NOT: u32 = 0;
/// A cell without a value takes the nearest site's value.
pub const FILL_NEAREST: u32 = 1;
/// A cell without a value takes a fixed value.
pub const FILL_VALUE: u32 = 2;

/// `sum / count` to the nearest integer, halves upward: `floor((2 sum + count) / (2 count))`.
///
/// The quotient is taken in f64, where it is off by one at most, and corrected.
#[inline(always)]
pub(crate) fn rounded_mean(sum: i64, count: u32) -> i32 {
    let numerator = 2 * sum + count as i64;
    let denominator = 2 * count as i64;
    let mut quotient = math::floor(numerator as f64 / denominator as f64) as i64;
    let rest = numerator - quotient * denominator;
    if rest < 0 {
        quotient -= 1;
    } else if rest >= denominator {
        quotient += 1;
    }
    quotient as i32
}
