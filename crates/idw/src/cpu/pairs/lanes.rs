//! Vectors of numbers: 16 lanes of f32 by AVX-512, 8 by AVX2, and arrays that the compiler turns into
//! what the processor has.

/// A vector of numbers.
pub(crate) trait Lanes: Copy {
    type Scalar: crate::Number;
    /// Lanes.
    const COUNT: usize;

    fn splat(x: Self::Scalar) -> Self;
    /// The first [`Self::COUNT`] numbers of a slice, which has as many.
    fn load(from: &[Self::Scalar]) -> Self;
    fn store(self, to: &mut [Self::Scalar]);
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// `self * b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn reciprocal(self) -> Self;
    fn reciprocal_sqrt(self) -> Self;
    /// `self^exponent`, for numbers above 0.
    fn power(self, exponent: Self) -> Self;
}

/// Lanes in an array.
#[derive(Clone, Copy)]
pub(crate) struct Array<T, const N: usize>([T; N]);

macro_rules! array {
    ($type:ty, $power:expr) => {
        impl<const N: usize> Lanes for Array<$type, N> {
            type Scalar = $type;
            const COUNT: usize = N;

            #[inline(always)]
            fn splat(x: $type) -> Self {
                Self([x; N])
            }
            #[inline(always)]
            fn load(from: &[$type]) -> Self {
                let mut all = [0.0; N];
                all.copy_from_slice(&from[..N]);
                Self(all)
            }
            #[inline(always)]
            fn store(self, to: &mut [$type]) {
                to[..N].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] + b.0[i]))
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] - b.0[i]))
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * b.0[i]))
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // Not fused: without the instruction that would be a call.
                Self(std::array::from_fn(|i| self.0[i] * b.0[i] + c.0[i]))
            }
            #[inline(always)]
            fn reciprocal(self) -> Self {
                Self(self.0.map(|x| 1.0 / x))
            }
            #[inline(always)]
            fn reciprocal_sqrt(self) -> Self {
                Self(self.0.map(|x| 1.0 / x.sqrt()))
            }
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                let power: fn($type, $type) -> $type = $power;
                Self(std::array::from_fn(|i| power(self.0[i], exponent.0[i])))
            }
        }
    };
}

array!(f32, power);
array!(f64, |x, exponent| x.powf(exponent));

