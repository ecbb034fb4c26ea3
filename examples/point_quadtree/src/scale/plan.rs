//! Making a plan.

use std::io::Write;

use anyhow::Result;
use geo_io::{Crs, Output};
use programs::report::Report;
use programs::scale::{Headers, report_bins_size, report_tiles};
use programs::stages::Stages;
use quadtree_sort::Cells;
use serde_json::json;
use tile_plan::{Params, Plan};

use super::args::PlanArgs;
use super::recipe::Recipe;
use super::{Planned, cells, needs};
use crate::system;

/// Reads headers, divides the tree and writes the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    args.tree.check()?;
    let (paths, points) = (args.tree.files()?, args.tree.points());
    geo_io::check_distinct(&paths, &[&args.output])?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    // Points are numbered in the order of the inputs.
    let headers = stages
        .run("headers", |_| Headers::read(&paths, (&points, &points.columns.names()), true))?;
    let (crs, note) = system::of_points(&args.tree, headers.crs.clone(), headers.bounds)?;
    let plan = stages.run("divide", |_| divide(args, &headers, crs.as_ref()))?;
    stages.run("write", |_| {
        geo_io::write_file(output, |file| file.write_all(plan.to_json().as_bytes()))
    })?;
    let mut report = Report::default();
    report.crs(crs.as_ref());
    note.iter().for_each(|note| report.note(note));
    print(report, args, &plan, &headers, &stages);
    Ok(())
}

fn divide(args: &PlanArgs, headers: &Headers, crs: Option<&Crs>) -> Result<Plan> {
    let bounds = args.tree.extent().unwrap_or(headers.bounds);
    let grid = cells::grid(&Cells::new(bounds, &args.tree.params())?)?;
    let recipe = Recipe::new(&args.tree, bounds, crs);
    let params = Params::new(grid, args.budget.share()?, needs::model(args.tree.threshold))
        .device_model(needs::on_device(args.tree.threshold))
        .device_budget(args.budget.device_memory)
        .ends_at_grid(true)
        .most_side(args.budget.tile_size)
        .program(Planned::held(recipe, args.budget.memory)?);
    tile_plan::plan(&headers.inputs, &params).map_err(|error| args.budget.explain(error))
}

fn print(mut report: Report, args: &PlanArgs, plan: &Plan, headers: &Headers, stages: &Stages) {
    let (files, points) = (headers.inputs.len(), headers.points());
    report.line("inputs", format_args!("{files} files, {points} points"));
    report.field("inputs", files);
    report.field("points", points);
    headers.notes.iter().for_each(|note| report.note(note));
    let (b, level) = (plan.grid().bounds(), plan.grid().width.trailing_zeros());
    report.line("root", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
    report.line("", format_args!("divided along cells of level {level}"));
    report.field("root", json!({"bounds": [b.min_x, b.min_y, b.max_x, b.max_y], "level": level}));
    report_tiles(plan, &mut report);
    report_bins_size::<Recipe>(plan, &mut report);
    report.stages(stages);
    report.written([&args.output]);
    report.print(&args.run, false);
}
