//! Times pba-voronoi, nni-grid, terrain-grid and the copies of gpu-core: device events around the enqueued work, data
//! resident, after warm-up. The time of one such call on the CPU is a row beside it, and the results of both are
//! compared bit for bit.
//!
//! `gpu_bench [FILTER [MASK]]`; MASK is a raster (.npy, .npz, .png, .tif) whose distances to the pixels
//! that are zero are timed too. The device is `TESSERA_DEVICE`, else `cuda`.
//!
//! FILTER is one of
//!
//! - `voronoi`, and `geodesic`: the globe in pixels of half a minute;
//! - `nni`, and `paper`: the first row of `nni` alone;
//! - `host` (from host memory to host memory) and `copies` (between host and device);
//! - `exact`, and `clouds`: the exact method on uneven points;
//! - `terrain`.

use std::f64::consts::TAU;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use benches::{Times, clocked};
use gpu_core::{
    Device, DeviceChoice, DeviceGrid, Extent, Gpu, GridSlice, GridSpec, GridView, Points, Silent,
    UploadedPoints,
};
use gpu_scan::gpu::Workspace;
use nni_grid::{Params, Weights};
use pba_voronoi::gpu::DeviceGlobe;
use pba_voronoi::{Baseline, Globe, Input, Method, Params as VoronoiParams, Sites};
use terrain_grid::{ContourParams, Light, Product, ProductParams, SlopeUnit};

const RUNS: usize = 10;

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let gpu = Gpu::open(choice)?;
    if "voronoi".contains(&filter) {
        for side in [4096, 5000, 16384] {
            for density in [0.0001, 0.01, 0.25] {
                voronoi(&gpu, side, density)?;
            }
        }
    }
    if "geodesic".contains(&filter) {
        geodesic(&gpu, 43_200, 21_600)?;
    }
    if let Some(path) = std::env::args().nth(2) {
        distances_to_zeros(&gpu, Path::new(&path))?;
    }
    if "nni".contains(&filter) || ["paper", "host"].contains(&filter.as_str()) {
        let cloud = Cloud::random(7_000_000, 5000, 0.0);
        if filter != "host" {
            nni(&gpu, &cloud, grid(5000)?, "pixels", Params::on_pixels())?;
        }
        if filter != "paper" {
            nni_end_to_end(&gpu, &cloud, 5000)?;
        }
        if "nni".contains(&filter) {
            nni_values(&gpu, &cloud)?;
            nni_options(&gpu, &cloud)?;
        }
    }
    if "copies".contains(&filter) {
        for mebibytes in [4, 8, 32, 128, 1024] {
            copies(&gpu, mebibytes << 20)?;
        }
    }
    if "exact".contains(&filter) {
        nni_exact(&gpu, 5000)?;
    }
    if "clouds".contains(&filter) {
        nni_clouds(&gpu)?;
    }
    if "terrain".contains(&filter) {
        terrain(&gpu, 5000)?;
    }
    Ok(())
}

/// The exact method by each kind of weights, and within other radii.
fn nni_exact(gpu: &Gpu, side: u32) -> Result<()> {
    let cloud = Cloud::random(7_000_000, side, 0.0);
    let (exact, grid) = (Params::new(), grid(side)?);
    for (what, params) in [
        ("exact_sibson", exact),
        ("exact_laplace", exact.weights(Weights::Laplace)),
        ("exact_c1", exact.weights(Weights::SibsonC1)),
        ("exact_no_site_radius", exact.max_distance(f64::INFINITY)),
    ] {
        nni(gpu, &cloud, grid, what, params)?;
    }
    let void = Cloud::random(7_000_000, side, 500.0);
    nni(gpu, &void, grid, "exact_void", exact)?;
    let wide = exact.max_distance(400.0);
    nni(gpu, &void, grid, "exact_void_site_radius_400", wide)?;
    // The outermost centres lie a twentieth of a cell outside of all points, beside the long straight edges of their
    // hull.
    let inward = |v: &f64| 0.55 + v * (f64::from(side) - 1.1) / f64::from(side);
    let [x, y] = [&cloud.x, &cloud.y].map(|column| column.iter().map(inward).collect());
    let edge = Cloud { x, y, z: cloud.z.clone() };
    nni(gpu, &edge, grid, "exact_straight_edge", exact)
}

