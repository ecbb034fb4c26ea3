//! Trees on a GPU, over device memory. The kernels are in `kernels_rs::ccq`.

mod build;
mod host;
mod merge;
mod query;
mod results;
mod tree;

pub use build::{Bounded, build, build_forest, build_within};
pub use gpu_scan::gpu::Workspace;
pub(crate) use host::{build_forest_host, build_host, build_tile_host};
pub use query::{Condition, MAX_CONDITIONS, count, quadrants};
pub use results::{mask, runs, statistics, top_k};
pub use tree::{DeviceForest, DeviceTree};

use crate::Cell;
use device_std::host::Kernel;
use kernels_rs::ccq::build as kernels;

/// A type of cells whose kernels this build has.
pub trait DeviceCell: Cell {
    #[doc(hidden)]
    fn reduce() -> Kernel<kernels::reduce::Args<Self>>;
    #[doc(hidden)]
    fn write() -> Kernel<kernels::write::Args<Self>>;
}

macro_rules! device_cells {
    ($($type:ident)+) => {$(
        impl DeviceCell for $type {
            fn reduce() -> Kernel<kernels::reduce::Args<Self>> {
                kernels::reduce::$type
            }

            fn write() -> Kernel<kernels::write::Args<Self>> {
                kernels::write::$type
            }
        }
    )+};
}

device_cells! { u8 i16 u16 i32 u32 f32 }
