//! The command line of the commands.

use std::path::PathBuf;

use clap::Subcommand;
use programs::args::RunArgs;
use programs::scale::{BinArgs, BudgetArgs, RunTileArgs};

use crate::ask::AskSavedArgs;
use crate::tree::TreeArgs;

/// What is done with a tree that was saved, or that is built in tiles.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Ask a tree that was saved: count and find points, draw its leaves
    Ask(Box<AskSavedArgs>),
    /// Divide a tree into tiles that fit the memory, each a job of its own
    Plan(Box<PlanArgs>),
    /// Read the points of a plan once and put them on disk in bins, of which tiles are made
    Bin(BinArgs),
    /// Make one tile of a plan, or all that are not there yet
    Run(RunTileArgs),
    /// Put the tiles of a plan together
    Merge(MergeArgs),
}

#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    pub tree: TreeArgs,
    /// The plan; its bins and tiles go into folders beside it
    #[arg(short, long, value_name = "PATH", default_value = "plan.json")]
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

impl AsRef<RunArgs> for Command {
    fn as_ref(&self) -> &RunArgs {
        match self {
            Self::Ask(args) => &args.run,
            Self::Plan(args) => &args.run,
            Self::Bin(args) => &args.run,
            Self::Run(args) => &args.run,
            Self::Merge(args) => &args.run,
        }
    }
}
