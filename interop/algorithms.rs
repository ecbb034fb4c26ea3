//! Buffers of another crate in the functions of every algorithm crate. The tests of each such crate include this file,
//! and say in `super` how it makes a handle and a buffer: `with_handles` and `Host::upload`.
//!
//! A function takes slices, and so a reference to any buffer. What it gives has the bits of the CPU, which had the same
//! numbers.

use gpu_core::{Bounds, Device, DevicePoints, Extent, Grid, GridSlice, GridSpec, GridView, Points};
use gpu_scan::gpu::Workspace;

use super::with_handles;

const SIDE: u32 = 24;

fn grid() -> GridSpec {
    GridSpec::new(0.0, SIDE.into(), 1.0, SIDE, SIDE).unwrap()
}

/// Points of a survey: x, y and height.
fn columns() -> [Vec<f64>; 3] {
    let along =
        |step: f64| (0..200).map(move |i| f64::from(SIDE) * (0.5 + step * f64::from(i)).fract());
    let (x, y): (Vec<f64>, Vec<f64>) =
        (along(0.754_877_666).collect(), along(0.569_840_291).collect());
    let z = x.iter().zip(&y).map(|(x, y)| 3.0 + (x / 3.0).sin() + 0.1 * y).collect();
    [x, y, z]
}

fn heights() -> Vec<f32> {
    (0..SIDE * SIDE).map(|i| (i % SIDE) as f32 * 0.7 + ((i / SIDE) as f32).sin()).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn bits64(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn pba_voronoi_takes_masks() {
    let mask: Vec<u8> = (0..SIDE * SIDE).map(|i| u8::from(i % 37 == 5)).collect();
    let params = pba_voronoi::Params::new().distance();
    let input = pba_voronoi::Input::new(pba_voronoi::Sites::Mask(&mask), grid());
    let wanted = pba_voronoi::transform(&Device::Cpu, &input, &params).unwrap().distance.unwrap();
    with_handles(|gpu, host| {
        let mask = host.upload(&mask);
        let input = GridSlice::new(&mask, grid()).unwrap().into();
        let found = pba_voronoi::gpu::transform(gpu, &input, &params).unwrap().distance.unwrap();
        assert_eq!(bits(found.to_host().unwrap().values()), bits(wanted.values()));
    });
}

#[test]
fn nni_grid_takes_points() {
    let [x, y, z] = columns();
    let points = Points { x: &x, y: &y, values: &[&z] };
    let params = nni_grid::Params::new();
    let input = nni_grid::Input::new(points, grid());
    let wanted = nni_grid::interpolate(&Device::Cpu, input, &params).unwrap();
    let extent = Extent::of(&points).unwrap();
    with_handles(|gpu, host| {
        let mut workspace = Workspace::new(gpu).unwrap();
        let (x, y, z) = (host.upload(&x), host.upload(&y), host.upload(&z));
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent.clone()).unwrap();
        let input = nni_grid::gpu::Input::new(points, grid());
        let found = nni_grid::gpu::interpolate(&mut workspace, &input, &params).unwrap();
        let found = found.to_host().unwrap();
        assert_eq!(bits(found.values[0].values()), bits(wanted.values[0].values()));
    });
}

#[test]
fn idw_takes_points() {
    let [x, y, z] = columns();
    let points = Points { x: &x, y: &y, values: &[&z] };
    let params = idw::Params::nearest(8);
    let input = idw::Input::new(points, grid());
    let wanted = idw::interpolate::<f32>(&Device::Cpu, input, &params).unwrap();
    let extent = Extent::of(&points).unwrap();
    with_handles(|gpu, host| {
        let mut workspace = Workspace::new(gpu).unwrap();
        let (x, y, z) = (host.upload(&x), host.upload(&y), host.upload(&z));
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent.clone()).unwrap();
        let input = idw::gpu::Input::new(points, grid());
        let found = idw::gpu::interpolate::<f32>(&mut workspace, &input, &params).unwrap();
        assert_eq!(bits(&found.to_host().unwrap().values[0]), bits(&wanted.values[0]));
    });
}

#[test]
fn kriging_takes_points() {
    use kriging::{Model, Params, Variogram};
    let [x, y, z] = columns();
    let points = Points { x: &x, y: &y, values: &[&z] };
    let params = Params::new(Variogram::new(0.1).structure(Model::Exponential, 1.0, 5.0));
    let input = kriging::Input::new(points, grid());
    let wanted = kriging::interpolate(&Device::Cpu, input, &params).unwrap();
    let extent = Extent::of(&points).unwrap();
    with_handles(|gpu, host| {
        let mut workspace = Workspace::new(gpu).unwrap();
        let (x, y, z) = (host.upload(&x), host.upload(&y), host.upload(&z));
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent.clone()).unwrap();
        let input = kriging::gpu::Input::new(points, grid());
        let found = kriging::gpu::interpolate(&mut workspace, &input, &params).unwrap();
        let found = found.to_host().unwrap();
        assert_eq!(bits64(&found.values[0]), bits64(&wanted.values[0]));
    });
}