/// The exact method on uneven clouds of 7,000,000 points, to 5000 x 5000 cells.
fn nni_clouds(gpu: &Gpu) -> Result<()> {
    let grid = GridSpec::new(0.0, 1000.0, 0.2, 5000, 5000)?;
    let params = Params::new().max_distance(f64::INFINITY);
    let uneven =
        ["lattice", "rounded lattice", "heaps", "nested heaps", "tracks", "scanner ground"];
    let rounded = testing::clouds::rounded_lattice(7_000_000, 1);
    let clouds = testing::clouds::all(7_000_000, 1).chain([rounded]);
    for testing::Cloud { name, x, y, z } in clouds.filter(|cloud| uneven.contains(&cloud.name)) {
        let what = format!("exact_cloud_{}", name.replace(' ', "_"));
        nni(gpu, &Cloud { x, y, z }, grid, &what, params)?;
    }
    Ok(())
}

/// Other radii, finer rasters, a void, other weights.
fn nni_options(gpu: &Gpu, cloud: &Cloud) -> Result<()> {
    let (paper, far) = (Params::on_pixels(), f64::INFINITY);
    let unlimited = paper.query_radius(far).region_of_influence(far);
    let (million, void) =
        (Cloud::random(1_000_000, 2000, 0.0), Cloud::random(7_000_000, 5000, 500.0));
    nni(gpu, &million, grid(2000)?, "pixels_million", paper)?;
    let grid = grid(5000)?;
    nni(gpu, cloud, grid, "pixels_supersample_2", paper.supersample(2))?;
    nni(gpu, cloud, grid, "pixels_supersample_4", paper.supersample(4))?;
    nni(gpu, cloud, grid, "pixels_no_radii", unlimited)?;
    nni(gpu, &void, grid, "pixels_void", paper)?;
    nni(gpu, &void, grid, "pixels_void_no_radii", unlimited)?;
    nni(gpu, cloud, grid, "pixels_laplace", unlimited.weights(Weights::Laplace))?;
    nni(gpu, cloud, grid, "pixels_c1", unlimited.weights(Weights::SibsonC1))?;
    for region in [10.0, 100.0] {
        let what = format!("pixels_void_no_query_radius_site_radius_{region}");
        nni(gpu, &void, grid, &what, unlimited.region_of_influence(region))?;
    }
    Ok(())
}

/// One, two and four values a point, each as alone.
fn nni_values(gpu: &Gpu, cloud: &Cloud) -> Result<()> {
    let (grid, far) = (grid(5000)?, f64::INFINITY);
    let other: Vec<f64> = cloud.x.iter().zip(&cloud.y).map(|(x, y)| (x * y).sin()).collect();
    let columns: [&[f64]; 4] = [&cloud.z, &other, &cloud.x, &cloud.y];
    let paper = Params::on_pixels();
    let unlimited = paper.query_radius(far).region_of_influence(far);
    let finer = paper.supersample(2);
    let laplace = unlimited.weights(Weights::Laplace);
    for (what, params) in [
        ("pixels", paper),
        ("pixels_supersample_2", finer),
        ("pixels_no_radii", unlimited),
        ("pixels_laplace", laplace),
    ] {
        let mut workspace = Workspace::new(gpu)?;
        let resident = |columns: &[&[f64]]| {
            Resident::new(gpu, Points { x: &cloud.x, y: &cloud.y, values: columns })
        };
        let mut alone = Vec::new();
        for column in &columns {
            let there = resident(std::slice::from_ref(column))?;
            let dem = nni_grid::gpu::interpolate(&mut workspace, &there.input(grid)?, &params)?;
            alone.extend(dem.to_host()?.values);
        }
        for values in [1, 2, 4] {
            let there = resident(&columns[..values])?;
            let input = there.input(grid)?;
            let mut all = || Ok(nni_grid::gpu::interpolate(&mut workspace, &input, &params)?);
            let times = Times::on_device(gpu, RUNS, &mut all)?;
            for (value, (found, alone)) in all()?.to_host()?.values.iter().zip(&alone).enumerate() {
                let mut pairs = found.values().iter().zip(alone.values());
                ensure!(pairs.all(same), "value {value} of {values} differs");
            }
            let name = format!("nni_{what}_values_{values}");
            times.print("tessera", name, cloud.x.len() as u64, grid.cells());
        }
    }
    Ok(())
}

