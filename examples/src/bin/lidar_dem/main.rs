//! `lidar_dem`: LiDAR points in, a terrain grid out.
//!
//! The way from here to the kernel: [`interpolate`] calls `nni_grid::interpolate`, whose `cpu.rs`
//! and `gpu.rs` are siblings; the latter launches the kernels of `kernels-rs/src/nni.rs` and, through
//! pba-voronoi, those of `kernels-rs/src/voronoi.rs`.

mod args;
mod points;
mod report;
mod stages;
mod survey;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use geo_io::{Crs, HillshadeOptions};
use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, Progress, host_memory};
use nni_grid::{Dem, Params, Points};

use args::{Args, Format};
use points::Cloud;
use report::Report;
use stages::Stages;

fn main() -> ExitCode {
    match Args::from_command_line().and_then(|args| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lidar_dem: {}", one_line(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

/// The program: check, read, interpolate, write, report.
fn run(args: &Args) -> Result<()> {
    args.check()?;
    let device = Device::open(args.device)?;
    let mut stages = Stages::default();
    let mut report = Report::default();
    let mut written = Vec::new();

    let mut inputs = args.inputs.clone();
    if inputs.is_empty() {
        let path = args.survey_path();
        stages.run("survey", |progress| points::simulate(args, &path, progress))?;
        inputs.push(path.clone());
        written.push(path);
    }
    let cloud = stages.run("read", |progress| Cloud::read(&inputs, args, progress))?;
    for (path, tally) in inputs.iter().zip(&cloud.tallies) {
        report.input(path, tally);
    }
    report.absent_classes(&cloud.absent_classes);
    report.crs(cloud.crs.as_ref());
    report.device(&device, args.device);

    let grid = grid(args, &cloud)?;
    require_memory(args, &device, &grid)?;
    let dem = stages.run("interpolate", |p| interpolate(&device, &cloud, grid, args, p))?;
    report.dem(&dem);
    stages.run("write", |_| write_dem(args, &dem, cloud.crs.as_ref()))?;
    written.push(args.output.clone());
    if let Some(path) = args.hillshade_path() {
        let (width, height) = (grid.width, grid.height);
        let options = HillshadeOptions::default();
        stages.run("hillshade", |_| {
            geo_io::write_hillshade(&path, &dem.values, width, height, grid.cell_size, &options)
        })?;
        written.push(path);
    }
    report.stages(stages.done());
    report.written(&written);
    report.print();
    Ok(())
}

/// The DEM's cells: over `--bounds`, or over the points; edges on multiples of the resolution.
fn grid(args: &Args, cloud: &Cloud) -> Result<GridSpec> {
    let cell = args.resolution;
    let Some(args::Extent(b)) = args.bounds else {
        let bounds = Bounds::of(&cloud.x, &cloud.y);
        let bounds = bounds.ok_or_else(|| anyhow::anyhow!("no point is left: no DEM"))?;
        return Ok(GridSpec::covering(bounds, cell)?);
    };
    // `GridSpec::covering` would add a column for points on the eastern edge; bounds that are
    // asked for are taken as they are.
    let (west, south) = ((b.min_x / cell).floor(), (b.min_y / cell).floor());
    let (columns, rows) = ((b.max_x / cell).ceil() - west, (b.max_y / cell).ceil() - south);
    let side = f64::from(u32::MAX);
    if !(columns <= side && rows <= side) {
        return Err(gpu_core::Error::GridTooLarge { columns, rows }.into());
    }
    let grid =
        GridSpec::new(west * cell, (south + rows) * cell, cell, columns as u32, rows as u32)?;
    let inside = cloud.x.iter().zip(&cloud.y).any(|(&x, &y)| grid.cell_of(x, y).is_some());
    ensure!(inside, "none of the {} points lies in --bounds", cloud.x.len());
    Ok(grid)
}

/// Refuses a grid that cannot fit before anything is allocated for it: the values, once more for
/// the writer, and on the CPU and the software device the Voronoi raster (index, height and
/// distance of a pixel).
fn require_memory(args: &Args, device: &Device, grid: &GridSpec) -> Result<()> {
    let on_host = matches!(device, Device::Cpu) || args.device == DeviceChoice::Software;
    let pixels = u64::from(args.supersample).pow(2);
    let a_cell = if on_host { 8 + 12 * pixels } else { 8 };
    host_memory::require(grid.cells().saturating_mul(a_cell)).map_err(|error| {
        let (width, height) = (grid.width, grid.height);
        anyhow::anyhow!("--resolution {}: {width} x {height} cells: {error}", args.resolution)
    })
}

fn interpolate(
    device: &Device,
    cloud: &Cloud,
    grid: GridSpec,
    args: &Args,
    progress: &dyn Progress,
) -> Result<Dem> {
    let mut params = Params::new(grid);
    params.site_radius = args.site_radius;
    params.query_radius = args.query_radius;
    params.supersample = args.supersample;
    params.duplicates = args.duplicates;
    let points = Points { x: &cloud.x, y: &cloud.y, z: &cloud.z };
    Ok(nni_grid::interpolate(device, points, &params, progress)?)
}

fn write_dem(args: &Args, dem: &Dem, crs: Option<&Crs>) -> Result<()> {
    let (path, grid) = (&args.output, &dem.grid);
    match args.format()? {
        Format::Npy => geo_io::write_npy(path, &dem.values, grid.width, grid.height)?,
        Format::GeoTiff => {
            let clash = dem.values.contains(&args.nodata);
            ensure!(!clash, "--nodata {}: a cell has this height: choose another", args.nodata);
            geo_io::write_geotiff(path, grid, &dem.values, crs, args.nodata)?;
        }
    }
    Ok(())
}

/// A message on one line, whatever a file name or a library put into it.
fn one_line(message: &str) -> String {
    message
        .split(|c: char| c.is_control())
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
