//! What a triangulation in device memory is asked, against the same questions on the CPU.

use delaunay_stars::gpu::{DeviceTriangulation, Workspace, cells, interpolate_linear, locate};
use delaunay_stars::{Error, Location};
use gpu_core::Gpu;
use quadtree_sort::gpu::index;
use testing::Cloud;

use crate::exact::P;
use crate::queries::{check_location, targets};
use crate::triangulations::of;

struct Device {
    gpu: Gpu,
    workspace: Workspace,
}

impl Device {
    fn new() -> Self {
        let gpu = testing::gpu();
        Self { workspace: Workspace::new(&gpu).unwrap(), gpu }
    }

    fn triangulate(&mut self, x: &[f64], y: &[f64]) -> DeviceTriangulation {
        let (x, y) = (self.gpu.upload(x).unwrap(), self.gpu.upload(y).unwrap());
        let index = index(&mut self.workspace, &x, &y, None).unwrap();
        delaunay_stars::gpu::triangulate(&mut self.workspace, &index).unwrap()
    }

    fn locate(
        &mut self,
        found: &DeviceTriangulation,
        places: &[P],
    ) -> Result<Vec<Location>, Error> {
        let [x, y] = [0, 1].map(|k| places.iter().map(|p| p[k]).collect::<Vec<f64>>());
        let (x, y) = (self.gpu.upload(&x).unwrap(), self.gpu.upload(&y).unwrap());
        locate(&mut self.workspace, found, &x, &y)?.to_host()
    }

    fn linear(&mut self, found: &DeviceTriangulation, z: &[f64], places: &[P]) -> Vec<f64> {
        let [x, y] = [0, 1].map(|k| places.iter().map(|p| p[k]).collect::<Vec<f64>>());
        let (x, y) = (self.gpu.upload(&x).unwrap(), self.gpu.upload(&y).unwrap());
        let z = self.gpu.upload(z).unwrap();
        let values = interpolate_linear(&mut self.workspace, found, &z, &x, &y).unwrap();
        values.to_host().unwrap()
    }
}

fn is_same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// The clouds, and one whose coordinates a scale brings within reach.
fn clouds(size: usize) -> impl Iterator<Item = Cloud> {
    let mut huge = testing::clouds::uniform(size, 3);
    huge.name = "huge";
    huge.x.iter_mut().chain(&mut huge.y).for_each(|v| *v *= 1e290);
    testing::clouds::all(size, 9).chain([huge])
}

#[test]
fn places_lie_where_the_cpu_finds_them_and_have_its_values() {
    let mut device = Device::new();
    for size in [1, 2, 3, 150] {
        for cloud in clouds(size) {
            let (found, expected) = (device.triangulate(&cloud.x, &cloud.y), of(&cloud));
            let mut targets = targets(&cloud, &expected);
            if cloud.name == "huge" {
                targets.iter_mut().take(60).flatten().for_each(|v| *v *= 1e290);
            }
            let locations = device.locate(&found, &targets).unwrap();
            let mut walk = expected.walk();
            for (&target, location) in targets.iter().zip(locations) {
                match walk.locate(target[0], target[1]).unwrap() {
                    // A place may be beyond several sides.
                    Location::Outside(_) => {
                        assert!(matches!(location, Location::Outside(_)), "{}", cloud.name);
                        check_location(&cloud, &expected, target, location);
                    }
                    other => assert_eq!(location, other, "{}: {target:?}", cloud.name),
                }
            }
            let values = device.linear(&found, &cloud.z, &targets);
            let [x, y] = [0, 1].map(|k| targets.iter().map(|p| p[k]).collect::<Vec<f64>>());
            let of_cpu = expected.interpolate_linear(&cloud.z, &x, &y).unwrap();
            assert!(values.iter().zip(of_cpu).all(|(&a, b)| is_same(a, b)), "{}", cloud.name);
        }
    }
}

