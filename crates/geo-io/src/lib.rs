//! Files in and out for Tessera's programs.
//!
//! - Points in: LAS 1.0-1.4 and LAZ, tables ([`read_points`]); out: LAS and LAZ ([`write_las`]).
//! - Rasters out: GeoTIFF ([`write_geotiff`]), NPY ([`write_npy`]), a picture
//!   ([`write_hillshade`]).
//! - [`Crs`]: the coordinate system that goes from the one to the other.
//!
//! Output files appear whole or not at all: they are written beside their place and renamed.
//!
//! ```no_run
//! use std::path::Path;
//! use geo_io::{CsvColumns, Filter, read_points};
//!
//! # fn main() -> Result<(), geo_io::Error> {
//! let ground = Filter { classes: Some(vec![2]), ..Filter::default() };
//! let cloud = read_points(Path::new("survey.laz"), &ground, &CsvColumns::default(), &())?;
//! println!("{} of {} points kept", cloud.tally.kept, cloud.tally.read);
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]

mod crs;
mod csv;
mod error;
mod hillshade;
mod las;
mod output;
mod points;
mod raster;

pub use crs::Crs;
pub use error::{Error, Result};
pub use hillshade::{HillshadeOptions, write_hillshade};
pub use las::{LasPoints, write_las};
pub use output::check_output;
pub use points::{CsvColumns, Filter, PointCloud, Returns, Tally, read_points};
pub use raster::{write_geotiff, write_npy};
