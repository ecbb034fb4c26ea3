//! Every resident function on a raster of another stream than its handle's. The software device
//! reports work that nothing orders.

use gpu_core::{DeviceGrid, GridSpec};
use terrain_grid::gpu::{self, Workspace};
use terrain_grid::{ContourParams, Ground, Levels, Light};
use testing::gpu as handle;

use crate::made::{shade, slope};

#[test]
fn products_and_contours() {
    let (a, b) = (handle(), handle());
    let mut workspace = Workspace::new(&b).unwrap();
    let (width, height) = (40, 30);
    let heights: Vec<f32> = (0..width * height).map(|i| (i % width) as f32).collect();
    let mut column = a.zeroed(heights.len()).unwrap();
    column.copy_from(&a.upload(&heights).unwrap()).unwrap();
    let grid = GridSpec { origin_x: 0.0, origin_y: 0.0, cell_size: 1.0, width, height };
    let dem = DeviceGrid::from_column(column, grid).unwrap();

    let slope = gpu::product(&b, &dem, &slope()).unwrap();
    let light = shade(Light::new()).ground(Ground::degrees_of(&grid));
    let shade = gpu::product(&b, &dem, &light).unwrap();
    let levels = ContourParams::new(Levels::Every { interval: 10.0, base: 5.0 });
    let lines = gpu::contours(&mut workspace, &dem, &levels).unwrap();
    drop(dem);
    let middle = (15 * width + 20) as usize;
    assert!((slope.to_host().unwrap().values()[middle] - 45.0).abs() < 1e-4);
    assert!(shade.to_host().unwrap().values()[middle] > 0.0);
    assert_eq!(lines.len(), 4);
}
