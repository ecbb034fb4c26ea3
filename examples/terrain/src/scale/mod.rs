//! Products of a DEM larger than memory, in tiles.
//!
//! A product depends on a cell and its eight neighbours. So a tile reads its own cells and one more on each side, and
//! gets the same bits as the whole. `merge` joins the contour lines of tiles. `programs::scale` has what all programs
//! share.

mod args;
mod merge;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use programs::scale;

pub use args::{Command, CommandLine};

use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Plan(args) => plan::plan(args),
        Command::Run(args) => scale::run::<Recipe>(args),
        Command::Merge(args) => merge::merge(args),
    }
}
