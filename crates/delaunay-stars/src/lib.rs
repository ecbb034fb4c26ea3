//! The exact Delaunay triangulation and Voronoi diagram of points in the plane.
//!
//! wip
#![deny(missing_docs)]

mod divide;
mod error;
mod range;
mod sites;
mod triangulation;

pub use error::{Error, Result};
pub use triangulation::{MOST_POINTS, Triangulation, triangulate};
