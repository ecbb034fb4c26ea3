//! The command line, and what can be checked before any work starts.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Parser;
use geo_io::{Existing, Output};
use nni_grid::{Duplicates, Method, Weights};
use programs::args::{Format, LightArgs, PointArgs, RasterArgs, RunArgs, ending, number, positive};
use programs::products::Products;

/// Turn LiDAR points into a terrain grid by natural neighbour interpolation.
#[derive(Parser, Debug)]
#[command(name = "lidar_dem", version, after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    pub points: PointArgs,
    /// The DEM: a GeoTIFF (.tif, .tiff), an array (.npy) or a table (.csv, .xyz, - for standard output)
    #[arg(short, long, value_name = "PATH", default_value = "dem.tif")]
    pub output: PathBuf,
    /// Also draw the hillshade in grey (.png, .tif)
    #[arg(long, value_name = "PATH")]
    pub hillshade: Option<PathBuf>,
    /// Also draw the relief: heights in colours under the light (.png, .tif); without INPUT and without
    /// --hillshade it is drawn beside the DEM in any case
    #[arg(long, value_name = "PATH")]
    pub relief: Option<PathBuf>,
    /// Also write the slope in degrees, in the DEM's formats
    #[arg(long, value_name = "PATH")]
    pub slope: Option<PathBuf>,
    /// Also write contour lines: GeoJSON (.geojson, .json) or FlatGeobuf (.fgb)
    #[arg(long, value_name = "PATH")]
    pub contours: Option<PathBuf>,
    /// From one contour line to the next, in units of height
    #[arg(long, value_name = "HEIGHT", default_value_t = 5.0, value_parser = positive, allow_negative_numbers = true)]
    pub contour_interval: f64,
    /// Side of a DEM cell, in ground units [default: 1, of feet 3; degrees have none]
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    pub resolution: Option<f64>,
    /// How far a point reaches, in DEM cells ("inf": everywhere); farther ground is NODATA
    #[arg(long, value_name = "CELLS", default_value_t = 10.0, value_parser = number, allow_negative_numbers = true)]
    pub site_radius: f64,
    /// Natural neighbours by exact geometry, or by the pixels of a raster: exact or pixels
    #[arg(long, value_name = "NAME", default_value = "exact")]
    pub method: Method,
    /// How far a DEM cell looks for ground that it would take over, in DEM cells; "inf" for no limit
    /// [default: inf; 3 with --method pixels and weights sibson]
    #[arg(long, value_name = "CELLS", value_parser = number, allow_negative_numbers = true)]
    pub query_radius: Option<f64>,
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
    #[arg(long, value_name = "CELLS", default_value_t = f64::INFINITY, value_parser = number, allow_negative_numbers = true)]
    pub max_distance: f64,
    /// The height of several points in one Voronoi pixel: mean, min, max, first or last
    #[arg(long, value_name = "POLICY", default_value = "mean")]
    pub duplicates: Duplicates,
    #[command(flatten)]
    pub light: LightArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
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
its relief (dem.png); the same again where they are there already from the last time, but nothing in \
place of a file that differs, without --overwrite.\n\n\
Slope and light know the units: degrees are scaled by latitude, feet and metres by the coordinate system.\n\n\
Exit status: 0 where all files were written, 2 where something was wrong, 130 where it was interrupted; \
then one line on standard error says what, and no unfinished file is left.";

/// How far a DEM cell looks on pixels where nothing else is asked for.
const DEFAULT_QUERY_RADIUS: f64 = 3.0;

/// Site radii that count as far away where there is no query radius.
const WIDE: f64 = 10.0;

impl AsRef<RunArgs> for Args {
    fn as_ref(&self) -> &RunArgs {
        &self.run
    }
}

