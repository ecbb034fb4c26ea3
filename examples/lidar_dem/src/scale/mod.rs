//! A DEM larger than memory, in tiles.
//!
//! `plan` reads headers and writes a plan, which holds everything that decides the result. `run` makes a tile of the
//! plan: a job that can be done anywhere, in any order and again. Before that, `bin` may read the points once for all
//! tiles. `merge` puts the tiles together. A tile's cells are made as with `--bounds`, from the points within reach,
//! with a margin that `run` cuts off. `programs::scale` has what all programs share.

mod needs;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use programs::scale::{self, merge_surface};

use crate::args::Command;
use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles.
pub fn run(command: &Command) -> Result<()> {
    command.run::<Recipe>(plan::plan, merge_surface::<Recipe>)
}
