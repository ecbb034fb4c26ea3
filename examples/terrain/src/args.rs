//! The command line, and the checks before any work starts.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Parser;
use geo_io::Output;
use programs::args::{Format, RasterArgs, RunArgs, positive};
use programs::contours;
use programs::products::Products;

use crate::choices::{Kind, MethodArgs, Name};
use crate::drawing::DrawingArgs;

/// Compute slope, aspect, hillshade, curvature, ruggedness and contour lines of a DEM.
#[derive(Parser, Debug)]
#[command(name = "terrain", version, after_help = AFTER_HELP)]
// By the DEM it is seen that the line is one of these, and not a command on tiles.
#[group(id = "once", args = ["dem"])]
pub struct Args {
    /// The DEM (.tif, .vrt, .asc, .zarr, .npy), row 0 in the north
    #[arg(value_name = "DEM")]
    pub dem: PathBuf,
    #[command(flatten)]
    pub outputs: OutputArgs,
    #[command(flatten)]
    pub drawing: DrawingArgs,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

pub const AFTER_HELP: &str = "\
Heights are in the unit that the coordinate system gives them, else in that of the band, else in that of the ground, and in degrees in metres: slope, \
hillshade and curvature count both, and in degrees the length of a degree at each latitude (WGS 84). Ruggedness (tri), \
position (tpi), roughness and contour lines are in the unit of heights as they are, whatever --z-factor says. \
Rows of the DEM run east from the north; others are refused.\n\n\
A hillshade is written as gdaldem does, as bytes from 1 to 255 with 0 as NODATA (.tif), as a picture (.png), or as numbers from 0 to 1 (.npy). \
Relief is colours with opacity, contour lines are lines; all other products are float32, NODATA in an array being NaN.\n\n\
Products are made of some rows after the other, so the DEM need not fit the memory; --contours holds all of it, but in tiles (terrain plan). \
NODATA is what GDAL takes for it, by the file or by .aux.xml beside it; no scale is applied.\n\n\
Exit status: 0 where all files were written, 2 where something was wrong, 130 where it was interrupted; \
then one line on standard error says what, and no unfinished file is left.";

/// Where products go.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Products")]
pub struct OutputArgs {
    /// How steep the ground is (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub slope: Option<PathBuf>,
    /// The direction in which the ground falls, in degrees (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub aspect: Option<PathBuf>,
    /// How bright the ground is (.tif, .npy, .png)
    #[arg(long, value_name = "PATH")]
    pub hillshade: Option<PathBuf>,
    /// How the ground bends along contour lines: above 0 in hollows, below 0 on spurs (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub plan_curvature: Option<PathBuf>,
    /// How the ground bends down its slope: above 0 where it is convex, below 0 where it is concave (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub profile_curvature: Option<PathBuf>,
    /// The Terrain Ruggedness Index: how much the neighbours' heights differ from the cell's (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub tri: Option<PathBuf>,
    /// The Topographic Position Index: the height minus the mean of the neighbours' heights (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub tpi: Option<PathBuf>,
    /// The roughness: the highest minus the lowest of the nine cells (.tif, .zarr, .npy)
    #[arg(long, value_name = "PATH")]
    pub roughness: Option<PathBuf>,
    /// Draw the relief: heights in colours under the light (.png, .tif)
    #[arg(long, value_name = "PATH")]
    pub relief: Option<PathBuf>,
    /// Draw heights in the colours of --colours, without light, as gdaldem color-relief -alpha does (.png, .tif)
    #[arg(long, value_name = "PATH")]
    pub color_relief: Option<PathBuf>,
    /// Write contour lines: GeoJSON (.geojson, .json), FlatGeobuf (.fgb) or GeoParquet (.parquet)
    #[arg(long, value_name = "PATH")]
    pub contours: Option<PathBuf>,
}

impl OutputArgs {
    /// Returns the products that the user wants, and their paths.
    pub fn wanted(&self) -> impl Iterator<Item = (Name, &PathBuf)> {
        Name::ALL.into_iter().filter_map(|name| Some((name, self.path(name)?)))
    }

