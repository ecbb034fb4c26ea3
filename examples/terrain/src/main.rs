//! `terrain` computes slope, aspect, hillshade, curvature, ruggedness, relief and contour lines of a DEM.
//!
//! The way from here to the kernel: [`dem::Part::make`] calls `terrain_grid::product`, whose `cpu.rs` and `gpu.rs` are
//! siblings; the latter launches the kernels of `kernels-rs/src/terrain/strips.rs`.

mod args;
mod choices;
mod colours;
mod dem;
mod drawing;
mod rounding;
mod rows;
mod scale;

use std::process::ExitCode;

use anyhow::{Context, Result};
use geo_io::Output;
use gpu_core::{Device, GridSpec, GridView, Progress, Shortest};
use programs::contours;
use programs::opening::Opening;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use serde_json::json;
use terrain_grid::ProductParams;

use args::Args;
use choices::Kind;
use dem::Dem;
use drawing::Drawing;
use rows::Making;
use scale::CommandLine;

/// A DEM whose heights take at most this many bytes stays in memory if several products read it.
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
    let names = args.names();
    let wanted: Vec<ProductParams> =
        names.iter().filter_map(|&name| args.method.params(name)).collect();
    let opening = Opening::begin_with(args.run.device, move |device| load(device, &wanted));
    let mut stages = Stages::new(args.run.quiet);
    let (device, (dem, drawing)) = opening.beside(&mut stages, "read", |on| {
        let mut dem = Dem::open(&args.dem, args.place.cell_size)?;
        dem.require_lengths(names.iter().copied())?;
        dem.require_north_up(names.iter().copied())?;
        on.progress.at("heights", 0.0)?;
        let (width, height) = dem.size();
        let is_small = width * height <= KEPT / size_of::<f32>();
        if args.needs_all() || (is_small && args.passes() > 1) {
            dem.read_all(on.progress)?;
        }
        let drawing = args.drawing.of(&dem, &names, on.progress)?;
        Ok((dem, drawing))
    })?;

    let mut report = Report::default();
    report_dem(&mut report, &dem);
    report.device(&device, args.run.device);
    geo_io::write_together(|| make(args, (&dem, &drawing), &device, (&mut stages, &mut report)))?;
    dem.note_on_rounding().iter().for_each(|note| report.note(note));
    dem.note_on_lengths(names).iter().for_each(|note| report.note(note));
    report.stages(&stages);
    report.beside(stages.beside().iter().cloned());
    report.rasters_written(args.paths(), dem.lie.place.crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// Makes and writes the products.
fn make(
    args: &Args,
    (dem, drawing): (&Dem, &Drawing),
    device: &Device,
    (stages, report): (&mut Stages, &mut Report),
) -> Result<()> {
    for (name, path) in args.outputs.wanted() {
        let output = Output { path, existing: args.run.existing() };
        let making = Making { dem, device, name, output, how: &args.raster };
        match args.method.params(name).filter(|_| name.kind() == Kind::Numbers) {
            Some(params) => {
                let tally =
                    stages.run(name.word(), |progress| making.numbers(&params, progress))?;
                tally.report(report, name.word(), Some(args.method.unit(name)));
            }
            None if name.kind() == Kind::Colours => {
                let how = (drawing, &args.method);
                stages.run(name.word(), |progress| making.colours(how, progress))?;
            }
            None => {
                let lines = stages.run(name.word(), |progress| {
                    write_contours(output, drawing, (dem, device), progress)
                })?;
                let about = (lines, drawing.contour_interval);
                contours::report(report, path, dem.lie.place.crs.as_ref(), about);
            }
        }
    }
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
    let units = dem.lie.units.text(crs, dem.lie.height);
    report.line("units", &units);
    report.field("units", units);
    dem.file().notes().iter().for_each(|note| report.note(note));
    if dem.file().georeference().is_none() {
        report.note(format_args!(
            "the DEM does not say where it lies on the ground: the program takes cells with a \
             side of {across} (--cell-size changes it)"
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

/// Writes contour lines and gives how many there are.
fn write_contours(
    output: Output,
    drawing: &Drawing,
    (dem, device): (&Dem, &Device),
    progress: &dyn Progress,
) -> Result<usize> {
    let heights = dem.all().context("the heights are not in memory")?;
    let lines = drawing.lines((heights, dem), device, progress);
    let lines = lines.with_context(|| dem.path().display().to_string())?;
    let of_file = lines.iter().map(|line| Ok((line.level, &line.points)));
    contours::write(output, of_file, dem.lie.place.crs.as_ref())?;
    Ok(lines.len())
}
