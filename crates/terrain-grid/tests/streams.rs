//! Every resident function on a raster of another stream than its handle's. The software device
//! reports work that nothing orders.
#![cfg(feature = "cuda")]

use gpu_core::{DeviceChoice, DeviceGrid, Gpu, GridSpec};
use terrain_grid::{Levels, Light, Slope, gpu};

fn handle() -> Gpu {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    Gpu::open(choice).unwrap()
}

#[test]
fn slope_hillshade_and_contours() {
    let (a, b) = (handle(), handle());
    let (width, height) = (40, 30);
    let heights: Vec<f32> = (0..width * height).map(|i| (i % width) as f32).collect();
    let mut column = a.zeroed(heights.len()).unwrap();
    column.copy_from(&a.upload(&heights).unwrap()).unwrap();
    let dem = DeviceGrid::new(column, width, height).unwrap();
    let grid = GridSpec { origin_x: 0.0, origin_y: 0.0, cell_size: 1.0, width, height };

    let slope = gpu::slope(&b, &dem, 1.0, &Slope::default()).unwrap();
    let shade = gpu::hillshade(&b, &dem, 1.0, &Light::default()).unwrap();
    let lines =
        gpu::contours(&b, &dem, &grid, &Levels::Every { interval: 10.0, base: 5.0 }).unwrap();
    drop(dem);
    let middle = (15 * width + 20) as usize;
    assert!((slope.column().to_host().unwrap()[middle] - 45.0).abs() < 1e-4);
    assert!(shade.column().to_host().unwrap()[middle] > 0.0);
    assert_eq!(lines.len(), 4);
}
