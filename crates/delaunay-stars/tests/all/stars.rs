//! Triangulations on a GPU, each star made by itself, against those of the CPU.

use delaunay_stars::{Error, Triangulation, triangulate};
use gpu_core::{Device, Gpu, Points};
use testing::{Cloud, Random};

use crate::triangulations::of;

/// The triangulation of columns on the device under test.
fn on_device(gpu: &Gpu, x: &[f64], y: &[f64]) -> Result<Triangulation, Error> {
    triangulate(&Device::Gpu(gpu.clone()), Points::new(x, y))
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

/// A cloud without values.
fn cloud(name: &'static str, places: &[[f64; 2]]) -> Cloud {
    let [x, y] = [0, 1].map(|k| places.iter().map(|place| place[k]).collect::<Vec<f64>>());
    Cloud { name, z: vec![0.0; x.len()], x, y }
}

#[test]
fn sites_exactly_in_line_of_which_f64_decides_some_have_the_stars_of_the_cpu() {
    let gpu = testing::gpu();
    for step in [67_109.0, 3.0 * 67_109.0, 1e9 + 7.0] {
        let places: Vec<[f64; 2]> = (0..1000).map(|i| [step * f64::from(i); 2]).collect();
        check(&gpu, &cloud("slanted line", &places));
    }
}

#[test]
fn a_long_star_whose_nearest_sites_tie_is_in_order() {
    let gpu = testing::gpu();
    let (columns, rows) = (280, 9);
    for k in (0..columns - 1).step_by(31) {
        let lattice = (0..columns * rows).map(|i| [f64::from(i % columns), f64::from(i / columns)]);
        // As far from site k of the first row as from the next one. It sees all of the row.
        let outlier = [f64::from(k) + 0.5, -200.0];
        check(&gpu, &cloud("lattice and outlier", &lattice.chain([outlier]).collect::<Vec<_>>()));
    }
}

#[test]
fn tracks_through_the_origin_have_the_stars_of_the_cpu() {
    let gpu = testing::gpu();
    let mut random = Random::new(5);
    for _ in 0..6 {
        let angle = random.between(0.1, 1.4);
        let [along, across] = [[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]];
        let place = |i: i32, away: f64| {
            let t = 0.01 * (f64::from(i) + 0.5);
            [0, 1].map(|axis| t * along[axis] + away * across[axis])
        };
        // Coordinates near 0 are no larger than their differences, so rounding may turn a flat triangle over.
        let tracks = [0.0, -0.03, 1.0].map(|away| (-60..60).map(move |i| (i, away)));
        let places: Vec<[f64; 2]> =
            tracks.into_iter().flatten().map(|(i, away)| place(i, away)).collect();
        check(&gpu, &cloud("tracks through the origin", &places));
    }
}
