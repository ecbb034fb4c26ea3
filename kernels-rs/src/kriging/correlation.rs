//! The correlation of two places: a sum of structures, each a share of the sill that falls with the distance.

use device_std::arguments;
use device_std::math::sqrt_of_normal;

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

/// The covariance of a variogram, divided by its sill. [`Correlation::set`] fills in a structure.
///
/// The numbers of a structure are such that nothing but what depends on the distance d is left to compute:
///
/// ```text
/// spherical    share - d (slope - bend d^2)    below the range, else 0
/// exponential  share 2^(-slope d)
/// Gaussian     share 2^(-slope d^2)
/// ```
#[arguments]
#[derive(Default, PartialEq)]
pub struct Correlation {
    /// How each structure falls.
    pub models: [u32; MAX_STRUCTURES],
    /// The share of each in the sill; what they lack of 1 is the nugget's.
    pub shares: [f64; MAX_STRUCTURES],
    /// How fast each falls at first.
    pub slopes: [f64; MAX_STRUCTURES],
    /// How fast a spherical structure falls less.
    pub bends: [f64; MAX_STRUCTURES],
    /// Where a spherical structure ends.
    pub ranges: [f64; MAX_STRUCTURES],
}

/// The least square of a distance: its root, 1e-145, is nothing beside the least range, and has full precision.
const LEAST_SQUARE: f64 = 1e-290;

impl Correlation {
    /// Sets structure `i`, for a share of the sill and a range between 1e-100 and 1e150.
    pub fn set(&mut self, i: usize, model: u32, share: f64, range: f64) {
        let (slope, bend) = match model {
            model::SPHERICAL => (1.5 * share / range, 0.5 * share / range / (range * range)),
            model::EXPONENTIAL => (core::f64::consts::LOG2_E / range, 0.0),
            _ => (core::f64::consts::LOG2_E / (range * range), 0.0),
        };
        (self.models[i], self.shares[i], self.ranges[i]) = (model, share, range);
        (self.slopes[i], self.bends[i]) = (slope, bend);
    }

    /// The correlations of places that lie so far from each other, in x and in y: 1 at one place.
    #[inline(always)]
    pub fn of<const N: usize>(&self, dx: [f64; N], dy: [f64; N]) -> [f64; N] {
        let (mut squares, mut i) = ([0.0; N], 0);
        while i < N {
            let square = dx[i] * dx[i] + dy[i] * dy[i];
            squares[i] = if is_below(square, LEAST_SQUARE) { LEAST_SQUARE } else { square };
            i += 1;
        }
        let mut sums = self.structure(0, squares);
        let mut s = 1;
        while s < MAX_STRUCTURES {
            if self.models[s] != model::NONE {
                let parts = self.structure(s, squares);
                i = 0;
                while i < N {
                    sums[i] += parts[i];
                    i += 1;
                }
            }
            s += 1;
        }
        i = 0;
        while i < N {
            let is_one_place = (dx[i].to_bits() | dy[i].to_bits()) << 1 == 0;
            sums[i] = if is_one_place { 1.0 } else { sums[i] };
            i += 1;
        }
        sums
    }

    /// What a structure contributes at the roots of some squares.
    #[inline(always)]
    fn structure<const N: usize>(&self, s: usize, squares: [f64; N]) -> [f64; N] {
        let (share, slope) = (self.shares[s], self.slopes[s]);
        let (mut parts, mut i) = ([0.0; N], 0);
        match self.models[s] {
            model::NONE => (),
            model::SPHERICAL => {
                while i < N {
                    let distance = sqrt_of_normal(squares[i]);
                    let part = share - distance * (slope - self.bends[s] * squares[i]);
                    parts[i] = if is_below(distance, self.ranges[s]) { part } else { 0.0 };
                    i += 1;
                }
            }
            model::EXPONENTIAL => {
                let exponents = squares.map(|square| sqrt_of_normal(square) * slope);
                parts = power_of_half(exponents).map(|power| share * power);
            }
            _ => parts = power_of_half(squares.map(|it| it * slope)).map(|power| share * power),
        }
        parts
    }
}

