//! The command line, and the checks before any work starts.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use programs::args::{RunArgs, bytes};

use crate::ask::AskArgs;
use crate::scale::Command;
use crate::tree::{TreeArgs, require_tree_name};

/// Sort points into a quadtree, save it, draw its leaves, and ask it for points.
#[derive(Parser, Debug)]
#[command(name = "point_quadtree", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub tree: Args,
}

/// A tree that is built at once.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    pub tree: TreeArgs,
    /// Save the tree
    #[arg(short, long, value_name = "TREE.qtree", help_heading = None)]
    pub output: Option<PathBuf>,
    #[command(flatten, next_help_heading = None)]
    pub ask: AskArgs,
    /// Use at most this much device memory, such as 512MiB: points pass through it in chunks
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory_budget: Option<u64>,
    #[command(flatten)]
    pub run: RunArgs,
}

const AFTER_HELP: &str = "\
Exit status: 0 where all was done, 2 where something was wrong, 130 where it was interrupted; then one line \
on standard error says what, and no unfinished file is left.";

impl Args {
    /// Checks what clap cannot check, above all that the program can write its outputs. `inputs` are all files that the
    /// program reads.
    pub fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        self.tree.check()?;
        self.output.as_deref().map_or(Ok(()), require_tree_name)?;
        let outputs: Vec<&PathBuf> = self.outputs().collect();
        self.ask.check(inputs, &outputs, self.run.existing())
    }

    /// All files to write.
    pub fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(self.ask.outputs())
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
