//! Searches indices for values in ranges, and writes the results.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ccq_tree::{Condition, Count, Quadrant, Query, Window};
use geo_io::{Crs, Number, Output, Polygons, Shape};
use gpu_core::{Device, Grid, GridSpec, GridView};
use programs::args::ending;
use programs::opening::Opening;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;

use crate::args::{self, Kind, QueryArgs};
use crate::asked::{Asked, Indices};
use crate::info::describe;
use crate::numbers::{json_of_sum, number_of};
use crate::place::Place;
use crate::regions;
use crate::trees::Sum;

/// Most pixels on the longest side of a picture.
const PICTURE_SIDE: u32 = 2048;

/// Reads indices, searches, writes what is found.
pub fn query(args: &QueryArgs) -> Result<()> {
    args.check()?;
    let opening = Opening::begin(args.device());
    let mut stages = Stages::new(args.run.quiet);
    let (device, indices) = opening.beside(&mut stages, "read", |_| Indices::read(args))?;
    let first = &indices.first;
    let set = indices.class_set(args)?;
    let conditions = indices.conditions(set.as_ref())?;
    let grid = ccq_tree::search_grid(&conditions)?;
    if args.sum {
        indices.require_sum(&grid)?;
    }
    let finest = indices.finest(&grid);
    let query = Query::new().window(args.window_in(&finest.path, &finest.place)?);
    let (found, total) = search(&mut stages, &device, &conditions, &query)?;
    if total.unsure > 0 && args.needs_cells() {
        bail!("{}", indices.remedy());
    }
    let mut report = Report::default();
    report.device(&device, args.device());
    describe(&mut report, &*first.tree, first.place.crs.as_ref());
    indices.notes().for_each(|note| report.note(note));
    report_found(&mut report, &total, finest, first);
    if total.unsure > 0 {
        let (unsure, remedy) = (total.unsure, indices.remedy());
        report.note(format_args!("{unsure} more cells may lie in the range: {remedy}"));
    }
    if args.sum {
        let sum = stages.run("sum", |_| first.tree.sum(&conditions, &query))?;
        report_sum(&mut report, first.tree.cells(), sum);
    }
    let crs = finest.place.crs.as_ref().or(first.place.crs.as_ref()).cloned();
    let place = Place { crs, ..finest.place.clone() };
    note_systems(&mut report, &args.written(), place.crs.as_ref());
    let (conditions, query, device) = (&conditions[..], &query, &device);
    let results = Results { conditions, query, found: &found, place: &place, device };
    geo_io::write_together(|| {
        let mut paths = args.output.iter();
        stages.run("write", |_| paths.try_for_each(|path| results.write(args, path)))?;
        let regions = args.regions.as_deref();
        regions.map_or(Ok(()), |path| results.regions(args, path, (&mut stages, &mut report)))
    })?;
    report.stages(&stages);
    report.written(&args.written());
    report.print(&args.run);
    Ok(())
}

/// Searches, and counts what is found.
fn search(
    stages: &mut Stages,
    device: &Device,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<(Vec<Quadrant>, Count)> {
    stages.run("search", |p| {
        let found = ccq_tree::quadrants(device.with_progress(p), conditions, query)?;
        let mut total = ccq_tree::count(device, conditions, query)?;
        let is_settled = total.unsure == 0 && found.iter().any(|quadrant| quadrant.is_partly);
        let found = match is_settled {
            true => by_raster(found, &ccq_tree::mask(device, conditions, query)?, query),
            false => found,
        };
        total.quadrants = found.len() as u64;
        Ok((found, total))
    })
}

/// What was found, where rasters have told which cells of the quadrants that a range cuts through are in it: these
/// cells in their place.
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
fn report_found(report: &mut Report, total: &Count, finest: &Asked, first: &Asked) {
    report.line("found", format_args!("{} cells in {} quadrants", total.cells, total.quadrants));
    if finest.tree.grid() != first.tree.grid() {
        let GridSpec { width, height, cell_size, .. } = finest.tree.grid();
        report.note(format_args!(
            "the query finds cells of {}, the finest: {width} x {height} cells of {cell_size}",
            finest.path.display()
        ));
    }
    let fields =
        json!({"quadrants": total.quadrants, "cells": total.cells, "unsure": total.unsure});
    report.field("found", fields);
}

/// Says the sum and the mean of the found values, which are of this type.
fn report_sum(report: &mut Report, of: &str, sum: Option<Sum>) {
    let Some(Sum { cells, sum, mean }) = sum else {
        report.line("sum", "of no cells");
        return report.field("sum", serde_json::Value::Null);
    };
    report.line("sum", format_args!("{sum} of {cells} cells, mean {mean}"));
    let exact = json_of_sum(of, &sum);
    let mean = Number::from(mean).to_json();
    report.field("sum", json!({"cells": cells, "sum": exact, "mean": mean}));
}

/// Says which files of GeoJSON name no reference system, or a part of it.
fn note_systems(report: &mut Report, written: &[PathBuf], crs: Option<&Crs>) {
    let is_named = crs.is_some_and(geo_io::is_named_in_geojson);
    let unnamed_heights = crs.filter(|crs| !geo_io::has_named_heights(crs));
    for path in written.iter().filter(|path| ending(path) == "geojson") {
        let name = path.display();
        if let Some(crs) = unnamed_heights.filter(|_| is_named) {
            report.note(format_args!("{name} names only the horizontal part of {crs}"));
        }
        if !is_named {
            let why = if crs.is_some() { "this one has no code" } else { "the index has none" };
            report.note(format_args!(
                "{name} names no reference system, as {why}: readers take it for longitude and latitude"
            ));
        }
    }
}

/// The found cells, for writing.
struct Results<'a> {
    conditions: &'a [Condition<'a>],
    query: &'a Query,
    found: &'a [Quadrant],
    place: &'a Place,
    device: &'a Device,
}

