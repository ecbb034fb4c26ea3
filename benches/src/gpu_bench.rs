//! Times the GPU crates: device events around the enqueued work, data resident, after warm-up,
//! the median of the runs. The CPU's time for the same work stands beside it.
//!
//! `gpu_bench [FILTER [MASK]]`; MASK is a raster (.npy, .npz, .png, .tif) whose distances to the pixels
//! that are zero are timed too. The device is `TESSERA_DEVICE`, else `cuda`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gpu_core::{Bounds, Device, DeviceChoice, Gpu, GridSpec};
use nni_grid::{Params, Points};
use pba_voronoi::gpu::Bits;
use pba_voronoi::{Algorithm, Input, Outputs, Sites, Transform};

const RUNS: usize = 10;

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let gpu = Gpu::open(choice)?;
    println!("device: {}", Device::Gpu(gpu.clone()).name());
    println!("| work | device, median ms | (min .. max) | CPU ms |");
    println!("|---|---|---|---|");
    if "voronoi".contains(&filter) {
        for side in [4096, 5000, 16384] {
            for density in [0.0001, 0.01, 0.25] {
                voronoi(&gpu, side, density)?;
            }
        }
    }
    if let Some(path) = std::env::args().nth(2) {
        distances_to_zeros(&gpu, Path::new(&path))?;
    }
    if "nni".contains(&filter) {
        for (points, side) in [(1_000_000, 2000), (7_000_000, 5000)] {
            nni(&gpu, points, side)?;
        }
    }
    Ok(())
}

fn voronoi(gpu: &Gpu, side: u32, density: f64) -> Result<()> {
    let mut random = Random(42);
    let pixels = side as usize * side as usize;
    let sites: Vec<u8> = (0..pixels).map(|_| u8::from(random.unit() < density)).collect();
    let mask = gpu.upload_grid(&sites, side, side)?;
    let work = format!("Voronoi indices {side} x {side}, {}% sites", density * 100.0);
    let by = |algorithm| pba_voronoi::gpu::nearest_sites_by(gpu, &mask, algorithm);

    let times = median_of(gpu, || Ok(by(Algorithm::Auto)?))?;
    let device = by(Algorithm::Auto)?.into_column().to_host()?;
    let start = Instant::now();
    let cpu = pba_voronoi::cpu::voronoi(&sites, side, side, Outputs::default(), &())?;
    print_row(&work, times, start.elapsed());
    ensure!(device == cpu.nearest, "GPU and CPU differ");

    let bits = Bits::from_mask(gpu, &mask)?;
    let search = |transform: Transform| transform.search(gpu, &Bits::from_mask(gpu, &mask)?);
    let more = [
        ("squared distances", Transform::new()),
        ("squared distances, at most 20", Transform::new().max_distance(20.0)),
    ];
    for (name, transform) in more {
        let times = median_of(gpu, || Ok(search(transform)?.squares(gpu)?))?;
        print_row(name, times, Duration::ZERO);
    }
    let times = median_of(gpu, || Ok(search(Transform::new())?.distances(gpu)?))?;
    print_row("distances", times, Duration::ZERO);
    let times = median_of(gpu, || Ok(Transform::new().search(gpu, &bits)?.indices(gpu)?))?;
    print_row("indices from bits", times, Duration::ZERO);

    let times = median_of(gpu, || Ok(by(Algorithm::ScanPrune)?))?;
    let device = by(Algorithm::ScanPrune)?.into_column().to_host()?;
    ensure!(device == cpu.nearest, "ScanPrune and the CPU differ");
    print_row("the same by ScanPrune", times, Duration::ZERO);
    Ok(())
}

fn distances_to_zeros(gpu: &Gpu, path: &Path) -> Result<()> {
    let mask = geo_io::read_mask(path)?;
    let (width, height) = (u32::try_from(mask.width)?, u32::try_from(mask.height)?);
    let sites: Vec<u8> = mask.sites.iter().map(|&s| u8::from(s == 0)).collect();
    let resident = gpu.upload_grid(&sites, width, height)?;
    let run = |transform: Transform| {
        let bits = Bits::from_mask(gpu, &resident)?;
        transform.search(gpu, &bits)?.distances(gpu)
    };
    let times = median_of(gpu, || Ok(run(Transform::new())?))?;
    let device = run(Transform::new())?.into_column().to_host()?;
    let input = Input::new(Sites::Mask(&sites), width, height);
    let start = Instant::now();
    let cpu = Transform::new().distance().run(&Device::Cpu, &input, &())?;
    let cpu_time = start.elapsed();
    ensure!(cpu.distance.as_deref() == Some(&device[..]), "GPU and CPU differ");
    print_row(
        &format!("distances in {width} x {height} to what is zero in the mask"),
        times,
        cpu_time,
    );
    let times = median_of(gpu, || Ok(run(Transform::new().max_distance(50.0))?))?;
    print_row("the same, at most 50", times, Duration::ZERO);
    Ok(())
}

fn nni(gpu: &Gpu, points: usize, side: u32) -> Result<()> {
    let mut random = Random(7);
    let extent = f64::from(side);
    let x: Vec<f64> = (0..points).map(|_| random.unit() * extent).collect();
    let y: Vec<f64> = (0..points).map(|_| random.unit() * extent).collect();
    let height = |(x, y): (&f64, &f64)| 40.0 * (x / 300.0).sin() + 25.0 * (y / 170.0).cos();
    let z: Vec<f64> = x.iter().zip(&y).map(height).collect();
    let bounds = Bounds { min_x: 0.5, min_y: 0.5, max_x: extent - 0.5, max_y: extent - 0.5 };
    let params = Params::new(GridSpec::covering(bounds, 1.0)?);
    let points = Points { x: &x, y: &y, z: &z };

    let resident = nni_grid::gpu::upload(gpu, points)?;
    let times =
        median_of(gpu, || Ok(nni_grid::gpu::interpolate_resident(gpu, &resident, &params)?))?;
    let start = Instant::now();
    let on_gpu = nni_grid::interpolate(&Device::Gpu(gpu.clone()), points, &params, &())?;
    let end_to_end = start.elapsed();
    let start = Instant::now();
    let on_cpu = nni_grid::interpolate(&Device::Cpu, points, &params, &())?;
    let cpu_time = start.elapsed();
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    ensure!(on_gpu.values.iter().zip(&on_cpu.values).all(same), "GPU and CPU differ");
    ensure!(on_gpu.summary == on_cpu.summary, "the summaries of GPU and CPU differ");
    let work = format!("NNI {} points to {side} x {side}, radii 10 and 3", x.len());
    print_row(&work, times, cpu_time);
    println!("| the same end to end, host to host | {:.1} | | |", end_to_end.as_secs_f64() * 1e3);
    Ok(())
}

/// The times of [`RUNS`] runs, sorted, after two to warm up.
fn median_of<R>(gpu: &Gpu, work: impl Fn() -> Result<R>) -> Result<Vec<Duration>> {
    for _ in 0..2 {
        work()?;
    }
    gpu.synchronize()?;
    let run = |_| gpu.time::<_, anyhow::Error>(&work).map(|(_, time)| time);
    let mut times = (0..RUNS).map(run).collect::<Result<Vec<_>>>()?;
    times.sort();
    Ok(times)
}

fn print_row(work: &str, times: Vec<Duration>, cpu: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "| {work} | {:.3} | {:.3} .. {:.3} | {:.0} |",
        ms(times[times.len() / 2]),
        ms(times[0]),
        ms(times[times.len() - 1]),
        ms(cpu)
    );
}

/// A small repeatable generator (xorshift64*): benches need no statistics beyond uniformity.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}
