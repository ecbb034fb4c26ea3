//! `lidar_dem` turns LiDAR points into a terrain grid.
//!
//! The path from here to the kernel: [`interpolate`] calls `nni_grid::interpolate`, which on a GPU goes to
//! `exact/gpu.rs`. There `kernels_rs::nni::exact`'s kernels are launched.

mod above;
mod args;
mod asked;
mod bands;
mod beside;
mod breaklines;
mod dsm;
mod extent;
mod halo;
mod lattice;
mod layer;
mod scale;
mod size;
mod surface;
mod survey;
mod triangles;
mod within;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use geo_io::{Crs, LasPoints, Output, ReadOn};
use gpu_core::{Device, GridSpec, GridView, Points, Progress, Shortest};
use nni_grid::{Method, Summary};
use programs::cloud::Cloud;
use programs::contours;
use programs::ground::Ground;
use programs::mercator::note_on_lengths;
use programs::opening::Opening;
use programs::products::Products;
use programs::program;
use programs::report::{Quantity, Report};
use programs::stages::Stages;
use programs::systems::note_on_bounds;
use programs::units::{self, Units};
use serde_json::json;
use terrain_grid::ContourParams;

use above::Floor;
use args::{Args, CommandLine};
use asked::Asked;
use bands::{Made, Ranges, interpolated};
use beside::require_one_system;
use breaklines::{Added, Breaklines};
use dsm::WholeCells;
use extent::{Extents, Wanted};
use surface::SurfaceArgs;
use within::Area;

fn main() -> ExitCode {
    program::run("lidar_dem", |line: &CommandLine| match &line.command {
        None => run(&line.dem),
        Some(command) => scale::run(command),
    })
}

/// The DEM at once: check, read, interpolate, write, report.
fn run(args: &Args) -> Result<()> {
    let asked = args.check()?;
    let floor = args.surface.floor()?;
    let files = extent::files(&args.points, &args.surface, &asked)?;
    args.check_outputs(&files.read())?;
    let surface = args.surface.clone();
    let lines = args.surface.breaklines.as_deref().map(Breaklines::read).transpose()?;
    let area = args.surface.within.as_deref().map(Area::read).transpose()?;
    let beside = [lines.as_ref().map(Breaklines::stated), area.as_ref().map(Area::stated)];
    let beside = beside.into_iter().chain([floor.as_ref().map(Floor::stated)]).flatten();
    require_one_system(&beside.collect::<Vec<_>>())?;
    let opening = Opening::begin_with(args.run.device, move |device| load(device, &surface));
    let mut stages = Stages::new(args.run.quiet);
    let mut report = Report::default();
    files.report(&mut report);
    let mut inputs = files.paths;

    if inputs.is_empty() {
        let path = args.survey_path();
        stages.run("survey", |progress| simulate(args, &path, progress))?;
        inputs.push(path);
    }
    let wanted = extent::wanted(args, &asked, &inputs)?;
    let (device, mut cloud) = opening.beside(&mut stages, "read", |on| {
        prepared(args, (&asked, &wanted, floor.as_ref()), &inputs, on)
    })?;
    let crs = cloud.crs.clone();
    let crs = crs.as_ref();
    let units = Units::of(crs);
    report_cloud(&mut report, &inputs, &cloud);
    report.line("units", units.text(crs, crs.and_then(Crs::metres_per_height)));
    report.device(&device, args.run.device);

    // The ground is that of the points, wherever lines go.
    let extents = extent::extents(args, &asked, &cloud, &device)?;
    if let Some(floor) = &floor {
        floor.require_overlap(&extents.grid)?;
    }
    if let Some(area) = &area {
        area.notes(crs, &extents.grid)?.iter().for_each(|note| report.note(note));
    }
    let measured = cloud.x.len();
    if let Some(lines) = lines {
        let added = stages.run("breaklines", |progress| {
            let cell = asked.lattice(cloud.crs.as_ref())?.cell;
            lines.add(&mut cloud, cell, args.surface.duplicates, progress)
        })?;
        report_breaklines(&mut report, &added);
    }
    let ground = extents.grid.bounds();
    let made_of = (cloud, extents, measured, units);
    geo_io::write_together(|| {
        make(args, made_of, (area.as_ref(), floor.as_ref()), &device, (&mut stages, &mut report))
    })?;
    if args.slope.is_some() || args.hillshade.is_some() || args.relief().is_some() {
        let note = note_on_lengths("slopes and light", crs, [ground.min_y, ground.max_y]);
        note.iter().for_each(|note| report.note(note));
    }
    report.stages(&stages);
    report.rasters_written(&args.outputs(), crs);
    report.print(&args.run);
    Ok(())
}

