//! Putting tiles together.

use anyhow::{Result, ensure};
use geo_io::Output;
use programs::report::Report;
use programs::scale::require_all;
use programs::stages::Stages;
use quadtree_sort::{Joined, Part, join};
use serde_json::json;

use super::args::MergeArgs;
use super::{Planned, tile};
use crate::tree::require_tree_name;

/// Writes the tree of all tiles, which lie in mapped files.
pub fn merge(args: &MergeArgs) -> Result<()> {
    require_tree_name(&args.output)?;
    let planned = Planned::read(&args.plan)?;
    let output = Output { path: &args.output, existing: args.run.existing() };
    planned.check_distinct(&args.plan, &[&args.output])?;
    geo_io::check_output(output)?;
    let mut stages = Stages::new(args.run.quiet);
    let tiles = planned.plan.tiles().len();
    let trees = stages.run("look", |_| {
        require_all(&planned)?;
        let mut trees = Vec::new();
        for number in 0..tiles {
            trees.extend(tile::open(&planned, number, trees.len())?);
        }
        Ok::<_, anyhow::Error>(trees)
    })?;
    let parts: Vec<Part> =
        trees.iter().map(|(cell, tree)| Part::new(tree, cell.level, cell.code)).collect();
    let mut report = Report::default();
    let joined = stages.run("merge", |_| {
        let joined = join(&parts)?;
        require_all_points(&planned, &joined, &mut report)?;
        geo_io::write_file(output, |file| joined.write_to(file))?;
        Ok::<_, anyhow::Error>(joined)
    })?;
    let (summary, nodes, points) = (joined.summary(), joined.nodes(), joined.points());
    let (leaves, depth, overfull) = (summary.leaves, summary.depth, summary.overfull);
    report.line(
        "tree",
        format_args!("{points} points, {nodes} nodes, {leaves} leaves down to level {depth}, of {tiles} tiles"),
    );
    let tree = json!({
        "points": points, "nodes": nodes, "leaves": leaves, "depth": depth, "overfull": overfull,
    });
    report.field("tree", tree);
    report.field("tiles", tiles);
    report.stages(&stages);
    report.written([&args.output]);
    report.print(&args.run);
    Ok(())
}

/// Refuses tiles that lack points. If points are numbered by rows, the bins alone know how many were kept, and a user
/// may have removed them.
fn require_all_points(planned: &Planned, joined: &Joined, report: &mut Report) -> Result<()> {
    let points = joined.points();
    let all = match planned.recipe.rows() {
        None => joined.summary().points,
        Some(_) => match planned.open_bins()? {
            Some(bins) => bins.points(),
            None => {
                report.note(format_args!(
                    "the plan's bins are gone, so the program could not compare their number of \
                     points with the {points} points of the tiles"
                ));
                return Ok(());
            }
        },
    };
    ensure!(points == all, "the tiles have {points} of {all} points: make the tiles again");
    Ok(())
}
