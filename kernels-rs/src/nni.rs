//! Natural neighbour interpolation onto a grid: crate `nni-grid`.
//!
//! [`exact`] takes weights from the sites' Voronoi cells, by walks over their triangulation: the default. [`pixels`] counts
//! pixels of a raster, as published. Both share what they count ([`tallies`]), and how points merge and empty cells are filled
//! ([`policies`]).

#[cfg(feature = "nni_exact")]
pub mod exact;
pub mod pixels;
pub mod policies;
#[cfg(feature = "nni")]
pub mod small_uploads;
pub mod tallies;