    fn path(&self, name: Name) -> Option<&PathBuf> {
        match name {
            Name::Slope => self.slope.as_ref(),
            Name::Aspect => self.aspect.as_ref(),
            Name::Hillshade => self.hillshade.as_ref(),
            Name::PlanCurvature => self.plan_curvature.as_ref(),
            Name::ProfileCurvature => self.profile_curvature.as_ref(),
            Name::Tri => self.tri.as_ref(),
            Name::Tpi => self.tpi.as_ref(),
            Name::Roughness => self.roughness.as_ref(),
            Name::Relief => self.relief.as_ref(),
            Name::ColorRelief => self.color_relief.as_ref(),
            Name::Contours => self.contours.as_ref(),
        }
    }
}

/// The size of cells where the DEM does not state it.
#[derive(clap::Args, Clone, Debug)]
pub struct PlaceArgs {
    /// The side of a cell, for a DEM that does not say where it lies on the ground [default: 1]
    #[arg(long, value_name = "SIZE", value_parser = positive)]
    pub cell_size: Option<f64>,
}

/// The formats that are written some rows after the other.
const ROWS: [Format; 3] = [Format::GeoTiff, Format::Zarr, Format::Npy];

/// The formats of a hillshade.
const SHADES: [Format; 3] = [Format::GeoTiff, Format::Npy, Format::Png];

/// The format that a raster's name means.
pub fn format(name: Name, path: &Path) -> Result<Format> {
    let known = match name.kind() {
        Kind::Colours => &Products::PICTURES[..],
        _ if name == Name::Hillshade => &SHADES,
        _ => &ROWS,
    };
    Format::of(&name.option(), path, known)
}

/// Refuses a name whose ending means a format that the product does not have.
pub fn check_format(name: Name, path: &Path) -> Result<()> {
    match name.kind() {
        Kind::Lines => contours::format(path).map(drop),
        _ => format(name, path).map(drop),
    }
}

impl Args {
    /// Checks what clap cannot check, above all that the program can write its outputs.
    pub fn check(&self) -> Result<()> {
        for (name, path) in self.outputs.wanted() {
            check_format(name, path)?;
        }
        let names = self.names();
        self.method.check(&names)?;
        self.drawing.check(&names)?;
        let outputs = self.paths();
        let options = Name::ALL.map(Name::option).join(", ");
        ensure!(!outputs.is_empty(), "no product: give one of {options}");
        self.raster.check(self.paths())?;
        let outputs: Vec<&Path> = outputs.into_iter().map(PathBuf::as_path).collect();
        let inputs: Vec<PathBuf> =
            std::iter::once(&self.dem).chain(&self.drawing.colours).cloned().collect();
        geo_io::check_distinct(&inputs, &outputs)?;
        for path in outputs {
            geo_io::check_output(Output { path, existing: self.run.existing() })?;
        }
        Ok(())
    }

    /// Returns the products that the user wants.
    pub fn names(&self) -> Vec<Name> {
        self.outputs.wanted().map(|(name, _)| name).collect()
    }

    /// All files that the program writes.
    pub fn paths(&self) -> Vec<&PathBuf> {
        self.outputs.wanted().map(|(_, path)| path).collect()
    }

    /// Whether an output needs all heights at once.
    pub fn needs_all(&self) -> bool {
        self.outputs.contours.is_some()
    }

    /// Returns how many times the heights are read.
    pub fn passes(&self) -> usize {
        let of_each = if self.raster.cog { 3 } else { 1 };
        let of_range = usize::from(self.outputs.relief.is_some() || self.drawing.colours.is_some());
        self.paths().len() * of_each + of_range
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
    fn every_product_has_an_option_of_its_name() {
        for name in Name::ALL {
            let line = ["terrain", "a.tif", &name.option(), "x.tif"];
            let args = Args::try_parse_from(line).unwrap();
            let wanted: Vec<_> = args.outputs.wanted().map(|(name, _)| name).collect();
            assert_eq!(wanted, [name]);
        }
    }
}
