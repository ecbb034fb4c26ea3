//! `raster_index`: an index of a raster's values, built once and asked often.
//!
//! The way from here to the kernel: [`build`] calls `ccq_tree::build`, whose `cpu/` and `gpu/` are siblings; the latter
//! launches the kernels of `kernels-rs/src/ccq/build.rs`.

mod args;
mod cells;
mod regions;
mod sample;
mod scale;
mod systems;
mod trees;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail, ensure};
use ccq_tree::{ClassSet, Condition, Quadrant, Query, Window, mosaic_places};
use geo_io::{ArrayData, Crs, Georeference, Number, Output, Polygons, Raster};
use gpu_core::{Bounds, Device, GridSpec, GridView};
use programs::args::ending;
use programs::opening::Opening;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;

use args::{Args, BuildArgs, Command, InfoArgs, Kind, QueryArgs, Range};
use cells::{Part, number, number_of, shown};
use trees::{AnyTree, How, Index, Values};

/// Most pixels on the longest side of a picture.
const PICTURE_SIDE: u32 = 2048;

fn main() -> ExitCode {
    program::run("raster_index", |args: &Args| match &args.command {
        Command::Build(args) => build(args),
        Command::Query(args) => query(args),
        Command::Info(args) => info(args),
        Command::Plan(args) => scale::plan(args),
        Command::Run(args) => programs::scale::run::<scale::Recipe>(args),
        Command::Merge(args) => scale::merge(args),
    })
}

/// Reads or makes a raster, builds its index, writes it.
fn build(args: &BuildArgs) -> Result<()> {
    args.check()?;
    let opening = Opening::begin(args.run.device);
    let mut stages = Stages::new(args.run.quiet);
    let mut notes = Vec::new();
    let (device, rasters) = match args.rasters.is_empty() {
        false => opening.beside(&mut stages, "read", |_| {
            let read = |path: &PathBuf| read(path, args, &mut notes);
            args.rasters.iter().map(read).collect::<Result<Vec<_>>>()
        }),
        true => opening.beside(&mut stages, "sample", |_| Ok(vec![made(args)?])),
    }?;
    let stated = args.rasters.iter().zip(&rasters).map(|(path, (raster, _))| (path, raster.nodata));
    let nodata = nodata_of(args.nodata, stated)?;
    let places = args.rasters.iter().zip(&rasters);
    let crs =
        systems::of_all(places.map(|(path, (_, place))| (path.as_path(), place.crs.as_ref())))?;
    let crs = crs.cloned();
    if rasters.len() > 1 {
        let grids: Vec<GridSpec> = rasters.iter().map(|(_, place)| place.grid).collect();
        mosaic_places(&grids).map_err(|error| of_part(error, &args.rasters))?;
    }
    let system = crs.as_ref().and_then(|crs| kept(crs, &mut notes));
    let mut report = Report::default();
    for (raster, Place { grid, .. }) in &rasters {
        let (width, height, kind) = (grid.width, grid.height, raster.values.sample_type());
        report.line("raster", format_args!("{width} x {height} cells of {kind}"));
    }
    notes.iter().for_each(|note| report.note(note));
    let kind = rasters[0].0.values.sample_type();
    let (cells, parts) = cells_of(args, rasters, nodata)?;
    let nodata = cells::nodata_of_cells(cells, kind, nodata);
    let mut how = How { cells: cells.to_owned(), bins: args.bins.clone(), nodata };
    let tree = tree_of(args, parts, &mut how, &device, &mut stages)?;
    let tree = tree.in_system(system);
    stages
        .run("write", |_| geo_io::write_file(args.place(), |mut file| tree.write_to(&mut file)))?;
    describe(&mut report, &*tree, crs.as_ref());
    report.device(&device, args.run.device);
    report.stages(&stages);
    report.written([&args.output]);
    report.print(&args.run, false);
    Ok(())
}

