//! The Quaternary Triangular Mesh.
#![deny(missing_docs)]

mod cell;
mod cover;
mod error;
mod neighbours;
mod place;

pub use cell::{Cell, Level};
pub use cover::{compact, cover_box, cover_circle, cover_polygon, uncompact};
pub use error::{Error, Result};
pub use kernels_rs::sphere_qtm::MAX_LEVEL;
pub use place::{Latitude, LonLat, UnitVector};
