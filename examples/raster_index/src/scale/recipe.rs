//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::Number;
use gpu_core::{Device, GridSpec, Progress};
use programs::scale::{self, Needs, System};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use super::needs::Sizes;
use super::{Planned, tile};
use crate::cells::cell_bytes;
use crate::place::Place;
use crate::trees::{AnyTree, How};
use crate::values::Values;

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The type of the cells.
    cells: String,
    /// The first column and row of each input, its columns and rows; by the order of the plan's inputs.
    pub places: Vec<[u32; 4]>,
    /// Boundaries of bins, exactly.
    bins: Vec<String>,
    /// The exact value that stands for NODATA among the cells.
    nodata: Option<String>,
    /// The exact value that stands for NODATA in the inputs.
    stated: Option<String>,
    /// Bytes of a value of the inputs.
    value_bytes: u64,
    /// The reference system of the whole.
    system: Option<System>,
    /// Its geotransform, if its grid does not say where it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transform: Option<[f64; 6]>,
    /// The most bytes that reading takes beside the values.
    #[serde(default)]
    unpacking: u64,
}

impl Recipe {
    /// Makes the recipe of rasters of values of some bytes that lie at places and become an index.
    pub fn new(how: &How, places: Vec<[u32; 4]>, stated: Option<Number>, value_bytes: u64) -> Self {
        let bins = how.bins.iter().map(Number::to_string).collect();
        let [nodata, stated] =
            [how.nodata, stated].map(|number| number.map(|number| number.to_string()));
        let (cells, system, transform, unpacking) = (how.cells.clone(), None, None, 0);
        Self { cells, places, bins, nodata, stated, value_bytes, system, transform, unpacking }
    }

    /// The value that stands for NODATA in the inputs.
    pub fn stated(&self) -> Result<Option<Number>> {
        Ok(self.stated.as_deref().map(str::parse).transpose()?)
    }

    /// Sets the reference system of the rasters.
    pub fn system(self, system: Option<System>) -> Self {
        Self { system, ..self }
    }

    /// Sets the geotransform of a raster whose grid does not say where it lies.
    pub fn transform(self, transform: Option<[f64; 6]>) -> Self {
        Self { transform, ..self }
    }

    /// Sets how many bytes reading takes beside those of the values.
    pub fn unpacking(self, unpacking: u64) -> Self {
        Self { unpacking, ..self }
    }

    /// The place of the whole raster, as a grid.
    pub fn place(&self, grid: GridSpec) -> Result<Place> {
        let crs = self.system.as_ref().map(System::crs).transpose()?;
        Ok(Place::new(grid, self.transform, crs))
    }

    /// How the index is built.
    pub fn how(&self) -> Result<How> {
        let bins = self.bins.iter().map(|bin| bin.parse()).collect::<Result<_, _>>()?;
        let nodata = self.nodata.as_deref().map(str::parse).transpose()?;
        Ok(How { cells: self.cells.clone(), bins, nodata })
    }

    /// What decides the memory of a tile.
    pub fn sizes(&self) -> Sizes {
        let cell = cell_bytes(&self.cells);
        let sizes = Sizes::of(cell, self.value_bytes, self.unpacking);
        match (self.how().is_ok_and(|how| how.is_coded()), self.bins.is_empty()) {
            (false, _) => sizes,
            (true, false) => sizes.of_bins(),
            (true, true) => sizes.of_values(),
        }
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "raster_index";
    const VERSION: u32 = 3;
    type Read = Values;
    type Made = AnyTree;

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        planned.recipe.sizes().needs(tile)
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        vec![planned.path_of(number, ".ccq")]
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        tile::open(planned, number).is_ok()
    }

    fn read(planned: &Planned, tile: &Tile, _: &dyn Progress) -> Result<Values> {
        tile::read(planned, tile)
    }

    fn make(
        planned: &Planned,
        tile: &Tile,
        values: Values,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<AnyTree> {
        tile::build(planned, tile, &values, device, progress)
    }

    fn write(planned: &Planned, number: usize, tree: AnyTree) -> Result<()> {
        let path = planned.path_of(number, ".ccq");
        Ok(geo_io::write_file(&path, |mut file| tree.write_to(&mut file))?)
    }
}
