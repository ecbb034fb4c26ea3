//! Products captured once, and launched on other heights.

use gpu_core::{Device, GridSlice, GridSpec, GridView};
use terrain_grid::gpu;
use terrain_grid::{Edges, Error, Ground, Light, product};
use testing::{Random, bits};

use crate::made::{shade, slope};

fn heights(cells: u64, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    let height = |_| if random.unit() < 0.02 { f32::NAN } else { random.between(0.0, 9.0) as f32 };
    (0..cells).map(height).collect()
}

#[test]
fn captured_products_follow_their_dem() {
    let gpu = testing::gpu();
    for (width, height) in [(1, 1), (8, 33), (69, 50)] {
        let grid = GridSpec::new(10.0, 20.0, 2.0, width, height).unwrap();
        let slopes = slope();
        let light = shade(Light::new()).edges(Edges::Level).ground(Ground::degrees_of(&grid));
        let mut dem = gpu.upload(&heights(grid.cells(), 1)).unwrap();
        let mut made = None;
        let graph = gpu.capture(|| {
            let dem = GridSlice::new(&dem, grid)?;
            let slope = gpu::product(&gpu, dem, &slopes)?;
            made = Some((slope, gpu::product(&gpu, dem, &light)?));
            Ok::<_, Error>(())
        });
        let (graph, (slope_of, shade_of)) = (graph.unwrap(), made.unwrap());
        for seed in [2, 3] {
            let now = heights(grid.cells(), seed);
            dem.copy_from(&gpu.upload(&now).unwrap()).unwrap();
            // SAFETY: `dem` is where it was, and as long.
            unsafe { graph.launch().unwrap() };
            let now = GridView::new(&now, grid).unwrap();
            let expected = product(&Device::Cpu, now, &slopes).unwrap();
            assert_eq!(slope_of.grid(), &grid);
            let found = slope_of.to_host().unwrap();
            assert_eq!(bits(found.values()), bits(expected.values()), "{width} x {height}");
            let expected = product(&Device::Cpu, now, &light).unwrap();
            let found = shade_of.to_host().unwrap();
            assert_eq!(bits(found.values()), bits(expected.values()), "{width} x {height}");
        }
    }
}
