//! Searches in a point quadtree. Host and device share one walk through the tree ([`walk`]).
//!
//! - [`leaf`]: the leaf of a place, a thread each, straight down.
//! - [`regions`]: points in windows, discs and polygons, a warp each, whose lanes share the points of a node.
//! - [`adjacent`]: the leaves around a leaf, a thread each.
//!
//! A walk remembers, for each level above, where the children of the node there are: [`walk::Path`]. The next child
//! follows from the child that the walk returns from.

pub mod adjacent;
pub mod ground;
pub mod leaf;
mod lists;
pub mod regions;
pub mod walk;

pub use lists::Lists;

device_std::ptx_module! { "quadtree_queries" }
