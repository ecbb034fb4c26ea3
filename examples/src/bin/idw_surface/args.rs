//! The command line, and what can be checked before any work starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use geo_io::{Crs, Filter};
use gpu_core::{Bounds, DeviceChoice, GridSpec};
use idw::{Adaptive, Params};

pub use examples::point_args::{Columns, Extent};

/// Turn scattered measurements into a surface by inverse distance weighting.
#[derive(Parser, Debug)]
#[command(version, after_help = AFTER_HELP)]
pub struct Args {
    /// The measurements (.csv, .las, .laz)
    #[arg(value_name = "POINTS")]
    pub input: Option<PathBuf>,
    /// Names of the columns of a CSV file
    #[arg(long, value_name = "X,Y,Z", default_value = "x,y,z")]
    pub columns: Columns,
    /// The surface: a GeoTIFF (.tif, .tiff), an array (.npy) or a picture (.png)
    #[arg(short, long, value_name = "PATH", default_value = "surface.tif")]
    pub output: PathBuf,
    /// Side of a cell, in the units of the coordinates
    #[arg(long, allow_negative_numbers = true, conflicts_with = "size")]
    pub resolution: Option<f64>,
    /// Cells across and down [default: 512 along the longer side]
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,
    /// The surface's extent [default: that of the points]
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX", allow_hyphen_values = true)]
    pub bounds: Option<Extent>,
    /// A point's weight is 1 / distance^POWER [default: 2, or the best with --cross-validate]
    #[arg(long, allow_negative_numbers = true)]
    pub power: Option<f64>,
    /// The power of each cell from the pattern of the points around it (Lu and Wong 2008)
    #[arg(long, conflicts_with_all = ["power", "radius", "max_points", "per_quadrant"])]
    pub adaptive: bool,
    /// Added to distances: sqrt(distance^2 + SMOOTHING^2)
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub smoothing: f64,
    /// Only points within this distance count [default: all]; in metres with --geographic
    #[arg(long, allow_negative_numbers = true)]
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
    /// Keep only these classes of a LAS file, such as 2,9
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub classes: Option<Vec<u8>>,
    /// Coordinate system, such as EPSG:26910, in place of the one in the file
    #[arg(long)]
    pub crs: Option<String>,
    /// What the GeoTIFF holds where there is no value
    #[arg(long, value_name = "VALUE", default_value_t = -9999.0, allow_hyphen_values = true)]
    pub nodata: f32,
    /// auto, cpu, software or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
    /// Points of the sample
    #[arg(long, hide = true, default_value_t = 5000, conflicts_with = "input")]
    pub sample_points: u32,
    /// Seed of the sample
    #[arg(long, hide = true, default_value_t = 1, conflicts_with = "input")]
    pub seed: u64,
}

const AFTER_HELP: &str = "\
Without POINTS a seeded sample of 5000 measurements of a made-up field is interpolated.\n\n\
Exit status: 0 where the file was written, 2 where something was wrong; then one line on standard \
error says what.";

/// Cells along the longer side where nothing is asked for.
const DEFAULT_SIDE: f64 = 512.0;

/// The formats of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Float32, with NODATA, geotransform and coordinate system.
    GeoTiff,
    /// A bare array, NODATA as NaN.
    Npy,
    /// Colours and shades; NODATA is transparent.
    Png,
}

impl Args {
    /// Checks what clap does not, in particular that the output can be written.
    pub fn check(&self) -> Result<()> {
        if let Some(r) = self.resolution {
            ensure!(r.is_finite() && r > 0.0, "--resolution {r} is not a positive number");
        }
        if let Some(p) = self.power {
            ensure!(p.is_finite() && p > 0.0, "--power {p} is not a positive number");
        }
        let s = self.smoothing;
        ensure!(s.is_finite() && s >= 0.0, "--smoothing {s} is not 0 or a positive number");
        if let Some(r) = self.radius {
            ensure!(r.is_finite() && r > 0.0, "--radius {r} is not a positive number");
        }
        ensure!(self.max_points != Some(0), "--max-points 0: a value needs a point");
        if let Some(most) = self.max_points.filter(|&most| most < self.min_points) {
            bail!("--min-points {} is above --max-points {most}", self.min_points);
        }
        ensure!(self.sample_points > 0, "--sample-points 0: a sample needs a point");
        self.crs()?;
        self.format()?;
        geo_io::check_output(&self.output)?;
        Ok(())
    }

