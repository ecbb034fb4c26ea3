//! Making a plan.

use anyhow::Result;
use gpu_core::Bounds;
use programs::cloud::on_ground;
use programs::report::Report;
use programs::scale::{Headers, Planning, report_bins_size, report_tiles};
use programs::systems::note_on_bounds;
use quadtree_sort::Cells;
use serde_json::json;
use tile_plan::Plan;

use super::args::PlanArgs;
use super::recipe::{Numbering, Recipe};
use super::{cells, needs};
use crate::{system, values};

/// Reads headers, divides the tree and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    args.tree.check()?;
    let points = &args.tree.points;
    let files = args.tree.files()?;
    let mut planning = Planning::begin(&files.read(), &args.output, &args.run)?;
    let paths = &files.paths;
    // Points are numbered in the order of the inputs.
    let headers = planning
        .stages
        .run("headers", |_| Headers::read(paths, (points, &args.tree.columns()), true))
        .map_err(values::named)?;
    let extent = args.tree.extent();
    if let Some(extent) = &extent {
        let columns = args.tree.columns();
        let kept = headers.require_points_on((points, &columns), extent).map_err(values::named);
        kept.map_err(|error| on_ground(error, "--bounds", Some(*extent)))?;
    }
    let (crs, note) = system::of_points(&args.tree, headers.crs.clone(), headers.bounds)?;
    let are_fields = values::are_fields(paths);
    let numbering = Numbering::of(&headers);
    let values = 1 + args.tree.columns().values.len() + usize::from(numbering.is_some());
    let recipe = |bounds: Bounds| {
        Recipe::new((&args.tree, are_fields), bounds, crs.as_ref(), numbering.clone())
    };
    let plan = planning.stages.run("divide", |_| divide(args, &headers, recipe))?;
    let mut report = Report::default();
    files.report(&mut report);
    report.crs(crs.as_ref());
    let of_bounds = note_on_bounds(extent, crs.as_ref(), Some(headers.bounds));
    note.iter().chain(&of_bounds).for_each(|note| report.note(note));
    say(&mut report, &plan, &headers, values);
    planning.end(&plan, report)
}

fn divide(args: &PlanArgs, headers: &Headers, recipe: impl Fn(Bounds) -> Recipe) -> Result<Plan> {
    let bounds = args.tree.extent().unwrap_or(headers.bounds);
    let grid = cells::grid(&Cells::new(bounds, &args.tree.params())?)?;
    let of_points = (args.tree.threshold, args.tree.value.len() as u64);
    let models = (needs::model(of_points), needs::on_device(args.tree.threshold));
    let params = args.budget.params(grid, models, recipe(bounds))?.ends_at_grid(true);
    tile_plan::plan(&headers.inputs, &params).map_err(|error| args.budget.explain(error))
}

fn say(report: &mut Report, plan: &Plan, headers: &Headers, values: usize) {
    headers.report(report);
    headers.notes.iter().for_each(|note| report.note(note));
    let (b, level) = (plan.grid().bounds(), plan.grid().width.trailing_zeros());
    report.line("root", b);
    report.line("", format_args!("divided along cells of level {level}"));
    report.field("root", json!({"bounds": [b.min_x, b.min_y, b.max_x, b.max_y], "level": level}));
    report_tiles(plan, report);
    report_bins_size::<Recipe>(plan, values, report);
}
