//! Making a plan.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use ccq_tree::mosaic_places;
use geo_io::{Number, SampleType, ValuesFile};
use gpu_core::{Bounds, GridSpec};
use programs::inputs::Files;
use programs::report::Report;
use programs::scale::{Planning, System, name, report_tiles, stamp};
use serde_json::json;
use tile_plan::{Input, Plan, Shape};

use super::recipe::Recipe;
use super::{PlanArgs, side_of};
use crate::args::rasters_of;
use crate::build::nodata_of;
use crate::cells::{Part, cells_of_all, nodata_of_cells};
use crate::numbers::check_bins;
use crate::place::{Place, place, place_of_all};
use crate::trees::How;
use crate::values::Values;

/// Reads headers, cuts the raster into squares and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    let files = rasters_of(&args.rasters, &args.catalogues)?;
    let mut planning = Planning::begin(&files.read(), &args.output, &args.run)?;
    let rasters = planning.stages.run("headers", |_| Rasters::open(args, &files.paths))?;
    let plan = planning.stages.run("divide", |_| divide(args, &rasters))?;
    planning.end(&plan, report(&files, &plan, &rasters))
}

/// What the headers of rasters beside each other say.
struct Rasters {
    /// Their paths and where they lie in the whole, the first column and row, columns and rows.
    places: Vec<(PathBuf, [u32; 4])>,
    inputs: Vec<Input>,
    /// The place of the whole raster.
    place: Place,
    how: How,
    /// The value that stands for NODATA in the files, and the most bytes of a value.
    stated: Option<Number>,
    value_bytes: u64,
    /// The most bytes that reading takes beside the values.
    unpacking: u64,
    notes: Vec<String>,
}

impl Rasters {
    fn open(args: &PlanArgs, paths: &[PathBuf]) -> Result<Self> {
        check_bins(&args.bins)?;
        let (mut own, mut inputs, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        let (mut stated, mut notes) = (Vec::new(), Vec::new());
        let (mut value_bytes, mut unpacking) = (0, 0);
        for path in paths {
            // Before it is read: where it changes meanwhile a tile's job sees that.
            let about = stamp(path)?;
            let file = ValuesFile::open(path)?;
            let place = place(path, file.size(), file.georeference())?;
            notes.extend(file.notes().iter().cloned());
            value_bytes = file.value_bytes().max(value_bytes);
            unpacking = unpacking.max(file.unpacking_bytes());
            kinds.push((path.as_path(), file.window(0..0, 0..0)?.sample_type()));
            stated.push((path, file.nodata()));
            inputs.push(Input::new(name(path)?).bounds(place.grid.bounds()).stamp(about));
            own.push(place);
        }
        let nodata = nodata_of(args.nodata, stated.into_iter(), &mut notes)?;
        let check = |i: usize, cells: &str| check_values(kinds[i], nodata, cells);
        let cells = cells_of_all(&kinds, nodata, check)?;
        let lying: Vec<_> = paths.iter().map(PathBuf::as_path).zip(&own).collect();
        let place = place_of_all(&lying)?;
        let grids: Vec<GridSpec> = own.iter().map(|place| place.grid).collect();
        let (grid, windows) = mosaic_places(&grids)?;
        let of_cells = nodata_of_cells(cells, &kinds, nodata);
        let how = How { cells: cells.to_owned(), bins: args.bins.clone(), nodata: of_cells };
        how.check()?;
        // Cells in none of the rasters need a value.
        Values::fill(&how.cells, how.nodata, (&grid, &windows))?;
        let corner =
            |w: &ccq_tree::Window| [w.column0, w.row0, w.column1 - w.column0, w.row1 - w.row0];
        let places = paths.iter().cloned().zip(windows.iter().map(corner)).collect();
        // What an index does not keep is said here already.
        place.kept(&mut notes);
        let stated = nodata;
        Ok(Self { places, inputs, place, how, stated, value_bytes, unpacking, notes })
    }
}

/// As [`Part::check`]. Values of 64 bits are read for that, unless the cells are of their own type; all others have
/// one.
fn check_values(
    (path, kind): (&Path, SampleType),
    nodata: Option<Number>,
    cells: &str,
) -> Result<bool> {
    /// Values that are read at once, about.
    const AT_ONCE: usize = 1 << 22;
    let is_wide = matches!(kind, SampleType::F64 | SampleType::I64 | SampleType::U64);
    if !is_wide || cells == kind.to_string() {
        return Ok(true);
    }
    let file = ValuesFile::open(path)?;
    let ((width, height), nodata) = (file.size(), nodata.and_then(|nodata| kind.value(nodata)));
    let (step, mut has_values) = ((AT_ONCE / width.max(1)).max(1), false);
    for top in (0..height).step_by(step) {
        let values = file.window(top..height.min(top + step), 0..width)?;
        has_values |= Part { path, nodata, corner: (top, 0), width }.check(&values, cells)?;
    }
    Ok(has_values)
}

fn divide(args: &PlanArgs, rasters: &Rasters) -> Result<Plan> {
    // The plan has the inputs in the order of their paths.
    let mut of_inputs: Vec<_> = rasters.inputs.iter().zip(&rasters.places).collect();
    of_inputs.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    let places = of_inputs.iter().map(|(_, (_, place))| *place).collect();
    let system = rasters.place.crs.as_ref().and_then(|crs| System::of(crs).ok());
    let (stated, bytes) = (rasters.stated, rasters.value_bytes);
    let recipe = Recipe::new(&rasters.how, places, stated, bytes)
        .system(system)
        .transform(rasters.place.kept_transform())
        .unpacking(rasters.unpacking);
    let sizes = recipe.sizes();
    let models = (sizes.model(), sizes.on_device());
    let params = args.budget.params(rasters.place.grid, models, recipe)?;
    let params = params.ends_at_grid(true).shape(Shape::Squares);
    let plan =
        tile_plan::plan(&rasters.inputs, &params).map_err(|error| args.budget.explain(error))?;
    let (tiles, side) = (plan.tiles().len(), side_of(&plan));
    ensure!(
        tiles == 1 || side >= 64,
        "tiles of {side} x {side} cells are too small: an index needs at least 64 x 64: give more \
         --memory or a larger --tile-size"
    );
    Ok(plan)
}

fn report(files: &Files, plan: &Plan, rasters: &Rasters) -> Report {
    let mut report = Report::default();
    files.report(&mut report);
    let (grid, files) = (plan.grid(), rasters.inputs.len());
    let (width, height, side) = (grid.width, grid.height, side_of(plan));
    let Bounds { min_x, min_y, max_x, max_y } = rasters.place.bounds();
    report.line(
        "raster",
        format_args!("{width} x {height} cells of {}, of {files} files", rasters.how.cells),
    );
    report.line("extent", format_args!("{min_x} {min_y} to {max_x} {max_y}"));
    report.field("raster", json!({"width": width, "height": height, "cells": rasters.how.cells}));
    report.field("inputs", files);
    report_tiles(plan, &mut report);
    report.line("", format_args!("squares of {side} x {side} cells"));
    report.field("side", side);
    rasters.place.crs.iter().for_each(|crs| report.line("system", crs));
    rasters.notes.iter().for_each(|note| report.note(note));
    report
}
