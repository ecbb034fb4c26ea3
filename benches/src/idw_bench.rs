//! Times crate idw, one tab-separated row each: library, name, points, targets, and the median, least and greatest time
//! in ms. `peers/idw_tiled.cu` prints the same rows for the paper's kernels in CUDA C++.
//!
//! `idw_bench [FILTER]`; the device is `TESSERA_DEVICE`, else `cuda`. Points and targets are resident, uniform and
//! random from a fixed seed. A row's name says where that is not so: heaps, clustered, beside, spikes or a cloud of
//! `testing::clouds` (`idw_bench cloud` prints the rows of the clouds). A row has one run to warm up, then 5 (long) or
//! 20 (short), each between events of its own. Before the bench prints a row, it compares the result with f64 sums over
//! all points at a sample of the targets. Rows with `direct` in their name sum every pair. The others are the library's
//! own choice, which for many pairs expands far points in nodes.

use anyhow::{Result, ensure};
use benches::Times;
use std::cell::{LazyCell, RefCell};
use std::time::Duration;

use gpu_core::{Column, Device, DeviceChoice, DevicePoints, Extent, Gpu, GridSpec, Points};
use idw::gpu::{DeviceTargets, DeviceTotal, Index, Workspace};
use idw::{Adaptive, Baseline, Method, Number, Params, Targets, cross_validate};
use rayon::prelude::*;
use testing::clouds;

/// Targets of the sample.
const SAMPLE: usize = 64;

/// Targets of the sample of a search for neighbours.
const NEAR_SAMPLE: usize = 20_000;

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let bench = Bench { gpu: Gpu::open(choice)?, filter };
    let million = Cloud::random(1 << 20, 1.0, 1);
    let clustered = Cloud::clustered(1 << 20, 6);
    let targets = Cloud::random(1 << 20, 1.0, 2);
    let grid = Targets::Grid(GridSpec::new(0.0, 1.0, 1.0 / 1024.0, 1024, 1024)?);
    let powers = [("p1", 1.0), ("p2", 2.0), ("p3", 3.0), ("p4", 4.0), ("p2.5", 2.5)];
    for (how, method) in [("", Method::Auto), ("direct_", Method::Direct)] {
        for (name, power) in powers {
            let params = Params::default().power(power).method(method);
            bench.pairs(&format!("{how}scattered_{name}"), &million, targets.targets(), &params)?;
            bench.pairs(&format!("{how}grid_{name}"), &million, grid, &params)?;
            let beside = clustered.moved(1e-6);
            let rows = [("clustered", targets.targets()), ("beside", beside.targets())];
            for (which, targets) in rows {
                bench.pairs(&format!("{how}{which}_{name}"), &clustered, targets, &params)?;
            }
        }
    }
    let (heaps, spiked) = (Cloud::heaps(1 << 20, 9), Cloud::spiked(1 << 20, 10));
    let among = heaps.moved(0.3);
    for (name, power) in powers {
        for (how, method) in [("", Method::Auto), ("direct_", Method::Direct)] {
            let params = Params::default().power(power).method(method);
            bench.pairs(&format!("{how}heaps_{name}"), &heaps, among.targets(), &params)?;
            bench.pairs(&format!("{how}spikes_{name}"), &spiked, targets.targets(), &params)?;
        }
    }
    for (name, method) in
        [("naive", Method::Baseline(Baseline::Naive)), ("tiled", Method::Baseline(Baseline::Tiled))]
    {
        for (power, law) in [(2.0, "p2"), (3.0, "p3")] {
            let params = Params::default().power(power).method(method);
            bench.pairs(&format!("{name}_{law}"), &million, targets.targets(), &params)?;
        }
    }
    let (points, few) = (Cloud::random(10_240, 1.0, 3), Cloud::random(10_240, 1.0, 4));
    bench.pairs("scattered_p2_10K", &points, few.targets(), &Params::default())?;
    let params = Params::default().power(3.0);
    bench.pairs("scattered_p3_10K", &points, few.targets(), &params)?;
    for parts in [1, 4, 16] {
        bench.parts(parts, &million, targets.targets())?;
    }
    bench.crossover()?;
    bench.others(&million, targets.targets())?;
    bench.nearest()?;
    bench.many_and_globe()?;
    bench.clouds()
}

