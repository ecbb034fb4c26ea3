//! What a plan holds of the program's own: how each tile is made.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{Crs, CsvColumns, Filter};
use gpu_core::{Bounds, Device, Progress};
use programs::scale::{self, Headers, Needs, PointRecipe, Selection};
use quadtree_sort::{Cells, Params, Quadtree};
use serde::{Deserialize, Serialize};
use tile_plan::Tile;

use super::{Planned, needs, tile};
use crate::tree::TreeArgs;
use crate::values;

/// How to make tiles: the program's own part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    #[serde(flatten)]
    points: Selection,
    /// Whether points outside of the bounds are left out; otherwise all inputs lie within them.
    has_bounds: bool,
    /// What the tree covers: least x and y, greatest x and y.
    bounds: [f64; 4],
    threshold: u32,
    max_depth: u32,
    /// What points carry.
    values: Vec<String>,
    /// Whether all inputs are LAS files, whose fields have types of their own.
    are_fields: bool,
    /// The code of the coordinate system in the EPSG list, which the tree keeps.
    system: Option<u16>,
    /// How points are numbered; `None` if the inputs have more rows than there are numbers: then numbers count only the
    /// kept points.
    numbering: Option<Numbering>,
}

/// The rows of the inputs, by which points are numbered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbering {
    /// The number of the first row of each input.
    firsts: Vec<u64>,
    /// Rows of all.
    rows: u64,
}

impl Numbering {
    /// Returns the numbering by the rows of the inputs, or `None` if they have more rows than there are numbers.
    pub fn of(headers: &Headers) -> Option<Self> {
        let (firsts, rows) = (headers.firsts.clone(), headers.rows);
        (rows <= u64::from(u32::MAX)).then_some(Self { firsts, rows })
    }
}

impl Recipe {
    /// Makes the recipe that the command line gives, with the area that the tree covers, its system, and its
    /// numbering of points.
    pub fn new(
        (args, are_fields): (&TreeArgs, bool),
        bounds: Bounds,
        crs: Option<&Crs>,
        numbering: Option<Numbering>,
    ) -> Self {
        Self {
            points: Selection::of(&args.points),
            has_bounds: args.points.bounds.is_some(),
            bounds: [bounds.min_x, bounds.min_y, bounds.max_x, bounds.max_y],
            threshold: args.threshold,
            max_depth: args.max_depth,
            values: args.value.clone(),
            are_fields,
            system: crs.and_then(Crs::epsg),
            numbering,
        }
    }

    /// Rows of all inputs, if points are numbered by them.
    pub fn rows(&self) -> Option<u64> {
        self.numbering.as_ref().map(|numbering| numbering.rows)
    }

    fn bounds(&self) -> Bounds {
        let [min_x, min_y, max_x, max_y] = self.bounds;
        Bounds { min_x, min_y, max_x, max_y }
    }

    /// How the tree is built.
    pub fn params(&self) -> Params {
        let params = Params::new().threshold(self.threshold).max_level(self.max_depth);
        params.bounds(self.bounds())
    }

    /// Names of the values that points carry, and whether they are fields of LAS files.
    pub fn values(&self) -> (&[String], bool) {
        (&self.values, self.are_fields)
    }

    /// The code of the coordinate system, or 0.
    pub fn system(&self) -> u16 {
        self.system.unwrap_or_default()
    }

    /// The cells of the tree.
    pub fn cells(&self) -> Result<Cells> {
        Ok(Cells::new(self.bounds(), &self.params())?)
    }
}

impl PointRecipe for Recipe {
    fn selection(&self) -> &Selection {
        &self.points
    }

    fn filter(&self, _: Option<Bounds>) -> Result<Filter> {
        self.points.filter(self.has_bounds.then(|| self.bounds()))
    }

    fn columns(&self) -> CsvColumns {
        values::columns(self.points.columns(), &self.values)
    }

    /// Bins have every point that the tree has, so that each is numbered as among all.
    fn reads_beyond(&self) -> bool {
        true
    }

    fn first_rows(&self) -> Option<&[u64]> {
        self.numbering.as_ref().map(|numbering| &numbering.firsts[..])
    }
}

impl scale::Recipe for Recipe {
    const PROGRAM: &'static str = "point_quadtree";
    const VERSION: u32 = 3;
    type Read = tile::Read;
    type Made = Vec<Quadtree>;

    fn require_ready(planned: &Planned) -> Result<()> {
        tile::open_bins(planned).map(drop)
    }

    fn needs(planned: &Planned, tile: &Tile) -> Needs {
        let recipe = &planned.recipe;
        needs::needs(tile, (recipe.threshold, recipe.values.len() as u64))
    }

    fn files(planned: &Planned, number: usize) -> Vec<PathBuf> {
        tile::files(planned, number).into_iter().flatten().map(|(_, path)| path).collect()
    }

    fn is_whole(planned: &Planned, number: usize) -> bool {
        tile::open(planned, number, 0).is_ok()
    }

    fn read(planned: &Planned, tile: &Tile, progress: &dyn Progress) -> Result<tile::Read> {
        tile::read(planned, tile, progress)
    }

    fn make(
        planned: &Planned,
        _: &Tile,
        read: tile::Read,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Vec<Quadtree>> {
        tile::build_all(planned, read, device, progress)
    }

    fn write(planned: &Planned, number: usize, trees: Vec<Quadtree>) -> Result<()> {
        tile::write(planned, number, &trees)
    }
}
