//! Instructions of the device that approximate. They exist on the device only.

macro_rules! unary {
    ($($name:ident($number:ty, $register:ident), $instruction:literal;)+) => {$(
        #[inline(always)]
        pub fn $name(x: $number) -> $number {
            let result: $number;
            // SAFETY: arithmetic.
            unsafe {
                core::arch::asm!(
                    concat!($instruction, " {0}, {1};"), out($register) result, in($register) x,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            result
        }
    )+};
}

unary! {
    reciprocal(f32, reg32), "rcp.approx.ftz.f32";
    reciprocal_f64(f64, reg64), "rcp.approx.ftz.f64";
    reciprocal_sqrt(f32, reg32), "rsqrt.approx.ftz.f32";
    reciprocal_sqrt_f64(f64, reg64), "rsqrt.approx.ftz.f64";
    sqrt(f32, reg32), "sqrt.approx.ftz.f32";
    log2(f32, reg32), "lg2.approx.ftz.f32";
    exp2(f32, reg32), "ex2.approx.ftz.f32";
}
