//! A DEM larger than memory, in tiles.
//!
//! `plan` reads headers and writes a plan, a value that holds all that decides the result. `run` makes a tile of it,
//! a job that can be done anywhere, in any order and again; before that `bin` may read the points once for all tiles; `merge` puts the tiles together. A tile's cells are made
//! as those of `--bounds` are, with the points within reach and a margin that is cut off. What is not the DEM's own is
//! in `programs::scale`.

mod merge;
mod needs;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use geo_io::{Georeference, RasterFile};
use programs::scale::{self, BinArgs, RunTileArgs};
use tile_plan::Tile;

pub use merge::merge;
pub use plan::plan;

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

/// Where a tile lies.
fn place_of(planned: &Planned, tile: &Tile) -> Result<Georeference> {
    let crs = planned.recipe.crs()?;
    Ok(Georeference::of_grid(&planned.plan.grid_of(tile), crs.as_ref()))
}

/// Opens the file of a tile, whose size and place must be the tile's.
fn open(planned: &Planned, number: usize) -> Result<RasterFile> {
    planned.open(number, &place_of(planned, planned.tile(number)?)?)
}
