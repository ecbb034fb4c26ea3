//! Times crate sphere-qtm, one tab-separated row each: library, name, cells or points, sites, and the median, least
//! and greatest time in ms. `peers/sphere_shared.cu` prints such rows for the paper's kernel in CUDA C++.
//!
//! `sphere_bench [FILTER]`; the device is `TESSERA_DEVICE`, else `cuda`. Rows that begin with `cpu` need none, and
//! come first. Sites are uniform on the sphere, from a fixed seed; one run to warm up, then 3 (CPU) or 20 between
//! events of their own. A diagram by all pairs is compared with the pruned one before its row is printed, and
//! that with f64 sums over all sites at a sample of the cells.

use std::f64::consts::PI;
use std::time::Instant;

use anyhow::{Result, ensure};
use gpu_core::{Column, Device, DeviceChoice, DevicePoints, Extent, Gpu, Points};
use rayon::prelude::*;
use sphere_qtm::gpu;
use sphere_qtm::{Baseline, Diagram, Level, LonLat, Method, Params};

/// Cells of the sample that a diagram is checked at.
const SAMPLE: u64 = 64;

/// The part of the cells that the paper's serial algorithm is timed on; the row has the time of all.
const SERIAL_PART: u64 = 64;

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    cpu(&filter)?;
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let bench = Bench { gpu: Gpu::open(choice)?, filter };
    let (some, many) = (Sites::random(50_000, 1), Sites::random(1_000_000, 2));
    let nine = Params::new(Level::new(9)?);
    let pruned = bench.diagram("voronoi_9_pruned", &some, &nine)?;
    for (name, method) in [
        ("voronoi_9_registers", Method::Baseline(Baseline::Registers)),
        ("voronoi_9_read_only", Method::Baseline(Baseline::ReadOnly)),
        ("voronoi_9_shared", Method::Baseline(Baseline::Shared)),
        ("voronoi_9_global", Method::Baseline(Baseline::Global)),
    ] {
        let found = bench.diagram(name, &some, &nine.method(method))?;
        if let (Some(found), Some(pruned)) = (found, &pruned) {
            ensure!(found.nearest == pruned.nearest, "{name}: not the pruned diagram");
        }
    }
    bench.diagram(
        "voronoi_9_pruned_all_outputs",
        &some,
        &nine.second(true).distance(true).tie(true),
    )?;
    bench.diagram("voronoi_12_pruned", &many, &Params::new(Level::new(12)?))?;
    bench.cells_of_points()
}

