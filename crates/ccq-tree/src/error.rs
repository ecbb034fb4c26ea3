//! What can go wrong with a tree.

use std::path::PathBuf;

use crate::Bound;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a tree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A side beyond [`MAX_SIDE`](crate::MAX_SIDE), or more squares than can be numbered.
    #[error("a raster of {width} x {height} cells is too large")]
    TooLarge {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// More nodes than links can name.
    #[error(
        "the tree has {nodes} nodes, more than the {most} that links can name: use bins, or fewer"
    )]
    TooManyNodes {
        /// As counted.
        nodes: u64,
        /// The most.
        most: u64,
    },
    /// More runs of cells than a search on a device can number.
    #[error(
        "a search on a device returns at most {most} runs of cells, not {runs}: search in windows"
    )]
    TooManyRuns {
        /// As counted.
        runs: u64,
        /// The most.
        most: u64,
    },
    /// A tree has more nodes than its caller gave capacity for.
    #[error("the tree has {nodes} nodes, more than the capacity of {capacity}")]
    Capacity {
        /// As counted.
        nodes: u64,
        /// As given.
        capacity: u64,
    },
    /// A boundary of bins is not a number, or not above the previous one.
    #[error("boundary {index} of the bins, {value}, is not a number above the one before")]
    Boundary {
        /// Which.
        index: usize,
        /// As given.
        value: Bound,
    },
    /// More bins than there may be, or none.
    #[error("{bins} bins: the number of bins must be from 1 to {most}")]
    Bins {
        /// As given.
        bins: usize,
        /// The most.
        most: usize,
    },
    /// The side of a forest's tiles is not a power of two from 64 on.
    #[error("tiles of {side} x {side} cells: the side must be a power of two from 64 to 2^30")]
    TileSide {
        /// As given.
        side: u32,
    },
    /// The given trees are not the trees of one raster's tiles.
    #[error(
        "tree {tile} of {tiles} does not fit its tile: a tree must have its tile's cells and \
         levels, and all trees the same parameters"
    )]
    Tiles {
        /// The first that is not, or is missing or beyond, from 0.
        tile: usize,
        /// Tiles of the raster.
        tiles: usize,
    },
    /// A raster of a mosaic does not fit the others: it overlaps one, or is off their grid.
    #[error("raster {index} of the mosaic {reason} raster {other}")]
    Part {
        /// Which, from 0 on; of a mosaic, of those that have cells.
        index: usize,
        /// The raster that it does not lie beside, likewise.
        other: usize,
        /// What is wrong with it; the other's name is to follow.
        reason: &'static str,
    },
    /// The rasters of a mosaic leave gaps, and no value stands for NODATA.
    #[error("{cells} cells of the mosaic lie in no raster: give a NODATA value for them")]
    Gap {
        /// How many.
        cells: u64,
    },
    /// A window is empty or not inside the raster.
    #[error(
        "the window from row {row0}, column {column0} to row {row1}, column {column1} does not \
         lie within {height} rows and {width} columns"
    )]
    Window {
        /// The first row.
        row0: u32,
        /// The first column.
        column0: u32,
        /// The row after the last.
        row1: u32,
        /// The column after the last.
        column1: u32,
        /// Columns of the raster.
        width: u32,
        /// Rows of the raster.
        height: u32,
    },
    /// A range of values ends before it begins, or one of its ends is not a number.
    #[error("the range from {low} to {high} is empty: give two numbers, the lower one first")]
    Range {
        /// As given.
        low: Bound,
        /// As given.
        high: Bound,
    },
    /// No condition, or more than the device can search at once.
    #[error("{conditions} conditions: a search takes 1 to {most}")]
    Conditions {
        /// As given.
        conditions: usize,
        /// The most.
        most: usize,
    },
    /// The rasters or trees of one query have different sides, and either no place on the ground or no ground in
    /// common.
    #[error(
        "{what} of {width} x {height} cells and another of {first_width} x {first_height} do not \
         overlap: rasters and trees of unequal sides need places that do"
    )]
    Sides {
        /// Which.
        what: &'static str,
        /// Its columns.
        width: u32,
        /// Its rows.
        height: u32,
        /// Columns of the tree with the smallest cells.
        first_width: u32,
        /// Its rows.
        first_height: u32,
    },
    /// Trees of unequal sides that a device cannot search together. It needs the same corners for all of them, and
    /// cells of 2^n times the side of the finest.
    #[error(
        "a tree of {width} x {height} cells lies from {} {} (north-west) to {} {} (south-east), but the finest, of \
         {first_width} x {first_height}, lies from {} {} to {} {}. A device searches trees together only if their corners \
         are the same, and their cells 2^n times the side of the finest. Search these trees on the CPU",
        corners[0][0], corners[0][1], corners[1][0], corners[1][1],
        first_corners[0][0], first_corners[0][1], first_corners[1][0], first_corners[1][1]
    )]
    OnDevice {
        /// Its columns.
        width: u32,
        /// Its rows.
        height: u32,
        /// Columns of the tree with the smallest cells.
        first_width: u32,
        /// Rows of the tree with the smallest cells.
        first_height: u32,
        /// Its north-west corner and its south-east corner.
        corners: [[f64; 2]; 2],
        /// The same of the tree with the smallest cells.
        first_corners: [[f64; 2]; 2],
    },
    /// A bin is cut by the range, and its cells' values are in the raster only.
    #[error(
        "the range cuts through a bin: give the raster, which alone tells which of the bin's \
         cells lie in the range"
    )]
    NeedsRaster,
    /// The fields belong to another tree than the first condition's, or that tree does not have the finest cells.
    #[error("the first condition must be of the fields' own tree, which has the finest cells")]
    Fields,
    /// The tree has numbers of bins, not values.
    #[error("{what} needs values, but the tree has only numbers of bins")]
    Binned {
        /// What needs them.
        what: &'static str,
    },
    /// A file is damaged or foreign, or the program cannot read or write it.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// A primitive failed on the device.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Scan(gpu_scan::Error),
    /// The grid, the device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}

#[cfg(feature = "cuda")]
gpu_core::wrap_errors! {
    gpu_scan::Error => Scan;
}
