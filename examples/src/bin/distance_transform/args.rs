//! The command line, and what can be checked before any work starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use gpu_core::DeviceChoice;

/// Compute the distance from every pixel of a raster to the nearest site.
#[derive(Parser, Debug)]
#[command(version, after_help = AFTER_HELP)]
pub struct Args {
    /// The raster (.npy, .npz, .png, .tif): a site is a pixel that is not zero
    #[arg(value_name = "MASK")]
    pub mask: PathBuf,
    /// The distances: a GeoTIFF (.tif), an array (.npy) or a picture (.png); may be given several times
    #[arg(short, long, value_name = "PATH", default_value = "distance.tif")]
    pub output: Vec<PathBuf>,
    /// Also write the linear index (row * width + column) of each pixel's nearest site (.npy)
    #[arg(long, value_name = "PATH")]
    pub nearest: Option<PathBuf>,
    /// Take the pixels that are zero as the sites
    #[arg(long)]
    pub invert: bool,
    /// The sides of a pixel on the ground, or `georeference` for those that the mask's GeoTIFF states;
    /// distances come in the same unit
    #[arg(long, value_name = "SX,SY", default_value = "1,1", allow_hyphen_values = true)]
    pub spacing: Spacing,
    /// Leave pixels farther than this from every site without one
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub max_distance: Option<f64>,
    /// auto, cpu, software or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
}

const AFTER_HELP: &str = "\
A pixel without a site (none at all, or none within --max-distance) is NODATA (-9999) in a GeoTIFF, \
infinite in an array, transparent in a picture, and has the highest number of its type as nearest \
site. Of an NPZ archive the array `mask` is read, or the only one. A picture has at most 2048 pixels \
on a side. \
A GeoTIFF carries the place and the reference system of a mask that is one; of another \
its south-west corner is (0, 0) and its pixels have the sides given.\n\n\
Exit status: 0 where all files were written, 2 where something was wrong; then one line on \
standard error says what.";

/// The formats of the distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Float32 with NODATA; it lies where the mask does.
    GeoTiff,
    /// A bare array.
    Npy,
    /// A coloured overview.
    Png,
}

impl Args {
    /// Checks what clap does not, in particular that the outputs can be written.
    pub fn check(&self) -> Result<()> {
        if let Some(most) = self.max_distance {
            ensure!(most >= 0.0, "--max-distance {most} is not a number from 0 up");
        }
        for path in &self.output {
            format(path)?;
            geo_io::check_output(path)?;
        }
        if let Some(path) = &self.nearest {
            let npy = ending(path) == "npy";
            ensure!(npy, "--nearest {}: the name must end in .npy", path.display());
            geo_io::check_output(path)?;
        }
        let mut names: Vec<_> = self.output.iter().chain(&self.nearest).collect();
        names.sort();
        if let Some(two) = names.windows(2).find(|two| two[0] == two[1]) {
            bail!("{} is named for two outputs", two[0].display());
        }
        Ok(())
    }
}

/// The format that an output's name asks for.
pub fn format(path: &Path) -> Result<Format> {
    match ending(path).as_str() {
        "tif" | "tiff" => Ok(Format::GeoTiff),
        "npy" => Ok(Format::Npy),
        "png" => Ok(Format::Png),
        _ => {
            bail!("--output {}: the name must end in .tif, .tiff, .npy or .png", path.display())
        }
    }
}

/// The ending of a file's name, in lower case.
fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Width and height of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// As given.
    Sides(f64, f64),
    /// As the mask's georeference has them.
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
