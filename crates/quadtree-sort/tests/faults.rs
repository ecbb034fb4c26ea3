//! Driver calls that fail at every place of a call: a typed error, nothing leaked, and everything right
//! afterwards.
#![cfg(feature = "cuda")]

use gpu_core::{Bounds, Column, Device, Points};
use quadtree_sort::gpu::{
    DeviceIndex, DevicePolygons, DeviceRegions, Workspace, adjacent_leaves, build, leaves_of,
    list_in, nearest, places_of,
};
use quadtree_sort::{Baseline, Error, Method, Outside, Params, Polygons, Regions};
use testing::faults::everywhere;
use testing::{Cloud, gpu};

/// What a user holds.
struct State {
    workspace: Workspace,
    x: Column<f64>,
    y: Column<f64>,
}

fn cloud() -> Cloud {
    Cloud::uniform(150, [0.0, 0.0, 50.0, 30.0], 21, |_, _| 0.0)
}

fn state() -> Result<State, Error> {
    let (gpu, cloud) = (gpu(), cloud());
    let (x, y) = (gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?);
    Ok(State { workspace: Workspace::new(&gpu)?, x, y })
}

#[test]
fn every_failure_of_a_build_is_an_error_and_the_next_one_is_right() {
    let gpu = gpu();
    let bounds = Bounds { min_x: 1.0, min_y: 1.0, max_x: 40.0, max_y: 20.0 };
    for params in [
        Params::new().threshold(10).max_level(3),
        Params::new().method(Method::Baseline(Baseline::LevelSort)).threshold(10).max_level(3),
        Params::new().bounds(bounds).outside(Outside::Skip).threshold(10).max_level(2),
    ] {
        let call =
            |state: &mut State| build(&mut state.workspace, &state.x, &state.y, &params)?.to_host();
        if let Some(failures) = everywhere(&gpu, state, call) {
            assert!(failures.allocations > 8 && failures.launches > 5, "{params:?}: {failures:?}");
            assert!(failures.copies > 2 && failures.fills > 2, "{params:?}: {failures:?}");
        }
    }
}

#[test]
fn every_failure_of_a_build_in_batches_is_an_error_and_the_next_one_is_right() {
    let gpu = gpu();
    let cloud = Cloud::uniform(1500, [0.0, 0.0, 50.0, 30.0], 22, |_, _| 0.0);
    let device = Device::Gpu(gpu.clone());
    let params = Params::new().threshold(200).max_level(3);
    let build = |budget: u64| {
        quadtree_sort::build_within(&device, Points::new(&cloud.x, &cloud.y), &params, budget)
    };
    let Err(Error::Budget { least, .. }) = build(0) else { panic!("no bytes are enough") };
    if let Some(failures) = everywhere(&gpu, || Ok::<_, Error>(()), |_: &mut ()| build(least)) {
        assert!(failures.allocations > 16 && failures.launches > 10, "{failures:?}");
        assert!(failures.copies > 4 && failures.fills > 4, "{failures:?}");
    }
}

#[test]
fn every_failure_of_a_search_is_an_error_and_the_next_one_is_right() {
    let gpu = gpu();
    let mut polygons = Polygons::new();
    polygons.push([[[5.0, 5.0], [30.0, 6.0], [20.0, 25.0]]]).unwrap();
    let call = |state: &mut State| {
        let State { workspace, x, y } = state;
        let tree = build(workspace, &*x, &*y, &Params::new().max_level(4))?;
        let tree = tree.with_values(workspace, "x", &*x)?;
        let polygons = DevicePolygons::upload(workspace.gpu(), &polygons)?;
        let inside = list_in(workspace, &tree, DeviceRegions::Polygons(&polygons))?.to_host()?;
        let index = DeviceIndex::of_tree(workspace, &tree)?;
        let near = nearest(workspace, &index, &*x, &*y, 3)?.to_host()?;
        let leaves = leaves_of(workspace, &tree, &*x, &*y)?;
        let around = adjacent_leaves(workspace, &tree, &leaves, Default::default())?.to_host()?;
        let places = places_of(workspace, &tree, tree.order())?.to_host()?;
        Ok::<_, Error>((inside, near, leaves.to_host()?, around, tree.to_host()?, places))
    };
    if let Some(failures) = everywhere(&gpu, state, call) {
        assert!(failures.allocations > 20 && failures.launches > 15, "{failures:?}");
        assert!(failures.copies > 8 && failures.fills > 5, "{failures:?}");
    }
}

#[test]
fn every_failure_of_a_search_from_the_host_is_an_error_and_the_next_one_is_right() {
    let (gpu, cloud) = (gpu(), cloud());
    let points = Points::new(&cloud.x, &cloud.y);
    let tree = quadtree_sort::build(&Device::Cpu, points, &Params::new()).unwrap();
    let device = Device::Gpu(gpu.clone());
    let window = Bounds { min_x: 5.0, min_y: 5.0, max_x: 20.0, max_y: 20.0 };
    let call = |_: &mut ()| {
        let windows = Regions::Windows(std::slice::from_ref(&window));
        let inside = quadtree_sort::list_in(&device, &tree, windows)?;
        let near = quadtree_sort::nearest(&device, &tree, points, 3)?;
        let leaves = quadtree_sort::leaves_of(&device, &tree, points)?;
        let around =
            quadtree_sort::adjacent_leaves(&device, &tree, &leaves[..9], Default::default())?;
        Ok::<_, Error>((inside, near, leaves, around))
    };
    if let Some(failures) = everywhere(&gpu, || Ok::<_, Error>(()), call) {
        assert!(failures.allocations > 20 && failures.launches > 8, "{failures:?}");
        assert!(failures.copies > 12, "{failures:?}");
    }
}
