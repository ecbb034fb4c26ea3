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
    /// auto, cpu, software or cuda:N; where tiles of a plan are made also cuda:all
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
    /// Threads of the CPU to work on [default: all]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the report as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
    // `program::run` looks for these two itself, before what else the command line must have.
    /// Print a completion script (bash, elvish, fish, powershell or zsh) and end
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
    /// Print the manual page (roff) and end
    #[arg(long, action = ArgAction::SetTrue, exclusive = true)]
    man: bool,
}

impl RunArgs {
    /// What becomes of output files that exist.
    pub fn existing(&self) -> Existing {
        if self.overwrite { Existing::Replace } else { Existing::Refuse }
    }

    /// The same for what a program makes up by itself, where nothing is given: that may be there already,
    /// from the last time, if it is the same.
    pub fn existing_example(&self) -> Existing {
        if self.overwrite { Existing::Replace } else { Existing::KeepSame }
    }
}
