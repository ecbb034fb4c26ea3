//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{Crs, Georeference, MaskFile, SiteValues};
use gpu_core::{Device, GridSpec, Progress};
use pba_voronoi::Params;
use programs::scale::{self, Needs, System, part};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use crate::globe::OnGlobe;
use crate::scale::args::PlanArgs;
use crate::scale::needs::Kind;
use crate::scale::scan;
use crate::scale::tile::{self, Made, Read};
use crate::scale::{Planned, is_short};

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The values of sites, as on the command line; `None` for all but 0.
    values: Option<String>,
    invert: bool,
    /// The sides of a pixel.
    spacing: [f64; 2],
    /// Where the mask lies on the globe, where distances are measured there.
    pub globe: Option<OnGlobe>,
    /// `None` where any pixel may be the nearest site of any other.
    pub max_distance: Option<f64>,
    /// Whether the nearest sites are found too.
    pub nearest: bool,
    /// GDAL's geotransform of the whole.
    transform: [f64; 6],
    crs: Option<System>,
    /// Bytes of a value of the mask.
    value_bytes: u64,
    /// Bytes that reading the mask takes beside its values.
    #[serde(default)]
    unpacking_bytes: u64,
    /// The Zarr array whose chunks are the tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zarr: Option<String>,
}

impl Recipe {
    /// Makes the recipe that the command line gives, for a mask with a known place and pixels of these sides.
    pub fn new(
        args: &PlanArgs,
        (x, y): (f64, f64),
        (place, globe): (&Georeference, Option<OnGlobe>),
        mask: &MaskFile,
    ) -> Result<Self> {
        Ok(Self {
            values: args.sites.values.as_ref().map(SiteValues::to_string),
            invert: args.sites.invert,
            spacing: [x, y],
            globe,
            max_distance: args.max_distance.filter(|most| most.is_finite()),
            nearest: args.nearest,
            transform: place.transform,
            crs: place.without_heights().crs.as_ref().map(System::of).transpose()?,
            value_bytes: mask.value_bytes(),
            unpacking_bytes: mask.unpacking_bytes(),
            zarr: args.store.planned(&args.output)?,
        })
    }

    /// Which pixels are sites.
    pub fn sites(&self) -> Result<SiteValues> {
        let values = self.values.as_deref().map_or(Ok(SiteValues::default()), str::parse)?;
        Ok(SiteValues { inverted: self.invert, ..values })
    }

    /// How to measure distances in a part of the whole.
    pub fn params(&self, whole: &GridSpec) -> Params {
        let [x, y] = self.spacing;
        let mut params = Params::new().distance();
        if let Some(most) = self.max_distance {
            params = params.max_distance(most);
        }
        if self.globe.is_none() {
            params = params.spacing(x, y).part_of(whole.width, whole.height);
        }
        if self.nearest { params.nearest() } else { params }
    }

    /// Whether tiles are strips of columns: without a limit, and on the globe, where these need no halo.
    pub fn is_strip(&self) -> bool {
        self.max_distance.is_none() || self.globe.is_some()
    }

    /// The sides of a pixel.
    pub fn sides(&self) -> (f64, f64) {
        (self.spacing[0], self.spacing[1])
    }

    /// The coordinate system.
    pub fn crs(&self) -> Result<Option<Crs>> {
        self.crs.as_ref().map(System::crs).transpose()
    }

    /// Where the part lies that begins at a column and a row.
    pub fn place_from(&self, column: u32, row: u32) -> Result<Georeference> {
        let [x, ax, bx, y, ay, by] = self.transform;
        let (column, row) = (f64::from(column), f64::from(row));
        let corner = (x + column * ax + row * bx, y + column * ay + row * by);
        Ok(Georeference { transform: [corner.0, ax, bx, corner.1, ay, by], crs: self.crs()? })
    }

    /// What decides the memory of a tile of a grid.
    pub fn kind(&self, whole: &GridSpec) -> Kind {
        let index_bytes = match (self.nearest, is_short(whole)) {
            (false, _) => 0,
            (true, true) => 4,
            (true, false) => 8,
        };
        let is_square = self.spacing[0] == self.spacing[1];
        let (is_strip, is_globe) = (self.is_strip(), self.globe.is_some());
        let (value_bytes, unpacking_bytes) = (self.value_bytes, self.unpacking_bytes);
        Kind { value_bytes, unpacking_bytes, index_bytes, is_square, is_strip, is_globe }
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "distance_transform";
    const VERSION: u32 = 4;
    type Read = Read;
    type Made = Made;

    fn zarr(&self) -> Option<&str> {
        self.zarr.as_deref()
    }

    fn require_ready(planned: &Planned) -> Result<()> {
        match planned.recipe.is_strip() {
            false => Ok(()),
            true => scan::require_all(planned),
        }
    }

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        planned.recipe.kind(planned.plan.grid()).needs(tile)
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        if let (Ok(Some(store)), Ok(tile)) = (tile::store(planned), planned.tile(number)) {
            return store.files(part(tile));
        }
        let distances = planned.path_of(number, ".tif");
        let nearest = planned.recipe.nearest.then(|| planned.path_of(number, tile::NEAREST));
        std::iter::once(distances).chain(nearest).collect()
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        tile::is_whole(planned, number)
    }

    fn read(planned: &Planned, tile: &Tile, _: &dyn Progress) -> Result<Read> {
        tile::read(planned, tile)
    }

    fn make(
        planned: &Planned,
        tile: &Tile,
        read: Read,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Made> {
        tile::make(planned, tile, read, device, progress)
    }

    fn write(planned: &Planned, number: usize, made: Made) -> Result<()> {
        tile::write(planned, number, made)
    }
}
