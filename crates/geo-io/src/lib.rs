//! Reads and writes the files of Tessera's programs.
//!
//! | what | reads | writes |
//! |---|---|---|
//! | point clouds | LAS and LAZ 1.0 to 1.4, point formats 0 to 10, COPC by its index; tables: CSV, XYZ, FlatGeobuf, Shapefile, GeoParquet, GeoPackage ([`read_points`]) | LAS, LAZ ([`write_las`]) |
//! | points that memory does not hold | batches ([`read_batches`]), a rectangle of bins ([`Bins`]) | bins ([`BinWriter`]) |
//! | arrays | NPY, NPZ ([`read_npy`], [`read_npz`]), windows of NPY ([`ArrayFile`]) | NPY ([`write_npy`], [`write_npy_list`]), of rows as they come ([`write_npy_rows`]), into room taken before ([`NpyRoom`]) |
//! | masks | NPY, NPZ, PNG, TIFF, ASCII grid, VRT, Zarr ([`read_mask`]), windows of all but NPZ and PNG ([`MaskFile`]) | |
//! | rasters | NPY, NPZ, PNG, TIFF, ASCII grid, VRT, Zarr ([`read_raster`]), windows of all but NPZ and PNG ([`ValuesFile`]) | GeoTIFF of one or several bands, cloud-optimised if asked for ([`write_tiff`]), of rows as they come ([`write_tiff_rows`], [`write_tiff_colour_rows`]); Zarr of rows ([`write_zarr_rows`]) and tiles ([`ZarrTiles`]); CSV, XYZ ([`write_table`]) |
//! | distances | | picture PNG ([`write_picture`]) |
//! | terrain | | shade and relief as PNG ([`write_shade`], [`write_relief`]), contour lines as GeoJSON ([`write_lines`]) and FlatGeobuf ([`write_flatgeobuf`]), triangles as PLY ([`write_ply`]) and OBJ ([`write_obj`]) |
//! | areas, rows, colours | points, lines and polygons of GeoJSON and tables ([`read_features`]), polygons alone ([`read_polygons`]), lines with heights ([`read_lines`]) | the same as GeoJSON ([`write_polygons`], [`write_shapes`]) and as GeoParquet (`write_geoparquet`), CSV ([`write_rows`]), PNG ([`write_colours`]) |
//!
//! Coordinates are f64 in the units of the file's coordinate reference system ([`Crs`]). Rasters
//! are row-major, row 0 in the north; NODATA is NaN in memory.
//!
//! Some formats need further crates, so they are features, off by default: `parquet` (GeoParquet in and out),
//! `geopackage`, and `http`. With `http`, the path of a TIFF, LAZ or LAS file may be its address, `https://..`; geo-io
//! reads only the parts that it needs. With `cuda`, a GPU decodes the chunks of large LAZ files ([`ReadOn`]). The features
//! `geo` and `ndarray` convert shapes and rasters from and to types of other crates ([`RowMajor`], docs/guide/types.md).
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

mod crs;
mod error;
#[cfg(feature = "http")]
mod http;
mod input;
mod output;
mod points;
mod rasters;
mod source;
mod stream;
mod tables;
mod vectors;

pub use crs::{Crs, GeoKeys};
pub use error::{Error, Result};
pub use gpu_core::files::remove_unfinished;
/// A float of 16 bits.
pub use half::f16;
pub use input::{is_url, remote_version};
pub use output::preallocated::Prefilled;
pub use output::together::write_together;
pub use output::{Existing, Output, check_distinct, check_output, write_file};
pub use points::bins::{BinSpec, BinWriter, Binned, Bins, Position, remove_bins};
pub use points::csv::CsvColumns;
pub use points::las::{LasField, LasPoints, ranges_of_fields, write_las};
pub use points::multi_file::MultiFileReader;
pub use points::read::{read_batches, read_header, read_points};
pub use points::read_on::ReadOn;
pub use points::{Filter, Header, NOISE, PointCloud, Returns, Strays, Tally};
pub use rasters::georeference::{Georeference, RasterPlace};
pub use rasters::mask::{Mask, SiteValues, read_mask};
pub use rasters::mask_file::{MaskFile, mask_size};
pub use rasters::nodata::{Number, SampleType};
pub use rasters::npy::arrays::{
    Array, ArrayData, NpyElement, NpyRoom, npz_names, read_npy, read_npz, write_npy, write_npy_list,
};
pub use rasters::npy::parts::{ArrayFile, write_npy_rows};
pub use rasters::picture::{write_colour_rows, write_colours, write_picture};
pub use rasters::raster::{Raster, RasterFile, read_raster};
pub use rasters::read_place::read_place;
pub use rasters::relief::{
    finite_range, relief_colours, shade_bytes, write_relief, write_shade, write_shade_rows,
};
pub use rasters::row_major::RowMajor;
pub use rasters::table::{write_rows, write_table};
pub use rasters::tiff::rows::{FillRows, write_tiff_colour_rows, write_tiff_rows};
pub use rasters::tiff::write::{
    Bands, Cells, Compression, Overviews, TiffOptions, write_georeferenced, write_geotiff,
    write_tiff,
};
pub use rasters::values_file::ValuesFile;
pub use rasters::virtual_raster::raster_files;
pub use rasters::zarr::place::is_named_in_zarr;
pub use rasters::zarr::write::{ZarrTiles, write_zarr, write_zarr_rows};
pub use tables::column::read_column;
#[cfg(feature = "parquet")]
pub use tables::parquet::write::{
    ColumnType, write_geoparquet, write_geoparquet_features, write_geoparquet_lines,
    write_geoparquet_mesh,
};
pub use vectors::areas::{Polygons, write_polygons, write_shapes};
pub use vectors::lines::{has_named_heights, is_named_in_geojson, write_flatgeobuf, write_lines};
pub use vectors::mesh::{write_flatgeobuf_mesh, write_obj, write_ply};
pub use vectors::shapes::{
    Features, Line, Lines, Properties, Shape, begins_with_polygon, has_features, read_features,
    read_lines, read_polygons,
};
