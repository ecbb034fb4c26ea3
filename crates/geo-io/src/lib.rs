//! Files in and out for Tessera's programs.
//!
//! | what | reads | writes |
//! |---|---|---|
//! | point clouds | LAS and LAZ 1.0 to 1.4, point formats 0 to 10; CSV ([`read_points`]) | LAS, LAZ ([`write_las`]) |
//! | arrays | NPY, NPZ ([`read_npy`], [`read_npz`]) | NPY ([`write_npy`]) |
//! | masks | NPY, NPZ, PNG, TIFF ([`read_mask`]) | |
//! | distances | | GeoTIFF ([`write_georeferenced`]), picture PNG ([`write_picture`]) |
//! | terrain | | GeoTIFF ([`write_geotiff`]), shaded PNG ([`write_relief`]), contour lines as GeoJSON ([`write_lines`]) |
//!
//! Coordinates are f64 in the units of the file's coordinate reference system ([`Crs`]). Rasters
//! are row-major, row 0 in the north; NODATA is NaN in memory.
//!
//! Two promises hold for every function. Input that is missing, cut short or damaged gives one
//! [`Error`] of one line, never a panic. Output appears whole under its name or not at all.
//!
//! ```no_run
//! # fn main() -> geo_io::Result<()> {
//! use std::path::Path;
//! let filter = geo_io::Filter { classes: Some(vec![2]), ..Default::default() };
//! let points = geo_io::read_points(Path::new("survey.laz"), &filter, &Default::default(), &())?;
//! println!("{} of {} points kept", points.tally.kept, points.tally.read);
//! # Ok(()) }
//! ```
#![deny(missing_docs)]

mod crs;
mod csv;
mod error;
mod georeference;
mod geotiff;
mod las;
mod lines;
mod mask;
mod npy;
mod output;
mod picture;
mod points;
mod relief;

pub use crs::{Crs, GeoKeys};
pub use csv::CsvColumns;
pub use error::{Error, Result};
pub use georeference::Georeference;
pub use geotiff::{write_georeferenced, write_geotiff};
pub use las::{LasPoints, write_las};
pub use lines::write_lines;
pub use mask::{Mask, read_mask};
pub use npy::{Array, ArrayData, NpyElement, npz_names, read_npy, read_npz, write_npy};
pub use output::check_output;
pub use picture::write_picture;
pub use points::{Filter, PointCloud, Returns, Tally, read_points};
pub use relief::write_relief;
