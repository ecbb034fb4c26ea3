//! Delaunay triangulation: crate `delaunay-stars`.
//!
//! - [`predicates`]: on which side of a line, and of a circle, a place lies. Exact, whatever rounding does.
//! - [`exact`]: sums of products as integers of 2048 bits, for the few decisions that f64 leaves open.
//! - [`search`]: the third corner of a Delaunay triangle, found in a packed Hilbert R-tree; with it a site's star, its
//!   Delaunay neighbours in order, made without any other star.
//! - [`natural`]: the nearest site and the natural neighbours of a place, with their shares, by a walk from star to star.
//! - [`circle`]: the areas and angles that shares are made of.
//!
//! A thread of a GPU can run all of it: nothing here allocates or panics.

pub mod circle;
pub mod exact;
pub mod natural;
pub mod predicates;
#[cfg(feature = "stars")]
pub mod search;
