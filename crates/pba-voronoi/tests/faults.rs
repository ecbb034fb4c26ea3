//! Driver calls that fail, one after the other: each failure is said, leaves everything usable, and leaks
//! nothing.
#![cfg(feature = "cuda")]

use gpu_core::{Device, DeviceGrid, GridSpec};
use pba_voronoi::gpu;
use pba_voronoi::{Baseline, Error, Globe, Input, Method, Params, Sites, geodesic, transform};
use testing::faults::{Failures, everywhere};

const WIDTH: u32 = 41;
const HEIGHT: u32 = 23;

fn mask() -> Vec<u8> {
    (0..WIDTH * HEIGHT).map(|p| u8::from(p % 53 == 7)).collect()
}

/// Every output but labels.
fn all() -> Params {
    let all = Params::new().nearest().coordinates().squared_distance().distance();
    all.distance_f64().signed_distance().value()
}

/// Failures of everything that the call does.
fn assert_complete(failures: Option<Failures>, copies: bool) {
    let Some(failures) = failures else { return };
    assert!(failures.allocations > 0 && failures.launches > 0, "{failures:?}");
    assert_eq!(failures.copies > 0, copies, "{failures:?}");
}

/// The bits of all outputs.
fn bits(diagram: &pba_voronoi::Diagram) -> Vec<Vec<u64>> {
    let pixels = diagram.grid.cells() as usize;
    let integers = |raster: &Option<pba_voronoi::Integers>| -> Vec<u64> {
        let raster = raster.as_ref().unwrap();
        (0..pixels).map(|p| raster.get(p).unwrap_or(u64::MAX)).collect()
    };
    let floats = |raster: &Option<gpu_core::Grid<f32>>| -> Vec<u64> {
        let values = raster.as_ref().unwrap().values();
        testing::bits(values).into_iter().map(u64::from).collect()
    };
    vec![
        integers(&diagram.nearest),
        integers(&diagram.squared_distance),
        floats(&diagram.distance),
        floats(&diagram.signed_distance),
        floats(&diagram.value),
        testing::bits64(diagram.distance_f64.as_ref().unwrap().values()),
    ]
}

#[test]
fn host_to_host() {
    let gpu = testing::gpu();
    let device = Device::Gpu(gpu.clone());
    let (mask, grid) = (mask(), GridSpec::of_pixels(WIDTH, HEIGHT));
    let values: Vec<f32> = (0..grid.cells()).map(|p| p as f32).collect();
    let excluded = vec![0; mask.len()];
    for method in [Method::Monotone, Method::Baseline(Baseline::ScanPrune)] {
        let input = Input::new(Sites::Mask(&mask), grid).values(&values).excluded(&excluded);
        let params = all().method(method);
        let call = |_: &mut ()| Ok(bits(&transform(&device, &input, &params)?));
        assert_complete(everywhere(&gpu, || Ok::<_, Error>(()), call), true);
    }
}

#[test]
fn listed_sites_host_to_host() {
    let gpu = testing::gpu();
    let device = Device::Gpu(gpu.clone());
    let sites = Sites::List { columns: &[3, 9, 3], rows: &[1, 20, 1] };
    let input = Input::new(sites, GridSpec::of_pixels(WIDTH, HEIGHT)).values(&[1.0, 2.0, 3.0]);
    let params = all().spacing(1.0, 2.0);
    let call = |_: &mut ()| Ok(bits(&transform(&device, &input, &params)?));
    assert_complete(everywhere(&gpu, || Ok::<_, Error>(()), call), true);
}

#[test]
fn on_the_globe_host_to_host() {
    let gpu = testing::gpu();
    let device = Device::Gpu(gpu.clone());
    let (mask, grid) = (mask(), GridSpec::of_pixels(WIDTH, HEIGHT));
    let excluded = vec![0; mask.len()];
    let input = Input::new(Sites::Mask(&mask), grid).excluded(&excluded);
    let globe = Globe::new([-180.0, 90.0], [360.0 / 41.0, 180.0 / 23.0]);
    let params = Params::new().nearest().distance().signed_distance().max_distance(1e6);
    let call = |_: &mut ()| {
        let diagram = geodesic(&device, &input, &globe, &params)?;
        let nearest = diagram.nearest.unwrap();
        let floats = |raster: Option<gpu_core::Grid<f32>>| testing::bits(raster.unwrap().values());
        let sites: Vec<Option<u64>> = (0..mask.len()).map(|p| nearest.get(p)).collect();
        Ok((sites, floats(diagram.distance), floats(diagram.signed_distance)))
    };
    assert_complete(everywhere(&gpu, || Ok::<_, Error>(()), call), true);
}

#[test]
fn resident() {
    let gpu = testing::gpu();
    let make = || {
        let mask =
            DeviceGrid::from_column(gpu.upload(&mask())?, GridSpec::of_pixels(WIDTH, HEIGHT))?;
        Ok::<_, Error>((gpu.clone(), mask))
    };
    // What reads the result is not what is tested: it stays on the device.
    let failures = everywhere(&gpu, make, |(gpu, mask)| {
        let input: gpu::Input = gpu_core::GridSlice::from(&*mask).into();
        let params = Params::new().nearest().distance();
        let diagram = gpu::transform(gpu, &input, &params)?;
        Ok((diagram.nearest.is_some(), *diagram.distance.unwrap().grid()))
    });
    assert_complete(failures, false);
}

#[test]
fn nearest_sites() {
    let gpu = testing::gpu();
    let make = || {
        let mask =
            DeviceGrid::from_column(gpu.upload(&mask())?, GridSpec::of_pixels(WIDTH, HEIGHT))?;
        Ok::<_, Error>((gpu.clone(), mask))
    };
    let failures =
        everywhere(&gpu, make, |(gpu, mask)| Ok(*gpu::nearest_sites(gpu, &*mask)?.grid()));
    assert_complete(failures, false);
}