struct Bench {
    gpu: Gpu,
    filter: String,
}

impl Bench {
    fn pairs(&self, name: &str, points: &Cloud, targets: Targets, params: &Params) -> Result<()> {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        let resident = points.upload(&self.gpu)?;
        let places = Places::upload(&self.gpu, targets)?;
        let workspace = RefCell::new(Workspace::new(&self.gpu)?);
        let index = Index::new(&mut workspace.borrow_mut(), &resident.points()?, params)?;
        let run = || {
            let mut workspace = workspace.borrow_mut();
            Ok(index.interpolate::<f32>(&mut workspace, places.targets(), params)?)
        };
        let values = run()?.values.to_host()?;
        let worst = points.worst_error(targets, params.power, &values);
        let most = if !matches!(params.method, Method::Baseline(_)) { 1e-5 } else { 1e-2 };
        tell(name, worst, most);
        let runs = if points.x.len() > 100_000 { 5 } else { 20 };
        self.row(name, points.x.len(), targets.len(), runs, run)
    }

    /// Sums over points in parts: it makes each part's index and adds up the sums. The parts are in the order of the
    /// points, which are scattered.
    fn parts(&self, parts: usize, points: &Cloud, targets: Targets) -> Result<()> {
        let (name, params) = (format!("parts_{parts}_p2"), Params::default());
        if !name.contains(&self.filter) {
            return Ok(());
        }
        let of_part = points.x.len().div_ceil(parts);
        let columns = [&points.x, &points.y, &points.z].map(|column| column.chunks(of_part));
        let [x, y, z] = columns;
        let residents = x.zip(y).zip(z).map(|((x, y), z)| {
            Cloud { x: x.to_vec(), y: y.to_vec(), z: z.to_vec() }.upload(&self.gpu)
        });
        let residents = residents.collect::<Result<Vec<_>>>()?;
        let places = Places::upload(&self.gpu, targets)?;
        let workspace = RefCell::new(Workspace::new(&self.gpu)?);
        let run = || {
            let (workspace, mut total) = (&mut *workspace.borrow_mut(), DeviceTotal::new());
            for resident in &residents {
                let index = Index::new(workspace, &resident.points()?, &params)?;
                let part = index.part::<f32>(workspace, places.targets(), &params)?;
                total.add(workspace, &part)?;
            }
            Ok(total.surface::<f32>(workspace, &params)?)
        };
        let worst = points.worst_error(targets, params.power, &run()?.values.to_host()?);
        tell(&name, worst, 1e-5);
        self.row(&name, points.x.len(), targets.len(), 5, run)
    }

