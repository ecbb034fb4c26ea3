//! The command line, and what can be checked before any work starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use geo_io::{Crs, Filter, Returns};
use gpu_core::DeviceChoice;
use nni_grid::{Duplicates, Method, Weights};

pub use examples::point_args::{Columns, Extent};

/// Turn LiDAR points into a terrain grid by natural neighbour interpolation.
#[derive(Parser, Debug)]
#[command(version, after_help = AFTER_HELP)]
pub struct Args {
    /// Point files (.las, .laz, .csv), joined; their coordinate systems must agree
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// The DEM: a GeoTIFF (.tif, .tiff) or an array (.npy)
    #[arg(short, long, value_name = "PATH", default_value = "dem.tif")]
    pub output: PathBuf,
    /// Also draw a hillshade (.png); without INPUT it is drawn beside the DEM in any case
    #[arg(long, value_name = "PATH")]
    pub hillshade: Option<PathBuf>,
    /// Also write the slope in degrees: a GeoTIFF (.tif, .tiff) or an array (.npy)
    #[arg(long, value_name = "PATH")]
    pub slope: Option<PathBuf>,
    /// Also write contour lines (.geojson, .json)
    #[arg(long, value_name = "PATH")]
    pub contours: Option<PathBuf>,
    /// From one contour line to the next, in units of height
    #[arg(long, value_name = "HEIGHT", default_value_t = 5.0, allow_negative_numbers = true)]
    pub contour_interval: f64,
    /// Side of a DEM cell, in ground units
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub resolution: f64,
    /// How far a point reaches, in DEM cells ("inf": everywhere); farther ground is NODATA
    #[arg(long, value_name = "CELLS", default_value_t = 10.0, allow_negative_numbers = true)]
    pub site_radius: f64,
    /// Natural neighbours by exact geometry, or by the pixels of a raster: exact or pixels
    #[arg(long, value_name = "NAME", default_value = "exact")]
    pub method: Method,
    /// How far a DEM cell looks for ground that it would take over, in DEM cells; "inf" for no limit
    #[arg(long, value_name = "CELLS", default_value_t = f64::INFINITY, allow_negative_numbers = true)]
    pub query_radius: f64,
    /// With --method pixels: pixels along the side of a DEM cell, 1 to 8; more is more accurate and slower
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub supersample: u32,
    /// How much each natural neighbour counts: sibson, laplace, or c1 (smooth); with --method pixels the
    /// latter two with --query-radius inf
    #[arg(long, value_name = "NAME", default_value = "sibson")]
    pub weights: Weights,
    /// Leave out cells outside the convex hull of the points
    #[arg(long)]
    pub hull: bool,
    /// Leave out cells farther from the nearest point, in DEM cells
    #[arg(long, value_name = "CELLS", default_value_t = f64::INFINITY, allow_negative_numbers = true)]
    pub max_distance: f64,
    /// Keep only these classes, such as 2,9 (2 ground, 5 high vegetation, 6 building, 9 water)
    #[arg(long, value_name = "LIST")]
    pub classes: Option<Classes>,
    /// Keep all, the first or the last returns of a pulse
    #[arg(long, value_name = "all|first|last", default_value = "all")]
    pub returns: Returns,
    /// The height of several points in one Voronoi pixel: mean, min, max, first or last
    #[arg(long, value_name = "POLICY", default_value = "mean")]
    pub duplicates: Duplicates,
    /// The DEM's extent, snapped outward to the resolution [default: that of the points]
    #[arg(long, value_name = "XMIN,YMIN,XMAX,YMAX", allow_hyphen_values = true)]
    pub bounds: Option<Extent>,
    /// Coordinate system, such as EPSG:26910, in place of the one in the files
    #[arg(long)]
    pub crs: Option<String>,
    /// What the GeoTIFF holds where there is no height
    #[arg(long, value_name = "VALUE", default_value_t = -9999.0, allow_hyphen_values = true)]
    pub nodata: f32,
    /// auto, cpu, software or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
    /// Names of the columns of a CSV file
    #[arg(long, value_name = "X,Y,Z", default_value = "x,y,z")]
    pub columns: Columns,
    /// About how many points the simulated survey measures
    #[arg(long, hide = true, default_value_t = 1_000_000, conflicts_with = "inputs")]
    pub survey_points: u64,
    /// Seed of the simulated survey
    #[arg(long, hide = true, default_value_t = 1, conflicts_with = "inputs")]
    pub seed: u64,
}

