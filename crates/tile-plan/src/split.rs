//! The division of a grid.
//!
//! The planner halves a tile that does not fit, and checks each half against the inputs that reach the tile. So the
//! work is proportional to the number of pairs of a tile and an input that touch, times the depth. The planner halves
//! only the width of strips. The planner halves the side of all squares at once, until each square fits.

use gpu_core::{Bounds, GridSpec};

use crate::{Error, Input, Memory, Params, Plan, Reach, Result, Shape, Tile};

/// Columns and rows of a GeoTIFF's tile.
const BLOCK: u32 = 256;

/// The most tiles of a plan: its text has 300 bytes or more for each.
pub(crate) const MAX_TILES: u64 = 1 << 20;

/// The most inputs that all tiles of a plan name together: 128 MiB, and twice as much of text.
const MAX_NAMED: u64 = 1 << 25;

/// The least side of a tile, where the grid has as many cells.
const LEAST: u32 = 16;

/// Divides a grid into tiles whose estimates fit the budget.
///
/// Cost: for each tile, and for each larger area that was divided, a check of the inputs that reach it.
///
/// ```
/// use gpu_core::{Bounds, GridSpec};
/// use tile_plan::{Input, Model, Params, plan};
///
/// let west = Bounds { min_x: 0.0, min_y: 0.0, max_x: 9.0, max_y: 32.0 };
/// let inputs = [Input::new("anywhere.laz").points(5), Input::new("west.laz").bounds(west)];
/// let grid = GridSpec::new(0.0, 32.0, 1.0, 64, 32)?;
/// // A byte a cell, and memory for half of the cells.
/// let params = Params::new(grid, 1024, Model { fixed: 0, per_point: 0, per_cell: 1 });
/// let plan = plan(&inputs, &params)?;
/// let [west, east] = plan.tiles() else { panic!("two tiles") };
/// assert_eq!((west.column, west.width, &west.inputs[..]), (0, 32, &[0, 1][..]));
/// assert_eq!((east.column, east.width, &east.inputs[..]), (32, 32, &[0][..]));
/// # Ok::<(), tile_plan::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Core`] and [`Error::NoCells`] for an invalid or empty grid.
/// - [`Error::Unbounded`] and [`Error::NoDistance`] for a reach.
/// - [`Error::Side`] for a side of tiles.
/// - [`Error::InputBounds`] and [`Error::Twice`] for an input.
/// - [`Error::TooMany`] for more than 2^20 tiles.
/// - [`Error::TooManyNamed`] where the tiles name inputs more than 2^25 times.
/// - [`Error::Budget`] where a tile of the least size does not fit the memory of the host or of a device.
pub fn plan(inputs: &[Input], params: &Params) -> Result<Plan> {
    let grid = checked_grid(params)?;
    let mut inputs = inputs.to_vec();
    inputs.sort_by(|a, b| (a.rank, &a.path).cmp(&(b.rank, &b.path)));
    check_inputs(&inputs)?;
    let halo = halo(params)?;
    let reads_all = params.reaches.iter().any(|(_, reach)| *reach == Reach::Everywhere);
    let halo = if reads_all { 0 } else { halo };
    let mut division =
        Division { params, inputs: &inputs, halo, reads_all, tiles: Vec::new(), named: 0 };
    let all = (0..inputs.len() as u32).collect::<Vec<_>>();
    match params.shape {
        Shape::Squares => division.cut_squares(&grid, &all)?,
        Shape::Rectangles | Shape::Strips => {
            let whole = Part { column: 0, row: 0, width: grid.width, height: grid.height };
            // What the largest side alone asks for is known before.
            let most = params.most_side.unwrap_or(u32::MAX);
            let rows = if params.shape == Shape::Strips { grid.height } else { most };
            require_count(count(&grid, [most, rows]))?;
            division.divide(whole, &all)?;
        }
    }
    let mut tiles = division.tiles;
    tiles.sort_by_key(|tile| (tile.row, tile.column));
    Ok(Plan { grid, halo, inputs, tiles, program: params.program.clone() })
}

fn checked_grid(params: &Params) -> Result<GridSpec> {
    let GridSpec { origin_x, origin_y, cell_size, width, height } = params.grid;
    let grid = GridSpec::new(origin_x, origin_y, cell_size, width, height)?;
    if grid.cells() == 0 {
        return Err(Error::NoCells { width, height });
    }
    match params.most_side {
        Some(side) if side < LEAST => Err(Error::Side { side, least: LEAST }),
        _ => Ok(grid),
    }
}

