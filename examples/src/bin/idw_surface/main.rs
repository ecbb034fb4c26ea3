//! `idw_surface`: scattered measurements in, a surface out.
//!
//! The way from here to the kernel: [`interpolate`](idw::interpolate) goes to crate idw's `cpu` or
//! `gpu`, which are siblings; the latter launches the kernels of `kernels-rs/src/idw.rs` (all pairs)
//! or `kernels-rs/src/idw_neighbours.rs`.

mod args;
#[path = "../../point_args.rs"]
mod point_args;
mod sample;
#[path = "../../stages.rs"]
mod stages;

use std::fmt::{Display, Write as _};
use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use geo_io::{Crs, PointCloud};
use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, host_memory};
use idw::{Params, Points, Surface, Targets};
use terrain::{Edges, Light};

use args::{Args, Format};
use stages::Stages;

/// The powers that cross-validation tries.
const POWERS: [f64; 6] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0];

/// The power where nothing says otherwise.
const DEFAULT_POWER: f64 = 2.0;

fn main() -> ExitCode {
    // Nothing here panics on purpose, but a decoder of damaged files may, which geo-io turns into
    // an error. Its one line is enough, so the panic's own message is kept for the last resort.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = std::panic::catch_unwind(|| Args::from_command_line().and_then(|a| run(&a)));
    let message = match outcome {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "internal error, please report it".to_owned(),
    };
    eprintln!("idw_surface: {}", one_line(&message));
    ExitCode::from(2)
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
    report.points(args, &cloud);
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
    report.surface(&grid, &params, &surface);
    let crs = args.crs()?.or(cloud.crs);
    stages.run("write", |_| write(args, &device, &grid, &surface.values[0], crs.as_ref()))?;
    for stage in stages.done() {
        report.line("time", format_args!("{:>8.3} s  {}", stage.seconds, stage.name));
        for (part, seconds) in &stage.parts {
            report.line("", format_args!("{seconds:>8.3} s    {part}"));
        }
    }
    report.line("written", args.output.display());
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
        report.validation("adaptive power", &found);
        return Ok(given);
    }
    let params = args.params(given);
    let idw::Comparison { best, all } =
        stages.run("cross-validate", |p| idw::best_power(device, points, &params, &powers, p))?;
    for (power, found) in &all {
        report.validation(&format!("power {power}"), found);
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

/// The report under way: lines of text, each under a heading of the same width.
#[derive(Default)]
struct Report(String);

impl Report {
    fn line(&mut self, heading: &str, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{heading:<11} {text}");
    }

    /// What was read, kept, dropped and why.
    fn points(&mut self, args: &Args, cloud: &PointCloud) {
        let Some(path) = &args.input else {
            return self.line("input", format_args!("a sample of {} points", cloud.len()));
        };
        let t = &cloud.tally;
        let mut text = format!("{}: {} points read, {} kept", path.display(), t.read, t.kept);
        for (count, why) in [(t.dropped_class, "by class"), (t.dropped_withheld, "withheld")] {
            if count > 0 {
                let _ = write!(text, ", {count} dropped {why}");
            }
        }
        self.line("input", text);
    }

    /// The device that did the work and, where `auto` fell back to the CPU, why.
    fn device(&mut self, device: &Device, asked: DeviceChoice) {
        self.line("device", device.name());
        if let (DeviceChoice::Auto, Device::Cpu) = (asked, device)
            && let Some(why) = Device::why_no_gpu()
        {
            self.line("", format_args!("no GPU taken: {why}"));
        }
    }

    fn validation(&mut self, what: &str, found: &idw::Validation) {
        self.line(
            "left out",
            format_args!(
                "{what}: rmse {:.4}, mean absolute error {:.4}, bias {:.4}, {} points",
                found.rmse, found.mean_absolute, found.bias, found.count
            ),
        );
    }

    /// The grid and its values.
    fn surface(&mut self, grid: &GridSpec, params: &Params, surface: &Surface<f32>) {
        match params.adaptive {
            Some(_) => self.line("power", "adaptive"),
            None => self.line("power", params.power),
        }
        let share = 100.0 * surface.summary.nodata as f64 / grid.cells().max(1) as f64;
        self.line(
            "surface",
            format_args!(
                "{} x {} cells of {}, {share:.1}% NODATA",
                grid.width, grid.height, grid.cell_size
            ),
        );
        let b = grid.bounds();
        self.line("extent", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
        let known = surface.values[0].iter().copied().filter(|v| !v.is_nan());
        let range = known.map(|v| (v, v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        match range {
            Some((low, high)) => self.line("values", format_args!("{low:.2} to {high:.2}")),
            None => self.line("values", "none: every cell is NODATA"),
        }
    }

    /// Prints the report; a reader that went away is no error.
    fn print(&self) {
        use std::io::Write as _;
        let _ = std::io::stdout().write_all(self.0.as_bytes());
    }
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
