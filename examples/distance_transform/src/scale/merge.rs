//! Putting tiles together.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use geo_io::{ArrayFile, Bands, Georeference, Output, RasterFile};
use pba_voronoi::{Bearings, Lay};
use programs::args::Format;
use programs::report::Report;
use programs::scale::{Mosaic, require_whole};
use programs::stages::Stages;
use programs::tally::Tally;
use serde_json::json;

use crate::args::is_tiff;
use crate::ground::{Index, SITES, with_sides, write_centre_rows};
use crate::report_distances;
use crate::scale::args::MergeArgs;
use crate::scale::tile::{NEAREST, open, open_nearest};
use crate::scale::{Planned, is_short, scan};

/// Writes the distances of all tiles, and their nearest sites, some rows at a time.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    planned.require_files()?;
    check(args, &planned)?;
    let mut stages = Stages::new(args.run.quiet);
    stages.run("look", |_| look(args, &planned))?;
    let grid = *planned.plan.grid();
    let place = planned.recipe.place_from(0, 0)?;
    args.ground.require_north_up(Some(&place))?;
    let tally = stages.run("merge", |_| {
        geo_io::write_together(|| {
            let tally = merge_distances(args, &planned, &place)?;
            match is_short(&grid) {
                true => merge_nearest::<u32>(args, &planned, &place),
                false => merge_nearest::<u64>(args, &planned, &place),
            }?;
            Ok::<_, anyhow::Error>(tally)
        })
    })?;
    let mut report = Report::default();
    let (width, height, tiles) = (grid.width, grid.height, planned.plan.tiles().len());
    report.line("raster", format_args!("{width} x {height} pixels, of {tiles} tiles"));
    report.field("raster", json!({"width": width, "height": height}));
    report.field("tiles", tiles);
    if !args.output.is_empty() {
        report_distances(&mut report, tally.highest(), tally.nodata());
    }
    let folder = planned.folder.display();
    report.line(
        "",
        format_args!("tiles stay in {folder}: other outputs come of them until it is removed"),
    );
    if scan::is_there(&planned) {
        let plan = args.plan.display();
        report.line(
            "",
            format_args!("what scan wrote stays: distance_transform scan {plan} --remove"),
        );
    }
    report.field("folder", planned.folder.display().to_string());
    report.stages(&stages);
    report.rasters_written(outputs(args), place.crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// The formats that are written row by row.
const FORMATS: [Format; 3] = [Format::GeoTiff, Format::Zarr, Format::Npy];

/// Checks what clap does not, before any tile is opened.
fn check(args: &MergeArgs, planned: &Planned) -> Result<()> {
    for path in &args.output {
        Format::of("--output", path, &FORMATS)?;
    }
    if let Some(path) = &args.nearest {
        let name = path.display();
        Format::of("--nearest", path, &SITES)?;
        ensure!(
            planned.recipe.nearest,
            "--nearest {name}: this plan lacks --nearest: make one with it"
        );
    }
    args.ground.check()?;
    args.raster.check(args.output.iter().chain(&args.nearest).chain(args.ground.paths()))?;
    if let Some(path) = args.ground.paths().next() {
        let name = path.display();
        ensure!(
            planned.recipe.nearest,
            "{name}: directions and coordinates need a plan with --nearest"
        );
    }
    let outputs: Vec<&Path> = outputs(args).map(AsRef::as_ref).collect();
    planned.check_distinct(&args.plan, &outputs)?;
    let existing = args.run.existing();
    Ok(outputs.iter().try_for_each(|path| geo_io::check_output(Output { path, existing }))?)
}

/// All files that the program writes.
fn outputs(args: &MergeArgs) -> impl Iterator<Item = &PathBuf> {
    args.output.iter().chain(&args.nearest).chain(args.ground.paths())
}

/// Refuses a plan of which tiles are missing, damaged or not its own.
fn look(args: &MergeArgs, planned: &Planned) -> Result<()> {
    require_whole(planned)?;
    for number in 0..planned.plan.tiles().len() {
        open(planned, number)?;
        let is_wanted = args.nearest.is_some() || args.ground.is_some();
        match (is_wanted, is_short(planned.plan.grid())) {
            (false, _) => {}
            (true, true) => drop(open_nearest::<u32>(planned, number)?),
            (true, false) => drop(open_nearest::<u64>(planned, number)?),
        }
    }
    Ok(())
}

/// Writes the distances of all tiles, row by row, and counts them.
fn merge_distances(args: &MergeArgs, planned: &Planned, place: &Georeference) -> Result<Tally> {
    let (grid, existing) = (*planned.plan.grid(), args.run.existing());
    let mut tally = Tally::default();
    let open = |number| RasterFile::open(&planned.path_of(number, ".tif"));
    let mut mosaic = Mosaic::new(&planned.plan, &open);
    let width = grid.width as usize;
    let mut fill = |first: usize, rows: &mut [f32]| {
        mosaic.fill(first, rows)?;
        tally.add(first, rows, width);
        Ok(())
    };
    for path in &args.output {
        let output = Output { path, existing };
        let format = Format::of("--output", path, &FORMATS)?;
        if format == Format::Npy {
            let mut fill = |first: usize, rows: &mut [f32]| {
                fill(first, rows)?;
                // What is NODATA in a GeoTIFF.
                rows.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = f32::INFINITY);
                Ok(())
            };
            let size = (width, grid.height as usize);
            geo_io::write_npy_rows(output, size, &mut fill)?;
        } else {
            let (size, options) = ((grid.width, grid.height), args.raster.options());
            let bands = Bands::one(args.raster.nodata);
            match format {
                Format::Zarr => {
                    geo_io::write_zarr_rows(output, place, size, &bands, &options, &mut fill)?
                }
                _ => geo_io::write_tiff_rows(output, place, size, &bands, &options, &mut fill)?,
            }
        }
    }
    Ok(tally)
}

