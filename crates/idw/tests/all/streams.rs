//! Points, index and targets of one stream, the interpolation on another. The software device reports
//! work that nothing orders.

use gpu_core::{DevicePoints, Extent, Points};
use idw::Params;
use idw::gpu::{DeviceTargets, DeviceTotal, Index, Workspace};
use testing::gpu;

#[test]
fn resident_interpolations() {
    let (x, y): (Vec<f64>, Vec<f64>) =
        (0..300).map(|i| (f64::from(i % 17), f64::from(i % 23))).unzip();
    let values: Vec<f64> = x.iter().map(|x| x + 1.0).collect();
    let extent = Extent::of(&Points { x: &x, y: &y, values: &[&values] }).unwrap();
    let (a, b, c) = (gpu(), gpu(), gpu());
    let (mut on_b, mut on_c) = (Workspace::new(&b).unwrap(), Workspace::new(&c).unwrap());
    for params in [Params::default(), Params::nearest(5), Params::default().statistics(true)] {
        let (x, y) = (a.upload(&x).unwrap(), b.upload(&y).unwrap());
        let values = c.upload(&values).unwrap();
        let points = DevicePoints::new(&x, &y, [(&values).into()], extent.clone()).unwrap();
        let index = Index::new(&mut on_b, &points, &params).unwrap();
        drop((x, y, values));
        let (tx, ty) = (a.upload(&[3.5, 100.0]).unwrap(), a.upload(&[4.5, 7.0]).unwrap());
        let targets = DeviceTargets::points(&tx, &ty);
        let surface = index.interpolate::<f32>(&mut on_c, targets, &params).unwrap();
        drop((index, tx, ty));
        let surface = surface.to_host().unwrap();
        assert!(surface.values[0].iter().all(|v| (1.0..=18.0).contains(v)));
    }
}

#[test]
fn resident_parts() {
    let x: Vec<f64> = (0..300).map(f64::from).collect();
    let extent = Extent::of(&Points { x: &x, y: &x, values: &[&x] }).unwrap();
    let (a, b, c) = (gpu(), gpu(), gpu());
    let (mut on_b, mut on_c) = (Workspace::new(&b).unwrap(), Workspace::new(&c).unwrap());
    let (params, mut total) = (Params::default(), DeviceTotal::new());
    for _ in 0..3 {
        let (x, y, z) = (a.upload(&x).unwrap(), b.upload(&x).unwrap(), c.upload(&x).unwrap());
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent.clone()).unwrap();
        let index = Index::new(&mut on_b, &points, &params).unwrap();
        let (tx, ty) = (a.upload(&[3.5, 100.0]).unwrap(), a.upload(&[4.5, 7.0]).unwrap());
        let targets = DeviceTargets::points(&tx, &ty);
        let part = index.part::<f32>(&mut on_c, targets, &params).unwrap();
        drop((x, y, z, index, tx, ty));
        total.add(&mut on_b, &part).unwrap();
    }
    let surface = total.surface::<f32>(&mut on_c, &params).unwrap();
    drop(total);
    let surface = surface.to_host().unwrap();
    assert!(surface.values[0].iter().all(|v| (0.0..=299.0).contains(v)));
}
