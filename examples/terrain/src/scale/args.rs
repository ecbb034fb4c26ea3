//! The command line of the commands on tiles.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use programs::args::{RasterArgs, RunArgs};
use programs::catalogues::CatalogueArgs;
use programs::scale::{BudgetArgs, RunTileArgs, StoreArgs};

use crate::args::{AFTER_HELP, Args, OutputArgs, PlaceArgs};
use crate::choices::{MethodArgs, Name};
use crate::drawing::DrawingArgs;

/// Compute slope, aspect, hillshade, curvature, ruggedness and contour lines of a DEM.
#[derive(Parser, Debug)]
#[command(
    name = "terrain",
    version,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub once: Option<Args>,
}

/// The steps that make products in tiles.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Divide a DEM into tiles that fit the memory, each a job of its own
    Plan(Box<PlanArgs>),
    /// Make one tile of a plan, or all tiles that are still missing
    Run(RunTileArgs),
    /// Merge the tiles of a plan
    Merge(Box<MergeArgs>),
}

#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    /// The DEM (.tif, .vrt, .asc, .zarr, .npy), row 0 in the north, or a catalogue that lists this DEM alone (STAC
    /// .json, tile index)
    #[arg(value_name = "DEM")]
    pub dem: PathBuf,
    #[command(flatten)]
    pub catalogues: CatalogueArgs,
    /// The products that tiles have, with commas between
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        required = true,
        hide_possible_values = false
    )]
    pub product: Vec<Name>,
    /// The plan; its tiles go into a folder beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json")]
    pub output: PathBuf,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub drawing: DrawingArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

// The products are those of the plan, or some of them.
#[derive(clap::Args, Debug)]
pub struct MergeArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    #[command(flatten)]
    pub outputs: OutputArgs,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
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