/// Slope, hillshade and contour lines of hills.
fn terrain(gpu: &Gpu, side: u32) -> Result<()> {
    let grid = grid(side)?;
    let height = |cell: u64| {
        let (x, y) = ((cell % u64::from(side)) as f64, (cell / u64::from(side)) as f64);
        (40.0 * (x / 300.0).sin() + 25.0 * (y / 170.0).cos()) as f32
    };
    let dem: Vec<f32> = (0..grid.cells()).map(height).collect();
    let dem = GridView::new(&dem, grid)?;
    let resident = DeviceGrid::upload(gpu, dem)?;
    let mut workspace = Workspace::new(gpu)?;
    let slope = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
    let light = ProductParams::new(Product::Hillshade(Light::new()));
    let mut slopes = || Ok(terrain_grid::gpu::product(gpu, &resident, &slope)?);
    let times = Times::on_device(gpu, RUNS, &mut slopes)?;
    let (on_cpu, cpu_time) = clocked(|| Ok(terrain_grid::product(&Device::Cpu, dem, &slope)?))?;
    let on_gpu = slopes()?.to_host()?;
    ensure!(on_gpu.values().iter().zip(on_cpu.values()).all(same), "slopes differ");
    print_both("slope", grid.cells(), 0, &times, cpu_time);
    let mut shades = || Ok(terrain_grid::gpu::product(gpu, &resident, &light)?);
    let times = Times::on_device(gpu, RUNS, &mut shades)?;
    let (on_cpu, cpu_time) = clocked(|| Ok(terrain_grid::product(&Device::Cpu, dem, &light)?))?;
    let on_gpu = shades()?.to_host()?;
    ensure!(on_gpu.values().iter().zip(on_cpu.values()).all(same), "hillshades differ");
    print_both("hillshade", grid.cells(), 0, &times, cpu_time);
    let levels = ContourParams::every(1.0);
    let mut lines = Vec::new();
    let times = Times::on_host(RUNS, || {
        lines = terrain_grid::gpu::contours(&mut workspace, &resident, &levels)?;
        Ok(())
    })?;
    let (on_cpu, cpu_time) = clocked(|| Ok(terrain_grid::contours(&Device::Cpu, dem, &levels)?))?;
    ensure!(lines == on_cpu, "contour lines differ");
    let points: usize = lines.iter().map(|line| line.points.len()).sum();
    print_both("contours_to_host", grid.cells(), points as u64, &times, cpu_time);
    Ok(())
}

/// Whether two values have the same bits, but for NaN's.
fn same((a, b): (&f32, &f32)) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn voronoi(gpu: &Gpu, side: u32, density: f64) -> Result<()> {
    let mut random = Random(42);
    let pixels = side as usize * side as usize;
    let sites: Vec<u8> = (0..pixels).map(|_| u8::from(random.unit() < density)).collect();
    let mask = DeviceGrid::from_column(gpu.upload(&sites)?, GridSpec::of_pixels(side, side))?;
    let grid = *mask.grid();
    let count = sites.iter().map(|&site| u64::from(site)).sum();
    let name = |what: &str| format!("voronoi_{side}_{}%_{what}", density * 100.0);
    let run = |params: &VoronoiParams| {
        let input = GridSlice::from(&mask).into();
        Ok(pba_voronoi::gpu::transform(gpu, &input, params)?)
    };
    let indices = VoronoiParams::new().nearest();

    let times = Times::on_device(gpu, RUNS, || run(&indices))?;
    let device = host_indices(run(&indices)?)?;
    let view = GridView::new(&sites, grid)?;
    let (cpu, cpu_time) = clocked(|| Ok(pba_voronoi::nearest_sites(&Device::Cpu, view)?))?;
    ensure!(device == cpu.values(), "GPU and CPU differ");
    print_both(&name("indices"), grid.cells(), count, &times, cpu_time);

    let more = [
        ("squared", VoronoiParams::new().squared_distance()),
        ("squared_within_20", VoronoiParams::new().squared_distance().max_distance(20.0)),
        ("distances", VoronoiParams::new().distance()),
    ];
    for (what, params) in more {
        let times = Times::on_device(gpu, RUNS, || run(&params))?;
        times.print("tessera", name(what), grid.cells(), count);
    }
    let scan_prune = indices.method(Method::Baseline(Baseline::ScanPrune));
    let times = Times::on_device(gpu, RUNS, || run(&scan_prune))?;
    ensure!(host_indices(run(&scan_prune)?)? == cpu.values(), "ScanPrune and the CPU differ");
    times.print("tessera", name("scan_prune"), grid.cells(), count);

    let bits = gpu.upload(&packed(&sites, side))?;
    let input = pba_voronoi::gpu::Input::new(pba_voronoi::gpu::Sites::Bits((&bits).into()), grid);
    let mut run = || Ok(pba_voronoi::gpu::transform(gpu, &input, &VoronoiParams::new().nearest())?);
    let times = Times::on_device(gpu, RUNS, &mut run)?;
    ensure!(host_indices(run()?)? == cpu.values(), "from bits, GPU and CPU differ");
    times.print("tessera", name("from_bits"), grid.cells(), count);
    Ok(())
}

