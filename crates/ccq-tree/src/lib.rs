//! An index of the values of a raster, which answers: where is the value between a and b?
//!
//! This is a min/max quadtree without pointers, all its nodes in one array: the cache-conscious quadtree (CCQ-tree).
//! Source: Zhang, You and Gruenwald, *Indexing large-scale raster geospatial data using massively parallel GPGPU
//! computing* (2010, doi:10.1145/1869790.1869859). Use it to search one raster, or several together, again and again.
//!
//! Cells are `u8`, `i16`, `u16`, `i32`, `u32` or `f32`. For values of 64 bits, [`build_coded`] indexes codes that stand
//! for them. Rows, columns and sizes count cells; row 0 is in the north.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ccq_tree::{Condition, Params, Query, build, count, quadrants};
//! use gpu_core::{Device, DeviceChoice, Grid, GridSpec};
//!
//! let heights: Vec<i16> = (0..48).map(|cell| cell / 8 * 10).collect(); // six rows of eight
//! let raster = Grid::new(heights, GridSpec::of_pixels(8, 6))?;
//! let device = Device::open(DeviceChoice::Cpu)?; // or Auto: a GPU where there is one
//! let tree = build(&device, raster.view(), &Params::new())?;
//!
//! let high = Condition::new(&tree).range(20.0, 40.0); // 20 and 30, not 40
//! let found = quadrants(&device, &[high], &Query::new())?;
//! assert_eq!((found[0].row, found[0].column, found[0].size), (2, 0, 2));
//! assert_eq!(count(&device, &[high], &Query::new())?.cells, 16);
//! # Ok(())
//! # }
//! ```
//!
//! For a raster in device memory, call [`gpu::build`]: it returns a tree that you search there.
//!
//! # Method
//!
//! `docs/internals/ccq-tree.md` defines the tree to the bit, and says where it differs from the paper. CPU and GPU give the same
//! bytes, and a [`Forest`] of tiles merges into the same bytes as one build of the whole.
#![deny(missing_docs)]

mod bound;
mod cell;
mod coded;
pub mod cpu;
mod error;
mod fields;
mod file;
mod forest;
#[cfg(feature = "cuda")]
pub mod gpu;
mod links;
mod mosaic;
mod number;
mod params;
mod quantiles;
mod query;
mod raster;
mod regions;
mod search;
mod tree;

use gpu_core::{GridView, On};

pub use bound::Bound;
pub use cell::Cell;
pub use coded::{
    CodedForest, CodedMerged, CodedParams, CodedTree, Codes, MAX_CODED_BINS, build_coded,
    build_coded_tile,
};
pub use cpu::Merged;
pub use error::{Error, Result};
pub use fields::{
    Aggregate, ClassSet, Classes, Fielded, Fields, Judgement, Resident, Sum, Summed, Total, WideSum,
};
pub use file::{FileKind, kind_of_file};
pub use forest::Forest;
pub use mosaic::{mosaic, mosaic_fill, mosaic_places};
pub use number::Number;
pub use params::{MAX_BINS, MAX_NODES, MAX_SIDE, Params, Query, Window};
pub use quantiles::quantile_boundaries;
pub use query::{
    Condition, Count, MAX_CONDITIONS, Peak, Quadrant, Run, Statistics, first_mismatch, search_grid,
};
pub use raster::RasterRef;
pub use regions::{Connectivity, Outline, Region, Regions, regions};
pub use search::{count, fields, mask, quadrants, runs, statistics, top_k};
pub use tree::{Node, Tree};

/// Builds the tree of a raster.
///
/// A raster without cells, or without values, has a tree without nodes. Work: the build reads each cell once, and a
/// second time where the cells of its 64 x 64 square differ. It writes each node once.
///
/// ```
/// use ccq_tree::{Params, build};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let root = tree.nodes()[0];
/// assert_eq!((root.min(), root.max()), (1, 7));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::Boundary`] and [`Error::Bins`] for the parameters; [`Error::TooLarge`], [`Error::TooManyNodes`];
/// [`Error::Cancelled`] where its progress ends the call; [`Error::Core`] where memory or the device fails.
pub fn build<'on, T: Cell>(
    on: impl Into<On<'on>>,
    raster: GridView<'_, T>,
    params: &Params,
) -> Result<Tree<T>> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::build(raster, params, progress),
        gpu => gpu::build_host(gpu, raster, params, progress),
    )
}

