//! `terrain`: a DEM in; slope, aspect, hillshade, curvature, ruggedness, relief and contour lines out.
//!
//! The way from here to the kernel: [`rows::make`] calls `terrain_grid::product`, whose `cpu.rs` and `gpu.rs` are siblings;
//! the latter launches the kernels of `kernels-rs/src/terrain/strips.rs`.

mod args;
mod choices;
mod colours;
mod dem;
mod rows;
mod scale;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use geo_io::{Cells, Number, Output};
use gpu_core::{Device, GridSpec, GridView, Progress, Shortest};
use programs::args::Format;
use programs::contours;
use programs::opening::Opening;
use programs::products::Products;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;
use terrain_grid::{ContourParams, Edges, ProductParams};

use args::Args;
use choices::Name;
use colours::Table;
use dem::{Dem, Strip};
use scale::CommandLine;

/// The largest DEM in bytes of heights that is kept in memory where it is gone through more than once.
const KEPT: usize = 1 << 28;

fn main() -> ExitCode {
    program::run("terrain", |line: &CommandLine| match (&line.command, &line.once) {
        (Some(command), _) => scale::run(command),
        (None, Some(args)) => run(args),
        // Without a command the DEM is required.
        (None, None) => Ok(()),
    })
}

/// The program: check, read, make and write, report.
fn run(args: &Args) -> Result<()> {
    args.check()?;
    let wanted: Vec<ProductParams> =
        args.outputs.wanted().map(|(name, _)| args.method.params(name)).collect();
    let opening = Opening::begin_with(args.run.device, move |device| load(device, &wanted));
    let mut stages = Stages::new(args.run.quiet);
    let (device, dem) = opening.beside(&mut stages, "read", |progress| {
        let mut dem = Dem::open(&args.dem, args.place.cell_size)?;
        let shaded = args.relief.is_some().then_some(Name::Hillshade);
        dem.require_lengths(args.outputs.wanted().map(|(name, _)| name).chain(shaded))?;
        progress.at("heights", 0.0)?;
        let (width, height) = dem.size();
        let is_small = width * height <= KEPT / size_of::<f32>();
        if args.needs_all() || (is_small && args.passes() > 1) {
            dem.read_all(progress)?;
        }
        Ok(dem)
    })?;

    let mut report = Report::default();
    report_dem(&mut report, &dem);
    report.device(&device, args.run.device);
    for (name, path) in args.outputs.wanted() {
        let params = args.method.params(name);
        let output = Output { path, existing: args.run.existing() };
        let tally = stages.run(name.word(), |progress| {
            let how = (output, &args.raster);
            rows::make_and_write((&dem, &device), (name, &params), how, progress)
        })?;
        tally.report(&mut report, name, args.method.unit(name));
    }
    if args.relief.is_some() {
        stages.run("relief", |_| write_relief(args, &dem, &device))?;
    }
    if args.color_relief.is_some() {
        stages.run("color relief", |_| write_colours(args, &dem))?;
    }
    if let Some(path) = &args.contours {
        let output = Output { path, existing: args.run.existing() };
        let lines = stages.run("contours", |progress| {
            write_contours(output, args.contour_interval, &dem, &device, progress)
        })?;
        let crs = dem.lie.place.crs.as_ref();
        contours::report(&mut report, path, crs, (lines, args.contour_interval));
    }
    report.stages(&stages);
    report.beside(stages.beside().iter().cloned());
    report.written(args.paths());
    report.print(&args.run, false);
    Ok(())
}

/// Says what was read.
fn report_dem(report: &mut Report, dem: &Dem) {
    let ((width, height), (across, down)) = (dem.size(), dem.lie.sides());
    let crs = dem.lie.place.crs.as_ref();
    let (wide, tall) = (Shortest(across), Shortest(down));
    report.line("dem", format_args!("{width} x {height} cells of {wide} x {tall}"));
    report.field("dem", json!({"width": width, "height": height, "cell": [across, down]}));
    if let Some(crs) = crs {
        report.line("system", crs);
    }
    report.field("crs", crs.map(ToString::to_string));
    let units = dem.lie.units.text(crs);
    report.line("units", &units);
    report.field("units", units);
    dem.file().notes().iter().for_each(|note| report.note(note));
    if dem.file().georeference().is_none() {
        report.note(format_args!(
            "the DEM does not say where it lies: cells have the side {across} (--cell-size gives another)"
        ));
    }
}

