//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{Crs, CsvColumns, Filter};
use gpu_core::{Bounds, Device, Progress};
use idw::{Params, ValueRange};
use programs::args::PointArgs;
use programs::cloud::Cloud;
use programs::scale::{self, Needs, PointRecipe, System, read_points};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use crate::scale::{Planned, needs, open, tile};
use crate::surface::{DEFAULT_POWER, Quadrants, SurfaceArgs};

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    columns: [String; 3],
    classes: Option<Vec<u8>>,
    returns: String,
    power: f64,
    smoothing: f64,
    /// `None` for the nearest points, however far.
    radius: Option<f64>,
    /// 0 for no limit.
    pub max_points: u32,
    min_points: u32,
    /// The fewest and the most points of a quadrant; 0 for no limit.
    per_quadrant: [u32; 2],
    /// The lowest and the highest value of all inputs.
    pub range: [f64; 2],
    crs: Option<System>,
}

impl Recipe {
    /// That of the command line.
    pub fn new(
        points: &PointArgs,
        surface: &SurfaceArgs,
        range: [f64; 2],
        crs: Option<&Crs>,
    ) -> Result<Self> {
        let Quadrants { min, max } = surface.per_quadrant.unwrap_or(Quadrants { min: 0, max: 0 });
        Ok(Self {
            columns: points.columns.0.clone(),
            classes: points.classes.as_ref().map(|classes| classes.0.clone()),
            returns: points.returns.to_string(),
            power: surface.power.unwrap_or(DEFAULT_POWER),
            smoothing: surface.smoothing,
            radius: surface.radius,
            max_points: surface.max_points.unwrap_or(0),
            min_points: surface.min_points,
            per_quadrant: [min, max],
            range,
            crs: crs.map(System::of).transpose()?,
        })
    }

    /// How a cell comes to its value.
    pub fn params(&self) -> Params {
        let ([min, max], [fewest, most]) = (self.range, self.per_quadrant);
        Params::default()
            .power(self.power)
            .smoothing(self.smoothing)
            .radius(self.radius.unwrap_or(0.0))
            .max_points(self.max_points)
            .min_points(self.min_points)
            .min_points_per_quadrant(fewest)
            .max_points_per_quadrant(most)
            .value_range(ValueRange { min, max })
    }

    /// Whether the nearest points count, however far they are.
    pub fn is_nearest(&self) -> bool {
        self.radius.is_none()
    }

    /// The coordinate system.
    pub fn crs(&self) -> Result<Option<Crs>> {
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

    fn reads_beyond(&self) -> bool {
        self.is_nearest()
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "idw_surface";
    const VERSION: u32 = 1;
    type Read = Cloud;
    type Made = Vec<f32>;

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        needs::needs(tile, planned.recipe.is_nearest())
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        vec![planned.path_of(number, ".tif")]
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        open(planned, number).is_ok_and(|file| scale::is_whole(&file))
    }

    fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<Cloud> {
        read_points(planned, &tile.read, progress)
    }

    fn make(
        planned: &Planned,
        tile: &Tile,
        cloud: Cloud,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>> {
        tile::values(planned, tile, cloud, device, progress)
    }

    fn write(planned: &Planned, number: usize, values: Vec<f32>) -> Result<()> {
        tile::write(planned, number, &values)
    }
}
