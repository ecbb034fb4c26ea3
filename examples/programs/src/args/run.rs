//! Options of every program.

use clap::{ArgAction, Args};
use clap_complete::Shell;
use geo_io::Existing;
use gpu_core::DeviceChoice;

use crate::args::threads;

/// Options of every program.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Options of every program")]
pub struct RunArgs {
    /// Replace output files that exist
    #[arg(long)]
    pub overwrite: bool,
    /// auto, cpu, software or cuda:N; to make tiles of a plan also cuda:all
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
    /// Number of CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the report as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
    // `program::run` looks for these two itself, before what else the command line must have.
    /// Print a completion script (bash, elvish, fish, powershell or zsh) and exit
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
    /// Print the manual page (roff) and exit
    #[arg(long, action = ArgAction::SetTrue, exclusive = true)]
    man: bool,
}

impl RunArgs {
    /// What happens to output files that exist.
    pub fn existing(&self) -> Existing {
        if self.overwrite { Existing::Replace } else { Existing::Refuse }
    }

    /// The same for files that a program writes unasked: such a file may exist from an earlier run, if its content is
    /// the same.
    pub fn existing_example(&self) -> Existing {
        if self.overwrite { Existing::Replace } else { Existing::KeepSame }
    }
}