#[test]
fn quadtree_sort_takes_points_values_and_questions() {
    use quadtree_sort::gpu::{DeviceRegions, build, count_in, index, leaves_of, nearest};
    let [x, y, z] = columns();
    let class: Vec<u8> = (0..200).map(|i| i % 7).collect();
    let params = quadtree_sort::Params::new().threshold(9);
    let wanted = quadtree_sort::build(&Device::Cpu, Points::new(&x, &y), &params).unwrap();
    let wanted = wanted.with_values("z", &z).unwrap().with_values("class", &class).unwrap();
    let window = Bounds { min_x: 3.0, min_y: 5.0, max_x: 15.0, max_y: 12.0 };
    let windows = quadtree_sort::Regions::Windows(std::slice::from_ref(&window));
    with_handles(|gpu, host| {
        let mut workspace = Workspace::new(gpu).unwrap();
        let (on_x, on_y) = (host.upload(&x), host.upload(&y));
        let (z, class) = (host.upload(&z), host.upload(&class));
        let tree = build(&mut workspace, &on_x, &on_y, &params).unwrap();
        let tree = tree.with_values(&mut workspace, "z", &z).unwrap();
        let tree = tree.with_values(&mut workspace, "class", &class).unwrap();
        assert_eq!(tree.to_host().unwrap(), wanted);
        let sides = [window.min_x, window.min_y, window.max_x, window.max_y];
        let sides = host.upload(&[sides]);
        let regions = DeviceRegions::Windows((&sides).into());
        let counts = count_in(&mut workspace, &tree, regions).unwrap();
        assert_eq!(counts.to_host().unwrap(), wanted.count_in(windows).unwrap());
        let leaves = leaves_of(&mut workspace, &tree, &on_x, &on_y).unwrap();
        assert_eq!(leaves.to_host().unwrap(), wanted.leaves_of(&x, &y).unwrap());
        let index = index(&mut workspace, &on_x, &on_y, None).unwrap();
        let near = nearest(&mut workspace, &index, &on_x, &on_y, 3).unwrap();
        assert_eq!(near.to_host().unwrap(), wanted.nearest(&x, &y, 3).unwrap());
    });
}

#[test]
fn delaunay_stars_takes_points() {
    let [x, y, _] = columns();
    let wanted = delaunay_stars::triangulate(&Device::Cpu, Points::new(&x, &y)).unwrap();
    with_handles(|gpu, host| {
        let mut workspace = Workspace::new(gpu).unwrap();
        let (x, y) = (host.upload(&x), host.upload(&y));
        let index = quadtree_sort::gpu::index(&mut workspace, &x, &y, None).unwrap();
        let found = delaunay_stars::gpu::triangulate(&mut workspace, &index).unwrap();
        assert_eq!(found.to_host().unwrap(), wanted);
    });
}

#[test]
fn ccq_tree_takes_rasters() {
    let heights = heights();
    let params = ccq_tree::Params::new();
    let raster = GridView::new(&heights, grid()).unwrap();
    let wanted = ccq_tree::build(&Device::Cpu, raster, &params).unwrap();
    let condition = ccq_tree::Condition::new(&wanted).range(3.0, 9.0);
    let mask = ccq_tree::mask(&Device::Cpu, &[condition], &ccq_tree::Query::new()).unwrap();
    with_handles(|gpu, host| {
        let mut workspace = Workspace::new(gpu).unwrap();
        let heights = host.upload(&heights);
        let raster = GridSlice::new(&heights, grid()).unwrap();
        let tree = ccq_tree::gpu::build(&mut workspace, raster, &params).unwrap();
        let condition = ccq_tree::gpu::Condition::new(&tree).range(3.0, 9.0);
        let query = ccq_tree::Query::new();
        let found = ccq_tree::gpu::mask(&mut workspace, &[condition], &query).unwrap();
        assert_eq!(found.to_host().unwrap().values(), mask.values());
    });
}

#[test]
fn sphere_qtm_takes_sites_and_points() {
    use sphere_qtm::{Cell, Level, Params};
    let [x, y, _] = columns();
    let longitudes: Vec<f64> = x.iter().map(|x| 15.0 * x - 180.0).collect();
    let latitudes: Vec<f64> = y.iter().map(|y| 7.0 * y - 84.0).collect();
    let sites = Points::new(&longitudes, &latitudes);
    let params = Params::new(Level::new(3).unwrap());
    let wanted = sphere_qtm::voronoi(&Device::Cpu, &sites, &params).unwrap();
    let cells = sphere_qtm::cells_of_points(&Device::Cpu, &sites, params.level).unwrap();
    let cells: Vec<u64> = cells.into_iter().map(Cell::id).collect();
    let extent = Extent::of(&sites).unwrap();
    with_handles(|gpu, host| {
        let (x, y) = (host.upload(&longitudes), host.upload(&latitudes));
        let sites = DevicePoints::new(&x, &y, [], extent.clone()).unwrap();
        let found = sphere_qtm::gpu::voronoi(gpu, &sites, &params).unwrap();
        assert_eq!(found.to_host().unwrap(), wanted);
        let found = sphere_qtm::gpu::cells_of_points(gpu, &x, &y, params.level).unwrap();
        assert_eq!(found.to_host().unwrap(), cells);
    });
}

#[test]
fn terrain_grid_takes_rasters() {
    use terrain_grid::{Product, ProductParams, SlopeUnit};
    let dem = Grid::new(heights(), grid()).unwrap();
    let params = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
    let wanted = terrain_grid::product(&Device::Cpu, dem.view(), &params).unwrap();
    with_handles(|gpu, host| {
        let dem = host.upload(dem.values());
        let found = terrain_grid::gpu::product(gpu, GridSlice::new(&dem, grid()).unwrap(), &params);
        assert_eq!(bits(found.unwrap().to_host().unwrap().values()), bits(wanted.values()));
    });
}