/// The whole globe, of which blots that cover about a third are sites, as land does.
fn geodesic(gpu: &Gpu, width: u32, height: u32) -> Result<()> {
    let globe = Globe::new([-180.0, 90.0], [360.0 / f64::from(width), 180.0 / f64::from(height)]);
    let waves = [(3.0, 2.0), (7.0, 5.0), (31.0, 23.0), (157.0, 101.0)];
    let along = |count: u32, of: fn((f64, f64), f64) -> f64| -> Vec<[f64; 4]> {
        let part = |i: u32| f64::from(i) / f64::from(count);
        (0..count).map(|i| waves.map(|wave| of(wave, part(i)))).collect()
    };
    let columns = along(width, |(a, b), x| ((a * x + 0.3 * b) * TAU).sin() / a);
    let rows = along(height, |(_, b), y| (b * y * TAU).cos());
    let is_land =
        |a: &[f64; 4], b: &[f64; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() > 0.12;
    let row = |of_row: &[f64; 4]| -> Vec<u8> {
        columns.iter().map(|of_column| u8::from(is_land(of_column, of_row))).collect()
    };
    let sites: Vec<u8> = rows.iter().flat_map(row).collect();
    let grid = GridSpec::of_pixels(width, height);
    let mask = gpu.upload(&sites)?;
    let on_device = DeviceGlobe::new(gpu, &globe, width, height)?;
    let count = sites.iter().map(|&site| u64::from(site)).sum();
    for (what, params) in [
        ("indices", VoronoiParams::new().nearest()),
        ("distances", VoronoiParams::new().distance()),
    ] {
        let mut run = || {
            let input = GridSlice::new(&mask, grid)?.into();
            Ok(pba_voronoi::gpu::geodesic(gpu, &input, &on_device, &params)?)
        };
        let times = Times::on_device(gpu, RUNS, &mut run)?;
        let name = format!("geodesic_{what}");
        if what == "indices" {
            times.print("tessera", name, grid.cells(), count);
            continue;
        }
        let found = run()?.distance.context("no distances")?.to_host()?;
        let input = Input::new(Sites::Mask(&sites), grid);
        let (cpu, time) =
            clocked(|| Ok(pba_voronoi::geodesic(&Device::Cpu, &input, &globe, &params)?))?;
        ensure!(cpu.distance == Some(found), "GPU and CPU differ");
        print_both(&name, grid.cells(), count, &times, time);
    }
    Ok(())
}

/// The indices of a diagram of at most 2^32 - 2 pixels.
fn host_indices(diagram: pba_voronoi::gpu::Diagram) -> Result<Vec<u32>> {
    match diagram.nearest {
        Some(pba_voronoi::gpu::Integers::U32(nearest)) => Ok(nearest.to_host()?.into_values()),
        _ => bail!("no indices of 32 bits"),
    }
}

/// A mask as bits.
fn packed(mask: &[u8], width: u32) -> Vec<u32> {
    let word = |part: &[u8]| part.iter().rev().fold(0, |word, &m| word << 1 | u32::from(m != 0));
    mask.chunks(width as usize).flat_map(|row| row.chunks(32).map(word)).collect()
}

fn distances_to_zeros(gpu: &Gpu, path: &Path) -> Result<()> {
    let mask = geo_io::read_mask(path, &geo_io::SiteValues::default())?;
    let (width, height) = (u32::try_from(mask.width)?, u32::try_from(mask.height)?);
    let sites: Vec<u8> = mask.sites.iter().map(|&s| u8::from(s == 0)).collect();
    let resident =
        DeviceGrid::from_column(gpu.upload(&sites)?, GridSpec::of_pixels(width, height))?;
    let run = |params: &VoronoiParams| {
        let input = GridSlice::from(&resident).into();
        Ok(pba_voronoi::gpu::transform(gpu, &input, params)?)
    };
    let distances = VoronoiParams::new().distance();
    let times = Times::on_device(gpu, RUNS, || run(&distances))?;
    let device = run(&distances)?.distance.context("no distances")?.to_host()?;
    let input = Input::new(Sites::Mask(&sites), *resident.grid());
    let (cpu, cpu_time) =
        clocked(|| Ok(pba_voronoi::transform(&Device::Cpu, &input, &distances)?))?;
    ensure!(cpu.distance == Some(device), "GPU and CPU differ");
    let (cells, count) = (resident.grid().cells(), sites.iter().map(|&s| u64::from(s)).sum());
    print_both("voronoi_of_mask_distances", cells, count, &times, cpu_time);
    let near = distances.max_distance(50.0);
    let times = Times::on_device(gpu, RUNS, || run(&near))?;
    times.print("tessera", "voronoi_of_mask_distances_within_50", cells, count);
    Ok(())
}

/// Points on hills.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Cloud {
    /// Random points in a square, none within `void` of its centre.
    fn random(points: usize, side: u32, void: f64) -> Self {
        let mut random = Random(7);
        let extent = f64::from(side);
        let mut cloud = Self { x: Vec::new(), y: Vec::new(), z: Vec::new() };
        while cloud.x.len() < points {
            let (x, y) = (random.unit() * extent, random.unit() * extent);
            if (x - extent / 2.0).hypot(y - extent / 2.0) >= void {
                cloud.x.push(x);
                cloud.y.push(y);
                cloud.z.push(40.0 * (x / 300.0).sin() + 25.0 * (y / 170.0).cos());
            }
        }
        cloud
    }
}

