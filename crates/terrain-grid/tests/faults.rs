//! Driver calls that fail, one after the other: each failure is said, leaves everything usable, and leaks
//! nothing.
#![cfg(feature = "cuda")]

use gpu_core::{Device, DeviceGrid, GridSpec, GridView};
use terrain_grid::gpu::{self, Workspace};
use terrain_grid::{
    ContourParams, Error, Ground, Product, ProductParams, SlopeUnit, contours, product,
};
use testing::faults::{Failures, everywhere};

fn grid() -> GridSpec {
    GridSpec::of_pixels(7, 6)
}

fn heights() -> Vec<f32> {
    (0..7 * 6).map(|i| (i as f32 * 0.7).sin() * 3.0).collect()
}

/// Slopes on squares, and in degrees, whose rows are measured first.
fn both_grounds() -> [ProductParams; 2] {
    let slope = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
    [slope, slope.ground(Ground::degrees_of(&grid()))]
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
    let (device, heights) = (Device::Gpu(gpu.clone()), heights());
    let dem = GridView::new(&heights, grid()).unwrap();
    for params in both_grounds() {
        let nothing = || Ok::<_, Error>(());
        let failures = everywhere(&gpu, nothing, |_| {
            Ok(testing::bits(product(&device, dem, &params)?.values()))
        });
        assert_complete(failures, true);
    }
}

#[test]
fn contour_lines_host_to_host() {
    let gpu = testing::gpu();
    let (device, heights) = (Device::Gpu(gpu.clone()), heights());
    let dem = GridView::new(&heights, grid()).unwrap();
    let failures = everywhere(
        &gpu,
        || Ok::<_, Error>(()),
        |_| contours(&device, dem, &ContourParams::every(2.0)),
    );
    assert!(!contours(&device, dem, &ContourParams::every(2.0)).unwrap().is_empty());
    assert_complete(failures, true);
}

#[test]
fn resident() {
    let gpu = testing::gpu();
    let heights = heights();
    let make = || {
        let dem = DeviceGrid::upload(&gpu, GridView::new(&heights, grid())?)?;
        Ok::<_, Error>((Workspace::new(&gpu)?, dem))
    };
    for params in both_grounds() {
        let failures = everywhere(&gpu, make, |(workspace, dem)| {
            Ok(*gpu::product(workspace.gpu(), &*dem, &params)?.grid())
        });
        assert_complete(failures, false);
    }
    let failures = everywhere(&gpu, make, |(workspace, dem)| {
        gpu::contours(workspace, &*dem, &ContourParams::at([0.5]))
    });
    assert_complete(failures, true);
}