    /// Variants of the sum with one power in f32 in the plane: a power for each target, each point left out, f64, the
    /// sphere.
    fn others(&self, million: &Cloud, targets: Targets) -> Result<()> {
        let globe = LazyCell::new(|| Cloud::globe(1 << 20, 12));
        let around = LazyCell::new(|| Cloud::globe(1 << 20, 13));
        for (how, method) in [("", Method::Auto), ("direct_", Method::Direct)] {
            let params = Params::default().method(method);
            let adaptive = params.adaptive(Adaptive::default());
            self.checked_by_cpu::<f32>(&format!("{how}adaptive"), million, targets, &adaptive)?;
            for (law, power) in [("p1", 1.0), ("p2", 2.0), ("p2.5", 2.5)] {
                let (name, params) = (format!("{how}f64_{law}"), params.power(power));
                self.checked_by_cpu::<f64>(&name, million, targets, &params)?;
            }
            for (law, power) in [("p2", 2.0), ("p2.5", 2.5)] {
                let params = params.power(power);
                self.left_out(&format!("{how}left_out_{law}"), million, &params)?;
                let name = format!("{how}sphere_{law}");
                if name.contains(&self.filter) {
                    let params = params.geographic(true);
                    self.checked_by_cpu::<f32>(&name, &globe, around.targets(), &params)?;
                }
            }
        }
        for count in [8_192, 16_384, 32_768, 131_072] {
            let (points, even) = (Cloud::random(count, 1.0, 14), Cloud::random(count, 1.0, 17));
            let (globe, around) = (Cloud::globe(count, 15), Cloud::globe(count, 16));
            for (how, method) in [("direct", Method::Direct), ("expansion", Method::Expansion)] {
                let params = Params::default().method(method);
                self.left_out(&format!("crossover_left_out_{how}_{count}"), &points, &params)?;
                let name = format!("crossover_f64_{how}_{count}");
                self.checked_by_cpu::<f64>(&name, &points, even.targets(), &params)?;
                let (name, params) =
                    (format!("crossover_sphere_{how}_{count}"), params.geographic(true));
                self.checked_by_cpu::<f32>(&name, &globe, around.targets(), &params)?;
            }
        }
        Ok(())
    }

    /// As [`Self::pairs`], but a sample of the values is compared with the CPU's direct sums in f64.
    fn checked_by_cpu<T: Number>(
        &self,
        name: &str,
        points: &Cloud,
        targets: Targets,
        params: &Params,
    ) -> Result<()> {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        let resident = points.upload(&self.gpu)?;
        let places = Places::upload(&self.gpu, targets)?;
        let workspace = RefCell::new(Workspace::new(&self.gpu)?);
        let index = Index::new(&mut workspace.borrow_mut(), &resident.points()?, params)?;
        let run = || {
            let mut workspace = workspace.borrow_mut();
            Ok(index.interpolate::<T>(&mut workspace, places.targets(), params)?)
        };
        let values = run()?.values.to_host()?;
        let (sample, x, y) = sample_of(targets, SAMPLE);
        let columns = Points { x: &points.x, y: &points.y, values: &[&points.z] };
        let input = idw::Input::new(columns, Targets::Points { x: &x, y: &y });
        let wanted = idw::interpolate::<f64>(&Device::Cpu, input, &params.method(Method::Direct))?;
        let off = |(&i, w): (&usize, &f64)| (values[i].to_f64() / w - 1.0).abs();
        let worst = sample.iter().zip(&wanted.values[0]).map(off).fold(0.0, f64::max);
        tell(name, worst, if size_of::<T>() == 4 { 1e-5 } else { 1e-12 });
        let runs = if points.x.len() > 100_000 { 5 } else { 20 };
        self.row(name, points.x.len(), targets.len(), runs, run)
    }

    /// Predicts each point from all others, from host to host, with the index. There is no other call.
    fn left_out(&self, name: &str, points: &Cloud, params: &Params) -> Result<()> {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        let device = Device::Gpu(self.gpu.clone());
        let columns = Points { x: &points.x, y: &points.y, values: &[&points.z] };
        let run = || Ok(cross_validate(&device, columns, params)?);
        let errors = run()?.errors;
        let (sample, ..) = sample_of(points.targets(), SAMPLE);
        let error = |&i: &usize| {
            let wanted = points.sum((points.x[i], points.y[i]), params.power, Some(i));
            ((errors[i] + points.z[i]) / wanted - 1.0).abs()
        };
        tell(name, sample.par_iter().map(error).reduce(|| 0.0, f64::max), 1e-5);
        let runs = if points.x.len() > 100_000 { 3 } else { 20 };
        self.row(name, points.x.len(), points.x.len() as u64, runs, run)
    }

