//! Putting tiles together: rasters some rows at a time, contour lines one after the other.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use geo_io::{ArrayFile, Georeference, Output, RasterFile};
use programs::contours;
use programs::report::Report;
use programs::scale::{Mosaic, require_whole};
use programs::stages::Stages;
use programs::tally::Tally;
use serde_json::json;

use super::args::MergeArgs;
use super::tile::Lines;
use super::{Planned, tile};
use crate::args::check_format;
use crate::choices::{Kind, Name};
use crate::rows::Whole;

/// Writes products of all tiles.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    planned.require_files()?;
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
    geo_io::write_together(|| {
        let mut products = args.outputs.wanted();
        products.try_for_each(|product| {
            merge_product(args, (&planned, &whole), product, (&mut stages, &mut report))
        })
    })?;
    report.stages(&stages);
    report.rasters_written(outputs(args), place.crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// Writes a product of all tiles.
fn merge_product(
    args: &MergeArgs,
    (planned, whole): (&Planned, &Whole),
    (name, path): (Name, &PathBuf),
    (stages, report): (&mut Stages, &mut Report),
) -> Result<()> {
    let output = Output { path, existing: args.run.existing() };
    match name.kind() {
        Kind::Numbers => {
            let tally = stages.run(name.word(), |_| merge_numbers(planned, whole, output, name))?;
            let unit = planned.recipe.method.unit(name);
            tally.report(report, name.word(), Some(unit));
        }
        Kind::Colours => {
            stages.run(name.word(), |_| merge_colours(planned, whole, output, name))?;
        }
        Kind::Lines => {
            let lines = stages.run(name.word(), |_| merge_lines(planned, output, whole.place))?;
            let about = (lines, planned.recipe.drawing.contour_interval);
            contours::report(report, path, whole.place.crs.as_ref(), about);
        }
    }
    Ok(())
}

fn merge_numbers(planned: &Planned, whole: &Whole, output: Output, name: Name) -> Result<Tally> {
    let open = |number| RasterFile::open(&planned.path_of(number, &tile::end(name)));
    let (mut mosaic, mut tally) = (Mosaic::new(&planned.plan, &open), Tally::default());
    let mut fill = |first: usize, rows: &mut [f32]| {
        mosaic.fill(first, rows)?;
        tally.add(first, rows, whole.size.0 as usize);
        Ok(())
    };
    whole.write(output, name, &mut fill)?;
    Ok(tally)
}

fn merge_colours(planned: &Planned, whole: &Whole, output: Output, name: Name) -> Result<()> {
    let open = |number| ArrayFile::open(&planned.path_of(number, &tile::end(name)));
    let (mut mosaic, mut words) = (Mosaic::new(&planned.plan, &open), Vec::<u32>::new());
    let mut fill = |first: usize, rows: &mut [u8]| {
        words.resize(rows.len() / 4, 0);
        mosaic.fill(first, &mut words)?;
        let colours = rows.as_chunks_mut().0.iter_mut();
        colours.zip(&words).for_each(|(colour, word)| *colour = word.to_le_bytes());
        Ok(())
    };
    whole.write_colours(output, name, &mut fill)
}

/// Joins the contour lines of all tiles, and gives how many there are. Fragments are in memory, and the points of one
/// line.
fn merge_lines(planned: &Planned, output: Output, place: &Georeference) -> Result<usize> {
    let mut tiles = Vec::new();
    let (mut fragments, mut places) = (Vec::new(), Vec::new());
    for number in 0..planned.plan.tiles().len() {
        let mut tile = Lines::open(planned, number)?;
        let mut first = 0;
        for fragment in &tile.fragments {
            places.push((number, first));
            first += fragment.points();
        }
        fragments.append(&mut tile.fragments);
        tiles.push(tile);
    }
    let lines = terrain_grid::join(&fragments)?;
    let of_file = lines.iter().map(|line| {
        let points = line.points(|i| {
            let (number, first) = places[i];
            tiles[number].points(first, fragments[i].points())
        })?;
        Ok((line.level, points))
    });
    contours::write(output, of_file, place.crs.as_ref())?;
    Ok(lines.len())
}

/// Checks what clap does not, before any tile is opened.
fn check(args: &MergeArgs, planned: &Planned) -> Result<()> {
    let products = &planned.recipe.products;
    let options: Vec<String> = products.iter().map(|name| name.option()).collect();
    for (name, path) in args.outputs.wanted() {
        check_format(name, path)?;
        ensure!(
            products.contains(&name),
            "{}: the plan does not have this product; it has {}",
            name.option(),
            options.join(", ")
        );
    }
    let outputs: Vec<&Path> = outputs(args).map(AsRef::as_ref).collect();
    ensure!(!outputs.is_empty(), "no product: give {}", options.join(", "));
    args.raster.check(&outputs)?;
    planned.check_distinct(&args.plan, &outputs)?;
    let existing = args.run.existing();
    Ok(outputs.iter().try_for_each(|path| geo_io::check_output(Output { path, existing }))?)
}

/// All files that the program writes.
fn outputs(args: &MergeArgs) -> impl Iterator<Item = &PathBuf> {
    args.outputs.wanted().map(|(_, path)| path)
}

/// Refuses a plan of which tiles are missing, damaged or not its own.
fn look(args: &MergeArgs, planned: &Planned) -> Result<()> {
    require_whole(planned)?;
    for number in 0..planned.plan.tiles().len() {
        for (name, _) in args.outputs.wanted() {
            tile::check(planned, number, name)?;
        }
    }
    Ok(())
}
