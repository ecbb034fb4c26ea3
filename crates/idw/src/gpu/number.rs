//! The kernels of each type of result.

use gpu_core::Element;
use kernels_rs::{idw, idw_neighbours};

use crate::Number;

type Pointer<T> = *const T;

/// Arguments of the kernels that combine segments.
pub(super) type Combine<T> =
    (u32, u32, Pointer<f64>, u64, u32, Pointer<f64>, *mut T, *mut u32, Pointer<f64>);

/// Arguments of the kernels that rescue queries.
pub(super) type Rescue<T> = (
    Pointer<f64>,
    Pointer<f64>,
    u32,
    u32,
    Pointer<f64>,
    u64,
    u32,
    u32,
    Pointer<u32>,
    Pointer<f64>,
    Pointer<f64>,
    *mut T,
    *mut u32,
);

/// Arguments of the kernels over neighbours.
pub(super) type Neighbours<T> = (
    Pointer<u32>,
    Pointer<u32>,
    Pointer<f64>,
    Pointer<f64>,
    Pointer<u32>,
    Pointer<u32>,
    Pointer<f64>,
    Pointer<f64>,
    Pointer<f64>,
    u64,
    u32,
    Pointer<f64>,
    *mut T,
    *mut T,
);

type Kernel<A> = device_std::host::Kernel<A>;

/// A type of results on the device: `f32` or `f64`.
pub trait DeviceNumber: Number + Element + Kernels {}

impl DeviceNumber for f32 {}
impl DeviceNumber for f64 {}

/// The kernels of a type; not to be named outside.
pub trait Kernels: Sized {
    /// Whether this is f32, which has fast kernels in the plane.
    #[doc(hidden)]
    const IS_FAST: bool;
    #[doc(hidden)]
    fn as_f32(pointer: *mut Self) -> *mut f32;
    #[doc(hidden)]
    fn combine(several: bool) -> Kernel<Combine<Self>>;
    #[doc(hidden)]
    fn rescue() -> Kernel<Rescue<Self>>;
    /// The kernel that keeps so many nearest points, and how many it can; `None` for the one that
    /// keeps none.
    #[doc(hidden)]
    fn neighbours(wanted: Option<u32>) -> (Kernel<Neighbours<Self>>, u32);
}

macro_rules! kernels {
    ($type:ty, $fast:literal, $combine:ident $combine_4:ident
     $rescue:ident $n8:ident $n12:ident $n16:ident $n24:ident $all:ident) => {
        impl Kernels for $type {
            const IS_FAST: bool = $fast;

            fn as_f32(pointer: *mut Self) -> *mut f32 {
                pointer.cast()
            }
            fn combine(several: bool) -> Kernel<Combine<Self>> {
                if several { idw::$combine_4 } else { idw::$combine }
            }
            fn rescue() -> Kernel<Rescue<Self>> {
                idw::$rescue
            }
            fn neighbours(wanted: Option<u32>) -> (Kernel<Neighbours<Self>>, u32) {
                match wanted {
                    Some(0..=8) => (idw_neighbours::$n8, 8),
                    Some(9..=12) => (idw_neighbours::$n12, 12),
                    Some(13..=16) => (idw_neighbours::$n16, 16),
                    Some(17..=24) => (idw_neighbours::$n24, 24),
                    _ => (idw_neighbours::$all, 0),
                }
            }
        }
    };
}

kernels! { f32, true, combine_f32_1 combine_f32_4 rescue_f32
nearest_8_f32 nearest_12_f32 nearest_16_f32 nearest_24_f32 neighbours_f32 }
kernels! { f64, false, combine_f64_1 combine_f64_4 rescue_f64
nearest_8_f64 nearest_12_f64 nearest_16_f64 nearest_24_f64 neighbours_f64 }