    /// Where the expansion begins to pay.
    fn crossover(&self) -> Result<()> {
        for (points, targets) in [
            (8_192, 8_192),
            (8_192, 131_072),
            (8_192, 1 << 20),
            (32_768, 32_768),
            (32_768, 262_144),
            (131_072, 8_192),
            (131_072, 131_072),
            (1 << 20, 1_024),
            (1 << 20, 8_192),
        ] {
            let (from, to) = (Cloud::random(points, 1.0, 7), Cloud::random(targets, 1.0, 8));
            for (how, method) in [("direct", Method::Direct), ("expansion", Method::Expansion)] {
                let params = Params::default().method(method);
                let name = format!("crossover_{how}_{points}_{targets}");
                self.pairs(&name, &from, to.targets(), &params)?;
            }
        }
        Ok(())
    }

    /// Neighbours of 10 million points for the 25 million cells of a grid, or as many scattered targets, with
    /// the index.
    fn nearest(&self) -> Result<()> {
        const N: usize = 10_000_000;
        const SIDE: f64 = 5000.0;
        let grid = GridSpec::new(0.0, SIDE, 1.0, 5000, 5000)?;
        let uniform: LazyCell<Cloud> = LazyCell::new(|| Cloud::random(N, SIDE, 5));
        let clustered: LazyCell<Cloud> = LazyCell::new(|| Cloud::clustered(N, 6).scaled(SIDE));
        let scattered: LazyCell<Cloud> = LazyCell::new(|| Cloud::random(25_000_000, SIDE, 11));
        let nearest = Params::nearest;
        let quadrants = Params::default().max_points_per_quadrant(3);
        let ellipse = nearest(12).radius1(6.0).radius2(3.0).angle(30.0);
        for (name, points, is_grid, params) in [
            ("nearest_k8", &uniform, true, nearest(8)),
            ("nearest_k12", &uniform, true, nearest(12)),
            ("nearest_k24", &uniform, true, nearest(24)),
            ("nearest_k32", &uniform, true, nearest(32)),
            ("nearest_k64", &uniform, true, nearest(64)),
            ("nearest_quadrants_3", &uniform, true, quadrants),
            ("nearest_ellipse_k12", &uniform, true, ellipse),
            ("nearest_clustered_k12", &clustered, true, nearest(12)),
            ("nearest_scattered_k12", &uniform, false, nearest(12)),
            ("nearest_clustered_scattered_k12", &clustered, false, nearest(12)),
        ] {
            if name.contains(&self.filter) {
                let targets = if is_grid { Targets::Grid(grid) } else { scattered.targets() };
                self.nearest_row(name, points, targets, &params)?;
            }
        }
        Ok(())
    }

    /// More neighbours than a list holds, and neighbours on the globe: 10 million points of an eighth of it, 25 million
    /// cells.
    fn many_and_globe(&self) -> Result<()> {
        const N: usize = 10_000_000;
        let plane: LazyCell<Cloud> = LazyCell::new(|| Cloud::random(N, 5000.0, 5));
        let clustered: LazyCell<Cloud> = LazyCell::new(|| Cloud::clustered(N, 6).scaled(5000.0));
        let octant: LazyCell<Cloud> = LazyCell::new(|| Cloud::random(N, 80.0, 5));
        let nearest = Params::nearest;
        let globe = |count| nearest(count).geographic(true);
        let on_globe = Params::default().geographic(true);
        for (name, points, side, params) in [
            ("many_k100", &plane, 5000.0, nearest(100)),
            ("many_clustered_k100", &clustered, 5000.0, nearest(100)),
            ("many_radius_9", &plane, 5000.0, Params::default().radius(9.0)),
            ("globe_k8", &octant, 80.0, globe(8)),
            ("globe_k12", &octant, 80.0, globe(12)),
            ("globe_k32", &octant, 80.0, globe(32)),
            ("globe_k64", &octant, 80.0, globe(64)),
            ("globe_k100", &octant, 80.0, globe(100)),
            ("globe_quadrants_3", &octant, 80.0, on_globe.max_points_per_quadrant(3)),
        ] {
            if name.contains(&self.filter) {
                let grid = GridSpec::new(0.0, side, side / 5000.0, 5000, 5000)?;
                self.nearest_row(name, points, Targets::Grid(grid), &params)?;
            }
        }
        Ok(())
    }

