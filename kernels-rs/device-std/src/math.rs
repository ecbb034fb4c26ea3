//! Arithmetic that `core` lacks on the device. It is correctly rounded, so host and device agree, except for the fast
//! reciprocals and [`mul_add_relaxed`].

#[cfg(target_arch = "nvptx64")]
use crate::approximate;

/// Square root, correctly rounded.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::sqrt(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.sqrt()
    }
}

/// Square root, correctly rounded, of a finite number of at least 1e-290; of another anything. On the device it has no
/// branch, as [`sqrt`] has one, so that roots beside each other overlap.
#[inline(always)]
pub fn sqrt_of_normal(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let near = approximate::reciprocal_sqrt_f64(x);
        let e = mul_add(x, -(near * near), 1.0);
        let reciprocal = mul_add(mul_add(0.375, e, 0.5), near * e, near);
        // What x has beyond the square of a root rounded twice; half of it over the root is the rest of the root.
        let root = x * reciprocal;
        let half = f64::from_bits(reciprocal.to_bits() - (1 << 52));
        mul_add(mul_add(-root, root, x), half, root)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.sqrt()
    }
}

/// Square root of 32 bits, correctly rounded.
#[inline(always)]
pub fn sqrt_f32(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f32::math::sqrt(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.sqrt()
    }
}

/// `1 / x` within two units in the last place, if `x` and the result are normal numbers; else anything.
#[inline(always)]
pub fn reciprocal(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let near = approximate::reciprocal_f64(x);
        // The instruction gives 20 bits; 1 + e + e^2 in place of 1 / (1 - e) triples them.
        let e = mul_add(-x, near, 1.0);
        mul_add(mul_add(e, e, e), near, near)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1.0 / x
    }
}

/// `1 / x`, correctly rounded, of a magnitude from 1e-290 to 1e290; of another number anything. On the device it has no
/// branch, as a division has one.
#[inline(always)]
pub fn reciprocal_of_normal(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let near = approximate::reciprocal_f64(x);
        // The lower half of the estimate is 0. If all bits of x's fraction are 1, the last step below is then a tie that
        // rounds the wrong way; another lower half keeps it off the tie.
        let near = f64::from_bits(near.to_bits() | 1 << 31);
        let e = mul_add(-x, near, 1.0);
        let near = mul_add(mul_add(e, e, e), near, near);
        mul_add(near, mul_add(-x, near, 1.0), near)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1.0 / x
    }
}

/// `1 / x` in 32 bits within two units in the last place, if `x` and the result are normal numbers; else anything.
#[inline(always)]
pub fn reciprocal_f32(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        approximate::reciprocal(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1.0 / x
    }
}

/// `1 / sqrt(x)` within two units in the last place, if `x` is a normal number above 0; else anything.
#[inline(always)]
pub fn reciprocal_sqrt(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let near = approximate::reciprocal_sqrt_f64(x);
        // As above: 1 + e / 2 + 3 e^2 / 8 in place of 1 / sqrt(1 - e).
        let e = mul_add(-(x * near), near, 1.0);
        mul_add(mul_add(0.375, e, 0.5) * e, near, near)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1.0 / x.sqrt()
    }
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn mul_add(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::mul_add(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        a.mul_add(b, c)
    }
}

/// `a * b + c`, rounded once on the device and twice on the host: for numbers whose rounding changes no decision.
#[inline(always)]
pub fn mul_add_relaxed(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::mul_add(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        a * b + c
    }
}

/// `a * b + c` of 32 bits, rounded once.
#[inline(always)]
pub fn mul_add_f32(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f32::math::mul_add(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        a.mul_add(b, c)
    }
}

/// [`mul_add_f32`], clamped to 0 to 1; 0 for NaN.
#[inline(always)]
pub fn mul_add_saturated(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result: f32;
        // SAFETY: arithmetic on registers.
        unsafe {
            core::arch::asm!(
                "fma.rn.sat.f32 {0}, {1}, {2}, {3};",
                out(reg32) result, in(reg32) a, in(reg32) b, in(reg32) c,
                options(pure, nomem, nostack),
            );
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let result = a.mul_add(b, c);
        if result > 0.0 { f32::min(result, 1.0) } else { 0.0 }
    }
}

/// The largest integer not above `x`, as a float.
#[inline(always)]
pub fn floor(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::floor(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.floor()
    }
}

/// The nearest integer, ties to even, as a float.
#[inline(always)]
pub fn round_ties_even(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::round_ties_even(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.round_ties_even()
    }
}
