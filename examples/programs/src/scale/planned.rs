//! A plan that has been read, and the place of its tiles.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use geo_io::{Georeference, RasterFile};
use gpu_core::{Device, Progress};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tile_plan::{Input, Plan, Tile};

use super::Needs;

/// How a program makes its tiles: what it puts into a plan, and the steps of a tile.
pub trait Recipe: Serialize + DeserializeOwned + Sync {
    /// The program.
    const PROGRAM: &'static str;
    /// A later version that makes tiles differently must have another number.
    const VERSION: u32;
    /// The data that are read for a tile.
    type Read: Send;
    /// What a tile is made of.
    type Made: Send;

    /// Refuses a plan if data that all tiles need are missing, so that one line replaces an error for each tile.
    ///
    /// # Errors
    /// In the case that the summary names.
    fn require_ready(_planned: &Planned<Self>) -> Result<()> {
        Ok(())
    }

    /// The Zarr array whose chunks are the tiles; `None` if each tile has its own files.
    fn zarr(&self) -> Option<&str> {
        None
    }

    /// The files that tiles are made of beside the plan's inputs.
    fn beside(&self) -> Vec<&Input> {
        Vec::new()
    }

    /// The memory of a tile at each step.
    fn needs(planned: &Planned<Self>, tile: &Tile) -> Needs;

    /// The files of a tile.
    fn files(planned: &Planned<Self>, number: usize) -> Vec<PathBuf>;

    /// Whether the files of a tile are there, are the plan's, and have the contents that were written.
    fn is_whole(planned: &Planned<Self>, number: usize) -> bool;

    /// Reads what a tile needs.
    ///
    /// # Errors
    /// What is wrong with the inputs.
    fn read(planned: &Planned<Self>, tile: &Tile, progress: &dyn Progress) -> Result<Self::Read>;

    /// Makes a tile of it.
    ///
    /// # Errors
    /// What went wrong on the device, or with the input.
    fn make(
        planned: &Planned<Self>,
        tile: &Tile,
        read: Self::Read,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Self::Made>;

    /// Writes the files of a tile. Each appears whole or not at all, with the same bytes whenever it is written.
    ///
    /// # Errors
    /// The errors of writing.
    fn write(planned: &Planned<Self>, number: usize, made: Self::Made) -> Result<()>;
}

/// The program's own part of a plan.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Held<R> {
    program: String,
    version: u32,
    /// The most bytes of all tiles in work; `None` for the free memory of the machine that makes them.
    memory: Option<u64>,
    recipe: R,
}

/// A plan that has been read, and the place of its tiles.
pub struct Planned<R> {
    /// The plan.
    pub plan: Plan,
    /// The plan's id, which tells it from any other plan ([`Plan::id`]).
    pub id: String,
    /// How its tiles are made.
    pub recipe: R,
    /// The most bytes of all tiles in work; `None` for the free memory of the machine that makes them.
    pub memory: Option<u64>,
    /// The folder of the tiles.
    pub folder: PathBuf,
    /// The folder of the bins, of programs on points.
    pub bins: PathBuf,
}

impl<R: Recipe> Planned<R> {
    /// What a plan holds of the program.
    ///
    /// # Errors
    /// None: what a recipe has can be written as JSON.
    pub(super) fn held(recipe: R, memory: Option<u64>) -> Result<Value> {
        let (program, version) = (R::PROGRAM.to_owned(), R::VERSION);
        Ok(serde_json::to_value(Held { program, version, memory, recipe })?)
    }

    /// Reads a plan, which must be one of this program's.
    ///
    /// # Errors
    /// The file cannot be read, is not a plan, or is another program's.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let failed = |reason| geo_io::Error::Read { path: path.to_owned(), reason };
        let mut text = Vec::new();
        // A named pipe without a writer would block for ever, so this refuses pipes.
        let (mut file, _) = gpu_core::files::open(path).map_err(failed)?;
        file.read_to_end(&mut text).map_err(failed)?;
        let text = String::from_utf8_lossy(&text);
        let plan = Plan::from_json(&text).with_context(|| name.to_string())?;
        let Held { memory, recipe, .. } = Self::of(&plan).with_context(|| name.to_string())?;
        let id = plan.id();
        let place = behind_link(path).map_err(failed)?;
        let [folder, bins] =
            ["tiles", "bins"].map(|what| place.with_file_name(format!("{what}-{id}")));
        Ok(Self { plan, id, recipe, memory, folder, bins })
    }

    fn of(plan: &Plan) -> Result<Held<R>> {
        let (held, name, known) = (plan.program(), R::PROGRAM, R::VERSION);
        ensure!(held["program"] == name, "another program than {name} made this plan");
        let version = held["version"].as_u64().unwrap_or(0);
        ensure!(
            version == u64::from(known),
            "this plan has version {version}, but this {name} reads version {known}: make the \
             plan again"
        );
        Held::deserialize(held).context("this plan is damaged")
    }

    /// A tile, which must be one of the plan's.
    ///
    /// # Errors
    /// The plan has no tile of that number.
    pub fn tile(&self, number: usize) -> Result<&Tile> {
        let count = self.plan.tiles().len();
        match self.plan.tiles().get(number) {
            Some(tile) => Ok(tile),
            None => bail!("--tile {number}: the plan has the tiles 0 to {}", count.max(1) - 1),
        }
    }

    /// Checks, before long work begins, that each output of `merge` is a separate file. An output must not be the plan,
    /// an input of the plan or a tile, since `--overwrite` would replace it.
    ///
    /// # Errors
    /// Two names mean one file.
    pub fn check_distinct(&self, plan: &Path, outputs: &[&Path]) -> Result<()> {
        let made_of = self.plan.inputs().iter().chain(self.recipe.beside());
        let made_of = made_of.map(|input| PathBuf::from(&input.path));
        let tiles = (0..self.plan.tiles().len()).flat_map(|number| R::files(self, number));
        let read: Vec<PathBuf> =
            std::iter::once(plan.to_owned()).chain(made_of).chain(tiles).collect();
        Ok(geo_io::check_distinct(&read, outputs)?)
    }

    /// A file of a tile, by the end of its name.
    pub fn path_of(&self, number: usize, end: &str) -> PathBuf {
        self.folder.join(format!("{number}{end}"))
    }

    /// Opens a raster of a tile by the end of its name. Its size and place must be the tile's.
    ///
    /// # Errors
    /// An error that says what is wrong with the file.
    pub fn open(&self, number: usize, end: &str, place: &Georeference) -> Result<RasterFile> {
        let (path, tile) = (self.path_of(number, end), self.tile(number)?);
        let file = RasterFile::open(&path)?;
        let transform = file.georeference().map(|place| place.transform);
        let is_its = file.size() == (tile.width as usize, tile.height as usize)
            && transform == Some(place.transform);
        ensure!(is_its, "{} is not tile {number} of the plan", path.display());
        Ok(file)
    }
}

/// Returns the target of a link, or the path itself if it is no link. So a plan has the same tiles by all of its names.
fn behind_link(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_symlink() { path.canonicalize() } else { Ok(path.to_owned()) }
}

/// The name of the folder of a plan's tiles, beside the plan, which differs for each plan.
pub fn folder_name(plan: &Plan) -> String {
    format!("tiles-{}", plan.id())
}