impl Args {
    /// Checks what clap does not, in particular that the outputs can be written, so that nobody
    /// waits for an interpolation whose result has no place. `inputs` are all files to read.
    pub fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        for (name, radius) in
            [("--site-radius", self.site_radius), ("--query-radius", self.query_radius())]
        {
            ensure!(radius > 0.0, "{name} {radius} is not a positive number of cells");
        }
        let s = self.supersample;
        let most = nni_grid::MAX_SUPERSAMPLE;
        ensure!((1..=most).contains(&s), "--supersample {s} is not from 1 to {most}");
        let is_bounded = self.query_radius().is_finite();
        ensure!(
            self.method == Method::Exact || self.weights == Weights::Sibson || !is_bounded,
            "with --method pixels, --weights other than sibson need --query-radius inf"
        );
        ensure!(self.survey_points > 0, "--survey-points 0: a survey needs a point");
        self.points.crs()?;
        Format::of("--output", &self.output, &Products::VALUES)?;
        if let Some(path) = &self.slope {
            Format::of("--slope", path, &Products::VALUES)?;
        }
        if let Some(path) = &self.contours {
            lines_format(path)?;
        }
        for (option, path) in [("--hillshade", self.hillshade.clone()), ("--relief", self.relief())]
        {
            if let Some(path) = path {
                Format::of(option, &path, &Products::PICTURES)?;
            }
        }
        let outputs = self.outputs();
        let paths: Vec<&Path> = outputs.iter().map(PathBuf::as_path).collect();
        geo_io::check_distinct(inputs, &paths)?;
        for path in paths {
            geo_io::check_output(Output { path, existing: self.existing() })?;
        }
        Ok(())
    }

    /// All files to be written, in order.
    pub fn outputs(&self) -> Vec<PathBuf> {
        let survey = self.is_simulated().then(|| self.survey_path());
        let others =
            [self.hillshade.clone(), self.relief(), self.slope.clone(), self.contours.clone()];
        survey
            .into_iter()
            .chain([self.output.clone()])
            .chain(others.into_iter().flatten())
            .collect()
    }

    /// What becomes of files that exist.
    pub fn existing(&self) -> Existing {
        if self.is_simulated() { self.run.existing_example() } else { self.run.existing() }
    }

    /// Whether there is nothing to read, and a landscape is simulated.
    pub fn is_simulated(&self) -> bool {
        self.points.inputs.is_empty()
    }

    /// Where the relief goes: as asked, or beside the DEM of a simulated survey.
    pub fn relief(&self) -> Option<PathBuf> {
        let is_file = self.output.as_os_str() != "-";
        let is_picture_given = self.hillshade.is_some() || self.relief.is_some();
        let beside = self.is_simulated() && is_file && !is_picture_given;
        self.relief.clone().or_else(|| beside.then(|| self.output.with_extension("png")))
    }

    /// Where the simulated survey goes.
    pub fn survey_path(&self) -> PathBuf {
        self.output.with_file_name("survey.laz")
    }

    /// How far a DEM cell looks, in cells.
    pub fn query_radius(&self) -> f64 {
        let is_bounded = self.method == Method::Pixels && self.weights == Weights::Sibson;
        let other = if is_bounded { DEFAULT_QUERY_RADIUS } else { f64::INFINITY };
        self.query_radius.unwrap_or(other)
    }

    /// How far from a cell a point may lie that its height depends on, in cells; infinite where there is no
    /// limit.
    ///
    /// A cell looks at ground within the query radius: at its pixels, whose sites lie within the site radius
    /// of it, or at a square of it, which no point farther than twice its half diagonal can cut. Without a
    /// query radius only gaps in the points that are wider than [`WIDE`] site radii let points farther away
    /// take part.
    pub fn reach(&self) -> f64 {
        let (site, query) = (self.site_radius, self.query_radius());
        if self.hull {
            return f64::INFINITY;
        }
        let reach =
            if query.is_finite() { (site + query).max(8f64.sqrt() * query) } else { WIDE * site };
        // And the cell's own size.
        reach.ceil() + 1.0
    }
}

/// The formats of contour lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinesFormat {
    /// Text.
    GeoJson,
    /// Binary, with an index.
    FlatGeobuf,
}

/// The format that the name of contour lines asks for.
pub fn lines_format(path: &Path) -> Result<LinesFormat> {
    match ending(path).as_str() {
        "geojson" | "json" => Ok(LinesFormat::GeoJson),
        "fgb" => Ok(LinesFormat::FlatGeobuf),
        _ => bail!("--contours {}: the name must end in .geojson, .json or .fgb", path.display()),
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
    fn other_weights_have_no_limit_unless_one_is_asked_for() {
        let of = |words: &[&str]| Args::parse_from([&["lidar_dem"], words].concat());
        let on_pixels = |words: &[&str]| of(&[&["--method", "pixels"], words].concat());
        assert_eq!(of(&[]).query_radius(), f64::INFINITY);
        assert_eq!(on_pixels(&[]).query_radius(), 3.0);
        assert_eq!(on_pixels(&["--weights", "c1"]).query_radius(), f64::INFINITY);
        assert_eq!(of(&["--query-radius", "5"]).reach(), 16.0);
        assert_eq!(of(&["--query-radius", "inf"]).reach(), 101.0);
        assert_eq!(of(&["--site-radius", "inf"]).reach(), f64::INFINITY);
        assert_eq!(of(&["--hull"]).reach(), f64::INFINITY);
    }
}
