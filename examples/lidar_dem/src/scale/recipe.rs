//! What a plan holds of the program's own: how each tile is made.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, anyhow};
use geo_io::{Crs, CsvColumns};
use gpu_core::{Device, Progress};
use nni_grid::{Fill, Method, Weights};
use programs::args::{Given, PointArgs};
use programs::cloud::Cloud;
use programs::scale::{self, Needs, PointRecipe, Selection, SurfaceRecipe, System};
use serde::{Deserialize, Serialize};
use tile_plan::{Input, Tile};

use crate::asked::Asked;
use crate::lattice::Lattice;
use crate::layer::Layer;
use crate::scale::needs::Kind;
use crate::scale::{Planned, tile};
use crate::surface::{self, SurfaceArgs, further};
use crate::within::Area;

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    #[serde(flatten)]
    points: Selection,
    method: String,
    weights: String,
    duplicates: String,
    /// `None` means no limit, since JSON has no infinity; also in the fields below.
    max_distance: Option<f64>,
    region_of_influence: Option<f64>,
    query_radius: Option<f64>,
    supersample: u32,
    fill: String,
    layers: Vec<String>,
    values: Vec<String>,
    dsm: bool,
    /// The raster that stated the cells. Tiles do not read it, and no output replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<Input>,
    /// The raster that heights are above.
    above: Option<Input>,
    /// The polygons outside of which cells have no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<Input>,
    /// The polygons, after they are read.
    #[serde(skip)]
    area: OnceLock<Area>,
    /// The lowest and the highest point of all inputs, where heights are among the values.
    pub heights: Option<[f64; 2]>,
    /// The ranges of the other values.
    pub ranges: Vec<[f64; 2]>,
    crs: Option<System>,
    /// A crossing of edges of cells.
    anchor: [f64; 2],
    /// Whether the grid covers all of the points' ground.
    pub ends_at_grid: bool,
    /// The Zarr array whose chunks are the tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zarr: Option<String>,
}

/// A file beside the points as a plan has it.
fn beside(path: &Path) -> Result<Input> {
    Ok(Input::new(scale::name(path)?).stamp(scale::stamp(path)?))
}

/// Between what values lie.
pub struct Ends {
    /// Heights, where they are interpolated.
    pub heights: Option<[f64; 2]>,
    /// The others.
    pub further: Vec<[f64; 2]>,
}

/// The name of the exact method.
const EXACT: &str = "exact";

impl Recipe {
    /// Makes the recipe that the command line gives.
    pub fn new(
        (points, surface): (&PointArgs, &SurfaceArgs),
        asked: &Asked,
        lattice: Lattice,
        ends: Ends,
        crs: Option<&Crs>,
    ) -> Result<Self> {
        let limit = |cells: f64| cells.is_finite().then_some(cells);
        Ok(Self {
            points: Selection::of(points),
            method: match surface.method {
                Method::Exact => EXACT,
                Method::Pixels => "pixels",
            }
            .to_owned(),
            weights: match surface.weights {
                Weights::Sibson => "sibson",
                Weights::Laplace => "laplace",
                Weights::SibsonC1 => "c1",
                Weights::Linear => "linear",
            }
            .to_owned(),
            duplicates: surface.duplicates.to_string(),
            max_distance: limit(surface.max_distance),
            region_of_influence: limit(surface.region_of_influence()),
            query_radius: limit(surface.query_radius()),
            supersample: surface.supersample,
            fill: match surface.fill {
                Fill::Nodata => "nodata".to_owned(),
                Fill::Nearest => "nearest".to_owned(),
                Fill::Value(value) => value.to_string(),
            },
            layers: surface.layer.iter().map(|layer| layer.name().to_owned()).collect(),
            values: surface.value.clone(),
            dsm: surface.dsm,
            template: surface.template.as_deref().map(scale::name).transpose()?.map(Input::new),
            above: surface.above.as_deref().map(beside).transpose()?,
            within: surface.within.as_deref().map(beside).transpose()?,
            area: OnceLock::new(),
            heights: ends.heights,
            ranges: ends.further,
            crs: crs.map(System::of).transpose()?,
            anchor: lattice.anchor,
            ends_at_grid: asked.bounds.is_none(),
            zarr: None,
        })
    }

