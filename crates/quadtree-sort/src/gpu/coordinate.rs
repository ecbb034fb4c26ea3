//! The types of coordinates and of codes on the device, and their kernels.

use device_std::host::Kernel;
use gpu_core::Element;
use gpu_scan::Key;
use kernels_rs::quadtree::baselines::{count_pieces, divide_small, scatter_pieces};
use kernels_rs::quadtree::{
    Code, Place, divide, encode, find_bounds, gather_places, put_back, take_unsettled,
};

use super::index::IndexKernels;
use super::queries::QueryKernels;

/// A coordinate on the device: f32 or f64.
pub trait Coordinate:
    Element + Key + Place + sealed::Kernels + QueryKernels + IndexKernels
{
}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

pub(super) mod sealed {
    use super::{Kernel, encode, find_bounds, gather_places};

    /// The kernels for a coordinate.
    pub trait Kernels: find_bounds::Instance + gather_places::Instance + Copy + 'static {
        /// Codes of 32 bits.
        const SHORT: Kernel<encode::Args<'static, Self, u32>>;
        /// Codes of 64 bits.
        const LONG: Kernel<encode::Args<'static, Self, u64>>;
    }

    impl Kernels for f32 {
        const SHORT: Kernel<encode::Args<'static, f32, u32>> = encode::f32_u32;
        const LONG: Kernel<encode::Args<'static, f32, u64>> = encode::f32_u64;
    }

    impl Kernels for f64 {
        const SHORT: Kernel<encode::Args<'static, f64, u32>> = encode::f64_u32;
        const LONG: Kernel<encode::Args<'static, f64, u64>> = encode::f64_u64;
    }
}

/// A code on the device, and its kernels.
pub(super) trait DeviceCode:
    Key
    + Code
    + gpu_scan::Number
    + divide::Instance
    + take_unsettled::Instance
    + put_back::Instance
    + count_pieces::Instance
    + scatter_pieces::Instance
    + divide_small::Instance
{
    fn encode<T: Coordinate>() -> Kernel<encode::Args<'static, T, Self>>;
}

impl DeviceCode for u32 {
    fn encode<T: Coordinate>() -> Kernel<encode::Args<'static, T, Self>> {
        T::SHORT
    }
}

impl DeviceCode for u64 {
    fn encode<T: Coordinate>() -> Kernel<encode::Args<'static, T, Self>> {
        T::LONG
    }
}
