//! A DEM larger than memory, in tiles.
//!
//! `plan` reads headers and writes a plan, a value that holds all that decides the result. `run` makes a tile of it,
//! a job that can be done anywhere, in any order and again; before that `bin` may read the points once for all tiles; `merge` puts the tiles together. A tile's cells are made
//! as those of `--bounds` are, with the points within reach and a margin that is cut off. What is not the DEM's own is
//! in `programs::scale`.

mod needs;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use programs::scale::{self, BinArgs, MergeSurface, RunTileArgs};

pub use plan::plan;

use crate::args::MergeArgs;
use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Makes one tile, or all that are not there.
pub fn run(args: &RunTileArgs) -> Result<()> {
    scale::run::<Recipe>(args)
}

/// Puts the points of a plan into bins.
pub fn bin(args: &BinArgs) -> Result<()> {
    scale::bin::<Recipe>(args)
}

/// Puts the tiles of a plan together.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let MergeArgs { plan, output, raster, run } = args;
    scale::merge_surface::<Recipe>(&MergeSurface { plan, output, raster, run })
}