#[test]
fn cells_are_those_of_the_cpu() {
    let mut device = Device::new();
    for size in [0, 1, 2, 3, 4, 300] {
        for cloud in clouds(size) {
            let (found, expected) = (device.triangulate(&cloud.x, &cloud.y), of(&cloud));
            let made = cells(&mut device.workspace, &found).unwrap();
            let [areas, east, north, corner_x, corner_y] =
                [&made.areas, &made.centroid_x, &made.centroid_y, &made.corner_x, &made.corner_y]
                    .map(|column| column.to_host().unwrap());
            let (points, of_point) =
                (found.sites().order().to_host().unwrap(), found.site_of().to_host().unwrap());
            let (starts, neighbours) =
                (found.starts().to_host().unwrap(), found.neighbours().to_host().unwrap());
            for (site, &point) in points.iter().enumerate() {
                let (cell, name) = (expected.cell(point), cloud.name);
                assert!(is_same(areas[site], cell.area), "{name}: {} {}", areas[site], cell.area);
                let [x, y] = cell.centroid.unwrap_or([f64::NAN; 2]);
                assert!(is_same(east[site], x) && is_same(north[site], y), "{name}");
                // Corners stand behind the neighbours that they follow.
                let slots = starts[site] as usize..starts[site + 1] as usize;
                let mut left = cell.corners.len();
                for (k, neighbour) in expected.star(point).iter().enumerate() {
                    let is_it = |&slot: &usize| {
                        neighbours[slot] & !(1 << 31) == of_point[*neighbour as usize]
                    };
                    let slot = slots.clone().find(is_it).unwrap();
                    let [x, y] = cell.corners.get(k).copied().unwrap_or([f64::NAN; 2]);
                    assert!(is_same(corner_x[slot], x) && is_same(corner_y[slot], y), "{name}");
                    left -= usize::from(k < cell.corners.len());
                }
                assert_eq!(left, 0, "{name}");
            }
        }
    }
}

#[test]
fn places_in_device_memory_are_checked() {
    let mut device = Device::new();
    let found = device.triangulate(&[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]);
    assert_eq!(device.locate(&found, &[]).unwrap(), []);
    let not_finite = device.locate(&found, &[[0.0, 0.0], [0.0, f64::NAN]]).unwrap_err();
    let what = gpu_core::Error::NotFinite { what: "y", index: 1, value: f64::NAN };
    assert_eq!(not_finite.to_string(), Error::from(what).to_string());
    let far = device.locate(&found, &[[1e300, 1e-300]]).unwrap_err();
    assert!(matches!(far, Error::Range { .. }), "{far}");
    let (x, y) = (device.gpu.upload(&[0.5]).unwrap(), device.gpu.upload(&[0.2, 0.3]).unwrap());
    let uneven = locate(&mut device.workspace, &found, &x, &y).unwrap_err();
    assert!(uneven.to_string().contains("column of y"), "{uneven}");
    let short = interpolate_linear(&mut device.workspace, &found, &y, &x, &x).unwrap_err();
    assert!(short.to_string().contains("column of values"), "{short}");
    let twice = device.triangulate(&[0.0, 0.0, 1.0, 0.0], &[0.0, 0.0, 0.0, 1.0]);
    let refused = delaunay_stars::gpu::triangulate(&mut device.workspace, twice.sites());
    assert_eq!(refused.err(), Some(Error::NotAllPoints { highest: 3, points: 3 }));
    let nothing = device.triangulate(&[], &[]);
    assert_eq!(device.locate(&nothing, &[[1.0, 2.0]]).unwrap(), [Location::Nowhere]);
    assert!(device.linear(&nothing, &[], &[[1.0, 2.0]])[0].is_nan());
}

#[test]
fn a_triangulation_takes_as_many_bytes_as_its_documentation_states() {
    // The software device alone counts bytes.
    if testing::choice() != gpu_core::DeviceChoice::Software {
        return;
    }
    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for (cloud, at_most) in [
        (testing::clouds::uniform(6000, 4), 86),
        (testing::clouds::heaps(6000, 4), 170),
        (testing::clouds::contours(6000, 4), 170),
    ] {
        let (x, y) = (gpu.upload(&cloud.x).unwrap(), gpu.upload(&cloud.y).unwrap());
        let index = index(&mut workspace, &x, &y, None).unwrap();
        let before = software_gpu::bytes_of_thread();
        software_gpu::take_peak_bytes_of_thread();
        let found = delaunay_stars::gpu::triangulate(&mut workspace, &index).unwrap();
        let most = (software_gpu::take_peak_bytes_of_thread() - before) / 6000;
        let after = (software_gpu::bytes_of_thread() - before) / 6000;
        assert!(most <= at_most && after <= 54, "{}: {most}, then {after}", cloud.name);
        assert_eq!(found.sites().len(), 6000);
    }
}