    /// Times the 12 nearest of 10 million points for 25 million cells, on every cloud of the list. Only a filter that
    /// begins with `cloud` asks for these rows; it may be several, with commas.
    fn clouds(&self) -> Result<()> {
        if !self.filter.starts_with("cloud") {
            return Ok(());
        }
        let grid = GridSpec::new(0.0, clouds::SIDE, clouds::SIDE / 5000.0, 5000, 5000)?;
        for generator in clouds::GENERATORS {
            let name = format!("cloud_{}_k12", generator(1, 12).name.replace(' ', "_"));
            if self.filter.split(',').any(|filter| name.contains(filter)) {
                let cloud = generator(10_000_000, 12);
                let points = Cloud { x: cloud.x, y: cloud.y, z: cloud.z };
                self.nearest_row(&name, &points, Targets::Grid(grid), &Params::nearest(12))?;
            }
        }
        Ok(())
    }

    fn nearest_row(
        &self,
        name: &str,
        points: &Cloud,
        targets: Targets,
        params: &Params,
    ) -> Result<()> {
        let resident = points.upload(&self.gpu)?;
        let resident = resident.points()?;
        let places = Places::upload(&self.gpu, targets)?;
        let mut workspace = Workspace::new(&self.gpu)?;
        let (mut indices, mut searches, mut all) = (Vec::new(), Vec::new(), Vec::new());
        // The first round does not count: in it the driver compiles kernels. If a round takes long, one more is enough.
        let (mut is_checked, mut rounds) = (false, 5);
        while all.len() < rounds {
            let (index, built) = self
                .gpu
                .time::<_, anyhow::Error>(|| Ok(Index::new(&mut workspace, &resident, params)?))?;
            let (surface, searched) = self.gpu.time::<_, anyhow::Error>(|| {
                Ok(index.interpolate::<f32>(&mut workspace, places.targets(), params)?)
            })?;
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            if !is_checked {
                points.check_neighbours(name, targets, params, &surface.values.to_host()?)?;
                (is_checked, rounds) = (true, if searched.as_secs() > 1 { 1 } else { 5 });
                continue;
            }
            indices.push(milliseconds(built));
            searches.push(milliseconds(searched));
            all.push(milliseconds(built + searched));
        }
        let size = (points.x.len() as u64, targets.len());
        Times::new(indices).print("tessera", format!("{name}_index"), size.0, size.1);
        Times::new(searches).print("tessera", format!("{name}_search"), size.0, size.1);
        Times::new(all).print("tessera", name, size.0, size.1);
        Ok(())
    }

    /// Times `work` and prints a row.
    fn row<R>(
        &self,
        name: &str,
        points: usize,
        targets: u64,
        runs: usize,
        work: impl Fn() -> Result<R>,
    ) -> Result<()> {
        work()?;
        self.gpu.synchronize()?;
        let run = |_| self.gpu.time::<_, anyhow::Error>(&work).map(|(_, time)| time);
        let mut times = (0..runs).map(run).collect::<Result<Vec<_>>>()?;
        times.sort();
        let ms = |i: usize| times[i].as_secs_f64() * 1e3;
        let (median, least, most) = (ms(runs / 2), ms(0), ms(runs - 1));
        println!("tessera\t{name}\t{points}\t{targets}\t{median:.4}\t{least:.4}\t{most:.4}");
        Ok(())
    }
}

/// Tells how accurate values are.
fn tell(name: &str, worst: f64, most: f64) {
    eprintln!("{name}: relative error at most {worst:.1e}");
    if worst > most {
        eprintln!("{name}: TOO INACCURATE");
    }
}

