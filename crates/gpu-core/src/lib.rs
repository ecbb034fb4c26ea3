//! The types and functions that Tessera's crates share.
//!
//! - Where the cells of a raster lie: [`GridSpec`] and [`Bounds`].
//! - Rasters in host memory: [`Grid`] owns its values, and [`GridView`] borrows them. The feature `ndarray` converts
//!   arrays to rasters, and back, without a copy.
//! - Which cells of a raster lie in polygons: [`cells_within`].
//! - Points: [`Points`], their [`Extent`], and the [`Targets`] of an interpolation.
//! - Points, geometries, tables and tensors of other crates, by features: `ArrayPoints`, the modules `geo`, `arrow` and
//!   `dlpack` (docs/guide/types.md).
//! - Devices: a program opens a [`Device`] for a [`DeviceChoice`].
//! - Progress: a long call reports to a [`Progress`] how far it is, and the caller may end it. [`On`] is a device
//!   together with the progress of a call on it.
//! - Loops on all cores of the host: [`parallel`]. Large host allocations that fail with an error: [`host_memory`].
//!   Files that appear whole or not at all: [`files`].
//!
//! With the feature `cuda`:
//!
//! - [`Gpu`] is the handle to a device and a stream.
//! - Typed device memory: [`Column`] and [`Slice`], [`DeviceGrid`] and [`GridSlice`], [`DevicePoints`].
//! - [`Gpu::enqueue`] launches a kernel, with arguments that are checked against the kernel's declaration.
//! - [`Gpu::capture`] records work once as a [`Graph`], which you can launch any number of times.
//! - [`Gpu::time`] measures the time that work takes on the device.
//! - [`PageLocked`] is host memory that the device copies directly, beside other work.
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
mod polygons;
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
pub use polygons::cells_within;
pub use progress::{Cancelled, On, Progress, Silent};
pub use raster::{Grid, GridView};
pub use shortest::Shortest;
#[cfg(feature = "cuda")]
pub use targets::DeviceTargets;
pub use targets::Targets;
