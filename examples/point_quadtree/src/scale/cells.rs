//! The cells of a tree that become tiles.
//!
//! The plan's grid has the cells of one level, and as many columns as rows, a power of two. It is halved, so each tile
//! is one cell of the tree or two side by side.

use anyhow::{Context, Result, ensure};
use gpu_core::GridSpec;
use quadtree_sort::Cells;
use tile_plan::Tile;

/// The level of the grid's cells at most: tiles have sides of 16 of them at least, so that there are at most 65,536.
const LEVEL: u32 = 12;

/// A cell of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// How often the root is divided to get it.
    pub level: u32,
    /// Its code among those of the level.
    pub code: u64,
}

/// The grid that is divided into tiles.
pub fn grid(cells: &Cells) -> Result<GridSpec> {
    let root = cells.root();
    let side = (root.max_x - root.min_x).max(root.max_y - root.min_y);
    ensure!(side > 0.0, "all points lie at one place: a tree with a single leaf has no tiles");
    let columns = 1u32 << cells.max_level().min(LEVEL);
    let cell_size = side / f64::from(columns);
    Ok(GridSpec::new(root.min_x, root.min_y + side, cell_size, columns, columns)?)
}

/// The cells of a tile, in the order of codes.
pub fn cells_of(grid: &GridSpec, tile: &Tile) -> Result<Vec<Cell>> {
    let side = tile.width.min(tile.height);
    let south = grid.height.checked_sub(tile.row + tile.height);
    let south = south.filter(|south| {
        let sides = [grid.width, side].iter().all(|side| side.is_power_of_two());
        sides && [tile.column, *south, tile.width, tile.height].iter().all(|at| at % side == 0)
    });
    let south = south.context("this plan is damaged: one of its tiles is not a cell")?;
    let level = (grid.width / side).trailing_zeros();
    let places =
        (0..tile.height / side).flat_map(|row| (0..tile.width / side).map(move |c| (c, row)));
    let cell = |(column, row): (u32, u32)| {
        let code = Cells::code_at(tile.column / side + column, south / side + row);
        Cell { level, code }
    };
    let mut cells: Vec<Cell> = places.map(cell).collect();
    cells.sort_unstable();
    Ok(cells)
}