/// Whether a number is less than another, neither negative: by their bits, which have the order of the numbers. A GPU's units for
/// f64 are busy with the rest.
#[inline(always)]
fn is_below(a: f64, b: f64) -> bool {
    a.to_bits() < b.to_bits()
}

/// 1.5 * 2^50: added to a number below 2^49, it leaves the nearest multiple of 1/4 in the lower bits.
const ROUNDING: f64 = 1_688_849_860_263_936.0;

/// 2^(-i/4).
const QUARTERS: [f64; 4] =
    [1.0, 0.840_896_415_253_714_5, core::f64::consts::FRAC_1_SQRT_2, 0.594_603_557_501_360_5];

/// Powers of 1/2 with greater exponents would be no normal numbers.
const GREATEST: f64 = 1021.0;

/// The polynomial through 2^-x at the nine Chebyshev nodes of -1/8 to 1/8. Its relative error is below 8e-18.
const POLYNOMIAL: [f64; 9] = [
    1.0,
    -0.693_147_180_559_945_1,
    0.240_226_506_959_100_7,
    -0.055_504_108_665_003_604,
    0.009_618_129_107_641_094,
    -0.001_333_355_772_704_777_8,
    0.000_154_035_301_026_956_06,
    -1.525_631_240_374_581e-5,
    1.321_796_724_410_582e-6,
];

/// `2^-t` of numbers that are not negative, within 5e-16 of it, by single operations: the same bits on every device. Beyond
/// 1021 it is 2^-1021.
///
/// With q the multiple of 1/4 nearest to t it is 2^-q times a polynomial of t - q, a difference without error.
#[inline(always)]
pub fn power_of_half<const N: usize>(t: [f64; N]) -> [f64; N] {
    let (mut rest, mut powers, mut i) = ([0.0; N], [0.0; N], 0);
    while i < N {
        let near = if is_below(t[i], GREATEST) { t[i] } else { GREATEST };
        let shifted = near + ROUNDING;
        rest[i] = near - (shifted - ROUNDING);
        // Four times q.
        let quarters = shifted.to_bits() as u32 & 4095;
        let of_rest = match quarters & 3 {
            0 => QUARTERS[0],
            1 => QUARTERS[1],
            2 => QUARTERS[2],
            _ => QUARTERS[3],
        };
        powers[i] = f64::from_bits(of_rest.to_bits() - ((quarters as u64 >> 2) << 52));
        i += 1;
    }
    let (mut sums, mut term) = ([POLYNOMIAL[8]; N], 8);
    while term > 0 {
        term -= 1;
        i = 0;
        while i < N {
            sums[i] = sums[i] * rest[i] + POLYNOMIAL[term];
            i += 1;
        }
    }
    i = 0;
    while i < N {
        sums[i] *= powers[i];
        i += 1;
    }
    sums
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn powers_of_a_half_are_those_of_the_standard_library() {
        let mut t = 0.0;
        while t < GREATEST {
            let [found] = power_of_half([t]);
            let wanted = (-t).exp2();
            assert!((found - wanted).abs() <= 5e-16 * wanted, "2^-{t}: {found}, not {wanted}");
            t += 0.00971 * (1.0 + t);
        }
        let last = (-GREATEST).exp2();
        assert_eq!(power_of_half([0.0, GREATEST, 1e300, f64::INFINITY]), [1.0, last, last, last]);
    }

    #[test]
    fn structures_add_up_and_the_nugget_is_at_distance_0_alone() {
        let mut correlation = Correlation::default();
        correlation.set(0, model::SPHERICAL, 0.3, 10.0);
        correlation.set(1, model::EXPONENTIAL, 0.4, 2.0);
        correlation.set(2, model::GAUSSIAN, 0.1, 5.0);
        let [here, near, far] = correlation.of([0.0, 3.0, 0.0], [0.0, 4.0, -30.0]);
        assert_eq!(here, 1.0);
        let spherical = 1.0 - 1.5 * 0.5 + 0.5 * 0.125;
        let wanted = 0.3 * spherical + 0.4 * (-2.5f64).exp() + 0.1 * (-1.0f64).exp();
        assert!((near - wanted).abs() < 1e-15);
        assert!((far - 0.4 * (-15.0f64).exp()).abs() < 1e-15);
    }
}
