//! Arithmetic for algorithms that exist in f32 and f64.
//!
//! In f32 the functions are the GPU's fast ones. Reciprocals are within one unit in the last place, and logarithm and
//! power of two within 2^-22 (absolute and relative). Results below 2^-126 are zero. In f64 all are within a few units
//! in the last place. On the host f32 uses the standard library, so host and device agree closely but not bit for bit;
//! f64 gives the same bits on both.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::math;
use crate::scalar::Scalar;

/// `f32` or `f64`.
pub trait Real:
    Scalar
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Above every finite number.
    const INFINITY: Self;

    /// The nearest number of this type.
    fn from_f64(x: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `1 / self`.
    fn reciprocal(self) -> Self;
    /// `1 / sqrt(self)`.
    fn reciprocal_sqrt(self) -> Self;
    /// The square root, correctly rounded in f64.
    fn sqrt(self) -> Self;
    /// The logarithm to base 2 of a number that is not negative.
    fn log2(self) -> Self;
    /// 2 to this power.
    fn exp2(self) -> Self;
    /// `2 asin(c / 2)` for a chord of the unit sphere with this squared length `c^2`, at most 4.
    fn arc_of_squared_chord(self) -> Self;
}

/// Coefficients of `asin(x) = x + x^3 / 6 + ...`: of `x^(2 k + 1)`.
const ARCSINE: [f64; 26] = {
    let mut all = [1.0; 26];
    let mut k = 1;
    // The binomial part; the division by 2 k + 1 comes below.
    while k < 26 {
        all[k] = all[k - 1] * (2 * k - 1) as f64 / (2 * k) as f64;
        k += 1;
    }
    k = 1;
    while k < 26 {
        all[k] /= (2 * k + 1) as f64;
        k += 1;
    }
    all
};

/// The arc of a chord: below 60 degrees by the series of the arcsine of half the chord, above by the series for the
/// chord to the antipode.
macro_rules! arc {
    ($squared:ident, $type:ty, $terms:literal, $pi:expr) => {{
        // The arc over 60 degrees and more is pi less twice that over half the supplement:
        // asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)).
        let squared_half = $squared * 0.25;
        let far = squared_half > 0.25;
        let half = Real::sqrt(squared_half);
        let square = if far { (1.0 - half) * 0.5 } else { squared_half };
        let square = if square > 0.0 { square } else { 0.0 };
        let root = if far { Real::sqrt(square) } else { half };
        let mut sum = ARCSINE[$terms - 1] as $type;
        let mut k = $terms - 1;
        while k > 0 {
            k -= 1;
            sum = sum * square + ARCSINE[k] as $type;
        }
        let arcsine = root * sum;
        if far { $pi - 4.0 * arcsine } else { 2.0 * arcsine }
    }};
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const INFINITY: Self = f32::INFINITY;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        fast::mul_add(self, b, c)
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        fast::reciprocal(self)
    }
    #[inline(always)]
    fn reciprocal_sqrt(self) -> Self {
        fast::reciprocal_sqrt(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        fast::sqrt(self)
    }
    #[inline(always)]
    fn log2(self) -> Self {
        fast::log2(self)
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        fast::exp2(self)
    }
    #[inline(always)]
    fn arc_of_squared_chord(self) -> Self {
        arc!(self, f32, 11, core::f32::consts::PI)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const INFINITY: Self = f64::INFINITY;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        1.0 / self
    }
    #[inline(always)]
    fn reciprocal_sqrt(self) -> Self {
        1.0 / math::sqrt(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        math::sqrt(self)
    }
    #[inline(always)]
    fn log2(self) -> Self {
        log2(self)
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        exp2(self)
    }
    #[inline(always)]
    fn arc_of_squared_chord(self) -> Self {
        arc!(self, f64, 26, core::f64::consts::PI)
    }
}

/// By the exponent and the series of `artanh`: `ln m = 2 artanh((m - 1) / (m + 1))`, with `m` between
/// the root of a half and that of two.
#[inline(always)]
fn log2(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    // Subnormal numbers are scaled into the normal range.
    let tiny = x < f64::MIN_POSITIVE;
    let bits = (if tiny { x * 18014398509481984.0 } else { x }).to_bits();
    let below = if tiny { 54 } else { 0 };
    // The exponent rises where the mantissa passes the root of two.
    let shifted = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = (shifted as i64) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((exponent as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    let mut k = 12;
    while k > 0 {
        sum = sum * square + 1.0 / (2 * k + 1) as f64;
        k -= 1;
    }
    let ln = 2.0 * (s + s * square * sum);
    (exponent - below) as f64 + ln * core::f64::consts::LOG2_E
}

/// By the nearest integer and the series of the exponential of the rest.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let bounded = if x < -1100.0 { -1100.0 } else { x };
    let bounded = if bounded > 1100.0 { 1100.0 } else { bounded };
    let whole = math::round_ties_even(bounded);
    let t = (bounded - whole) * core::f64::consts::LN_2;
    let mut sum = 1.0;
    let mut k = 14;
    while k > 0 {
        sum = sum * t / k as f64 + 1.0;
        k -= 1;
    }
    // Two factors, since one power of two alone would leave the range before the product does.
    let half = whole as i64 >> 1;
    let power = |n: i64| f64::from_bits(((n + 1023) as u64) << 52);
    sum * power(half) * power(whole as i64 - half)
}

#[cfg(target_arch = "nvptx64")]
mod fast {
    pub use crate::approximate::{exp2, log2, reciprocal, reciprocal_sqrt, sqrt};

    #[inline(always)]
    pub fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        core::f32::math::mul_add(a, b, c)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod fast {
    pub fn reciprocal(x: f32) -> f32 {
        1.0 / x
    }
    pub fn reciprocal_sqrt(x: f32) -> f32 {
        1.0 / x.sqrt()
    }
    pub fn sqrt(x: f32) -> f32 {
        x.sqrt()
    }
    pub fn log2(x: f32) -> f32 {
        x.log2()
    }
    pub fn exp2(x: f32) -> f32 {
        x.exp2()
    }
    pub fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_power_are_those_of_the_standard_library() {
        for i in -4000..4000 {
            let x = f64::from(i) * 0.2537;
            let (power, expected) = (exp2(x), x.exp2());
            assert!((power - expected).abs() <= 4e-15 * expected, "2^{x}: {power}, {expected}");
            let (log, expected) = (log2(expected), expected.log2());
            let error = (log - expected).abs();
            assert!(error <= 1e-15 * (1.0 + expected.abs()), "{x}: {log}, {expected}");
        }
        assert_eq!((log2(0.0), log2(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((exp2(-5000.0), exp2(5000.0)), (0.0, f64::INFINITY));
        assert_eq!(exp2(f64::NEG_INFINITY), 0.0);
    }

    #[test]
    fn arcs_are_those_of_the_standard_library() {
        for i in 0..=2000 {
            let chord = f64::from(i) / 1000.0;
            let expected = 2.0 * (chord / 2.0).asin();
            let arc = (chord * chord).arc_of_squared_chord();
            // Near the antipode the chord says little about the arc.
            let slack = if i > 1990 { 1e-7 } else { 4e-14 };
            assert!((arc - expected).abs() <= slack * (1e-30 + expected), "{chord}: {arc}");
            let arc = f64::from(((chord * chord) as f32).arc_of_squared_chord());
            let slack = if i > 1990 { 2e-3 } else { 2e-6 };
            assert!((arc - expected).abs() <= slack * (1e-30 + expected), "{chord}: {arc}");
        }
    }
}
