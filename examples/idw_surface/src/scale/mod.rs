//! A surface larger than memory, in tiles.
//!
//! Within a radius a cell's value follows from the points of a tile's ground and a halo as wide as the radius. Of the
//! nearest points alone no width is enough everywhere: a tile looks whether it has them all for each of its cells, and
//! reads on around those that lack some. Sums are relative to a value in the range of all points, which the plan holds.
//! What is not this program's own is in `programs::scale`.

mod args;
mod merge;
mod needs;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use geo_io::{Georeference, RasterFile};
use programs::scale;
use tile_plan::Tile;

pub use args::Command;

use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Plan(args) => plan::plan(args),
        Command::Bin(args) => scale::bin::<Recipe>(args),
        Command::Run(args) => scale::run::<Recipe>(args),
        Command::Merge(args) => merge::merge(args),
    }
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
