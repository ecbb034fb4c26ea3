//! Points, index and targets of one stream, the interpolation on another. The software device reports
//! work that nothing orders.
#![cfg(feature = "cuda")]

use gpu_core::{DeviceChoice, Gpu};
use idw::gpu::{self, DeviceSurface, DeviceTargets, Index};
use idw::{Params, Points, Targets};

fn handle() -> Gpu {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    Gpu::open(choice).unwrap()
}

#[test]
fn resident_interpolations() {
    let (x, y): (Vec<f64>, Vec<f64>) =
        (0..300).map(|i| (f64::from(i % 17), f64::from(i % 23))).unzip();
    let values: Vec<f64> = x.iter().map(|x| x + 1.0).collect();
    let (tx, ty) = ([3.5, 100.0], [4.5, 7.0]);
    let (a, b, c) = (handle(), handle(), handle());
    let all = Params::default();
    let nearest = Params { max_points: 5, ..Params::default() };
    for params in [all, nearest] {
        let points = gpu::upload(&a, Points { x: &x, y: &y, values: &[&values] }, &params).unwrap();
        let index = Index::new(&b, points, &params).unwrap();
        let places = Targets::Points { x: &tx, y: &ty };
        let targets = DeviceTargets::new(&a, places, false).unwrap();
        let surface: DeviceSurface<f32> =
            gpu::interpolate_resident(&c, &index, &targets, &params).unwrap();
        drop((index, targets));
        let surface = surface.to_host(&params, 0).unwrap();
        assert!(surface.values[0].iter().all(|v| (1.0..=18.0).contains(v)));
    }
}
