//! Zarr version 3 (zarr-specs.readthedocs.io): arrays in folders, a file a chunk.
//!
//! An array has a `zarr.json` with its metadata, and chunks that use the codecs bytes, gzip, zstd and crc32c. A file
//! may hold several chunks (a shard); geo-io reads shards but does not write them. A raster is an array of two
//! dimensions, y and x, or of three dimensions with length 1 in the first. Its place comes from a `grid_mapping` (CF),
//! `_CRS` (GDAL), `proj:` and `spatial:` (GeoZarr), or from coordinates along its dimensions.

pub(crate) mod codecs;
mod coordinates;
mod fill_value;
pub(crate) mod json;
pub(crate) mod metadata;
pub(crate) mod place;
pub(crate) mod read;
mod sharding;
mod shards;
pub(crate) mod write;

use std::path::{Path, PathBuf};

/// The name of what says what a group or an array is.
pub(crate) const METADATA: &str = "zarr.json";

/// Whether a path is that of a store, or of an array within one.
pub(crate) fn is_zarr(path: &Path) -> bool {
    path.ancestors().any(|path| crate::points::ending(path) == "zarr")
}

/// All files of a folder and of those within it, in the order of their names.
pub(crate) fn files_within(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        match std::fs::symlink_metadata(&path)?.is_dir() {
            true => files.extend(files_within(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}
