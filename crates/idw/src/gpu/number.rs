//! The kernels of each type of result.

use device_std::host::Kernel;
use gpu_core::Element;
use kernels_rs::idw::neighbours::interpolate;
use kernels_rs::idw::neighbours::nearest::MOST_KEPT;
use kernels_rs::idw::neighbours::together::interpolate_together;
use kernels_rs::idw::pairs::combine::combine;
use kernels_rs::idw::pairs::rescue::rescue;

use crate::Number;

/// A type of results on the device: `f32` or `f64`.
pub trait DeviceNumber: Number + Element + Kernels {}

impl DeviceNumber for f32 {}
impl DeviceNumber for f64 {}

/// The kernels of a type; not to be named outside.
pub trait Kernels: Sized {
    /// Makes results of sums over all points.
    #[doc(hidden)]
    const COMBINE: Kernel<combine::Args<Self>>;
    /// Computes results anew.
    #[doc(hidden)]
    const RESCUE: Kernel<rescue::Args<Self>>;
    /// Interpolates over neighbours: at most `wanted` nearest points, or with `None` any number of them.
    #[doc(hidden)]
    fn neighbours(wanted: Option<u32>) -> Kernel<interpolate::Args<Self>>;
    /// Interpolates over the `wanted` nearest points, 32 queries at a time; `None` where those are too many.
    #[doc(hidden)]
    fn together(wanted: u32) -> Option<Kernel<interpolate_together::Args<Self>>>;
}

macro_rules! kernels {
    ($type:ident: $n8:ident $n12:ident $n16:ident $n24:ident $any:ident) => {
        impl Kernels for $type {
            const COMBINE: Kernel<combine::Args<Self>> = combine::$type;
            const RESCUE: Kernel<rescue::Args<Self>> = rescue::$type;

            fn neighbours(wanted: Option<u32>) -> Kernel<interpolate::Args<Self>> {
                match wanted {
                    Some(0..=8) => interpolate::$n8,
                    Some(9..=12) => interpolate::$n12,
                    Some(13..=16) => interpolate::$n16,
                    Some(17..=MOST_KEPT) => interpolate::$n24,
                    _ => interpolate::$any,
                }
            }

            fn together(wanted: u32) -> Option<Kernel<interpolate_together::Args<Self>>> {
                Some(match wanted {
                    0..=8 => interpolate_together::$n8,
                    9..=12 => interpolate_together::$n12,
                    13..=16 => interpolate_together::$n16,
                    17..=24 => interpolate_together::$n24,
                    _ => return None,
                })
            }
        }
    };
}

kernels! { f32: f32_8 f32_12 f32_16 f32_24 f32_any }
kernels! { f64: f64_8 f64_12 f64_16 f64_24 f64_any }
