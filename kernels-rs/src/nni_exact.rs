//! Natural neighbour interpolation by exact weights: crate `nni-grid`.
//!
//! 1. Points are sorted by the [`cells`](crate::cells) of a grid, and by a number made from their place
//!    within a cell, so that points at one place lie together and become one site: [`index`].
//! 2. For the smooth interpolant, the gradients at each site.
//! 3. Each cell of the DEM by itself ([`scene`]): its centre's Voronoi cell among the sites ([`search`]),
//!    which falls to its natural neighbours ([`polygon`]), and their weighted mean ([`weights`]).
//!
//! All geometry is in f64, relative to the query point, in single operations whose order is that of the
//! source. Host and device run the same functions and give the same bits.

pub mod index;
pub mod kernels;
pub mod polygon;
pub mod rings;
pub mod scene;
pub mod search;
pub mod walk;
pub mod weights;

pub use kernels::*;

device_std::ptx_module! { "nni_exact" }
