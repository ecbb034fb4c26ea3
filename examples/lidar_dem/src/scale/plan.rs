//! Making a plan.

use anyhow::{Result, anyhow, bail, ensure};
use geo_io::CsvColumns;
use gpu_core::{GridSpec, Shortest};
use nni_grid::Duplicates;
use programs::args::PointArgs;
use programs::cloud::step_of_heights;
use programs::ground::Ground;
use programs::inputs::Files;
use programs::report::{Report, note_on_zarr};
use programs::scale::{
    Headers, Planning, SurfaceRecipe, report_reading, report_surface, report_tiles,
};
use programs::systems::note_on_bounds;
use programs::units;
use tile_plan::{Plan, Reach};

use crate::above::Floor;
use crate::args::PlanArgs;
use crate::asked::Asked;
use crate::beside::require_one_system;
use crate::dsm::WholeCells;
use crate::extent::{self, FARTHEST, too_large};
use crate::lattice::Lattice;
use crate::scale::needs::Kind;
use crate::scale::recipe::{Ends, Recipe};
use crate::surface::SurfaceArgs;
use crate::within::Area;

/// Reads headers, divides the DEM and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    args.surface.check()?;
    if let Some(path) = &args.surface.breaklines {
        bail!(
            "--breaklines {}: a plan takes no breaklines, since how a line is cut depends on \
             points beyond a tile: make the DEM at once, or in parts by --bounds",
            path.display()
        );
    }
    let asked = Asked::of(&args.points, &args.surface)?;
    let files = extent::files(&args.points, &args.surface, &asked)?;
    let mut read = files.read();
    read.extend(args.surface.read_beside().cloned());
    let mut planning = Planning::begin(&read, &args.output, &args.run)?;
    let is_ordered = matches!(args.surface.duplicates, Duplicates::First | Duplicates::Last);
    let columns = args.points.columns.names().values(args.surface.further());
    let mut headers = planning.stages.run("headers", |_| -> Result<Headers> {
        let mut headers = Headers::read(&files.paths, (&args.points, &columns), is_ordered)?;
        headers.crs = asked.crs(headers.crs.take())?;
        headers.notes.extend(asked.notes.iter().cloned());
        let (crs, bounds) = (headers.crs.as_ref(), Some(headers.bounds));
        headers.notes.extend(note_on_bounds(asked.bounds, crs, bounds));
        let floor = args.surface.floor()?;
        let area = args.surface.within.as_deref().map(Area::read).transpose()?;
        let beside = [floor.as_ref().map(Floor::stated), area.as_ref().map(Area::stated)];
        require_one_system(&beside.into_iter().flatten().collect::<Vec<_>>())?;
        if let Some(floor) = floor {
            let (grid, _) = grid(&args.surface, &asked, &headers)?;
            headers.notes.extend(floor.notes(headers.crs.as_ref())?);
            floor.require_overlap(&grid)?;
        }
        if let Some(area) = area {
            let (grid, _) = grid(&args.surface, &asked, &headers)?;
            headers.notes.extend(area.notes(headers.crs.as_ref(), &grid)?);
        }
        Ok(headers)
    })?;
    let plan = planning.stages.run("divide", |progress| -> Result<Plan> {
        let plan = divide(args, &asked, &headers)?;
        require_points(&args.surface, &asked, &headers, (&args.points, &columns))?;
        if asked.bounds.is_none() {
            headers.note_strays((&args.points, &columns), plan.grid(), progress)?;
        }
        Ok(plan)
    })?;
    planning.end(&plan, report(args, &files, &plan, &headers))
}

