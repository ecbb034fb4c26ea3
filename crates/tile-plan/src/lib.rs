//! Plans of rasters larger than memory.
//!
//! A [`Plan`] divides a grid into tiles that can be made one by one. For each tile, the plan names the inputs that can
//! reach it, the ground whose points it needs, and the memory that it takes. [`plan`] is a pure function of the inputs'
//! headers and [`Params`]. It reads no file, and the same inputs in another order give the same plan.
//!
//! Only a point within the reach of the parameters can decide the value of a cell. So a tile needs the points of its
//! own ground, and of a halo as wide as the greatest reach. If a reach is infinite, [`plan`] fails and
//! [`Error::Unbounded`] names the parameter. The exception is [`Reach::Everywhere`]: every tile reads all points.
//!
//! The plan guarantees that a tile reads every point that its cells depend on. The algorithm must guarantee that the
//! same points give a cell the same bits. Together, these give tiles the same bits as one run over the whole grid.
//!
//! The planner halves the grid, the longer side first, until each tile's estimate fits the budget. It cuts at multiples
//! of 256 cells while a tile is longer than 256, so that a tile consists of whole tiles of a GeoTIFF. Then it cuts at
//! multiples of 16. Estimates assume that the points of a file are spread evenly over its bounds.
//!
//! Some algorithms need parts of a certain shape. [`Params::shape`] makes tiles squares of one side, a power of
//! two, or strips of whole columns.
//!
//! ```
//! use gpu_core::{Bounds, GridSpec};
//! use tile_plan::{Input, Model, Params, Plan, Reach, plan};
//!
//! # fn main() -> Result<(), tile_plan::Error> {
//! let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 4000.0, max_y: 3000.0 };
//! let input = Input::new("survey.laz").bounds(bounds).points(12_000_000);
//! let grid = GridSpec::new(0.0, 3000.0, 1.0, 4000, 3000)?;
//! let model = Model { fixed: 0, per_point: 100, per_cell: 20 };
//! let params = Params::new(grid, 1 << 28, model).reach("--query-radius", Reach::Cells(20.0));
//! let plan = plan(&[input], &params)?;
//! assert!(plan.tiles().iter().all(|tile| tile.bytes <= 1 << 28));
//! assert_eq!(Plan::from_json(&plan.to_json())?, plan);
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]

mod error;
mod json;
mod params;
mod split;

pub use error::{Error, Memory, Result};
pub use json::{FORMAT, VERSION};
pub use params::{Input, Model, Params, Reach, Shape, Stamp};
pub use split::plan;

use gpu_core::{Bounds, GridSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A division of a grid into tiles, each of which a process can make alone.
///
/// Its JSON form is an object of `format` ([`FORMAT`]), `version` ([`VERSION`]), `id` and `plan`. The object `plan` has
/// the fields of this type: `grid` (origin_x, origin_y, cell_size, width, height), `halo`, `inputs` ([`Input`]),
/// `tiles` ([`Tile`]) and `program`. The id is the first 16 hexadecimal digits of SHA-256 (FIPS 180-4) of the text of
/// `plan` without spaces.
///
/// Example: see [`plan`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(with = "json::GridFields")]
    grid: GridSpec,
    halo: u32,
    inputs: Vec<Input>,
    tiles: Vec<Tile>,
    program: Value,
}

/// A part of the grid, and the inputs and memory that it needs.
///
/// Example: see [`plan`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Tile {
    /// Its first column in the grid.
    pub column: u32,
    /// Its first row in the grid; row 0 is in the north.
    pub row: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The inputs that can reach the tile, as rising indices into [`Plan::inputs`].
    pub inputs: Vec<u32>,
    /// The ground whose points must be read: the tile's and its halo's. If every tile reads all inputs, it is the
    /// tile's own ground.
    #[serde(with = "json::BoundsFields")]
    pub read: Bounds,
    /// Points there, estimated.
    pub points: u64,
    /// The cells of the tile and of its halo. [`Params::ends_at_grid`] and [`Params::halo_has_cells`] say which cells a
    /// halo has.
    pub cells: u64,
    /// Bytes of memory that the tile takes, by the model of the plan's [`Params`].
    pub bytes: u64,
    /// Bytes of device memory that the tile takes, if a device computes it, by the same model.
    pub device_bytes: u64,
}

impl Plan {
    /// The whole grid.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }

    /// Returns the width of the halo in cells: points up to this far beyond a side of a tile matter to the tile.
    pub fn halo(&self) -> u32 {
        self.halo
    }

    /// The inputs, in the order in which a tile reads them.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The tiles, sorted row by row by their north-western corners.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Returns what the program that made the plan stored in it.
    pub fn program(&self) -> &Value {
        &self.program
    }

    /// The inputs that can reach a tile.
    pub fn inputs_of<'a>(&'a self, tile: &'a Tile) -> impl Iterator<Item = &'a Input> {
        tile.inputs.iter().map(|&i| &self.inputs[i as usize])
    }

    /// The cells of a tile.
    pub fn grid_of(&self, tile: &Tile) -> GridSpec {
        let side = self.grid.cell_size;
        GridSpec {
            origin_x: self.grid.origin_x + f64::from(tile.column) * side,
            origin_y: self.grid.origin_y - f64::from(tile.row) * side,
            cell_size: side,
            width: tile.width,
            height: tile.height,
        }
    }
}
