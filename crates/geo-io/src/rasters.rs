//! Rasters: values and masks of files, whole and in parts, their place on the ground, and pictures.

pub(crate) mod ascii_grid;
pub(crate) mod band;
pub(crate) mod georeference;
pub(crate) mod mask;
pub(crate) mod mask_file;
pub(crate) mod nodata;
pub(crate) mod npy;
pub(crate) mod pam;
pub(crate) mod picture;
pub(crate) mod png;
pub(crate) mod raster;
pub(crate) mod read_place;
pub(crate) mod relief;
pub(crate) mod row_major;
pub(crate) mod table;
pub(crate) mod tiff;
pub(crate) mod values_file;
pub(crate) mod virtual_raster;
pub(crate) mod windows;
pub(crate) mod world_file;
pub(crate) mod zarr;
