//! The tests of the crate, in one binary: what they share is compiled and linked once.

mod arrays;
mod ascii_grids;
mod bins;
mod bounds;
mod features;
mod foreign_arrays;
mod foreign_tiffs;
mod geo;
#[cfg(feature = "geopackage")]
mod geopackages;
#[cfg(feature = "parquet")]
mod geoparquet;
mod las;
mod las_fields;
mod meshes;
mod missing;
mod odd_las;
mod on_device;
mod pipes;
mod places;
mod rasters;
#[cfg(feature = "http")]
mod remote;
mod room;
mod rows;
mod shapefiles;
mod tables;
mod values;
mod virtual_rasters;
mod windows;
mod zarr_places;
mod zarrs;