impl Results<'_> {
    /// Writes the regions of found cells.
    fn regions(
        &self,
        args: &QueryArgs,
        path: &Path,
        (stages, report): (&mut Stages, &mut Report),
    ) -> Result<()> {
        let output = Output { path, existing: args.run.existing() };
        let found = stages.run("regions", |p| {
            let on = self.device.with_progress(p);
            ccq_tree::regions(on, self.conditions, self.query, args.connectivity)
        })?;
        let regions = regions::Regions::new(&found, self.place)?;
        stages.run("write regions", |_| regions.write(output))?;
        regions.describe(report);
        Ok(())
    }

    fn write(&self, args: &QueryArgs, path: &Path) -> Result<()> {
        let output = Output { path, existing: args.run.existing() };
        match args::kind(path)? {
            Kind::Csv => {
                let row = |quadrant: &Quadrant| {
                    let Window { row0, column0, row1, column1 } = self.cells(quadrant);
                    let (rows, columns) = (row1 - row0, column1 - column0);
                    let Quadrant { min, max, is_partly, .. } = quadrant;
                    let partly = u8::from(*is_partly);
                    format!("{row0},{column0},{rows},{columns},{min},{max},{partly}")
                };
                let header = "row,col,rows,cols,min,max,partly";
                geo_io::write_rows(output, header, self.found.iter().map(row))?;
            }
            Kind::GeoJson => {
                let outlines = self.found.iter().map(|quadrant| self.outline(quadrant));
                geo_io::write_polygons(output, outlines, self.place.crs.as_ref())?;
            }
            Kind::GeoParquet => {
                let outlines = self.found.iter().map(|quadrant| self.outline(quadrant));
                let outlines = outlines.map(|(of, polygons)| (of, Shape::Polygons(polygons)));
                geo_io::write_geoparquet_features(output, outlines, self.place.crs.as_ref())?;
            }
            Kind::Npy => {
                let mask = ccq_tree::mask(self.device, self.conditions, self.query)?;
                let GridSpec { width, height, .. } = self.place.grid;
                let (width, height) = (width as usize, height as usize);
                geo_io::write_npy(output, mask.values(), width, height)?;
            }
            Kind::Png => {
                let mask = ccq_tree::mask(self.device, self.conditions, self.query)?;
                // What is found is bright on a dark ground.
                let bright = mask.values().iter().map(|&cell| 0.15 + 0.85 * f32::from(cell));
                let bright: Vec<f32> = bright.collect();
                let grid = self.place.grid;
                let factor = grid.width.max(grid.height).div_ceil(PICTURE_SIDE);
                let raster = GridView::new(&bright, grid)?;
                let picture = terrain_grid::averaged(raster, factor, &gpu_core::Silent)?;
                let GridSpec { width, height, .. } = *picture.grid();
                geo_io::write_shade(output, picture.values(), width, height)?;
            }
        }
        Ok(())
    }

    /// The part of a quadrant that counts.
    fn cells(&self, quadrant: &Quadrant) -> Window {
        let window = self.query.window.unwrap_or(Window::of(&self.place.grid));
        quadrant.cells(window).unwrap_or(window)
    }

    /// The part of a quadrant that counts, as a polygon, and its properties.
    fn outline(&self, quadrant: &Quadrant) -> (Vec<(&'static str, Number)>, Polygons) {
        let Window { row0, column0, row1, column1 } = self.cells(quadrant);
        let corners = [[column0, row1], [column1, row1], [column1, row0], [column0, row0]];
        let mut properties = vec![
            ("row", row0.into()),
            ("col", column0.into()),
            ("rows", (row1 - row0).into()),
            ("cols", (column1 - column0).into()),
            ("min", number_of(quadrant.min)),
            ("max", number_of(quadrant.max)),
        ];
        if quadrant.is_partly {
            properties.push(("partly", 1.into()));
        }
        (properties, vec![vec![self.place.ring(&corners)]])
    }
}
