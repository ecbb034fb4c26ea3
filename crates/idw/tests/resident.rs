//! Points and targets that stay on the device.
#![cfg(feature = "cuda")]

mod common;

use common::{Cloud, devices};
use gpu_core::{Device, Gpu, GridSpec};
use idw::gpu::{DeviceTargets, Index, interpolate_resident, upload};
use idw::{Adaptive, Error, Params, Targets};

/// The process's GPU: the software device, or the card.
fn gpu() -> Gpu {
    let gpu = devices().into_iter().find_map(|device| match device {
        Device::Gpu(gpu) => Some(gpu),
        _ => None,
    });
    gpu.unwrap()
}

#[test]
fn targets_and_points_of_the_other_geometry_are_refused() {
    let gpu = gpu();
    let cloud = Cloud::random(50, [0.0, 0.0, 10.0, 10.0], 1);
    let grid = Targets::Grid(GridSpec::new(0.0, 10.0, 1.0, 10, 10).unwrap());
    for base in [Params::default(), Params::nearest(3)] {
        for sphere in [false, true] {
            let params = Params { geographic: sphere, ..base };
            let other = Params { geographic: !sphere, ..base };
            let index = |params: &Params| {
                let points = cloud.with(|points| upload(&gpu, points, params)).unwrap();
                Index::new(&gpu, points, params).unwrap()
            };
            for at in [cloud.targets(), grid] {
                let wrong = DeviceTargets::new(&gpu, at, !sphere).unwrap();
                let right = DeviceTargets::new(&gpu, at, sphere).unwrap();
                let run = |index: &Index, targets: &DeviceTargets| {
                    let done = interpolate_resident::<f32>(&gpu, index, targets, &params);
                    gpu.synchronize().unwrap();
                    done.map(|_| ())
                };
                let error = run(&index(&params), &wrong).unwrap_err();
                assert!(matches!(error, Error::Conflict { option: "geographic", .. }), "{error}");
                let error = run(&index(&other), &right).unwrap_err();
                assert!(matches!(error, Error::Conflict { option: "geographic", .. }), "{error}");
                assert_eq!(run(&index(&params), &right), Ok(()));
            }
        }
    }
}

#[test]
fn inside_a_capture_it_is_refused_and_works_as_before_after_it() {
    let gpu = gpu();
    let cloud = Cloud::random(300, [0.0, 0.0, 10.0, 10.0], 2);
    let adaptive = Params { adaptive: Some(Adaptive::default()), ..Params::default() };
    for params in [Params::default(), Params::nearest(5), adaptive] {
        let points = cloud.with(|points| upload(&gpu, points, &params)).unwrap();
        let index = Index::new(&gpu, points, &params).unwrap();
        let targets = DeviceTargets::new(&gpu, cloud.targets(), false).unwrap();
        let run = || interpolate_resident::<f32>(&gpu, &index, &targets, &params);
        let graph = gpu.capture::<Error>(|| run().map(drop));
        let is_refused = |e: &Error| matches!(e, Error::Core(gpu_core::Error::Captured { .. }));
        assert!(graph.as_ref().is_err_and(is_refused), "{params:?}");
        let values = run().unwrap().values.to_host().unwrap();
        assert!(values.iter().zip(&cloud.z).all(|(v, z)| f64::from(*v) == f64::from(*z as f32)));
    }
}
