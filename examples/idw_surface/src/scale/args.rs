//! The command line of the commands on tiles.

use std::path::PathBuf;

use programs::args::{PointArgs, RunArgs};
use programs::scale::{BudgetArgs, MergeArgs, PointCommand};

use crate::surface::SurfaceArgs;

/// The steps that make a surface in tiles.
pub type Command = PointCommand<PlanArgs, MergeArgs>;

/// Divide a surface into tiles that fit the memory, each a job of its own
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
