//! A transform captured once, and launched on other sites.

use gpu_core::{Device, DeviceGrid, GridSlice, GridSpec};
use pba_voronoi::gpu::{self, DeviceGlobe};
use pba_voronoi::{
    Baseline, Error, Globe, Input, Method, Params, Sites, geodesic, nearest_sites, transform,
};

/// A repeatable raster of sites: one pixel in `one_in`, at places that change with `seed`.
fn mask(width: u32, height: u32, one_in: u32, seed: u32) -> Vec<u8> {
    let is_site =
        |p: u32| (p ^ seed).wrapping_mul(0x9e37_79b1).rotate_left(9).is_multiple_of(one_in);
    (0..width * height).map(|p| u8::from(is_site(p))).collect()
}

/// What later launches see: one site in this many pixels, and a seed.
const LATER: [(u32, u32); 3] = [(2, 1), (50, 2), (5000, 3)];

#[test]
fn captured_nearest_sites_follow_their_mask() {
    let gpu = testing::gpu();
    for (width, height) in [(1, 1), (97, 61), (130, 257)] {
        let mut sites = DeviceGrid::from_column(
            gpu.upload(&mask(width, height, 3, 0)).unwrap(),
            GridSpec::of_pixels(width, height),
        )
        .unwrap();
        let mut nearest = None;
        let graph = gpu.capture(|| {
            nearest = Some(gpu::nearest_sites(&gpu, &sites)?);
            Ok::<_, Error>(())
        });
        let (graph, nearest) = (graph.unwrap(), nearest.unwrap());
        for (one_in, seed) in LATER {
            let now = mask(width, height, one_in, seed);
            sites.copy_from(&gpu.upload(&now).unwrap()).unwrap();
            // SAFETY: `sites` is where it was, and as long.
            unsafe { graph.launch().unwrap() };
            let raster = gpu_core::GridView::new(&now, GridSpec::of_pixels(width, height)).unwrap();
            let expected = nearest_sites(&gpu_core::Device::Cpu, raster).unwrap();
            let found = nearest.to_host().unwrap();
            assert!(found == expected, "{width} x {height}, one in {one_in}");
        }
    }
}

#[test]
fn a_captured_transform_follows_its_sites() {
    let gpu = testing::gpu();
    for method in [Method::Monotone, Method::Baseline(Baseline::ScanPrune)] {
        for (width, height) in [(1, 1), (97, 61), (130, 257)] {
            let grid = GridSpec::new(0.0, 0.0, 2.0, width, height).unwrap();
            let params = Params::new()
                .method(method)
                .nearest()
                .coordinates()
                .squared_distance()
                .distance()
                .distance_f64()
                .signed_distance()
                .value();
            let values: Vec<f32> = (0..grid.cells()).map(|p| p as f32 * 0.5).collect();
            let excluded = mask(width, height, 7, 9);
            let mut sites = gpu.upload(&mask(width, height, 3, 0)).unwrap();
            let resident = (gpu.upload(&values).unwrap(), gpu.upload(&excluded).unwrap());
            let mut diagram = None;
            let graph = gpu.capture(|| {
                let input: gpu::Input = GridSlice::new(&sites, grid)?.into();
                let input = input.values(&resident.0).excluded(&resident.1);
                diagram = Some(gpu::transform(&gpu, &input, &params)?);
                Ok::<_, Error>(())
            });
            let (graph, diagram) = (graph.unwrap(), diagram.unwrap());
            for (one_in, seed) in LATER {
                let now = mask(width, height, one_in, seed);
                sites.copy_from(&gpu.upload(&now).unwrap()).unwrap();
                // SAFETY: what was captured is where it was, and as long.
                unsafe { graph.launch().unwrap() };
                let input = Input::new(Sites::Mask(&now), grid).values(&values).excluded(&excluded);
                let expected = transform(&Device::Cpu, &input, &params).unwrap();
                let what = format!("{method:?}, {width} x {height}, one in {one_in}");
                let host = |raster: &Option<gpu::Integers>| raster.as_ref().unwrap().to_host().ok();
                assert!(host(&diagram.nearest) == expected.nearest, "{what}");
                assert!(host(&diagram.squared_distance) == expected.squared_distance, "{what}");
                let coordinates = diagram.coordinates.as_ref().unwrap().to_host().ok();
                assert!(coordinates == expected.coordinates, "{what}");
                for (found, expected) in [
                    (&diagram.distance, &expected.distance),
                    (&diagram.signed_distance, &expected.signed_distance),
                    (&diagram.value, &expected.value),
                ] {
                    let found = found.as_ref().unwrap().to_host().unwrap();
                    let expected = expected.as_ref().unwrap();
                    assert_eq!(found.grid(), &grid);
                    let bits = |raster: &gpu_core::Grid<f32>| testing::bits(raster.values());
                    assert!(bits(&found) == bits(expected), "{what}");
                }
                let found = diagram.distance_f64.as_ref().unwrap().to_host().unwrap();
                let bits = |raster: &gpu_core::Grid<f64>| testing::bits64(raster.values());
                assert!(bits(&found) == bits(expected.distance_f64.as_ref().unwrap()), "{what}");
            }
        }
    }
}

