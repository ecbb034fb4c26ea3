//! Making a plan.

use std::f64::consts::PI;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, anyhow, bail};
use gpu_core::{Bounds, GridSpec, Points, Progress};
use kriging::Variogram;
use programs::cloud::{is_beyond_f32, on_ground};
use programs::report::Report;
use programs::scale::{
    Headers, Planning, SurfaceRecipe, joined, report_reading, report_surface, report_tiles,
};
use serde_json::json;
use tile_plan::{Plan, Reach};

use crate::extent;
use crate::scale::args::PlanArgs;
use crate::scale::needs::{self, Reads};
use crate::scale::recipe::Recipe;
use crate::surface::require_place;

/// Points that are read at once for a variogram.
const AT_ONCE: usize = 1 << 17;

/// Reads headers, divides the surface and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    args.surface.check(args.points.bounds)?;
    let within = crate::reach(&args.points, &args.surface, false);
    let files = args.points.files(&|_| Ok(within))?;
    let mut planning = Planning::begin(&files.read(), &args.output, &args.run)?;
    let paths = &files.paths;
    // The order of files matters: of points at one distance the first counts.
    let columns = (&args.points, &args.points.columns.names());
    let mut headers = planning.stages.run("headers", |_| Headers::read(paths, columns, true))?;
    if let Some(ground) = crate::ground(&args.points, &args.surface) {
        let given = args.points.bounds.map(|extent| extent.0);
        let is_there = headers.require_points_on(columns, &ground);
        is_there.map_err(|error| on_ground(error, "--bounds", given))?;
    }
    headers.crs = args.surface.crs_of_result(&args.points, headers.crs.as_ref())?;
    args.surface.kriging.require_north_up(headers.crs.as_ref())?;
    let mut report = Report::default();
    files.report(&mut report);
    let variogram = match args.surface.kriging.variogram {
        None => None,
        Some(_) => planning
            .stages
            .run("variogram", |progress| variogram(args, paths, progress, &mut report))?,
    };
    let variogram = variogram.as_ref();
    let (plan, reads) = planning.stages.run("divide", |progress| -> Result<(Plan, Reads)> {
        let found = divide(args, &headers, variogram)?;
        if args.points.bounds.is_none() {
            headers.note_strays(columns, found.0.grid(), progress)?;
        }
        Ok(found)
    })?;
    tell(&mut report, args, (&plan, reads), &headers);
    planning.end(&plan, report)
}

/// The variogram, given or fitted to all points, whatever tile they are of.
fn variogram(
    args: &PlanArgs,
    paths: &[PathBuf],
    progress: &dyn Progress,
    report: &mut Report,
) -> Result<Option<Variogram>> {
    let kriging = &args.surface.kriging;
    let mut sample = kriging.sample()?;
    if kriging.fits() {
        let (filter, columns) = (args.points.filter(None), args.points.columns.names());
        for path in paths {
            // The reader knows its own errors alone.
            let mut failed = None;
            let read =
                geo_io::read_batches(path, &filter, &columns, AT_ONCE, progress, &mut |cloud| {
                    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
                    sample.add(points).map_err(|error| {
                        failed = Some(error);
                        geo_io::Error::Cancelled
                    })
                });
            match failed {
                Some(error) => return Err(Error::new(error).context(path.display().to_string())),
                None => read.map(drop)?,
            }
        }
    }
    kriging.variogram(sample, progress, report)
}

fn divide(
    args: &PlanArgs,
    headers: &Headers,
    variogram: Option<&Variogram>,
) -> Result<(Plan, Reads)> {
    if args.surface.geographic {
        for input in &headers.inputs {
            let corners = input.bounds.map(|b| [(b.min_x, b.min_y), (b.max_x, b.max_y)]);
            corners
                .into_iter()
                .flatten()
                .try_for_each(|(x, y)| require_place(x, y))
                .with_context(|| input.path.clone())?;
        }
    }
    let grid = extent::grid(&args.surface, args.points.bounds, headers.bounds)?;
    let range = headers.range()?;
    if let Some(value) = range.into_iter().find(|&value| is_beyond_f32(value)) {
        bail!("the points have values up to {value:e}, which is beyond the range of f32");
    }
    let crs = headers.crs.as_ref();
    let recipe = Recipe::new(&args.points, &args.surface, variogram, range, crs)?;
    let whole = try_divide(args, headers, grid, recipe.clone());
    let (memory, cells) = (args.budget.share()?, most_cells(args, &grid));
    let part = needs::points_of_part(cells, memory, args.budget.device_memory);
    let (found, reads) = match (whole?, recipe.clone().in_parts(part)) {
        (Err(tile_plan::Error::Budget { .. }), Some(recipe)) => {
            let reads = recipe.reads();
            (try_divide(args, headers, grid, recipe)?, reads)
        }
        (found, _) => (found, recipe.reads()),
    };
    let plan = found.map_err(|error| {
        let is_too_many = matches!(error, tile_plan::Error::TooMany { .. });
        let error = args.budget.explain(error);
        if is_too_many {
            return anyhow!(args.surface.cells_by(grid.cell_size).too_many(error));
        }
        let all = "any point may count for any cell, so each tile reads all points";
        if reads == Reads::All { error.context(all) } else { error }
    })?;
    Ok((plan, reads))
}

