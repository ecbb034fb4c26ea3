//! The steps of a tile.

use std::path::Path;

use anyhow::{Result, ensure};
use ccq_tree::Window;
use geo_io::ValuesFile;
use gpu_core::{Device, Progress};
use programs::scale::require_unchanged;
use tile_plan::Tile;

use super::{Planned, side_of};
use crate::cells::Part;
use crate::trees::{AnyTree, Index, map, tree_of};
use crate::values::Values;

/// The cells of a tile.
fn window_of(tile: &Tile) -> Window {
    let (row1, column1) = (tile.row + tile.height, tile.column + tile.width);
    Window { row0: tile.row, column0: tile.column, row1, column1 }
}

/// Reads a tile from all rasters that have cells in it.
pub fn read(planned: &Planned, tile: &Tile) -> Result<Values> {
    let (plan, recipe, own) = (&planned.plan, &planned.recipe, window_of(tile));
    let places: Vec<Window> = recipe.places.iter().map(|&place| window(place)).collect();
    let is_sound = places.len() == plan.inputs().len();
    ensure!(is_sound, "this plan is damaged: the place of its inputs is missing");
    let how = recipe.how()?;
    let fill = Values::fill(&how.cells, how.nodata, (plan.grid(), &places))?;
    let mut values = fill.repeated(own.cells() as usize)?;
    for (input, place) in plan.inputs().iter().zip(places) {
        let Some(both) = own.and(place) else { continue };
        require_unchanged(input)?;
        let file = ValuesFile::open(Path::new(&input.path))?;
        let is_its = file.size()
            == ((place.column1 - place.column0) as usize, (place.row1 - place.row0) as usize);
        ensure!(is_its, "{} has another size than in the plan: make the plan again", input.path);
        let along = |from: u32, to: u32, first: u32| (from - first) as usize..(to - first) as usize;
        let rows = along(both.row0, both.row1, place.row0);
        let columns = along(both.column0, both.column1, place.column0);
        let (path, corner, width) = (file.path(), (rows.start, columns.start), columns.len());
        let window = file.window(rows, columns)?;
        let kind = window.sample_type();
        let nodata = recipe.stated()?.and_then(|nodata| kind.value(nodata));
        let part = Part { path, nodata, corner, width }.cells(window, &how.cells)?;
        // What was read is what was planned with, even where a file was replaced meanwhile.
        require_unchanged(input)?;
        if both == own {
            return Ok(part);
        }
        let at = (both.row0 - own.row0, both.column0 - own.column0);
        values.paste(part, at, [tile.width, both.column1 - both.column0])?;
    }
    Ok(values)
}

fn window([column0, row0, width, height]: [u32; 4]) -> Window {
    Window {
        row0,
        column0,
        row1: row0.saturating_add(height),
        column1: column0.saturating_add(width),
    }
}

/// Builds the tree of a tile.
pub fn build(
    planned: &Planned,
    tile: &Tile,
    values: &Values,
    device: &Device,
    progress: &dyn Progress,
) -> Result<AnyTree> {
    let (grid, side) = (planned.plan.grid_of(tile), side_of(&planned.plan));
    let on = device.with_progress(progress);
    tree_of(values, grid, &planned.recipe.how()?, Some(side), on)
}

/// Opens the tree of a tile, which must be the plan's.
pub fn open(planned: &Planned, number: usize) -> Result<AnyTree> {
    let path = planned.path_of(number, ".ccq");
    // SAFETY: only `run` writes a tile's file, under another name, then renames it, and never writes to it again.
    // docs/guide/scale.md asks users not to change it.
    let tree = unsafe { map(&path) }?;
    check(planned, number, &*tree)?;
    Ok(tree)
}

/// Refuses the tree of another tile than the plan's.
pub fn check(planned: &Planned, number: usize, tree: &dyn Index) -> Result<()> {
    let (tile, own) = (planned.tile(number)?, tree.grid());
    let is_its =
        (own.width, own.height) == (tile.width, tile.height) && planned.recipe.how()?.made(tree)?;
    ensure!(
        is_its,
        "{} is not tile {number} of the plan",
        planned.path_of(number, ".ccq").display()
    );
    Ok(())
}
