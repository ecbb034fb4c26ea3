//! What can go wrong with a plan.

use gpu_core::Shortest;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose memory a tile takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory of the host.
    Host,
    /// Memory of the device that computes the tile.
    Device,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Host => "memory",
            Self::Device => "memory of a device",
        })
    }
}

/// Errors of a plan. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The grid has no cells.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
    /// The grid has no cell.
    #[error("a grid of {width} x {height} cells has no cells to divide")]
    NoCells {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A parameter reaches everywhere, so that each tile needs all points.
    #[error("{parameter} reaches without limit: each tile would need all points")]
    Unbounded {
        /// Its name, as the caller gave it.
        parameter: String,
    },
    /// A reach is negative, not a number, or wider than any grid.
    #[error(
        "{parameter} reaches {} cells, which is negative, not a number, or wider than any grid",
        Shortest(*reach)
    )]
    NoDistance {
        /// The parameter's name, as the caller gave it.
        parameter: String,
        /// Cells.
        reach: f64,
    },
    /// Tiles of this side are too small.
    #[error("tiles of {side} cells a side are too small: the least side is {least}")]
    Side {
        /// As given.
        side: u32,
        /// The least.
        least: u32,
    },
    /// An input's bounds are not finite, or its lower bound is above the upper one.
    #[error(
        "{path}: the bounds in its header are invalid: from {min_x} {min_y} to {max_x} {max_y}"
    )]
    InputBounds {
        /// The input.
        path: String,
        /// As given.
        min_x: f64,
        /// As given.
        min_y: f64,
        /// As given.
        max_x: f64,
        /// As given.
        max_y: f64,
    },
    /// An input is named twice.
    #[error("the inputs name {path} twice: name it once")]
    Twice {
        /// The input.
        path: String,
    },
    /// A tile of the least size does not fit the budget.
    #[error(
        "the smallest tile, {width} x {height} cells at column {column} and row {row}, needs {bytes} bytes with \
         its halo of {halo} cells, but the {memory} given is {budget}"
    )]
    Budget {
        /// Whose memory is short.
        memory: Memory,
        /// The tile's columns.
        width: u32,
        /// The tile's rows.
        height: u32,
        /// Its first column.
        column: u32,
        /// Its first row.
        row: u32,
        /// Cells around it.
        halo: u32,
        /// The estimated bytes that it needs.
        bytes: u64,
        /// The bytes of the budget.
        budget: u64,
    },
    /// More tiles than a plan may have.
    #[error(
        "{tiles} tiles are too many for a plan, which holds at most {most}: make the tiles or \
         cells larger"
    )]
    TooMany {
        /// As counted, at least.
        tiles: u64,
        /// The most.
        most: u64,
    },
    /// Tiles that name their inputs more often than a plan can hold.
    #[error(
        "the tiles would list at least {named} inputs in all, but a plan holds {most}: make the \
         tiles larger, or give fewer files"
    )]
    TooManyNamed {
        /// As counted, at least.
        named: u64,
        /// The most.
        most: u64,
    },
    /// The text is not a plan.
    #[error("this is not a plan of tiles: {reason}")]
    Foreign {
        /// Why the text is not a plan.
        reason: String,
    },
    /// The plan was written by a newer version.
    #[error("this plan has version {version}, but this program reads versions up to {known}")]
    Newer {
        /// The plan's version.
        version: u64,
        /// The latest that is read.
        known: u64,
    },
    /// The plan is damaged or was changed by hand.
    #[error("this plan is damaged: {reason}")]
    Damaged {
        /// How it shows.
        reason: String,
    },
}
