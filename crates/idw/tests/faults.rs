//! Driver calls that fail at every place of a call: a typed error, nothing leaked, and everything right
//! afterwards.
#![cfg(feature = "cuda")]

use gpu_core::{Column, DevicePoints, Extent, GridSpec, Points};
use idw::gpu::{DeviceTotal, Input, Workspace, interpolate, part};
use idw::{Adaptive, Error, Method, Params};
use testing::faults::everywhere;
use testing::{Cloud, bits, gpu};

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
    let all = Params::default();
    for params in [
        all.statistics(true),
        all.method(Method::Expansion),
        Params::nearest(6).adaptive(Adaptive::default()),
        all.radius(9.0).geographic(true),
    ] {
        let make = || {
            let columns = [gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?, gpu.upload(&cloud.z)?];
            Ok::<_, Error>(State { workspace: Workspace::new(&gpu)?, columns })
        };
        let call = |state: &mut State| {
            let [x, y, z] = &state.columns;
            let points = DevicePoints::new(x, y, [z.into()], extent.clone())?;
            let input = Input::new(points, grid);
            let surface = interpolate::<f32>(&mut state.workspace, &input, &params)?.to_host()?;
            Ok::<_, Error>(bits(&surface.values[0]))
        };
        if let Some(failures) = everywhere(&gpu, make, call) {
            assert!(failures.allocations > 8 && failures.launches > 8, "{params:?}: {failures:?}");
            assert!(failures.copies > 0 && failures.fills > 0, "{params:?}: {failures:?}");
        }
    }
}

#[test]
fn a_failure_in_a_part_is_an_error_and_the_next_total_is_right() {
    let gpu = gpu();
    let cloud = Cloud::uniform(90, [0.0, 0.0, 50.0, 50.0], 92, |x, y| 10.0 + x + y);
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let extent = Extent::of(&points).unwrap();
    let grid = GridSpec::new(0.0, 50.0, 20.0, 2, 2).unwrap();
    let params = Params::default();
    let make = || {
        let columns = [gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?, gpu.upload(&cloud.z)?];
        Ok::<_, Error>(State { workspace: Workspace::new(&gpu)?, columns })
    };
    let call = |state: &mut State| {
        let mut total = DeviceTotal::new();
        let State { workspace, columns: [x, y, z] } = state;
        for _ in 0..2 {
            let points = DevicePoints::new(&*x, &*y, [(&*z).into()], extent.clone())?;
            let of_part = part::<f32>(workspace, &Input::new(points, grid), &params)?;
            total.add(workspace, &of_part)?;
        }
        Ok::<_, Error>(bits(&total.surface::<f32>(workspace, &params)?.to_host()?.values[0]))
    };
    if let Some(failures) = everywhere(&gpu, make, call) {
        assert!(failures.allocations > 8 && failures.launches > 8, "{failures:?}");
        assert!(failures.copies > 0 && failures.fills > 0, "{failures:?}");
    }
}
