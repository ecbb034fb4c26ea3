//! A surface larger than memory, in tiles.
//!
//! Within a radius a cell's value follows from the points of a tile's ground and a halo as wide as the radius. Of the
//! nearest points alone no width is enough everywhere: a tile looks whether it has them all for each of its cells, and
//! reads on around those that lack some. Where a cell rests on two searches, of its points and of their neighbours, each has half
//! of the width. Sums are relative to a value in the range of all points, which the plan holds.
//! What is not this program's own is in `programs::scale`.

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