/// Interpolates, and writes the DEM and its products. The first `measured` points are not of breaklines.
fn make(
    args: &Args,
    (mut cloud, extents, measured, units): (Cloud, Extents, usize, Units),
    (area, floor): (Option<&Area>, Option<&Floor>),
    device: &Device,
    (stages, report): (&mut Stages, &mut Report),
) -> Result<()> {
    let crs = args.surface.crs_of_result(cloud.crs.as_ref());
    if let Some(path) = &args.triangles {
        let output = Output { path, existing: args.existing() };
        let [corners, triangles] = stages.run("triangles", |progress| {
            triangles::write(output, &cloud, args.surface.duplicates, progress)
        })?;
        report.line("triangles", format_args!("{triangles} of {corners} places"));
        report.field("triangles", json!({"triangles": triangles, "places": corners}));
    }
    let dem = stages.run("interpolate", |progress| {
        progress.at("heights", 0.0)?;
        // Behind the triangles, which have the heights as given.
        let ranges = Ranges::settled(&mut cloud);
        let added = cloud.x.len() - measured;
        let how = (&args.surface, area, floor);
        interpolate(device, (cloud, added), &ranges, extents, how, progress)
    })?;
    report_dem(report, &dem, &args.surface);
    write_products(args, &dem, crs.as_ref(), units, device, stages, report)
}

/// Reads the points that count, in their coordinate system. If the user wants only the highest point of each cell,
/// drops the others.
fn prepared(
    args: &Args,
    (asked, wanted, floor): (&Asked, &Wanted, Option<&Floor>),
    inputs: &[PathBuf],
    on: ReadOn,
) -> Result<Cloud> {
    let mut cloud = read(args, inputs, wanted, on).map_err(|error| asked.explained(error))?;
    cloud.notes.extend(cloud.note_on_strays());
    cloud.crs = asked.crs(cloud.crs.take())?;
    cloud.notes.extend(asked.notes.iter().cloned());
    cloud.notes.extend(note_on_bounds(asked.bounds, cloud.crs.as_ref(), cloud.bounds()));
    if let Some(floor) = floor {
        cloud.notes.extend(floor.notes(cloud.crs.as_ref())?);
    }
    for (option, path) in [("--hillshade", args.hillshade.clone()), ("--relief", args.relief())] {
        if path.is_some() {
            units::require_north_up(option, cloud.crs.as_ref())?;
        }
    }
    if args.surface.dsm {
        let lattice = asked.lattice(cloud.crs.as_ref())?;
        args.surface.choose(&mut cloud, &lattice);
        let kept = cloud.x.len();
        cloud.notes.push(format!("of each cell the highest point counts: {kept} points"));
    }
    Ok(cloud)
}

/// Reads the points that count.
fn read(args: &Args, inputs: &[PathBuf], wanted: &Wanted, on: ReadOn) -> Result<Cloud> {
    let surface = &args.surface;
    let columns = args.points.columns.names().values(surface.further());
    let read =
        |ground: Option<&dyn Ground>| Cloud::read_of(inputs, (&args.points, &columns), ground, on);
    let mut cloud = match wanted {
        Wanted::All => read(None),
        Wanted::AllNear(bounds) => {
            let cloud = read(None)?;
            cloud.require_points_within(bounds)?;
            Ok(cloud)
        }
        Wanted::Within(bounds, lattice) if surface.dsm => {
            read(Some(&WholeCells { ground: bounds, lattice: *lattice }))
        }
        Wanted::Within(bounds, _) => read(Some(bounds)),
        Wanted::Dependence { grid, lattice, all, halo } => {
            let read = |ground: &dyn Ground| read(Some(ground));
            halo::read_dependence(surface, (grid, *lattice), all, *halo, read)
        }
    }?;
    cloud.require_values_of_f32(inputs, &args.points, surface.has_heights())?;
    cloud.notes.extend(cloud.notes_on_f32(surface.has_heights()));
    Ok(cloud)
}