/// Points on the device.
struct Resident {
    points: UploadedPoints,
    extent: Extent,
}

impl Resident {
    fn new(gpu: &Gpu, points: Points) -> Result<Self> {
        Ok(Self { points: UploadedPoints::new(gpu, &points)?, extent: Extent::of(&points)? })
    }

    fn input(&self, grid: GridSpec) -> Result<nni_grid::gpu::Input<'_>> {
        Ok(nni_grid::gpu::Input::new(self.points.points(self.extent.clone())?, grid))
    }
}

fn grid(side: u32) -> Result<GridSpec> {
    Ok(GridSpec::new(0.0, f64::from(side), 1.0, side, side)?)
}

fn nni(gpu: &Gpu, cloud: &Cloud, grid: GridSpec, what: &str, params: Params) -> Result<()> {
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let (mut workspace, there) = (Workspace::new(gpu)?, Resident::new(gpu, points)?);
    let resident = there.input(grid)?;
    let work = || Ok(nni_grid::gpu::interpolate(&mut workspace, &resident, &params)?);
    let input = nni_grid::Input::new(points, grid);
    let times = Times::on_device(gpu, RUNS, work)?;
    let on_gpu = nni_grid::interpolate(&Device::Gpu(gpu.clone()), input, &params)?;
    let (on_cpu, cpu_time) = clocked(|| Ok(nni_grid::interpolate(&Device::Cpu, input, &params)?))?;
    let [on_gpu_values, on_cpu_values] = [&on_gpu, &on_cpu].map(|dem| dem.values[0].values());
    ensure!(on_gpu_values.iter().zip(on_cpu_values).all(same), "GPU and CPU differ");
    ensure!(on_gpu.summary == on_cpu.summary, "the summaries of GPU and CPU differ");
    let (points, cells) = (cloud.x.len() as u64, grid.cells());
    print_both(&format!("nni_{what}"), points, cells, &times, cpu_time);
    Ok(())
}