/// Writes the nearest sites of all tiles, and what follows from them, row by row.
fn merge_nearest<T: Index>(
    args: &MergeArgs,
    planned: &Planned,
    place: &Georeference,
) -> Result<()> {
    let grid = planned.plan.grid();
    let (width, existing) = (grid.width, args.run.existing());
    let size = (width as usize, grid.height as usize);
    let open = |number| ArrayFile::open(&planned.path_of(number, NEAREST));
    let mut mosaic = Mosaic::new(&planned.plan, &open);
    if let Some(path) = &args.nearest {
        let output = Output { path, existing };
        let mut fill = |first: usize, rows: &mut [T]| mosaic.fill(first, rows);
        if is_tiff(path) {
            let size = (grid.width, grid.height);
            write_centre_rows(output, place, size, &args.raster, fill)?;
        } else {
            geo_io::write_npy_rows(output, size, &mut fill)?;
        }
    }
    let lay = Lay::of_geotransform(place.transform);
    let mut indices: Vec<T> = Vec::new();
    if let Some(path) = &args.ground.direction {
        let lay = with_sides(lay, planned.recipe.sides());
        let globe = planned.recipe.globe.map(|globe| globe.globe());
        let bearings = globe.map(|globe| Bearings::new(&globe, width, grid.height)).transpose()?;
        let mut fill = |first: usize, rows: &mut [f32]| {
            indices.resize(rows.len(), T::zeroed());
            mosaic.fill(first, &mut indices)?;
            let lines = rows.chunks_exact_mut(size.0).zip(indices.chunks_exact(size.0));
            for (row, (out, indices)) in (first as u32..).zip(lines) {
                for (column, (out, index)) in (0..).zip(out.iter_mut().zip(indices)) {
                    let to = |site| match &bearings {
                        Some(bearings) => bearings.direction([column, row], site),
                        None => lay.direction([column, row], site),
                    };
                    *out = index.pixel(width).map_or(f32::NAN, to);
                }
            }
            Ok(())
        };
        let output = Output { path, existing };
        if args.ground.is_direction_tiff() {
            let (size, options) = ((grid.width, grid.height), args.raster.options_without_means());
            let bands = Bands::one(args.raster.nodata);
            geo_io::write_tiff_rows(output, place, size, &bands, &options, &mut fill)?;
        } else {
            geo_io::write_npy_rows(output, size, &mut fill)?;
        }
    }
    for (axis, path) in args.ground.coordinates() {
        let mut fill = |first: usize, rows: &mut [f64]| {
            indices.resize(rows.len(), T::zeroed());
            mosaic.fill(first, &mut indices)?;
            for (out, index) in rows.iter_mut().zip(&indices) {
                *out = index.pixel(width).map_or(f64::NAN, |site| lay.centre(site)[axis]);
            }
            Ok(())
        };
        geo_io::write_npy_rows(Output { path, existing }, size, &mut fill)?;
    }
    Ok(())
}
