//! The types of coordinates and of codes on the device, and their kernels.

use device_std::host::Kernel;
use gpu_core::Element;
use gpu_scan::Key;
use kernels_rs::quadtree::{
    self as kernels, Code, Place, divide, encode, find_bounds, gather_places, level_sort,
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
    pub trait Kernels: Copy {
        /// The search for bounds.
        const BOUNDS: Kernel<find_bounds::Args<Self>>;
        /// Codes of 32 bits.
        const SHORT: Kernel<encode::Args<Self, u32>>;
        /// Codes of 64 bits.
        const LONG: Kernel<encode::Args<Self, u64>>;
        /// Coordinates in an order.
        const GATHER: Kernel<gather_places::Args<Self>>;
    }

    impl Kernels for f32 {
        const BOUNDS: Kernel<find_bounds::Args<f32>> = find_bounds::f32;
        const SHORT: Kernel<encode::Args<f32, u32>> = encode::f32_u32;
        const LONG: Kernel<encode::Args<f32, u64>> = encode::f32_u64;
        const GATHER: Kernel<gather_places::Args<f32>> = gather_places::f32;
    }

    impl Kernels for f64 {
        const BOUNDS: Kernel<find_bounds::Args<f64>> = find_bounds::f64;
        const SHORT: Kernel<encode::Args<f64, u32>> = encode::f64_u32;
        const LONG: Kernel<encode::Args<f64, u64>> = encode::f64_u64;
        const GATHER: Kernel<gather_places::Args<f64>> = gather_places::f64;
    }
}

/// A code on the device, and its kernels.
pub(super) trait DeviceCode: Key + Code + gpu_scan::Number {
    const DIVIDE: Kernel<kernels::divide::Args<Self>>;
    const TAKE: Kernel<kernels::take_unsettled::Args<Self>>;
    const PUT_BACK: Kernel<kernels::put_back::Args<Self>>;
    const COUNT_PIECES: Kernel<level_sort::count_pieces::Args<Self>>;
    const SCATTER_PIECES: Kernel<level_sort::scatter_pieces::Args<Self>>;
    const DIVIDE_SMALL: Kernel<level_sort::divide_small::Args<Self>>;

    fn encode<T: Coordinate>() -> Kernel<encode::Args<T, Self>>;
}

impl DeviceCode for u32 {
    const DIVIDE: Kernel<divide::Args<Self>> = divide::u32;
    const TAKE: Kernel<kernels::take_unsettled::Args<Self>> = kernels::take_unsettled::u32;
    const PUT_BACK: Kernel<kernels::put_back::Args<Self>> = kernels::put_back::u32;
    const COUNT_PIECES: Kernel<level_sort::count_pieces::Args<Self>> =
        level_sort::count_pieces::u32;
    const SCATTER_PIECES: Kernel<level_sort::scatter_pieces::Args<Self>> =
        level_sort::scatter_pieces::u32;
    const DIVIDE_SMALL: Kernel<level_sort::divide_small::Args<Self>> =
        level_sort::divide_small::u32;

    fn encode<T: Coordinate>() -> Kernel<encode::Args<T, Self>> {
        T::SHORT
    }
}

impl DeviceCode for u64 {
    const DIVIDE: Kernel<divide::Args<Self>> = divide::u64;
    const TAKE: Kernel<kernels::take_unsettled::Args<Self>> = kernels::take_unsettled::u64;
    const PUT_BACK: Kernel<kernels::put_back::Args<Self>> = kernels::put_back::u64;
    const COUNT_PIECES: Kernel<level_sort::count_pieces::Args<Self>> =
        level_sort::count_pieces::u64;
    const SCATTER_PIECES: Kernel<level_sort::scatter_pieces::Args<Self>> =
        level_sort::scatter_pieces::u64;
    const DIVIDE_SMALL: Kernel<level_sort::divide_small::Args<Self>> =
        level_sort::divide_small::u64;

    fn encode<T: Coordinate>() -> Kernel<encode::Args<T, Self>> {
        T::LONG
    }
}
