//! Cache-conscious min/max quadtrees over rasters: crate `ccq-tree`, whose page in docs/ defines the tree.
//!
//! - [`value`]: the types of cells, all compared as numbers of 32 bits.
//! - [`summary`]: what a quadrant holds, and which quadrants are divided.
//! - [`plan`]: squares of 64 x 64, in tiers above each other, and where each one's nodes are counted.
//! - [`build`]: the kernels that count nodes and write them.
//! - [`query`]: the kernel that searches a tree.
//!
//! All but the kernels the CPU calls as well.

#[cfg(feature = "ccq_build")]
pub mod build;
pub mod plan;
#[cfg(feature = "ccq_query")]
pub mod query;
pub mod summary;
pub mod value;

/// Elements on a side of a square: what a block of threads reduces by [`LEVELS`] levels.
pub const SIDE: u32 = 64;

/// Levels below a square.
pub const LEVELS: u32 = 6;
