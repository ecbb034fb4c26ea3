//! `point_quadtree`: points in, a quadtree of them out: as a file, as its leaves, and as answers.
//!
//! The way from here to the kernel: [`build_within`](quadtree_sort::build_within) goes to crate quadtree-sort's
//! `cpu` or `gpu`, which are siblings; the latter launches the kernels of `kernels-rs/src/quadtree`.

mod areas;
mod args;
mod ask;
mod asked;
mod leaves;
mod scale;
mod system;
mod tree;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use geo_io::{Crs, Output};
use gpu_core::{Bounds, Device, Points};
use programs::cloud::{Cloud, on_ground};
use programs::ground::Ground;
use programs::opening::Opening;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use programs::systems::note_on_bounds;
use quadtree_sort::{MAX_LEVEL, Quadtree, Values};
use serde_json::json;

use args::{Args, CommandLine};
use asked::{Asked, Rows};

fn main() -> ExitCode {
    program::run("point_quadtree", |line: &CommandLine| match &line.command {
        None => run(&line.tree),
        Some(command) => scale::run(command),
    })
}

/// A tree at once: check, read, build, ask, write, report.
fn run(args: &Args) -> Result<()> {
    let how = &args.tree.points;
    let files = args.tree.files()?;
    args.check(&files.read())?;
    let opening = Opening::begin(args.run.device);
    let mut stages = Stages::new(args.run.quiet);
    let mut report = Report::default();
    files.report(&mut report);
    let inputs = files.paths;

    let columns = args.tree.columns();
    let (device, cloud) = opening.beside(&mut stages, "read", |on| {
        let extent = args.tree.extent();
        let ground = extent.as_ref().map(|extent| extent as &dyn Ground);
        Cloud::read_numbered(&inputs, (how, &columns), ground, on)
            .map_err(|error| on_ground(values::named(error), "--bounds", extent))
    })?;
    for (path, tally) in inputs.iter().zip(&cloud.tallies) {
        report.input(path, tally);
    }
    let strays = if args.tree.points.bounds.is_none() { cloud.note_on_strays() } else { None };
    for note in cloud.notes.iter().chain(&strays) {
        report.note(note);
    }
    let crs = system_of(args, &inputs, &cloud, &mut report)?;
    report.device(&device, args.run.device);
    note_on_budget(&mut report, args, &device);
    let points = Points::new(&cloud.x, &cloud.y);
    let params = args.tree.params();
    let tree = stages.run("build", |p| match args.memory_budget {
        Some(budget) => {
            quadtree_sort::build_within(device.with_progress(p), points, &params, budget)
        }
        None => quadtree_sort::build(device.with_progress(p), points, &params),
    });
    let tree = tree.map_err(|error| {
        let why = match (&error, args.tree.extent()) {
            (quadtree_sort::Error::Bounds { .. }, Some(_)) => "--bounds",
            (quadtree_sort::Error::Bounds { .. }, None) => {
                "the points lie too far apart for a tree"
            }
            (quadtree_sort::Error::Budget { .. }, _) => "--memory-budget",
            _ => return error.into(),
        };
        anyhow::Error::from(error).context(why)
    })?;
    let names = (&args.tree.value[..], values::are_fields(&inputs));
    let tree = stages.run("values", |_| values::carried(tree, names, &cloud.z, &cloud.values))?;
    let tree = tree.with_system(crs.as_ref().and_then(Crs::epsg).unwrap_or_default());
    let tree = match &cloud.numbers {
        Some(numbers) => tree.renumbered(numbers, cloud.rows())?,
        None => tree,
    };
    report_tree(&mut report, &tree);
    let names_rows = inputs.len() > 1 || cloud.numbers.is_none();
    if names_rows && (args.output.is_some() || args.ask.names_points()) {
        note_on_numbers(&mut report, &cloud);
    }
    let rows = |points: &[usize]| match cloud.numbers {
        Some(_) => points.iter().map(|&number| cloud.row_of(number as u32, &inputs)).collect(),
        None => cloud.places_of(points, &inputs, &columns),
    };
    let rows = names_rows.then_some(&rows as Rows<'_>);
    let asked = Asked { device: &device, tree: &tree, crs: crs.as_ref(), rows };
    let areas = args.ask.answer(asked, &mut stages, &mut report)?;
    stages.run("write", |_| {
        geo_io::write_together(|| -> Result<()> {
            let existing = args.run.existing();
            if let Some(path) = &args.output {
                geo_io::write_file(Output { path, existing }, |writer| tree.write_to(writer))?;
            }
            args.ask.write(asked, areas.as_ref(), existing)
        })
    })?;
    report.stages(&stages);
    report.written(args.outputs());
    report.print(&args.run);
    Ok(())
}

/// Says that the CPU ignores a limit of device memory.
fn note_on_budget(report: &mut Report, args: &Args, device: &Device) {
    if args.memory_budget.is_some() && matches!(device, Device::Cpu) {
        report.note(BUDGET_ON_CPU);
    }
}

const BUDGET_ON_CPU: &str = "--memory-budget is ignored: it limits the memory of a card, and the CPU builds the tree; tiles of \
                             point_quadtree plan --memory-budget limit the host's memory";

/// Says what numbers of points count.
fn note_on_numbers(report: &mut Report, cloud: &Cloud) {
    report.note(match cloud.numbers {
        Some(_) => "a point's number is its row, counted from 0 through all inputs; of rows with several points, each point counts",
        None => "a point's number counts the kept points from 0, in the order of the inputs, since the rows are too many to number",
    });
}

/// The coordinate system, into the report as well.
fn system_of(
    args: &Args,
    inputs: &[PathBuf],
    cloud: &Cloud,
    report: &mut Report,
) -> Result<Option<Crs>> {
    let stated = system::with_flag(args.tree.geographic, cloud.crs.clone())?;
    if stated.as_ref().is_some_and(Crs::is_geographic) {
        system::require_globe(cloud, inputs)?;
    }
    let Some(bounds) = cloud.bounds() else { return Ok(stated) };
    let (crs, note) = system::of_points(&args.tree, stated, bounds)?;
    report.crs(crs.as_ref());
    let of_bounds = note_on_bounds(args.tree.extent(), crs.as_ref(), Some(bounds));
    note.iter().chain(&of_bounds).for_each(|note| report.note(note));
    let unkept = crs.as_ref().filter(|crs| args.output.is_some() && crs.epsg().is_none());
    if let Some(crs) = unkept {
        report.note(format_args!("the tree does not keep its system, {crs}: it has no EPSG code"));
    }
    Ok(crs)
}

/// Says what a tree is.
fn report_tree(report: &mut Report, tree: &Quadtree) {
    let summary = tree.summary();
    let (nodes, leaves, depth) = (tree.nodes().len(), summary.leaves, summary.depth);
    report.line("tree", format_args!("{nodes} nodes, {leaves} leaves down to level {depth}"));
    if summary.overfull > 0 {
        let (overfull, level) = (summary.overfull, tree.max_level());
        let leaves = if overfull == 1 { "leaf" } else { "leaves" };
        let text = format!("{overfull} {leaves} of level {level}, the deepest, over the threshold");
        report.line("", text);
        if level == MAX_LEVEL {
            note_on_crowds(report, tree, leaves);
        }
    }
    if !tree.values().is_empty() {
        report.line("values", values::kinds(tree.values()));
        let kind = |v: &Values| json!({"name": v.name(), "type": v.value_type().name()});
        report.field("values", tree.values().iter().map(kind).collect::<Vec<_>>());
    }
    let b = tree.bounds();
    if !tree.order().is_empty() {
        let ([min_x, max_x], [min_y, max_y]) = (range(tree.x()), range(tree.y()));
        report.line("points", Bounds { min_x, min_y, max_x, max_y });
        report.field("extent", [min_x, min_y, max_x, max_y]);
    }
    report.line("root", b);
    report.field(
        "tree",
        json!({
            "points": tree.order().len(), "nodes": nodes, "leaves": leaves, "depth": depth,
            "overfull": summary.overfull, "bounds": [b.min_x, b.min_y, b.max_x, b.max_y],
        }),
    );
}

/// Says what share of the points lies where no tree divides them.
fn note_on_crowds(report: &mut Report, tree: &Quadtree, leaves: &str) {
    let crowds = || tree.leaves().filter(|leaf| leaf.count > u64::from(tree.threshold()));
    let (count, held) = (crowds().count(), crowds().map(|leaf| leaf.count).sum::<u64>());
    let share = 100.0 * held as f64 / tree.order().len() as f64;
    let part = 0.5f64.powi(MAX_LEVEL as i32);
    report.note(format_args!(
        "{share:.1}% of the points lie in {count} {leaves} of the deepest level, each {part:.1e} \
         of the root wide: they share a place, or lie too near each other"
    ));
}

/// The least and the greatest of a column.
fn range(column: &[f64]) -> [f64; 2] {
    let none = [f64::INFINITY, f64::NEG_INFINITY];
    column.iter().fold(none, |[least, most], &value| [least.min(value), most.max(value)])
}
