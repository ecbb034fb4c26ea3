//! Times the exact method on the process's GPU, points resident, by a host clock round calls that wait, and
//! compares one result of each kind with the CPU's, bit for bit.
//!
//! `exact_bench [POINTS [SIDE [RUNS]]]`; RUNS 0 leaves the CPU out, and runs each kind once.

use std::time::Instant;

use gpu_core::{Device, DeviceChoice, Gpu, GridSpec};
use nni_grid::{Params, Points, Weights, interpolate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (count, side, runs) = (number(7_000_000)?, number(5000)?, number(7)?);
    let extent = f64::from(side);
    let (x, y) = (random(count, extent, 3), random(count, extent, 5));
    let z: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (x / 30.0).sin() * (y / 17.0).cos()).collect();
    let points = Points { x: &x, y: &y, z: &z };
    let grid = GridSpec::new(0.0, extent, 1.0, side, side)?;
    let gpu = Gpu::open(DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0)))?;
    println!("{count} points, {side} x {side} cells, {}", Device::Gpu(gpu.clone()).name());
    let resident = nni_grid::gpu::upload(&gpu, points)?;
    let plain = Params::new(grid);
    let kinds = [
        ("Sibson", plain),
        ("Laplace", Params { weights: Weights::Laplace, ..plain }),
        ("C1", Params { weights: Weights::SibsonC1, ..plain }),
        ("query radius 3", Params { query_radius: 3.0, ..plain }),
        ("no site radius", Params { site_radius: f64::INFINITY, ..plain }),
    ];
    for (name, params) in kinds {
        let mut times = Vec::new();
        for _ in 0..runs.max(1) + 1 {
            gpu.synchronize()?;
            let start = Instant::now();
            let dem = nni_grid::gpu::interpolate_resident(&gpu, &resident, &params)?;
            gpu.synchronize()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            drop(dem);
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let (least, median) = (times[0], times[times.len() / 2]);
        println!("{name}: {median:.2} ms, from {least:.2} to {:.2}", times[times.len() - 1]);
        if runs > 0 {
            let dem = nni_grid::gpu::interpolate_resident(&gpu, &resident, &params)?;
            let found = dem.values.into_column().to_host()?;
            let start = Instant::now();
            let expected = interpolate(&Device::Cpu, points, &params, &())?.values;
            let time = start.elapsed().as_secs_f64();
            let differ = found.iter().zip(&expected).filter(|(a, b)| a.to_bits() != b.to_bits());
            println!("    {} cells differ from the CPU's, which took {time:.1} s", differ.count());
        }
    }
    Ok(())
}

/// Uniform in 0 .. extent, from a seed.
fn random(count: u32, extent: f64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| next() * extent).collect()
}
