//! A surface larger than memory, in tiles.
//!
//! With a search radius a cell's value follows from the points of a tile's ground and a halo as wide as the radius.
//! With the nearest points alone no halo is wide enough everywhere. So a tile checks that each of its cells has all its
//! points, and reads more around the cells that lack some. Prediction errors take two searches, of a cell's points and
//! of their neighbours; each has half of the width. Sums are relative to a value in the range of all points, which the
//! plan holds. `programs::scale` has what all programs share.

mod args;
mod needs;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use programs::scale::{self, merge_surface};

pub use args::Command;

use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles.
pub fn run(command: &Command) -> Result<()> {
    command.run::<Recipe>(plan::plan, merge_surface::<Recipe>)
}
