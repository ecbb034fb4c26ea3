//! Terrain products from a DEM: crate `terrain-grid`.
//!
//! - [`products`]: what is made of a cell's 3 x 3 neighbourhood; [`gradient`] has slope, aspect and brightness, [`shape`]
//!   curvature and how uneven the ground is.
//! - [`scales`]: how long the sides of a cell are, in degrees too.
//! - [`strips`]: the product of every cell, a thread some columns of a strip.
//! - [`squares`]: the pieces of contour lines, by marching squares, a thread a square; they are counted,
//!   the counts scanned, by gpu-scan, to places, and the pieces written.
//! - [`lines`]: the pieces joined to lines.
//!
//! The functions of a cell, of a square and of a piece are the host's too. They are single operations in
//! a stated order, so host and device give the same bits.

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
