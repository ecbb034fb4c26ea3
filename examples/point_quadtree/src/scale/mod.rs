//! A tree larger than memory, in tiles.
//!
//! A tile is one or two cells of the tree, whose points are the tile's alone: no halo. Which points these are, and
//! which number each has among all, only a pass over the inputs tells, so tiles are made of the plan's bins. The trees
//! of all cells are then the tree of all points ([`quadtree_sort::join`]). What is not this program's own is in
//! `programs::scale`.

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
