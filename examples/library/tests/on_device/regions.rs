//! Stations, their regions on the globe, the areas of these, and the mean of a raster in each.

use gpu_core::{Device, Extent, Points, UploadedPoints};
use gpu_scan::gpu::Workspace;
use library::regions::gpu::DeviceMesh;
use library::regions::{self, Mesh, equal_area_places};
use sphere_qtm::{Level, LonLat, Params, region_areas, voronoi};
use testing::{Cloud, bits64, gpu};

use crate::bytes_to_host;

/// Stations, and a raster of as many pixels.
fn example(stations: usize, [width, height]: [u32; 2]) -> (Cloud, Cloud) {
    let warmth = |x: f64, y: f64| 30.0 - y.abs() / 2.0 + (x / 40.0).cos();
    let stations = Cloud::uniform(stations, [-180.0, -85.0, 180.0, 85.0], 23, |_, _| 0.0);
    let [longitudes, latitudes] = equal_area_places(width, height);
    let places = longitudes.iter().zip(&latitudes);
    (stations, Cloud::of(places.map(|(&x, &y)| (x, y, warmth(x, y)))))
}

#[test]
fn regions_areas_and_means_are_found_on_the_device() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for (count, level, size) in [(1, 0, [4, 2]), (9, 3, [40, 30]), (200, 5, [72, 36])] {
        let mesh = Mesh::new(Level::new(level).unwrap());
        assert!(mesh.ids.is_sorted());
        let (stations, raster) = example(count, size);
        let stations = Points::new(&stations.x, &stations.y);
        let places = Points { x: &raster.x, y: &raster.y, values: &[&raster.z] };
        let there = [stations, places].map(|points| UploadedPoints::new(&gpu, &points).unwrap());
        let extent = [stations, places].map(|points| Extent::of(&points).unwrap());
        let points = |i: usize| there[i].points(extent[i].clone()).unwrap();
        let on_device = DeviceMesh::new(&gpu, &mesh).unwrap();
        let (found, bytes) = bytes_to_host(&gpu, || {
            regions::gpu::regions(&mut workspace, &on_device, &points(0), &points(1)).unwrap()
        });
        assert_eq!(bytes, 0, "nothing comes to the host");
        let found = found.to_host().unwrap();
        let wanted = regions::regions(&mesh, &stations, &places).unwrap();
        assert_eq!(bits64(&found.areas), bits64(&wanted.areas));
        assert_eq!(bits64(&found.sums), bits64(&wanted.sums));
        assert_eq!(found.pixels, wanted.pixels);
        assert_eq!(bits64(&found.means()), bits64(&wanted.means()));
    }
}

#[test]
fn areas_and_means_are_those_of_the_diagram() {
    let mesh = Mesh::new(Level::new(7).unwrap());
    let (stations, raster) = example(40, [240, 120]);
    let stations = Points::new(&stations.x, &stations.y);
    let places = Points { x: &raster.x, y: &raster.y, values: &[&raster.z] };
    let found = regions::regions(&mesh, &stations, &places).unwrap();
    let diagram = voronoi(&Device::Cpu, &stations, &Params::new(mesh.level)).unwrap();
    let areas = region_areas(&diagram, 40).unwrap();
    for (found, area) in found.areas.iter().zip(&areas) {
        assert!((found - area).abs() <= 1e-12, "{found} {area}");
    }
    let (mut sums, mut pixels) = (vec![0.0; 40], vec![0; 40]);
    for i in 0..raster.len() {
        let site = diagram.site_of(LonLat::new(raster.x[i], raster.y[i]).unwrap()) as usize;
        sums[site] += raster.z[i];
        pixels[site] += 1;
    }
    assert_eq!(found.pixels, pixels);
    for (found, sum) in found.sums.iter().zip(&sums) {
        assert!((found - sum).abs() <= 1e-9, "{found} {sum}");
    }
    // All pixels have one area, so a region's is that of its pixels, but for those along its border.
    let pixel = 4.0 * std::f64::consts::PI / (240.0 * 120.0);
    for (area, &pixels) in found.areas.iter().zip(&found.pixels) {
        let of_pixels = pixel * pixels as f64;
        assert!((area - of_pixels).abs() < 0.1 * area, "{area} {of_pixels}");
    }
}