/// From host columns to a host array, beside the transfers alone.
fn nni_end_to_end(gpu: &Gpu, cloud: &Cloud, side: u32) -> Result<()> {
    let (params, grid) = (Params::on_pixels(), grid(side)?);
    let locked = |values: &[f64]| -> Result<_> {
        let mut memory = gpu.page_locked(values.len())?;
        memory.copy_from_slice(values);
        Ok(memory)
    };
    let (x, y, z) = (locked(&cloud.x)?, locked(&cloud.y)?, locked(&cloud.z)?);
    let mut dem = gpu.page_locked::<f32>(grid.cells() as usize)?;
    let points = Points { x: &x, y: &y, values: &[&z] };
    end_to_end(gpu, nni_grid::Input::new(points, grid), &params, &mut dem, "page_locked")?;
    let mut dem = vec![0.0; grid.cells() as usize];
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let input = nni_grid::Input::new(points, grid);
    end_to_end(gpu, input, &params, &mut dem, "pageable")?;
    let device = Device::Gpu(gpu.clone());
    let times = Times::on_host(RUNS, || Ok(nni_grid::interpolate(&device, input, &params)?))?;
    times.print("tessera", "nni_host_new_array", points.x.len() as u64, grid.cells());
    Ok(())
}

fn end_to_end(
    gpu: &Gpu,
    input: nni_grid::Input<'_>,
    params: &Params,
    dem: &mut [f32],
    memory: &str,
) -> Result<()> {
    let work = |dem: &mut [f32]| -> Result<()> {
        let mut workspace = Workspace::new(gpu)?;
        nni_grid::gpu::interpolate_into(&mut workspace, input, params, dem, None, &Silent)?;
        Ok(())
    };
    let transfers = |dem: &mut [f32]| -> Result<()> {
        // SAFETY: the memory that the copy reads was zeroed; the host arrays live until the stream has run.
        unsafe {
            for column in [input.points.x, input.points.y, input.points.values[0]] {
                let mut there = gpu.uninitialized::<f64>(column.len())?;
                gpu.enqueue_write((&mut there).into(), column)?;
            }
            let there = gpu.uninitialized::<f32>(dem.len())?;
            gpu.enqueue_read((&there).into(), dem)?;
        }
        Ok(gpu.synchronize()?)
    };
    let alone = Times::on_host(RUNS, || transfers(dem))?;
    let whole = Times::on_host(RUNS, || work(dem))?;
    let (points, cells) = (input.points.len() as u64, dem.len() as u64);
    whole.print("tessera", format!("nni_host_{memory}"), points, cells);
    alone.print("tessera", format!("nni_host_{memory}_copies_alone"), points, cells);
    Ok(())
}

/// Copies to the device and back, of pageable and of page-locked memory; a row's size is the bytes.
fn copies(gpu: &Gpu, bytes: usize) -> Result<()> {
    let mut column = gpu.zeroed::<u8>(bytes)?;
    let mut of_memory = |memory: &str, host: &mut [u8]| -> Result<()> {
        let to = Times::on_host(RUNS, || {
            // SAFETY: the bench waits for the stream before it uses the host's memory or the column again.
            unsafe { gpu.enqueue_write((&mut column).into(), host)? };
            Ok(gpu.synchronize()?)
        })?;
        let from = Times::on_host(RUNS, || {
            // SAFETY: as above.
            unsafe { gpu.enqueue_read((&column).into(), host)? };
            Ok(gpu.synchronize()?)
        })?;
        to.print("tessera", format!("copy_to_device_{memory}"), bytes as u64, 0);
        from.print("tessera", format!("copy_from_device_{memory}"), bytes as u64, 0);
        Ok(())
    };
    of_memory("pageable", &mut vec![1; bytes])?;
    of_memory("page_locked", &mut gpu.page_locked::<u8>(bytes)?)
}

/// A row of the device, and one of the CPU.
fn print_both(name: &str, size: u64, other: u64, times: &Times, cpu_milliseconds: f64) {
    times.print("tessera", name, size, other);
    Times::new(vec![cpu_milliseconds]).print("cpu", name, size, other);
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