/// The most cells that a tile may have.
fn most_cells(args: &PlanArgs, grid: &GridSpec) -> u64 {
    let side = |cells: u32| u64::from(cells.min(args.budget.tile_size.unwrap_or(u32::MAX)));
    side(grid.width).saturating_mul(side(grid.height))
}

/// Makes the plan by a recipe; the inner error says why there can be none.
fn try_divide(
    args: &PlanArgs,
    headers: &Headers,
    grid: GridSpec,
    recipe: Recipe,
) -> Result<tile_plan::Result<Plan>> {
    let (reads, depth) = (recipe.reads(), f64::from(recipe.depth()));
    let of_reach = if args.surface.radius.is_some() { "--radius" } else { "--bandwidth" };
    let (parameter, reach) = match (reads, args.surface.reach()) {
        (Reads::Halo, Some(radius)) => {
            (of_reach, Reach::Ground((depth * radius).min(farthest(headers, &grid))))
        }
        (Reads::Nearest, _) => {
            let reach = depth * first_reach(recipe.max_points, headers, &grid);
            ("--max-points", Reach::Ground(reach))
        }
        _ => ("the search", Reach::Everywhere),
    };
    let models = (needs::model(recipe.kind()), needs::on_device(recipe.kind()));
    let params = args.budget.params(grid, models, recipe)?;
    let params = params.halo_has_cells(false).reach(parameter, reach);
    Ok(tile_plan::plan(&headers.inputs, &params))
}

/// Returns how far a point may at most be from a cell, and a cell more: a wider halo holds no more points.
fn farthest(headers: &Headers, grid: &GridSpec) -> f64 {
    let Bounds { min_x, min_y, max_x, max_y } = joined(headers.bounds, grid.bounds());
    (max_x - min_x).hypot(max_y - min_y) + grid.cell_size
}

/// The most cells that a tile reads at first around it: a plan holds as many.
const MAX_HALO: f64 = (1 << 28) as f64;

/// Returns how far a tile reads at first for the nearest points alone. If points are spread evenly, a quarter of this
/// circle around a cell in a corner holds as many points as are wanted, and two standard deviations more. The distance
/// is at most the longer side of the points' bounds, unless the grid lies beside these: then it reaches them.
fn first_reach(most: u32, headers: &Headers, grid: &GridSpec) -> f64 {
    let Bounds { min_x, min_y, max_x, max_y } = headers.bounds;
    let (width, height) = (max_x - min_x, max_y - min_y);
    let across = width.max(height).max(grid.cell_size);
    let wanted = f64::from(most.max(1));
    let wanted = wanted + 2.0 * wanted.sqrt() + 1.0;
    let area_of_one = width * height / headers.points().max(1) as f64;
    let reach = 2.0 * (wanted * area_of_one / PI).sqrt();
    let ground = grid.bounds();
    let beside = f64::max(min_x - ground.max_x, ground.min_x - max_x)
        .max(min_y - ground.max_y)
        .max(ground.min_y - max_y);
    let reach = reach.clamp(grid.cell_size, across).max(beside + grid.cell_size);
    reach.min(MAX_HALO * grid.cell_size)
}

fn tell(report: &mut Report, args: &PlanArgs, (plan, reads): (&Plan, Reads), headers: &Headers) {
    let points = headers.points();
    headers.report(report);
    report.crs(headers.crs.as_ref());
    headers.notes.iter().for_each(|note| report.note(note));
    let given = args.points.bounds;
    let uncovered = extent::note_on_uncovered(&args.surface, plan.grid(), given, headers.bounds);
    let (columns, ys) = (&args.points.columns, [headers.bounds.min_y, headers.bounds.max_y]);
    let notes = args.surface.notes_on_distances(headers.crs.as_ref(), columns, ys);
    notes.chain(uncovered).for_each(|note| report.note(note));
    report_surface(Recipe::WHOLE, plan.grid(), report);
    report_tiles(plan, report);
    if let Reads::Parts(most) = reads {
        let parts = points.div_ceil(most);
        report.line("points", format_args!("in {parts} parts of at most {most} for each tile"));
        report.field("parts", json!({"count": parts, "points": most}));
    }
    report_reading::<Recipe>(plan, 1, report);
    match reads {
        Reads::Halo => {}
        Reads::Nearest => report
            .note("a tile reads more points around cells whose nearest points lie farther away"),
        Reads::Parts(_) => report.note(
            "the points do not fit the memory, so each tile adds up parts of them. The values of \
             a tile, and of one run, are within 1e-5 of the definition \
             (docs/internals/tile-plan.md)",
        ),
        Reads::All => report.note(
            "any point may count for any cell, so each tile reads all points; with very many \
             points, its values may differ from one run's in their last digits \
             (docs/internals/tile-plan.md)",
        ),
    }
}
