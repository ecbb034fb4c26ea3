//! Options of the programs that write rasters, and the rasters' formats.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use geo_io::{Compression, Overviews, TiffOptions};

use super::belonging::Given;
use super::streams::is_stream;
use super::words::nodata;

/// What stands for a missing value by default.
const NODATA: f32 = -9999.0;

/// How rasters are written.
#[derive(Args, Debug)]
#[command(next_help_heading = "GeoTIFF")]
pub struct RasterArgs {
    /// The options of the command line.
    #[command(flatten)]
    given: Given,
    /// The number that stands for a missing value, in a GeoTIFF and in a table .xyz
    #[arg(long, value_name = "VALUE", default_value_t = NODATA, value_parser = nodata)]
    pub nodata: f32,
    /// Write a cloud-optimised GeoTIFF: with overviews and statistics, and in an order that readers can take in parts
    #[arg(long)]
    pub cog: bool,
    /// The compression of GeoTIFF and Zarr: deflate (in Zarr gzip), zstd, lzw (in Zarr gzip) or none
    #[arg(long, value_name = "NAME", default_value = "deflate")]
    pub compress: Compression,
}

impl RasterArgs {
    /// Refuses options that no file of these names depends on.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn check<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<()> {
        let endings: Vec<String> = paths.into_iter().map(|path| ending(path.as_ref())).collect();
        let has = |ending: &str| endings.iter().any(|own| own == ending);
        let tiff = ("a GeoTIFF (.tif)", has("tif") || has("tiff"));
        let (zarr, table) = (("Zarr (.zarr)", has("zarr")), ("a table (.xyz)", has("xyz")));
        self.given.require_owner("--cog", &[tiff])?;
        self.given.require_owner("--compress", &[tiff, zarr])?;
        self.given.require_owner("--nodata", &[tiff, table])
    }

    /// Returns the value for geo-io.
    pub fn options(&self) -> TiffOptions {
        let (compression, overviews) = (self.compress, Overviews::default());
        TiffOptions { compression, cloud_optimised: self.cog, overviews }
    }

    /// The same for angles and places, whose mean says nothing.
    pub fn options_without_means(&self) -> TiffOptions {
        TiffOptions { overviews: Overviews::First, ..self.options() }
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

    /// The format that a name means, among the formats of an option.
    pub fn of(option: &str, path: &Path, known: &[Self]) -> Result<Self> {
        let found = match ending(path).as_str() {
            "tif" | "tiff" => Some(Self::GeoTiff),
            "zarr" => Some(Self::Zarr),
            "npy" => Some(Self::Npy),
            "png" => Some(Self::Png),
            "csv" | "xyz" => Some(Self::Table),
            _ if is_stream(path) => Some(Self::Table),
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