    /// How the surface is made.
    pub fn surface(&self) -> Result<SurfaceArgs> {
        Ok(SurfaceArgs {
            given: Given::default(),
            resolution: None,
            size: None,
            template: None,
            value: self.values.clone(),
            dsm: self.dsm,
            breaklines: None,
            above: self.above.as_ref().map(|input| PathBuf::from(&input.path)),
            within: self.within.as_ref().map(|input| PathBuf::from(&input.path)),
            max_distance: self.max_distance.unwrap_or(f64::INFINITY),
            hull: false,
            fill: surface::fill(&self.fill).map_err(|reason| anyhow!("fill: {reason}"))?,
            layer: self.layers().map_err(|reason| anyhow!("layers: {reason}"))?,
            method: self.method.parse()?,
            weights: self.weights.parse()?,
            query_radius: self.query_radius,
            region_of_influence: self.region_of_influence,
            supersample: self.supersample,
            site_radius: None,
            duplicates: self.duplicates.parse()?,
        })
    }

    fn layers(&self) -> Result<Vec<Layer>, String> {
        self.layers.iter().map(|name| name.parse()).collect()
    }

    /// Refuses further files that have changed since the plan was made.
    pub fn require_beside(&self) -> Result<()> {
        self.above.iter().chain(&self.within).try_for_each(scale::require_unchanged)
    }

    /// The polygons outside of which cells have no value, which are read once.
    pub fn area(&self) -> Result<Option<&Area>> {
        let Some(input) = &self.within else { return Ok(None) };
        if let Some(area) = self.area.get() {
            return Ok(Some(area));
        }
        let area = Area::read(Path::new(&input.path))?;
        scale::require_unchanged(input)?;
        Ok(Some(self.area.get_or_init(|| area)))
    }

    /// Where edges of cells of this side lie.
    pub fn lattice(&self, cell: f64) -> Lattice {
        Lattice { anchor: self.anchor, cell }
    }

    /// Whether the method is exact.
    pub fn is_exact(&self) -> bool {
        self.method == EXACT
    }

    /// What decides the memory of a tile.
    fn kind(&self) -> Kind {
        let method = if self.is_exact() { Method::Exact } else { Method::Pixels };
        Kind {
            method,
            supersample: self.supersample,
            bands: (self.values.len() + self.layers.len()) as u64,
            further: self.ranges.len() as u64,
        }
    }
}

impl SurfaceRecipe for Recipe {
    const WHOLE: &'static str = "dem";
    const QUANTITY: &'static str = "heights";

    fn crs(&self) -> Result<Option<Crs>> {
        let points = self.crs.as_ref().map(System::crs).transpose()?;
        Ok(self.surface()?.crs_of_result(points.as_ref()))
    }

    fn bands(&self) -> Result<Vec<String>> {
        Ok(self.surface()?.bands())
    }
}

impl PointRecipe for Recipe {
    fn selection(&self) -> &Selection {
        &self.points
    }

    fn columns(&self) -> CsvColumns {
        self.points.columns().values(further(&self.values))
    }

    fn reads_beyond(&self) -> bool {
        self.is_exact()
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "lidar_dem";
    const VERSION: u32 = 4;
    type Read = Cloud;
    type Made = Vec<Vec<f32>>;

    fn zarr(&self) -> Option<&str> {
        self.zarr.as_deref()
    }

    fn beside(&self) -> Vec<&Input> {
        self.template.iter().chain(&self.above).chain(&self.within).collect()
    }

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        planned.recipe.kind().needs(tile)
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        planned.surface_paths(number)
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        planned.has_surface(number)
    }

    fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<Cloud> {
        tile::read(planned, tile, progress)
    }

    fn make(
        planned: &Planned,
        tile: &Tile,
        cloud: Cloud,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<f32>>> {
        tile::bands(planned, tile, cloud, device, progress)
    }

    fn write(planned: &Planned, number: usize, bands: Vec<Vec<f32>>) -> Result<()> {
        planned.write_surface(number, &bands)
    }
}
