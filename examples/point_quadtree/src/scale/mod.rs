//! A tree larger than memory, in tiles.
//!
//! A tile is one or two cells of the tree, whose points are the tile's alone: no halo. Only a pass over the inputs
//! tells which points these are and what numbers they have, so tiles read the plan's bins. The trees of all cells are
//! then the tree of all points ([`quadtree_sort::join`]). `programs::scale` has the parts that all programs share.

mod args;
mod cells;
mod merge;
mod needs;
mod plan;
mod recipe;
mod tile;

use anyhow::Result;
use programs::scale;

pub use args::Command;

use crate::ask;
use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Runs a command on tiles, or on a tree that was saved.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Ask(args) => ask::ask(args),
        Command::Tiles(command) => command.run::<Recipe>(plan::plan, merge::merge),
    }
}
