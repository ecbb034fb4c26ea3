//! The types of results.

use std::fmt::Debug;

/// `f32` or `f64`.
pub trait Number:
    Copy + Debug + PartialEq + PartialOrd + Send + Sync + 'static + sealed::Sealed
{
    /// The nearest number of this type.
    fn from_f64(x: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// Whether this is NaN.
    fn is_missing(self) -> bool;
    /// Whether a number, not NaN, is infinite in this type and not in f64.
    #[doc(hidden)]
    fn overflows(x: f64) -> bool {
        x.is_finite() && !Self::from_f64(x).to_f64().is_finite()
    }
    /// Whether this is f32.
    #[doc(hidden)]
    const IS_SINGLE: bool;
}

/// What no other crate implements, with the kernels of a type where this build has some.
mod sealed {
    #[cfg(feature = "cuda")]
    pub trait Sealed: crate::gpu::number::Kernels {}
    #[cfg(not(feature = "cuda"))]
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Number for f32 {
    const IS_SINGLE: bool = true;

    fn from_f64(x: f64) -> Self {
        x as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn is_missing(self) -> bool {
        self.is_nan()
    }
}

impl Number for f64 {
    const IS_SINGLE: bool = false;

    fn from_f64(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn is_missing(self) -> bool {
        self.is_nan()
    }
}
