//! How a weight follows from a squared distance.

use device_std::real::Real;
use device_std::{In, arguments};

/// How weights follow from distances, apart from the law.
#[arguments]
pub struct Weighting<'a> {
    /// The square of the smoothing, in the units of the kernel's distances.
    pub smoothing: f64,
    /// Minus half the power.
    pub exponent: f64,
    /// The same for each target, in place of `exponent`.
    pub exponents: Option<In<'a, f64>>,
}

impl Weighting<'_> {
    /// Minus half the power of a target.
    #[inline(always)]
    pub fn exponent_of(&self, target: u64) -> f64 {
        self.exponents.map_or(self.exponent, |exponents| exponents.get(target))
    }
}

/// The law of weights: a power of the distance.
pub trait Law {
    /// Whether two data points share a reciprocal.
    const SHARED: bool;

    /// The weight; `exponent` is minus half the power.
    fn weight<T: Real>(squared: T, exponent: T) -> T;
}

/// The powers 1 to 4; with 0 any.
pub struct Power<const P: u32>;

impl<const P: u32> Law for Power<P> {
    const SHARED: bool = P == 2;

    #[inline(always)]
    fn weight<T: Real>(squared: T, exponent: T) -> T {
        match P {
            1 => squared.reciprocal_sqrt(),
            2 => squared.reciprocal(),
            3 => {
                let root = squared.reciprocal_sqrt();
                root * root * root
            }
            4 => {
                let reciprocal = squared.reciprocal();
                reciprocal * reciprocal
            }
            _ => any_power(squared, exponent),
        }
    }
}

/// The weight by any power.
#[inline(always)]
pub fn any_power<T: Real>(squared: T, exponent: T) -> T {
    (exponent * squared.log2()).exp2()
}

/// The weight where the law is known at run time: 1 to 4, else any.
#[inline(always)]
pub fn weight_by(law: u32, squared: f64, exponent: f64) -> f64 {
    match law {
        1 => Power::<1>::weight(squared, exponent),
        2 => Power::<2>::weight(squared, exponent),
        3 => Power::<3>::weight(squared, exponent),
        4 => Power::<4>::weight(squared, exponent),
        _ => any_power(squared, exponent),
    }
}
