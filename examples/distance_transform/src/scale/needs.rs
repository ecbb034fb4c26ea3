//! What a tile takes of the host's memory and of a card's.

use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

/// What decides how much a pixel takes.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Bytes of a value of the mask.
    pub value_bytes: u64,
    /// Bytes that reading the mask takes beside its values.
    pub unpacking_bytes: u64,
    /// Bytes of an index of a nearest site; 0 if the run writes no indices.
    pub index_bytes: u64,
    /// Whether pixels are square.
    pub is_square: bool,
    /// Whether tiles are strips of columns, which know the sites beyond them.
    pub is_strip: bool,
    /// Whether distances are those on the globe.
    pub is_globe: bool,
}

impl Kind {
    /// Returns the bytes of a pixel of the window while it is read: the site, its value in the file, and the converted
    /// value.
    pub fn read(self) -> u64 {
        1 + 2 * self.value_bytes + self.beyond()
    }

    /// What is known of the row beyond the strip, two columns of 4 bytes for 16 pixels at least.
    fn beyond(self) -> u64 {
        u64::from(self.is_strip)
    }

    /// A pixel of the window while it is transformed.
    fn made(self) -> u64 {
        // The CPU's envelopes are as tall as the raster.
        let envelopes = if self.is_strip { 12 } else { 0 };
        20 + envelopes + self.beyond() + 2 * self.index_bytes
    }

    /// A pixel of the tile while it is written.
    fn written(self) -> u64 {
        8 + self.index_bytes
    }

    /// A tile at each of its steps.
    pub fn needs(self, tile: &Tile) -> Needs {
        Needs {
            read: tile.cells.saturating_mul(self.read()).saturating_add(self.unpacking_bytes),
            make: tile.cells.saturating_mul(self.made().max(self.read())),
            write: u64::from(tile.width) * u64::from(tile.height) * self.written(),
        }
    }

    /// A tile that is made while one like it is read and another is written.
    pub fn model(self) -> Model {
        let per_cell = self.read() + self.made().max(self.read()) + self.written();
        let fixed = FIXED.saturating_add(self.unpacking_bytes);
        Model { fixed, per_point: 0, per_cell }
    }

    /// A tile on a card: 7.3 bytes a pixel were measured, and 17.4 where pixels are not square, and in strips, whose
    /// candidates are wide. The rest is for memory that the card's pool keeps. On the globe, a pixel takes 16 bytes for
    /// candidates and winners, and further bytes for the mask, an index and a distance.
    pub fn on_device(self) -> Model {
        let per_cell = match (self.is_globe, self.is_square && !self.is_strip) {
            (true, _) => 40,
            (false, true) => 10,
            (false, false) => 24,
        };
        Model { fixed: 32 << 20, per_point: 0, per_cell }
    }
}