#[test]
fn captured_distances_on_the_globe_follow_their_sites() {
    let gpu = testing::gpu();
    for (globe, width, height) in [
        (Globe::new([-180.0, 90.0], [2.0, 2.0]), 180, 90),
        (Globe::new([170.0, 70.0], [0.25, 0.5]), 97, 61),
        (Globe::new([0.0, 1.0], [1.0, 1.0]), 1, 1),
    ] {
        let on_device = DeviceGlobe::new(&gpu, &globe, width, height).unwrap();
        let grid = GridSpec::of_pixels(width, height);
        let params = Params::new().nearest().coordinates().distance().distance_f64();
        let params = params.signed_distance().max_distance(4e6);
        let mut sites = gpu.upload(&mask(width, height, 3, 0)).unwrap();
        let mut diagram = None;
        let graph = gpu.capture(|| {
            let input = GridSlice::new(&sites, grid)?.into();
            diagram = Some(gpu::geodesic(&gpu, &input, &on_device, &params)?);
            Ok::<_, Error>(())
        });
        let (graph, diagram) = (graph.unwrap(), diagram.unwrap());
        for (one_in, seed) in LATER {
            let now = mask(width, height, one_in, seed);
            sites.copy_from(&gpu.upload(&now).unwrap()).unwrap();
            // SAFETY: what was captured is where it was, and as long.
            unsafe { graph.launch().unwrap() };
            let input = Input::new(Sites::Mask(&now), grid);
            let expected = geodesic(&Device::Cpu, &input, &globe, &params).unwrap();
            assert_eq!(diagram.square_unit, expected.square_unit);
            assert_eq!(diagram.nearest.as_ref().unwrap().to_host().ok(), expected.nearest);
            let coordinates = diagram.coordinates.as_ref().unwrap().to_host().ok();
            assert_eq!(coordinates, expected.coordinates);
            let metres = diagram.distance_f64.as_ref().unwrap().to_host().ok();
            assert_eq!(metres, expected.distance_f64);
            for (found, expected) in [
                (&diagram.distance, &expected.distance),
                (&diagram.signed_distance, &expected.signed_distance),
            ] {
                assert_eq!(found.as_ref().unwrap().to_host().ok(), *expected);
            }
        }
    }
}

#[test]
fn a_globe_of_another_raster_is_refused() {
    let gpu = testing::gpu();
    let globe = DeviceGlobe::new(&gpu, &Globe::new([0.0, 90.0], [1.0, 1.0]), 5, 4).unwrap();
    let sites = gpu.upload(&[1; 20]).unwrap();
    let input = GridSlice::new(&sites, GridSpec::of_pixels(4, 5)).unwrap().into();
    let error = gpu::geodesic(&gpu, &input, &globe, &Params::new().distance());
    let error = error.unwrap_err();
    assert!(matches!(error, Error::GlobeShape { given: [5, 4], expected: [4, 5] }), "{error}");
}
