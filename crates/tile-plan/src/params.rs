//! What a plan is made from.

use gpu_core::{Bounds, GridSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::SomeBounds;

/// The header of a file of points.
///
/// Example: see [`plan`](crate::plan).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Input {
    /// The file. A plan names each once.
    pub path: String,
    /// Where its points lie; `None` if this is unknown, so that they may lie anywhere.
    #[serde(with = "SomeBounds")]
    pub bounds: Option<Bounds>,
    /// The number of its points.
    pub points: u64,
    /// The stamp by which a program recognises that the file is unchanged.
    pub stamp: Option<Stamp>,
    /// The input's place in the order of reading, if the order of points matters; else 0 for every input. A tile reads
    /// inputs in the order of their ranks, and of their paths if ranks are equal.
    pub rank: u32,
}

impl Input {
    /// Returns an input without points, whose bounds are unknown.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), bounds: None, points: 0, stamp: None, rank: 0 }
    }

    /// Sets the field `bounds`: where the points lie.
    pub fn bounds(self, bounds: impl Into<Option<Bounds>>) -> Self {
        Self { bounds: bounds.into(), ..self }
    }

    gpu_core::builders! {
        points: u64;
    }

    /// Sets the field `stamp`: how the plan recognises that the file is still the same.
    pub fn stamp(self, stamp: impl Into<Option<Stamp>>) -> Self {
        Self { stamp: stamp.into(), ..self }
    }

    gpu_core::builders! {
        rank: u32;
    }
}

/// A stamp of a file, by which a program recognises that the file is unchanged: its length and the time of its last
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// Its length in bytes.
    pub bytes: u64,
    /// The time of the last change, in seconds since 1970.
    pub seconds: i64,
    /// The nanoseconds beside these seconds.
    pub nanoseconds: u32,
}

/// The largest distance from a cell at which a point can decide the cell's value.
///
/// ```
/// use gpu_core::GridSpec;
/// use tile_plan::{Error, Model, Params, Reach, plan};
///
/// let grid = GridSpec::new(0.0, 32.0, 0.5, 64, 64)?; // cells of half a metre
/// let params = Params::new(grid, 1 << 20, Model { fixed: 0, per_point: 0, per_cell: 1 });
/// let halo = |reach| plan(&[], &params.clone().reach("--radius", reach)).map(|plan| plan.halo());
/// assert_eq!((halo(Reach::Cells(3.0))?, halo(Reach::Ground(3.0))?), (3, 6));
/// assert!(matches!(halo(Reach::Cells(f64::INFINITY)), Err(Error::Unbounded { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// In cells.
    Cells(f64),
    /// In the units of the ground.
    Ground(f64),
    /// No limit: every tile reads all inputs. There is no halo, and the cells of a tile are its own.
    Everywhere,
}

/// The memory that a tile takes: an affine function of its points and cells. The points and cells of the halo count
/// too.
///
/// ```
/// use tile_plan::Model;
///
/// let model = Model { fixed: 100, per_point: 10, per_cell: 2 };
/// assert_eq!(model.bytes(3, 5), 100 + 30 + 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Bytes whatever the tile.
    pub fixed: u64,
    /// Bytes a point.
    pub per_point: u64,
    /// Bytes a cell.
    pub per_cell: u64,
}

impl Model {
    /// Bytes of this many points and cells.
    pub fn bytes(&self, points: u64, cells: u64) -> u64 {
        let of = |count: u64, each: u64| u128::from(count) * u128::from(each);
        let sum = u128::from(self.fixed) + of(points, self.per_point) + of(cells, self.per_cell);
        sum.try_into().unwrap_or(u64::MAX)
    }
}

/// The shape of tiles.
///
/// Example: see [`Params`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Halves the grid across its longer side, and each half again.
    #[default]
    Rectangles,
    /// Squares of one side, a power of two, on multiples of it; the grid's eastern and southern edges cut tiles off.
    Squares,
    /// Strips of columns, as tall as the grid.
    Strips,
}

/// How to divide a grid.
///
/// ```
/// use gpu_core::GridSpec;
/// use tile_plan::{Model, Params, Shape, plan};
///
/// let grid = GridSpec::new(0.0, 32.0, 1.0, 64, 32)?;
/// let params = Params::new(grid, 1 << 20, Model { fixed: 0, per_point: 0, per_cell: 1 }).most_side(16);
/// let tiles = |shape| plan(&[], &params.clone().shape(shape)).map(|plan| plan.tiles().len());
/// assert_eq!(tiles(Shape::Squares)?, 4 * 2); // of 16 x 16 cells
/// assert_eq!(tiles(Shape::Strips)?, 4); // of 16 x 32 cells
/// # Ok::<(), tile_plan::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// The grid.
    pub grid: GridSpec,
    /// The most bytes of a tile.
    pub budget: u64,
    /// The memory that a tile takes.
    pub model: Model,
    /// The most bytes of a tile on a device; `None` for no limit.
    pub device_budget: Option<u64>,
    /// The memory that a tile takes on a device.
    pub device_model: Model,
    /// The reaches, each with the name of the parameter that causes it. The widest is the halo.
    pub reaches: Vec<(String, Reach)>,
    /// Whether the cells of a halo end at the edge of the grid.
    pub ends_at_grid: bool,
    /// Whether a halo has cells, like its tile. If not, it has only points, which the tile reads.
    pub halo_has_cells: bool,
    /// The most cells on a side of a tile, or the most columns of a strip; `None` if only the budget limits them.
    pub most_side: Option<u32>,
    /// The shape of tiles.
    pub shape: Shape,
    /// The program's own data, which belong to the plan's identity.
    pub program: Value,
}

impl Params {
    /// Returns parameters for a grid, and for a budget of memory for each tile. By default a point reaches only the
    /// cell in which it lies, sides have no limit, and no device computes.
    pub fn new(grid: GridSpec, budget: u64, model: Model) -> Self {
        let none = Model { fixed: 0, per_point: 0, per_cell: 0 };
        Self {
            grid,
            budget,
            model,
            device_budget: None,
            device_model: none,
            reaches: Vec::new(),
            ends_at_grid: false,
            halo_has_cells: true,
            most_side: None,
            shape: Shape::Rectangles,
            program: Value::Null,
        }
    }

    gpu_core::builders! {
        grid: GridSpec;
        budget: u64;
    }

    /// Sets the field `device_budget`: the most bytes of a tile on a device.
    pub fn device_budget(self, device_budget: impl Into<Option<u64>>) -> Self {
        Self { device_budget: device_budget.into(), ..self }
    }

    gpu_core::builders! {
        device_model: Model;
    }

    /// Adds a reach, with the name of the parameter that causes it, to the field `reaches`.
    pub fn reach(mut self, parameter: impl Into<String>, reach: Reach) -> Self {
        self.reaches.push((parameter.into(), reach));
        self
    }

    gpu_core::builders! {
        ends_at_grid: bool;
        halo_has_cells: bool;
    }

    /// Sets the field `most_side`: the most cells on a side of a tile.
    pub fn most_side(self, most_side: impl Into<Option<u32>>) -> Self {
        Self { most_side: most_side.into(), ..self }
    }

    gpu_core::builders! {
        shape: Shape;
        program: Value;
    }
}
