//! An index larger than memory, in tiles.
//!
//! A tile is a square of 2^n cells, whose tree follows from its own cells: no halo. The trees of all tiles are a
//! forest, and its merged tree is that of the whole ([`ccq_tree::Forest`]). `programs::scale` has the parts that all
//! programs share.

mod args;
mod merge;
mod needs;
mod plan;
mod recipe;
mod tile;

use programs::scale;
use tile_plan::Plan;

pub use args::{MergeArgs, PlanArgs};
pub use merge::merge;
pub use plan::plan;
pub use recipe::Recipe;

/// A plan of this program's.
type Planned = scale::Planned<Recipe>;

/// Cells on a side of a tile that no edge cuts off.
fn side_of(plan: &Plan) -> u32 {
    let first = &plan.tiles()[0];
    first.width.max(first.height).next_power_of_two()
}