/// The CPU's rows: the library on all threads, and beside it the paper's serial algorithm.
fn cpu(filter: &str) -> Result<()> {
    let (level, sites) = (Level::new(9)?, Sites::random(10_000, 3));
    if "cpu_voronoi_9_pruned".contains(filter) {
        let run = || sphere_qtm::voronoi(&Device::Cpu, &sites.points(), &Params::new(level));
        let diagram = run()?;
        sites.check("cpu_voronoi_9_pruned", &diagram)?;
        let mut times = Vec::new();
        for _ in 0..3 {
            let start = Instant::now();
            run()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        print_row("cpu_voronoi_9_pruned", level.cell_count(), sites.x.len(), times);
    }
    if "cpu_voronoi_9_serial".contains(filter) {
        let vectors = sites.vectors()?;
        let start = Instant::now();
        let mut sum = 0;
        for index in (0..level.cell_count()).step_by(SERIAL_PART as usize) {
            let [a, b, c] = sphere_qtm::Cell::from_index(level, index)?.centre().to_array();
            let (mut least, mut best) = (f64::MAX, 0);
            for (i, [x, y, z]) in vectors.iter().enumerate() {
                let distance = (a * x + b * y + c * z).clamp(-1.0, 1.0).acos();
                if distance < least {
                    (least, best) = (distance, i);
                }
            }
            sum += best;
        }
        std::hint::black_box(sum);
        let all = start.elapsed().as_secs_f64() * 1e3 * SERIAL_PART as f64;
        print_row("cpu_voronoi_9_serial", level.cell_count(), sites.x.len(), vec![all]);
    }
    Ok(())
}

fn print_row(name: &str, cells: u64, sites: usize, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let (median, least, most) = (times[times.len() / 2], times[0], times[times.len() - 1]);
    println!("tessera\t{name}\t{cells}\t{sites}\t{median:.4}\t{least:.4}\t{most:.4}");
}

struct Bench {
    gpu: Gpu,
    filter: String,
}

impl Bench {
    fn diagram(&self, name: &str, sites: &Sites, params: &Params) -> Result<Option<Diagram>> {
        if !name.contains(&self.filter) {
            return Ok(None);
        }
        let (x, y) = (self.gpu.upload(&sites.x)?, self.gpu.upload(&sites.y)?);
        let extent = Extent::of(&sites.points())?;
        let resident = DevicePoints::new(&x, &y, [], extent)?;
        let diagram = gpu::voronoi(&self.gpu, &resident, params)?.to_host()?;
        sites.check(name, &diagram)?;
        let times = self.times(|| Ok(gpu::voronoi(&self.gpu, &resident, params)?))?;
        print_row(name, params.level.cell_count(), sites.x.len(), times);
        Ok(Some(diagram))
    }

    /// 2^27 points a row: with what they are read from and written to, bytes a point.
    fn cells_of_points(&self) -> Result<()> {
        let (count, level) = (1 << 27, Level::new(20)?);
        if !["cells_20_f32_16_bytes", "cells_20_f64_24_bytes"]
            .iter()
            .any(|n| n.contains(&self.filter))
        {
            return Ok(());
        }
        let sites = Sites::random(count, 4);
        let narrow =
            |column: &[f64]| -> Vec<f32> { column.par_iter().map(|&x| x as f32).collect() };
        self.cells("cells_20_f32_16_bytes", narrow(&sites.x), narrow(&sites.y), level)?;
        self.cells("cells_20_f64_24_bytes", sites.x, sites.y, level)
    }

    fn cells<T: gpu::Coordinate>(
        &self,
        name: &str,
        x: Vec<T>,
        y: Vec<T>,
        level: Level,
    ) -> Result<()> {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        let (lon, lat): (Column<T>, Column<T>) = (self.gpu.upload(&x)?, self.gpu.upload(&y)?);
        let times = self.times(|| Ok(gpu::cells_of_points(&self.gpu, &lon, &lat, level)?))?;
        print_row(name, x.len() as u64, 0, times);
        Ok(())
    }

    /// Milliseconds of 20 runs, after one.
    fn times<R>(&self, mut work: impl FnMut() -> Result<R>) -> Result<Vec<f64>> {
        work()?;
        self.gpu.synchronize()?;
        (0..20)
            .map(|_| {
                let (_, time) = self.gpu.time::<_, anyhow::Error>(&mut work)?;
                Ok(time.as_secs_f64() * 1e3)
            })
            .collect()
    }
}

/// Uniform on the sphere, in degrees.
struct Sites {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Sites {
    fn random(count: usize, seed: u64) -> Self {
        let unit = |i: usize, axis: u64| {
            (mix((2 * i as u64 + axis) + (seed << 40)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let all = 0..count;
        Self {
            x: all.clone().into_par_iter().map(|i| 360.0 * unit(i, 0) - 180.0).collect(),
            y: all.into_par_iter().map(|i| (2.0 * unit(i, 1) - 1.0).asin() * 180.0 / PI).collect(),
        }
    }

    fn points(&self) -> Points<'_> {
        Points::new(&self.x, &self.y)
    }

    fn vectors(&self) -> Result<Vec<[f64; 3]>> {
        let places = self.x.iter().zip(&self.y);
        places.map(|(&x, &y)| Ok(LonLat::new(x, y)?.to_vector().to_array())).collect()
    }

    /// Compares some cells with all sites.
    fn check(&self, name: &str, diagram: &Diagram) -> Result<()> {
        let vectors = self.vectors()?;
        for k in 0..SAMPLE {
            let index = mix(k) % diagram.level.cell_count();
            let centre = sphere_qtm::Cell::from_index(diagram.level, index)?.centre().to_array();
            let squared = |v: &[f64; 3]| -> f64 {
                (0..3).map(|i| (centre[i] - v[i]) * (centre[i] - v[i])).sum()
            };
            let nearest = (0..vectors.len())
                .min_by(|&a, &b| squared(&vectors[a]).total_cmp(&squared(&vectors[b])));
            let found = diagram.nearest[index as usize] as usize;
            ensure!(
                nearest == Some(found),
                "{name}: cell {index} has site {found}, not {nearest:?}"
            );
        }
        Ok(())
    }
}

/// splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
fn mix(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
