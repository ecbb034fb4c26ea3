//! Points and targets that lie on the device. The values are the same as from the host, also in captured graphs and on
//! columns of another stream. Whatever lies in memory, nothing outside is touched.

use gpu_core::{Column, Device, DevicePoints, Extent, Gpu, GridSpec, Points};
use kriging::gpu::{DeviceTargets, Index, Input, Workspace, interpolate};
use kriging::{Error, Params};
use testing::{Cloud, bits64, gpu};

use crate::common::variograms;

const SQUARE: [f64; 4] = [0.0, 0.0, 80.0, 80.0];

/// Points on the device.
struct Resident {
    x: Column<f64>,
    y: Column<f64>,
    z: Column<f64>,
    extent: Extent,
}

impl Resident {
    fn new(gpu: &Gpu, cloud: &Cloud) -> Self {
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
        Self { x, y, z, extent: cloud.with(|points| Extent::of(&points)).unwrap() }
    }

    fn points(&self) -> DevicePoints<'_> {
        let values = [(&self.z).into(), (&self.x).into()];
        let mut extent = self.extent.clone();
        extent.ranges.push(extent.ranges[0]);
        DevicePoints::new(&self.x, &self.y, values, extent).unwrap()
    }

    fn targets(&self) -> DeviceTargets<'_> {
        DeviceTargets::points(&self.x, &self.y)
    }
}

fn cloud(count: usize, seed: u64) -> Cloud {
    Cloud::uniform(count, SQUARE, seed, |x, y| 10.0 + (x / 7.0).sin() + y)
}

/// Every way of interpolating.
fn all_params() -> Vec<Params> {
    let [a, b] = [0, 3].map(|i| Params::new(variograms()[i].clone()));
    vec![
        a.clone().max_points(8),
        b.clone().max_points(12),
        a.clone().max_points(16).radius(9.0).min_points(2),
        b.clone().max_points(20),
        b.max_points(64),
    ]
}

#[test]
fn values_are_those_of_the_call_from_the_host() {
    let gpu = gpu();
    let device = Device::Gpu(gpu.clone());
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (cloud, places) = (cloud(700, 51), cloud(90, 52));
    let grid = GridSpec::new(-3.0, 80.0, 7.0, 15, 10).unwrap();
    let (resident, at) = (Resident::new(&gpu, &cloud), Resident::new(&gpu, &places));
    let index = Index::new(&mut workspace, &resident.points()).unwrap();
    for params in all_params() {
        let from_host = gpu_core::Targets::Points { x: &places.x, y: &places.y };
        for (from_host, on_device) in [(from_host, at.targets()), (grid.into(), grid.into())] {
            let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z, &cloud.x] };
            let input = kriging::Input::new(points, from_host);
            let wanted = kriging::interpolate(&device, input, &params).unwrap();
            let found = index.interpolate(&mut workspace, on_device, &params).unwrap();
            let found = found.to_host().unwrap();
            for column in 0..2 {
                assert_eq!(bits64(&found.values[column]), bits64(&wanted.values[column]));
            }
            assert_eq!(bits64(&found.variances), bits64(&wanted.variances), "{params:?}");
            assert_eq!((found.grid, found.summary), (wanted.grid, wanted.summary));
        }
    }
    let short = gpu.upload(&[1.0]).unwrap();
    let odd = DeviceTargets::points(&resident.x, &short);
    let error = index.interpolate(&mut workspace, odd, &all_params()[0]).unwrap_err();
    let what = "column of targets' y";
    assert_eq!(error, Error::Core(gpu_core::Error::Length { what, expected: 700, found: 1 }));
}

#[test]
fn a_graph_holds_the_call() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let cloud = cloud(300, 53);
    let resident = Resident::new(&gpu, &cloud);
    let grid = GridSpec::new(0.0, 80.0, 9.0, 9, 9).unwrap();
    for params in all_params() {
        let input = Input::new(resident.points(), grid);
        let wanted = interpolate(&mut workspace, &input, &params).unwrap().to_host().unwrap();
        let mut surface = None;
        let graph = gpu.capture(|| {
            surface = Some(interpolate(&mut workspace, &input, &params)?);
            Ok::<_, Error>(())
        });
        let (graph, surface) = (graph.unwrap(), surface.unwrap());
        for _ in 0..2 {
            // SAFETY: the points are where they were.
            unsafe { graph.launch().unwrap() };
            let found = surface.to_host().unwrap();
            assert_eq!(bits64(&found.values[0]), bits64(&wanted.values[0]));
            assert_eq!(bits64(&found.variances), bits64(&wanted.variances));
        }
    }
}

#[test]
fn columns_of_other_streams() {
    let (a, b, c) = (gpu(), gpu(), gpu());
    let (mut on_b, mut on_c) = (Workspace::new(&b).unwrap(), Workspace::new(&c).unwrap());
    let cloud = cloud(300, 54);
    let extent = cloud.with(|points| Extent::of(&points)).unwrap();
    for params in all_params() {
        let (x, y) = (a.upload(&cloud.x).unwrap(), b.upload(&cloud.y).unwrap());
        let z = c.upload(&cloud.z).unwrap();
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent.clone()).unwrap();
        let index = Index::new(&mut on_b, &points).unwrap();
        drop((x, y, z));
        let (tx, ty) = (a.upload(&[3.5, 40.0]).unwrap(), a.upload(&[4.5, 7.0]).unwrap());
        let targets = DeviceTargets::points(&tx, &ty);
        let surface = index.interpolate(&mut on_c, targets, &params).unwrap();
        drop((index, tx, ty));
        let surface = surface.to_host().unwrap();
        assert!(surface.values[0].iter().all(|v| v.is_nan() || (0.0..=100.0).contains(v)));
    }
}

#[test]
fn whatever_lies_in_memory_nothing_outside_is_touched() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let good = cloud(500, 55);
    let bounds = Resident::new(&gpu, &good).extent;
    for hostile in [f64::NAN, f64::INFINITY, -1e300, 1e-310] {
        let mut cloud = good.clone();
        for i in (0..500).step_by(3) {
            cloud.x[i] = hostile;
            cloud.z[i + 1] = hostile;
        }
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
        let resident = Resident { x, y, z, extent: bounds.clone() };
        for params in all_params() {
            // The software device reports what is read or written elsewhere.
            let input = Input::new(resident.points(), resident.targets());
            let surface = interpolate(&mut workspace, &input, &params).unwrap().to_host().unwrap();
            assert_eq!(surface.variances.len(), 500);
        }
    }
}
