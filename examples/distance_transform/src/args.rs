//! The command line, and the checks before any work starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;
use clap::Parser;
use geo_io::{Output, SiteValues};
use programs::args::{Format, RasterArgs, RunArgs, fraction};

use crate::globe::GlobeArgs;
use crate::ground::{GroundArgs, SITES};

/// Compute the distance from every pixel of a raster to the nearest site.
#[derive(Parser, Debug)]
#[command(name = "distance_transform", version, after_help = AFTER_HELP)]
// By the mask it is seen that the line is one of these, and not a command on tiles.
#[group(id = "transform", args = ["mask"])]
pub struct Args {
    /// The raster (.npy, .npz, .png, .tif, .vrt, .asc, .zarr): a site is a pixel that is not zero and has a value
    #[arg(value_name = "MASK")]
    pub mask: PathBuf,
    /// The distances: a GeoTIFF (.tif), Zarr (.zarr), an array (.npy) or a picture (.png); may be given several times
    #[arg(short, long, value_name = "PATH", default_value = "distance.tif")]
    pub output: Vec<PathBuf>,
    /// Also write the nearest site of each pixel. An array (.npy) has the site's linear index (row * width + column). A
    /// GeoTIFF (.tif) has the coordinates of the site's centre, x and y as two bands of float64
    #[arg(long, value_name = "PATH")]
    pub nearest: Option<PathBuf>,
    #[command(flatten)]
    pub ground: GroundArgs,
    #[command(flatten)]
    pub sites: SiteArgs,
    #[command(flatten)]
    pub globe: GlobeArgs,
    /// Leave pixels without a site if every site is farther than this; metres with --geodesic
    #[arg(long, value_name = "D", value_parser = fraction)]
    pub max_distance: Option<f64>,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

pub const AFTER_HELP: &str = "\
A pixel without a site (none at all, or none within --max-distance) is NODATA in a GeoTIFF, \
infinite in an array, transparent in a picture, and has the highest number of its type as index of the nearest \
site; its direction and coordinates are NODATA or NaN. Directions are those on the plane, as distances are; with --geodesic those at the pixel of the great circle to its site. Of an NPZ archive the array `mask` is read, or the only one. A picture has at most 2048 pixels \
on a side.\n\n\
Values are those that the file stores: of a palette the indices, and no scale is applied. They are compared in the file's \
own type: integers of 64 bits exactly, and a decimal of --values means the float that it rounds to. Both ends of a range \
belong to it. NODATA is what GDAL takes for it, by the file or by .aux.xml beside it; so are the blocks that a sparse \
GeoTIFF does not have, and a transparent entry or grey value of a PNG. A PNG with coloured or otherwise transparent \
pixels is refused.\n\n\
A GeoTIFF carries the place and the reference system of the mask, as GDAL has them: by the tags of a GeoTIFF, a world \
file (.tfw, .pgw, .wld) or the .aux.xml beside it. Of a mask without a place its south-west corner is (0, 0) and its \
pixels have the sides given.\n\n\
Exit status: 0 where all files were written, 2 where something was wrong, 130 where it was interrupted; \
then one line on standard error says what, and no unfinished file is left.";

/// The formats of the distances: float32 where the mask lies, a bare array, a coloured overview.
const FORMATS: [Format; 4] = [Format::GeoTiff, Format::Zarr, Format::Npy, Format::Png];

impl Args {
    /// Checks what clap cannot check, above all that the program can write its outputs.
    pub fn check(&self) -> Result<()> {
        for path in &self.output {
            format(path)?;
        }
        if let Some(path) = &self.nearest {
            Format::of("--nearest", path, &SITES)?;
        }
        self.ground.check()?;
        self.raster.check(self.outputs())?;
        let outputs: Vec<&Path> = self.outputs().map(PathBuf::as_path).collect();
        geo_io::check_distinct(std::slice::from_ref(&self.mask), &outputs)?;
        for path in outputs {
            geo_io::check_output(Output { path, existing: self.run.existing() })?;
        }
        Ok(())
    }

    /// All files that the program writes.
    pub fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(&self.nearest).chain(self.ground.paths())
    }

    /// Whether an output names sites, or follows from those that do.
    pub fn wants_nearest(&self) -> bool {
        self.nearest.is_some() || self.ground.is_some()
    }
}

/// Where the sites are, and how far from each other.
#[derive(clap::Args, Debug)]
pub struct SiteArgs {
    /// The values of sites, such as 1,4-7 or 100-inf [default: all but 0]; pixels with NODATA or NaN are never sites
    #[arg(long, value_name = "LIST")]
    pub values: Option<SiteValues>,
    /// Take all other pixels as sites; pixels without a value are never sites
    #[arg(long)]
    pub invert: bool,
    /// The sides of a pixel on the ground, or `georeference` for the sides that the mask's place gives. Distances come
    /// in the same unit. A side may be thousands of times the other, as in sections and time axes. The program refuses
    /// a ratio if a distance could be off by more than a part in a million
    #[arg(long, value_name = "SX,SY", default_value = "1,1")]
    pub spacing: Spacing,
}

impl SiteArgs {
    /// Which pixels are sites.
    pub fn rule(&self) -> SiteValues {
        SiteValues { inverted: self.invert, ..self.values.clone().unwrap_or_default() }
    }
}

/// The format that an output's name means.
pub fn format(path: &Path) -> Result<Format> {
    Format::of("--output", path, &FORMATS)
}

/// Whether a file is a GeoTIFF by its name.
pub fn is_tiff(path: &Path) -> bool {
    Format::of("", path, &[Format::GeoTiff]).is_ok()
}

/// Width and height of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// As given.
    Sides(f64, f64),
    /// The sides from the mask's georeference.
    Georeference,
}

impl FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |word: &str| match word.trim().parse::<f64>() {
            Ok(side) if side.is_finite() && side > 0.0 => Ok(side),
            _ => Err(format!("\"{word}\" is not a positive number")),
        };
        match text.split_once(',') {
            Some((x, y)) => Ok(Self::Sides(side(x)?, side(y)?)),
            None if text == "georeference" => Ok(Self::Georeference),
            None => Err("expected two numbers, such as 30,30, or georeference".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn sides_are_parsed_and_refused() {
        assert_eq!("30, 0.5".parse(), Ok(Spacing::Sides(30.0, 0.5)));
        assert_eq!("georeference".parse(), Ok(Spacing::Georeference));
        for bad in ["", "1", "1,", "0,1", "1,-2", "1,nan", "1,2,3", "inf,1"] {
            assert!(bad.parse::<Spacing>().is_err(), "{bad:?} was taken");
        }
    }
}
