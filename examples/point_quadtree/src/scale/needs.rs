//! What a tile takes of the host's memory and of a card's.
//!
//! A value that points carry takes 8 bytes where it is read, twice as much while the tree is built, and 8 in a tree
//! that is written.
//!
//! Nodes are few beside points, but for low thresholds: about two of 32 bytes for each threshold of points.

use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

/// A point that is read and waits: its columns, its number, and what its place in the bins is sorted by.
const READ: u64 = 64;

/// A point while its tree is built, by what it takes of a tree with this threshold: its columns and number, codes and
/// their copies, the tree.
fn made(threshold: u32) -> u64 {
    100 + 160 / u64::from(threshold)
}

/// A point of a tree that is written.
fn written(threshold: u32) -> u64 {
    28 + 64 / u64::from(threshold)
}

/// A tile at each of its steps, of points with so many values.
pub fn needs(tile: &Tile, (threshold, values): (u32, u64)) -> Needs {
    let points = |each: u64, times: u64| tile.points.saturating_mul(each + 8 * times * values);
    Needs {
        read: points(READ, 1),
        make: points(made(threshold), 2),
        write: points(written(threshold), 1),
    }
}

/// A tile that is made while one like it is read and another is written.
pub fn model((threshold, values): (u32, u64)) -> Model {
    let per_point = READ + made(threshold) + written(threshold) + 32 * values;
    Model { fixed: FIXED, per_point, per_cell: 0 }
}

/// The memory of a tile on a card, where a build takes memory for six nodes for every `threshold` points.
pub fn on_device(threshold: u32) -> Model {
    Model { fixed: 32 << 20, per_point: 80 + 224 / u64::from(threshold), per_cell: 0 }
}
