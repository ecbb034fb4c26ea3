//! The command line of each command.

use std::path::PathBuf;

use clap::Subcommand;
use programs::args::RunArgs;
use programs::scale::{BudgetArgs, PointCommand};

use crate::ask::AskSavedArgs;
use crate::tree::TreeArgs;

/// What is done with a tree that was saved, or that is built in tiles.
#[derive(Subcommand, Debug)]
#[command(mut_subcommands(|command| match command.get_name() {
    "bin" => command.about("Read the points of a plan once and put them on disk in bins, of which tiles are made"),
    _ => command,
}))]
pub enum Command {
    /// Ask a tree that was saved: count and find points, draw its leaves
    Ask(Box<AskSavedArgs>),
    #[command(flatten)]
    Tiles(PointCommand<PlanArgs, MergeArgs>),
}

/// Divide a tree into tiles that fit the memory, each a job of its own
#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    pub tree: TreeArgs,
    /// The plan; its bins and tiles go into folders beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json", help_heading = None)]
    pub output: PathBuf,
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
    /// The tree
    #[arg(short, long, value_name = "TREE.qtree", default_value = "tree.qtree")]
    pub output: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}
