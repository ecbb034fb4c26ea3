//! The ground under Tessera's GPU crates.
//!
//! - [`GridSpec`] and [`Bounds`]: where the cells of a raster lie. [`Grid`] and [`GridView`]: a raster in
//!   host memory, owned and borrowed; with the feature `ndarray` from arrays and as arrays, without a
//!   copy. [`Points`], their [`Extent`], and [`Targets`] of an interpolation.
//! - [`DeviceChoice`] and [`Device`]: which device a program asks for, and the one it got.
//! - [`Progress`]: how a long call says where it is, and may be ended. [`On`]: a device, and who watches a call on it.
//! - With the feature `cuda`: [`Gpu`], the handle to a device and a stream; [`Column`] and [`Slice`],
//!   [`DeviceGrid`] and [`GridSlice`], [`DevicePoints`], typed device memory; [`Gpu::launch`], a launch whose arguments are checked
//!   against the kernel's declaration; [`Gpu::capture`], work recorded once as a [`Graph`] and
//!   launched as often as one likes; [`Gpu::time`]; [`PageLocked`] host memory, and copies that run
//!   beside other work.
//! - Points, geometries, tables and tensors of other crates, by features: `ArrayPoints`, the modules `geo`, `arrow` and
//!   `dlpack` (docs/types.md).
//! - [`parallel`]: loops on all cores of the host. [`host_memory`]: large host allocations that fail with an error.
//!   [`files`]: files that appear whole or not at all.
#![deny(missing_docs)]

#[cfg(any(feature = "arrow", feature = "geo", feature = "ndarray"))]
mod array_points;
#[cfg(feature = "arrow")]
pub mod arrow;
mod choice;
mod device;
#[cfg(feature = "dlpack")]
pub mod dlpack;
mod error;
pub mod files;
mod fused;
#[cfg(feature = "geo")]
pub mod geo;
#[cfg(feature = "cuda")]
mod gpu;
mod grid;
pub mod host_memory;
mod large_pages;
mod macros;
pub mod parallel;
mod points;
mod progress;
mod raster;
mod shortest;
mod targets;

#[cfg(any(feature = "arrow", feature = "geo", feature = "ndarray"))]
pub use array_points::ArrayPoints;
#[cfg(feature = "arrow")]
pub use arrow_array;
#[cfg(feature = "arrow")]
pub use arrow_buffer;
#[cfg(feature = "arrow")]
pub use arrow_schema;
#[cfg(feature = "cuda")]
pub use bytemuck;
pub use choice::DeviceChoice;
#[cfg(feature = "cuda-core")]
pub use cuda_core;
#[cfg(feature = "cudarc")]
pub use cudarc;
#[cfg(feature = "cust")]
pub use cust;
pub use device::Device;
#[cfg(feature = "dlpack")]
pub use dlpark;
pub use error::{Error, Result, require_at_most, require_parameter};
pub use fused::fused;
#[cfg(feature = "geo")]
pub use geo_traits;
#[cfg(feature = "geo")]
pub use geo_types;
#[cfg(feature = "cust")]
pub use gpu::foreign_cust::cust_init;
#[cfg(feature = "cuda")]
pub use gpu::{
    Gpu,
    admit::{Reading, Writing},
    column::{Column, Element},
    device_grid::{DeviceGrid, GridSlice},
    device_points::{DevicePoints, UploadedPoints},
    graph::Graph,
    host_copy::{Copying, PageLocked},
    launch::{Arguments, Blocks},
    slice::{Slice, SliceMut},
};
pub use grid::{Bounds, GridSpec};
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use points::{Extent, Points, ValueRange};
pub use progress::{Cancelled, On, Progress, Silent};
pub use raster::{Grid, GridView};
pub use shortest::Shortest;
#[cfg(feature = "cuda")]
pub use targets::DeviceTargets;
pub use targets::Targets;
