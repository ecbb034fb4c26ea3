//! Criterion's watch over the CPU sides: `cargo bench --package benches`.
//!
//! Sizes are such that an iteration takes milliseconds; what is compared with other programs stands
//! in `cpu_bench` and docs/.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpu_core::{Device, GridSpec, GridView};
use pba_voronoi::{Input, Params, Sites, transform};

criterion_group!(
    benches,
    primitives,
    distances,
    terrain_from_points,
    exact_terrain,
    weights,
    products,
    quadtree,
    value_index,
    globe,
);
criterion_main!(benches);

/// Numbers in [0, 1) that look random: the k-th of a stream.
fn noise(stream: u64, k: u64) -> f64 {
    // The mixing function of splitmix64.
    let mut z = (k + (stream << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn column(stream: u64, length: u64, scale: f64) -> Vec<f64> {
    (0..length).map(|k| scale * noise(stream, k)).collect()
}

fn primitives(criterion: &mut Criterion) {
    let keys: Vec<u32> =
        column(1, 1 << 20, f64::from(u32::MAX)).iter().map(|&x| x as u32).collect();
    let floats: Vec<f32> = column(2, 1 << 20, 1.0).iter().map(|&x| x as f32).collect();
    let mut group = criterion.benchmark_group("gpu-scan, 2^20");
    group.throughput(Throughput::Elements(keys.len() as u64));
    group.bench_function("sum f32", |b| {
        b.iter(|| gpu_scan::cpu::reduce(gpu_scan::Sum, black_box(&floats)))
    });
    let mut sums = vec![0.0; floats.len()];
    group.bench_function("scan f32", |b| {
        let scan = gpu_scan::Scan::inclusive();
        b.iter(|| gpu_scan::cpu::scan(gpu_scan::Sum, scan, black_box(&floats), &mut sums).unwrap())
    });
    group.bench_function("sort u32", |b| {
        b.iter(|| gpu_scan::cpu::sort(gpu_scan::Sort::ascending(), black_box(&keys)))
    });
    group.finish();
}

fn distances(criterion: &mut Criterion) {
    const SIDE: u32 = 1024;
    let mut group = criterion.benchmark_group("pba-voronoi, 1024 x 1024");
    group.throughput(Throughput::Elements(u64::from(SIDE) * u64::from(SIDE)));
    for density in [0.0001, 0.01, 0.25] {
        let cells = u64::from(SIDE) * u64::from(SIDE);
        let mask: Vec<u8> = (0..cells).map(|p| u8::from(noise(3, p) < density)).collect();
        let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(SIDE, SIDE));
        let params = Params::new().nearest().distance();
        group.bench_function(format!("{}% sites", density * 100.0), |b| {
            b.iter(|| transform(&Device::Cpu, black_box(&input), &params).unwrap())
        });
    }
    group.finish();
}

fn terrain_from_points(criterion: &mut Criterion) {
    let points = 200_000;
    let (x, y) = (column(4, points, 400.0), column(5, points, 400.0));
    let z = column(6, points, 50.0);
    let grid = GridSpec::new(0.0, 400.0, 1.0, 400, 400).unwrap();
    let points = gpu_core::Points { x: &x, y: &y, values: &[&z] };
    let input = nni_grid::Input::new(points, grid);
    let bounded = nni_grid::Params::on_pixels().region_of_influence(10.0).query_radius(3.0);
    let mut group = criterion.benchmark_group("nni-grid, 200,000 points to 400 x 400");
    group.sample_size(20);
    for (name, supersample) in [("supersample 1", 1), ("supersample 2", 2)] {
        let params = bounded.supersample(supersample);
        group.bench_function(name, |b| {
            b.iter(|| nni_grid::interpolate(&Device::Cpu, black_box(input), &params).unwrap())
        });
    }
    group.finish();
}

fn exact_terrain(criterion: &mut Criterion) {
    let count = 50_000;
    let (x, y, z) = (column(10, count, 200.0), column(11, count, 200.0), column(12, count, 50.0));
    let grid = GridSpec::new(0.0, 200.0, 1.0, 200, 200).unwrap();
    let points = gpu_core::Points { x: &x, y: &y, values: &[&z] };
    let input = nni_grid::Input::new(points, grid);
    let mut group = criterion.benchmark_group("nni-grid, exact, 50,000 points to 200 x 200");
    group.sample_size(20);
    let exact = nni_grid::Params::new();
    for (name, params) in [
        ("Sibson", exact),
        ("Laplace", exact.weights(nni_grid::Weights::Laplace)),
        ("linear", exact.weights(nni_grid::Weights::Linear)),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| nni_grid::interpolate(&Device::Cpu, black_box(input), &params).unwrap())
        });
    }
    group.finish();
}

