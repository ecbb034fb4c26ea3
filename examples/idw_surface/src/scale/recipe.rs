//! The program's own part of a plan: how to make each tile.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::Crs;
use gpu_core::{Bounds, Device, Progress};
use idw::{Adaptive, Params, ValueRange};
use kriging::Variogram;
use programs::args::PointArgs;
use programs::cloud::Cloud;
use programs::scale::{self, Needs, PointRecipe, Selection, SurfaceRecipe, System, read_points};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use crate::kriging::DEFAULT_POINTS;
use crate::scale::needs::{Kind, Reads};
use crate::scale::{Planned, needs, tile};
use crate::surface::{DEFAULT_POWER, KernelName, Quadrants, SurfaceArgs, bands};

/// All ground.
const EVERYWHERE: Bounds = Bounds {
    min_x: f64::NEG_INFINITY,
    min_y: f64::NEG_INFINITY,
    max_x: f64::INFINITY,
    max_y: f64::INFINITY,
};

/// Kriging in place of inverse distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kriging {
    variogram: String,
    variance: bool,
}

/// How tiles are made, beside what a plan has of any program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    #[serde(flatten)]
    points: Selection,
    power: f64,
    /// In place of the power.
    kernel: Option<KernelName>,
    bandwidth: Option<f64>,
    smoothing: f64,
    /// `None` for the nearest points, however far.
    radius: Option<f64>,
    /// 0 for no limit.
    pub max_points: u32,
    min_points: u32,
    /// The fewest and the most points of a quadrant; 0 for no limit.
    per_quadrant: [u32; 2],
    adaptive: bool,
    geographic: bool,
    /// Whether the deviation of the points is a second band.
    deviation: bool,
    /// Whether the result has the prediction error.
    pub prediction_error: bool,
    kriging: Option<Kriging>,
    /// The points of a part, where all are more than memory holds.
    part: Option<u64>,
    /// The lowest and the highest value of all inputs.
    pub range: [f64; 2],
    crs: Option<System>,
}

impl Recipe {
    /// Makes the recipe that the command line gives.
    pub fn new(
        points: &PointArgs,
        surface: &SurfaceArgs,
        variogram: Option<&Variogram>,
        range: [f64; 2],
        crs: Option<&Crs>,
    ) -> Result<Self> {
        let variance = surface.kriging.variance;
        let kriging =
            variogram.map(|variogram| Kriging { variogram: variogram.to_string(), variance });
        let max_points = match kriging {
            Some(_) => surface.max_points.unwrap_or(DEFAULT_POINTS),
            None => surface.max_points.unwrap_or(0),
        };
        let Quadrants { min, max } = surface.per_quadrant.unwrap_or(Quadrants { min: 0, max: 0 });
        Ok(Self {
            points: Selection::of(points),
            power: surface.power.unwrap_or(DEFAULT_POWER),
            kernel: surface.kernel,
            bandwidth: surface.bandwidth,
            smoothing: surface.smoothing,
            radius: surface.reach(),
            max_points,
            min_points: surface.min_points,
            per_quadrant: [min, max],
            adaptive: surface.adaptive,
            geographic: surface.geographic,
            deviation: surface.deviation,
            prediction_error: surface.prediction_error,
            kriging,
            part: None,
            range,
            crs: crs.map(System::of).transpose()?,
        })
    }

    /// Returns the recipe with points in parts of this size; `None` if the method cannot add up parts.
    pub fn in_parts(self, points: u64) -> Option<Self> {
        let params = self.params();
        let is_else = self.kriging.is_some() || self.prediction_error;
        let adds_up = params.is_all_pairs() && params.adaptive.is_none() && !is_else;
        adds_up.then_some(Self { part: Some(points), ..self })
    }

    /// How a cell comes to its value.
    pub fn params(&self) -> Params {
        let ([min, max], [fewest, most]) = (self.range, self.per_quadrant);
        let params = Params::default()
            .power(self.power)
            .smoothing(self.smoothing)
            .radius(self.radius.unwrap_or(0.0))
            .max_points(self.max_points)
            .min_points(self.min_points)
            .min_points_per_quadrant(fewest)
            .max_points_per_quadrant(most)
            .geographic(self.geographic)
            .adaptive(self.adaptive.then(Adaptive::default))
            .kernel(self.kernel.zip(self.bandwidth).map(|(name, bandwidth)| name.with(bandwidth)))
            .statistics(self.deviation);
        // As in one run.
        let range = (!params.is_all_pairs()).then_some(ValueRange { min, max });
        params.value_range(range)
    }

    /// How a cell is kriged, and whether the variance is wanted; `None` for inverse distances.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    pub fn kriging(&self) -> Result<Option<(kriging::Params, bool)>> {
        let Some(Kriging { variogram, variance }) = &self.kriging else { return Ok(None) };
        let (most, least) = (Some(self.max_points), self.min_points);
        let params = crate::kriging::params(variogram.parse()?, most, least, self.radius);
        Ok(Some((params, *variance)))
    }

    /// What a cell of a tile takes.
    pub fn kind(&self) -> Kind {
        let bands = 1 + u64::from(self.second_band().is_some());
        Kind { reads: self.reads(), is_kriging: self.kriging.is_some(), bands }
    }

    fn second_band(&self) -> Option<&'static str> {
        let has_variance = self.kriging.as_ref().is_some_and(|kriging| kriging.variance);
        let of_points = self.prediction_error.then_some("prediction-error");
        has_variance.then_some("variance").or(self.deviation.then_some("deviation")).or(of_points)
    }

    /// How many searches a cell rests on, one after the other.
    pub fn depth(&self) -> u32 {
        1 + u32::from(self.prediction_error)
    }

    /// Where the points that count for a tile lie.
    pub fn reads(&self) -> Reads {
        let has_quadrants = self.per_quadrant != [0, 0];
        if let Some(points) = self.part {
            return Reads::Parts(points);
        }
        match self.radius {
            // On the sphere a distance has no one width in degrees, and the pattern of adaptive powers is of all
            // points.
            _ if self.geographic || self.adaptive => Reads::All,
            Some(_) => Reads::Halo,
            // A quadrant may have its points anywhere.
            None if self.max_points == 0 || has_quadrants => Reads::All,
            None => Reads::Nearest,
        }
    }
}

impl SurfaceRecipe for Recipe {
    const WHOLE: &'static str = "surface";
    const QUANTITY: &'static str = "values";

    fn crs(&self) -> Result<Option<Crs>> {
        self.crs.as_ref().map(System::crs).transpose()
    }

    fn bands(&self) -> Result<Vec<String>> {
        Ok(bands(self.second_band()))
    }
}

impl PointRecipe for Recipe {
    fn selection(&self) -> &Selection {
        &self.points
    }

    fn reads_beyond(&self) -> bool {
        self.reads() != Reads::Halo
    }

    fn points_of_part(&self) -> Option<u64> {
        self.part
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "idw_surface";
    const VERSION: u32 = 6;
    type Read = Cloud;
    type Made = Vec<Vec<f32>>;

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        needs::needs(tile, planned.recipe.kind())
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        planned.surface_paths(number)
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        planned.has_surface(number)
    }

    fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<Cloud> {
        match planned.recipe.reads() {
            Reads::Halo | Reads::Nearest => read_points(planned, &tile.read, progress),
            Reads::All => read_points(planned, &EVERYWHERE, progress),
            // They come while the tile is made.
            Reads::Parts(_) => Ok(Cloud::default()),
        }
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
