//! What a tile takes of the host's memory and of a card's.

use idw::MAX_POINTS;
use programs::scale::{FIXED, Needs};
use tile_plan::{Model, Tile};

/// Where the points that count for a tile lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Within a halo.
    Halo,
    /// Wherever the nearest are.
    Nearest,
    /// Anywhere: every tile is made of all points.
    All,
    /// Anywhere, so many at a time: what they make of a tile is added up.
    Parts(u64),
}

/// A point that is read and waits.
const READ: u64 = 60;

/// A point while a tile is made: its columns, and those sorted by cells.
const MADE: u64 = 120;

/// A point of a part while that is added: as above, and what is read of an input beside it.
const OF_PART: u64 = MADE + 30;

/// A cell that is written.
const WRITTEN: u64 = 8;

/// What tells tiles apart that take different memory.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Where their points lie.
    pub reads: Reads,
    /// Whether cells are kriged.
    pub is_kriging: bool,
    /// Bands that are written.
    pub bands: u64,
}

/// A cell while a tile is made: its place and its value; and of a search for the nearest alone what was found of it.
fn cell(kind: Kind) -> u64 {
    let more = match (kind.is_kriging, kind.bands) {
        // Value and variance in f64, where they lie and as they come.
        (true, bands) => 60 + 8 * bands,
        // All statistics, on their way.
        (false, 2) => 60,
        (false, _) => 0,
    };
    more + of_reads(kind.reads)
}

const fn of_reads(reads: Reads) -> u64 {
    match reads {
        Reads::Nearest => 150,
        Reads::Halo | Reads::All => 40,
        // What the parts have added up to, and the last one's values and weights.
        Reads::Parts(_) => 90,
    }
}

/// A tile on a card: what it takes whatever its points, a point, and a cell.
const CARD: Model = Model { fixed: 32 << 20, per_point: 160, per_cell: 80 };

/// More of a cell where points come in parts: how much each weighs.
const CARD_WEIGHTS: u64 = 40;

/// The neighbours of many cells, which kriging has at a time, on the host and on a card.
const NEIGHBOURS: u64 = 160 << 20;

/// The memory of a tile at each of its steps.
pub fn needs(tile: &Tile, kind: Kind) -> Needs {
    let own = u64::from(tile.width) * u64::from(tile.height);
    let write = own * WRITTEN * kind.bands;
    if let Reads::Parts(points) = kind.reads {
        // They are read while the tile is made.
        let make = points.saturating_mul(OF_PART).saturating_add(own * cell(kind));
        return Needs { read: 0, make, write };
    }
    Needs {
        read: tile.points.saturating_mul(READ),
        make: tile.points.saturating_mul(MADE).saturating_add(own * cell(kind)) + fixed(kind),
        write,
    }
}

/// What a tile takes whatever its size.
fn fixed(kind: Kind) -> u64 {
    if kind.is_kriging { NEIGHBOURS } else { 0 }
}

/// A tile that is made while one like it is read and another is written.
pub fn model(kind: Kind) -> Model {
    let per_cell = cell(kind) + WRITTEN * kind.bands;
    match kind.reads {
        Reads::Parts(points) => {
            Model { fixed: FIXED + points.saturating_mul(OF_PART), per_point: 0, per_cell }
        }
        _ => Model { fixed: FIXED + fixed(kind), per_point: MADE + READ, per_cell },
    }
}

/// A tile on a card: points and their copies by cells; places, values and statistics of cells.
pub fn on_device(kind: Kind) -> Model {
    match kind.reads {
        Reads::Parts(points) => Model {
            fixed: CARD.fixed + points.saturating_mul(CARD.per_point),
            per_point: 0,
            per_cell: CARD.per_cell + CARD_WEIGHTS,
        },
        _ => Model { fixed: CARD.fixed + fixed(kind), ..CARD },
    }
}

/// The fewest points of a part, however little memory there is.
const LEAST: u64 = 4096;

/// Returns how many points a part has, for tiles of at most `cells` cells within the memory of the host and of a
/// card. Cells take half of the memory at most, and points the rest. With fewer tiles, all points are read fewer
/// times.
pub fn points_of_part(cells: u64, memory: u64, card: Option<u64>) -> u64 {
    let fit = |memory: u64, Model { fixed, per_cell, .. }: Model, per_point: u64| {
        let free = memory.saturating_sub(fixed);
        (free - cells.saturating_mul(per_cell).min(free / 2)) / per_point
    };
    let none = Kind { reads: Reads::Parts(0), is_kriging: false, bands: 1 };
    let on_host = fit(memory, model(none), OF_PART);
    let on_card = card.map_or(u64::MAX, |card| fit(card, on_device(none), CARD.per_point));
    on_host.min(on_card).clamp(LEAST, MAX_POINTS)
}
