//! `idw_surface`: scattered measurements in, a surface out.
//!
//! The way from here to the kernel: [`interpolate`](idw::interpolate) goes to crate idw's `cpu` or
//! `gpu`, which are siblings; the latter launches the kernels of `kernels-rs/src/idw.rs` (all pairs)
//! or `kernels-rs/src/idw_neighbours.rs`.

mod args;
mod sample;

use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use examples::program;
use examples::report::Report;
use examples::stages::Stages;
use geo_io::Crs;
use gpu_core::{Bounds, Device, GridSpec, host_memory};
use idw::{Points, Targets};
use terrain::{Edges, Light};

use args::{Args, Format};

/// The powers that cross-validation tries.
const POWERS: [f64; 6] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0];

/// The power where nothing says otherwise.
const DEFAULT_POWER: f64 = 2.0;

fn main() -> ExitCode {
    program::run("idw_surface", run)
}

/// The program: check, read, interpolate, write, report.
fn run(args: &Args) -> Result<()> {
    args.check()?;
    let device = Device::open(args.device)?;
    let mut stages = Stages::default();
    let mut report = Report::default();

    let cloud = match &args.input {
        Some(path) => {
            let (filter, columns) = (args.filter(), args.columns.names());
            stages.run("read", |p| geo_io::read_points(path, &filter, &columns, p))?
        }
        None => sample::field(args.sample_points, args.seed),
    };
    match &args.input {
        Some(path) => report.input(path, &cloud.tally),
        None => report.line("input", format_args!("a sample of {} points", cloud.len())),
    }
    let count = cloud.tally.read;
    ensure!(!cloud.is_empty(), "none of the {count} points is left: see --classes");
    let bounds = Bounds::of(&cloud.x, &cloud.y);
    let bounds = bounds.ok_or_else(|| anyhow!("none of {count} points is finite"))?;
    let grid = args.grid(bounds)?;
    // The values, their copy with NODATA, and the writer's.
    host_memory::require(grid.cells().saturating_mul(12))
        .map_err(|error| anyhow!("{} x {} cells: {error}", grid.width, grid.height))?;
    report.device(&device, args.device);

    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let power = power(args, &device, points, &mut stages, &mut report)?;
    let params = args.params(power);
    let surface = stages.run("interpolate", |p| {
        idw::interpolate::<f32>(&device, points, Targets::Grid(grid), &params, p)
    })?;
    match params.adaptive {
        Some(_) => report.line("power", "adaptive"),
        None => report.line("power", params.power),
    }
    report.raster("surface", &grid, "values", &surface.values[0]);
    let crs = args.crs()?.or(cloud.crs);
    stages.run("write", |_| write(args, &device, &grid, &surface.values[0], crs.as_ref()))?;
    report.stages(stages.done());
    report.written([&args.output]);
    report.print();
    Ok(())
}

/// The power to use: as given, else the best of several if they were compared.
fn power(
    args: &Args,
    device: &Device,
    points: Points,
    stages: &mut Stages,
    report: &mut Report,
) -> Result<f64> {
    let given = args.power.unwrap_or(DEFAULT_POWER);
    if !args.cross_validate {
        return Ok(given);
    }
    let powers = if args.power.is_some() || args.adaptive { vec![given] } else { POWERS.to_vec() };
    if args.adaptive {
        let params = args.params(given);
        let found =
            stages.run("cross-validate", |p| idw::cross_validate(device, points, &params, p))?;
        report_validation(report, "adaptive power", &found);
        return Ok(given);
    }
    let params = args.params(given);
    let idw::Comparison { best, all, .. } =
        stages.run("cross-validate", |p| idw::best_power(device, points, &params, &powers, p))?;
    for (power, found) in &all {
        report_validation(report, &format!("power {power}"), found);
    }
    Ok(best.unwrap_or(given))
}

fn write(
    args: &Args,
    device: &Device,
    grid: &GridSpec,
    values: &[f32],
    crs: Option<&Crs>,
) -> Result<()> {
    let path = &args.output;
    match args.format()? {
        Format::Npy => geo_io::write_npy(path, values, grid.width as usize, grid.height as usize)?,
        Format::GeoTiff => {
            let clash = values.contains(&args.nodata);
            ensure!(!clash, "--nodata {}: a cell has this value: choose another", args.nodata);
            geo_io::write_geotiff(path, grid, values, crs, args.nodata)?;
        }
        Format::Png => {
            let metres = idw::RADIUS.to_radians();
            let cell = if args.geographic { grid.cell_size * metres } else { grid.cell_size };
            let in_metres = GridSpec { cell_size: cell, ..*grid };
            let light = Light { edges: Edges::Level, ..Light::default() };
            let brightness = terrain::hillshade(device, values, &in_metres, &light)?;
            geo_io::write_relief(path, values, &brightness, grid.width, grid.height)?;
        }
    }
    Ok(())
}

/// What leaving points out one by one found.
fn report_validation(report: &mut Report, what: &str, found: &idw::Validation) {
    let idw::Validation { rmse, mean_absolute, bias, count, .. } = found;
    let errors = format!("rmse {rmse:.4}, mean absolute error {mean_absolute:.4}, bias {bias:.4}");
    report.line("left out", format_args!("{what}: {errors}, {count} points"));
}