/// The values of rasters as cells that an index can have, and the type of these.
fn cells_of(
    args: &BuildArgs,
    rasters: Vec<(Raster, Place)>,
    nodata: Option<Number>,
) -> Result<(&'static str, Vec<(Values, GridSpec)>)> {
    let part = |i: usize, raster: &Raster| Part {
        path: args.rasters.get(i).map_or(Path::new("sample"), PathBuf::as_path),
        nodata: nodata.and_then(|nodata| raster.values.sample_type().value(nodata)),
        corner: (0, 0),
        width: raster.width,
    };
    let all: Vec<_> = rasters.iter().enumerate().map(|(i, (raster, _))| part(i, raster)).collect();
    let kinds = all.iter().zip(&rasters);
    let kinds: Vec<_> =
        kinds.map(|(part, (raster, _))| (part.path, raster.values.sample_type())).collect();
    let check = |i: usize, cells: &str| all[i].check(&rasters[i].0.values, cells);
    let cells = cells::cells_of_all(&kinds, nodata, check)?;
    let cells_of = |(i, (raster, place)): (usize, (Raster, Place))| {
        let part = part(i, &raster);
        Ok((part.cells(raster.values, cells)?, place.grid))
    };
    Ok((cells, rasters.into_iter().enumerate().map(cells_of).collect::<Result<_>>()?))
}

/// The form in which an index keeps a system; a note says where there is none.
fn kept(crs: &Crs, notes: &mut Vec<String>) -> Option<String> {
    let kept = systems::kept(crs);
    if kept.is_none() {
        notes.push(format!("the index does not keep the reference system {crs}: it has no code"));
    }
    kept
}

/// Names the rasters that do not lie beside each other.
fn of_part(error: ccq_tree::Error, paths: &[PathBuf]) -> anyhow::Error {
    match error {
        ccq_tree::Error::Part { index, other, reason } => {
            anyhow!("{} {reason} {}", paths[index].display(), paths[other].display())
        }
        _ => error.into(),
    }
}

/// The index of rasters beside each other, whose bins are found where the command line has none but their number.
fn tree_of(
    args: &BuildArgs,
    mut parts: Vec<(Values, GridSpec)>,
    how: &mut How,
    device: &Device,
    stages: &mut Stages,
) -> Result<AnyTree> {
    let (raster, grid) = match parts.len() {
        1 => parts.remove(0),
        _ => stages.run("put together", |_| Values::put_together(parts, how))?,
    };
    if let Some(count) = args.quantiles {
        how.bins = stages.run("quantiles", |_| raster.quantiles(grid, how.nodata, count))?;
    }
    how.check()?;
    stages.run("build", |p| raster.tree(grid, how, None, device.with_progress(p)))
}

fn read(path: &Path, args: &BuildArgs, notes: &mut Vec<String>) -> Result<(Raster, Place)> {
    let mut raster = geo_io::read_raster(path, args.array.as_deref())?;
    notes.append(&mut raster.notes);
    let place = place_of(path, &raster, notes)?;
    Ok((raster, place))
}

/// The sample.
fn made(args: &BuildArgs) -> Result<(Raster, Place)> {
    let side = u32::try_from(args.sample_side).ok().filter(|&side| side <= 1 << 15);
    let side =
        side.with_context(|| format!("--sample-side {}: at most 32768", args.sample_side))?;
    let (width, height) = (side as usize, side as usize);
    let values = ArrayData::I16(sample::landscape(side, args.seed).into_values());
    let (georeference, nodata, notes) = (None, None, Vec::new());
    let raster = Raster { width, height, values, georeference, nodata, notes };
    Ok((raster, Place { grid: GridSpec::of_pixels(side, side), crs: None }))
}

/// Where a raster's cells lie, and in which system.
struct Place {
    grid: GridSpec,
    crs: Option<Crs>,
}

