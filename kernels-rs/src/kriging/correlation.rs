//! The correlation of two places: a sum of structures, each a share of the sill that falls with the distance.

use device_std::arguments;
use device_std::math::sqrt;

/// The most structures of a variogram.
pub const MAX_STRUCTURES: usize = 3;

/// How a structure falls: what stands in [`Correlation::models`].
pub mod model {
    /// No structure.
    pub const NONE: u32 = 0;
    /// `1 - 1.5 r + 0.5 r^3` below r = 1, then 0.
    pub const SPHERICAL: u32 = 1;
    /// `exp(-r)`.
    pub const EXPONENTIAL: u32 = 2;
    /// `exp(-r^2)`.
    pub const GAUSSIAN: u32 = 3;
}

/// The covariance of a variogram, divided by its sill.
#[arguments]
#[derive(PartialEq)]
pub struct Correlation {
    /// How each structure falls.
    pub models: [u32; MAX_STRUCTURES],
    /// The share of each in the sill; what they lack of 1 is the nugget's.
    pub shares: [f64; MAX_STRUCTURES],
    /// 1 over the range of each.
    pub scales: [f64; MAX_STRUCTURES],
}

impl Correlation {
    /// The correlations of places that lie so far from each other, in x and in y: 1 at one place.
    #[inline(always)]
    pub fn of<const N: usize>(&self, dx: [f64; N], dy: [f64; N]) -> [f64; N] {
        let (mut distances, mut i) = ([0.0; N], 0);
        while i < N {
            distances[i] = sqrt(dx[i] * dx[i] + dy[i] * dy[i]);
            i += 1;
        }
        let (mut sums, mut s) = ([0.0; N], 0);
        while s < MAX_STRUCTURES {
            let (model, share, scale) = (self.models[s], self.shares[s], self.scales[s]);
            if model != model::NONE {
                let parts = fall(model, distances.map(|distance| distance * scale));
                i = 0;
                while i < N {
                    sums[i] += share * parts[i];
                    i += 1;
                }
            }
            s += 1;
        }
        i = 0;
        while i < N {
            let is_one_place = dx[i] == 0.0 && dy[i] == 0.0;
            sums[i] = if is_one_place { 1.0 } else { sums[i] };
            i += 1;
        }
        sums
    }
}

/// What is left of a structure at distances in units of its range.
#[inline(always)]
pub fn fall<const N: usize>(model: u32, ratios: [f64; N]) -> [f64; N] {
    match model {
        model::SPHERICAL => {
            ratios.map(|r| if r < 1.0 { 1.0 - r * (1.5 - 0.5 * (r * r)) } else { 0.0 })
        }
        model::EXPONENTIAL => exp_of_negative(ratios),
        _ => exp_of_negative(ratios.map(|r| r * r)),
    }
}

/// 1.5 * 2^52: added to a number below 2^31, it leaves the nearest integer in the lower bits.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// The logarithm of 2 in two parts, of which the first has 32 bits: its products with integers below 2^20 are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// Above this the result would be no normal number.
const MOST: f64 = 708.0;

/// 1 / n!, up to n = 13.
const TAYLOR: [f64; 14] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// `exp(-t)` of numbers that are not negative, within 5e-16 of it, by single operations: the same bits on every device. 0 beyond
/// 708.
///
/// With k the integer nearest to t / ln 2 it is 2^-k exp(r), where r = k ln 2 - t. The magnitude of r is at most 0.347, so
/// Taylor's series up to r^13 is within 1e-17.
#[inline(always)]
pub fn exp_of_negative<const N: usize>(t: [f64; N]) -> [f64; N] {
    let (mut rest, mut power) = ([0.0; N], [0.0; N]);
    let mut i = 0;
    while i < N {
        let near = if t[i] < MOST { t[i] } else { MOST };
        let shifted = near * core::f64::consts::LOG2_E + ROUNDING;
        let k = shifted - ROUNDING;
        rest[i] = (k * LN_2[0] - near) + k * LN_2[1];
        power[i] = f64::from_bits((1023 - (shifted.to_bits() as u32 & 2047) as u64) << 52);
        i += 1;
    }
    let mut sums = [TAYLOR[13]; N];
    let mut term = 13;
    while term > 0 {
        term -= 1;
        i = 0;
        while i < N {
            sums[i] = sums[i] * rest[i] + TAYLOR[term];
            i += 1;
        }
    }
    i = 0;
    while i < N {
        sums[i] = if t[i] < MOST { sums[i] * power[i] } else { 0.0 };
        i += 1;
    }
    sums
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_standard_library() {
        let mut t = 0.0;
        while t < 708.0 {
            let [found] = exp_of_negative([t]);
            let wanted = (-t).exp();
            assert!((found - wanted).abs() <= 5e-16 * wanted, "exp(-{t}): {found}, not {wanted}");
            t += 0.00971 * (1.0 + t);
        }
        assert_eq!(exp_of_negative([0.0, 708.0, 1e300, f64::INFINITY]), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn structures_add_up_and_the_nugget_is_at_distance_0_alone() {
        let correlation = Correlation {
            models: [model::SPHERICAL, model::EXPONENTIAL, model::GAUSSIAN],
            shares: [0.3, 0.4, 0.1],
            scales: [0.1, 0.5, 0.2],
        };
        let [here, near, far] = correlation.of([0.0, 3.0, 0.0], [0.0, 4.0, -30.0]);
        assert_eq!(here, 1.0);
        let spherical = 1.0 - 1.5 * 0.5 + 0.5 * 0.125;
        let wanted = 0.3 * spherical + 0.4 * (-2.5f64).exp() + 0.1 * (-1.0f64).exp();
        assert!((near - wanted).abs() < 1e-15);
        assert!((far - 0.4 * (-15.0f64).exp()).abs() < 1e-15);
    }
}
