//! Distances of a raster larger than memory, in tiles.
//!
//! With a largest distance a pixel's nearest site lies within it, or it has none: so a tile is the window of the mask
//! that is as much wider on each side. Sites keep their order in a window, by which ties are settled, and distances are
//! counted as in the whole. Without one any pixel may be the nearest site of any other: a tile is a strip of columns, and
//! what lies beyond it is known from a first pass over the mask (`scan`). What is not the transform's own is in
//! `programs::scale`.

mod args;
mod mask;
mod merge;
mod needs;
mod plan;
mod recipe;
mod scan;
mod tile;

use anyhow::Result;
use gpu_core::GridSpec;
use programs::scale;

pub use args::{Command, CommandLine};

use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Plan(args) => plan::plan(args),
        Command::Scan(args) => scan::scan(args),
        Command::Run(args) => scale::run::<Recipe>(args),
        Command::Merge(args) => merge::merge(args),
    }
}

/// Whether indices of a raster's pixels, and one more number, fit 32 bits: then they are written so.
fn is_short(grid: &GridSpec) -> bool {
    grid.cells() <= pba_voronoi::MAX_PIXELS
}
