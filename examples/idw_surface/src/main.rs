//! `idw_surface`: scattered measurements in, a surface out.
//!
//! The way from here to the kernel: [`interpolate`](idw::interpolate) goes to crate idw's `cpu` or `gpu`, which are
//! siblings; the latter launches the kernels of `kernels-rs/src/idw/pairs` (all pairs) or
//! `kernels-rs/src/idw/neighbours`. With `--variogram` [`kriging::interpolate`](::kriging::interpolate) does the same
//! for the kernels of `kernels-rs/src/kriging`.

mod args;
mod extent;
mod kriging;
mod prediction;
mod sample;
mod scale;
mod surface;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Error, Result, anyhow};
use geo_io::{Crs, ReadOn};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Device, GridSpec, GridView, Shortest, host_memory};
use idw::{Input, Points, ValueRange};
use programs::args::{Format, PointArgs};
use programs::cloud::{Cloud, on_ground};
use programs::opening::Opening;
use programs::products::{Products, centres, require_finite};
use programs::program;
use programs::report::{Quantity, Report, digits};
use programs::stages::Stages;
use programs::units::Units;
use serde_json::json;

use args::{Args, CommandLine};
use prediction::Errors;
use surface::{DEFAULT_POWER, SurfaceArgs};

/// The powers that cross-validation tries.
const POWERS: [f64; 6] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0];

fn main() -> ExitCode {
    program::run("idw_surface", |line: &CommandLine| match &line.command {
        None => run(&line.surface),
        Some(command) => scale::run(command),
    })
}

