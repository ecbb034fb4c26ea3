//! The queries without a small circle, and the queries by other weights: a thread a cell.
//!
//! The pixels that a cell steals are rarely far away, so a cell is tried in two ways:
//!
//! 1. [`tile`]: a block has a tile of pixels in shared memory, and tests the pixels in a box around each cell by
//!    comparisons of a few bits. These tell whether the stolen region ends in the box. If it may not, the cell is
//!    listed.
//! 2. The cells of the list go [row by row](super::spans), as far as it takes.
//!
//! [`areas`] has the queries by areas, [`weighted`] those by weighted means. There is a kernel for each of some box
//! sizes; the host chooses by the density of points.

pub mod areas;
pub mod tile;
pub mod weighted;

pub use areas::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use tile::boxed_reach;
pub use tile::{LARGE, Left, MEDIUM, SMALL, boxed_cells};
pub use weighted::*;

device_std::ptx_module! { "nni_boxed" }