    /// How to interpolate, by this power.
    pub fn params(&self, power: f64) -> Params {
        let radius = self.radius.unwrap_or(0.0);
        let quadrants = self.per_quadrant.unwrap_or(Quadrants { min: 0, max: 0 });
        Params {
            power,
            smoothing: self.smoothing,
            radius1: radius,
            radius2: radius,
            max_points: self.max_points.unwrap_or(0),
            min_points: self.min_points,
            min_points_per_quadrant: quadrants.min,
            max_points_per_quadrant: quadrants.max,
            geographic: self.geographic,
            adaptive: self.adaptive.then(Adaptive::default),
            ..Params::default()
        }
    }

    /// The format that the output's name asks for.
    pub fn format(&self) -> Result<Format> {
        match ending(&self.output).as_str() {
            "tif" | "tiff" => Ok(Format::GeoTiff),
            "npy" => Ok(Format::Npy),
            "png" => Ok(Format::Png),
            _ => bail!(
                "--output {}: the name must end in .tif, .tiff, .npy or .png",
                self.output.display()
            ),
        }
    }

    /// The coordinate system given by `--crs`; degrees are WGS 84 unless it says otherwise.
    pub fn crs(&self) -> Result<Option<Crs>> {
        let text = self.crs.as_deref().or(self.geographic.then_some("EPSG:4326"));
        Ok(text.map(Crs::parse).transpose()?)
    }

    /// Which points to keep.
    pub fn filter(&self) -> Filter {
        Filter { classes: self.classes.clone(), ..Filter::default() }
    }

    /// The cells, over `--bounds` or over the points.
    pub fn grid(&self, points: Bounds) -> Result<GridSpec> {
        let b = self.bounds.map_or(points, |extent| extent.0);
        let (width, height) = (b.max_x - b.min_x, b.max_y - b.min_y);
        let longest = width.max(height);
        if let Some(Size { width: columns, height: rows }) = self.size {
            let cell = (width / f64::from(columns)).max(height / f64::from(rows));
            let cell = if cell > 0.0 { cell } else { 1.0 };
            let middle = (b.min_x + width / 2.0, b.min_y + height / 2.0);
            let west = middle.0 - cell * f64::from(columns) / 2.0;
            let north = middle.1 + cell * f64::from(rows) / 2.0;
            return Ok(GridSpec::new(west, north, cell, columns, rows)?);
        }
        let default = if longest > 0.0 { longest / DEFAULT_SIDE } else { 1.0 };
        let cell = self.resolution.unwrap_or(default);
        let along = |length: f64| (length / cell).ceil().max(1.0);
        let (columns, rows) = (along(width), along(height));
        let side = f64::from(u32::MAX);
        if !(columns <= side && rows <= side) {
            return Err(gpu_core::Error::GridTooLarge { columns, rows }.into());
        }
        Ok(GridSpec::new(b.min_x, b.max_y, cell, columns as u32, rows as u32)?)
    }
}

/// The ending of a file's name, in lower case.
fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// `--size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
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

    #[test]
    fn a_size_is_met_and_covers_the_bounds() {
        let args = Args::parse_from(["idw_surface", "--size", "40x30"]);
        let bounds = Bounds { min_x: 0.0, min_y: 10.0, max_x: 100.0, max_y: 20.0 };
        let grid = args.grid(bounds).unwrap();
        assert_eq!((grid.width, grid.height, grid.cell_size), (40, 30, 2.5));
        let b = grid.bounds();
        assert!(b.min_x <= 0.0 && b.max_x >= 100.0 && b.min_y <= 10.0 && b.max_y >= 20.0);
    }
}