fn check_inputs(inputs: &[Input]) -> Result<()> {
    for input in inputs {
        let Some(Bounds { min_x, min_y, max_x, max_y }) = input.bounds else { continue };
        let is_finite = [min_x, min_y, max_x, max_y].iter().all(|v| v.is_finite());
        if !(is_finite && min_x <= max_x && min_y <= max_y) {
            let path = input.path.clone();
            return Err(Error::InputBounds { path, min_x, min_y, max_x, max_y });
        }
    }
    let mut paths: Vec<&str> = inputs.iter().map(|input| &input.path[..]).collect();
    paths.sort_unstable();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Twice { path: pair[0].to_owned() }),
        None => Ok(()),
    }
}

/// The widest reach, in whole cells.
fn halo(params: &Params) -> Result<u32> {
    let mut widest = 0;
    for (parameter, reach) in &params.reaches {
        let parameter = || parameter.clone();
        let cells = match *reach {
            Reach::Cells(cells) => cells,
            Reach::Ground(length) => length / params.grid.cell_size,
            Reach::Everywhere => continue,
        };
        if cells == f64::INFINITY {
            return Err(Error::Unbounded { parameter: parameter() });
        }
        // A halo on both sides of a grid must be a grid.
        if !(0.0..=f64::from(u32::MAX / 4)).contains(&cells) {
            return Err(Error::NoDistance { parameter: parameter(), reach: cells });
        }
        widest = widest.max(cells.ceil() as u32);
    }
    Ok(widest)
}

/// A rectangle of cells.
#[derive(Clone, Copy)]
struct Part {
    column: u32,
    row: u32,
    width: u32,
    height: u32,
}

impl Part {
    /// Its halves; `None` where it is of the least size. A strip keeps its height.
    fn halves(self, shape: Shape) -> Option<[Self; 2]> {
        if self.width >= self.height || shape == Shape::Strips {
            let cut = cut(self.width)?;
            let east = Self { column: self.column + cut, width: self.width - cut, ..self };
            Some([Self { width: cut, ..self }, east])
        } else {
            let cut = cut(self.height)?;
            let south = Self { row: self.row + cut, height: self.height - cut, ..self };
            Some([Self { height: cut, ..self }, south])
        }
    }
}

/// Where a side is cut: about in the middle, at a multiple of [`BLOCK`] or, of a shorter one, of [`LEAST`].
fn cut(side: u32) -> Option<u32> {
    let step = if side > BLOCK { BLOCK } else { LEAST };
    (side > LEAST).then(|| (side / 2).div_ceil(step) * step)
}

/// How many tiles of these columns and rows a grid has.
fn count(grid: &GridSpec, [columns, rows]: [u32; 2]) -> u64 {
    u64::from(grid.width.div_ceil(columns)) * u64::from(grid.height.div_ceil(rows))
}

/// Refuses more tiles than a plan may have.
fn require_count(tiles: u64) -> Result<()> {
    if tiles > MAX_TILES {
        return Err(Error::TooMany { tiles, most: MAX_TILES });
    }
    Ok(())
}

/// The squares of a grid, row by row.
fn squares(grid: &GridSpec, side: u32) -> impl Iterator<Item = Part> {
    let GridSpec { width, height, .. } = *grid;
    let along = move |length: u32| (0..length).step_by(side as usize);
    along(height).flat_map(move |row| {
        along(width).map(move |column| Part {
            column,
            row,
            width: side.min(width - column),
            height: side.min(height - row),
        })
    })
}

/// A division under way.
struct Division<'a> {
    params: &'a Params,
    inputs: &'a [Input],
    halo: u32,
    /// Whether every tile reads all inputs.
    reads_all: bool,
    tiles: Vec<Tile>,
    /// How many inputs these name together.
    named: u64,
}

