//! The nearest points of many places, exactly: a packed Hilbert R-tree (Kamel and Faloutsos 1994, "Hilbert R-tree: An
//! improved R-tree using fractals") that a warp walks once for 32 places.
//!
//! In: points in the plane and places, f32 or f64, and k. Out: for each place the k nearest points, nearest first, by
//! index and f64 distance. Of points at the same distance the lower index comes first. The bits are the same as by
//! brute force in f64.
//!
//! # Idea
//!
//! Points are sorted along Hilbert's curve. Each run of 32 points is a leaf with a tight bounding box, each run of 32
//! boxes has a box, and so on, until at most 32 are left. There are no pointers: the children of node `i` are the boxes
//! `32 i` to `32 i + 31` of the level below. Places next to each other need the same boxes. So a warp takes 32 of them,
//! a [`Group`](group::Group), and each of its lanes tests one child of a node. A lane keeps the k + 1 least *keys* of
//! its own place. A key is the bits of an f32 square; its lowest nine bits are the number of the point among those that
//! the warp has seen.
//!
//! ```text
//! build   order:  find_codes, sort; while cells are crowded: again by a finer curve, then by ranks
//!         boxes:  bound_points, bound_boxes; turned ones by turn_points, turn_boxes
//! search  guess:  the density of the first leaf gives a distance that all keys are to be below
//!         walk 1: nearest box first; keys into the lists, eight at a time; stop at a box beyond what every lane wants
//!         bound:  the k-th distance, plus what f32 may have rounded away
//!         decide: key k + 1 lies beyond the bound: these k points are the nearest
//!                 else f64 distances of all points seen decide; of more than 512, walk 2 collects those within the bound
//!         alone:  after thousands of points walk 1 ends; then each place by itself, in f64, over turned boxes
//!         lanes with fewer than k points walk again: with a farther guess, then without one
//!         these walks leave out the points beyond a line that no circle crosses
//!         sort the k points by f64 distance, then by index
//! ```
//!
//! ```text
//! f32 distance   0 ---1--2-----3---------- k ======= bound ------ k + 1 ---->    known: the gap is wider than rounding
//! from a place   0 ---1--2-----3---------- k == k + 1 == bound ------------->    f64 decides among all within the bound
//! ```
//!
//! # Why it is right
//!
//! 1. A point becomes f32 after the subtraction of one of the 32 places in f64. So the error is relative to distances.
//! 2. Rounding, squares and sums keep order. So no point has a smaller f32 distance than a box around it: the walk
//!    skips no wanted point.
//! 3. With `u = 2^-24` an f32 distance d is wrong by less than `u (2 |place| + 5 d)`.
//!    [`Group::bound`](group::Group::bound) adds twice that to the k-th distance: every point that may be among the k
//!    nearest lies within it. Walk 1 goes that far.
//!
//! Points at one place: [`MAX_REPEATED`] of them suffice for the longest list in registers, so walks skip the surplus
//! leaves.
//!
//! # What it costs
//!
//! The boxes of ten million f32 points take 5 MB, and the turned ones 15 MB and 0.2 ms. Eight keys cost 90 minima and
//! maxima for a list of 13. For its 32 places a warp reads 72 points if these are evenly spread. If the places are far from
//! a line of points, each needs ten to fifty leaves of its own. Twelve neighbours then cost 15 to 40 times what they cost
//! among even points.
//!
//! # Rejected
//!
//! docs/notes/neighbours.md has figures. A thread a place over a BVH or a k-d tree: 2.4 times the time or more.
//! Morton's order: 2.4 times. Walks in f64: 1.2 times. An f64 distance with an index: five instructions an entry.
//! 64-bit keys: twice the time. Undecided lanes by themselves: 2.6 times on a lattice. A loop for each level of the tree:
//! 1.05 times, since its instructions do not fit into their cache.
//!
//! [`few`] has lists of up to 64 points, of all points or those of a [`Choice`](choice::Choice).
//! [`find_nearest`](mod@find_nearest) writes indices and distances; `idw` and `kriging` use the lists at once.

mod alone;
#[cfg(feature = "rtree")]
mod bounds;
pub mod choice;
#[cfg(feature = "rtree")]
mod codes;
mod decide;
pub mod density;
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
mod turn;
mod turned;

#[cfg(feature = "rtree")]
pub use bounds::{Level, bound_boxes, bound_boxes_of_vectors, bound_points, bound_vectors};
#[cfg(feature = "rtree")]
pub use codes::{
    Curve, LEVELS, Places, count_crowded, find_codes, find_finer_cells, find_long_codes, long_code,
    mark_steps, unfold_vectors, write_ranks,
};
pub use descent::Tree;
pub use layout::{MAX_REPEATED, is_repeated};
#[cfg(feature = "rtree")]
pub use nearest::{Targets, find_nearest};
#[cfg(feature = "rtree")]
pub use turn::{turn_boxes, turn_boxes_of_vectors, turn_points, turn_vectors};

#[cfg(feature = "rtree")]
device_std::ptx_module! { "rtree" }
