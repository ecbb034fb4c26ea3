//! Driver calls that fail, one after the other: each failure is said, leaves everything usable, and leaks
//! nothing.
#![cfg(feature = "cuda")]

use gpu_core::{Device, DevicePoints, Extent, Points};
use sphere_qtm::gpu::{self, DeviceShapes};
use sphere_qtm::{
    Baseline, Error, Level, LonLat, Method, Params, Shape, Shapes, cells_of_points, voronoi,
    voronoi_of_shapes,
};
use testing::faults::{Failures, everywhere};

const X: [f64; 5] = [0.0, 100.0, -120.0, 33.0, 34.0];
const Y: [f64; 5] = [10.0, -20.0, 80.0, -70.0, 5.0];

fn level() -> Level {
    Level::new(2).unwrap()
}

/// Whether everything that the call does failed once.
fn assert_complete(failures: Option<Failures>, copies: bool) {
    let Some(failures) = failures else { return };
    assert!(failures.allocations > 0 && failures.launches > 0, "{failures:?}");
    assert_eq!(failures.copies > 0, copies, "{failures:?}");
}

#[test]
fn host_to_host() {
    let gpu = testing::gpu();
    let (device, points) = (Device::Gpu(gpu.clone()), Points::new(&X, &Y));
    let nothing = || Ok::<_, Error>(());
    for method in [Method::Pruned, Method::Baseline(Baseline::Registers)] {
        let params = Params::new(level()).method(method).distance(true);
        let failures = everywhere(&gpu, nothing, |_| voronoi(&device, &points, &params));
        assert_complete(failures, true);
    }
    let failures = everywhere(&gpu, nothing, |_| cells_of_points(&device, &points, level()));
    assert_complete(failures, true);
}

#[test]
fn resident() {
    let gpu = testing::gpu();
    let make = || {
        let columns = (gpu.upload(&X)?, gpu.upload(&Y)?);
        Ok::<_, Error>((gpu.clone(), columns))
    };
    let extent = Extent::of(&Points::new(&X, &Y)).unwrap();
    for method in [Method::Pruned, Method::Baseline(Baseline::Registers)] {
        let params = Params::new(level()).method(method).distance(true);
        let failures = everywhere(&gpu, make, |(gpu, (x, y))| {
            let sites = DevicePoints::new(&*x, &*y, [], extent.clone())?;
            Ok::<_, Error>(gpu::voronoi(gpu, &sites, &params)?.nearest.len())
        });
        assert_complete(failures, false);
    }
    let failures = everywhere(&gpu, make, |(gpu, (x, y))| {
        Ok::<_, Error>(gpu::cells_of_points(gpu, &*x, &*y, level())?.len())
    });
    assert_complete(failures, false);
}

fn shapes() -> Shapes {
    let places = X.iter().zip(&Y).map(|(&x, &y)| LonLat::new(x, y).unwrap());
    Shapes::new(&[Shape::Line(places.clone().collect()), Shape::Polygon(vec![places.collect()])])
        .unwrap()
}

#[test]
fn shapes_from_host_to_host_and_resident() {
    let gpu = testing::gpu();
    let (device, shapes) = (Device::Gpu(gpu.clone()), shapes());
    let nothing = || Ok::<_, Error>(());
    let make = || Ok::<_, Error>((gpu.clone(), DeviceShapes::new(&gpu, &shapes)?));
    for method in [Method::Pruned, Method::Baseline(Baseline::Global)] {
        let params = Params::new(level()).method(method).distance(true);
        let failures = everywhere(&gpu, nothing, |_| voronoi_of_shapes(&device, &shapes, &params));
        assert_complete(failures, true);
        let failures = everywhere(&gpu, make, |(gpu, resident)| {
            Ok::<_, Error>(gpu::voronoi_of_shapes(gpu, resident, &params)?.nearest.len())
        });
        assert_complete(failures, false);
    }
}
