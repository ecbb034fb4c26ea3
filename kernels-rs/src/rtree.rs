//! A packed Hilbert R-tree of points in the plane (Kamel and Faloutsos 1994, "Hilbert R-tree: An improved R-tree using
//! fractals"), and searches in it.
//!
//! The points are sorted along Hilbert's curve. Each run of 32 points is a leaf with a tight bounding box. Each run of 32
//! leaves is a node with a bounding box, and so on, until at most 32 boxes are left. The tree has no pointers: the children
//! of node `i` are the boxes `32 i` to `32 i + 31` of the level below. A box follows the points, so a search costs what its
//! answers cost, wherever the points lie.
//!
//! ```text
//! level 1    [ box 0                        ][ box 1      ]
//! level 0    [ box 0 ][ box 1 ] .. [ box 31 ][ box 32 ] ..
//! points      0 .. 31  32 .. 63     992 ..    1024 ..
//! ```
//!
//! # Building
//!
//! 1. [`find_codes`](mod@find_codes): the number of each point's cell along the curve; `gpu-scan` sorts by it.
//! 2. [`count_crowded`](mod@count_crowded): whether some cell of the curve holds so many different places that its order would tell nothing.
//!    Only then the curve runs through the ranks of the coordinates instead: [`mark_steps`](mod@mark_steps), [`find_rank_codes`](const@find_rank_codes).
//! 3. [`bound_points`](mod@bound_points) and [`bound_boxes`](mod@bound_boxes): the boxes, level by level.
//!
//! # Searching
//!
//! A warp takes 32 places that lie near each other, a [`Group`](group::Group), and walks down the tree for all of them
//! ([`descent`]). At a node each lane computes the distance between the group's bounding box and the box of one child. The
//! warp visits the nearest child first and stops where no lane wants the next one. What a lane wants and keeps is up to a
//! [`Visitor`](descent::Visitor).
//!
//! [`few`] finds up to 64 nearest points of each place, of all points or of those that a [`Choice`](choice::Choice) names:
//!
//! ```text
//! walk 1: of each place, the k + 1 least keys, in registers: the f32 square of a distance, whose lowest bits are the
//!         number of the point among those that the warp has seen
//! bound:  what f32 may have rounded away widens the k-th distance
//! decide: only where the next key lies within the bound: f64 distances of all points that the warp has seen; in walk 2 those
//!         within the bound, if more were seen than can be remembered
//! then:   the list is sorted by f64 distance, then by index
//! ```
//!
//! A key takes two instructions an entry to insert, a distance with a point five. The distances are relative to a place of
//! the group ([`group`]), so f32 is as accurate far from the origin as near it. The answer is exact whatever f32 rounds: the
//! bound is proven, and only f64 distances decide.
//!
//! [`find_nearest`](mod@find_nearest) writes the points it finds. `idw` weighs their values at once.

#[cfg(feature = "rtree")]
mod bounds;
pub mod choice;
#[cfg(feature = "rtree")]
mod codes;
mod decide;
pub mod descent;
pub mod few;
mod fill;
mod first;
pub mod group;
pub mod layout;
pub mod list;
#[cfg(feature = "rtree")]
mod nearest;
pub mod patches;

#[cfg(feature = "rtree")]
pub use bounds::{bound_boxes, bound_points};
#[cfg(feature = "rtree")]
pub use codes::{
    Curve, LEVELS, Places, count_crowded, find_codes, find_rank_codes, find_short_codes,
    mark_steps, rank_code, write_ranks,
};
pub use descent::Tree;
pub use layout::{MAX_REPEATED, is_repeated};
#[cfg(feature = "rtree")]
pub use nearest::{Targets, find_nearest};

#[cfg(feature = "rtree")]
device_std::ptx_module! { "rtree" }