/// Where a raster's cells lie; one that is turned, or whose cells are no squares, lies nowhere, which a note says.
fn place(
    path: &Path,
    (width, height): (usize, usize),
    place: Option<&Georeference>,
    notes: &mut Vec<String>,
) -> Result<Place> {
    let name = path.display();
    let side = |side: usize| {
        u32::try_from(side).with_context(|| format!("{name}: a side of {side} cells"))
    };
    let (width, height) = (side(width)?, side(height)?);
    ensure!(width > 0 && height > 0, "{name} has no cells ({width} x {height})");
    if let Some([left, size, 0.0, top, 0.0, down]) = place.map(|place| place.transform) {
        // Sides that were computed from an extent differ in their last digits. Nothing moves by a thousandth of a cell.
        let farthest = (down + size).abs() * f64::from(height);
        if size > 0.0 && farthest <= 1e-3 * size {
            let grid = GridSpec::new(left, top, size, width, height)?;
            return Ok(Place { grid, crs: place.and_then(|place| place.crs.clone()) });
        }
    }
    notes.extend(place.map(|_| {
        let why = "its cells are turned, mirrored or no squares";
        format!("{name}: {why}, so the index has no place on the ground")
    }));
    Ok(Place { grid: GridSpec::of_pixels(width, height), crs: None })
}

/// The NODATA of rasters beside each other: what was asked for, or what those say that say one.
fn nodata_of<'a>(
    asked: Option<Number>,
    stated: impl Iterator<Item = (&'a PathBuf, Option<Number>)>,
) -> Result<Option<Number>> {
    if asked.is_some() {
        return Ok(asked);
    }
    let mut stated = stated.filter_map(|(path, value)| Some((path.display(), value?)));
    let Some((first, nodata)) = stated.next() else { return Ok(None) };
    if let Some((other, value)) = stated.find(|(_, value)| *value != nodata) {
        bail!("{first} has the NODATA {nodata}, {other} {value}: give both the same");
    }
    Ok(Some(nodata))
}

/// Where a raster that was read lies.
fn place_of(path: &Path, raster: &Raster, notes: &mut Vec<String>) -> Result<Place> {
    place(path, (raster.width, raster.height), raster.georeference.as_ref(), notes)
}

