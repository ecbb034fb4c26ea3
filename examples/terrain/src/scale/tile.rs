//! The steps of a tile.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use geo_io::{ArrayFile, Cells, Output, TiffOptions, ValuesFile, ZarrTiles};
use gpu_core::Device;
use programs::scale::{part as in_whole, require_unchanged};
use terrain_grid::{Contour, Fragment};
use tile_plan::Tile;

use super::Planned;
use crate::choices::{Kind, Name};
use crate::colours::Colour;
use crate::dem::{Part, heights};

/// What a tile has of a product.
pub enum Layer {
    Numbers(Vec<f32>),
    Colours(Vec<Colour>),
    Lines(Vec<(Fragment, Contour)>),
}

/// Returns the end of the name of a tile's file of a product. Numbers are in a GeoTIFF. Colours are in an array of
/// red, green, blue and opacity, from the lowest byte up. Lines are in an array of points, one line after the
/// other.
pub fn end(name: Name) -> String {
    let ending = if name.kind() == Kind::Numbers { "tif" } else { "npy" };
    format!(".{}.{ending}", name.word())
}

/// The end of the name of the array with a row for each line: its fragment, in words.
const FRAGMENTS: &str = ".fragments.npy";

/// The ends of the names of all files of a product.
pub fn ends(name: Name) -> impl Iterator<Item = String> {
    let more = (name.kind() == Kind::Lines).then(|| FRAGMENTS.to_owned());
    std::iter::once(end(name)).chain(more)
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
    ensure!(is_its, "{path} has another size than in the plan: make the plan again");
    let (rows, columns) = part(planned, tile).window();
    // What is lost shows beside the range of the whole DEM, which no tile knows.
    let (heights, _) = heights(&file, rows, columns)?;
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
) -> Result<Vec<Layer>> {
    let (recipe, part) = (&planned.recipe, part(planned, tile));
    let (lie, method, drawing) = (recipe.lie()?, &recipe.method, &recipe.drawing);
    let path = planned.plan.inputs().first().map_or("", |input| &input.path);
    let window = (heights, &lie);
    let layer = |name: Name| -> Result<Layer> {
        Ok(match (name.kind(), method.params(name)) {
            (Kind::Numbers, Some(params)) => Layer::Numbers(part.make(window, &params, device)?),
            (Kind::Lines, _) => Layer::Lines(drawing.fragments(&part, window, device)?),
            _ => Layer::Colours(drawing.draw(&part, window, (name, method), device)?),
        })
    };
    let named = |&name: &Name| layer(name).with_context(|| format!("{path}: {}", name.word()));
    recipe.products.iter().map(named).collect()
}

/// Writes the files of a tile.
pub fn write(planned: &Planned, number: usize, made: &[Layer]) -> Result<()> {
    let tile = planned.tile(number)?;
    if let Some(store) = store(planned)? {
        store.begin()?;
        for (band, layer) in made.iter().enumerate() {
            if let Layer::Numbers(values) = layer {
                store.write(band, in_whole(tile), values)?;
            }
        }
        return planned.write_sums(number);
    }
    let place = planned.recipe.lie()?.place_from(tile.column, tile.row);
    let (width, height) = (tile.width, tile.height);
    for (&name, layer) in planned.recipe.products.iter().zip(made) {
        let path = planned.path_of(number, &end(name));
        match layer {
            Layer::Numbers(values) => {
                let (cells, options) =
                    (Cells::Values { values, nodata: f32::NAN }, TiffOptions::default());
                geo_io::write_tiff(Output::from(&path), &place, (width, height), cells, &options)?;
            }
            Layer::Colours(colours) => {
                let words: Vec<u32> = colours.iter().map(|&c| u32::from_le_bytes(c)).collect();
                geo_io::write_npy(&path, &words, width as usize, height as usize)?;
            }
            Layer::Lines(lines) => {
                let points = lines.iter().flat_map(|(_, line)| &line.points);
                let points: Vec<f64> = points.flatten().copied().collect();
                geo_io::write_npy(&path, &points, 2, points.len() / 2)?;
                let words: Vec<u64> = lines.iter().flat_map(|(f, _)| f.to_words()).collect();
                let path = planned.path_of(number, FRAGMENTS);
                geo_io::write_npy(&path, &words, Fragment::WORDS, lines.len())?;
            }
        }
    }
    planned.write_sums(number)
}

/// The store whose chunks are the tiles, if the plan has one: a band for each product, by its name.
pub fn store(planned: &Planned) -> Result<Option<ZarrTiles>> {
    let recipe = &planned.recipe;
    let names: Vec<&str> = recipe.products.iter().map(|name| name.word()).collect();
    planned.store(&recipe.lie()?.place.without_heights(), &names)
}

/// Refuses a product of a tile that is not the tile's.
pub fn check(planned: &Planned, number: usize, name: Name) -> Result<()> {
    let tile = planned.tile(number)?;
    if let Some(store) = store(planned)? {
        ensure!(store.has_begun(), "tile {number} is missing");
        return Ok(());
    }
    let place = planned.recipe.lie()?.place_from(tile.column, tile.row);
    match name.kind() {
        Kind::Numbers => planned.open(number, &end(name), &place).map(drop),
        Kind::Colours => {
            let path = planned.path_of(number, &end(name));
            let is_its =
                ArrayFile::open(&path)?.size() == (tile.width as usize, tile.height as usize);
            ensure!(is_its, "{} is not tile {number} of the plan", path.display());
            Ok(())
        }
        Kind::Lines => Lines::open(planned, number).map(drop),
    }
}

/// What a tile has of the contour lines.
pub struct Lines {
    pub fragments: Vec<Fragment>,
    /// The points of all fragments.
    points: ArrayFile,
}

impl Lines {
    /// Reads the fragments of a tile.
    pub fn open(planned: &Planned, number: usize) -> Result<Self> {
        let path = planned.path_of(number, FRAGMENTS);
        let file = ArrayFile::open(&path)?;
        let points = ArrayFile::open(&planned.path_of(number, &end(Name::Contours)))?;
        let words: Vec<u64> = file.rows(0, file.size().1)?;
        let fragments: Vec<Fragment> =
            words.as_chunks().0.iter().map(|&words| Fragment::from_words(words)).collect();
        let count: u64 = fragments.iter().map(Fragment::points).sum();
        let is_its = file.size().0 == Fragment::WORDS && points.size() == (2, count as usize);
        ensure!(is_its, "{} does not belong to tile {number} of the plan", path.display());
        Ok(Self { fragments, points })
    }

    /// The points of a fragment, from a first one on.
    pub fn points(&self, first: u64, count: u64) -> geo_io::Result<Vec<[f64; 2]>> {
        let numbers: Vec<f64> = self.points.rows(first as usize, count as usize)?;
        Ok(numbers.as_chunks().0.to_vec())
    }
}
