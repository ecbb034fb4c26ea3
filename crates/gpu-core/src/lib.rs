//! The ground under Tessera's GPU crates.
//!
//! - [`GridSpec`] and [`Bounds`]: the raster that every crate shares.
//! - [`DeviceChoice`]: which device a program asks for.
#![deny(missing_docs)]

mod choice;
mod error;
mod grid;
mod progress;

pub use choice::DeviceChoice;
pub use error::{Error, Result};
pub use grid::{Bounds, GridSpec};
pub use progress::Progress;
