//! Rasters larger than memory, in tiles.
//!
//! `plan` writes a value that holds all that decides the result, `run` makes its tiles, each a job that can be done
//! anywhere, in any order and again, and `merge` puts them together. What a tile is, and how it is read, made and
//! written, is the program's ([`Recipe`]). What is here is the same for all: the plan's file, the inputs as they were,
//! the run of many tiles over the devices within the memory of the plan, and the rows of the whole.

mod args;
mod inputs;
mod memory;
mod mosaic;
mod planned;
mod queue;
mod run;
mod system;

pub use args::{BudgetArgs, RunTileArgs};
pub use inputs::{name, require_unchanged, stamp};
pub use memory::{FIXED, Needs};
pub use mosaic::{Mosaic, TileRows, require_all};
pub use planned::{Planned, Recipe, folder_name};
pub use run::{is_whole, run};
pub use system::System;
