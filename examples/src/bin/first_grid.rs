//! The README's example: five points become a grid.

use gpu_core::{Bounds, Device, DeviceChoice, GridSpec};
use nni_grid::{Params, Points, interpolate};

fn main() -> Result<(), nni_grid::Error> {
    let (x, y) = ([0.5, 9.5, 0.5, 9.5, 5.0], [0.5, 0.5, 9.5, 9.5, 5.0]);
    let z = [1.0, 2.0, 3.0, 4.0, 2.5];
    let grid = GridSpec::covering(Bounds::of(&x, &y).unwrap(), 1.0)?;
    let params = Params { query_radius: 20.0, ..Params::new(grid) };
    let device = Device::open(DeviceChoice::Auto)?;
    let dem = interpolate(&device, Points { x: &x, y: &y, z: &z }, &params, &())?;
    println!("{} x {} cells on {}", dem.grid.width, dem.grid.height, device.name());
    assert_eq!(dem.values[0], 3.0); // row 0 is the north: the point (0.5, 9.5)
    Ok(())
}
