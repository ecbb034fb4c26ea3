//! Delaunay triangulation: crate `delaunay-stars`.
//!
//! - [`predicates`]: on which side of a line, and of a circle, a place lies. Exact, whatever rounding does.
//! - [`exact`]: sums of products as integers of 2048 bits, for the few decisions that f64 leaves open.
//! - [`circle`]: circles through a place, without centre and radius.
//!
//! # Stars on a GPU
//!
//! A site's *star* is its Delaunay neighbours in counter-clockwise order. It is made without any other star, from the sites
//! in a packed Hilbert R-tree ([`rtree`](crate::rtree)). Decisions are exact and ties have a rule, so stars agree: if one
//! site has another in its star, the other has it too.
//!
//! ```text
//! find_firsts   points at one place become one site
//! find_near_stars   a warp takes 32 sites that follow each other along the curve, and the sites around them into shared
//!                   memory; a lane makes the star of one site from these, if it can
//! find_far_stars    a warp makes the star of one site by searches in the tree: of sites whose circles reach farther
//! gather_stars      the stars, which were written in any order, in the order of the sites
//! ```

pub mod circle;
pub mod exact;
mod far;
mod gather;
mod near;
pub mod predicates;
mod rough;
mod search;
mod sites;

pub use far::{FAR_BLOCK, find_far_stars};
pub use gather::{OPEN, gather_stars};
pub use near::find_near_stars;
pub use rough::{LISTED, Rough, SPENT, TALLIES, WRITTEN};
pub use sites::{
    GREATEST, LEAST, LOWEST, SPAN, find_firsts, find_span, gather_sites, scale_places,
};

device_std::ptx_module! { "stars" }
