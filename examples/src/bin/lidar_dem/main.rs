//! `lidar_dem`: LiDAR points in, a terrain grid out.
//!
//! The way from here to the kernel: [`interpolate`] calls `nni_grid::interpolate`, whose `cpu`
//! and `gpu` are siblings; the latter launches the kernels of `kernels-rs/src/nni` and, through
//! pba-voronoi, those of `kernels-rs/src/voronoi.rs`.

mod args;
mod points;
mod survey;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use examples::program;
use examples::report::Report;
use examples::stages::Stages;
use geo_io::Crs;
use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, Progress, host_memory};
use nni_grid::{Dem, Params, Points};
use terrain::{Edges, Levels, Light, Slope};

use args::{Args, Format};
use points::Cloud;

fn main() -> ExitCode {
    program::run("lidar_dem", run)
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
    for class in &cloud.absent_classes {
        report.line("note", format_args!("no point has class {class}"));
    }
    match &cloud.crs {
        Some(crs) => report.line("crs", crs),
        None => report.line("crs", "unknown: the files name none (--crs gives one)"),
    }
    report.device(&device, args.device);

    let grid = grid(args, &cloud, &device)?;
    let dem = stages.run("interpolate", |p| interpolate(&device, &cloud, grid, args, p))?;
    let s = &dem.summary;
    let merged = format!("{} merged into a shared pixel, {} outside the grid", s.merged, s.outside);
    report.line("sites", format_args!("{} from {} points; {merged}", s.sites, s.points));
    report.raster("dem", &dem.grid, "heights", &dem.values);
    stages.run("write", |_| write_dem(args, &dem, cloud.crs.as_ref()))?;
    written.push(args.output.clone());
    if let Some(path) = args.hillshade_path() {
        stages.run("hillshade", |_| write_hillshade(&path, &dem, &device))?;
        written.push(path);
    }
    if let Some(path) = &args.slope {
        stages.run("slope", |_| write_slope(path, args, &dem, &device, cloud.crs.as_ref()))?;
        written.push(path.clone());
    }
    if let Some(path) = &args.contours {
        let lines = stages
            .run("contours", |_| write_contours(path, args, &dem, &device, cloud.crs.as_ref()))?;
        let interval = args.contour_interval;
        report.line("contours", format_args!("{lines} lines, one every {interval}"));
        written.push(path.clone());
    }
    report.stages(stages.done());
    report.written(&written);
    report.print();
    Ok(())
}

/// The DEM's cells: over `--bounds`, or over the points; edges on multiples of the resolution.
/// Fails before anything is allocated where they do not fit the memory.
fn grid(args: &Args, cloud: &Cloud, device: &Device) -> Result<GridSpec> {
    let (cell, count) = (args.resolution, cloud.x.len());
    let grid = match args.bounds {
        Some(args::Extent(bounds)) => snapped(bounds, cell),
        None => {
            let bounds = Bounds::of(&cloud.x, &cloud.y);
            let bounds = bounds.ok_or_else(|| anyhow!("none of {count} points is finite"))?;
            GridSpec::covering(bounds, cell)
        }
    };
    let grid = match grid {
        Ok(grid) => {
            let (columns, rows) = (f64::from(grid.width), f64::from(grid.height));
            require_memory(args, device, columns, rows)?;
            grid
        }
        Err(gpu_core::Error::GridTooLarge { columns, rows }) => {
            require_memory(args, device, columns, rows)?;
            return Err(gpu_core::Error::GridTooLarge { columns, rows }.into());
        }
        Err(error) => return Err(error.into()),
    };
    let inside = cloud.x.iter().zip(&cloud.y).any(|(&x, &y)| grid.cell_of(x, y).is_some());
    ensure!(inside, "none of the {count} points lies in --bounds");
    Ok(grid)
}

