//! What a plan holds of the program's own: how each tile is made.

use anyhow::{Context, Result, anyhow, ensure};
use geo_io::{Crs, CsvColumns, Filter, GeoKeys};
use gpu_core::Bounds;
use nni_grid::{Method, Weights};
use programs::args::PointArgs;
use serde::{Deserialize, Serialize};
use tile_plan::Plan;

use crate::surface::SurfaceArgs;

/// How tiles are made, beside what a plan has of any program. A later version that makes them otherwise has
/// another number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    program: String,
    version: u32,
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

/// A coordinate system, as it was stated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum System {
    Name(String),
    Wkt(String),
    Keys { directory: Vec<u16>, doubles: Vec<f64>, ascii: String },
}

const PROGRAM: &str = "lidar_dem";
const VERSION: u32 = 1;

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
            program: PROGRAM.to_owned(),
            version: VERSION,
            columns: points.columns.0.clone(),
            classes: points.classes.as_ref().map(|classes| classes.0.clone()),
            returns: points.returns.to_string(),
            method: match surface.method {
                Method::Exact => "exact",
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

    /// That of a plan.
    pub fn of(plan: &Plan) -> Result<Self> {
        let program = plan.program();
        ensure!(program["program"] == PROGRAM, "this plan is not one of lidar_dem's");
        let version = program["version"].as_u64().unwrap_or(0);
        ensure!(
            version == u64::from(VERSION),
            "this plan is of version {version} of lidar_dem's, {VERSION} is known here"
        );
        Self::deserialize(program).context("this plan is damaged")
    }

    /// As a plan holds it.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        Ok(serde_json::to_value(self)?)
    }

    /// Which points are kept.
    pub fn filter(&self, bounds: Bounds) -> Result<Filter> {
        let (classes, returns) = (self.classes.clone(), self.returns.parse()?);
        Ok(Filter { classes, returns, bounds: Some(bounds) })
    }

    /// The columns of tables.
    pub fn columns(&self) -> CsvColumns {
        let [x, y, z] = self.columns.clone();
        CsvColumns { x, y, z }
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

    /// The coordinate system.
    pub fn crs(&self) -> Result<Option<Crs>> {
        self.crs.as_ref().map(System::crs).transpose()
    }
}

impl System {
    /// The form that gives the system back: by the same name, and the same to a file.
    fn of(crs: &Crs) -> Result<Self> {
        let GeoKeys { directory, doubles, ascii } = crs.geokeys();
        let wkt = crs.wkt().map(|wkt| Self::Wkt(wkt.to_owned()));
        let forms = [Some(Self::Name(crs.to_string())), wkt];
        let keys = Self::Keys { directory, doubles, ascii };
        let mut forms = forms.into_iter().flatten().chain([keys]);
        let is_same =
            |other: Crs| other.geokeys() == crs.geokeys() && other.to_string() == crs.to_string();
        let same = |form: &Self| form.crs().is_ok_and(is_same);
        forms.find(same).ok_or_else(|| {
            anyhow!("the coordinate system {crs} cannot be put into a plan: name it by --crs")
        })
    }

    fn crs(&self) -> Result<Crs> {
        let none = || anyhow!("this plan is damaged: its coordinate system is none");
        match self {
            Self::Name(name) => Ok(Crs::parse(name)?),
            Self::Wkt(wkt) => Crs::from_wkt(wkt).ok_or_else(none),
            Self::Keys { directory, doubles, ascii } => {
                let (directory, doubles) = (directory.clone(), doubles.clone());
                let keys = GeoKeys { directory, doubles, ascii: ascii.clone() };
                Crs::from_geokeys(keys).map_err(|_| none())?.ok_or_else(none)
            }
        }
    }
}
