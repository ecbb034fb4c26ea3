//! Delaunay triangulation, each site's star by itself: crate `delaunay-stars`.
//!
//! In: points. Out: for each *site*, a place of one or more points, its *star*: its Delaunay neighbours
//! counter-clockwise. The result is the one triangulation of [`predicates`]' rule.
//!
//! # Idea
//!
//! A star needs no other star. The nearest site is a neighbour. From there on, each next neighbour is the third corner
//! of a triangle whose other corners are known. That corner is the *apex* of an edge: the site on its left whose circle
//! with the edge's ends reaches least far.
//!
//! ```text
//!             c                 star(p):
//!           .   .                   q = the site nearest to p         the circle over p q is empty
//!         .       .                 repeat: q = apex(p -> q)          counter-clockwise
//!        p ------- q                until q is the first one again
//!         .       .                 or there is none: p is on the hull; then clockwise from the first one, by apex(q -> p)
//!           .   .
//! ```
//!
//! # Why it is right, and why stars agree
//!
//! - A circle through p and q grows on the left as its centre moves there. The first site that it meets is the apex c,
//!   so nothing on the left is inside. Right of the edge this circle holds less than the circle of the triangle before,
//!   which is empty. So p q c is a triangle.
//! - Decisions are exact ([`predicates`], [`exact`]). Sites on one circle are ordered by a perturbation that is the
//!   same for everyone: the first site by x, then by y, counts as moved inwards. So three sites make a triangle or not,
//!   whichever of them asks. If p has q in its star, q has p. A star is made from the sites alone, so it has the same
//!   bits in any order of work.
//! - f32 and f64 decide only with a bound of their error; what they leave open goes on to the next kernel.
//!
//! # Kernels
//!
//! ```text
//! find_firsts       points at one place become one site
//! find_near_stars   a warp has 32 sites and the sites around them in shared memory (window). A lane makes the star of one
//!                   site, from those nearest to it (nearby) if these reach far enough (reach), else the warp helps
//! find_far_stars    a warp makes one star whose circles reach farther (star): from its neighbours' stars as far as these
//!                   are made, else by searches in the tree (descent, corners)
//! if searches cost too much, what is left:
//! mark_part, take_stars   if it is less than half, a triangulation of this part alone (part)
//! else of a random quarter of the sites first:
//! gather_sample, stars as above; mark_triangles, number_halves, join_halves   the sample's triangles (mesh)
//! find_conflicts, find_hard_conflicts, find_hub_conflicts, place_hubs, list_conflicts   circles that have each site inside
//! find_sampled_stars, find_hard_stars   stars from the sites of these triangles (candidates)
//! find_links, order_links, join_links   stars of what is left, from those of their neighbours (links)
//! find_last_sampled_stars, find_last_stars   where these leave gaps, searches (gaps)
//! gather_stars      the stars, written in any order, in the order of the sites
//! queries           where places lie (locate), values there, and cells (natural, angles, linear, cell)
//! ```
//!
//! # What it costs
//!
//! Each triangle is found up to three times, once for each corner, and nobody waits. 7,000,000 uniform points take 7.1
//! ms on an H100. A circle that touches many boxes of the tree makes a long search: n sites on a circle would take n
//! each. Hence the sample, whose circles hold few sites on average wherever sites lie (Clarkson and Shor 1989,
//! doi:10.1007/BF02187740).
//!
//! # Rejected
//!
//! docs/notes/delaunay-stars.md has these, with times:
//!
//! - each lane tests the whole window (22.0 ms);
//! - exact decisions in the first kernels, which spill (a corridor 41.3 ms, not 37.1);
//! - a search for every corner, even if another star tells it (contours 1,235 ms, not 417).

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
pub mod locate;
pub mod natural;
#[cfg(feature = "stars")]
mod near;
pub mod neighbours;
#[cfg(feature = "stars")]
mod part;
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
pub use part::{PartStars, mark_part, take_stars};
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
