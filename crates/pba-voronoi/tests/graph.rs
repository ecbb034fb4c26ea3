//! The diagram's launches captured once, and replayed on other sites.
#![cfg(feature = "cuda")]

use gpu_core::{DeviceChoice, Gpu};
use pba_voronoi::gpu::nearest_sites;
use pba_voronoi::{Error, Outputs, cpu};

/// A repeatable raster of sites: one pixel in `one_in`, at places that change with `seed`.
fn mask(width: u32, height: u32, one_in: u32, seed: u32) -> Vec<u8> {
    let is_site =
        |p: u32| (p ^ seed).wrapping_mul(0x9e37_79b1).rotate_left(9).is_multiple_of(one_in);
    (0..width * height).map(|p| u8::from(is_site(p))).collect()
}

#[test]
fn a_captured_diagram_follows_its_sites() {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    let gpu = Gpu::open(choice).unwrap();
    for (width, height) in [(1, 1), (97, 61), (130, 257)] {
        let mut sites = gpu.upload_grid(&mask(width, height, 3, 0), width, height).unwrap();
        let mut nearest = None;
        let graph = gpu.capture(|| {
            nearest = Some(nearest_sites(&gpu, &sites)?);
            Ok::<_, Error>(())
        });
        let (graph, nearest) = (graph.unwrap(), nearest.unwrap());
        for (one_in, seed) in [(2, 1), (50, 2), (5000, 3)] {
            let now = mask(width, height, one_in, seed);
            sites.copy_from(&gpu.upload(&now).unwrap()).unwrap();
            // SAFETY: `sites` is where it was, and as long.
            unsafe { graph.launch().unwrap() };
            let expected = cpu::voronoi(&now, width, height, Outputs::default(), &()).unwrap();
            let found = nearest.column().to_host().unwrap();
            assert!(found == expected.nearest, "{width} x {height}, one in {one_in}");
        }
    }
}
