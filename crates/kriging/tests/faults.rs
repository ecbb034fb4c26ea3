//! Driver calls that fail at every place of a call: a typed error, nothing leaked, and everything right afterwards.
#![cfg(feature = "cuda")]

use gpu_core::{Column, DevicePoints, Extent, GridSpec, Points};
use kriging::gpu::{Input, Workspace, interpolate};
use kriging::{Error, Model, Params, Variogram};
use testing::faults::everywhere;
use testing::{Cloud, bits64, gpu};

/// What a user holds.
struct State {
    workspace: Workspace,
    columns: [Column<f64>; 3],
}

#[test]
fn every_failure_is_an_error_and_the_next_call_is_right() {
    let gpu = gpu();
    let cloud = Cloud::uniform(90, [0.0, 0.0, 50.0, 50.0], 91, |x, y| 10.0 + x + y);
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let extent = Extent::of(&points).unwrap();
    let grid = GridSpec::new(0.0, 50.0, 20.0, 2, 2).unwrap();
    let variogram = Variogram::new(0.5).structure(Model::Gaussian, 2.0, 30.0);
    for most in [6, 20] {
        let params = Params::new(variogram.clone()).max_points(most);
        let make = || {
            let columns = [gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?, gpu.upload(&cloud.z)?];
            Ok::<_, Error>(State { workspace: Workspace::new(&gpu)?, columns })
        };
        let call = |state: &mut State| {
            let [x, y, z] = &state.columns;
            let points = DevicePoints::new(x, y, [z.into()], extent.clone())?;
            let input = Input::new(points, grid);
            let surface = interpolate(&mut state.workspace, &input, &params)?.to_host()?;
            Ok::<_, Error>((bits64(&surface.values[0]), bits64(&surface.variances)))
        };
        if let Some(failures) = everywhere(&gpu, make, call) {
            assert!(failures.allocations > 8 && failures.launches > 8, "{failures:?}");
            assert!(failures.copies > 0 && failures.fills > 0, "{failures:?}");
        }
    }
}
