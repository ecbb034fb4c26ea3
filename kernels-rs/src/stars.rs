//! Delaunay triangulation: crate `delaunay-stars`.
//!
//! - [`predicates`]: on which side of a line, and of a circle, a place lies. Exact, whatever rounding does.
//! - [`exact`]: sums of products as integers of 2048 bits, for the few decisions that f64 leaves open.
//! - [`circle`]: circles through a place, without centre and radius.
//! - [`natural`]: the nearest site and the natural neighbours of a place, with their shares, by a walk from star to star.
//! - [`angles`]: the areas and angles that shares are made of.
//! - [`linear`]: values that are linear in each triangle.
//! - [`cell`]: corners of Voronoi cells, areas and centres of gravity.
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
//!                   memory (window); a lane makes the star of one site, from those nearest to it (nearby) if these tell
//!                   how far circles reach (reach), else with the whole warp from all
//! find_far_stars    a warp makes the star of one site whose circles reach farther (star): from the stars of its neighbours as
//!                   far as these are made, else by searches in the tree (descent, corners)
//!
//! if searches cost too much:
//! gather_sample        a random sample of the sites, whose stars are made first, in the same way
//! mark_triangles, number_halves, join_halves   the sample's triangles, each with those beside it (mesh)
//! find_conflicts, find_hard_conflicts, find_hub_conflicts, place_hubs   which triangles of the sample have each site inside their circles
//! list_conflicts       the sites of each triangle
//! find_sampled_stars   a few lanes make the star of one site from the sites of its triangles (candidates), where f64 decides
//! find_hard_stars      a warp makes the star of one of the others, as above, but from the same sites
//!
//! find_links, order_links, join_links   the stars of what is left, from those of their neighbours (links)
//! find_last_sampled_stars, find_last_stars   where these leave gaps, searches (gaps)
//! gather_stars      the stars, which were written in any order, in the order of the sites
//! queries           where places lie, values there, and cells
//! ```

pub mod angles;
pub mod cell;
pub mod circle;
pub mod exact;
#[cfg(feature = "stars")]
mod far;
#[cfg(feature = "stars")]
mod gather;
pub mod linear;
#[cfg(feature = "stars")]
mod links;
pub mod natural;
#[cfg(feature = "stars")]
mod near;
pub mod predicates;
#[cfg(feature = "stars")]
pub mod queries;
#[cfg(feature = "stars")]
mod rough;
#[cfg(feature = "stars")]
mod sample;
#[cfg(feature = "stars")]
mod sites;
#[cfg(feature = "stars")]
mod star;

#[cfg(feature = "stars")]
pub use far::{FAR_BLOCK, find_far_stars, find_last_stars};
#[cfg(feature = "stars")]
pub use gather::gather_stars;
#[cfg(feature = "stars")]
pub use links::{Links, Sorted, find_links, join_links, order_links};
#[cfg(feature = "stars")]
pub use near::{Turn, find_near_stars};
#[cfg(feature = "stars")]
pub use rough::{ALL, LEFT, LINKS, LISTED, NONE, Rough, SPENT, TALLIES, WRITTEN};
#[cfg(feature = "stars")]
pub use sample::candidates::Lists;
#[cfg(feature = "stars")]
pub use sample::hard::{find_hard_stars, find_last_sampled_stars};
#[cfg(feature = "stars")]
pub use sample::mesh::{Mesh, join_halves, mark_triangles, number_halves};
#[cfg(feature = "stars")]
pub use sample::sampled::{LANES, find_sampled_stars};
#[cfg(feature = "stars")]
pub use sample::{
    Conflicts, MANY, MAX_HUBS, RATE, Sampled, find_conflicts, find_hard_conflicts,
    find_hub_conflicts, gather_sample, list_conflicts, place_hubs,
};
#[cfg(feature = "stars")]
pub use sites::{
    GREATEST, LEAST, LOWEST, SPAN, find_firsts, find_span, gather_sites, scale_places,
};
#[cfg(feature = "stars")]
pub use star::descent::VISITS;

#[cfg(feature = "stars")]
device_std::ptx_module! { "stars" }