/// Builds a tree for each tile of `tile_side` x `tile_side` cells of a raster, all of them together. The side is a power
/// of two from 64 on.
///
/// ```
/// use ccq_tree::{Params, build, build_forest};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new((0u16..128 * 64).collect(), GridSpec::of_pixels(128, 64))?; // row by row
/// let forest = build_forest(&Device::Cpu, raster.view(), 64, &Params::new())?;
/// assert_eq!(forest.tiles(), (2, 1)); // columns, rows
/// assert!(forest.merge()? == build(&Device::Cpu, raster.view(), &Params::new())?);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::TileSide`]; the errors of [`build`].
pub fn build_forest<'on, T: Cell>(
    on: impl Into<On<'on>>,
    raster: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
) -> Result<Forest<T>> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::build_forest(raster, tile_side, params, progress),
        gpu => gpu::build_forest_host(gpu, raster, tile_side, params, progress),
    )
}

/// Builds the tree of one tile of a raster that is larger than memory. [`Forest::of_trees`] takes such trees, with
/// sides from 64 cells on. The root stands for `tile_side` x `tile_side` cells, also where the raster's edge cuts the
/// tile off.
///
/// If the raster is one tile, let `tile_side` be the smallest power of two that is not below the raster's sides. Then
/// the tree has no levels above the raster's own.
///
/// ```
/// use ccq_tree::{Forest, Params, build_tile};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// // Two tiles of 64 x 64 cells side by side.
/// let west = Grid::new(vec![1u8; 64 * 64], GridSpec::new(0.0, 64.0, 1.0, 64, 64)?)?;
/// let east = Grid::new(vec![9u8; 64 * 64], GridSpec::new(64.0, 64.0, 1.0, 64, 64)?)?;
/// let build = |tile: &Grid<u8>| build_tile(&Device::Cpu, tile.view(), 64, &Params::new());
/// let trees = vec![build(&west)?, build(&east)?];
/// let whole = Forest::of_trees(GridSpec::of_pixels(128, 64), 64, trees)?.merge()?;
/// assert_eq!((whole.nodes()[0].min(), whole.nodes()[0].max()), (1, 9));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// - [`Error::TileSide`]: `tile_side` is not a power of two, or below the tile's sides.
/// - The errors of [`build`].
pub fn build_tile<'on, T: Cell>(
    on: impl Into<On<'on>>,
    tile: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
) -> Result<Tree<T>> {
    let On { device, progress } = on.into();
    let sides = tile.grid().width.max(tile.grid().height);
    if !tile_side.is_power_of_two() || !(sides..=MAX_SIDE).contains(&tile_side) {
        return Err(Error::TileSide { side: tile_side });
    }
    let bits = tile_side.trailing_zeros();
    gpu_core::on_device!(
        device,
        cpu => cpu::build_tile(tile, bits, params, progress),
        gpu => gpu::build_tile_host(gpu, tile, bits, params, progress),
    )
}

/// Builds one tree of adjacent rasters (a mosaic), in any order and of any sides. The tree equals, byte for byte, the
/// result of [`build`] for their [`mosaic()`].
///
/// ```
/// use ccq_tree::{Params, build_mosaic};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let west = Grid::new(vec![1u8, 2], GridSpec::new(0.0, 1.0, 1.0, 2, 1)?)?;
/// let east = Grid::new(vec![3u8], GridSpec::new(2.0, 1.0, 1.0, 1, 1)?)?;
/// let tree = build_mosaic(&Device::Cpu, &[east.view(), west.view()], &Params::new())?;
/// assert_eq!(tree.grid().width, 3);
/// assert_eq!((tree.nodes()[0].min(), tree.nodes()[0].max()), (1, 3));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`mosaic()`] and [`build`].
pub fn build_mosaic<'on, T: Cell>(
    on: impl Into<On<'on>>,
    parts: &[GridView<'_, T>],
    params: &Params,
) -> Result<Tree<T>> {
    let On { device, progress } = on.into();
    params.check()?;
    let whole = mosaic(parts, params.nodata.map(Bound::from))?;
    build(device.with_progress(progress), whole.view(), params)
}
