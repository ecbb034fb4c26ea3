//! S. You and J. Zhang, *Constructing Natural Neighbor Interpolation Based Grid DEM Using CUDA*: Table 1. Jump flooding
//! (Rong and Tan 2006), which other programs build on, is `benches/peers/jfa.cu`.

use anyhow::{Context, Result, bail, ensure};
use benches::clocked;
use gpu_core::{
    Device, DeviceGrid, Extent, Gpu, GridSlice, GridSpec, Points, Silent, UploadedPoints,
};
use gpu_scan::gpu::Workspace;
use nni_grid::Params;
use pba_voronoi::{Baseline, Method, Params as VoronoiParams};

use crate::table::{Table, digits, whole};
use crate::{Bench, survey};

/// Points of the paper's files, and its milliseconds of the diagram and of the query.
const PUBLISHED: [(usize, f64, f64); 3] =
    [(6_982_873, 677.0, 142.0), (6_066_378, 637.0, 140.0), (6_211_257, 652.0, 137.0)];

pub fn tables(bench: &Bench) -> Result<Vec<Table>> {
    let side = bench.choose(5000, 48);
    let mut table = Table::new(
        "Table 1: three LiDAR files",
        format!(
            "Times in ms, to {side} x {side} cells, region of influence 10, query radius 3. Published times include transfers: GeForce GTX 480, CUDA \
             4.0, two Xeon X5650. Its files are not to be had, so ours are simulated surveys of as many points, with overlapping flight \
             lines, woods, houses and a lake. Diagrams are of the occupied pixels, data resident. *Rest* is the whole on pixels less the Monotone \
             diagram: points to pixels, and the query. *As published* is ScanPrune and the rest. Transfers are those of pageable memory. \
             The CPU has all threads."
        ),
        &[
            "points",
            "published Voronoi",
            "published query",
            "ScanPrune",
            "Monotone",
            "rest",
            "as published",
            "whole",
            "whole with transfers",
            "exact",
            "exact with transfers",
            "CPU, whole",
        ],
    );
    for (seed, (count, voronoi, query)) in PUBLISHED.into_iter().enumerate() {
        let cloud = Cloud::surveyed(bench.choose(count, count / 4000), side, seed as u64 + 1)?;
        let mut row = vec![whole(cloud.x.len() as u64), digits(voronoi), digits(query)];
        row.extend(measure(bench, &cloud, side)?.map(digits));
        table.push(row);
    }
    Ok(vec![table])
}

/// The milliseconds of ours, as the columns have them.
fn measure(bench: &Bench, cloud: &Cloud, side: u32) -> Result<[Option<f64>; 9]> {
    let grid = GridSpec::new(0.0, f64::from(side), 1.0, side, side)?;
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let input = nni_grid::Input::new(points, grid);
    let (pixels, exact) = (Params::on_pixels(), Params::new());
    let (on_cpu, cpu) = clocked(|| Ok(nni_grid::interpolate(&Device::Cpu, input, &pixels)?))?;
    let Some(gpu) = &bench.gpu else {
        let mut times = [None; 9];
        times[8] = Some(cpu);
        return Ok(times);
    };
    let [scan_prune, monotone] = diagrams(bench, gpu, &cloud.sites(side), side)?;
    let resident = UploadedPoints::new(gpu, &points)?;
    let on_device = nni_grid::gpu::Input::new(resident.points(Extent::of(&points)?)?, grid);
    let mut workspace = Workspace::new(gpu)?;
    let mut run = |params: &Params| {
        bench.median(gpu, || Ok(nni_grid::gpu::interpolate(&mut workspace, &on_device, params)?))
    };
    let (whole, of_exact) = (run(&pixels)?, run(&exact)?);
    let device = Device::Gpu(gpu.clone());
    let to_host = |params: &Params| Ok(nni_grid::interpolate(&device, input, params)?);
    let found = to_host(&pixels)?;
    let mut pairs = found.values[0].values().iter().zip(on_cpu.values[0].values());
    ensure!(
        pairs.all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()),
        "the DEMs of GPU and CPU differ"
    );
    let whole_to_host = bench.median_on_host(|| to_host(&pixels))?;
    let exact_to_host = bench.median_on_host(|| to_host(&exact))?;
    // The software device's clock says nothing: there the difference may be below 0.
    let rest = (whole - monotone).max(0.0);
    let times = [
        scan_prune,
        monotone,
        rest,
        scan_prune + rest,
        whole,
        whole_to_host,
        of_exact,
        exact_to_host,
        cpu,
    ];
    Ok(times.map(Some))
}

/// Milliseconds of the diagram of a mask by ScanPrune and by Monotone.
fn diagrams(bench: &Bench, gpu: &Gpu, mask: &[u8], side: u32) -> Result<[f64; 2]> {
    let mask = DeviceGrid::from_column(gpu.upload(mask)?, GridSpec::of_pixels(side, side))?;
    let params = VoronoiParams::new().nearest();
    let methods = [params.method(Method::Baseline(Baseline::ScanPrune)), params];
    let run = |params: &VoronoiParams| {
        let input = GridSlice::from(&mask).into();
        Ok(pba_voronoi::gpu::transform(gpu, &input, params)?)
    };
    let indices = |params: &VoronoiParams| match run(params)?.nearest.context("no indices")? {
        pba_voronoi::gpu::Integers::U32(nearest) => Ok(nearest.to_host()?.into_values()),
        _ => bail!("no indices of 32 bits"),
    };
    ensure!(indices(&methods[0])? == indices(&methods[1])?, "ScanPrune and Monotone differ");
    Ok([bench.median(gpu, || run(&methods[0]))?, bench.median(gpu, || run(&methods[1]))?])
}

/// Points in a square of so many cells.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Cloud {
    /// As many returns, spread evenly over those of a simulated survey, which fills the square.
    fn surveyed(count: usize, side: u32, seed: u64) -> Result<Self> {
        let survey = survey::fly(count as u64 * 3 / 2, seed, &Silent);
        let all = survey.x.len();
        ensure!(all >= count, "the survey has {all} returns, not {count}");
        let taken = |column: &[f64]| -> Vec<f64> {
            (0..count).map(|i| column[(i as u128 * all as u128 / count as u128) as usize]).collect()
        };
        let within = |column: Vec<f64>| -> Vec<f64> {
            let least = column.iter().copied().fold(f64::INFINITY, f64::min);
            let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let scale = f64::from(side) / (most - least);
            column.iter().map(|v| (v - least) * scale).collect()
        };
        Ok(Self { x: within(taken(&survey.x)), y: within(taken(&survey.y)), z: taken(&survey.z) })
    }

    /// 1 in the pixels that hold points.
    fn sites(&self, side: u32) -> Vec<u8> {
        let side = side as usize;
        let mut sites = vec![0; side * side];
        for (&x, &y) in self.x.iter().zip(&self.y) {
            let (column, row) = ((x as usize).min(side - 1), (y as usize).min(side - 1));
            sites[(side - 1 - row) * side + column] = 1;
        }
        sites
    }
}
