//! Times each algorithm over a ladder of sizes: what docs/guide/performance.md plots.
//!
//! `sizes_bench [FILTER]`; the device is `TESSERA_DEVICE`, else `cuda`; `SIZES_MOST` bounds the cells, points or
//! elements of a row, to try the bench where memory or time is short. Data are random from fixed seeds, resident,
//! uniform unless said; two runs to warm up, then 10 between events of their own. A row `cpu` is one run of the call
//! from host to host on all threads. Rows of at most [`CPU_MOST`] cells or points have one. Other benches compare
//! results; this one times alone.

use anyhow::Result;
use benches::{Times, clocked, unit};
use gpu_core::{
    Bounds, Column, Device, DeviceChoice, DeviceGrid, DevicePoints, Extent, Gpu, Grid, GridSlice,
    GridSpec, GridView, Points,
};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sort, Sum};
use rayon::prelude::*;

const RUNS: usize = 10;
const CPU_MOST: u64 = 1 << 22;

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let most = std::env::var("SIZES_MOST").ok().map(|n| n.parse()).transpose()?;
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let gpu = Gpu::open(choice)?;
    let bench = Bench { gpu, most: most.unwrap_or(u64::MAX) };
    let algorithms: [(&str, Algorithm); 8] = [
        ("primitives", Bench::primitives),
        ("voronoi", Bench::voronoi),
        ("nni", Bench::nni),
        ("terrain", Bench::terrain),
        ("idw", Bench::idw),
        ("quadtree", Bench::quadtree),
        ("ccq", Bench::ccq),
        ("sphere", Bench::sphere),
    ];
    for (name, run) in algorithms {
        if name.contains(&filter) {
            run(&bench)?;
        }
    }
    Ok(())
}

type Algorithm = fn(&Bench) -> Result<()>;

struct Bench {
    gpu: Gpu,
    most: u64,
}

impl Bench {
    fn device<R>(
        &self,
        name: &str,
        (size, other): (u64, u64),
        work: impl FnMut() -> Result<R>,
    ) -> Result<()> {
        Times::on_device(&self.gpu, RUNS, work)?.print("tessera", name, size, other);
        Ok(())
    }

    fn cpu<R>(
        &self,
        name: &str,
        (size, other): (u64, u64),
        work: impl FnOnce() -> Result<R>,
    ) -> Result<()> {
        if size <= CPU_MOST {
            Times::new(vec![clocked(work)?.1]).print("cpu", name, size, other);
        }
        Ok(())
    }

    /// Sides of squares of cells, each with twice the cells of the one before.
    fn sides(&self, least: u32, most: u32) -> impl Iterator<Item = u32> {
        let limit = self.most;
        let side = move |step: i32| (f64::from(least) * 2f64.powf(f64::from(step) / 2.0)) as u32;
        let fits = move |&side: &u32| side <= most && u64::from(side).pow(2) <= limit;
        (0..).map(side).take_while(fits)
    }

    /// Numbers, each twice the one before.
    fn numbers(&self, least: u64, most: u64) -> impl Iterator<Item = u64> {
        let most = most.min(self.most);
        (0..).map(move |step| least << step).take_while(move |&n| n <= most)
    }

    fn primitives(&self) -> Result<()> {
        let mut workspace = Workspace::new(&self.gpu)?;
        for n in self.numbers(1 << 12, 1 << 28) {
            let words: Vec<u32> = random(n, 1, |x| (x * 4294967296.0) as u32);
            let input = self.gpu.upload(&words)?;
            let mut output = self.gpu.zeroed::<u32>(words.len())?;
            self.device("scan_u32", (n, 0), || {
                let scan = Scan::inclusive();
                Ok(gpu_scan::gpu::scan(&mut workspace, Sum, scan, &input, &mut output)?)
            })?;
            self.device("sort_u32", (n, 0), || {
                let sort = Sort::ascending();
                Ok(gpu_scan::gpu::sort(&mut workspace, sort, &input, &mut output)?)
            })?;
        }
        Ok(())
    }

    /// A hundredth of the pixels are sites.
    fn voronoi(&self) -> Result<()> {
        let params = pba_voronoi::Params::new().nearest();
        for side in self.sides(256, 32768) {
            let (grid, cells) = (GridSpec::of_pixels(side, side), u64::from(side).pow(2));
            let sites: Vec<u8> = random(cells, 2, |x| u8::from(x < 0.01));
            let mask = DeviceGrid::from_column(self.gpu.upload(&sites)?, grid)?;
            self.device("voronoi", (cells, 0), || {
                let input = GridSlice::from(&mask).into();
                Ok(pba_voronoi::gpu::transform(&self.gpu, &input, &params)?)
            })?;
            let view = GridView::new(&sites, grid)?;
            self.cpu("voronoi", (cells, 0), || {
                Ok(pba_voronoi::nearest_sites(&Device::Cpu, view)?)
            })?;
        }
        Ok(())
    }