fn divide(args: &PlanArgs, asked: &Asked, headers: &Headers) -> Result<Plan> {
    let ranges = ranges(args, headers)?;
    let (grid, lattice) = grid(&args.surface, asked, headers)?;
    let mut recipe =
        Recipe::new((&args.points, &args.surface), asked, lattice, ranges, headers.crs.as_ref())?;
    recipe.zarr = args.store.planned(&args.output)?;
    let (method, supersample) = (args.surface.method, args.surface.supersample);
    let kind = Kind {
        method,
        supersample,
        bands: args.surface.bands().len() as u64,
        further: args.surface.further().len() as u64,
    };
    let params = args.budget.params(grid, (kind.model(), kind.on_device()), recipe)?;
    let params = params.ends_at_grid(asked.bounds.is_none());
    let reaches = args.surface.reaches();
    let params = reaches
        .iter()
        .fold(params, |params, &(name, cells)| params.reach(name, Reach::Cells(cells)));
    tile_plan::plan(&headers.inputs, &params).map_err(|error| match error {
        tile_plan::Error::Unbounded { .. } => {
            let bounded = args.surface.bounded().join(" ");
            anyhow!("{error}; {bounded} would allow tiles")
        }
        tile_plan::Error::TooMany { .. } => {
            let by = args.surface.cells_by(grid.cell_size);
            anyhow!(by.too_many(args.budget.explain(error)))
        }
        _ => args.budget.explain(error),
    })
}

/// Refuses `--bounds` beside all points, as one run does.
fn require_points(
    surface: &SurfaceArgs,
    asked: &Asked,
    headers: &Headers,
    of_points: (&PointArgs, &CsvColumns),
) -> Result<()> {
    let (grid, lattice) = grid(surface, asked, headers)?;
    let Some(near) = extent::near(surface, &grid).filter(|_| asked.bounds.is_some()) else {
        return Ok(());
    };
    let whole = WholeCells { ground: &near, lattice };
    let ground: &dyn Ground = if surface.dsm { &whole } else { &near };
    headers.require_points_on(of_points, ground).map_err(|error| asked.explained(error))
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
            "{name} from {} to {}, as the headers state, are too far apart: a tile could not have \
             the same bits as the whole DEM",
            Shortest(*low),
            Shortest(*high)
        );
    }
    Ok(Ends { heights, further })
}

/// The whole grid: over `--bounds`, or over the bounds of the headers.
fn grid(surface: &SurfaceArgs, asked: &Asked, headers: &Headers) -> Result<(GridSpec, Lattice)> {
    let all = headers.bounds;
    let lattice = asked.lattice(headers.crs.as_ref())?;
    let cell = lattice.cell;
    let grid = match &asked.bounds {
        Some(bounds) => lattice.snapped(bounds),
        None => lattice.covering(&all),
    };
    let grid = grid.map_err(|error| too_large(surface, cell, error))?;
    if asked.lattice.is_none() && asked.bounds.is_none() {
        units::check_default(&grid, &all, headers.points() as usize)?;
    }
    let b = lattice.bounds_in_cells(&grid.bounds());
    let farthest = [b.min_x, b.min_y, b.max_x, b.max_y].map(f64::abs);
    if farthest.into_iter().any(|cells| cells > FARTHEST) {
        let why = "these coordinates give no exact place to cells this small";
        bail!(surface.cells_by(cell).too_many(why));
    }
    Ok((grid, lattice))
}

fn report(args: &PlanArgs, files: &Files, plan: &Plan, headers: &Headers) -> Report {
    let mut report = Report::default();
    files.report(&mut report);
    headers.report(&mut report);
    report.crs(headers.crs.as_ref());
    headers.notes.iter().for_each(|note| report.note(note));
    report_surface(Recipe::WHOLE, plan.grid(), &mut report);
    report_tiles(plan, &mut report);
    report_reading::<Recipe>(plan, 1 + args.surface.further().len(), &mut report);
    let exactness = match args.surface.is_exact_in_parts() {
        true => "the bits of one run",
        false => "the heights of one run to rounding; --method pixels gives its bits",
    };
    report.line("mosaic", exactness);
    let of_zarr = note_on_zarr(args.store.zarr.as_ref(), headers.crs.as_ref());
    of_zarr.iter().for_each(|note| report.note(note));
    report.field("exact", args.surface.is_exact_in_parts());
    report
}
