//! The command line of the commands on tiles.

use std::path::PathBuf;

use clap::Subcommand;
use programs::args::{PointArgs, RasterArgs, RunArgs};
use programs::scale::{BinArgs, BudgetArgs, RunTileArgs};

use crate::surface::SurfaceArgs;

/// What is done with a surface that is made in tiles.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Divide a surface into tiles that fit the memory, each a job of its own
    Plan(Box<PlanArgs>),
    /// Read the points of a plan once and put them on disk in bins, so that no tile unpacks the inputs again
    Bin(BinArgs),
    /// Make one tile of a plan, or all that are not there yet
    Run(RunTileArgs),
    /// Put the tiles of a plan together
    Merge(MergeArgs),
}

#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    pub points: PointArgs,
    /// The plan; its tiles go into a folder beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json", help_heading = None)]
    pub output: PathBuf,
    #[command(flatten)]
    pub surface: SurfaceArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(clap::Args, Debug)]
pub struct MergeArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The surface, a GeoTIFF (.tif, .tiff)
    #[arg(short, long, value_name = "PATH", default_value = "surface.tif")]
    pub output: PathBuf,
    #[command(flatten)]
    pub raster: RasterArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

impl AsRef<RunArgs> for Command {
    fn as_ref(&self) -> &RunArgs {
        match self {
            Self::Plan(args) => &args.run,
            Self::Bin(args) => &args.run,
            Self::Run(args) => &args.run,
            Self::Merge(args) => &args.run,
        }
    }
}
