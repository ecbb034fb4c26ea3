//! Times crate kriging, a row each: see the library of benches.
//!
//! `kriging_bench [gpu|cpu] [FILTER]`. `gpu`, the default, takes 10 million points for the 25 million cells of a grid, both
//! resident, on `TESSERA_DEVICE`, else `cuda`. For each number of neighbours and model there is a row of the index, one
//! of search and systems together (`_interpolate`), and one of all. A sample of the results is compared with the CPU,
//! bit by bit, before a row is printed. `cpu`: 100,000 points for 1000 x 1000 cells on all cores, as
//! `peers/kriging_gstat.R` and `peers/kriging_pykrige.py` do.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use benches::{Times, unit};
use gpu_core::{Device, DeviceChoice, DevicePoints, Extent, Gpu, GridSpec, Points, parallel};
use kriging::gpu::{DeviceSurface, Index, Workspace};
use kriging::{Input, Model, Params, Targets, Variogram, interpolate};

/// Targets of the sample.
const SAMPLE: usize = 20_000;

/// Side of the square, and of the grid in cells.
const SIDE: u32 = 5000;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (which, filter) = (arguments.next(), arguments.next().unwrap_or_default());
    match which.as_deref() {
        None | Some("gpu") => on_gpu(&filter),
        Some("cpu") => on_cpu(&filter),
        Some(other) => bail!("kriging_bench [gpu|cpu] [FILTER], not {other}"),
    }
}

/// Points of a square with values of a field and noise.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Cloud {
    fn new(count: usize, side: f64) -> Self {
        let column = |c: u64| parallel::map(count, 4096, |i| side * unit(c, i as u64));
        let (x, y) = (column(1), column(2));
        let z = |i: usize| {
            10.0 * (x[i] / 150.0).sin() + 8.0 * (y[i] / 200.0).cos() + 4.0 * unit(3, i as u64)
        };
        let z = parallel::map(count, 4096, z);
        Self { x, y, z }
    }
}

/// Name, most points and variogram of each row.
fn rows() -> Vec<(String, Params)> {
    let variogram = |model| Variogram::new(0.5).structure(model, 2.0, 300.0);
    let mut rows = Vec::new();
    for model in Model::ALL {
        let params = Params::new(variogram(model)).max_points(12);
        rows.push((format!("kriging_{}_k12", model.name()), params));
    }
    let two = variogram(Model::Spherical).structure(Model::Exponential, 1.0, 900.0);
    rows.push(("kriging_two_structures_k12".into(), Params::new(two).max_points(12)));
    for most in [8, 16, 24, 32, 64] {
        let params = Params::new(variogram(Model::Spherical)).max_points(most);
        rows.push((format!("kriging_spherical_k{most}"), params));
    }
    rows
}

fn on_gpu(filter: &str) -> Result<()> {
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let gpu = Gpu::open(choice)?;
    // The software device tries the bench, and takes a thousandth of the time for it.
    let (count, side) =
        if choice == DeviceChoice::Software { (10_000, 160) } else { (10_000_000, SIDE) };
    let cloud = Cloud::new(count, side.into());
    let grid = GridSpec::new(0.0, side.into(), 1.0, side, side)?;
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let extent = Extent::of(&points)?;
    let [x, y, z] = [gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?, gpu.upload(&cloud.z)?];
    let resident = DevicePoints::new(&x, &y, [(&z).into()], extent)?;
    let mut workspace = Workspace::new(&gpu)?;
    for (name, params) in rows().iter().filter(|(name, _)| name.contains(filter)) {
        let (mut indices, mut interpolations, mut all) = (Vec::new(), Vec::new(), Vec::new());
        // After the first round, in which the driver compiles kernels.
        for round in 0..6 {
            let (index, built) =
                gpu.time::<_, anyhow::Error>(|| Ok(Index::new(&mut workspace, &resident)?))?;
            let (surface, made) = gpu.time::<_, anyhow::Error>(|| {
                Ok(index.interpolate(&mut workspace, grid.into(), params)?)
            })?;
            if round == 0 {
                check(points, grid, params, &surface)?;
                continue;
            }
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            indices.push(milliseconds(built));
            interpolations.push(milliseconds(made));
            all.push(milliseconds(built + made));
        }
        let size = (count as u64, grid.cells());
        Times::new(indices).print("tessera", format!("{name}_index"), size.0, size.1);
        Times::new(interpolations).print("tessera", format!("{name}_interpolate"), size.0, size.1);
        Times::new(all).print("tessera", name, size.0, size.1);
    }
    Ok(())
}

/// Compares a sample with the CPU's values and variances.
fn check(points: Points, grid: GridSpec, params: &Params, surface: &DeviceSurface) -> Result<()> {
    let found = surface.to_host()?;
    let cell = |i: usize| (unit(9, i as u64) * grid.cells() as f64) as usize;
    let cells: Vec<usize> = (0..SAMPLE).map(cell).collect();
    let (x, y): (Vec<f64>, Vec<f64>) =
        cells.iter().map(|&cell| Targets::Grid(grid).place(cell)).unzip();
    let targets = Targets::Points { x: &x, y: &y };
    let wanted = interpolate(&Device::Cpu, Input::new(points, targets), params)?;
    for (i, &cell) in cells.iter().enumerate() {
        let is_same = found.values[0][cell].to_bits() == wanted.values[0][i].to_bits()
            && found.variances[cell].to_bits() == wanted.variances[i].to_bits();
        ensure!(is_same, "cell {cell} has other bits than on the CPU");
    }
    Ok(())
}

fn on_cpu(filter: &str) -> Result<()> {
    let cloud = Cloud::new(100_000, 1000.0);
    let grid = GridSpec::new(0.0, 1000.0, 1.0, 1000, 1000)?;
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    for (name, params) in rows().iter().filter(|(name, _)| name.contains(filter)) {
        let times =
            Times::on_host(3, || Ok(interpolate(&Device::Cpu, Input::new(points, grid), params)?))?;
        times.print("cpu", name, 100_000, grid.cells());
    }
    Ok(())
}
