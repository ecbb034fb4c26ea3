//! Distances of a raster larger than memory, in tiles.
//!
//! With a largest distance a pixel's nearest site lies within that distance, or the pixel has none. So the halo of a
//! tile is a margin of that width around its window of the mask. Sites keep their order in a window, so ties are
//! settled as in the whole, and the tile counts distances as the whole does.
//!
//! Without a largest distance any pixel may be the nearest site of any other. Then a tile is a strip of columns, and a
//! first pass over the mask (`scan`) finds the sites beyond the strip.
//!
//! `programs::scale` has what all programs share.

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
