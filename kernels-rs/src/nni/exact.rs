//! Natural neighbour interpolation by exact weights: crate `nni-grid`.
//!
//! 1. Points are sorted by the [`cells`](crate::spatial::cells) of a grid, then by the parts of a cell, where they may
//!    [crowd](crowds), and by a number made from their place, so that points at one place lie together and become one
//!    site: [`index`].
//! 2. Each site's own Voronoi cell is made once: [`rings`]. From them come the gradients that the smooth interpolant
//!    wants.
//! 3. Each cell of the DEM by itself ([`scene`]): a [`walk`] over the rings round its centre gives its natural
//!    neighbours and what it takes from each, and [`weights`] the mean of their values.
//! 4. Where these do not tell, beside voids and along the hull, a second walk goes over wide rings, too.
//! 5. Cells [outside] the hull are told their windows.
//! 6. Where rings do not tell, the centre's Voronoi cell is clipped ([`search`]) and falls to its natural
//!    neighbours ([`polygon`]).
//!
//! All geometry is in f64, relative to a site or to the query point, in single operations whose order is that of
//! the source. Host and device run the same functions and give the same bits.

pub mod crowds;
pub mod index;
pub mod kernels;
pub mod outside;
pub mod polygon;
pub mod rings;
pub mod scene;
pub mod search;
pub mod sought;
pub mod team;
pub mod walk;
pub mod weights;

pub use kernels::*;

device_std::ptx_module! { "nni_exact" }
