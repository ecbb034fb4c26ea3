//! The processor's fused multiply-add.

/// Calls `work`. If this processor has fused multiply-add, the call uses code compiled for it. Elsewhere
/// [`f64::mul_add`] is a call of a function, with the same results.
///
/// The closure and the functions that it calls must be `#[inline(always)]`. Code that is not inlined is compiled for
/// any processor.
#[inline(always)]
pub fn fused<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions.
            return unsafe { wide(work) };
        }
    }
    work()
}
