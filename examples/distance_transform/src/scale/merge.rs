//! Putting tiles together.

use std::path::Path;

use anyhow::{Result, ensure};
use bytemuck::Pod;
use geo_io::{NpyElement, Output, RasterFile};
use programs::args::{Format, ending};
use programs::report::Report;
use programs::scale::{Mosaic, require_whole};
use programs::stages::Stages;
use serde_json::json;

use crate::scale::args::MergeArgs;
use crate::scale::tile::{NEAREST, open, open_nearest};
use crate::scale::{Planned, is_short};

/// Writes the distances of all tiles, and their nearest sites, some rows at a time.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    check(args, &planned)?;
    let existing = args.run.existing();
    let mut stages = Stages::new(args.run.quiet);
    stages.run("look", |_| look(args, &planned))?;
    let grid = *planned.plan.grid();
    let place = planned.recipe.place_from(0, 0)?;
    stages.run("merge", |_| -> Result<()> {
        let open = |number| RasterFile::open(&planned.path_of(number, ".tif"));
        let mut mosaic = Mosaic::new(&planned.plan, &open);
        for path in &args.output {
            let output = Output { path, existing };
            if Format::of("--output", path, &FORMATS)? == Format::Npy {
                let mut fill = |first: usize, rows: &mut [f32]| {
                    mosaic.fill(first, rows)?;
                    // What is NODATA in a GeoTIFF.
                    rows.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = f32::INFINITY);
                    Ok(())
                };
                let size = (grid.width as usize, grid.height as usize);
                geo_io::write_npy_rows(output, size, &mut fill)?;
            } else {
                let (size, options) = ((grid.width, grid.height), args.raster.options());
                let mut fill = |first: usize, rows: &mut [f32]| mosaic.fill(first, rows);
                let nodata = args.raster.nodata;
                geo_io::write_tiff_rows(output, &place, size, nodata, &options, &mut fill)?;
            }
        }
        match (&args.nearest, is_short(&grid)) {
            (None, _) => Ok(()),
            (Some(path), true) => merge_nearest::<u32>(&planned, Output { path, existing }),
            (Some(path), false) => merge_nearest::<u64>(&planned, Output { path, existing }),
        }
    })?;
    let mut report = Report::default();
    let (width, height, tiles) = (grid.width, grid.height, planned.plan.tiles().len());
    report.line("raster", format_args!("{width} x {height} pixels, of {tiles} tiles"));
    report.field("raster", json!({"width": width, "height": height}));
    report.field("tiles", tiles);
    report.stages(&stages);
    report.written(args.output.iter().chain(&args.nearest));
    report.print(&args.run, false);
    Ok(())
}

/// The formats that are written row by row.
const FORMATS: [Format; 2] = [Format::GeoTiff, Format::Npy];

/// Checks what clap does not, before any tile is opened.
fn check(args: &MergeArgs, planned: &Planned) -> Result<()> {
    for path in &args.output {
        Format::of("--output", path, &FORMATS)?;
    }
    if let Some(path) = &args.nearest {
        let name = path.display();
        ensure!(ending(path) == "npy", "--nearest {name}: the name must end in .npy");
        ensure!(planned.recipe.nearest, "--nearest {name}: the plan was made without --nearest");
    }
    let outputs: Vec<&Path> = args.output.iter().chain(&args.nearest).map(AsRef::as_ref).collect();
    planned.check_distinct(&args.plan, &outputs)?;
    let existing = args.run.existing();
    Ok(outputs.iter().try_for_each(|path| geo_io::check_output(Output { path, existing }))?)
}

/// Refuses a plan of which tiles are missing, damaged or not its own.
fn look(args: &MergeArgs, planned: &Planned) -> Result<()> {
    require_whole(planned)?;
    for number in 0..planned.plan.tiles().len() {
        open(planned, number)?;
        match (&args.nearest, is_short(planned.plan.grid())) {
            (None, _) => {}
            (Some(_), true) => drop(open_nearest::<u32>(planned, number)?),
            (Some(_), false) => drop(open_nearest::<u64>(planned, number)?),
        }
    }
    Ok(())
}

fn merge_nearest<T: NpyElement + Pod>(planned: &Planned, output: Output) -> Result<()> {
    let grid = planned.plan.grid();
    let open = |number| geo_io::ArrayFile::open(&planned.path_of(number, NEAREST));
    let mut mosaic = Mosaic::new(&planned.plan, &open);
    let mut fill = |first: usize, rows: &mut [T]| mosaic.fill(first, rows);
    let size = (grid.width as usize, grid.height as usize);
    Ok(geo_io::write_npy_rows(output, size, &mut fill)?)
}
