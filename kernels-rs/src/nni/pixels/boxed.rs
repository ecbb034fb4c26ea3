//! The queries without a small circle, and those by other weights: a thread a cell.
//!
//! What a cell steals is rarely far away, so there are two ways to it, one after the other:
//!
//! 1. [`tile`]: a block has a tile of pixels in shared memory, and looks at those in a box round each cell, by
//!    comparisons of a few bits. It tells whether what the cell steals ends there; where it may not, the cell is put
//!    into a list.
//! 2. The cells of the list go [row by row](super::spans), as far as it takes.
//!
//! By areas ([`areas`]), or by [`weighted`] means. There is a kernel for each of some boxes; the host takes the one that
//! as many points as there are want.

pub mod areas;
pub mod tile;
pub mod weighted;

pub use areas::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use tile::boxed_reach;
pub use tile::{LARGE, Left, MEDIUM, SMALL, boxed_cells};
pub use weighted::*;

device_std::ptx_module! { "nni_boxed" }