/// The surface at once: check, read, interpolate, write, report.
fn run(args: &Args) -> Result<()> {
    let within = reach(&args.points, &args.surface, args.cross_validate);
    let files = args.points.files(&|_| Ok(within))?;
    args.check(&files.read())?;
    let opening = Opening::begin(args.run.device);
    let mut stages = Stages::new(args.run.quiet);
    let mut report = Report::default();
    files.report(&mut report);
    let inputs = files.paths;

    let (device, cloud) =
        opening.beside(&mut stages, "read", |on| read(args, &inputs, within, on))?;
    if inputs.is_empty() {
        report.line("input", format_args!("a sample of {} points", cloud.x.len()));
    }
    for (path, tally) in inputs.iter().zip(&cloud.tallies) {
        report.input(path, tally);
    }
    // On the sphere far is not far in degrees.
    let is_whole = args.points.bounds.is_none() && !args.surface.geographic;
    let strays = if is_whole { cloud.note_on_strays() } else { None };
    for note in cloud.notes.iter().chain(&strays) {
        report.note(note);
    }
    cloud.require_values_of_f32(&inputs, &args.points, true)?;
    cloud.notes_on_f32(true).iter().for_each(|note| report.note(note));
    if args.surface.geographic {
        require_places(&cloud, &inputs, &args.points)?;
    }
    let bounds = cloud.rectangle()?;
    let crs = args.crs(cloud.crs.as_ref())?;
    args.require_north_up(crs.as_ref())?;
    let grid = extent::grid(&args.surface, args.points.bounds, bounds)?;
    report.crs(crs.as_ref());
    let uncovered = extent::note_on_uncovered(&args.surface, &grid, args.points.bounds, bounds);
    let (columns, ys) = (&args.points.columns, [bounds.min_y, bounds.max_y]);
    let notes = args.surface.notes_on_distances(crs.as_ref(), columns, ys);
    notes.chain(uncovered).for_each(|note| report.note(note));
    // Bytes of a cell: the values, their copy with NODATA, and the writer's. Kriging adds values and variances in f64,
    // and --deviation adds all statistics.
    let of_cell = match (&args.surface.kriging.variogram, args.surface.deviation) {
        (Some(_), _) => 36,
        (None, true) => 60,
        (None, false) if args.surface.prediction_error => 24,
        (None, false) => 12,
    };
    host_memory::require(grid.cells().saturating_mul(of_cell))
        .map_err(|error| {
            let why = format!("{} x {} cells: {error}", grid.width, grid.height);
            let error = args.surface.cells_by(grid.cell_size).too_many(why);
            anyhow!("{error}; or make tiles (idw_surface plan)")
        })
        .map_err(|error| match cloud.note_on_emptiness().filter(|_| is_whole) {
            Some(note) => anyhow!("{error}; {note}"),
            None => error,
        })?;
    report.device(&device, args.run.device);

    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let name = |error| name_place(error, &cloud, &inputs, (args, &grid));
    let range = cloud.range;
    let call = Call { args, device: &device, points, grid };
    let bands = match args.surface.kriging.variogram {
        None => call.idw(range, &mut stages, &mut report).map_err(name)?,
        Some(_) => call.kriging(&mut stages, &mut report).map_err(name)?,
    };
    let names = surface::bands(args.surface.second_band());
    require_finite(names.iter().zip(&bands), centres(grid))?;
    report.raster("surface", &grid, Quantity::Own("values"), &bands[0]);
    let second = args.surface.second_band().into_iter().zip(bands.get(1));
    second.for_each(|(name, band)| report.quantity(Quantity::Own(name), band));
    stages.run("write", |_| write(args, &device, &grid, &bands, crs.as_ref()))?;
    report.stages(&stages);
    report.rasters_written([&args.output], crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// Reads the points, or makes a sample.
fn read(args: &Args, inputs: &[PathBuf], within: Option<Bounds>, on: ReadOn) -> Result<Cloud> {
    if inputs.is_empty() {
        return Ok(sample::field(args.sample_points, args.seed));
    }
    let bounds = args.points.bounds.map(|extent| extent.0);
    let cloud = Cloud::read(inputs, &args.points, within, on).and_then(|cloud| {
        let ground = ground(&args.points, &args.surface);
        ground.map_or(Ok(()), |ground| cloud.require_points_within(&ground))?;
        Ok(cloud)
    });
    // Where all points count, no bounds can leave any out.
    cloud.map_err(|error| on_ground(error, "--bounds", bounds))
}

/// What a surface is made of.
#[derive(Clone, Copy)]
struct Call<'a> {
    args: &'a Args,
    device: &'a Device,
    points: Points<'a>,
    grid: GridSpec,
}

impl Call<'_> {
    /// The bands by inverse distances. `range` is that of the files' values.
    fn idw(
        &self,
        range: Option<[f64; 2]>,
        stages: &mut Stages,
        report: &mut Report,
    ) -> Result<Vec<Vec<f32>>> {
        let &Self { args, device, points, grid } = self;
        let power = power(args, device, points, stages, report)?;
        let params = args.surface.params(power);
        // The range of the files, not of the kept points, so that tiles can have the same bits.
        let range = range.filter(|_| !params.is_all_pairs());
        let params = params.value_range(range.map(|[min, max]| ValueRange { min, max }));
        let surface = stages.run("interpolate", |p| {
            idw::interpolate::<f32>(device.with_progress(p), Input::new(points, grid), &params)
        })?;
        let kernel = args.surface.kernel_text();
        match (params.adaptive, &kernel) {
            (Some(_), _) => report.line("power", "adaptive"),
            (None, Some(kernel)) => report.line("kernel", kernel),
            (None, None) => report.line("power", Shortest(params.power)),
        }
        let has_power = params.adaptive.is_none() && kernel.is_none();
        report.field("power", has_power.then_some(params.power));
        report.field("kernel", kernel);
        let mut bands = surface::bands_of(surface, args.surface.deviation);
        if args.surface.prediction_error {
            let errors = stages
                .run("leave one out", |p| Errors::of(device.with_progress(p), points, &params))?;
            bands.push(stages.run("prediction error", |p| {
                errors.around(device.with_progress(p), (points, grid.into()), &params, false)
            })?);
        }
        Ok(bands)
    }

    /// The values by kriging, and their variances where these are wanted.
    fn kriging(&self, stages: &mut Stages, report: &mut Report) -> Result<Vec<Vec<f32>>> {
        let &Self { args, device, points, grid } = self;
        let surface = &args.surface;
        let mut sample = surface.kriging.sample()?;
        let variogram = stages.run("variogram", |p| -> Result<_> {
            if surface.kriging.fits() {
                sample.add(points)?;
            }
            surface.kriging.variogram(sample, p, report)
        })?;
        let variogram = variogram.context("there is no variogram")?;
        let params =
            kriging::params(variogram, surface.max_points, surface.min_points, surface.radius);
        let how = (&params, surface.kriging.variance);
        let is_validated = args.cross_validate;
        Ok(kriging::surface(device, (points, grid), how, is_validated, stages, report)?)
    }
}

/// Refuses points that are not places of the globe.
fn require_places(cloud: &Cloud, inputs: &[PathBuf], args: &PointArgs) -> Result<()> {
    let is_wrong = |i: usize| surface::require_place(cloud.x[i], cloud.y[i]).is_err();
    match parallel::first(cloud.x.len(), FINE, is_wrong) {
        None => Ok(()),
        Some(i) => surface::require_place(cloud.x[i], cloud.y[i])
            .with_context(|| cloud.place_of(i, inputs, args)),
    }
}