/// The grid over bounds that were asked for. [`GridSpec::covering`] would add a column for points
/// on their eastern edge.
fn snapped(b: Bounds, cell: f64) -> gpu_core::Result<GridSpec> {
    let (west, south) = ((b.min_x / cell).floor(), (b.min_y / cell).floor());
    let (columns, rows) = ((b.max_x / cell).ceil() - west, (b.max_y / cell).ceil() - south);
    let side = f64::from(u32::MAX);
    if !(columns <= side && rows <= side) {
        return Err(gpu_core::Error::GridTooLarge { columns, rows });
    }
    GridSpec::new(west * cell, (south + rows) * cell, cell, columns as u32, rows as u32)
}

/// Asks for the host memory of a grid: the values, once more for the writer, and on the CPU and
/// the software device the Voronoi raster (index, height and distance of a pixel).
fn require_memory(args: &Args, device: &Device, columns: f64, rows: f64) -> Result<()> {
    let on_host = matches!(device, Device::Cpu) || args.device == DeviceChoice::Software;
    let pixels = f64::from(args.supersample).powi(2);
    let a_cell = if on_host { 8.0 + 12.0 * pixels } else { 8.0 };
    host_memory::require((columns * rows * a_cell) as u64).map_err(|error| {
        anyhow!("--resolution {}: {columns} x {rows} cells: {error}", args.resolution)
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
    params.method = args.method;
    params.site_radius = args.site_radius;
    params.query_radius = args.query_radius;
    params.supersample = args.supersample;
    params.duplicates = args.duplicates;
    params.weights = args.weights;
    params.hull = args.hull;
    params.max_distance = args.max_distance;
    let points = Points { x: &cloud.x, y: &cloud.y, z: &cloud.z };
    Ok(nni_grid::interpolate(device, points, &params, progress)?)
}

fn write_dem(args: &Args, dem: &Dem, crs: Option<&Crs>) -> Result<()> {
    write_raster("--output", &args.output, args, &dem.grid, &dem.values, crs)
}

/// A raster in the format of its name.
fn write_raster(
    option: &str,
    path: &Path,
    args: &Args,
    grid: &GridSpec,
    values: &[f32],
    crs: Option<&Crs>,
) -> Result<()> {
    match args::format(option, path)? {
        Format::Npy => geo_io::write_npy(path, values, grid.width as usize, grid.height as usize)?,
        Format::GeoTiff => {
            let clash = values.contains(&args.nodata);
            ensure!(
                !clash,
                "--nodata {}: a cell of {} has this value: choose another",
                args.nodata,
                path.display()
            );
            geo_io::write_geotiff(path, grid, values, crs, args.nodata)?;
        }
    }
    Ok(())
}

fn write_hillshade(path: &Path, dem: &Dem, device: &Device) -> Result<()> {
    let light = Light { edges: Edges::Level, ..Light::default() };
    let brightness = terrain::hillshade(device, &dem.values, &dem.grid, &light)?;
    let (width, height) = (dem.grid.width, dem.grid.height);
    Ok(geo_io::write_relief(path, &dem.values, &brightness, width, height)?)
}

fn write_slope(
    path: &Path,
    args: &Args,
    dem: &Dem,
    device: &Device,
    crs: Option<&Crs>,
) -> Result<()> {
    let slope = terrain::slope(device, &dem.values, &dem.grid, &Slope::default())?;
    write_raster("--slope", path, args, &dem.grid, &slope, crs)
}

/// Writes the contour lines and says how many there are.
fn write_contours(
    path: &Path,
    args: &Args,
    dem: &Dem,
    device: &Device,
    crs: Option<&Crs>,
) -> Result<usize> {
    let levels = Levels::Every { interval: args.contour_interval, base: 0.0 };
    let contours = terrain::contours(device, &dem.values, &dem.grid, &levels)?;
    let lines = contours.iter().map(|line| (line.level, &line.points[..]));
    geo_io::write_lines(path, lines, crs)?;
    Ok(contours.len())
}
