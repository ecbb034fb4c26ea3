//! Points of one stream, the interpolation on another. The software device reports work that nothing
//! orders.
#![cfg(feature = "cuda")]

use gpu_core::{Bounds, DeviceChoice, Gpu, GridSpec};
use nni_grid::{Params, Points, gpu};

fn handle() -> Gpu {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    Gpu::open(choice).unwrap()
}

#[test]
fn resident_interpolations() {
    let (x, y): (Vec<f64>, Vec<f64>) =
        (0..200).map(|i| (f64::from(i * 7 % 20) + 0.3, f64::from(i * 11 % 17) + 0.4)).unzip();
    let grid = GridSpec::covering(Bounds::of(&x, &y).unwrap(), 1.0).unwrap();
    let (a, b) = (handle(), handle());
    for params in [Params::new(grid), Params::on_pixels(grid)] {
        let points = gpu::upload(&a, Points { x: &x, y: &y, z: &x }).unwrap();
        let dem = gpu::interpolate_resident(&b, &points, &params).unwrap();
        drop(points);
        let again = a.zeroed::<f64>(1000).unwrap();
        let values = dem.values.column().to_host().unwrap();
        drop(again);
        assert!(values.iter().filter(|v| !v.is_nan()).all(|v| (0.0..=20.3).contains(v)));
        assert_eq!(dem.summary().unwrap().points, 200);
    }
}
