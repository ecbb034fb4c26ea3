//! Driver calls that fail, one after the other: each failure is said, leaves everything usable, and leaks nothing.
#![cfg(feature = "cuda")]

#[path = "all/common.rs"]
mod common;

use ccq_tree::gpu::{self, Condition, Workspace};
use ccq_tree::{Connectivity, Error, Params, Query, Sum, build, build_forest};
use common::fractal;
use gpu_core::{Device, DeviceGrid};
use testing::faults::{Failures, everywhere};

fn params() -> Params {
    Params::new().bins([0.0, 30.0]).nodata(5.0)
}

#[test]
fn every_failure_of_a_search_is_said() {
    let gpu = testing::gpu();
    let raster = fractal::<i16>(100, 70, 4, 0.6);
    let make = || {
        let mut workspace = Workspace::new(&gpu)?;
        let resident = DeviceGrid::upload(&gpu, raster.view())?;
        let tree = gpu::build(&mut workspace, &resident, &params())?;
        Ok::<_, Error>((workspace, resident, tree))
    };
    let failures = everywhere(&gpu, make, |(workspace, resident, tree)| {
        let condition = [Condition::new(tree).raster(&*resident).range(10.0, 50.0)];
        let counted = gpu::count(workspace, &condition, &Query::new())?.to_host()?;
        let mask = gpu::mask(workspace, &condition, &Query::new())?.column().to_host()?;
        let runs = gpu::runs(workspace, &condition, &Query::new())?;
        let lie = gpu::statistics(workspace, tree, &Query::new())?;
        Ok((gpu::quadrants(workspace, &condition, &Query::new())?, counted, mask, runs, lie))
    });
    if let Some(Failures { allocations, launches, .. }) = failures {
        assert!(allocations >= 5 && launches >= 5, "{allocations} {launches}");
    }
}

#[test]
fn every_failure_of_regions_and_fields_is_said() {
    let gpu = testing::gpu();
    let raster = fractal::<i16>(100, 70, 4, 0.6);
    let make = || {
        let mut workspace = Workspace::new(&gpu)?;
        let resident = DeviceGrid::upload(&gpu, raster.view())?;
        let tree = gpu::build(&mut workspace, &resident, &Params::new().nodata(5.0))?;
        Ok::<_, Error>((workspace, tree))
    };
    let failures = everywhere(&gpu, make, |(workspace, tree)| {
        let condition = [Condition::new(tree).range(-20.0, 50.0)];
        let query = Query::new();
        let regions = gpu::regions(workspace, &condition, &query, Connectivity::Eight)?;
        let fields = gpu::fields(workspace, tree, Sum)?;
        Ok((regions, fields.total(workspace, &condition, &query)?, fields.to_host()?))
    });
    if let Some(Failures { allocations, launches, .. }) = failures {
        assert!(allocations >= 5 && launches >= 5, "{allocations} {launches}");
    }
}

#[test]
fn every_failure_of_a_resident_build_is_said() {
    let gpu = testing::gpu();
    let raster = fractal::<i16>(100, 70, 4, 0.6);
    let make = || {
        let workspace = Workspace::new(&gpu)?;
        Ok::<_, Error>((workspace, DeviceGrid::upload(&gpu, raster.view())?))
    };
    let failures = everywhere(&gpu, make, |(workspace, resident)| {
        let tree = gpu::build(workspace, &*resident, &params())?.to_host()?;
        let bounded = gpu::build_with_capacity(workspace, &*resident, &params(), 20_000)?;
        let forest = gpu::build_forest(workspace, &*resident, 64, &params())?;
        Ok((tree, bounded.finish()?.to_host()?, forest.merge(workspace)?.to_host()?))
    });
    if let Some(Failures { allocations, launches, .. }) = failures {
        assert!(allocations >= 10 && launches >= 10, "{allocations} {launches}");
    }
}

#[test]
fn every_failure_of_a_build_from_the_host_is_said() {
    let gpu = testing::gpu();
    let raster = fractal::<i16>(100, 70, 4, 0.6);
    let device = Device::Gpu(gpu.clone());
    let failures = everywhere(
        &gpu,
        || Ok::<_, Error>(()),
        |()| {
            let tree = build(&device, raster.view(), &params())?;
            Ok((tree, build_forest(&device, raster.view(), 64, &params())?))
        },
    );
    if let Some(Failures { allocations, copies, .. }) = failures {
        assert!(allocations >= 10 && copies >= 4, "{allocations} {copies}");
    }
}
