//! The ground under Tessera's GPU crates.
//!
//! - [`GridSpec`] and [`Bounds`]: the raster that every crate shares.
//! - [`DeviceChoice`] and [`Device`]: which device a program asks for, and the one it got.
//! - [`host_memory`]: large host allocations that fail with an error.
#![deny(missing_docs)]

mod choice;
mod device;
mod error;
mod grid;
pub mod host_memory;
mod progress;

pub use choice::DeviceChoice;
pub use device::Device;
pub use error::{Error, Result};
pub use grid::{Bounds, GridSpec};
pub use progress::Progress;