fn weights(criterion: &mut Criterion) {
    let points = 20_000;
    let (x, y) = (column(7, points, 100.0), column(8, points, 100.0));
    let values = column(9, points, 10.0);
    let points = idw::Points { x: &x, y: &y, values: &[&values] };
    let grid = GridSpec::new(0.0, 100.0, 1.0, 100, 100).unwrap();
    let mut group = criterion.benchmark_group("idw, 20,000 points to 100 x 100");
    group.sample_size(20);
    for (name, params) in
        [("all points", idw::Params::default()), ("12 nearest", idw::Params::nearest(12))]
    {
        group.bench_function(name, |b| {
            b.iter(|| {
                let input = idw::Input::new(black_box(points), grid);
                idw::interpolate::<f32>(&Device::Cpu, input, &params).unwrap()
            })
        });
    }
    group.finish();
}

fn products(criterion: &mut Criterion) {
    const SIDE: u32 = 1000;
    let height = |cell: u64| {
        let (row, column) = ((cell / u64::from(SIDE)) as f64, (cell % u64::from(SIDE)) as f64);
        (100.0 + 40.0 * (row / 90.0).sin() * (column / 70.0).cos()) as f32
    };
    let dem: Vec<f32> = (0..u64::from(SIDE) * u64::from(SIDE)).map(height).collect();
    let grid = GridSpec::new(0.0, f64::from(SIDE), 1.0, SIDE, SIDE).unwrap();
    let dem = GridView::new(&dem, grid).unwrap();
    let levels = terrain_grid::ContourParams::every(5.0);
    let mut group = criterion.benchmark_group("terrain, 1000 x 1000");
    group.sample_size(20);
    group.bench_function("hillshade", |b| {
        let shade = terrain_grid::Product::Hillshade(terrain_grid::Light::new());
        let shade = terrain_grid::ProductParams::new(shade);
        b.iter(|| terrain_grid::product(&Device::Cpu, black_box(dem), &shade).unwrap())
    });
    group.bench_function("contours", |b| {
        b.iter(|| terrain_grid::contours(&Device::Cpu, black_box(dem), &levels).unwrap())
    });
    group.finish();
}

fn quadtree(criterion: &mut Criterion) {
    let count = 1 << 17;
    let (x, y) = (column(13, count, 1.0), column(14, count, 1.0));
    let points = gpu_core::Points::new(&x, &y);
    let params = quadtree_sort::Params::new();
    let mut group = criterion.benchmark_group("quadtree-sort, 2^17");
    group.sample_size(20);
    group.throughput(Throughput::Elements(count));
    let level_sort = quadtree_sort::Method::Baseline(quadtree_sort::Baseline::LevelSort);
    for (name, params) in [("build", params), ("build by level sort", params.method(level_sort))] {
        group.bench_function(name, |b| {
            b.iter(|| quadtree_sort::build(&Device::Cpu, black_box(points), &params).unwrap())
        });
    }
    group.bench_function("index", |b| {
        b.iter(|| quadtree_sort::index(&Device::Cpu, black_box(points), None).unwrap())
    });
    let index = quadtree_sort::index(&Device::Cpu, points, None).unwrap();
    group.bench_function("8 nearest of every point", |b| {
        b.iter(|| index.nearest(black_box(&x), black_box(&y), 8).unwrap())
    });
    group.finish();
}

fn value_index(criterion: &mut Criterion) {
    const SIDE: u32 = 1024;
    let raster = benches::fractal(0..SIDE, 0..SIDE);
    let bins = ccq_tree::quantile_boundaries(raster.view(), None, 8).unwrap();
    let bins: Vec<f64> = bins.into_iter().map(f64::from).collect();
    let params = ccq_tree::Params::new().bins(bins.clone());
    let mut group = criterion.benchmark_group("ccq-tree, 1024 x 1024");
    group.sample_size(20);
    group.throughput(Throughput::Elements(u64::from(SIDE) * u64::from(SIDE)));
    group.bench_function("build", |b| {
        b.iter(|| ccq_tree::build(&Device::Cpu, black_box(raster.view()), &params).unwrap())
    });
    let tree = ccq_tree::build(&Device::Cpu, raster.view(), &params).unwrap();
    group.bench_function("count an eighth of the cells", |b| {
        let condition = [ccq_tree::Condition::new(&tree).range(bins[2], bins[3])];
        b.iter(|| {
            ccq_tree::count(&Device::Cpu, black_box(&condition), &ccq_tree::Query::new()).unwrap()
        })
    });
    group.finish();
}

fn globe(criterion: &mut Criterion) {
    let count = 1000;
    let x = column(15, count, 360.0).into_iter().map(|x| x - 180.0).collect::<Vec<_>>();
    let y = column(16, count, 2.0)
        .into_iter()
        .map(|y| (y - 1.0).asin().to_degrees())
        .collect::<Vec<_>>();
    let sites = gpu_core::Points::new(&x, &y);
    let level = sphere_qtm::Level::new(7).unwrap();
    let params = sphere_qtm::Params::new(level);
    let mut group = criterion.benchmark_group("sphere-qtm, level 7, 1000 sites");
    group.sample_size(20);
    group.throughput(Throughput::Elements(level.cell_count()));
    group.bench_function("diagram", |b| {
        b.iter(|| sphere_qtm::voronoi(&Device::Cpu, black_box(&sites), &params).unwrap())
    });
    group.finish();
}