/// Reads indices, searches, writes what is found.
fn query(args: &QueryArgs) -> Result<()> {
    args.check()?;
    let opening = Opening::begin(args.device());
    let mut stages = Stages::new(args.run.quiet);
    let others = args.others()?;
    let (device, (tree, other_trees)) = opening.beside(&mut stages, "read", |_| {
        let others =
            others.iter().map(|(path, _)| trees::read(path)).collect::<Result<Vec<_>>>()?;
        Ok((trees::read(&args.tree)?, others))
    })?;
    let name = args.tree.display();
    ensure!(tree.grid().cells() > 0, "{name} is the index of a raster without cells");
    let crs = systems::of_index(&args.tree, tree.system())?;
    let own = (args.tree.as_path(), *tree.grid(), crs.as_ref());
    for ((path, _), other) in others.iter().zip(&other_trees) {
        let crs = systems::of_index(path, other.system())?;
        require_common_ground(own, (path, *other.grid(), crs.as_ref()))?;
    }
    let raster = args.raster.as_deref().map(|path| raster_of(path, args, own, tree.cells()));
    let raster = raster.transpose()?;
    let mut conditions = vec![within(&*tree, args.range)];
    if let Some((values, grid)) = &raster {
        conditions[0] = values.give_to(conditions[0], *grid)?;
    }
    let set = args.classes.iter().fold(0, |set, class| set | 1u64 << class);
    if set != 0 {
        let has_values = tree.summary().bins.is_empty();
        ensure!(
            has_values,
            "--classes: {name} has the numbers of bins, not values: build it without bins"
        );
    }
    let set = (set != 0).then(|| tree.class_set(set)).transpose()?;
    conditions.extend(set.iter().map(ClassSet::condition));
    for (tree, (_, range)) in other_trees.iter().zip(&others) {
        conditions.push(within(&**tree, Some(*range)));
    }
    let grid = ccq_tree::search_grid(&conditions)?;
    let query = Query::new().window(args.window_in(&grid)?);
    let (found, total) = stages.run("search", |p| {
        let found = ccq_tree::quadrants(device.with_progress(p), &conditions, &query)?;
        Ok::<_, anyhow::Error>((found, ccq_tree::count(&device, &conditions, &query)?))
    })?;
    let mut report = Report::default();
    report.device(&device, args.device());
    describe(&mut report, &*tree, crs.as_ref());
    report.line("found", format_args!("{} cells in {} quadrants", total.cells, total.quadrants));
    if grid != *tree.grid() {
        let GridSpec { width, height, cell_size, .. } = grid;
        report.note(format_args!(
            "the finest of the indices has {width} x {height} cells of {cell_size}: of those are the cells that are found"
        ));
    }
    if total.unsure > 0 {
        report.note(format_args!(
            "{} more cells are in bins that the range cuts through; --raster says which are in it",
            total.unsure
        ));
    }
    let fields =
        json!({"quadrants": total.quadrants, "cells": total.cells, "unsure": total.unsure});
    report.field("found", fields);
    let is_named = crs.as_ref().is_some_and(geo_io::is_named_in_geojson);
    let unnamed_heights = crs.as_ref().filter(|crs| !geo_io::has_named_heights(crs));
    for path in args.written() {
        let name = path.display();
        if ending(&path) != "geojson" {
            continue;
        }
        if let Some(crs) = unnamed_heights.filter(|_| is_named) {
            report.note(format_args!("{name} names the horizontal part alone of {crs}"));
        }
        if !is_named {
            let why = if crs.is_some() { "this one has no code" } else { "the index has none" };
            report.note(format_args!(
                "{name} names no reference system, as {why}: readers take it for longitude and latitude"
            ));
        }
    }
    let crs = crs.as_ref();
    let (conditions, query, found, device) = (&conditions[..], &query, &found[..], &device);
    let results = Results { conditions, query, found, grid, crs, device };
    stages.run("write", |_| args.output.iter().try_for_each(|path| results.write(args, path)))?;
    if let Some(path) = &args.regions {
        let output = Output { path, existing: args.run.existing() };
        let found = stages.run("regions", |p| {
            let on = device.with_progress(p);
            Ok::<_, anyhow::Error>(ccq_tree::regions(on, conditions, query, args.connectivity)?)
        })?;
        let regions = regions::Regions { found: &found, grid, crs };
        stages.run("write regions", |_| regions.write(output))?;
        regions.describe(&mut report);
    }
    report.stages(&stages);
    report.written(&args.written());
    report.print(&args.run, false);
    Ok(())
}

/// The condition that an index's values lie in a range, whose ends are of the cells' type.
fn within(tree: &dyn Index, range: Option<Range>) -> Condition<'_> {
    let end = |number: Number| cells::bound_in(tree.cells(), number);
    match range {
        Some(Range(low, high)) => tree.condition().range(end(low), end(high)),
        None => tree.condition(),
    }
}

/// A raster or an index: its name, its cells, its system.
type Lying<'a> = (&'a Path, GridSpec, Option<&'a Crs>);

/// Refuses a second index of another system than the first, or without ground in common. Of the same sides it is to lie in the
/// same place.
fn require_common_ground(first: Lying, second: Lying) -> Result<()> {
    let ((a, its, of_a), (b, grid, of_b)) = (first, second);
    let is_nowhere = |grid: &GridSpec| *grid == GridSpec::of_pixels(grid.width, grid.height);
    let is_alike = (grid.width, grid.height) == (its.width, its.height);
    if is_alike || is_nowhere(&its) || is_nowhere(&grid) {
        return require_same_place(first, second);
    }
    systems::require_same((a, of_a), (b, of_b))?;
    let (one, other) = (its.bounds(), grid.bounds());
    let show = |b: &Bounds| format!("{},{},{},{}", b.min_x, b.min_y, b.max_x, b.max_y);
    ensure!(
        one.min_x < other.max_x
            && other.min_x < one.max_x
            && one.min_y < other.max_y
            && other.min_y < one.max_y,
        "{} lies at {}, {} at {}: they have no ground in common",
        b.display(),
        show(&other),
        a.display(),
        show(&one)
    );
    Ok(())
}

