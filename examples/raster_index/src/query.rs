//! Asking indices: where values lie in ranges, and writing what is found.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use ccq_tree::{ClassSet, Condition, Count, Quadrant, Query, Window};
use geo_io::{Crs, Number, Output, Polygons};
use gpu_core::{Device, Grid, GridSpec, GridView};
use programs::args::ending;
use programs::opening::Opening;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;

use crate::args::{self, Kind, QueryArgs, Range};
use crate::cells::Part;
use crate::info::describe;
use crate::numbers::{bound_in, number_of};
use crate::place::{Lying, Place, place_of, require_common_ground, require_same_place};
use crate::trees::{self, AnyTree, Index, Sum};
use crate::values::Values;
use crate::{regions, systems};

/// Most pixels on the longest side of a picture.
const PICTURE_SIDE: u32 = 2048;

/// Reads indices, searches, writes what is found.
pub fn query(args: &QueryArgs) -> Result<()> {
    args.check()?;
    let opening = Opening::begin(args.device());
    let mut stages = Stages::new(args.run.quiet);
    let (device, indices) = opening.beside(&mut stages, "read", |_| Indices::read(args))?;
    let crs = systems::of_index(&args.tree, indices.first.system())?;
    let raster = indices.check(args, crs.as_ref())?;
    let set = indices.class_set(args)?;
    let conditions = indices.conditions(args, raster.as_ref(), set.as_ref())?;
    let grid = ccq_tree::search_grid(&conditions)?;
    let query = Query::new().window(args.window_in(&grid)?);
    let (found, total) = stages.run("search", |p| {
        let found = ccq_tree::quadrants(device.with_progress(p), &conditions, &query)?;
        let mut total = ccq_tree::count(&device, &conditions, &query)?;
        let is_settled = total.unsure == 0 && found.iter().any(|quadrant| quadrant.is_partly);
        let found = match is_settled {
            true => by_raster(found, &ccq_tree::mask(&device, &conditions, &query)?, &query),
            false => found,
        };
        total.quadrants = found.len() as u64;
        Ok::<_, anyhow::Error>((found, total))
    })?;
    let mut report = Report::default();
    report.device(&device, args.device());
    describe(&mut report, &*indices.first, crs.as_ref());
    report_found(&mut report, &total, &grid, indices.first.grid());
    if args.sum {
        let sum = stages.run("sum", |_| indices.first.sum(&conditions, &query))?;
        report_sum(&mut report, sum);
    }
    note_systems(&mut report, &args.written(), crs.as_ref());
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

/// The index that is asked, and others with their ranges.
struct Indices {
    first: AnyTree,
    others: Vec<(PathBuf, Range, AnyTree)>,
}

impl Indices {
    fn read(args: &QueryArgs) -> Result<Self> {
        let other = |(path, range): (PathBuf, Range)| {
            let tree = trees::read(&path)?;
            Ok((path, range, tree))
        };
        let others = args.others()?.into_iter().map(other).collect::<Result<_>>()?;
        Ok(Self { first: trees::read(&args.tree)?, others })
    }

    /// Refuses others of another place or system, and reads the raster of the first, which must be of its type and place.
    fn check(&self, args: &QueryArgs, crs: Option<&Crs>) -> Result<Option<(Values, GridSpec)>> {
        let (path, first) = (args.tree.as_path(), &self.first);
        let name = path.display();
        ensure!(first.grid().cells() > 0, "{name} is the index of a raster without cells");
        let own = (path, *first.grid(), crs);
        for (path, _, other) in &self.others {
            let crs = systems::of_index(path, other.system())?;
            require_common_ground(own, (path, *other.grid(), crs.as_ref()))?;
        }
        let raster = args.raster.as_deref();
        raster.map(|path| raster_of(path, args, own, first.cells())).transpose()
    }

    /// Where the cells of the asked classes lie.
    fn class_set(&self, args: &QueryArgs) -> Result<Option<ClassSet>> {
        let set = args.classes.iter().fold(0, |set, class| set | 1u64 << class);
        if set == 0 {
            return Ok(None);
        }
        self.require_values(args, "--classes")?;
        Ok(Some(self.first.class_set(set)?))
    }

    /// Refuses an index that has the numbers of bins.
    fn require_values(&self, args: &QueryArgs, option: &str) -> Result<()> {
        let (name, has_values) = (args.tree.display(), self.first.summary().bins.is_empty());
        ensure!(
            has_values,
            "{option}: {name} has the numbers of bins, not values: build it without bins"
        );
        Ok(())
    }

    fn conditions<'a>(
        &'a self,
        args: &QueryArgs,
        raster: Option<&'a (Values, GridSpec)>,
        set: Option<&'a ClassSet>,
    ) -> Result<Vec<Condition<'a>>> {
        if args.sum {
            self.require_values(args, "--sum")?;
        }
        let mut conditions = vec![within(&*self.first, args.range)];
        if let Some((values, grid)) = raster {
            conditions[0] = values.give_to(conditions[0], *grid)?;
        }
        conditions.extend(set.map(ClassSet::condition));
        conditions.extend(self.others.iter().map(|(_, range, tree)| within(&**tree, Some(*range))));
        Ok(conditions)
    }
}