/// Surveys the simulated landscape and writes its points to a LAZ file.
fn simulate(args: &Args, path: &Path, progress: &dyn Progress) -> Result<()> {
    let survey = survey::fly(args.survey_points, args.seed, progress);
    let points = LasPoints {
        x: &survey.x,
        y: &survey.y,
        z: &survey.z,
        class: &survey.class,
        return_number: &survey.return_number,
        number_of_returns: &survey.number_of_returns,
    };
    let crs = Crs::parse(survey::CRS)?;
    let output = Output { path, existing: args.existing() };
    Ok(geo_io::write_las(output, &points, Some(&crs))?)
}

/// Makes the rasters over an extent, from all points within reach of it. The last `added` points were not measured, but
/// added to the others.
fn interpolate(
    device: &Device,
    (mut cloud, added): (Cloud, usize),
    ranges: &Ranges,
    extents: Extents,
    (surface, area, floor): (&SurfaceArgs, Option<&Area>, Option<&Floor>),
    progress: &dyn Progress,
) -> Result<Made> {
    let grid = extents.in_cells(&mut cloud);
    let inside = area.map(|area| area.mask(&extents.with_margin, &extents.lattice)).transpose()?;
    let dem = interpolated(device, &cloud, ranges, (grid, inside.as_deref(), surface), progress)?;
    let measured = cloud.x.len() - added;
    let points = Points::new(&cloud.x[..measured], &cloud.y[..measured]);
    let points = (points, cloud.counts.as_deref());
    Made::of((dem, inside), points, &extents, (surface, floor))
}

/// Makes a small DEM as the other will be made, which loads the kernels.
fn load(device: &Device, surface: &SurfaceArgs) {
    const SIDE: u32 = 192;
    let at = |i: u32| f64::from(i) + 0.5;
    let x: Vec<f64> = (0..SIDE * SIDE).map(|i| at(i % SIDE)).collect();
    let y: Vec<f64> = (0..SIDE * SIDE).map(|i| at(i / SIDE)).collect();
    let points = Points { x: &x, y: &y, values: &[&x] };
    let input = nni_grid::Input::new(points, GridSpec::of_pixels(SIDE, SIDE));
    // An error comes again, where it matters.
    drop(nni_grid::interpolate(device, input, &surface.params(None)));
}

/// Says what was read.
fn report_cloud(report: &mut Report, inputs: &[PathBuf], cloud: &Cloud) {
    for (path, tally) in inputs.iter().zip(&cloud.tallies) {
        report.input(path, tally);
    }
    cloud.notes.iter().for_each(|note| report.note(note));
    report.crs(cloud.crs.as_ref());
}

/// Says what was made.
fn report_dem(report: &mut Report, dem: &Made, surface: &SurfaceArgs) {
    report_sites(report, &dem.summary, surface);
    let first = &surface.value[0];
    let quantity = match (first == programs::args::HEIGHT, &surface.above) {
        (true, Some(_)) => Quantity::Own("heights above"),
        (true, None) => Quantity::Own("heights"),
        (false, _) => Quantity::Users(first),
    };
    report.raster("dem", &dem.grid, quantity, &dem.bands[0]);
    let of_users = surface.values();
    for (i, (name, band)) in surface.bands().iter().zip(&dem.bands).enumerate().skip(1) {
        let quantity = if i < of_users { Quantity::Users(name) } else { Quantity::Own(name) };
        report.quantity(quantity, band);
    }
    report_emptiness(report, &dem.summary, surface);
    if let (Some(path), lost @ 1..) = (&surface.above, dem.lost) {
        report
            .line("no ground", format_args!("{lost} cells, where {} has no value", path.display()));
    }
    if let Some(path) = &surface.within {
        let (outside, path) = (dem.outside, path.display());
        report.line("outside", format_args!("{outside} cells, beyond the polygons of {path}"));
        report.field("outside", outside);
    }
}

