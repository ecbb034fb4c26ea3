//! Powers with any exponent in f64, for sums that need less than full precision.
//!
//! `x^e = 2^(e log2 x)`. Let x = m 2^k, with m between the roots of 1/2 and of 2, and s = (m - 1) / (m + 1). Then log2
//! m is s times a polynomial in s^2 (at most 0.0295). The product with e is split. Its nearest integer n goes into the
//! result's exponent, and the rest f into a polynomial for 2^f, |f| <= 1/2. Both polynomials meet their functions at
//! Chebyshev's nodes, and are within 3.2e-16 of them. There is no division and no branch: some thirty operations of
//! f64. `exp2(e * log2(x))` of [`Real`](crate::real::Real), which has the same bits everywhere, takes ten times as
//! many.

use crate::math::{mul_add, reciprocal};

/// The coefficients of `log2((1 + s) / (1 - s)) / s`, by the powers of `s^2`.
const LOGARITHM: [f64; 7] = [
    2.885390081777927,
    0.9617966939243345,
    0.5770780172463286,
    0.4121984020482752,
    0.32061638813224547,
    0.2614442493522915,
    0.2429160853987535,
];

/// The coefficients of `2^f`, by the powers of `f`; the second is near the logarithm of 2, not equal to it.
#[allow(clippy::approx_constant)]
const EXPONENTIAL: [f64; 11] = [
    1.0,
    0.69314718055995,
    0.24022650695910097,
    0.05550410866444772,
    0.009618129107606888,
    0.0013333558230164974,
    0.0001540353044173605,
    1.5252657260200837e-05,
    1.321544258792169e-06,
    1.0208690299958306e-07,
    7.072585949269223e-09,
];

/// 1.5 * 2^52: if it is added to a small number, the lower bits are the nearest integer.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// The polynomial at several places, step by step side by side, so that a coefficient is loaded once for all.
#[inline(always)]
fn polynomial<const N: usize, const TERMS: usize>(
    x: [f64; N],
    coefficients: [f64; TERMS],
) -> [f64; N] {
    let mut sums = [coefficients[TERMS - 1]; N];
    let mut k = TERMS - 1;
    while k > 0 {
        k -= 1;
        let mut i = 0;
        while i < N {
            sums[i] = mul_add(sums[i], x[i], coefficients[k]);
            i += 1;
        }
    }
    sums
}

/// Returns each `x` to the power of its exponent, which is not positive. The result is within `1e-15 * (4 + |exponent *
/// log2(x)|)` of itself if `x` is a normal number above 0 and the result is normal. It is infinite for 0 and subnormal
/// `x`, and 0 if it would be below the normal numbers.
#[inline(always)]
pub fn negative_powers<const N: usize>(x: [f64; N], exponents: [f64; N]) -> [f64; N] {
    let (mut s, mut square, mut whole) = ([0.0; N], [0.0; N], [0.0; N]);
    let mut i = 0;
    while i < N {
        let (high, low) = ((x[i].to_bits() >> 32) as i32, x[i].to_bits() as u32);
        // The exponent rises where the mantissa passes the root of two.
        let k = high.wrapping_sub(0x3fe6_a09e) >> 20;
        let m = f64::from_bits((high.wrapping_sub(k << 20) as u64) << 32 | low as u64);
        s[i] = (m - 1.0) * reciprocal(m + 1.0);
        (square[i], whole[i]) = (s[i] * s[i], integer(k));
        i += 1;
    }
    let series = polynomial(square, LOGARITHM);
    let (mut rest, mut power) = ([0.0; N], [0.0; N]);
    i = 0;
    while i < N {
        let logarithm = mul_add(s[i], series[i], whole[i]);
        let shifted = mul_add(exponents[i], logarithm, ROUNDING);
        rest[i] = mul_add(exponents[i], logarithm, ROUNDING - shifted);
        let is_normal = (x[i].to_bits() >> 32) as i32 >= 0x0010_0000;
        let n = if is_normal { shifted.to_bits() as i32 } else { i32::MAX };
        let n = i32::min(i32::max(n, -1023), 1024);
        power[i] = f64::from_bits(((n + 1023) as u64) << 52);
        i += 1;
    }
    let mut results = polynomial(rest, EXPONENTIAL);
    i = 0;
    while i < N {
        results[i] *= power[i];
        i += 1;
    }
    results
}

/// An integer as a float, without the slow instruction for it.
#[inline(always)]
fn integer(k: i32) -> f64 {
    let bits = ROUNDING.to_bits() & !0xffff_ffff | (k as u32 ^ 0x8000_0000) as u64;
    f64::from_bits(bits) - (ROUNDING + 2_147_483_648.0)
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    fn negative_power(x: f64, exponent: f64) -> f64 {
        let [power, one] = negative_powers([x, 1.0], [exponent, -1.5]);
        assert_eq!(one, 1.0);
        power
    }

    #[test]
    fn integers_stay_what_they_are() {
        for k in [-1075, -1, 0, 1, 1023, i32::MIN, i32::MAX] {
            assert_eq!(integer(k), f64::from(k));
        }
    }

    #[test]
    fn powers_are_those_of_the_standard_library() {
        let mut x = 1e-30;
        while x < 1e30 {
            for exponent in [-0.125, -0.25, -0.5, -0.75, -1.0, -1.1, -1.25, -2.0, -4.5] {
                let (found, wanted) = (negative_power(x, exponent), x.powf(exponent));
                let bound = 1e-15 * (4.0 + (exponent * x.log2()).abs());
                assert!((found - wanted).abs() <= bound * wanted, "{x}^{exponent}: {found}");
            }
            x *= 1.0173;
        }
    }

    #[test]
    fn ends_of_the_range_are_infinite_and_zero() {
        assert_eq!(negative_power(0.0, -0.25), f64::INFINITY);
        assert_eq!(negative_power(1e-310, -0.25), f64::INFINITY);
        assert_eq!(negative_power(1e-300, -2.0), f64::INFINITY);
        assert_eq!(negative_power(1e300, -2.0), 0.0);
    }
}