impl Division<'_> {
    /// Divides a part that at most these inputs reach.
    fn divide(&mut self, part: Part, inputs: &[u32]) -> Result<()> {
        require_count(self.tiles.len() as u64)?;
        let tile = self.tile(part, inputs);
        let most = self.params.most_side.unwrap_or(u32::MAX);
        let side = match self.params.shape {
            Shape::Strips => part.width,
            _ => part.width.max(part.height),
        };
        let is_small = side <= most;
        let lacking = self.lacking(&tile);
        if is_small && lacking.is_none() {
            return self.take(tile);
        }
        if let Some(halves) = part.halves(self.params.shape) {
            return halves.into_iter().try_for_each(|half| self.divide(half, &tile.inputs));
        }
        // A side of the least size is at most as long as any that is allowed.
        self.require(&tile)?;
        self.take(tile)
    }

    /// Adds a tile to the plan.
    fn take(&mut self, tile: Tile) -> Result<()> {
        self.named += tile.inputs.len() as u64;
        if self.named > MAX_NAMED {
            return Err(Error::TooManyNamed { named: self.named, most: MAX_NAMED });
        }
        self.tiles.push(tile);
        Ok(())
    }

    /// Cuts the grid into squares, as large as they can be.
    fn cut_squares(&mut self, grid: &GridSpec, inputs: &[u32]) -> Result<()> {
        let longest = u64::from(grid.width.max(grid.height)).next_power_of_two().min(1 << 31);
        let mut side = (longest as u32).max(LEAST);
        while side > LEAST && side > self.params.most_side.unwrap_or(u32::MAX) {
            side /= 2;
        }
        loop {
            require_count(count(grid, [side; 2]))?;
            (self.tiles, self.named) = (Vec::new(), 0);
            let taken = squares(grid, side).try_for_each(|part| {
                let tile = self.tile(part, inputs);
                self.require(&tile)?;
                self.take(tile)
            });
            match taken {
                Err(Error::Budget { .. }) if side > LEAST => side /= 2,
                done => return done,
            }
        }
    }

    /// Refuses a tile that does not fit.
    fn require(&self, tile: &Tile) -> Result<()> {
        let Some((memory, bytes, budget)) = self.lacking(tile) else { return Ok(()) };
        let Tile { column, row, width, height, .. } = *tile;
        let halo = self.halo;
        Err(Error::Budget { memory, width, height, column, row, halo, bytes, budget })
    }

    /// The memory that a tile does not fit: what it takes, and what there is.
    fn lacking(&self, tile: &Tile) -> Option<(Memory, u64, u64)> {
        let device = self.params.device_budget.unwrap_or(u64::MAX);
        [
            (Memory::Host, tile.bytes, self.params.budget),
            (Memory::Device, tile.device_bytes, device),
        ]
        .into_iter()
        .find(|&(_, bytes, budget)| bytes > budget)
    }

    fn tile(&self, part: Part, inputs: &[u32]) -> Tile {
        let Part { column, row, width, height } = part;
        let (grid, halo) = (&self.params.grid, f64::from(self.halo));
        let side = grid.cell_size;
        // No point lies beyond the range of numbers, and text has no infinite ones.
        let finite = |place: f64| place.clamp(f64::MIN, f64::MAX);
        let x = |column: f64| finite(grid.origin_x + column * side);
        let y = |row: f64| finite(grid.origin_y - row * side);
        let read = Bounds {
            min_x: x(f64::from(column) - halo),
            min_y: y(f64::from(row) + f64::from(height) + halo),
            max_x: x(f64::from(column) + f64::from(width) + halo),
            max_y: y(f64::from(row) - halo),
        };
        // A point may lie a rounding beyond the bounds of its header.
        let touched = Bounds {
            min_x: read.min_x - side,
            min_y: read.min_y - side,
            max_x: read.max_x + side,
            max_y: read.max_y + side,
        };
        let share = |i: u32| {
            let input = &self.inputs[i as usize];
            let bounds = input.bounds.filter(|_| !self.reads_all);
            bounds.map_or(Some(1.0), |bounds| share_within(&bounds, &touched))
        };
        let near = inputs.iter().filter_map(|&i| share(i).map(|share| (i, share)));
        let near: Vec<(u32, f64)> = near.collect();
        let points_of = |&(i, share): &(u32, f64)| {
            (self.inputs[i as usize].points as f64 * share).ceil() as u64
        };
        let points = near.iter().map(points_of).fold(0, u64::saturating_add);
        let around = |first: u32, count: u32, side: u32| {
            let beyond = |room: u32| match self.params {
                Params { halo_has_cells: false, .. } => 0,
                Params { ends_at_grid: true, .. } => u64::from(self.halo.min(room)),
                _ => self.halo.into(),
            };
            beyond(first) + u64::from(count) + beyond(side - first - count)
        };
        let columns = around(column, width, grid.width);
        let cells = columns.saturating_mul(around(row, height, grid.height));
        let bytes = self.params.model.bytes(points, cells);
        let device_bytes = self.params.device_model.bytes(points, cells);
        let inputs = near.into_iter().map(|(i, _)| i).collect();
        Tile { column, row, width, height, inputs, read, points, cells, bytes, device_bytes }
    }
}

/// The share of a rectangle, which may have no width or height, that lies within another; `None` where they do
/// not touch.
fn share_within(of: &Bounds, within: &Bounds) -> Option<f64> {
    let along = |(low, high): (f64, f64), (from, to): (f64, f64)| {
        let common = high.min(to) - low.max(from);
        let length = high - low;
        (common >= 0.0).then(|| if length > 0.0 { (common / length).min(1.0) } else { 1.0 })
    };
    let x = along((of.min_x, of.max_x), (within.min_x, within.max_x))?;
    let y = along((of.min_y, of.max_y), (within.min_y, within.max_y))?;
    Some(x * y)
}
