//! Natural neighbour interpolation onto a grid: crate `nni-grid`.
//!
//! [`exact`] takes weights from the sites' Voronoi cells, by walks over their triangulation: the default. [`pixels`]
//! counts pixels of a raster, the published method. Both share [`tallies`], what they count, and [`policies`], how
//! points merge and empty cells are filled.

#[cfg(feature = "nni_exact")]
pub mod exact;
pub mod pixels;
pub mod policies;
#[cfg(feature = "nni")]
pub mod small_uploads;
pub mod tallies;
