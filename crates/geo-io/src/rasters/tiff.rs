//! TIFF and GeoTIFF: reading and writing, whole and in parts.

mod gdal_tags;
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod lerc;
pub(crate) mod rows;
pub(crate) mod samples;
pub(crate) mod write;
