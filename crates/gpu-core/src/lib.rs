//! The ground under Tessera's GPU crates.
//!
//! - [`GridSpec`] and [`Bounds`]: where the cells of a raster lie. [`Grid`] and [`GridView`]: a raster in
//!   host memory, owned and borrowed; with the feature `ndarray` from arrays and as arrays, without a
//!   copy. [`Points`] and their [`Extent`].
//! - [`DeviceChoice`] and [`Device`]: which device a program asks for, and the one it got.
//! - [`Progress`]: how a long call says where it is, and may be ended. [`On`]: a device, and who watches a call on it.
//! - With the feature `cuda`: [`Gpu`], the handle to a device and a stream; [`Column`] and [`Slice`],
//!   [`DeviceGrid`] and [`GridSlice`], [`DevicePoints`], typed device memory; [`Gpu::launch`], a launch whose arguments are checked
//!   against the kernel's declaration; [`Gpu::capture`], work recorded once as a [`Graph`] and
//!   launched as often as one likes; [`Gpu::time`]; [`PageLocked`] host memory, and copies that run
//!   beside other work.
//! - [`parallel`]: loops on all cores of the host. [`host_memory`]: large host allocations that fail with an error.
//!   [`files`]: files that appear whole or not at all.
#![deny(missing_docs)]

#[cfg(feature = "cuda")]
mod admit;
mod choice;
#[cfg(feature = "cuda")]
mod column;
mod device;
#[cfg(feature = "cuda")]
mod device_grid;
#[cfg(feature = "cuda")]
mod device_points;
#[cfg(feature = "cuda")]
mod driver;
mod error;
pub mod files;
#[cfg(all(feature = "cuda", any(test, feature = "cust", feature = "cudarc")))]
mod foreign;
#[cfg(feature = "cudarc")]
mod foreign_cudarc;
#[cfg(feature = "cust")]
mod foreign_cust;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod graph;
mod grid;
#[cfg(feature = "cuda")]
mod host_copy;
pub mod host_memory;
#[cfg(feature = "cuda")]
mod launch;
mod macros;
#[cfg(feature = "cuda")]
mod modules;
#[cfg(feature = "cuda")]
mod opened;
pub mod parallel;
mod points;
mod progress;
mod raster;
#[cfg(feature = "cuda")]
mod slice;
#[cfg(feature = "cuda")]
mod staging;
#[cfg(feature = "cuda")]
mod stream;

#[cfg(feature = "cuda")]
pub use admit::{Reading, Writing};
#[cfg(feature = "cuda")]
pub use bytemuck;
pub use choice::DeviceChoice;
#[cfg(feature = "cuda")]
pub use column::{Column, Element};
#[cfg(feature = "cudarc")]
pub use cudarc;
#[cfg(feature = "cust")]
pub use cust;
pub use device::Device;
#[cfg(feature = "cuda")]
pub use device_grid::{DeviceGrid, GridSlice};
#[cfg(feature = "cuda")]
pub use device_points::{DevicePoints, UploadedPoints};
pub use error::{Error, Result, require_at_most, require_parameter};
#[cfg(feature = "cust")]
pub use foreign_cust::cust_init;
#[cfg(feature = "cuda")]
pub use gpu::Gpu;
#[cfg(feature = "cuda")]
pub use graph::Graph;
pub use grid::{Bounds, GridSpec};
#[cfg(feature = "cuda")]
pub use host_copy::{Copying, PageLocked};
#[cfg(feature = "cuda")]
pub use launch::{Arguments, Blocks};
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use points::{Extent, Points, ValueRange};
pub use progress::{Cancelled, On, Progress, Silent};
pub use raster::{Grid, GridView};
#[cfg(feature = "cuda")]
pub use slice::{Slice, SliceMut};
