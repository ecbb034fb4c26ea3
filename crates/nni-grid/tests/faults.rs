//! Driver calls that fail, one after the other: a typed error, nothing leaked, and the handle and the
//! workspace right afterwards.
#![cfg(feature = "cuda")]

#[path = "all/common.rs"]
mod common;

use common::{bits, layer_bits, random, square};
use gpu_core::{Column, Device, DevicePoints, Extent, Gpu, GridSlice, Slice};
use nni_grid::{Dem, Error, Input, Method, Params, Summary, Weights, gpu, interpolate};
use testing::Cloud;
use testing::faults::everywhere;

/// What of a DEM can be compared.
fn seen(dem: &Dem) -> (Summary, Vec<Vec<u32>>, Option<Vec<u32>>) {
    let values = dem.values.iter().map(|raster| bits(raster.values())).collect();
    (dem.summary, values, layer_bits(&dem.distances))
}

/// What a resident call is given.
struct Resident {
    workspace: gpu::Workspace,
    columns: [Column<f64>; 3],
    mask: Column<u8>,
    extent: Extent,
}

impl Resident {
    fn new(gpu: &Gpu, cloud: &Cloud) -> Result<Self, Error> {
        Ok(Self {
            workspace: gpu::Workspace::new(gpu)?,
            columns: [gpu.upload(&cloud.x)?, gpu.upload(&cloud.y)?, gpu.upload(&cloud.z)?],
            mask: gpu.upload(&[1u8; 144])?,
            extent: cloud.with(|points| Extent::of(&points))?,
        })
    }

    /// The DEM of three columns of values: the points' own coordinates are two of them.
    fn interpolate(&mut self, params: &Params) -> Result<Dem, Error> {
        let [x, y, z] = &self.columns;
        let bounds = self.extent.bounds.unwrap();
        let range = |min, max| gpu_core::ValueRange { min, max };
        let ranges = vec![
            self.extent.ranges[0],
            range(bounds.min_x, bounds.max_x),
            range(bounds.min_y, bounds.max_y),
        ];
        let extent = Extent { bounds: Some(bounds), ranges };
        let points = DevicePoints::new(x, y, [z, x, y].map(Slice::from), extent)?;
        let input =
            gpu::Input::new(points, square(12)).mask(GridSlice::new(&self.mask, square(12))?);
        gpu::interpolate(&mut self.workspace, &input, params)?.to_host()
    }
}

/// Fewer than the launches of an interpolation: the exact method has a kernel for each of its steps.
fn launches(params: &Params) -> u64 {
    if params.method == Method::Exact { 3 } else { 10 }
}

/// Lets the calls of resident interpolations fail; gives how many modules were loaded for the first time.
fn resident(gpu: &Gpu) -> u64 {
    let cloud = random(70, 12.0, 3, |x, y| x * y);
    let wide = Params::on_pixels().query_radius(f64::INFINITY).region_of_influence(f64::INFINITY);
    let ways = [
        Params::on_pixels().distances(true).hull(true),
        wide,
        wide.weights(Weights::SibsonC1).region_of_influence(9.0),
        Params::new().weights(Weights::SibsonC1).distances(true),
        Params::new().hull(true),
    ];
    let failures = ways.iter().filter_map(|params| {
        let call = |state: &mut Resident| state.interpolate(params).map(|dem| seen(&dem));
        let failures = everywhere(gpu, || Resident::new(gpu, &cloud), call)?;
        println!("resident, {:?}, {:?}: {failures:?}", params.method, params.weights);
        assert!(
            failures.allocations > 10
                && failures.launches > launches(params)
                && failures.copies > 3
        );
        Some(failures.module_loads)
    });
    failures.sum()
}

/// The same of interpolations from host to host.
fn host_to_host(gpu: &Gpu) -> u64 {
    let device = Device::Gpu(gpu.clone());
    let cloud = random(90, 12.0, 5, |x, y| x - y);
    let ways = [Params::on_pixels().counts(true), Params::new()];
    let failures = ways.iter().filter_map(|params| {
        let call = |(): &mut ()| {
            let dem = cloud
                .with(|points| interpolate(&device, Input::new(points, square(12)), params))?;
            Ok::<_, Error>((seen(&dem), dem.counts))
        };
        let failures = everywhere(gpu, || Ok(()), call)?;
        println!("host to host, {:?}: {failures:?}", params.method);
        assert!(
            failures.allocations > 10
                && failures.launches > launches(params)
                && failures.copies > 4
        );
        Some(failures.module_loads)
    });
    failures.sum()
}

// One test, since modules stay loaded and can fail only before.
#[test]
fn every_driver_call_may_fail() {
    let gpu = testing::gpu();
    let modules = host_to_host(&gpu) + resident(&gpu);
    assert!(modules > 30 || !gpu.is_software(), "{modules}");
}
