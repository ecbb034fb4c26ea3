//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{Georeference, ValuesFile};
use gpu_core::{Device, Progress};
use programs::scale::{self, FIXED, Needs, System, part};
use serde::{Deserialize, Serialize};
use tile_plan::{Model, Tile};

use super::tile::Layer;
use super::{Planned, tile};
use crate::choices::{Kind, MethodArgs, Name};
use crate::dem::Lie;
use crate::drawing::Drawing;

/// Bytes of a piece of a contour line while lines are found, and of its point. The plan does not know how many pieces
/// there are, and assumes one in each cell. Contour lines that a map can tell apart have far fewer.
const PIECE: u64 = 64;
const POINT: u64 = 24;
/// Bytes of a piece on a card, and of the square that it lies in.
const ON_DEVICE: u64 = 112;

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The products, each once.
    pub products: Vec<Name>,
    /// How they are made.
    pub method: MethodArgs,
    pub drawing: Drawing,
    /// GDAL's geotransform of the whole.
    transform: [f64; 6],
    crs: Option<System>,
    /// Metres of a unit of height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    height: Option<f64>,
    /// Bytes of a value of the DEM.
    value_bytes: u64,
    /// Bytes that reading the DEM takes beside its values.
    unpacking_bytes: u64,
    /// The Zarr array whose chunks are the tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zarr: Option<String>,
}

impl Recipe {
    /// Makes the recipe that the command line gives, for a DEM with a known place.
    pub fn new(
        products: Vec<Name>,
        (method, drawing): (&MethodArgs, Drawing),
        lie: &Lie,
        file: &ValuesFile,
    ) -> Result<Self> {
        Ok(Self {
            products,
            method: method.clone(),
            drawing,
            transform: lie.place.transform,
            crs: lie.place.crs.as_ref().map(System::of).transpose()?,
            height: lie.height,
            value_bytes: file.value_bytes(),
            unpacking_bytes: file.unpacking_bytes(),
            zarr: None,
        })
    }

    /// Where the whole lies.
    pub fn lie(&self) -> Result<Lie> {
        let crs = self.crs.as_ref().map(System::crs).transpose()?;
        Ok(Lie::new(Georeference { transform: self.transform, crs }, self.height))
    }

    /// A cell of the window while it is read: as it comes, as a number of 64 bits, and as a height.
    fn read(&self) -> u64 {
        self.value_bytes + 8 + 4
    }

    /// A cell of the window while products are made: its height, one product with what a device's copies take, and all
    /// that are kept.
    fn made(&self) -> u64 {
        4 + 8 + self.written() + if self.has_lines() { PIECE } else { 0 }
    }

    /// A cell of the tile while it is written.
    fn written(&self) -> u64 {
        let of = |name: &Name| if name.kind() == Kind::Lines { POINT } else { 4 };
        self.products.iter().map(of).sum()
    }

    fn has_lines(&self) -> bool {
        self.products.iter().any(|name| name.kind() == Kind::Lines)
    }

    /// A tile that is made while one like it is read and another is written.
    pub fn model(&self) -> Model {
        let per_cell = self.read() + self.made().max(self.read()) + self.written() + 4;
        Model { fixed: FIXED.saturating_add(self.unpacking_bytes), per_point: 0, per_cell }
    }

    /// A tile on a card: the heights, and a product. The rest is for the table of rows and for memory that the card's
    /// pool keeps.
    pub fn on_device(&self) -> Model {
        let per_cell = 12 + if self.has_lines() { ON_DEVICE } else { 0 };
        Model { fixed: 32 << 20, per_point: 0, per_cell }
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "terrain";
    const VERSION: u32 = 2;
    type Read = Vec<f32>;
    type Made = Vec<Layer>;

    fn zarr(&self) -> Option<&str> {
        self.zarr.as_deref()
    }

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        let recipe = &planned.recipe;
        let own = u64::from(tile.width) * u64::from(tile.height);
        let read = tile.cells.saturating_mul(recipe.read());
        Needs {
            read: read.saturating_add(recipe.unpacking_bytes),
            make: tile.cells.saturating_mul(recipe.made().max(recipe.read())),
            // A product's, packed.
            write: own * (recipe.written() + 4),
        }
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        if let (Ok(Some(store)), Ok(tile)) = (tile::store(planned), planned.tile(number)) {
            return store.files(part(tile));
        }
        let ends = planned.recipe.products.iter().flat_map(|&name| tile::ends(name));
        ends.map(|end| planned.path_of(number, &end)).collect()
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        let products = &mut planned.recipe.products.iter();
        products.all(|&name| tile::check(planned, number, name).is_ok())
            && planned.check_sums(number).is_ok()
    }

    fn read(planned: &Planned, tile: &Tile, _: &dyn Progress) -> Result<Vec<f32>> {
        tile::read(planned, tile)
    }

    fn make(
        planned: &Planned,
        tile: &Tile,
        heights: Vec<f32>,
        device: &Device,
        _: &dyn Progress,
    ) -> Result<Vec<Layer>> {
        tile::make(planned, tile, &heights, device)
    }

    fn write(planned: &Planned, number: usize, made: Vec<Layer>) -> Result<()> {
        tile::write(planned, number, &made)
    }
}
