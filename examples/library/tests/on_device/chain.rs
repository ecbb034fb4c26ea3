//! Six crates one after the other. The chain sorts points by height, and makes of them a terrain and a surface of
//! inverse distances. From the terrain it makes the slope, then finds the steepest cells, and the distance to the
//! nearest of them.

use gpu_core::{Device, DeviceGrid, DevicePoints, Extent, GridSlice, GridSpec, Points};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Sort, TopK};
use pba_voronoi::Sites;
use terrain_grid::{Product, ProductParams, SlopeUnit};
use testing::{Cloud, bits};

const SIDE: u32 = 48;
const STEEPEST: usize = 30;

/// What comes out at the end: the surface of inverse distances, and the distances to the steepest cells.
type Outcome = (Vec<f32>, Vec<f32>);

fn parameters() -> (GridSpec, nni_grid::Params, idw::Params, pba_voronoi::Params) {
    let grid = GridSpec::new(0.0, SIDE.into(), 1.0, SIDE, SIDE).unwrap();
    let nearest = idw::Params::nearest(8);
    (grid, nni_grid::Params::new(), nearest, pba_voronoi::Params::new().distance())
}

/// On the host, step by step.
fn on_cpu(cloud: &Cloud) -> Outcome {
    let (grid, interpolation, weighting, distances) = parameters();
    let device = Device::Cpu;
    let order: Vec<u32> = gpu_scan::cpu::argsort(Sort::ascending(), &cloud.z).unwrap();
    let sorted = |column: &[f64]| {
        let mut sorted = vec![0.0; column.len()];
        gpu_scan::cpu::gather(&order, column, &mut sorted).unwrap();
        sorted
    };
    let (x, y, z) = (sorted(&cloud.x), sorted(&cloud.y), sorted(&cloud.z));
    let points = Points { x: &x, y: &y, values: &[&z] };
    let dem =
        nni_grid::interpolate(&device, nni_grid::Input::new(points, grid), &interpolation).unwrap();
    let params = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
    let slope = terrain_grid::product(&device, dem.values[0].view(), &params).unwrap();
    let (_, steepest) = gpu_scan::cpu::top_k(TopK::greatest(), slope.values(), STEEPEST).unwrap();
    let mut mask = vec![0u8; grid.cells() as usize];
    gpu_scan::cpu::scatter(&steepest, &[1u8; STEEPEST], &mut mask).unwrap();
    let input = pba_voronoi::Input::new(Sites::Mask(&mask), grid);
    let diagram = pba_voronoi::transform(&device, &input, &distances).unwrap();
    let input = idw::Input::new(points, grid);
    let surface = idw::interpolate::<f32>(&device, input, &weighting).unwrap();
    (surface.values[0].clone(), diagram.distance.unwrap().into_values())
}

#[test]
fn six_crates_work_on_the_device_without_a_copy_of_their_data_to_the_host() {
    let rectangle = [0.0, 0.0, SIDE.into(), SIDE.into()];
    let cloud = Cloud::uniform(1500, rectangle, 11, |x, y| 9.0 * (x / 7.0).sin() + 0.2 * y);
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (grid, interpolation, weighting, distances) = parameters();
    let points = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
    let extent = cloud.with(|points| Extent::of(&points)).unwrap();
    let ones = gpu.upload(&[1u8; STEEPEST]).unwrap();
    let copies_before = software_gpu::copies();

    let len = cloud.len();
    let mut order = gpu.zeroed::<u32>(len).unwrap();
    gpu_scan::gpu::argsort(&mut workspace, Sort::ascending(), &points[2], &mut order).unwrap();
    let sorted = points.each_ref().map(|column| {
        let mut sorted = gpu.zeroed::<f64>(len).unwrap();
        gpu_scan::gpu::gather(&mut workspace, &order, column, &mut sorted).unwrap();
        sorted
    });
    let [x, y, z] = &sorted;
    let points = DevicePoints::new(x, y, [z.into()], extent).unwrap();
    let input = nni_grid::gpu::Input::new(points.clone(), grid);
    let dem = nni_grid::gpu::interpolate(&mut workspace, &input, &interpolation).unwrap();
    let raster = dem.values(0).unwrap();
    let params = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
    let slope = terrain_grid::gpu::product(&gpu, raster, &params).unwrap();
    let mut steepest = gpu.zeroed::<u64>(STEEPEST).unwrap();
    let mut slopes = gpu.zeroed::<f32>(STEEPEST).unwrap();
    let greatest = TopK::greatest();
    gpu_scan::gpu::top_k(&mut workspace, greatest, slope.column(), &mut slopes, &mut steepest)
        .unwrap();
    let mut mask = gpu.zeroed::<u8>(grid.cells() as usize).unwrap();
    gpu_scan::gpu::scatter(&mut workspace, &steepest, &ones, &mut mask).unwrap();
    let mask = DeviceGrid::from_column(mask, grid).unwrap();
    let input = GridSlice::from(&mask).into();
    let diagram = pba_voronoi::gpu::transform(&gpu, &input, &distances).unwrap();
    let input = idw::gpu::Input::new(points, grid);
    let surface = idw::gpu::interpolate::<f32>(&mut workspace, &input, &weighting).unwrap();

    if gpu.is_software() {
        // Only numbers come to the host, and no point. The terrain needs the bounds, what is wrong with points, how
        // many lie close together, and the bits of coordinates (there and back). It also needs the greatest index of a
        // point, and how many sites and neighbours there are. The index of idw needs how many points lie close
        // together, to choose its order.
        assert_eq!(software_gpu::copies(), copies_before + 10, "copies between host and device");
    }
    let (of_weights, of_distance) = on_cpu(&cloud);
    let surface = surface.to_host().unwrap();
    assert_eq!(bits(&surface.values[0]), bits(&of_weights));
    let distance = diagram.distance.unwrap().to_host().unwrap();
    assert_eq!(bits(distance.values()), bits(&of_distance));
}