/// Refuses a second of other sides than the first, of another place or of another system. An array lies nowhere, and so may
/// its index: those will do, wherever the other lies.
fn require_same_place(first: Lying, second: Lying) -> Result<()> {
    let ((a, its, of_a), (b, grid, of_b)) = (first, second);
    systems::require_same((a, of_a), (b, of_b))?;
    let (a, b) = (a.display(), b.display());
    let sides = |grid: &GridSpec| (grid.width, grid.height);
    let ((width, height), (its_width, its_height)) = (sides(&grid), sides(&its));
    ensure!(
        (width, height) == (its_width, its_height),
        "{b} has {width} x {height} cells, {a} {its_width} x {its_height}"
    );
    let is_nowhere = |grid: &GridSpec| *grid == GridSpec::of_pixels(width, height);
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * its.cell_size;
    let span = f64::from(width.max(height));
    let is_there = is_near(grid.origin_x, its.origin_x)
        && is_near(grid.origin_y, its.origin_y)
        && is_near(grid.cell_size * span, its.cell_size * span);
    let place = |grid: &GridSpec| {
        format!("at {} {} with cells of {}", grid.origin_x, grid.origin_y, grid.cell_size)
    };
    ensure!(
        is_there || is_nowhere(&grid) || is_nowhere(&its),
        "{b} has its north-west corner {}, {a} {}: they lie elsewhere",
        place(&grid),
        place(&its)
    );
    Ok(())
}

/// The raster that an index was built from. Another is refused where type or place tell.
fn raster_of(
    path: &Path,
    args: &QueryArgs,
    index: Lying,
    cells: &'static str,
) -> Result<(Values, GridSpec)> {
    let raster = geo_io::read_raster(path, args.array.as_deref())?;
    let Place { grid, crs } = place_of(path, &raster, &mut Vec::new())?;
    require_same_place(index, (path, grid, crs.as_ref()))?;
    let part = Part { path, nodata: raster.nodata, corner: (0, 0), width: raster.width };
    let values = part.cells(raster.values, cells)?;
    Ok((values, grid))
}

/// What was found, to be written.
struct Results<'a> {
    conditions: &'a [Condition<'a>],
    query: &'a Query,
    found: &'a [Quadrant],
    grid: GridSpec,
    crs: Option<&'a Crs>,
    device: &'a Device,
}

