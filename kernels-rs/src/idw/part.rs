//! Sums over the points part by part: the weight of a part's mean, and the mean of two parts.
//!
//! A weight `d^-p` may lie far outside the range of f64, so a sum of weights is a number times a power of two. If a
//! target lies on points, only these count, and each counts once: the exponent is infinite, and the number is how many
//! they are. So one rule adds both kinds. It scales the weight with the lower exponent to the higher one, and nothing
//! is left of it if the higher exponent is infinite.

use device_std::real::Real;

/// The sum of the weights of some points for a target: `sum * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// The power of two; infinite where the target lies on points.
    pub exponent: f64,
    /// The factor, or the number of points that the target lies on; 0 for no point.
    pub sum: f64,
}

impl Weight {
    /// The weight of no point.
    pub const NONE: Self = Self { exponent: f64::NEG_INFINITY, sum: 0.0 };

    /// The weight of points at one squared distance. Each weighs `squared^exponent`, and `sum` is in multiples of one
    /// point's weight.
    #[inline(always)]
    pub fn at_square(squared: f64, exponent: f64, sum: f64) -> Self {
        let of_one = exponent * Real::log2(squared);
        Self { exponent: if squared > 0.0 { of_one } else { f64::INFINITY }, sum }
    }

    /// The sum of both, and each one's share of it.
    #[inline(always)]
    pub fn plus(self, other: Self) -> (Self, [f64; 2]) {
        // A NaN weighs nothing.
        if !other.is_some() {
            return (self, [1.0, 0.0]);
        }
        if !self.is_some() {
            return (other, [0.0, 1.0]);
        }
        let is_higher = self.exponent > other.exponent;
        let exponent = if is_higher { self.exponent } else { other.exponent };
        let (own, others) = (self.beside(exponent), other.beside(exponent));
        let sum = own + others;
        (Self { exponent, sum }, [own / sum, others / sum])
    }

    /// Whether any point has a weight.
    #[inline(always)]
    pub fn is_some(&self) -> bool {
        self.sum > 0.0
    }

    /// The factor for this greater or equal exponent.
    #[inline(always)]
    fn beside(&self, exponent: f64) -> f64 {
        // Two infinite ones have no difference.
        let is_equal = self.exponent == exponent;
        if is_equal { self.sum } else { self.sum * Real::exp2(self.exponent - exponent) }
    }
}

/// The mean of two means with these shares. It starts from the mean with the larger share, so that equal means stay and
/// a share of 1 loses nothing.
#[inline(always)]
pub fn mean([a, b]: [f64; 2], [of_a, of_b]: [f64; 2]) -> f64 {
    if of_b == 0.0 {
        return a;
    }
    if of_a == 0.0 {
        return b;
    }
    let apart = b - a;
    if f64::abs(apart) == f64::INFINITY || apart.is_nan() {
        return a * of_a + b * of_b;
    }
    if of_a > of_b { a + apart * of_b } else { b - apart * of_a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_a_target_lies_on_count_alone_and_by_their_number() {
        let on = |sum| Weight { exponent: f64::INFINITY, sum };
        let beside = Weight { exponent: 900.0, sum: 1e38 };
        assert_eq!(beside.plus(on(2.0)), (on(2.0), [0.0, 1.0]));
        assert_eq!(on(2.0).plus(beside), (on(2.0), [1.0, 0.0]));
        assert_eq!(on(1.0).plus(on(3.0)), (on(4.0), [0.25, 0.75]));
        assert_eq!(Weight::NONE.plus(beside), (beside, [0.0, 1.0]));
        assert_eq!(beside.plus(Weight::NONE), (beside, [1.0, 0.0]));
    }

    #[test]
    fn weights_beyond_the_range_of_f64_are_added() {
        let weight = |exponent, sum| Weight { exponent, sum };
        let (sum, shares) = weight(-9000.5, 3.0).plus(weight(-9002.5, 4.0));
        assert_eq!((sum, shares), (weight(-9000.5, 4.0), [0.75, 0.25]));
        let (sum, shares) = weight(1e300, 1.0).plus(weight(-1e300, 5.0));
        assert_eq!((sum, shares), (weight(1e300, 1.0), [1.0, 0.0]));
    }

    #[test]
    fn equal_means_stay_and_small_ones_lose_nothing_beside_large() {
        for third in [0.1, 0.3, 0.77] {
            assert_eq!(mean([third, third], [1.0 / 3.0, 2.0 / 3.0]), third);
        }
        assert_eq!(mean([1e300, 1.5], [0.0, 1.0]), 1.5);
        assert_eq!(mean([f64::NAN, 1.5], [0.0, 1.0]), 1.5);
        assert!((mean([1e6 + 1.0, 1.0], [1e-12, 1.0 - 1e-12]) - (1.0 + 1e-6)).abs() < 1e-15);
        assert_eq!(mean([1.5e308, -1.5e308], [0.5, 0.5]), 0.0);
    }
}
