//! The regions of stations on the globe, their areas, and the mean of a raster in each: see `library::regions`.

use gpu_core::{Device, DeviceChoice, Points};
use library::regions::{Mesh, equal_area_places, regions};
use sphere_qtm::Level;

/// Mean radius of the Earth in kilometres.
const RADIUS: f64 = 6371.0088;

fn main() -> library::Result<()> {
    let names = ["Quito", "Reykjavik", "Nairobi", "Sydney", "Tokyo", "Denver", "McMurdo"];
    let stations = Points::new(
        &[-78.5, -21.9, 36.8, 151.2, 139.7, -105.0, 166.7],
        &[-0.2, 64.1, -1.3, -33.9, 35.7, 39.7, -77.8],
    );
    let [longitudes, latitudes] = equal_area_places(360, 180);
    // About as warm as it is there, in degrees Celsius.
    let warmth = |latitude: &f64| 30.0 - 55.0 * latitude.to_radians().sin().powi(2);
    let warmth: Vec<f64> = latitudes.iter().map(warmth).collect();
    let places = Points { x: &longitudes, y: &latitudes, values: &[&warmth] };
    let mesh = Mesh::new(Level::new(7)?);

    let device = Device::open(DeviceChoice::Auto)?;
    let found = match &device {
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => {
            use gpu_core::{Extent, UploadedPoints};
            use library::regions::gpu::DeviceMesh;
            let mut workspace = gpu_scan::gpu::Workspace::new(gpu)?;
            let mesh = DeviceMesh::new(gpu, &mesh)?;
            let there = [UploadedPoints::new(gpu, &stations)?, UploadedPoints::new(gpu, &places)?];
            let (stations, places) =
                (there[0].points(Extent::of(&stations)?)?, there[1].points(Extent::of(&places)?)?);
            library::regions::gpu::regions(&mut workspace, &mesh, &stations, &places)?.to_host()?
        }
        _ => regions(&mesh, &stations, &places)?,
    };
    println!("on {}:", device.name());
    for ((name, area), mean) in names.iter().zip(&found.areas).zip(found.means()) {
        println!("{name}: {:.1} million km2, {mean:.1} C", area * RADIUS * RADIUS / 1e6);
    }
    Ok(())
}
