//! Files in and out for Tessera's programs.
//!
//! | what | reads | writes |
//! |---|---|---|
//! | point clouds | LAS and LAZ 1.0 to 1.4, point formats 0 to 10, COPC by its index; tables: CSV, XYZ ([`read_points`]) | LAS, LAZ ([`write_las`]) |
//! | points that memory does not hold | batches ([`read_batches`]), a rectangle of bins ([`Bins`]) | bins ([`BinWriter`]) |
//! | arrays | NPY, NPZ ([`read_npy`], [`read_npz`]), windows of NPY ([`ArrayFile`]) | NPY ([`write_npy`], [`write_npy_list`]), of rows as they come ([`write_npy_rows`]), into room taken before ([`NpyRoom`]) |
//! | masks | NPY, NPZ, PNG, TIFF ([`read_mask`]), windows of NPY and TIFF ([`MaskFile`]) | |
//! | rasters | NPY, NPZ, PNG, TIFF ([`read_raster`]), windows of NPY and TIFF ([`ValuesFile`]) | GeoTIFF of one or several bands, cloud-optimised if asked for ([`write_tiff`]), of rows as they come ([`write_tiff_rows`]); CSV, XYZ ([`write_table`]) |
//! | distances | | picture PNG ([`write_picture`]) |
//! | terrain | | shade and relief as PNG ([`write_shade`], [`write_relief`]), contour lines as GeoJSON ([`write_lines`]) and FlatGeobuf ([`write_flatgeobuf`]), triangles as PLY ([`write_ply`]) and OBJ ([`write_obj`]) |
//! | areas, rows, colours | points, lines and polygons of GeoJSON ([`read_features`]), polygons alone ([`read_polygons`]) | the same as GeoJSON ([`write_polygons`], [`write_shapes`]), CSV ([`write_rows`]), PNG ([`write_colours`]) |
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
//! let points = geo_io::read_points(Path::new("survey.laz"), &filter, &Default::default(), &gpu_core::Silent)?;
//! println!("{} of {} points kept", points.tally.kept, points.tally.read);
//! # Ok(()) }
//! ```
#![deny(missing_docs)]

mod areas;
mod bins;
mod copc;
mod crs;
mod csv;
mod error;
mod georeference;
mod geotiff;
mod json_text;
mod las;
mod lerc;
mod lines;
mod mask;
mod mask_file;
mod mesh;
mod nodata;
mod npy;
mod npy_file;
mod npy_header;
mod output;
mod pam;
mod picture;
mod png;
mod points;
mod raster;
mod relief;
mod replaced;
mod room;
mod samples;
mod several;
mod shapes;
mod stream;
mod table;
mod tiff_file;
mod tiff_image;
mod tiff_rows;
mod values_file;
mod world_file;

pub use areas::{Polygons, write_polygons, write_shapes};
pub use bins::{BinSpec, BinWriter, Binned, Bins, Position, remove_bins};
pub use crs::{Crs, GeoKeys};
pub use csv::CsvColumns;
pub use error::{Error, Result};
pub use georeference::{Georeference, RasterPlace, read_place};
pub use geotiff::{
    Bands, Cells, Compression, TiffOptions, write_georeferenced, write_geotiff, write_tiff,
};
pub use gpu_core::files::remove_unfinished;
/// A float of 16 bits.
pub use half::f16;
pub use las::{LasField, LasPoints, ranges_of_fields, write_las};
pub use lines::{has_named_heights, is_named_in_geojson, write_flatgeobuf, write_lines};
pub use mask::{Mask, SiteValues, read_mask};
pub use mask_file::{MaskFile, mask_size};
pub use mesh::{write_flatgeobuf_mesh, write_obj, write_ply};
pub use nodata::{Number, SampleType};
pub use npy::{
    Array, ArrayData, NpyElement, NpyRoom, npz_names, read_npy, read_npz, write_npy, write_npy_list,
};
pub use npy_file::{ArrayFile, write_npy_rows};
pub use output::{Existing, Output, check_distinct, check_output, write_file};
pub use picture::{write_colours, write_picture};
pub use points::{
    Filter, Header, NOISE, PointCloud, Returns, Strays, Tally, read_batches, read_header,
    read_points,
};
pub use raster::{Raster, RasterFile, read_raster};
pub use relief::{relief_colours, shade_bytes, write_relief, write_shade};
pub use room::Ahead;
pub use several::Several;
pub use shapes::{
    Features, Line, Lines, Properties, Shape, read_features, read_lines, read_polygons,
};
pub use table::{write_rows, write_table};
pub use tiff_rows::{FillRows, write_tiff_rows};
pub use values_file::ValuesFile;
