//! What all ways to solve a system have in common: see [`kriging`](super).

use device_std::math::{reciprocal_of_normal, sqrt_of_normal};

/// The least pivot of a neighbour that counts: the share of its variance that the neighbours before it leave open. To leave one
/// out below it changes the value by 1e-6 standard deviations at most; rounding errors of 1e-16 are divided by its root.
pub const LEAST_PIVOT: f64 = 1e-12;

/// The factor of the elements below a pivot: the reciprocal of the pivot's root. It is 0 for a neighbour that the ones before
/// determine: a second point at one place, or a point too near to others for the variogram. Such a neighbour is left out.
#[inline(always)]
pub fn pivot(rest: f64) -> f64 {
    let reciprocal = reciprocal_of_normal(sqrt_of_normal(f64::max(rest, LEAST_PIVOT)));
    if rest > LEAST_PIVOT { reciprocal } else { 0.0 }
}

/// The products of the solved rows u and v, which all columns of values share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Products {
    uu: f64,
    uv: f64,
    vv: f64,
}

impl Products {
    /// Adds the next elements.
    #[inline(always)]
    pub fn add(&mut self, u: f64, v: f64) {
        self.uu += u * u;
        self.uv += u * v;
        self.vv += v * v;
    }

    /// What makes the weights add up to 1.
    #[inline(always)]
    fn lagrange(&self) -> f64 {
        (1.0 - self.uv) / self.uu
    }

    /// The value at the target, of that at the nearest place and the products of w.
    #[inline(always)]
    pub fn value(&self, nearest: f64, uw: f64, vw: f64) -> f64 {
        nearest + (vw + self.lagrange() * uw)
    }

    /// The kriging variance; not negative, whatever was rounded.
    #[inline(always)]
    pub fn variance(&self, sill: f64) -> f64 {
        let share = (1.0 - self.vv) + self.lagrange() * (1.0 - self.uv);
        if share > 0.0 { sill * share } else { 0.0 }
    }
}
