//! Rasters larger than memory, in tiles.
//!
//! `plan` writes a plan, which holds everything that decides the result. `run` makes its tiles, each a job that can be
//! done anywhere, in any order and again. `merge` puts the tiles together. Each program defines its tiles, and how to
//! read, make and write them ([`Recipe`]). This module has the parts that all programs share:
//!
//! - the plan's file, and the check that inputs did not change;
//! - the run of many tiles over the devices, within the memory of the plan;
//! - the rows of the whole;
//! - for programs on points, the bins in which each tile finds its points.

mod args;
mod bins;
mod headers;
mod inputs;
mod memory;
mod mosaic;
mod planned;
mod planning;
mod points;
mod queue;
mod run;
mod store;
mod sums;
mod surface;
mod system;

/// Files that a merge maps into memory. The others are read: Linux lets a process have 65,530 mappings.
pub const MAX_MAPPED: usize = 60_000;

pub use args::{BinArgs, BudgetArgs, MergeArgs, PointCommand, RunTileArgs};
pub use bins::bin;
pub use headers::{Headers, joined};
pub use inputs::{name, require_unchanged, stamp};
pub use memory::{FIXED, Needs};
pub use mosaic::{Mosaic, TileRows, require_all};
pub use planned::{Planned, Recipe, folder_name};
pub use planning::{Planning, report_surface};
pub use points::{
    PointRecipe, Selection, bounds_of, read_parts, read_points, report_bins_size, report_reading,
    report_tiles,
};
pub use run::run;
pub use store::{StoreArgs, part};
pub use sums::require_whole;
pub use surface::{SurfaceRecipe, merge_surface};
pub use system::System;
