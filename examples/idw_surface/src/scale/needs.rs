//! What a tile takes of the host's memory and of a card's.

use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

use crate::scale::recipe::Reads;

/// A point that is read and waits.
const READ: u64 = 60;

/// A point while a tile is made: its columns, and those sorted by cells.
const MADE: u64 = 120;

/// A cell that is written.
const WRITTEN: u64 = 8;

/// A cell while a tile is made: its place and its value; and of a search for the nearest alone what was found of it.
const fn cell(reads: Reads) -> u64 {
    match reads {
        Reads::Nearest => 150,
        Reads::Halo | Reads::All => 40,
    }
}

/// A tile at each of its steps.
pub fn needs(tile: &Tile, reads: Reads) -> Needs {
    let own = u64::from(tile.width) * u64::from(tile.height);
    Needs {
        read: tile.points.saturating_mul(READ),
        make: tile.points.saturating_mul(MADE).saturating_add(own * cell(reads)),
        write: own * WRITTEN,
    }
}

/// A tile that is made while one like it is read and another is written. Its halo's cells are counted, and not made.
pub fn model(reads: Reads) -> Model {
    Model { fixed: FIXED, per_point: MADE + READ, per_cell: cell(reads) + WRITTEN }
}

/// A tile on a card: points and their copies by cells; places, values and statistics of cells.
pub fn on_device() -> Model {
    Model { fixed: 32 << 20, per_point: 160, per_cell: 80 }
}