const AFTER_HELP: &str = "\
Without INPUT a simulated landscape is surveyed (about a million points: hills, a village, a wood, \
a lake without returns). That writes three files: survey.laz beside the DEM, the DEM (dem.tif) and \
its hillshade (dem.png).\n\n\
Exit status: 0 where all files were written, 2 where something was wrong; then one line on \
standard error says what.";

/// The output formats of the DEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Float32, with NODATA, geotransform and coordinate system.
    GeoTiff,
    /// A bare array, NODATA as NaN.
    Npy,
}

impl Args {
    /// Checks what clap does not, in particular that the outputs can be written, so that nobody
    /// waits for an interpolation whose result has no place.
    pub fn check(&self) -> Result<()> {
        let r = self.resolution;
        ensure!(r.is_finite() && r > 0.0, "--resolution {r} is not a positive number");
        for (name, radius) in
            [("--site-radius", self.site_radius), ("--query-radius", self.query_radius)]
        {
            ensure!(radius > 0.0, "{name} {radius} is not a positive number of cells");
        }
        let s = self.supersample;
        let most = nni_grid::MAX_SUPERSAMPLE;
        ensure!((1..=most).contains(&s), "--supersample {s} is not from 1 to {most}");
        let c = self.contour_interval;
        ensure!(c.is_finite() && c > 0.0, "--contour-interval {c} is not a positive number");
        ensure!(self.survey_points > 0, "--survey-points 0: a survey needs a point");
        self.crs()?;
        format("--output", &self.output)?;
        geo_io::check_output(&self.output)?;
        if let Some(path) = &self.slope {
            format("--slope", path)?;
            geo_io::check_output(path)?;
        }
        if let Some(path) = &self.contours {
            let json = matches!(ending(path).as_str(), "geojson" | "json");
            ensure!(json, "--contours {}: the name must end in .geojson or .json", path.display());
            geo_io::check_output(path)?;
        }
        if let Some(path) = self.hillshade_path() {
            let png = ending(&path) == "png";
            ensure!(png, "--hillshade {}: the name must end in .png", path.display());
            geo_io::check_output(&path)?;
        }
        if self.inputs.is_empty() {
            geo_io::check_output(&self.survey_path())?;
        }
        Ok(())
    }

    /// Where the hillshade goes: as asked, or beside the DEM of a simulated survey.
    pub fn hillshade_path(&self) -> Option<PathBuf> {
        let beside = || self.inputs.is_empty().then(|| self.output.with_extension("png"));
        self.hillshade.clone().or_else(beside)
    }

    /// Where the simulated survey goes.
    pub fn survey_path(&self) -> PathBuf {
        self.output.with_file_name("survey.laz")
    }

    /// The coordinate system given by `--crs`.
    pub fn crs(&self) -> Result<Option<Crs>> {
        Ok(self.crs.as_deref().map(Crs::parse).transpose()?)
    }

    /// Which points to keep.
    pub fn filter(&self) -> Filter {
        let classes = self.classes.as_ref().map(|c| c.0.clone());
        Filter { classes, returns: self.returns }
    }
}

/// The format that the name of a raster asks for.
pub fn format(option: &str, path: &Path) -> Result<Format> {
    match ending(path).as_str() {
        "tif" | "tiff" => Ok(Format::GeoTiff),
        "npy" => Ok(Format::Npy),
        _ => bail!("{option} {}: the name must end in .tif, .tiff or .npy", path.display()),
    }
}

/// The ending of a file's name, in lower case.
fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// A comma-separated list of point classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes(pub Vec<u8>);

impl FromStr for Classes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let class = |word: &str| {
            let word = word.trim();
            word.parse().map_err(|_| format!("unknown class \"{word}\": classes are 0 to 255"))
        };
        let mut classes = text.split(',').map(class).collect::<Result<Vec<u8>, _>>()?;
        classes.sort_unstable();
        classes.dedup();
        Ok(Self(classes))
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::Bounds;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn lists_are_parsed_and_refused() {
        assert_eq!("9, 2,2".parse(), Ok(Classes(vec![2, 9])));
        for bad in ["", "256", "-1", "2,,9", "ground"] {
            assert!(bad.parse::<Classes>().is_err(), "{bad:?} was taken");
        }
        let bounds = Bounds { min_x: -1.0, min_y: 0.0, max_x: 2.5, max_y: 3.0 };
        assert_eq!("-1,0,2.5,3".parse(), Ok(Extent(bounds)));
        for bad in ["", "1,2,3", "0,0,0,1", "0,0,nan,1", "0,0,1,1,1"] {
            assert!(bad.parse::<Extent>().is_err(), "{bad:?} was taken");
        }
    }
}
