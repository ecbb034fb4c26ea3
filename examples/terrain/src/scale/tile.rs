//! The steps of a tile.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use geo_io::{Cells, Output, RasterFile, TiffOptions, ValuesFile};
use gpu_core::Device;
use programs::scale::require_unchanged;
use tile_plan::Tile;

use super::Planned;
use crate::choices::Name;
use crate::dem::{Part, heights};

/// The end of the name of a tile's file of a product.
pub fn end(name: Name) -> String {
    format!(".{}.tif", name.word())
}

/// The tile in the DEM.
fn part(planned: &Planned, tile: &Tile) -> Part {
    let grid = planned.plan.grid();
    let along = |first: u32, count: u32| first as usize..first as usize + count as usize;
    Part::new(
        (grid.width as usize, grid.height as usize),
        along(tile.row, tile.height),
        along(tile.column, tile.width),
    )
}

/// The heights of the tile's window.
pub fn read(planned: &Planned, tile: &Tile) -> Result<Vec<f32>> {
    let input = planned.plan.inputs().first().context("this plan is damaged: no DEM")?;
    require_unchanged(input)?;
    let file = ValuesFile::open(Path::new(&input.path))?;
    let (grid, path) = (planned.plan.grid(), &input.path);
    let is_its = file.size() == (grid.width as usize, grid.height as usize);
    ensure!(is_its, "{path} has not the size that the plan was made for");
    let (rows, columns) = part(planned, tile).window();
    let heights = heights(&file, rows, columns)?;
    // What was read is what was planned with, even where a file was replaced meanwhile.
    require_unchanged(input)?;
    Ok(heights)
}

/// All products of a tile.
pub fn make(
    planned: &Planned,
    tile: &Tile,
    heights: &[f32],
    device: &Device,
) -> Result<Vec<Vec<f32>>> {
    let (recipe, part) = (&planned.recipe, part(planned, tile));
    let lie = recipe.lie()?;
    let path = planned.plan.inputs().first().map_or("", |input| &input.path);
    let product = |&name: &Name| {
        let made = part.make((heights, &lie), &recipe.method.params(name), device);
        made.with_context(|| format!("{path}: {}", name.word()))
    };
    recipe.products.iter().map(product).collect()
}

/// Writes the files of a tile.
pub fn write(planned: &Planned, number: usize, made: &[Vec<f32>]) -> Result<()> {
    let tile = planned.tile(number)?;
    let place = planned.recipe.lie()?.place_from(tile.column, tile.row);
    for (&name, values) in planned.recipe.products.iter().zip(made) {
        let path = planned.path_of(number, &end(name));
        let cells = Cells::Values { values, nodata: f32::NAN };
        let size = (tile.width, tile.height);
        geo_io::write_tiff(Output::from(&path), &place, size, cells, &TiffOptions::default())?;
    }
    planned.write_sums(number)
}

/// Opens a product of a tile.
pub fn open(planned: &Planned, number: usize, name: Name) -> Result<RasterFile> {
    let tile = planned.tile(number)?;
    let place = planned.recipe.lie()?.place_from(tile.column, tile.row);
    planned.open(number, &end(name), &place)
}