/// What was found, where rasters have told which cells of the quadrants that a range cuts through are in it: these cells in their place.
fn by_raster(found: Vec<Quadrant>, mask: &Grid<u8>, query: &Query) -> Vec<Quadrant> {
    let window = query.window.unwrap_or(Window::of(mask.grid()));
    let cells = |quadrant: Quadrant| {
        let Window { row0, column0, row1, column1 } = quadrant.cells(window)?;
        let all =
            (row0..row1).flat_map(move |row| (column0..column1).map(move |column| (row, column)));
        let is_in = |&(row, column): &(u32, u32)| mask.get(column, row) == Some(&1);
        let cell = |(row, column)| Quadrant { row, column, size: 1, is_partly: false, ..quadrant };
        Some(all.filter(is_in).map(cell).collect::<Vec<Quadrant>>())
    };
    let settled = |quadrant: Quadrant| match quadrant.is_partly {
        true => cells(quadrant).unwrap_or_default(),
        false => vec![quadrant],
    };
    found.into_iter().flat_map(settled).collect()
}

/// Says how much was found, on the grid of the finest index.
fn report_found(report: &mut Report, total: &Count, grid: &GridSpec, own: &GridSpec) {
    report.line("found", format_args!("{} cells in {} quadrants", total.cells, total.quadrants));
    if grid != own {
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
}

/// Says the sum and the mean of what was found.
fn report_sum(report: &mut Report, sum: Option<Sum>) {
    let Some(Sum { cells, sum, mean }) = sum else {
        report.line("sum", "of no cells");
        return report.field("sum", serde_json::Value::Null);
    };
    report.line("sum", format_args!("{sum} of {cells} cells, mean {mean}"));
    let exact = serde_json::from_str::<serde_json::Value>(&sum).unwrap_or_default();
    report.field("sum", json!({"cells": cells, "sum": exact, "mean": mean}));
}

/// Says which files of GeoJSON name no reference system, or a part of it.
fn note_systems(report: &mut Report, written: &[PathBuf], crs: Option<&Crs>) {
    let is_named = crs.is_some_and(geo_io::is_named_in_geojson);
    let unnamed_heights = crs.filter(|crs| !geo_io::has_named_heights(crs));
    for path in written.iter().filter(|path| ending(path) == "geojson") {
        let name = path.display();
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
}

/// The condition that an index's values lie in a range, whose ends are of the cells' type.
fn within(tree: &dyn Index, range: Option<Range>) -> Condition<'_> {
    let end = |number: Number| bound_in(tree.cells(), number);
    match range {
        Some(Range(low, high)) => tree.condition().range(end(low), end(high)),
        None => tree.condition(),
    }
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
    let nodata = args.nodata.or(raster.nodata);
    let nodata = nodata.and_then(|nodata| raster.values.sample_type().value(nodata));
    let part = Part { path, nodata, corner: (0, 0), width: raster.width };
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
                let picture = terrain_grid::averaged(raster, factor, &gpu_core::Silent)?;
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
