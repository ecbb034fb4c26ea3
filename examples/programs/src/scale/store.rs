//! Tiles as chunks of one Zarr array, which need no merging.
//!
//! Every tile begins and ends with a chunk, so each job writes separate files. A chunk appears whole or not at all. A
//! tile's checksums are written after all of its chunks. So a tile that was interrupted has no checksums, and `run`
//! makes it again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, ensure};
use geo_io::{Existing, Georeference, Output, ZarrTiles};
use gpu_core::files::folder_of;
use tile_plan::{Plan, Tile};

use super::{Planned, Recipe};
use crate::args::Format;

/// The longest side of a chunk.
const MOST: u32 = 512;

/// The Zarr array whose chunks are a plan's tiles.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// Write tiles as chunks of this Zarr array (.zarr), side by side: then there is nothing to merge
    #[arg(long, value_name = "PATH")]
    pub zarr: Option<PathBuf>,
}

impl StoreArgs {
    /// The store's absolute name in a plan, which is valid from any folder. `plan` is the plan's file.
    ///
    /// # Errors
    /// A name of another format or that of the plan, a store that exists already, or a folder that does not exist.
    pub fn planned(&self, plan: &Path) -> Result<Option<String>> {
        let Some(path) = &self.zarr else { return Ok(None) };
        Format::of("--zarr", path, &[Format::Zarr])?;
        geo_io::check_distinct(&[], &[plan, path])?;
        let output = Output { path, existing: Existing::Refuse };
        geo_io::check_output(output).map_err(|error| match error {
            // Its chunks are written by `run`, which replaces none.
            geo_io::Error::Exists { .. } => anyhow!(
                "--zarr {}: it exists already, and tiles go into a new store: remove it, or give another name",
                path.display()
            ),
            other => Error::new(other).context(format!("--zarr {}", path.display())),
        })?;
        let name = path.file_name().context("--zarr does not name a folder")?;
        let place = folder_of(path).canonicalize()?.join(name);
        let name = place.to_str().map(str::to_owned);
        Ok(Some(name.with_context(|| {
            format!("--zarr {}: a plan takes only names in UTF-8", path.display())
        })?))
    }
}

/// The side of chunks that divides all tiles of a plan along an axis.
fn side(plan: &Plan, first: impl Fn(&Tile) -> u32) -> u32 {
    let step = plan.tiles().iter().fold(0, |step, tile| divisor(step, first(tile)));
    match step {
        0 => MOST,
        _ => (1..=MOST).rev().find(|side| step % side == 0).unwrap_or(step),
    }
}

/// The greatest common divisor.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl<R: Recipe> Planned<R> {
    /// The store with bands of these names, if tiles are chunks of a store.
    ///
    /// # Errors
    /// The plan was changed by hand.
    pub fn store(&self, place: &Georeference, names: &[&str]) -> Result<Option<ZarrTiles>> {
        let Some(path) = self.recipe.zarr() else { return Ok(None) };
        let grid = self.plan.grid();
        let chunk = (side(&self.plan, |tile| tile.column), side(&self.plan, |tile| tile.row));
        let size = (grid.width, grid.height);
        Ok(Some(ZarrTiles::new(Path::new(path), place, size, names, chunk)?))
    }

    /// Refuses to merge tiles that are already one array.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_files(&self) -> Result<()> {
        let program = R::PROGRAM;
        ensure!(
            self.recipe.zarr().is_none(),
            "this plan's tiles are chunks of {}, so there is nothing to merge; {program} run \
             --all says whether any is missing",
            self.recipe.zarr().unwrap_or_default()
        );
        Ok(())
    }
}

/// A tile as its first column and row, and how many it has.
pub fn part(tile: &Tile) -> [u32; 4] {
    [tile.column, tile.row, tile.width, tile.height]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_the_greatest() {
        assert_eq!(
            [divisor(0, 48), divisor(48, 0), divisor(48, 64), divisor(7, 5)],
            [48, 48, 16, 1]
        );
    }
}
