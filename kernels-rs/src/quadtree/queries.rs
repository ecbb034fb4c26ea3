//! Searches in a point quadtree, by one way through it ([`walk`]) on the host and on the device.
//!
//! - [`leaf`]: the leaf of a place, a thread each, straight down.
//! - [`together`]: up to 32 nearest points, a warp for 32 places side by side: all points around them, which [`runs`] finds
//!   level by level, are looked at once. What that does not settle it leaves to the next.
//! - [`nearest`]: any number of nearest points, a warp for 32 places side by side: down to the leaf of one of them, then
//!   through whatever may hold something nearer to any.
//! - [`regions`]: points in windows, discs and polygons, a warp each, whose lanes share the points of a node.
//! - [`adjacent`]: the leaves around a leaf, a thread each.
//!
//! A way needs to remember, for each level above, where the children of the node there are: [`walk::Path`]. Which
//! child comes next follows from the one that it returns from.

pub mod adjacent;
pub mod ground;
pub mod leaf;
pub mod nearest;
pub mod regions;
pub mod runs;
pub mod together;
pub mod walk;

device_std::ptx_module! { "quadtree_queries" }