/// Makes products of a small DEM, which loads the kernels.
fn load(device: &Device, wanted: &[ProductParams]) {
    const SIDE: u32 = 64;
    let heights: Vec<f32> = (0..SIDE * SIDE).map(|i| (i % 37) as f32).collect();
    let grid = GridSpec::of_pixels(SIDE, SIDE);
    for params in wanted {
        // An error comes again, where it matters.
        drop(GridView::new(&heights, grid).map(|dem| terrain_grid::product(device, dem, params)));
    }
}

/// All heights of a DEM: outputs that need them have them read.
fn all(dem: &Dem) -> Result<&[f32]> {
    dem.all().context("the heights were not read")
}

/// Draws the relief. Its light has no frame of NODATA.
fn write_relief(args: &Args, dem: &Dem, device: &Device) -> Result<()> {
    let Some(path) = &args.relief else { return Ok(()) };
    let output = Output { path, existing: args.run.existing() };
    let (width, height) = (dem.size().0 as u32, dem.size().1 as u32);
    let params = args.method.params(Name::Hillshade).edges(Edges::Level);
    let brightness = rows::make((dem, &mut Strip::new(dem)), device, &params, 0..height as usize)?;
    if Format::of("--relief", path, &Products::PICTURES)? == Format::Png {
        geo_io::write_relief(output, all(dem)?, &brightness, width, height)?;
    } else {
        let colours = geo_io::relief_colours(all(dem)?, &brightness)?;
        let (cells, options) = (Cells::Colours(&colours), args.raster.options());
        geo_io::write_tiff(output, &dem.lie.place, (width, height), cells, &options)?;
    }
    Ok(())
}

/// Draws heights in the colours of a table.
fn write_colours(args: &Args, dem: &Dem) -> Result<()> {
    let (Some(path), Some(table)) = (&args.color_relief, &args.colours) else { return Ok(()) };
    let output = Output { path, existing: args.run.existing() };
    let (width, height) = (dem.size().0 as u32, dem.size().1 as u32);
    let nodata = dem.file().nodata().map(Number::to_f64);
    let colours = Table::read(table)?.of(all(dem)?, nodata, args.between);
    if Format::of("--color-relief", path, &Products::PICTURES)? == Format::Png {
        geo_io::write_colours(output, &colours, width, height)?;
    } else {
        let (cells, options) = (Cells::Colours(colours.as_flattened()), args.raster.options());
        geo_io::write_tiff(output, &dem.lie.place, (width, height), cells, &options)?;
    }
    Ok(())
}

/// Writes contour lines, in the coordinates of the DEM, and gives how many there are.
fn write_contours(
    output: Output,
    interval: f64,
    dem: &Dem,
    device: &Device,
    progress: &dyn Progress,
) -> Result<usize> {
    let grid = GridSpec::of_pixels(dem.size().0 as u32, dem.size().1 as u32);
    let (name, all) = (dem.path().display(), all(dem)?);
    if let Some(cell) = all.iter().position(|height| height.is_infinite()) {
        let (row, column) = (cell / dem.size().0, cell % dem.size().0);
        bail!(
            "--contours: {name} has the height {} in row {row}, column {column}, up to which there is no last line: if it stands for no \
             value, gdal_edit.py -a_nodata {0} says so",
            all[cell]
        );
    }
    let every = ContourParams::every(interval);
    let heights = GridView::new(all, grid)?;
    let lines = terrain_grid::contours(device.with_progress(progress), heights, &every);
    let mut lines = lines.with_context(|| format!("--contour-interval: {name}"))?;
    let [left, across, _, top, _, down] = dem.lie.place.transform;
    for [x, y] in lines.iter_mut().flat_map(|line| &mut line.points) {
        (*x, *y) = (left + *x * across, top + (grid.origin_y - *y) * down);
    }
    contours::write(output, &lines, dem.lie.place.crs.as_ref())?;
    Ok(lines.len())
}