    /// Seven points for 25 cells, as in the paper's experiment.
    fn nni(&self) -> Result<()> {
        for side in self.sides(125, 10_000) {
            let cells = u64::from(side).pow(2);
            let cloud = Cloud::random(cells * 7 / 25, f64::from(side), 3);
            let there = cloud.upload(&self.gpu)?;
            let grid = GridSpec::new(0.0, f64::from(side), 1.0, side, side)?;
            let input = nni_grid::gpu::Input::new(there.points()?, grid);
            let size = (cells, cloud.x.len() as u64);
            let mut workspace = Workspace::new(&self.gpu)?;
            for (name, params) in [
                ("nni_exact", nni_grid::Params::new()),
                ("nni_pixels", nni_grid::Params::on_pixels()),
            ] {
                self.device(name, size, || {
                    Ok(nni_grid::gpu::interpolate(&mut workspace, &input, &params)?)
                })?;
                self.cpu(name, size, || {
                    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
                    Ok(nni_grid::interpolate(
                        &Device::Cpu,
                        nni_grid::Input::new(points, grid),
                        &params,
                    )?)
                })?;
            }
        }
        Ok(())
    }

    fn terrain(&self) -> Result<()> {
        let slope = terrain_grid::Product::Slope(terrain_grid::SlopeUnit::Degrees);
        let params = terrain_grid::ProductParams::new(slope);
        for side in self.sides(256, 32768) {
            let (grid, cells) = (GridSpec::of_pixels(side, side), u64::from(side).pow(2));
            let dem: Vec<f32> = random(cells, 4, |x| x as f32);
            let dem = GridView::new(&dem, grid)?;
            let there = DeviceGrid::upload(&self.gpu, dem)?;
            self.device("slope", (cells, 0), || {
                Ok(terrain_grid::gpu::product(&self.gpu, &there, &params)?)
            })?;
            self.cpu("slope", (cells, 0), || {
                Ok(terrain_grid::product(&Device::Cpu, dem, &params)?)
            })?;
        }
        Ok(())
    }

    /// Sums over all pairs have as many targets as points. Sums over the 12 nearest have five cells for two points.
    fn idw(&self) -> Result<()> {
        let methods = [
            ("idw_all_pairs", idw::Method::Auto, 1 << 22),
            ("idw_direct", idw::Method::Direct, 1 << 20),
        ];
        for (name, method, most) in methods {
            let params = idw::Params::default().method(method);
            for n in self.numbers(1 << 12, most) {
                let (cloud, targets) = (Cloud::random(n, 1.0, 5), Cloud::random(n, 1.0, 6));
                let there = cloud.upload(&self.gpu)?;
                let places = targets.upload(&self.gpu)?;
                let [x, y, _] = &places.columns;
                let mut workspace = Workspace::new(&self.gpu)?;
                let index = idw::gpu::Index::new(&mut workspace, &there.points()?, &params)?;
                self.device(name, (n, n), || {
                    let targets = idw::gpu::DeviceTargets::points(x, y);
                    Ok(index.interpolate::<f32>(&mut workspace, targets, &params)?)
                })?;
            }
        }
        let params = idw::Params::nearest(12);
        for side in self.sides(125, 10_000) {
            let cells = u64::from(side).pow(2);
            let cloud = Cloud::random(cells * 2 / 5, f64::from(side), 7);
            let there = cloud.upload(&self.gpu)?;
            let points = there.points()?;
            let grid = GridSpec::new(0.0, f64::from(side), 1.0, side, side)?;
            let mut workspace = Workspace::new(&self.gpu)?;
            let size = (cells, cloud.x.len() as u64);
            self.device("idw_12_nearest", size, || {
                let index = idw::gpu::Index::new(&mut workspace, &points, &params)?;
                Ok(index.interpolate::<f32>(&mut workspace, grid.into(), &params)?)
            })?;
            self.cpu("idw_12_nearest", size, || {
                let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
                let input = idw::Input::new(points, grid);
                Ok(idw::interpolate::<f32>(&Device::Cpu, input, &params)?)
            })?;
        }
        Ok(())
    }