/// `x^exponent` for x above 0, within 3e-7 times the logarithm of the result. It takes the logarithm of x from the
/// exponent and a series of artanh for the mantissa, and multiplies. A series of the exponential gives the fraction of
/// the product.
#[inline(always)]
pub(crate) fn power(x: f32, exponent: f32) -> f32 {
    // The mantissa between the root of a half and that of two.
    let bits = x.to_bits() as i32;
    let shifted = bits.wrapping_sub(0x3f35_04f3);
    let whole = shifted >> 23;
    let m = f32::from_bits(bits.wrapping_sub(whole << 23) as u32);
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    let series = (((t * (1.0 / 9.0) + 1.0 / 7.0) * t + 1.0 / 5.0) * t + 1.0 / 3.0) * t;
    let log = whole as f32 + (s + s * series) * (2.0 * std::f32::consts::LOG2_E);
    let product = (log * exponent).clamp(-126.0, 128.0);
    let nearest = (product + 12_582_912.0) - 12_582_912.0;
    let r = (product - nearest) * std::f32::consts::LN_2;
    let series = ((((r / 720.0 + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0) * r + 0.5) * r;
    let exponential = (series + 1.0) * r + 1.0;
    let result = exponential * f32::from_bits(((nearest as i32 + 127) << 23) as u32);
    if x > 0.0 { result } else { f32::INFINITY }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Array, Lanes};
    use std::arch::x86_64::*;

    /// 16 lanes; made only where the processor has AVX-512 F.
    #[derive(Clone, Copy)]
    pub struct Avx512(__m512);

    /// 8 lanes; made only where the processor has AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub struct Avx2(__m256);

    // SAFETY (all): the functions that use these types are compiled for, and called on, processors
    // with the instructions; slices are as long as the trait demands, and checked.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx512 {
        type Scalar = f32;
        const COUNT: usize = 16;

        #[inline(always)]
        fn splat(x: f32) -> Self {
            unsafe { Self(_mm512_set1_ps(x)) }
        }
        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            unsafe { Self(_mm512_loadu_ps(from[..16].as_ptr())) }
        }
        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            unsafe { _mm512_storeu_ps(to[..16].as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn add(self, b: Self) -> Self {
            unsafe { Self(_mm512_add_ps(self.0, b.0)) }
        }
        #[inline(always)]
        fn sub(self, b: Self) -> Self {
            unsafe { Self(_mm512_sub_ps(self.0, b.0)) }
        }
        #[inline(always)]
        fn mul(self, b: Self) -> Self {
            unsafe { Self(_mm512_mul_ps(self.0, b.0)) }
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            unsafe { Self(_mm512_fmadd_ps(self.0, b.0, c.0)) }
        }
        /// Within 2^-14, and by one step of Newton's method within one unit in the last place or two.
        #[inline(always)]
        fn reciprocal(self) -> Self {
            unsafe {
                let about = _mm512_rcp14_ps(self.0);
                let rest = _mm512_fnmadd_ps(self.0, about, _mm512_set1_ps(1.0));
                Self(_mm512_fmadd_ps(about, rest, about))
            }
        }
        #[inline(always)]
        fn reciprocal_sqrt(self) -> Self {
            unsafe {
                let about = _mm512_rsqrt14_ps(self.0);
                let scaled = _mm512_mul_ps(self.0, about);
                let rest = _mm512_fnmadd_ps(scaled, about, _mm512_set1_ps(1.0));
                let half = _mm512_mul_ps(about, _mm512_set1_ps(0.5));
                Self(_mm512_fmadd_ps(half, rest, about))
            }
        }
        #[inline(always)]
        fn power(self, exponent: Self) -> Self {
            let (mut x, mut e) = ([0.0; 16], [0.0; 16]);
            self.store(&mut x);
            exponent.store(&mut e);
            Self::load(&Array(x).power(Array(e)).0)
        }
    }

    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx2 {
        type Scalar = f32;
        const COUNT: usize = 8;

        #[inline(always)]
        fn splat(x: f32) -> Self {
            unsafe { Self(_mm256_set1_ps(x)) }
        }
        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            unsafe { Self(_mm256_loadu_ps(from[..8].as_ptr())) }
        }
        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            unsafe { _mm256_storeu_ps(to[..8].as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn add(self, b: Self) -> Self {
            unsafe { Self(_mm256_add_ps(self.0, b.0)) }
        }
        #[inline(always)]
        fn sub(self, b: Self) -> Self {
            unsafe { Self(_mm256_sub_ps(self.0, b.0)) }
        }
        #[inline(always)]
        fn mul(self, b: Self) -> Self {
            unsafe { Self(_mm256_mul_ps(self.0, b.0)) }
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            unsafe { Self(_mm256_fmadd_ps(self.0, b.0, c.0)) }
        }
        #[inline(always)]
        fn reciprocal(self) -> Self {
            unsafe { Self(_mm256_div_ps(_mm256_set1_ps(1.0), self.0)) }
        }
        #[inline(always)]
        fn reciprocal_sqrt(self) -> Self {
            unsafe { Self(_mm256_div_ps(_mm256_set1_ps(1.0), _mm256_sqrt_ps(self.0))) }
        }
        #[inline(always)]
        fn power(self, exponent: Self) -> Self {
            let (mut x, mut e) = ([0.0; 8], [0.0; 8]);
            self.store(&mut x);
            exponent.store(&mut e);
            Self::load(&Array(x).power(Array(e)).0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_standard_library() {
        for i in 1..4000 {
            let x = (i as f32 * 0.01).exp() * 1e-6;
            for exponent in [-0.25, -0.5, -1.0, -1.25, -2.5] {
                let expected = f64::from(x).powf(f64::from(exponent));
                if (1e-30..1e30).contains(&expected) {
                    let error = f64::from(power(x, exponent)) / expected - 1.0;
                    let bound = 3e-7 * (1.0 + expected.log2().abs());
                    assert!(error.abs() <= bound, "{x}^{exponent}: {error}");
                }
            }
        }
        assert_eq!(power(0.0, -1.0), f32::INFINITY);
    }
}
