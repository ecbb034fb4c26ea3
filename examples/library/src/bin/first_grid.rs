//! The README's example: five points become a grid.

use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, Points};
use nni_grid::{Input, Params, interpolate};

fn main() -> Result<(), nni_grid::Error> {
    let (x, y) = ([0.5, 9.5, 0.5, 9.5, 5.0], [0.5, 0.5, 9.5, 9.5, 5.0]);
    let z = [1.0, 2.0, 3.0, 4.0, 2.5];
    let grid = GridSpec::covering(Bounds::of(&x, &y).unwrap(), 1.0)?;
    let params = Params::new().max_distance(20.0);
    let device = Device::open(DeviceChoice::Auto)?;
    let points = Points { x: &x, y: &y, values: &[&z] };
    let dem = interpolate(&device, Input::new(points, grid), &params)?;
    println!("{} x {} cells on {}", dem.grid.width, dem.grid.height, device.name());
    let heights = &dem.values[0]; // one raster for each column of values
    assert_eq!(heights.get(0, 0), Some(&3.0)); // row 0 is the north: the point (0.5, 9.5)
    Ok(())
}