fn report_sites(report: &mut Report, s: &Summary, surface: &SurfaceArgs) {
    let shared = if surface.method == Method::Pixels { "pixel" } else { "place" };
    let (merged, outside) = (s.merged, s.outside);
    let merged = format!("{merged} merged into a shared {shared}, {outside} outside the grid");
    report.line("sites", format_args!("{} from {} points; {merged}", s.sites, s.points));
    let fields = json!({
        "points": s.points, "sites": s.sites, "merged": s.merged, "outside": s.outside,
    });
    report.field("sites", fields);
}

/// Says what was made of breaklines.
fn report_breaklines(report: &mut Report, added: &Added) {
    let Added { lines, ignored, sites, pieces, open, notes } = added;
    let text = format!("{lines} lines, in {pieces} pieces by {sites} sites");
    report.line("breaklines", text);
    let fields = json!({
        "lines": lines, "ignored": ignored, "pieces": pieces, "sites": sites, "open": open,
    });
    report.field("breaklines", fields);
    notes.iter().for_each(|note| report.note(note));
}

/// Says why cells have no height.
fn report_emptiness(report: &mut Report, summary: &Summary, surface: &SurfaceArgs) {
    let (empty, distance) = (summary.nodata, Shortest(surface.max_distance));
    if empty == 0 || surface.method == Method::Pixels {
        return;
    }
    let why = match (surface.hull, distance.0.is_finite()) {
        (true, true) => {
            format!("outside the hull, or farther than {distance} cells from every point")
        }
        (true, false) => "outside the hull".to_owned(),
        _ => format!("farther than {distance} cells from every point: see --max-distance"),
    };
    report.line("no height", format_args!("{empty} cells, {why}"));
}

/// Makes and writes the DEM, and the products that the user wants beside it.
fn write_products(
    args: &Args,
    dem: &Made,
    crs: Option<&Crs>,
    units: Units,
    device: &Device,
    stages: &mut Stages,
    report: &mut Report,
) -> Result<()> {
    let (heights, names) = (&dem.bands[0][..], args.surface.bands());
    let products = Products { grid: &dem.grid, crs, how: &args.raster, existing: args.existing() };
    stages.run("write", |_| products.write_bands("--output", &args.output, &names, &dem.bands))?;
    // Slopes and pictures have neither the datum nor the unit of heights.
    let flat = crs.map(Crs::without_heights);
    let others = Products { crs: flat.as_ref(), ..products };
    let view = GridView::new(heights, dem.grid)?;
    let relief = args.relief();
    if args.hillshade.is_some() || relief.is_some() {
        stages.run("hillshade", |progress| -> Result<()> {
            let light = units.product(device, view, &args.light.hillshade(), progress)?;
            if let Some(path) = &args.hillshade {
                others.write_shade("--hillshade", path, &light)?;
            }
            if let Some(path) = &relief {
                others.write_relief("--relief", path, heights, &light)?;
            }
            Ok(())
        })?;
    }
    if let Some(path) = &args.slope {
        stages.run("slope", |progress| -> Result<()> {
            let slope = units.product(device, view, &args.light.slope(), progress)?;
            others.write_values("--slope", path, &slope)
        })?;
    }
    if let Some(path) = &args.contours {
        let lines = stages.run("contours", |progress| {
            write_contours(products.output(path), args, dem, device, crs, progress)
        })?;
        contours::report(report, path, crs, (lines, args.contour_interval));
    }
    Ok(())
}

/// Writes the contour lines and says how many there are.
fn write_contours(
    output: Output,
    args: &Args,
    dem: &Made,
    device: &Device,
    crs: Option<&Crs>,
    progress: &dyn Progress,
) -> Result<usize> {
    let heights = GridView::new(&dem.bands[0], dem.grid)?;
    let every = ContourParams::every(args.contour_interval);
    let lines = terrain_grid::contours(device.with_progress(progress), heights, &every);
    let lines = lines.context("--contour-interval")?;
    contours::write(output, lines.iter().map(|line| Ok((line.level, &line.points))), crs)?;
    Ok(lines.len())
}
