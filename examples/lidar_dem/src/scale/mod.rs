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
use programs::scale::{self, merge_surface};

use crate::args::Command;
use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles.
pub fn run(command: &Command) -> Result<()> {
    command.run::<Recipe>(plan::plan, merge_surface::<Recipe>)
}
