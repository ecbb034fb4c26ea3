//! Point quadtrees: crate `quadtree-sort`.
//!
//! 1. [`mod@encode`]: the Morton code of each point's cell of the deepest level. Then gpu-scan sorts the codes with the
//!    points' indices, by the bits of as many levels as uniform points would need.
//! 2. [`mod@divide`], once a level. Sorted by code, the points of any cell lie side by side, so the quadrants of a node
//!    begin where the two bits of its level change. Three bisections find these places, and the children are appended
//!    to the nodes. Only the device knows how many nodes there are.
//! 3. Nodes above the threshold at the last level sorted go through another round, by more bits: [`mod@take_unsettled`]
//!    and [`mod@put_back`].
//! 4. [`order_small_leaves`](const@order_small_leaves), [`order_leaves`](const@order_leaves) and
//!    [`order_large_leaves`](const@order_large_leaves): if a leaf's points were sorted by bits that the tree does not
//!    have, they return to the order in which they were given.
//! 5. [`mod@gather_places`]: the coordinates in the order of the tree.
//! 6. [`mod@shorten`], if the host puts trees together: the part of the nodes that does not follow from other nodes.
//!
//! The thesis's method ([`baselines`]) takes the place of the sort: before each [`mod@divide`] it moves the points of
//! the level's nodes into their quadrants, and [`collect_leaves`](const@collect_leaves) ends it.
//!
//! Searches in a tree are `queries`.

#[cfg(feature = "quadtree")]
pub mod baselines;
#[cfg(feature = "quadtree")]
mod codes;
#[cfg(feature = "quadtree")]
mod gather;
#[cfg(feature = "quadtree")]
mod leaves;
#[cfg(feature = "quadtree")]
mod levels;
mod node;
#[cfg(feature = "quadtree")]
mod node_deltas;
#[cfg(feature = "quadtree_queries")]
pub mod queries;
#[cfg(feature = "quadtree")]
mod resort;
#[cfg(feature = "quadtree")]
mod rule;

pub use crate::spatial::place::{Place, Places};
#[cfg(feature = "quadtree")]
pub use codes::{Code, FOUND, encode, find_bounds, of_rank};
#[cfg(feature = "quadtree")]
pub use gather::{GATHERED, gather_places};
#[cfg(feature = "quadtree")]
pub use leaves::{
    MAX_OF_WARP, MAX_SHARED, Nodes, collect_leaves, mark_leaves, order_large_leaves, order_leaves,
    order_small_leaves,
};
#[cfg(feature = "quadtree")]
pub use levels::{BLOCK as DIVIDE_BLOCK, Notes, divide, plant};
pub use node::Words;
#[cfg(feature = "quadtree")]
pub use node_deltas::shorten;
#[cfg(feature = "quadtree")]
pub use resort::{Level, Moved, count_unsettled, put_back, take_unsettled};
#[cfg(feature = "quadtree")]
pub use rule::{Cut, Rule};

#[cfg(feature = "quadtree")]
device_std::ptx_module! { "quadtree" }
