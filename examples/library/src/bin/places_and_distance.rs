//! The distance to where a DEM is between 420 and 430 metres high, and steeper than 5 degrees: see `library::places`.

use gpu_core::{Device, DeviceChoice, Grid, GridSpec};
use library::places::{Asked, distance};

fn main() -> library::Result<()> {
    let grid = GridSpec::new(0.0, 2560.0, 10.0, 320, 256)?;
    let cells = (0..grid.height).flat_map(|row| (0..grid.width).map(move |column| (column, row)));
    let height = |(column, row): (u32, u32)| {
        let (x, y) = grid.cell_centre(column, row);
        (400.0 + 40.0 * (x / 400.0).sin() * (y / 300.0).cos() + 0.01 * x) as f32
    };
    let dem = Grid::new(cells.map(height).collect(), grid)?;
    let asked = Asked { heights: [420.0, 430.0], slope: 5.0 };

    let device = Device::open(DeviceChoice::Auto)?;
    let distance = match &device {
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => {
            let mut workspace = gpu_scan::gpu::Workspace::new(gpu)?;
            let there = gpu_core::DeviceGrid::upload(gpu, dem.view())?;
            library::places::gpu::distance(&mut workspace, (&there).into(), asked)?.to_host()?
        }
        _ => distance(dem.view(), asked)?,
    };
    let found = distance.values().iter().filter(|&&distance| distance == 0.0).count();
    let farthest = distance.values().iter().fold(0.0, |most: f32, &distance| most.max(distance));
    println!("on {}: {found} cells, and nowhere farther than {farthest} m from one", device.name());
    Ok(())
}
