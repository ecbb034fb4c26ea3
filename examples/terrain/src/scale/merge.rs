//! Putting tiles together.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use geo_io::{Output, RasterFile};
use programs::report::Report;
use programs::scale::{Mosaic, require_whole};
use programs::stages::Stages;
use serde_json::json;

use super::args::MergeArgs;
use super::{Planned, tile};
use crate::args::format;
use crate::rows::{Tally, Whole};

/// Writes products of all tiles, some rows at a time.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    check(args, &planned)?;
    let mut stages = Stages::new(args.run.quiet);
    stages.run("look", |_| look(args, &planned))?;
    let grid = *planned.plan.grid();
    let place = planned.recipe.lie()?.place;
    let whole = Whole { place: &place, size: (grid.width, grid.height), how: &args.raster };
    let mut report = Report::default();
    let (width, height, tiles) = (grid.width, grid.height, planned.plan.tiles().len());
    report.line("dem", format_args!("{width} x {height} cells, of {tiles} tiles"));
    report.field("dem", json!({"width": width, "height": height}));
    report.field("tiles", tiles);
    for (name, path) in args.outputs.wanted() {
        let output = Output { path, existing: args.run.existing() };
        let mut tally = Tally::default();
        stages.run(name.word(), |_| {
            let open = |number| RasterFile::open(&planned.path_of(number, &tile::end(name)));
            let mut mosaic = Mosaic::new(&planned.plan, &open);
            let mut fill = |first: usize, rows: &mut [f32]| {
                mosaic.fill(first, rows)?;
                tally.add(first, rows, width as usize);
                Ok(())
            };
            whole.write(output, name, &mut fill)
        })?;
        tally.report(&mut report, name, planned.recipe.method.unit(name));
    }
    report.stages(&stages);
    report.written(outputs(args));
    report.print(&args.run, false);
    Ok(())
}

/// Checks what clap does not, before any tile is opened.
fn check(args: &MergeArgs, planned: &Planned) -> Result<()> {
    let products = &planned.recipe.products;
    let options: Vec<String> = products.iter().map(|name| name.option()).collect();
    for (name, path) in args.outputs.wanted() {
        format(name, path)?;
        ensure!(
            products.contains(&name),
            "{}: the plan has no such product, but {}",
            name.option(),
            options.join(", ")
        );
    }
    let outputs: Vec<&Path> = outputs(args).map(AsRef::as_ref).collect();
    ensure!(!outputs.is_empty(), "no product is asked for: give {}", options.join(", "));
    planned.check_distinct(&args.plan, &outputs)?;
    let existing = args.run.existing();
    Ok(outputs.iter().try_for_each(|path| geo_io::check_output(Output { path, existing }))?)
}

/// All files to be written.
fn outputs(args: &MergeArgs) -> impl Iterator<Item = &PathBuf> {
    args.outputs.wanted().map(|(_, path)| path)
}

/// Refuses a plan of which tiles are missing, damaged or not its own.
fn look(args: &MergeArgs, planned: &Planned) -> Result<()> {
    require_whole(planned)?;
    for number in 0..planned.plan.tiles().len() {
        for (name, _) in args.outputs.wanted() {
            tile::open(planned, number, name)?;
        }
    }
    Ok(())
}
