//! Terrain products from a DEM: crate `terrain-grid`.
//!
//! - [`products`]: what a cell's 3 x 3 neighbourhood gives; [`gradient`] has slope, aspect and brightness, [`shape`]
//!   curvature and ruggedness.
//! - [`scales`]: how long the sides of a cell are, in degrees too.
//! - [`strips`]: the product of every cell, a thread some columns of a strip.
//! - [`squares`]: the pieces of contour lines, by marching squares, a thread a square. The pieces are counted, gpu-scan
//!   scans the counts to places, and the pieces are written.
//! - [`lines`]: the pieces joined to lines.
//!
//! The host calls the functions of a cell, of a square and of a piece, too. They are single operations in a stated
//! order, so host and device give the same bits.

pub mod gradient;
pub mod kind;
pub mod lines;
pub mod products;
pub mod scales;
pub mod shape;
pub mod squares;
pub mod strips;

pub use gradient::*;
pub use kind::*;
pub use lines::*;
pub use products::*;
pub use scales::*;
pub use shape::*;
pub use squares::*;
pub use strips::*;

/// Threads of a block, in every kernel here.
pub const BLOCK: u32 = 256;

device_std::ptx_module! { "terrain" }
