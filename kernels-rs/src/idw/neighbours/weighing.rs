//! How much a neighbour weighs.

use device_std::math;
use device_std::real::Real;
use device_std::{In, arguments};

use crate::idw::kernel_weights::{FIRST_KERNEL, kernel_weight};
use crate::spatial::sphere::arc_of_squared_chord;

/// The law of weights, for all targets.
#[arguments]
pub struct Weights<'a> {
    /// A power 1 to 4 whose weight has a short form, 0 for other powers, or a kernel function ([`kernel_weight`]).
    pub law: u32,
    /// The square of the smoothing, on the ground.
    pub smoothing: f64,
    /// Minus half the power; for a kernel function, the square of its bandwidth.
    pub exponent: f64,
    /// The same for each target, in place of `exponent`.
    pub exponents: Option<In<'a, f64>>,
    /// The radius of the globe; 0 in the plane.
    pub globe: f64,
}

impl Weights<'_> {
    /// The law for a target, in the plane or on the globe.
    #[inline(always)]
    pub fn of_target(&self, target: u64, is_on_globe: bool) -> Weighing {
        let &Self { law, smoothing, .. } = self;
        // A constant in the plane, so that its kernels have no code for arcs.
        let globe = if is_on_globe { self.globe } else { 0.0 };
        let exponent = self.exponents.map_or(self.exponent, |exponents| exponents.get(target));
        Weighing { law, smoothing, exponent, globe }
    }
}

/// The law of weights of a target.
#[derive(Clone, Copy)]
pub struct Weighing {
    law: u32,
    smoothing: f64,
    exponent: f64,
    globe: f64,
}

impl Weighing {
    /// The squared distance on the ground; on the globe, from a squared chord.
    #[inline(always)]
    pub fn on_ground(&self, squared: f64) -> f64 {
        if self.globe == 0.0 {
            return squared;
        }
        let arc = arc_of_squared_chord(squared) * self.globe;
        arc * arc
    }

    /// The square of the distance on the ground, smoothed.
    #[inline(always)]
    pub fn smoothed(&self, squared: f64) -> f64 {
        self.on_ground(squared) + self.smoothing
    }

    /// Whether only points on the target count; `nearest` is the smoothed square of the nearest point.
    #[inline(always)]
    pub fn is_exact(&self, nearest: f64) -> bool {
        nearest == 0.0 && self.law < FIRST_KERNEL
    }

    /// The weight at a squared distance. Powers and the Gaussian are relative to the weight of the nearest neighbour,
    /// whose smoothed square is given. So a weight is at most 1 and none overflows.
    #[inline(always)]
    pub fn weight(&self, squared: f64, nearest: f64) -> f64 {
        if self.law >= FIRST_KERNEL {
            return kernel_weight(self.law, self.smoothed(squared), nearest, self.exponent);
        }
        let ratio = nearest / self.smoothed(squared);
        match self.law {
            2 => ratio,
            4 => ratio * ratio,
            1 => math::sqrt(ratio),
            3 => ratio * math::sqrt(ratio),
            // By the trait: a method of `f64` itself has other bits on the host.
            _ => Real::exp2(-self.exponent * Real::log2(ratio)),
        }
    }
}
