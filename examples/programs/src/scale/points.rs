//! The points of a tile.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use geo_io::{BinSpec, Bins, CsvColumns, Filter};
use gpu_core::{Bounds, Progress};
use serde_json::json;
use tile_plan::{Input, Plan, Tile};

use super::{Planned, Recipe, require_unchanged};
use crate::cloud::Cloud;
use crate::report::Report;

/// A recipe whose tiles are made of points.
pub trait PointRecipe: Recipe {
    /// Which points are kept, of those within bounds.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    fn filter(&self, bounds: Bounds) -> Result<Filter>;

    /// The columns of tables.
    fn columns(&self) -> CsvColumns;
}

/// The points of a tile's ground, in the order of the inputs: of the plan's bins where they are whole, else of the
/// inputs that reach it. Their coordinate system is the plan's.
///
/// # Errors
/// An input that has changed, what is wrong with one, or with a file of the bins.
pub fn read_points<R: PointRecipe>(
    planned: &Planned<R>,
    tile: &Tile,
    progress: &dyn Progress,
) -> Result<Cloud> {
    planned.plan.inputs_of(tile).try_for_each(require_unchanged)?;
    if let Some(bins) = planned.open_bins()? {
        let points = bins.read(&tile.read, progress)?;
        let z = points.values.into_iter().next().context("the bins have no values")?;
        return Ok(Cloud { x: points.x, y: points.y, z, ..Cloud::default() });
    }
    let inputs = planned.plan.inputs_of(tile).map(|input| Path::new(&input.path).to_owned());
    let paths: Vec<PathBuf> = inputs.collect();
    let (filter, columns) = (planned.recipe.filter(tile.read)?, planned.recipe.columns());
    let cloud = Cloud::read_plain(&paths, &filter, &columns, progress)?;
    // What was read is what was planned with, even where a file was replaced meanwhile.
    planned.plan.inputs_of(tile).try_for_each(require_unchanged)?;
    Ok(cloud)
}

impl<R: Recipe> Planned<R> {
    /// The plan's bins, where they are whole.
    ///
    /// # Errors
    /// What is wrong with them, and what mends it.
    pub fn open_bins(&self) -> Result<Option<Bins>> {
        let program = R::PROGRAM;
        Bins::open(&self.bins, &self.plan.id())
            .with_context(|| format!("make the bins again ({program} bin --remove, {program} bin)"))
    }
}

/// Says how often tiles that read the inputs unpack them, and what bins would take.
pub fn report_reading<R: Recipe>(plan: &Plan, report: &mut Report) {
    let points = |input: &Input| input.points as f64;
    let all: f64 = plan.inputs().iter().map(points).sum();
    let read: f64 = plan.tiles().iter().flat_map(|tile| plan.inputs_of(tile)).map(points).sum();
    let (times, program) = (read / all.max(1.0), R::PROGRAM);
    let bytes = BinSpec::new("", plan.grid().bounds(), 0).bytes(all as u64);
    report.line(
        "reading",
        format_args!(
            "each file by every tile that it reaches, {times:.1} times all points; {program} bin reads them once and \
             takes up to {} MiB of disk",
            bytes.div_ceil(1 << 20)
        ),
    );
    report.field("reading", json!({"times": times, "bins_bytes": bytes}));
}
