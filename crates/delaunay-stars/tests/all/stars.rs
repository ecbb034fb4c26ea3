//! Triangulations on a GPU, each star made by itself, against those of the CPU.

use delaunay_stars::gpu::{Workspace, triangulate};
use delaunay_stars::{Error, Triangulation};
use gpu_core::Gpu;
use quadtree_sort::gpu::index;
use testing::Cloud;

use crate::triangulations::of;

/// The triangulation of columns on the device under test.
fn on_device(gpu: &Gpu, x: &[f64], y: &[f64]) -> Result<Triangulation, Error> {
    let mut workspace = Workspace::new(gpu)?;
    let (x, y) = (gpu.upload(x)?, gpu.upload(y)?);
    let index = index(&mut workspace, &x, &y, None)?;
    triangulate(&mut workspace, &index)?.to_host()
}

fn check(gpu: &Gpu, cloud: &Cloud) {
    let (found, expected) = (on_device(gpu, &cloud.x, &cloud.y).unwrap(), of(cloud));
    let name = cloud.name;
    assert_eq!(found.duplicates(), expected.duplicates(), "{name}");
    assert_eq!(found.hull(), expected.hull(), "{name}");
    for point in 0..expected.len() as u32 {
        let [a, b] = [&found, &expected].map(|all| (all.star(point), all.is_on_hull(point)));
        assert_eq!(a, b, "{name}: point {point} of {}", expected.len());
    }
    assert!(found == expected, "{name}");
}

#[test]
fn every_cloud_has_the_stars_of_the_cpu() {
    let gpu = testing::gpu();
    let large = if testing::is_slow() { 1200 } else { 300_000 };
    for size in [0, 1, 2, 3, 4, 31, 33, 300, large] {
        for cloud in testing::clouds::all(size, 7) {
            check(&gpu, &cloud);
        }
    }
}
