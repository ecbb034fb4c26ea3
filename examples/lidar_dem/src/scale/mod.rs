//! A DEM larger than memory, in tiles.
//!
//! `plan` reads headers and writes a plan, a value that holds all that decides the result. `run` makes a tile of it,
//! a job that can be done anywhere, in any order and again; `merge` puts the tiles together. A tile's cells are made
//! as those of `--bounds` are, with the points within reach and a margin that is cut off.

mod merge;
mod plan;
mod recipe;
mod run;

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};
use geo_io::Georeference;
use tile_plan::{Input, Plan, Stamp, Tile};

pub use merge::merge;
pub use plan::plan;
pub use run::run;

use recipe::Recipe;

/// A plan that has been read, and where its tiles are.
struct Planned {
    plan: Plan,
    recipe: Recipe,
    /// The folder of the tiles.
    folder: PathBuf,
}

impl Planned {
    /// Reads a plan, which must be one of this program's.
    fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let text = String::from_utf8_lossy(&text);
        let plan = Plan::from_json(&text).with_context(|| name.to_string())?;
        let recipe = Recipe::of(&plan).with_context(|| name.to_string())?;
        let folder = path.with_file_name(folder_name(&plan));
        Ok(Self { plan, recipe, folder })
    }

    /// A tile, which must be one of the plan's.
    fn tile(&self, number: usize) -> Result<&Tile> {
        let count = self.plan.tiles().len();
        match self.plan.tiles().get(number) {
            Some(tile) => Ok(tile),
            None => bail!("--tile {number}: the plan has the tiles 0 to {}", count.max(1) - 1),
        }
    }

    /// The file of a tile.
    fn path_of(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number}.tif"))
    }

    /// Where a tile lies.
    fn place_of(&self, tile: &Tile) -> Result<Georeference> {
        let crs = self.recipe.crs()?;
        Ok(Georeference::of_grid(&self.plan.grid_of(tile), crs.as_ref()))
    }

    /// Opens the file of a tile, whose size and place must be the tile's.
    fn open(&self, number: usize) -> Result<geo_io::RasterFile> {
        let (path, tile) = (self.path_of(number), self.tile(number)?);
        let file = geo_io::RasterFile::open(&path)?;
        let transform = file.georeference().map(|place| place.transform);
        let is_its = file.size() == (tile.width as usize, tile.height as usize)
            && transform == Some(self.plan.grid_of(tile).geotransform());
        ensure!(is_its, "{} is not tile {number} of the plan", path.display());
        Ok(file)
    }
}

/// The folder of a plan's tiles, beside the plan: another plan's are never taken for them.
fn folder_name(plan: &Plan) -> String {
    format!("tiles-{}", plan.id())
}

/// By what a file is known again.
fn stamp(path: &Path) -> Result<Stamp> {
    let about =
        std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let changed = about.modified().with_context(|| path.display().to_string())?;
    let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Stamp {
        bytes: about.len(),
        seconds: since.as_secs() as i64,
        nanoseconds: since.subsec_nanos(),
    })
}

/// Refuses an input that is not the file that was planned with.
fn require_unchanged(input: &Input) -> Result<()> {
    let now = stamp(Path::new(&input.path))?;
    let path = &input.path;
    ensure!(Some(now) == input.stamp, "{path} has changed since the plan was made: make it again");
    Ok(())
}