/// Some targets: which, and x and y of each.
fn sample_of(targets: Targets, len: usize) -> (Vec<usize>, Vec<f64>, Vec<f64>) {
    let count = targets.len();
    let sample: Vec<usize> = (0..len).map(|k| (mix(k as u64) % count) as usize).collect();
    let place = |&i: &usize| match targets {
        Targets::Points { x, y } => (x[i], y[i]),
        Targets::Grid(grid) => {
            let width = grid.width as usize;
            grid.cell_centre((i % width) as u32, (i / width) as u32)
        }
    };
    let (x, y) = sample.iter().map(place).unzip();
    (sample, x, y)
}

/// Points of a square, with values between 10 and 110.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Cloud {
    fn random(n: usize, side: f64, seed: u64) -> Self {
        let column = |axis: u64, scale: f64, offset: f64| {
            let unit =
                |i: u64| (mix(i * 3 + axis + (seed << 40)) >> 11) as f64 / (1u64 << 53) as f64;
            (0..n as u64).into_par_iter().map(|i| offset + unit(i) * scale).collect()
        };
        Self { x: column(0, side, 0.0), y: column(1, side, 0.0), z: column(2, 100.0, 10.0) }
    }

    /// Points in 64 heaps of very different widths, in the unit square.
    fn clustered(n: usize, seed: u64) -> Self {
        let even = Self::random(n, 1.0, seed);
        let heaps = Self::random(64, 1.0, seed + 1);
        let place = |centres: &[f64], offsets: &[f64], i: usize| {
            let heap = i % 64;
            // Most of a heap lies near its middle.
            let offset = 2.0 * offsets[i] - 1.0;
            let width = 0.1 * heaps.z[heap] / 110.0;
            (centres[heap] + width * offset * offset * offset).clamp(0.0, 1.0)
        };
        let along =
            |centres: &[f64], offsets: &[f64]| (0..n).map(|i| place(centres, offsets, i)).collect();
        Self { x: along(&heaps.x, &even.x), y: along(&heaps.y, &even.y), z: even.z }
    }

    /// Points spread evenly over the globe, in degrees.
    fn globe(n: usize, seed: u64) -> Self {
        let even = Self::random(n, 1.0, seed);
        let x = even.x.iter().map(|x| 360.0 * x - 180.0).collect();
        let y = even.y.iter().map(|y| (2.0 * y - 1.0).asin().to_degrees()).collect();
        Self { x, y, z: even.z }
    }

    /// Points in heaps of 3 m over 1000 km, 64 in each.
    fn heaps(n: usize, seed: u64) -> Self {
        let (even, heaps) = (Self::random(n, 3.0, seed), Self::random(n / 64, 1e6, seed + 1));
        let along = |middles: &[f64], offsets: &[f64]| {
            offsets
                .iter()
                .enumerate()
                .map(|(i, offset)| middles[i % middles.len()] + offset)
                .collect()
        };
        Self { x: along(&heaps.x, &even.x), y: along(&heaps.y, &even.y), z: even.z }
    }

    /// Points of the unit square with values near 100, but every thousandth 1e6.
    fn spiked(n: usize, seed: u64) -> Self {
        let even = Self::random(n, 1.0, seed);
        let value = |(i, z): (usize, &f64)| if i % 1000 == 7 { 1e6 } else { 99.0 + z / 50.0 };
        Self { z: even.z.iter().enumerate().map(value).collect(), ..even }
    }

    /// Places so far beside the points, along both axes.
    fn moved(&self, by: f64) -> Self {
        let moved = |column: &[f64]| column.iter().map(|x| x + by).collect();
        Self { x: moved(&self.x), y: moved(&self.y), z: self.z.clone() }
    }

    /// The same, larger.
    fn scaled(mut self, by: f64) -> Self {
        self.x.iter_mut().chain(&mut self.y).for_each(|along| *along *= by);
        self
    }

    /// Compares the bits of a sample of values from neighbours with the CPU's, and prints a checksum of all values.
    fn check_neighbours(
        &self,
        name: &str,
        targets: Targets,
        params: &Params,
        values: &[f32],
    ) -> Result<()> {
        let (sample, x, y) = sample_of(targets, NEAR_SAMPLE);
        let points = Points { x: &self.x, y: &self.y, values: &[&self.z] };
        let input = idw::Input::new(points, Targets::Points { x: &x, y: &y });
        let wanted = idw::interpolate::<f32>(&Device::Cpu, input, params)?;
        // Without lists, sums have another order than on the CPU; on the globe arcs round.
        let has_list = !params.geographic && params.radius1 == 0.0 && params.max_points <= 64;
        let slack = if has_list { 0.0 } else { 1e-5 };
        for (&i, &wanted) in sample.iter().zip(&wanted.values[0]) {
            let both_missing = wanted.is_nan() && values[i].is_nan();
            ensure!(
                both_missing || (wanted - values[i]).abs() <= slack * wanted.abs(),
                "{name}: target {i} has {}, not {wanted}",
                values[i]
            );
        }
        let sum = values
            .par_iter()
            .enumerate()
            .map(|(i, v)| mix((i as u64) << 32 | u64::from(v.to_bits())));
        let sum = sum.reduce(|| 0, u64::wrapping_add);
        eprintln!("{name}: {NEAR_SAMPLE} agree with the CPU, to {slack}; all have {sum:016x}");
        Ok(())
    }

    fn targets(&self) -> Targets<'_> {
        Targets::Points { x: &self.x, y: &self.y }
    }

    fn upload(&self, gpu: &Gpu) -> Result<Resident> {
        let extent = Extent::of(&Points { x: &self.x, y: &self.y, values: &[&self.z] })?;
        let columns = [gpu.upload(&self.x)?, gpu.upload(&self.y)?, gpu.upload(&self.z)?];
        Ok(Resident { columns, extent })
    }

    /// The greatest relative error of a sample of values.
    fn worst_error(&self, targets: Targets, power: f64, values: &[f32]) -> f64 {
        let (sample, x, y) = sample_of(targets, SAMPLE);
        let error = |k: usize| {
            let wanted = self.sum((x[k], y[k]), power, None);
            (f64::from(values[sample[k]]) / wanted - 1.0).abs()
        };
        (0..SAMPLE).into_par_iter().map(error).reduce(|| 0.0, f64::max)
    }

    /// The value at a place from all points but one, in f64.
    fn sum(&self, (x, y): (f64, f64), power: f64, left_out: Option<usize>) -> f64 {
        let (mut weights, mut sum) = (0.0, 0.0);
        for j in (0..self.x.len()).filter(|&j| Some(j) != left_out) {
            let squared = (self.x[j] - x).powi(2) + (self.y[j] - y).powi(2);
            let weight = if power == 2.0 { 1.0 / squared } else { squared.powf(-power / 2.0) };
            weights += weight;
            sum += weight * self.z[j];
        }
        sum / weights
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

/// Targets on the device.
enum Places {
    Grid(GridSpec),
    Columns(Column<f64>, Column<f64>),
}

impl Places {
    fn upload(gpu: &Gpu, targets: Targets) -> Result<Self> {
        Ok(match targets {
            Targets::Points { x, y } => Self::Columns(gpu.upload(x)?, gpu.upload(y)?),
            Targets::Grid(grid) => Self::Grid(grid),
        })
    }

    fn targets(&self) -> DeviceTargets<'_> {
        match self {
            Self::Grid(grid) => (*grid).into(),
            Self::Columns(x, y) => DeviceTargets::points(x, y),
        }
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014, DOI 10.1145/2660193.2660195).
fn mix(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
