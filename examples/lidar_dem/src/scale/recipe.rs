//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{Crs, CsvColumns, Filter};
use gpu_core::{Bounds, Device, Progress};
use nni_grid::{Method, Weights};
use programs::args::PointArgs;
use programs::cloud::Cloud;
use programs::scale::{self, Needs, PointRecipe, SurfaceRecipe, System};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use crate::scale::needs::Kind;
use crate::scale::{Planned, tile};
use crate::surface::SurfaceArgs;

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    columns: [String; 3],
    classes: Option<Vec<u8>>,
    returns: String,
    method: String,
    weights: String,
    duplicates: String,
    site_radius: f64,
    query_radius: f64,
    supersample: u32,
    /// `None` for no limit, which JSON has no number for.
    max_distance: Option<f64>,
    /// The lowest and the highest point of all inputs.
    pub heights: [f64; 2],
    crs: Option<System>,
    /// Whether there is no ground beyond the grid, as where it is that of the points.
    pub ends_at_grid: bool,
}

/// The name of the exact method.
const EXACT: &str = "exact";

impl Recipe {
    /// That of the command line.
    pub fn new(
        points: &PointArgs,
        surface: &SurfaceArgs,
        heights: [f64; 2],
        crs: Option<&Crs>,
    ) -> Result<Self> {
        let limit = surface.max_distance;
        Ok(Self {
            columns: points.columns.0.clone(),
            classes: points.classes.as_ref().map(|classes| classes.0.clone()),
            returns: points.returns.to_string(),
            method: match surface.method {
                Method::Exact => EXACT,
                Method::Pixels => "pixels",
            }
            .to_owned(),
            weights: match surface.weights {
                Weights::Sibson => "sibson",
                Weights::Laplace => "laplace",
                Weights::SibsonC1 => "c1",
            }
            .to_owned(),
            duplicates: surface.duplicates.to_string(),
            site_radius: surface.site_radius,
            query_radius: surface.query_radius(),
            supersample: surface.supersample,
            max_distance: limit.is_finite().then_some(limit),
            heights,
            crs: crs.map(System::of).transpose()?,
            ends_at_grid: points.bounds.is_none(),
        })
    }

    /// How the surface is made.
    pub fn surface(&self) -> Result<SurfaceArgs> {
        Ok(SurfaceArgs {
            resolution: None,
            site_radius: self.site_radius,
            method: self.method.parse()?,
            query_radius: Some(self.query_radius),
            supersample: self.supersample,
            weights: self.weights.parse()?,
            hull: false,
            max_distance: self.max_distance.unwrap_or(f64::INFINITY),
            duplicates: self.duplicates.parse()?,
        })
    }

    /// What decides the memory of a tile.
    fn kind(&self) -> Kind {
        let method = if self.method == EXACT { Method::Exact } else { Method::Pixels };
        Kind { method, supersample: self.supersample }
    }
}

impl SurfaceRecipe for Recipe {
    const WHOLE: &'static str = "dem";

    fn crs(&self) -> Result<Option<Crs>> {
        self.crs.as_ref().map(System::crs).transpose()
    }
}

impl PointRecipe for Recipe {
    fn filter(&self, bounds: Option<Bounds>) -> Result<Filter> {
        let (classes, returns) = (self.classes.clone(), self.returns.parse()?);
        Ok(Filter { classes, returns, bounds })
    }

    fn columns(&self) -> CsvColumns {
        let [x, y, z] = self.columns.clone();
        CsvColumns { x, y, z }
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "lidar_dem";
    const VERSION: u32 = 2;
    type Read = Cloud;
    type Made = Vec<f32>;

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        planned.recipe.kind().needs(tile)
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        vec![planned.surface_path(number)]
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
    ) -> Result<Vec<f32>> {
        tile::heights(planned, tile, cloud, device, progress)
    }

    fn write(planned: &Planned, number: usize, heights: Vec<f32>) -> Result<()> {
        planned.write_surface(number, &heights)
    }
}
