//! Points and targets that stay on the device.
#![cfg(feature = "cuda")]

mod common;

use common::{Cloud, devices};
use gpu_core::{Device, Gpu, GridSpec};
use idw::gpu::{DeviceTargets, Index, interpolate_resident, upload};
use idw::{Error, Params, Targets};

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
fn an_interpolation_can_be_captured_and_launched_again() {
    let gpu = gpu();
    let cloud = Cloud::random(3000, [0.0, 0.0, 10.0, 10.0], 2);
    let at = Cloud::random(200, [0.0, 0.0, 10.0, 10.0], 3);
    let direct = Params { kernel: idw::Kernel::Direct, ..Params::default() };
    let sphere = Params { geographic: true, ..Params::default() };
    let grid = Targets::Grid(GridSpec::new(0.0, 10.0, 1.0, 10, 10).unwrap());
    for params in [direct, Params::nearest(5), Params::nearest(40), sphere] {
        for targets in [at.targets(), grid] {
            let points = cloud.with(|points| upload(&gpu, points, &params)).unwrap();
            let index = Index::new(&gpu, points, &params).unwrap();
            let targets = DeviceTargets::new(&gpu, targets, params.geographic).unwrap();
            let wanted = interpolate_resident::<f32>(&gpu, &index, &targets, &params).unwrap();
            let wanted = wanted.values.to_host().unwrap();
            let mut kept = None;
            let graph = gpu.capture::<Error>(|| {
                kept = Some(interpolate_resident::<f32>(&gpu, &index, &targets, &params)?);
                Ok(())
            });
            let graph = graph.unwrap();
            for _ in 0..3 {
                // SAFETY: what the graph uses, and what it gives, lives until after the last launch.
                unsafe { graph.launch() }.unwrap();
            }
            assert_eq!(kept.unwrap().values.to_host().unwrap(), wanted, "{params:?}");
        }
    }
}
