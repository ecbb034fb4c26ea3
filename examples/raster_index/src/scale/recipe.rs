//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use ccq_tree::Params;
use geo_io::{Crs, Number};
use gpu_core::{Device, Progress};
use programs::scale::{self, Needs, System};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use super::needs::Sizes;
use super::{Planned, tile};
use crate::trees::{AnyTree, Values};

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The type of the cells.
    pub cells: String,
    /// The first column and row of each input, its columns and rows; by the order of the plan's inputs.
    pub places: Vec<[u32; 4]>,
    bins: Vec<f64>,
    /// What stands for NODATA among the cells.
    nodata: Option<f64>,
    /// What stands for it among the values of the inputs, exactly.
    stated: Option<String>,
    /// Bytes of a value of the inputs.
    value_bytes: u64,
    /// The reference system of the whole.
    system: Option<System>,
    /// The most bytes that reading takes beside the values.
    #[serde(default)]
    unpacking: u64,
}

impl Recipe {
    /// That of the command line, for rasters of values of some bytes that lie somewhere and become cells of a type.
    pub fn new(
        cells: &str,
        places: Vec<[u32; 4]>,
        params: &Params,
        stated: Option<Number>,
        value_bytes: u64,
    ) -> Self {
        let (bins, nodata) = (params.bins.clone(), params.nodata);
        let (cells, stated) = (cells.to_owned(), stated.map(|number| number.to_string()));
        let (system, unpacking) = (None, 0);
        Self { cells, places, bins, nodata, stated, value_bytes, system, unpacking }
    }

    /// What stands for NODATA among the values of the inputs.
    pub fn stated(&self) -> Result<Option<Number>> {
        Ok(self.stated.as_deref().map(str::parse).transpose()?)
    }

    /// The same of rasters in a reference system.
    pub fn system(self, system: Option<System>) -> Self {
        Self { system, ..self }
    }

    /// The same where reading takes so many bytes beside those of the values.
    pub fn unpacking(self, unpacking: u64) -> Self {
        Self { unpacking, ..self }
    }

    /// The reference system.
    pub fn crs(&self) -> Result<Option<Crs>> {
        self.system.as_ref().map(System::crs).transpose()
    }

    /// What stands for NODATA, and the bins.
    pub fn params(&self) -> Params {
        Params::new().bins(self.bins.clone()).nodata(self.nodata)
    }

    /// What decides the memory of a tile.
    pub fn sizes(&self) -> Sizes {
        let cell = match &self.cells[..] {
            "u8" => 1,
            "i16" | "u16" => 2,
            _ => 4,
        };
        Sizes::of(cell, self.value_bytes, self.unpacking)
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "raster_index";
    const VERSION: u32 = 2;
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
        Ok(geo_io::write_file(&path, |file| tree.write_to(file))?)
    }
}