/// Says of an error that has a point by its index which of the inputs' it is, and of an error that has a cell which
/// options place it.
fn name_place(
    error: Error,
    cloud: &Cloud,
    inputs: &[PathBuf],
    (args, grid): (&Args, &GridSpec),
) -> Error {
    let (what, index) = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(&idw::Error::Place { what, index, .. }), _) => (what, index),
        (_, Some(&::kriging::Error::Place { what, index, .. })) => (what, index as usize),
        _ => return error,
    };
    if what == "point" {
        return error.context(cloud.place_of(index, inputs, &args.points));
    }
    let option = args.surface.cells_by(grid.cell_size).option();
    let bounds = if args.points.bounds.is_some() { " with --bounds" } else { "" };
    error.context(format!("{option}{bounds}"))
}

/// Where the points lie that the program reads; `None` for everywhere. With `takes_all`, or for the fit of a variogram, it
/// reads those too that count for no cell.
fn reach(points: &PointArgs, surface: &SurfaceArgs, takes_all: bool) -> Option<Bounds> {
    ground(points, surface).filter(|_| !takes_all && !surface.kriging.fits())
}

/// Where the points lie that count for the cells of `--bounds`; `None` for everywhere. One of them must be there.
fn ground(points: &PointArgs, surface: &SurfaceArgs) -> Option<Bounds> {
    let b = points.bounds?.0;
    // On the sphere a distance has no one width in degrees.
    let radius = surface.reach().filter(|_| !surface.geographic)?;
    // Returns how far a grid may reach beyond these bounds: a cell, or what `--size` adds to the shorter side.
    let cell = surface.resolution.unwrap_or((b.max_x - b.min_x).max(b.max_y - b.min_y));
    let most = f64::from(surface.depth()) * radius + cell;
    Some(Bounds {
        min_x: b.min_x - most,
        min_y: b.min_y - most,
        max_x: b.max_x + most,
        max_y: b.max_y + most,
    })
}

/// The power to use: as given, else the best of several if they were compared.
fn power(
    args: &Args,
    device: &Device,
    points: Points,
    stages: &mut Stages,
    report: &mut Report,
) -> Result<f64> {
    let given = args.surface.power.unwrap_or(DEFAULT_POWER);
    if !args.cross_validate {
        return Ok(given);
    }
    let powers = if args.surface.power.is_some() { vec![given] } else { POWERS.to_vec() };
    let adaptive = args.surface.adaptive.then(|| "adaptive power".to_owned());
    if let Some(what) = adaptive.or(args.surface.kernel_text()) {
        let params = args.surface.params(given);
        let found = stages.run("cross-validate", |p| {
            idw::cross_validate(device.with_progress(p), points, &params)
        })?;
        report_validation(report, &what, &found);
        return Ok(given);
    }
    let params = idw::PowerParams::new(powers).interpolation(args.surface.params(given));
    let idw::Comparison { best, all, .. } = stages
        .run("cross-validate", |p| idw::best_power(device.with_progress(p), points, &params))?;
    for (power, found) in &all {
        report_validation(report, &format!("power {}", Shortest(*power)), found);
    }
    Ok(best.unwrap_or(given))
}

fn write(
    args: &Args,
    device: &Device,
    grid: &GridSpec,
    bands: &[Vec<f32>],
    crs: Option<&Crs>,
) -> Result<()> {
    let path = &args.output;
    let products = Products { grid, crs, how: &args.raster, existing: args.existing() };
    if args.format()? != Format::Png {
        return products.write_bands(
            "--output",
            path,
            &surface::bands(args.surface.second_band()),
            bands,
        );
    }
    let values = &bands[0];
    // The unit of the measured values is not known, unless the system states it.
    let units = match Units::of(crs) {
        Units::Plane { .. } if args.surface.geographic => Units::DEGREES,
        units => units,
    };
    let view = GridView::new(values, *grid)?;
    let light = units.product(device, view, &args.light.hillshade(), &gpu_core::Silent)?;
    products.write_relief("--output", path, values, &light)
}

/// What leaving points out one by one found.
fn report_validation(report: &mut Report, what: &str, found: &idw::Validation) {
    let idw::Validation { rmse, mean_absolute, bias, count, .. } = found;
    let [a, b, c] = digits([*rmse, *mean_absolute, *bias], 4);
    let errors = match count {
        0 => kriging::NONE_PREDICTED.to_owned(),
        _ => format!("rmse {a}, mean absolute error {b}, bias {c}, {count} points"),
    };
    report.line("left out", format_args!("{what}: {errors}"));
    let found = json!({
        "what": what, "rmse": rmse, "mean_absolute": mean_absolute, "bias": bias, "points": count,
    });
    report.element("cross_validation", found);
}
