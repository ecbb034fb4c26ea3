//! `point_quadtree`: points in, a quadtree of them out: as a file, as its leaves, and as answers.
//!
//! The way from here to the kernel: [`build_within`](quadtree_sort::build_within) goes to crate quadtree-sort's
//! `cpu` or `gpu`, which are siblings; the latter launches the kernels of `kernels-rs/src/quadtree`.

mod areas;
mod args;
mod leaves;

use std::process::ExitCode;

use anyhow::Result;
use geo_io::Output;
use gpu_core::Points;
use programs::cloud::Cloud;
use programs::opening::Opening;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use quadtree_sort::{NONE, Quadtree, Regions};
use serde_json::json;

use areas::Areas;
use args::Args;

fn main() -> ExitCode {
    program::run("point_quadtree", run)
}

/// The program: check, read, build, ask, write, report.
fn run(args: &Args) -> Result<()> {
    let how = args.points();
    let inputs = how.files()?;
    args.check(&inputs)?;
    let opening = Opening::begin(args.run.device);
    let mut stages = Stages::new(args.run.quiet);
    let mut report = Report::default();

    let bounds = args.bounds.map(|extent| extent.0);
    let (device, cloud) =
        opening.beside(&mut stages, "read", |p| Cloud::read(&inputs, &how, bounds, p))?;
    for (path, tally) in inputs.iter().zip(&cloud.tallies) {
        report.input(path, tally);
    }
    for note in &cloud.notes {
        report.note(note);
    }
    report.crs(cloud.crs.as_ref());
    report.device(&device, args.run.device);

    let points = Points::new(&cloud.x, &cloud.y);
    let params = args.params();
    let tree = stages.run("build", |p| match args.memory_budget {
        Some(budget) => quadtree_sort::build_within(&device, points, &params, budget.0, p),
        None => quadtree_sort::build(&device, points, &params, p),
    })?;
    report_tree(&mut report, &tree, points);
    stages.run("ask", |_| ask(args, &tree, &mut report))?;
    let areas = stages.run("polygons", |p| {
        args.polygons.as_ref().map(|path| Areas::search(path, &device, &tree, p)).transpose()
    })?;
    if let Some(areas) = &areas {
        areas.report(&mut report);
    }
    stages.run("write", |_| write(args, &tree, areas.as_ref(), points))?;
    report.stages(stages.done());
    report.written(args.outputs());
    report.print(&args.run, false);
    Ok(())
}

fn report_tree(report: &mut Report, tree: &Quadtree, points: Points<'_>) {
    let summary = tree.summary();
    let (nodes, leaves, depth) = (tree.nodes().len(), summary.leaves, summary.depth);
    report.line("tree", format_args!("{nodes} nodes, {leaves} leaves down to level {depth}"));
    if summary.overfull > 0 {
        let (overfull, level) = (summary.overfull, tree.max_level());
        let text = format!("{overfull} leaves of level {level}, the deepest, pass the threshold");
        report.line("", text);
    }
    let b = tree.bounds();
    if !points.is_empty() {
        let ([west, east], [south, north]) = (range(points.x), range(points.y));
        report.line("points", format_args!("{west} {south} to {east} {north}"));
        report.field("extent", [west, south, east, north]);
    }
    report.line("root", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
    report.field(
        "tree",
        json!({
            "points": tree.order().len(), "nodes": nodes, "leaves": leaves, "depth": depth,
            "overfull": summary.overfull, "bounds": [b.min_x, b.min_y, b.max_x, b.max_y],
        }),
    );
}

/// The least and the greatest of a column.
fn range(column: &[f64]) -> [f64; 2] {
    let none = [f64::INFINITY, f64::NEG_INFINITY];
    column.iter().fold(none, |[least, most], &value| [least.min(value), most.max(value)])
}

/// What `--window` and `--nearest` ask of the tree.
fn ask(args: &Args, tree: &Quadtree, report: &mut Report) -> Result<()> {
    if let Some(window) = args.window {
        let count = tree.count_in(Regions::Windows(&[window.0]))?[0];
        report.line("window", format_args!("{count} points"));
        report.field("window", count);
    }
    let Some(args::Nearest { x, y, k }) = args.nearest else { return Ok(()) };
    // No more than there are.
    let found = tree.nearest(&[x], &[y], k.min(tree.order().len()).max(1))?;
    let places = places_of(tree, &found.indices);
    for ((&index, &distance), place) in found.indices.iter().zip(&found.distances).zip(places) {
        let Some((x, y)) = place else { continue };
        report.line("nearest", format_args!("point {index} at ({x}, {y}), distance {distance}"));
        let near = json!({"point": index, "x": x, "y": y, "distance": distance});
        report.element("nearest", near);
    }
    Ok(())
}

/// Where points lie, by their indices as given.
fn places_of(tree: &Quadtree, indices: &[u32]) -> Vec<Option<(f64, f64)>> {
    let place = |&index: &u32| {
        let place = tree.order().iter().position(|&at| at == index && index != NONE)?;
        Some((tree.x()[place], tree.y()[place]))
    };
    indices.iter().map(place).collect()
}

fn write(args: &Args, tree: &Quadtree, areas: Option<&Areas>, points: Points<'_>) -> Result<()> {
    let existing = args.run.existing();
    if let Some(path) = &args.output {
        geo_io::write_file(Output { path, existing }, |writer| tree.write_to(writer))?;
    }
    if let Some(path) = &args.leaves {
        leaves::write(args.leaves_format()?, Output { path, existing }, tree)?;
    }
    if let (Some(path), Some(areas)) = (&args.polygons_out, areas) {
        let format = args.polygons_format()?;
        areas.write(format, Output { path, existing }, (points.x, points.y))?;
    }
    Ok(())
}
