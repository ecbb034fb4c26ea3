//! L. Wang, X. Wang, X. Zhao and L. Lu, *Optimization of spherical Voronoi diagram generating algorithm based on
//! graphic processing unit* (2015, doi:10.11772/j.issn.1001-9081.2015.06.1564): Table 1 and Figure 1. The paper's
//! kernels with sites in constant memory, and from 1 to 16 cells a thread, are `benches/peers/sphere_shared.cu`.

use anyhow::{Result, ensure};
use benches::{clocked, unit};
use gpu_core::{Device, DevicePoints, Extent, Gpu, Points};
use sphere_qtm::{Baseline, Cell, Level, LonLat, Method, Params, gpu};

use crate::table::{Table, digits, part, ratio, whole};
use crate::{Bench, on_one_thread};

/// The most pairs of a cell and a site that the serial CPU compares.
const SERIAL_PAIRS: u64 = 1 << 28;

/// Sites, and the paper's milliseconds of its serial algorithm (Table 1).
const PUBLISHED: [(u64, f64); 6] = [
    (100, 2950.0),
    (500, 13_882.0),
    (1_000, 27_499.0),
    (5_000, 129_229.0),
    (10_000, 287_545.0),
    (50_000, 1_458_757.0),
];

const METHODS: [Method; 5] = [
    Method::Baseline(Baseline::Global),
    Method::Baseline(Baseline::ReadOnly),
    Method::Baseline(Baseline::Shared),
    Method::Baseline(Baseline::Registers),
    Method::Pruned,
];

pub fn tables(bench: &Bench) -> Result<Vec<Table>> {
    let level = Level::new(bench.choose(9, 4))?;
    let mut serial_table = Table::new(
        "Table 1: the serial algorithm",
        format!(
            "Times in ms of all {} cells. Ours is one thread, timed on a part of the cells and multiplied. Published: Core 2 Quad \
             Q8400 at 2.66 GHz.",
            whole(level.cell_count())
        ),
        &["sites", "published", "ours", "timed"],
    );
    let mut speed_ups = Table::new(
        "Figure 1: speed-up over the serial algorithm",
        "Times in ms, in brackets the speed-up over our serial algorithm. Published: GeForce 9600 GT, CUDA 6.5; the figure prints no numbers. \
         By the text global memory alone is about as fast as the CPU, and the other kernels reach tens of times to over a hundred \
         times. The pruned diagram on the CPU has all threads.",
        &["sites", "global", "read-only", "shared", "registers", "pruned", "pruned on the CPU"],
    );
    let counts = bench.choose(&PUBLISHED[..], &PUBLISHED[..2]);
    for &(count, published) in counts {
        let sites = Sites::new(count)?;
        let params = Params::new(level);
        let (diagram, on_cpu) =
            clocked(|| Ok(sphere_qtm::voronoi(&Device::Cpu, &sites.points(), &params)?))?;
        let (serial, step) = serial(&sites, level, &diagram.nearest)?;
        serial_table.push([whole(count), digits(published), digits(serial), part(step)]);
        let beside = |time: f64| format!("{} ({})", digits(time), ratio(serial, time));
        let mut row = vec![whole(count)];
        for method in METHODS {
            let time = match &bench.gpu {
                Some(gpu) => {
                    Some(on_device(bench, gpu, &sites, &params.method(method), &diagram.nearest)?)
                }
                None => None,
            };
            row.push(time.map(beside).unwrap_or_default());
        }
        row.push(beside(on_cpu));
        speed_ups.push(row);
    }
    Ok(vec![serial_table, speed_ups])
}

fn on_device(
    bench: &Bench,
    gpu: &Gpu,
    sites: &Sites,
    params: &Params,
    wanted: &[u32],
) -> Result<f64> {
    let (x, y) = (gpu.upload(&sites.x)?, gpu.upload(&sites.y)?);
    let resident = DevicePoints::new(&x, &y, [], Extent::of(&sites.points())?)?;
    let run = || Ok(gpu::voronoi(gpu, &resident, params)?);
    ensure!(run()?.to_host()?.nearest == wanted, "{:?}: another diagram", params.method);
    bench.median(gpu, run)
}

/// Compares cells with every site by the great-circle distance; milliseconds of all cells, and the step between those
/// that were timed.
fn serial(sites: &Sites, level: Level, nearest: &[u32]) -> Result<(f64, u64)> {
    let step = (level.cell_count() * sites.vectors.len() as u64).div_ceil(SERIAL_PAIRS);
    let distance =
        |[a, b, c]: [f64; 3], [x, y, z]: [f64; 3]| (a * x + b * y + c * z).clamp(-1.0, 1.0).acos();
    let cells = || (0..level.cell_count()).step_by(step as usize);
    let centre = |cell| Ok::<_, anyhow::Error>(Cell::from_index(level, cell)?.centre().to_array());
    let (found, time) = on_one_thread(|| {
        let nearest = cells().map(|cell| {
            let centre = centre(cell)?;
            let (mut least, mut best) = (f64::MAX, 0);
            for (i, &site) in sites.vectors.iter().enumerate() {
                let distance = distance(centre, site);
                if distance < least {
                    (least, best) = (distance, i);
                }
            }
            Ok(best)
        });
        nearest.collect::<Result<Vec<_>>>()
    })?;
    for (cell, &best) in cells().zip(&found) {
        let of = |site: usize| Ok::<_, anyhow::Error>(distance(centre(cell)?, sites.vectors[site]));
        // An arc cosine near 1 has lost half of its digits.
        ensure!(of(best)? >= of(nearest[cell as usize] as usize)? - 1e-7, "cell {cell}");
    }
    Ok((time * level.cell_count() as f64 / found.len() as f64, step))
}

/// Uniform on the sphere.
struct Sites {
    x: Vec<f64>,
    y: Vec<f64>,
    vectors: Vec<[f64; 3]>,
}

impl Sites {
    fn new(count: u64) -> Result<Self> {
        let column = |axis, of: fn(f64) -> f64| (0..count).map(|i| of(unit(axis, i))).collect();
        let x: Vec<f64> = column(20, |u| 360.0 * u - 180.0);
        let y: Vec<f64> = column(21, |u| (2.0 * u - 1.0).asin().to_degrees());
        let vector = |(&x, &y)| Ok(LonLat::new(x, y)?.to_vector().to_array());
        let vectors = x.iter().zip(&y).map(vector).collect::<Result<_>>()?;
        Ok(Self { x, y, vectors })
    }

    fn points(&self) -> Points<'_> {
        Points::new(&self.x, &self.y)
    }
}
