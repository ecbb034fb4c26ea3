//! The command line, and what can be checked before any work starts.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use geo_io::{Crs, Existing, Output};
use idw::{Adaptive, Params};
use programs::args::{Format, LightArgs, PointArgs, RasterArgs, RunArgs, fraction, positive};

/// Turn scattered measurements into a surface by inverse distance weighting.
#[derive(Parser, Debug)]
#[command(name = "idw_surface", version, after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    pub points: PointArgs,
    /// The surface: a GeoTIFF (.tif, .tiff), an array (.npy), a table (.csv, .xyz, - for standard output) or a
    /// picture of its relief (.png)
    #[arg(short, long, value_name = "PATH", default_value = "surface.tif")]
    pub output: PathBuf,
    /// Side of a cell, in the units of the coordinates [default: about 512 cells along the longer side]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, conflicts_with = "size")]
    pub resolution: Option<f64>,
    /// Cells across and down
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,
    /// A point's weight is 1 / distance^POWER [default: 2, or the best with --cross-validate]
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    pub power: Option<f64>,
    /// The power of each cell from the pattern of the points around it (Lu and Wong 2008)
    #[arg(long, conflicts_with_all = ["power", "radius", "max_points", "per_quadrant"])]
    pub adaptive: bool,
    /// Added to distances: sqrt(distance^2 + SMOOTHING^2)
    #[arg(long, default_value_t = 0.0, value_parser = fraction, allow_negative_numbers = true)]
    pub smoothing: f64,
    /// Only points within this distance count [default: all]; in metres with --geographic
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    pub radius: Option<f64>,
    /// Only so many points count, the nearest [default: all]
    #[arg(long, value_name = "K")]
    pub max_points: Option<u32>,
    /// A cell with fewer points is NODATA
    #[arg(long, value_name = "M", default_value_t = 0)]
    pub min_points: u32,
    /// At least A and at most B points of each quadrant around a cell; B 0 for no limit
    #[arg(long, value_name = "A,B")]
    pub per_quadrant: Option<Quadrants>,
    /// x and y are degrees of longitude and latitude; distances are great circles
    #[arg(long)]
    pub geographic: bool,
    /// Predict each point from the others and report the errors, for several powers unless --power
    /// is given
    #[arg(long)]
    pub cross_validate: bool,
    #[command(flatten)]
    pub light: LightArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
    /// Points of the sample
    #[arg(long, hide = true, default_value_t = 5000, conflicts_with = "inputs")]
    pub sample_points: u32,
    /// Seed of the sample
    #[arg(long, hide = true, default_value_t = 1, conflicts_with = "inputs")]
    pub seed: u64,
}

const AFTER_HELP: &str = "\
Without INPUT a seeded sample of 5000 measurements of a made-up field is interpolated; its surface may be \
there already from the last time, if it is the same.\n\n\
With --geographic the surface ends at the poles, and without --bounds its edges are multiples of the \
resolution.\n\n\
Exit status: 0 where the file was written, 2 where something was wrong, 130 where it was interrupted; then \
one line on standard error says what, and no unfinished file is left.";

/// The formats of the surface.
const FORMATS: [Format; 4] = [Format::GeoTiff, Format::Npy, Format::Table, Format::Png];

impl AsRef<RunArgs> for Args {
    fn as_ref(&self) -> &RunArgs {
        &self.run
    }
}

impl Args {
    /// Checks what clap does not, in particular that the output can be written. `inputs` are all files to
    /// read.
    pub fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        ensure!(self.max_points != Some(0), "--max-points 0: a value needs a point");
        if let Some(most) = self.max_points.filter(|&most| most < self.min_points) {
            bail!("--min-points {} is above --max-points {most}", self.min_points);
        }
        ensure!(self.sample_points > 0, "--sample-points 0: a sample needs a point");
        self.crs()?;
        if let Some(extent) = self.points.bounds.filter(|_| self.geographic) {
            let b = extent.0;
            let latitude = if b.max_y > 90.0 { b.max_y } else { b.min_y };
            ensure!(latitude.abs() <= 90.0, "--bounds: latitude {latitude} is beyond the pole");
            for longitude in [b.min_x, b.max_x] {
                let known = (-360.0..=360.0).contains(&longitude);
                ensure!(known, "--bounds: longitude {longitude} is not from -360 to 360");
            }
        }
        self.format()?;
        geo_io::check_distinct(inputs, &[&self.output])?;
        Ok(geo_io::check_output(Output { path: &self.output, existing: self.existing() })?)
    }

    /// What becomes of a file that exists.
    pub fn existing(&self) -> Existing {
        let is_sample = self.points.inputs.is_empty();
        if is_sample { self.run.existing_example() } else { self.run.existing() }
    }

    /// How to interpolate, by this power.
    pub fn params(&self, power: f64) -> Params {
        let radius = self.radius.unwrap_or(0.0);
        let quadrants = self.per_quadrant.unwrap_or(Quadrants { min: 0, max: 0 });
        Params::default()
            .power(power)
            .smoothing(self.smoothing)
            .radius(radius)
            .max_points(self.max_points.unwrap_or(0))
            .min_points(self.min_points)
            .min_points_per_quadrant(quadrants.min)
            .max_points_per_quadrant(quadrants.max)
            .geographic(self.geographic)
            .adaptive(self.adaptive.then(Adaptive::default))
    }

    /// The format that the output's name asks for.
    pub fn format(&self) -> Result<Format> {
        Format::of("--output", &self.output, &FORMATS)
    }

    /// The coordinate system given by `--crs`; degrees are WGS 84 unless it says otherwise.
    pub fn crs(&self) -> Result<Option<Crs>> {
        let degrees = || self.geographic.then(|| Crs::parse("EPSG:4326")).transpose();
        match self.points.crs()? {
            Some(crs) => Ok(Some(crs)),
            None => Ok(degrees()?),
        }
    }
}

/// `--size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(['x', 'X']);
        let numbers =
            parts.and_then(|(w, h)| Some((w.trim().parse().ok()?, h.trim().parse().ok()?)));
        match numbers {
            Some((width, height)) if width > 0 && height > 0 => Ok(Self { width, height }),
            _ => Err("expected two positive numbers, as 640x480".to_owned()),
        }
    }
}

/// `--per-quadrant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quadrants {
    min: u32,
    max: u32,
}

impl FromStr for Quadrants {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(',');
        let numbers =
            parts.and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
        match numbers {
            Some((min, max)) if max == 0 || min <= max => Ok(Self { min, max }),
            Some((min, max)) => Err(format!("at least {min} of at most {max} cannot be")),
            None => Err("expected two numbers, as 1,4".to_owned()),
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
    fn sizes_and_quadrants_are_parsed_and_refused() {
        assert_eq!("640x480".parse(), Ok(Size { width: 640, height: 480 }));
        for bad in ["", "640", "0x5", "5x", "-1x3", "axb"] {
            assert!(bad.parse::<Size>().is_err(), "{bad:?} was taken");
        }
        assert_eq!("1, 4".parse(), Ok(Quadrants { min: 1, max: 4 }));
        assert_eq!("2,0".parse(), Ok(Quadrants { min: 2, max: 0 }));
        for bad in ["", "1", "5,4", "a,b", "1,2,3"] {
            assert!(bad.parse::<Quadrants>().is_err(), "{bad:?} was taken");
        }
    }
}
