//! What a tile takes of the host's memory and of a card's: at worst, where all values differ.

use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

/// Bytes of a value in its file, of a cell, and of a node of a tree over such cells with its flags.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    stored: u64,
    value: u64,
    node: u64,
    /// What reading takes beside the values.
    unpacking: u64,
}

impl Sizes {
    /// Of cells of so many bytes, read from values of some: a node has two cells, and a link. Reading takes some bytes beside
    /// the values.
    pub fn of(value: u64, stored: u64, unpacking: u64) -> Self {
        let node = (2 * value).next_multiple_of(4) + 4 + 1;
        Self { stored: stored.max(value), value, node, unpacking }
    }

    /// A cell of a tile that is read, as it comes and as it is kept.
    fn read(self) -> u64 {
        2 * self.stored
    }

    /// A cell of a tree, with its part of the nodes above it.
    fn tree(self) -> u64 {
        (4 * self.node).div_ceil(3)
    }

    /// A cell while its tree is built.
    fn make(self) -> u64 {
        self.value + self.tree() + 1
    }

    /// A tile at each of its steps.
    pub fn needs(self, tile: &Tile) -> Needs {
        let cells = |each: u64| tile.cells.saturating_mul(each);
        let read = cells(self.read()).saturating_add(self.unpacking);
        Needs { read, make: cells(self.make()), write: cells(self.tree()) }
    }

    /// A tile that is made while one like it is read and another is written.
    pub fn model(self) -> Model {
        let per_cell = self.read() + self.make() + self.tree();
        Model { fixed: FIXED.saturating_add(self.unpacking), per_point: 0, per_cell }
    }

    /// A tile on a card.
    pub fn on_device(self) -> Model {
        Model { fixed: 64 << 20, per_point: 0, per_cell: self.make() + 1 }
    }
}
