//! The steps of a tile: the points of its cells, their trees, and the trees' files.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use geo_io::{Bins, Output};
use gpu_core::{Bounds, Device, Points, Progress};
use programs::scale::{MAX_MAPPED, require_unchanged};
use quadtree_sort::{Cells, MAX_POINTS, Quadtree, Values, build};
use tile_plan::Tile;

use super::Planned;
use super::cells::{Cell, cells_of};
use crate::values;

/// The files of the cells of a tile.
pub fn files(planned: &Planned, number: usize) -> Result<Vec<(Cell, PathBuf)>> {
    let cells = cells_of(planned.plan.grid(), planned.tile(number)?)?;
    let name = |i: usize| planned.path_of(number, &format!("-{i}.qtree"));
    Ok(cells.into_iter().enumerate().map(|(i, cell)| (cell, name(i))).collect())
}

/// The points of a tile.
pub struct Read {
    cells: Vec<CellPoints>,
    /// Points of all tiles.
    given: u64,
}

/// The points of a cell.
struct CellPoints {
    x: Vec<f64>,
    y: Vec<f64>,
    /// The number of each among all.
    indices: Vec<u32>,
    /// Heights, then further values.
    values: Vec<Vec<f64>>,
}

/// Opens the bins of a plan, which must be there.
pub fn open_bins(planned: &Planned) -> Result<Bins> {
    let bins = planned.open_bins()?;
    bins.context("tiles need bins: run point_quadtree bin with this plan first")
}

/// Reads the points of a tile's cells from the bins.
pub fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<Read> {
    // A point is numbered by all that are before it, in whatever file.
    planned.plan.inputs().iter().try_for_each(require_unchanged)?;
    let bins = open_bins(planned)?;
    let given = planned.recipe.rows().unwrap_or(bins.points());
    ensure!(given <= MAX_POINTS, "{given} points: a tree has at most {MAX_POINTS}");
    let all = planned.recipe.cells()?;
    let of_cell = |cell: Cell| {
        let read = bins.read_numbered(&ground_of(&all, cell), progress);
        let (mut points, mut numbers) = read.map_err(|error| planned.with_mend(error.into()))?;
        if planned.recipe.rows().is_some() {
            let rows = points.values.pop().context("the bins have no numbers of rows")?;
            numbers.clear();
            numbers.extend(rows.into_iter().map(|row| row as u64));
        }
        // Those on the eastern and northern edges belong to the cells beyond.
        let is_own = |&i: &usize| all.code(cell.level, points.x[i], points.y[i]) == cell.code;
        let own: Vec<usize> = (0..points.x.len()).filter(is_own).collect();
        let of = |column: &Vec<f64>| own.iter().map(|&i| column[i]).collect::<Vec<f64>>();
        anyhow::Ok(CellPoints {
            x: of(&points.x),
            y: of(&points.y),
            indices: own.iter().map(|&i| numbers[i] as u32).collect(),
            values: points.values.iter().map(of).collect(),
        })
    };
    let cells = cells_of(planned.plan.grid(), tile)?.into_iter().map(of_cell);
    Ok(Read { cells: cells.collect::<Result<_>>()?, given })
}

/// Where the points of a cell may lie. Those beyond the root, as by a rounding of a header's bounds, belong to the
/// cells at its edges, whose builds refuse them: none is lost without a word.
fn ground_of(all: &Cells, cell: Cell) -> Bounds {
    let (root, own) = (all.root(), all.edges(cell.level, cell.code));
    let outward =
        |edge: f64, of_root: f64, beyond: f64| if edge == of_root { beyond } else { edge };
    Bounds {
        min_x: outward(own.min_x, root.min_x, f64::NEG_INFINITY),
        min_y: outward(own.min_y, root.min_y, f64::NEG_INFINITY),
        max_x: outward(own.max_x, root.max_x, f64::INFINITY),
        max_y: outward(own.max_y, root.max_y, f64::INFINITY),
    }
}

/// Builds the trees of the cells.
pub fn build_all(
    planned: &Planned,
    Read { cells, given }: Read,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Vec<Quadtree>> {
    let params = planned.recipe.params();
    let tree = |cell: CellPoints| {
        let tree = build(device.with_progress(progress), Points::new(&cell.x, &cell.y), &params);
        let tree = tree.map_err(|error| match error {
            quadtree_sort::Error::Outside { x, y, .. } => anyhow!(
                "a point at ({x}, {y}) lies outside of the bounds that the headers state: make the plan with --bounds"
            ),
            other => other.into(),
        })?;
        let (z, further) = cell.values.split_first().context("the bins have no values")?;
        let tree = values::carried(tree, planned.recipe.values(), z, further)?;
        Ok(tree.renumbered(&cell.indices, given)?.with_system(planned.recipe.system()))
    };
    cells.into_iter().map(tree).collect()
}

/// Writes the trees of a tile.
pub fn write(planned: &Planned, number: usize, trees: &[Quadtree]) -> Result<()> {
    for ((_, path), tree) in files(planned, number)?.iter().zip(trees) {
        geo_io::write_file(Output::from(path), |file| tree.write_to(file))?;
    }
    Ok(())
}

/// Opens the trees of a tile, which must be the plan's. `before` is how many trees are open.
pub fn open(planned: &Planned, number: usize, before: usize) -> Result<Vec<(Cell, Quadtree)>> {
    let (cells, threshold) = (planned.recipe.cells()?, planned.recipe.params().threshold);
    let tree = |(i, (cell, path)): (usize, (Cell, std::path::PathBuf))| {
        let tree = match before + i < MAX_MAPPED {
            // SAFETY: only `run` writes a tile's file, under another name, then renames it, and never writes to it
            // again. docs/guide/scale.md asks users not to change it.
            true => unsafe { Quadtree::map(&path) }?,
            false => Quadtree::open(&path)?,
        };
        // The first or the last point shows that the points are of another cell; `join` checks all points.
        let place = |i: usize| Some((*tree.x().get(i)?, *tree.y().get(i)?));
        let mut ends = [0, tree.x().len().wrapping_sub(1)].into_iter().filter_map(place);
        let is_its = tree.cells() == cells
            && tree.threshold() == threshold
            && tree.values().iter().map(Values::name).eq(planned.recipe.values().0)
            && ends.all(|(x, y)| cells.code(cell.level, x, y) == cell.code);
        ensure!(is_its, "{} is not tile {number} of the plan", path.display());
        Ok((cell, tree))
    };
    files(planned, number)?.into_iter().enumerate().map(tree).collect()
}
