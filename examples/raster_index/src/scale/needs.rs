//! What a tile takes of the host's memory and of a card's: at worst, where all values differ.

use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

/// Bytes of a value in its file, of a cell, and of a node of a tree over such cells with its flags.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    stored: u64,
    value: u64,
    /// What the tree is built of, a cell: a value, or its code.
    built: u64,
    /// Bytes a cell that codes take while they are made and in the tree.
    coding: u64,
    codes: u64,
    node: u64,
    /// What reading takes beside the values.
    unpacking: u64,
}

impl Sizes {
    /// Returns the sizes for cells of `stored` bytes, made from values of `value` bytes. A node has two cells and a
    /// link. Reading takes `unpacking` bytes beside the values.
    pub fn of(value: u64, stored: u64, unpacking: u64) -> Self {
        let stored = stored.max(value);
        let of_values =
            Self { stored, value, built: value, coding: 0, codes: 0, node: 0, unpacking };
        of_values.of_nodes(value)
    }

    /// Of nodes over values or codes of so many bytes.
    fn of_nodes(self, built: u64) -> Self {
        Self { built, node: (2 * built).next_multiple_of(4) + 4 + 1, ..self }
    }

    /// Takes the tree for one of the numbers of bins.
    pub fn of_bins(self) -> Self {
        Self { coding: 2, ..self }.of_nodes(2)
    }

    /// Takes the tree for one of codes for values, which are found by sorting these.
    pub fn of_values(self) -> Self {
        Self { coding: 4 + 16, codes: 8, ..self }.of_nodes(4)
    }

    /// A cell of a tile that is read, as it comes and as it is kept.
    fn read(self) -> u64 {
        2 * self.stored
    }

    /// A cell of a tree, with its part of the nodes above it.
    fn tree(self) -> u64 {
        (4 * self.node).div_ceil(3) + self.codes
    }

    /// A cell while its tree is built.
    fn make(self) -> u64 {
        self.value + self.coding + self.tree() + 1
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
        let per_cell = self.built + (4 * self.node).div_ceil(3) + 2;
        Model { fixed: 64 << 20, per_point: 0, per_cell }
    }
}
