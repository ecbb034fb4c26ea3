//! The command line, and the checks before any work starts.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Arg, Parser};
use geo_io::{Existing, Output};
use nni_grid::Fill;
use programs::args::{
    Format, Given, LightArgs, PointArgs, RasterArgs, RunArgs, is_stream, positive, whole,
};
use programs::contours;
use programs::products::Products;
use programs::scale::{BudgetArgs, MergeArgs, PointCommand, StoreArgs};

use crate::asked::Asked;
use crate::surface::SurfaceArgs;
use crate::triangles::mesh_format;

/// Turn LiDAR points into a terrain grid by natural neighbour interpolation.
#[derive(Parser, Debug)]
#[command(name = "lidar_dem", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
#[command(mut_subcommand("merge", |merge| merge.mut_args(of_dem)))]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub dem: Args,
}

/// The steps that make a DEM in tiles.
pub type Command = PointCommand<PlanArgs, MergeArgs>;

/// Returns the option of `merge` for its output, in the words of a DEM.
fn of_dem(arg: Arg) -> Arg {
    match arg.get_id() == "output" {
        true => {
            arg.help("The DEM, a GeoTIFF (.tif, .tiff) or Zarr (.zarr)").default_value("dem.tif")
        }
        false => arg,
    }
}

/// Divide a DEM into tiles that fit the memory, each a job of its own
#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    pub points: PointArgs,
    /// The plan; its tiles go into a folder beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json", help_heading = None)]
    pub output: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub surface: SurfaceArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// A DEM made at once.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The options of the command line.
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    pub points: PointArgs,
    /// The DEM: a GeoTIFF (.tif, .tiff), Zarr (.zarr), an array (.npy) or a table (.csv, .xyz, - for standard output);
    /// several bands need a GeoTIFF or Zarr
    #[arg(short, long, value_name = "PATH", default_value = "dem.tif", help_heading = None)]
    pub output: PathBuf,
    /// Also draw the hillshade in grey (.png, .tif)
    #[arg(long, value_name = "PATH", help_heading = None)]
    pub hillshade: Option<PathBuf>,
    /// Also draw the relief: heights in colours under the light (.png, .tif); without INPUT and --hillshade, the
    /// program always draws it beside the DEM
    #[arg(long, value_name = "PATH", help_heading = None)]
    pub relief: Option<PathBuf>,
    /// Also write the slope in degrees, in the DEM's formats (- for a table on standard output)
    #[arg(long, value_name = "PATH", help_heading = None)]
    pub slope: Option<PathBuf>,
    /// Also write contour lines: GeoJSON (.geojson, .json), FlatGeobuf (.fgb) or GeoParquet (.parquet)
    #[arg(long, value_name = "PATH", help_heading = None)]
    pub contours: Option<PathBuf>,
    /// Height between one contour line and the next, in units of height
    #[arg(long, value_name = "HEIGHT", default_value_t = 5.0, value_parser = positive, help_heading = None)]
    pub contour_interval: f64,
    /// Also write the Delaunay triangulation of the points that the DEM is made from, in their coordinates: as PLY (.ply),
    /// Wavefront OBJ (.obj), or polygons with heights (.fgb, .parquet). The option --duplicates decides the height of
    /// points at one place
    #[arg(long, value_name = "PATH", help_heading = None)]
    pub triangles: Option<PathBuf>,
    #[command(flatten)]
    pub surface: SurfaceArgs,
    #[command(flatten)]
    pub light: LightArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
    /// About how many points the simulated survey measures
    #[arg(long, hide = true, default_value_t = 1_000_000, value_parser = whole(0..=u64::from(u32::MAX)), conflicts_with = "inputs")]
    pub survey_points: u64,
    /// Seed of the simulated survey
    #[arg(long, hide = true, default_value_t = 1, value_parser = whole(0..=u64::MAX), conflicts_with = "inputs")]
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

impl Args {
    /// Checks what clap cannot check, before any file is read. Returns the grid that the options give.
    pub fn check(&self) -> Result<Asked> {
        self.surface.check()?;
        let asked = Asked::of(&self.points, &self.surface)?;
        ensure!(self.survey_points > 0, "--survey-points 0: a survey needs a point");
        self.points.crs()?;
        let format = Format::of("--output", &self.output, &Products::VALUES)?;
        let (bands, output) = (self.surface.bands(), self.output.display());
        ensure!(
            bands.len() == 1 || Format::BANDS.contains(&format),
            "--output {output}: only GeoTIFF and Zarr hold several bands ({}): choose a name that \
             ends in .tif or .zarr",
            bands.join(", ")
        );
        let nodata = self.raster.nodata;
        ensure!(
            format != Format::GeoTiff || self.surface.fill != Fill::Value(nodata),
            "--fill {nodata} is also the value of --nodata: choose another --nodata, or --fill \
             nodata"
        );
        if let Some(path) = &self.slope {
            Format::of("--slope", path, &Products::VALUES)?;
        }
        if let Some(path) = &self.contours {
            contours::format(path)?;
        }
        if let Some(path) = &self.triangles {
            mesh_format(path)?;
        }
        for (option, path) in [("--hillshade", self.hillshade.clone()), ("--relief", self.relief())]
        {
            if let Some(path) = path {
                Format::of(option, &path, &Products::PICTURES)?;
            }
        }
        let lines = [("--contours", self.contours.is_some())];
        self.given.require_owner("--contour-interval", &lines)?;
        let shades =
            [("--hillshade", self.hillshade.is_some()), ("--relief", self.relief().is_some())];
        self.light.check(&shades, &[("--slope", self.slope.is_some())])?;
        self.raster.check(self.outputs())?;
        Ok(asked)
    }

    /// Checks that the program can write its outputs, so that nobody waits for an interpolation in vain. `inputs` are
    /// all files that the program reads.
    pub fn check_outputs(&self, inputs: &[PathBuf]) -> Result<()> {
        let outputs = self.outputs();
        let paths: Vec<&Path> = outputs.iter().map(PathBuf::as_path).collect();
        let read: Vec<PathBuf> = inputs.iter().chain(self.surface.read_beside()).cloned().collect();
        geo_io::check_distinct(&read, &paths)?;
        for path in paths {
            geo_io::check_output(Output { path, existing: self.existing() })?;
        }
        Ok(())
    }

    /// All files that the program writes, in order.
    pub fn outputs(&self) -> Vec<PathBuf> {
        let survey = self.is_simulated().then(|| self.survey_path());
        let others = [
            self.hillshade.clone(),
            self.relief(),
            self.slope.clone(),
            self.contours.clone(),
            self.triangles.clone(),
        ];
        survey
            .into_iter()
            .chain([self.output.clone()])
            .chain(others.into_iter().flatten())
            .collect()
    }

    /// What happens to output files that exist.
    pub fn existing(&self) -> Existing {
        if self.is_simulated() { self.run.existing_example() } else { self.run.existing() }
    }

    /// Whether there is nothing to read, and a landscape is simulated.
    pub fn is_simulated(&self) -> bool {
        self.points.inputs.is_empty()
    }

    /// Where the relief goes: as asked, or beside the DEM of a simulated survey.
    pub fn relief(&self) -> Option<PathBuf> {
        let is_file = !is_stream(&self.output);
        let is_picture_given = self.hillshade.is_some() || self.relief.is_some();
        let beside = self.is_simulated() && is_file && !is_picture_given;
        self.relief.clone().or_else(|| beside.then(|| self.output.with_extension("png")))
    }

    /// Where the simulated survey goes.
    pub fn survey_path(&self) -> PathBuf {
        self.output.with_file_name("survey.laz")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }
}
