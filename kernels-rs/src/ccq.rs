//! Cache-conscious min/max quadtrees over rasters: crate `ccq-tree`, whose page in docs/ defines the tree.
//!
//! - [`value`]: the types of cells, all compared as numbers of 32 bits.
//! - [`summary`]: the keys of a quadrant's cells, and which quadrants are divided.
//! - [`plan`]: squares of 64 x 64, in tiers above each other, and where the nodes of each square are counted.
//! - [`build`]: the kernels that count nodes, write them, and merge trees, with [`source`] (what squares are made of),
//!   [`patch`] and [`square`] (the joint work of threads), and [`writer`].
//! - [`query`]: the kernels that search trees and paint masks. [`regions`]: the kernels that join the results into
//!   regions.
//! - [`fields`]: the kernels that give nodes data fields. [`marks`]: the kernels that mark cells and nodes by
//!   conditions that no range of keys expresses.
//!
//! The CPU calls everything here except the kernels.

#[cfg(feature = "ccq_build")]
pub mod build;
#[cfg(feature = "ccq_fields")]
pub mod fields;
#[cfg(feature = "ccq_marks")]
pub mod marks;
#[cfg(feature = "ccq_build")]
pub mod patch;
pub mod plan;
#[cfg(feature = "ccq_query")]
pub mod query;
#[cfg(feature = "ccq_regions")]
pub mod regions;
#[cfg(feature = "ccq_build")]
pub mod source;
#[cfg(feature = "ccq_build")]
pub mod square;
pub mod summary;
pub mod value;
#[cfg(feature = "ccq_build")]
pub mod writer;

/// Elements on a side of a square: what a block of threads reduces by [`LEVELS`] levels.
pub const SIDE: u32 = 64;

/// Levels below a square.
pub const LEVELS: u32 = 6;
