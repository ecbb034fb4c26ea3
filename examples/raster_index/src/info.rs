//! What an index holds, in words.

use anyhow::Result;
use geo_io::Crs;
use gpu_core::GridSpec;
use programs::report::Report;
use serde_json::json;

use crate::args::InfoArgs;
use crate::numbers::{self, shown};
use crate::place::Place;
use crate::trees::{self, Index};

/// Says what an index holds.
pub fn info(args: &InfoArgs) -> Result<()> {
    let tree = trees::read(&args.tree)?;
    let mut report = Report::default();
    let GridSpec { width, height, .. } = *tree.grid();
    let place = Place::of_index(&args.tree, &*tree)?;
    report.line("raster", format_args!("{width} x {height} cells of {}", tree.cells()));
    report.line("place", &place);
    report.field("geotransform", place.geotransform());
    describe(&mut report, &*tree, place.crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// System, nodes, bytes and values of an index.
pub fn describe(report: &mut Report, tree: &dyn Index, crs: Option<&Crs>) {
    crs.iter().for_each(|crs| report.line("system", crs));
    let summary = tree.summary();
    let trees::Summary { nodes, node_bytes, bytes, levels, bits_per_cell, .. } = summary;
    let text =
        format_args!("{nodes} nodes of {node_bytes} bytes on {levels} levels, {bytes} bytes");
    report.line("tree", text);
    if nodes > 0 {
        let a_node = bytes as f64 / nodes as f64;
        let text = format_args!(
            "{a_node:.2} bytes a node with flags and codes, {bits_per_cell:.3} bits a cell"
        );
        report.line("", text);
        let pointers = [summary.pointers_32, summary.pointers_64];
        let [of_32, of_64] = pointers.map(|p| 100.0 * bytes as f64 / p as f64);
        let text = format_args!(
            "{of_32:.0}% of a pointer quadtree's bytes on a machine of 32 bits, {of_64:.0}% on one of 64"
        );
        report.line("", text);
    }
    describe_values(report, tree, &summary);
    if let Some(nodata) = summary.nodata {
        report.line("NODATA", shown(tree.cells(), nodata));
    }
    let fields = json!({
        "nodes": nodes, "node_bytes": node_bytes, "levels": levels, "bytes": bytes, "bits_per_cell": bits_per_cell,
        "bins": summary.bins.iter().map(numbers::json).collect::<Vec<_>>(),
        "nodata": summary.nodata.as_ref().map(numbers::json), "cells": tree.cells(),
        "width": tree.grid().width, "height": tree.grid().height, "crs": crs.map(Crs::to_string),
        "pointer_bytes": [summary.pointers_32, summary.pointers_64],
    });
    report.field("tree", fields);
}

/// The least and the greatest value, or the bins.
fn describe_values(report: &mut Report, tree: &dyn Index, summary: &trees::Summary) {
    match &summary.bins[..] {
        [] => {
            let text = match summary.range {
                Some([min, max]) => {
                    format!("{} to {}", shown(tree.cells(), min), shown(tree.cells(), max))
                }
                None => "none".to_owned(),
            };
            report.line("values", text);
        }
        bins => {
            let words: Vec<String> = bins.iter().map(|&bin| shown(tree.cells(), bin)).collect();
            report.line(
                "bins",
                format_args!("{}, with boundaries {}", bins.len() + 1, words.join(", ")),
            );
        }
    }
}
