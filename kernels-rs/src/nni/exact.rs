//! Natural neighbour interpolation by exact weights: crate `nni-grid`.
//!
//! 1. `delaunay-stars` makes the stars of the sites: their neighbours in the Delaunay triangulation
//!    ([`stars`](crate::stars)).
//! 2. [`merge_values`](const@kernels::merge_values): the values of points at one place become the values of their site.
//! 3. [`fit_gradients`](const@kernels::fit_gradients), for the smooth interpolant: each site's gradients, from its
//!    star.
//! 4. [`measure_half_edges`](const@half_edges::measure_half_edges): what walks need of each half-edge.
//! 5. [`interpolate_cells`](mod@kernels::interpolate_cells): each cell of the DEM by itself ([`scene`]). A walk from
//!    star to star shows the natural neighbours of the cell's centre with their shares, and [`weights`] has the mean of
//!    their values. A cell outside the hull gets the value at the nearest place of the hull.
//!
//! Coordinates are the caller's times a power of two, which scales them to where decisions are exact. Host and device
//! run the same functions and give the same bits.

pub mod half_edges;
pub mod kernels;
pub mod merge;
pub mod scene;
pub mod star_arrays;
pub mod weights;

pub use half_edges::*;
pub use kernels::*;
pub use star_arrays::*;

device_std::ptx_module! { "nni_exact" }