impl Results<'_> {
    fn write(&self, args: &QueryArgs, path: &Path) -> Result<()> {
        let output = Output { path, existing: args.run.existing() };
        match args::kind(path)? {
            Kind::Csv => {
                let row = |q: &Quadrant| {
                    let Quadrant { row, column, size, min, max, .. } = q;
                    format!("{row},{column},{size},{min},{max}")
                };
                geo_io::write_rows(output, "row,col,size,min,max", self.found.iter().map(row))?;
            }
            Kind::GeoJson => {
                let outlines = self.found.iter().map(|q| self.outline(q));
                geo_io::write_polygons(output, outlines, self.crs)?;
            }
            Kind::Npy => {
                let mask = ccq_tree::mask(self.device, self.conditions, self.query)?;
                let (width, height) = (self.grid.width as usize, self.grid.height as usize);
                geo_io::write_npy(output, mask.values(), width, height)?;
            }
            Kind::Png => {
                let mask = ccq_tree::mask(self.device, self.conditions, self.query)?;
                // What is found is bright on a dark ground.
                let bright = mask.values().iter().map(|&cell| 0.15 + 0.85 * f32::from(cell));
                let bright: Vec<f32> = bright.collect();
                let factor = self.grid.width.max(self.grid.height).div_ceil(PICTURE_SIDE);
                let raster = GridView::new(&bright, self.grid)?;
                let picture = terrain_grid::cpu::averaged(raster, factor, &gpu_core::Silent)?;
                let GridSpec { width, height, .. } = *picture.grid();
                geo_io::write_shade(output, picture.values(), width, height)?;
            }
        }
        Ok(())
    }

    /// The part of a quadrant that counts, as a polygon, and its properties.
    fn outline(&self, quadrant: &Quadrant) -> (Vec<(&'static str, Number)>, Polygons) {
        let window = self.query.window.unwrap_or(Window::of(&self.grid));
        let Window { row0, column0, row1, column1 } = quadrant.cells(window).unwrap_or(window);
        let GridSpec { origin_x, origin_y, cell_size, .. } = self.grid;
        let corner = |column: u32, row: u32| {
            [origin_x + f64::from(column) * cell_size, origin_y - f64::from(row) * cell_size]
        };
        let south_west = (column0, row1);
        let ring = [south_west, (column1, row1), (column1, row0), (column0, row0), south_west];
        let ring = ring.map(|(column, row)| corner(column, row)).to_vec();
        let mut properties = vec![
            ("size", quadrant.size.into()),
            ("min", number_of(quadrant.min)),
            ("max", number_of(quadrant.max)),
        ];
        if quadrant.is_partly {
            properties.push(("partly", 1.into()));
        }
        (properties, vec![vec![ring]])
    }
}

/// Says what an index holds.
fn info(args: &InfoArgs) -> Result<()> {
    let tree = trees::read(&args.tree)?;
    let mut report = Report::default();
    let GridSpec { origin_x, origin_y, cell_size, width, height } = *tree.grid();
    report.line("raster", format_args!("{width} x {height} cells of {}", tree.cells()));
    report.line(
        "place",
        format_args!("north-west corner {origin_x} {origin_y}, cells of {cell_size}"),
    );
    let crs = systems::of_index(&args.tree, tree.system())?;
    describe(&mut report, &*tree, crs.as_ref());
    report.print(&args.run, false);
    Ok(())
}

/// System, nodes, bytes and values of an index.
fn describe(report: &mut Report, tree: &dyn Index, crs: Option<&Crs>) {
    crs.iter().for_each(|crs| report.line("system", crs));
    let summary = tree.summary();
    let trees::Summary { nodes, node_bytes, bytes, levels, bits_per_cell, .. } = summary;
    let text =
        format_args!("{nodes} nodes of {node_bytes} bytes on {levels} levels, {bytes} bytes");
    report.line("tree", text);
    if nodes > 0 {
        let a_node = bytes as f64 / nodes as f64;
        let text = format_args!(
            "with all beside them {a_node:.2} bytes a node, {bits_per_cell:.3} bits a cell"
        );
        report.line("", text);
        let pointers = [summary.pointers_32, summary.pointers_64];
        let [of_32, of_64] = pointers.map(|p| 100.0 * bytes as f64 / p as f64);
        let text = format_args!(
            "{of_32:.0}% of a pointer quadtree's bytes on a machine of 32 bits, {of_64:.0}% on one of 64"
        );
        report.line("", text);
    }
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
    if let Some(nodata) = summary.nodata {
        report.line("NODATA", shown(tree.cells(), nodata));
    }
    let fields = json!({
        "nodes": nodes, "node_bytes": node_bytes, "levels": levels, "bytes": bytes, "bits_per_cell": bits_per_cell,
        "bins": summary.bins.iter().map(number).collect::<Vec<_>>(),
        "nodata": summary.nodata.as_ref().map(number), "cells": tree.cells(),
        "width": tree.grid().width, "height": tree.grid().height, "crs": crs.map(Crs::to_string),
        "pointer_bytes": [summary.pointers_32, summary.pointers_64],
    });
    report.field("tree", fields);
}
