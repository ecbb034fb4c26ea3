//! Tiles as one raster.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::{Result, bail};
use bytemuck::Pod;
use geo_io::{ArrayFile, NpyElement, RasterFile};
use tile_plan::{Plan, Tile};

use super::{Planned, Recipe};

/// Refuses a plan if files of its tiles are missing.
///
/// # Errors
/// How many tiles are missing, and the first of them.
pub fn require_all<R: Recipe>(planned: &Planned<R>) -> Result<()> {
    let all = planned.plan.tiles().len();
    let lacks = |&number: &usize| {
        R::files(planned, number)
            .into_iter()
            .find(|path| !path.is_file())
            .map(|path| (number, path))
    };
    let missing: Vec<_> = (0..all).filter_map(|number| lacks(&number)).collect();
    let Some((first, path)) = missing.first() else { return Ok(()) };
    let (count, program, path) = (missing.len(), R::PROGRAM, path.display());
    match count {
        1 => bail!("tile {first} is missing, {path}: {program} run makes it"),
        _ => bail!(
            "{count} of {all} tiles are missing, the first is {path}: {program} run makes them"
        ),
    }
}

/// The file of a tile, read some rows at a time.
pub trait TileRows<T> {
    /// Whole rows of the tile.
    ///
    /// # Errors
    /// An error that says what is wrong with the file.
    fn rows(&self, first: usize, count: usize) -> geo_io::Result<Vec<T>>;
}

impl TileRows<f32> for RasterFile {
    fn rows(&self, first: usize, count: usize) -> geo_io::Result<Vec<f32>> {
        Self::rows(self, first, count)
    }
}

impl<T: NpyElement + Pod> TileRows<T> for ArrayFile {
    fn rows(&self, first: usize, count: usize) -> geo_io::Result<Vec<T>> {
        Self::rows(self, first, count)
    }
}

/// The tiles of a plan, as one raster.
pub struct Mosaic<'a, F> {
    plan: &'a Plan,
    open: &'a dyn Fn(usize) -> geo_io::Result<F>,
    /// The files of the tiles that the last rows touched.
    files: HashMap<usize, F>,
}

impl<'a, F> Mosaic<'a, F> {
    /// Makes a mosaic of tiles; `open` opens the file of a tile by its number.
    pub fn new(plan: &'a Plan, open: &'a dyn Fn(usize) -> geo_io::Result<F>) -> Self {
        Self { plan, open, files: HashMap::new() }
    }

    /// Fills whole rows of the grid.
    ///
    /// # Errors
    /// What is wrong with a tile.
    pub fn fill<T: Copy>(&mut self, first: usize, rows: &mut [T]) -> geo_io::Result<()>
    where
        F: TileRows<T>,
    {
        let width = self.plan.grid().width as usize;
        let end = first + rows.len() / width;
        let touched = |tile: &Tile| {
            let (top, bottom) = (tile.row as usize, (tile.row + tile.height) as usize);
            (top < end && bottom > first).then_some(first.max(top)..end.min(bottom))
        };
        self.files.retain(|&number, _| touched(&self.plan.tiles()[number]).is_some());
        for (number, tile) in self.plan.tiles().iter().enumerate() {
            let Some(common) = touched(tile) else { continue };
            let file = match self.files.entry(number) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert((self.open)(number)?),
            };
            let values = file.rows(common.start - tile.row as usize, common.len())?;
            let left = tile.column as usize;
            for (row, line) in common.zip(values.chunks_exact(tile.width as usize)) {
                let start = (row - first) * width + left;
                rows[start..start + line.len()].copy_from_slice(line);
            }
        }
        Ok(())
    }
}
