//! The command line, and the checks before any work starts.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use geo_io::{Crs, Existing, Output};
use programs::args::{Format, LightArgs, PointArgs, RasterArgs, RunArgs, whole};
use programs::units;

use crate::scale::Command;
use crate::surface::SurfaceArgs;

/// Turn scattered measurements into a surface by inverse distance weighting.
#[derive(Parser, Debug)]
#[command(name = "idw_surface", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub surface: Args,
}

/// A surface made at once.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub points: PointArgs,
    /// The surface: a GeoTIFF (.tif, .tiff), Zarr (.zarr), an array (.npy), a table (.csv, .xyz, - for standard output)
    /// or a picture of its relief (.png)
    #[arg(short, long, value_name = "PATH", default_value = "surface.tif", help_heading = None)]
    pub output: PathBuf,
    #[command(flatten)]
    pub surface: SurfaceArgs,
    /// Predict each point from the others and report the errors, for several powers unless --power,
    /// --kernel or --variogram is given
    #[arg(long)]
    pub cross_validate: bool,
    #[command(flatten)]
    pub light: LightArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of points in the sample
    #[arg(long, hide = true, default_value_t = 5000, value_parser = whole(0..=u32::MAX), conflicts_with = "inputs")]
    pub sample_points: u32,
    /// Seed of the sample
    #[arg(long, hide = true, default_value_t = 1, value_parser = whole(0..=u64::MAX), conflicts_with = "inputs")]
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
const FORMATS: [Format; 5] =
    [Format::GeoTiff, Format::Zarr, Format::Npy, Format::Table, Format::Png];

impl Args {
    /// Refuses azimuths and light where the system's y does not grow to the north.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_north_up(&self, crs: Option<&Crs>) -> Result<()> {
        self.surface.kriging.require_north_up(crs)?;
        match self.format()? {
            Format::Png => units::require_north_up("the light of a .png", crs),
            _ => Ok(()),
        }
    }

    /// Checks what clap cannot check, above all that the program can write its output. `inputs` are all files that the
    /// program reads.
    pub fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        self.surface.check(self.points.bounds)?;
        ensure!(self.sample_points > 0, "--sample-points 0: a sample needs a point");
        self.crs(None)?;
        let format = self.format()?;
        if let Some(band) = self.surface.second_band().filter(|_| !Format::BANDS.contains(&format))
        {
            let path = self.output.display();
            bail!(
                "--{band} makes a second band, but {path} can hold only one: choose a name that \
                 ends in .tif or .zarr"
            );
        }
        self.light.check(&[("a picture (.png) as --output", format == Format::Png)], &[])?;
        self.raster.check([&self.output])?;
        geo_io::check_distinct(inputs, &[&self.output])?;
        Ok(geo_io::check_output(Output { path: &self.output, existing: self.existing() })?)
    }

    /// What happens to an output file that exists.
    pub fn existing(&self) -> Existing {
        let is_sample = self.points.inputs.is_empty();
        if is_sample { self.run.existing_example() } else { self.run.existing() }
    }

    /// The format that the output's name means.
    pub fn format(&self) -> Result<Format> {
        Format::of("--output", &self.output, &FORMATS)
    }

    /// The coordinate system, by the command line or as the files state it.
    pub fn crs(&self, stated: Option<&Crs>) -> Result<Option<Crs>> {
        self.surface.crs_of_result(&self.points, stated)
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
