//! Making a plan.

use std::io::Write;

use anyhow::{Result, anyhow, bail, ensure};
use geo_io::Output;
use gpu_core::GridSpec;
use nni_grid::Duplicates;
use programs::cloud::step_of_heights;
use programs::report::Report;
use programs::scale::{Headers, report_reading, report_tiles};
use programs::stages::Stages;
use programs::units;
use serde_json::json;
use tile_plan::{Params, Plan, Reach};

use crate::above::Floor;
use crate::args::PlanArgs;
use crate::asked::Asked;
use crate::extent::{FARTHEST, too_large};
use crate::lattice::Lattice;
use crate::scale::Planned;
use crate::scale::needs::Kind;
use crate::scale::recipe::{Ends, Recipe};

/// Reads headers, divides the DEM and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    args.surface.check()?;
    if let Some(path) = &args.surface.breaklines {
        bail!(
            "--breaklines {}: a plan takes none: how a line is divided depends on the points beside all of it, and a tile \
             reads those around its own ground; make the DEM at once, over parts by --bounds if it is large",
            path.display()
        );
    }
    let asked = Asked::of(&args.points, &args.surface)?;
    let paths = args.points.files()?;
    let read: Vec<_> = paths.iter().chain(args.surface.read_beside()).cloned().collect();
    geo_io::check_distinct(&read, &[&args.output])?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let is_ordered = matches!(args.surface.duplicates, Duplicates::First | Duplicates::Last);
    let columns = args.points.columns.names().values(args.surface.further());
    let headers = stages.run("headers", |_| -> Result<Headers> {
        let mut headers = Headers::read(&paths, (&args.points, &columns), is_ordered)?;
        headers.crs = asked.crs(headers.crs.take())?;
        if let Some(path) = &args.surface.above {
            Floor::open(path)?.require_system(headers.crs.as_ref())?;
        }
        Ok(headers)
    })?;
    let plan = stages.run("divide", |_| divide(args, &asked, &headers))?;
    stages.run("write", |_| {
        geo_io::write_file(output, |file| file.write_all(plan.to_json().as_bytes()))
    })?;
    report(args, &plan, &headers, &stages);
    Ok(())
}

fn divide(args: &PlanArgs, asked: &Asked, headers: &Headers) -> Result<Plan> {
    let ranges = ranges(args, headers)?;
    let (grid, lattice) = grid(asked, headers)?;
    let recipe =
        Recipe::new((&args.points, &args.surface), asked, lattice, ranges, headers.crs.as_ref())?;
    let (method, supersample) = (args.surface.method, args.surface.supersample);
    let kind = Kind {
        method,
        supersample,
        bands: args.surface.bands().len() as u64,
        further: args.surface.further().len() as u64,
    };
    let params = Params::new(grid, args.budget.share()?, kind.model())
        .device_model(kind.on_device())
        .device_budget(args.budget.device_memory)
        .ends_at_grid(asked.bounds.is_none())
        .most_side(args.budget.tile_size)
        .program(Planned::held(recipe, args.budget.memory)?);
    let reaches = args.surface.reaches();
    let params = reaches
        .iter()
        .fold(params, |params, &(name, cells)| params.reach(name, Reach::Cells(cells)));
    tile_plan::plan(&headers.inputs, &params).map_err(|error| match error {
        tile_plan::Error::Unbounded { .. } => {
            let bounded = args.surface.bounded().join(" ");
            anyhow!(
                "{error}; {bounded} would do for a DEM in tiles, radii being in cells: more where points are sparse"
            )
        }
        _ => args.budget.explain(error),
    })
}

/// Between what the heights lie, if they are interpolated, and the further values.
fn ranges(args: &PlanArgs, headers: &Headers) -> Result<Ends> {
    let heights = if args.surface.has_heights() { Some(headers.range()?) } else { None };
    let names = args.surface.further();
    let further = headers.ranges(&names)?;
    let heights_named = heights.iter().map(|range| (range, "heights"));
    for ([low, high], name) in
        heights_named.chain(further.iter().zip(names.iter().map(String::as_str)))
    {
        ensure!(
            step_of_heights([*low, *high]).is_some(),
            "{name} from {low} to {high}, as the headers have them, are too far apart for tiles with the bits of the whole"
        );
    }
    Ok(Ends { heights, further })
}

/// The whole grid: over `--bounds`, or over the bounds of the headers.
fn grid(asked: &Asked, headers: &Headers) -> Result<(GridSpec, Lattice)> {
    let all = headers.bounds;
    let lattice = asked.lattice(headers.crs.as_ref())?;
    let cell = lattice.cell;
    let grid = match &asked.bounds {
        Some(bounds) => lattice.snapped(bounds),
        None => lattice.covering(&all),
    };
    let grid = grid.map_err(|error| too_large(cell, error))?;
    if asked.lattice.is_none() && asked.bounds.is_none() {
        units::check_default(&grid, &all, headers.points() as usize)?;
    }
    let b = lattice.bounds_in_cells(&grid.bounds());
    let farthest = [b.min_x, b.min_y, b.max_x, b.max_y].map(f64::abs);
    if farthest.into_iter().any(|cells| cells > FARTHEST) {
        bail!("--resolution {cell}: cells this small have no exact place in these coordinates");
    }
    Ok((grid, lattice))
}

fn report(args: &PlanArgs, plan: &Plan, headers: &Headers, stages: &Stages) {
    let mut report = Report::default();
    let grid = plan.grid();
    let (files, points) = (headers.inputs.len(), headers.points());
    report.line("inputs", format_args!("{files} files, {points} points"));
    report.field("inputs", files);
    report.field("points", points);
    report.crs(headers.crs.as_ref());
    headers.notes.iter().for_each(|note| report.note(note));
    let (width, height, cell) = (grid.width, grid.height, grid.cell_size);
    report.line("dem", format_args!("{width} x {height} cells of {cell}"));
    let b = grid.bounds();
    report.line("extent", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
    let bounds = [b.min_x, b.min_y, b.max_x, b.max_y];
    let dem = json!({"width": width, "height": height, "cell_size": cell, "bounds": bounds});
    report.field("dem", dem);
    report_tiles(plan, &mut report);
    report_reading::<Recipe>(plan, 1 + args.surface.further().len(), &mut report);
    let exactness = match args.surface.is_exact_in_parts() {
        true => "the bits of one run",
        false => "the heights of one run to rounding; --method pixels gives its bits",
    };
    report.line("mosaic", exactness);
    report.field("exact", args.surface.is_exact_in_parts());
    report.stages(stages);
    report.written([&args.output]);
    report.print(&args.run, false);
}
