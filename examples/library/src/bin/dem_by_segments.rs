//! A DEM made segment by segment of a quadtree, beside the DEM of all points: see `library::segments`.

use gpu_core::{Device, DeviceChoice, GridSpec, Points};
use library::segments::{Params, dem, differing};
use nni_grid::{Input, interpolate};

fn main() -> library::Result<()> {
    let side = 256.0;
    let [x, y] = library::spread(40_000, [side, side]);
    let height = |(x, y): (&f64, &f64)| 420.0 + 12.0 * (x / 31.0).sin() * (y / 23.0).cos();
    let z: Vec<f64> = x.iter().zip(&y).map(height).collect();
    let points = Points { x: &x, y: &y, values: &[&z] };
    let grid = GridSpec::new(0.0, side, 1.0, 256, 256)?;
    let params = Params::new(grid, 500);

    let device = Device::open(DeviceChoice::Auto)?;
    let by_segments = match &device {
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => {
            let mut workspace = gpu_scan::gpu::Workspace::new(gpu)?;
            let there = gpu_core::UploadedPoints::new(gpu, &points)?;
            let there = there.points(gpu_core::Extent::of(&points)?)?;
            library::segments::gpu::dem(&mut workspace, &there, &params)?.to_host()?
        }
        _ => dem(points, &params)?,
    };
    let whole = interpolate(&device, Input::new(points, grid), &params.interpolation)?;
    let others = differing(by_segments.view(), whole.values[0].view(), 1e-3);
    println!(
        "on {}: {} of {} cells differ from the DEM of all points by more than 1 mm",
        device.name(),
        others.len(),
        grid.cells()
    );
    Ok(())
}
