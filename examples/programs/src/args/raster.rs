//! Options of the programs that write rasters, and the rasters' formats.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use geo_io::{Compression, TiffOptions};

use super::words::nodata;

/// How rasters are written.
#[derive(Args, Debug)]
#[command(next_help_heading = "GeoTIFF")]
pub struct RasterArgs {
    /// What a GeoTIFF, and a table .xyz, holds where there is no value
    #[arg(long, value_name = "VALUE", default_value_t = -9999.0, value_parser = nodata, allow_hyphen_values = true)]
    pub nodata: f32,
    /// Write GeoTIFF cloud-optimised: overviews, statistics, and an order that is read in parts
    #[arg(long)]
    pub cog: bool,
    /// How GeoTIFF and Zarr are packed: deflate (in Zarr as gzip), zstd, lzw (in Zarr as gzip) or none
    #[arg(long, value_name = "NAME", default_value = "deflate")]
    pub compress: Compression,
}

impl RasterArgs {
    /// As geo-io takes them.
    pub fn options(&self) -> TiffOptions {
        TiffOptions { compression: self.compress, cloud_optimised: self.cog }
    }
}

/// The formats of a raster, by the endings of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.tif` or `.tiff`: float32 with NODATA, place and coordinate system.
    GeoTiff,
    /// `.zarr`: a folder of float32 in chunks, NODATA as NaN, place and coordinate system.
    Zarr,
    /// `.npy`: a bare array, NODATA as NaN.
    Npy,
    /// `.png`: a picture.
    Png,
    /// `.xyz`: a line a cell; `.csv`, or `-` for standard output: a line a cell that has a value.
    Table,
}

impl Format {
    /// The formats that have several bands.
    pub const BANDS: [Self; 2] = [Self::GeoTiff, Self::Zarr];

    /// The format that a name asks for, of those that an option has.
    pub fn of(option: &str, path: &Path, known: &[Self]) -> Result<Self> {
        let found = match ending(path).as_str() {
            "tif" | "tiff" => Some(Self::GeoTiff),
            "zarr" => Some(Self::Zarr),
            "npy" => Some(Self::Npy),
            "png" => Some(Self::Png),
            "csv" | "xyz" => Some(Self::Table),
            _ if path.as_os_str() == "-" => Some(Self::Table),
            _ => None,
        };
        if let Some(format) = found.filter(|format| known.contains(format)) {
            return Ok(format);
        }
        let endings: Vec<_> = known.iter().map(|format| format.endings()).collect();
        bail!("{option} {}: the name must end in {}", path.display(), endings.join(", "))
    }

    fn endings(self) -> &'static str {
        match self {
            Self::GeoTiff => ".tif, .tiff",
            Self::Zarr => ".zarr",
            Self::Npy => ".npy",
            Self::Png => ".png",
            Self::Table => ".csv, .xyz (or - for standard output)",
        }
    }
}

/// The ending of a file's name, in lower case.
pub fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}