    /// Threshold 20, codes of 32 bits.
    fn quadtree(&self) -> Result<()> {
        let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 1.0, max_y: 1.0 };
        let params = quadtree_sort::Params::new().bounds(bounds).max_level(16);
        for n in self.numbers(1 << 12, 1 << 27) {
            let (x, y): (Vec<f32>, Vec<f32>) =
                (random(n, 8, |x| x as f32), random(n, 9, |x| x as f32));
            let (dx, dy) = (self.gpu.upload(&x)?, self.gpu.upload(&y)?);
            let mut workspace = Workspace::new(&self.gpu)?;
            self.device("quadtree_build", (n, 0), || {
                Ok(quadtree_sort::gpu::build(&mut workspace, &dx, &dy, &params)?)
            })?;
            if n <= 1 << 25 {
                let index = quadtree_sort::gpu::index(&mut workspace, &dx, &dy, params.bounds)?;
                self.device("quadtree_8_nearest", (n, n), || {
                    Ok(quadtree_sort::gpu::nearest_of_own(&mut workspace, &index, 8)?)
                })?;
            }
            let [x, y] = [x, y].map(|column| column.iter().map(|&v| f64::from(v)).collect());
            let (x, y): (Vec<f64>, Vec<f64>) = (x, y);
            self.cpu("quadtree_build", (n, 0), || {
                let points = Points::new(&x, &y);
                Ok(quadtree_sort::build(&Device::Cpu, points, &params)?)
            })?;
        }
        Ok(())
    }

    /// Waves of i16 and eight bins.
    fn ccq(&self) -> Result<()> {
        for side in self.sides(256, 32768) {
            let (spec, cells) = (GridSpec::of_pixels(side, side), u64::from(side).pow(2));
            let value = |i: u64| {
                let (x, y) = ((i % u64::from(side)) as f64, (i / u64::from(side)) as f64);
                let waves = 900.0 * (x / 170.0).sin() + 700.0 * (y / 230.0).cos();
                (waves + 20.0 * unit(10, i)) as i16
            };
            let raster = Grid::new((0..cells).into_par_iter().map(value).collect(), spec)?;
            let bins = ccq_tree::quantile_boundaries(raster.view(), None, 8)?;
            let bins = bins.into_iter().map(f64::from).collect::<Vec<_>>();
            let params = ccq_tree::Params::new().bins(bins);
            let there = DeviceGrid::upload(&self.gpu, raster.view())?;
            let mut workspace = Workspace::new(&self.gpu)?;
            self.device("ccq_build", (cells, 0), || {
                Ok(ccq_tree::gpu::build(&mut workspace, &there, &params)?)
            })?;
            self.cpu("ccq_build", (cells, 0), || {
                Ok(ccq_tree::build(&Device::Cpu, raster.view(), &params)?)
            })?;
        }
        Ok(())
    }

    /// A site for every 42 cells.
    fn sphere(&self) -> Result<()> {
        for level in 4..=13 {
            let level = sphere_qtm::Level::new(level)?;
            let cells = level.cell_count();
            let count = (cells / 42).clamp(2, 4_000_000);
            if cells > self.most {
                break;
            }
            let x: Vec<f64> = random(count, 11, |x| 360.0 * x - 180.0);
            let y: Vec<f64> = random(count, 12, |x| (2.0 * x - 1.0).asin().to_degrees());
            let (dx, dy) = (self.gpu.upload(&x)?, self.gpu.upload(&y)?);
            let points = DevicePoints::new(&dx, &dy, [], Extent::of(&Points::new(&x, &y))?)?;
            let params = sphere_qtm::Params::new(level);
            self.device("sphere_voronoi", (cells, count), || {
                Ok(sphere_qtm::gpu::voronoi(&self.gpu, &points, &params)?)
            })?;
            self.cpu("sphere_voronoi", (cells, count), || {
                Ok(sphere_qtm::voronoi(&Device::Cpu, &Points::new(&x, &y), &params)?)
            })?;
        }
        Ok(())
    }
}

/// A column of numbers made of random ones below 1.
fn random<T: Send>(count: u64, column: u64, make: impl Fn(f64) -> T + Sync) -> Vec<T> {
    (0..count).into_par_iter().map(|i| make(unit(column, i))).collect()
}

/// Random points of a square, with values between 0 and 100.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Cloud {
    fn random(count: u64, side: f64, seed: u64) -> Self {
        let column = |axis, scale: f64| random(count, 100 * seed + axis, |x| x * scale);
        Self { x: column(0, side), y: column(1, side), z: column(2, 100.0) }
    }

    fn upload(&self, gpu: &Gpu) -> Result<Resident> {
        let extent = Extent::of(&Points { x: &self.x, y: &self.y, values: &[&self.z] })?;
        let columns = [gpu.upload(&self.x)?, gpu.upload(&self.y)?, gpu.upload(&self.z)?];
        Ok(Resident { columns, extent })
    }
}

/// Points on the device.
struct Resident {
    columns: [Column<f64>; 3],
    extent: Extent,
}

impl Resident {
    fn points(&self) -> Result<DevicePoints<'_>> {
        let [x, y, z] = &self.columns;
        Ok(DevicePoints::new(x, y, [z.into()], self.extent.clone())?)
    }
}
