//! What a tile takes of the host's memory and of a card's.
//!
//! The host's figures are about twice what was measured (docs/notes/scale.md), since points are not spread evenly. A
//! card's figures are a quarter above the measured ones, and 32 to 56 MiB more for memory that its pool keeps.

use nni_grid::Method;
use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

/// What decides how much a point and a cell take.
#[derive(Clone, Copy)]
pub struct Kind {
    /// How the surface is made.
    pub method: Method,
    /// Pixels along the side of a cell, on pixels.
    pub supersample: u32,
    /// Rasters of the result.
    pub bands: u64,
    /// Values of a point beside its height.
    pub further: u64,
}

/// A cell of a band that is written.
const WRITTEN: u64 = 8;

/// A further value of a point while a tile is made, and while it waits.
const VALUE: (u64, u64) = (48, 16);

/// A cell of a further band while it is made.
const FURTHER: u64 = 12;

impl Kind {
    /// Returns the bytes of a point and of a cell, halo included, while a tile is made. The points are joined and
    /// sorted, and by the exact method have stars. The cells are the DEM with its margin, and by the
    /// pixel method the rasters of nearest sites in two orders.
    fn made(self) -> (u64, u64) {
        let (values, further) = (VALUE.0 * self.further, FURTHER * (self.bands - 1));
        match self.method {
            Method::Exact => (250 + values, 24 + further),
            Method::Pixels => (80 + values, 16 + 28 * u64::from(self.supersample).pow(2) + further),
        }
    }

    /// Returns the bytes of a point that waits after it was read. By the exact method the reader also sorts the points,
    /// to find which points cells depend on.
    fn read(self) -> u64 {
        let values = VALUE.1 * self.further;
        match self.method {
            Method::Exact => 130 + values,
            Method::Pixels => 60 + values,
        }
    }

    /// A tile at each of its steps.
    pub fn needs(self, tile: &Tile) -> Needs {
        let (point, cell) = self.made();
        let made = tile.points.saturating_mul(point);
        Needs {
            read: tile.points.saturating_mul(self.read()),
            make: made.saturating_add(tile.cells.saturating_mul(cell)),
            write: u64::from(tile.width) * u64::from(tile.height) * WRITTEN * self.bands,
        }
    }

    /// A tile that is made while one like it is read and another is written.
    pub fn model(self) -> Model {
        let (point, cell) = self.made();
        Model {
            fixed: FIXED,
            per_point: point + self.read(),
            per_cell: cell + WRITTEN * self.bands,
        }
    }

    /// Returns the memory of a tile on a card. With the exact method most of it holds stars, and before them what a
    /// triangulation takes while it runs. On pixels it holds the rasters of nearest sites.
    pub fn on_device(self) -> Model {
        let pixels = u64::from(self.supersample).pow(2);
        match self.method {
            Method::Exact => Model {
                fixed: 128 << 20,
                per_point: 400 + 16 * self.further,
                per_cell: 12 + 4 * self.bands,
            },
            Method::Pixels => Model {
                fixed: 32 << 20,
                per_point: 32 + 16 * self.further,
                per_cell: 4 + 4 * self.bands + 32 * pixels,
            },
        }
    }
}
