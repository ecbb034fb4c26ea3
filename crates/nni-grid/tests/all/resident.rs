//! From device memory to device memory: the same bits, no copy, graphs, and whatever lies there.

use crate::common::{Cloud, assert_same, bits, masked, on_cpu, only, random, slices, square};
use gpu_core::{
    Bounds, Column, Device, DeviceGrid, DevicePoints, Extent, Gpu, GridSlice, GridSpec, Points,
    Slice, ValueRange,
};
use nni_grid::{
    Duplicates, Error, Fill, Input, Method, Params, Summary, ValueScale, Weights, gpu, interpolate,
};

/// A cloud's columns in device memory.
struct Uploaded {
    x: Column<f64>,
    y: Column<f64>,
    z: Column<f64>,
}

impl Uploaded {
    fn new(gpu: &Gpu, cloud: &Cloud) -> Self {
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
        Self { x, y, z }
    }

    fn input(&self, side: u32, extent: Extent) -> gpu::Input<'_> {
        let points = DevicePoints::new(&self.x, &self.y, [Slice::from(&self.z)], extent);
        gpu::Input::new(points.unwrap(), square(side))
    }
}

fn extent_of(cloud: &Cloud) -> Extent {
    cloud.with(|points| Extent::of(&points)).unwrap()
}

/// Both methods, with what each has.
fn every_way() -> Vec<Params> {
    let layers = |params: Params| params.counts(true).distances(true).deviations(true);
    let (exact, pixels) = (Params::new(), Params::on_pixels());
    let wide = pixels.query_radius(f64::INFINITY);
    vec![
        exact,
        layers(exact).fill(Fill::Nearest).max_distance(2.0),
        exact.weights(Weights::SibsonC1).max_distance(f64::INFINITY),
        pixels,
        pixels.supersample(2).duplicates(Duplicates::First),
        layers(wide).fill(Fill::Value(-1.0)),
        wide.region_of_influence(f64::INFINITY),
        wide.weights(Weights::Laplace),
        wide.weights(Weights::SibsonC1),
    ]
}

/// Counts the copies between host and device during a call; 0 on a card, where nobody counts.
fn copies_of<T>(gpu: &Gpu, call: impl FnOnce() -> T) -> (T, u64) {
    let before = software_gpu::copies();
    let result = call();
    (result, if gpu.is_software() { software_gpu::copies() - before } else { 0 })
}

#[test]
fn any_number_of_values_and_a_mask_without_a_copy() {
    let cloud = random(300, 24.0, 5, |x, y| x * y);
    let columns: Vec<Vec<f64>> = (0..6)
        .map(|k| cloud.x.iter().map(|x| (x * (f64::from(k) + 0.7)).sin()).collect())
        .collect();
    let mask: Vec<u8> = (0..576).map(|i| u8::from(i % 5 != 0)).collect();
    let gpu = testing::gpu();
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    let on_device = Uploaded::new(&gpu, &cloud);
    let there: Vec<Column<f64>> = columns.iter().map(|c| gpu.upload(c).unwrap()).collect();
    let mask_there = gpu.upload(&mask).unwrap();
    for (params, count) in every_way().into_iter().flat_map(|p| [(p, 1), (p, 3), (p, 6), (p, 0)]) {
        let values = slices(&columns[..count]);
        let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
        let expected = interpolate(&Device::Cpu, masked(points, Some(&mask), square(24)), &params);
        let extent = Extent::of(&points).unwrap();
        let given = there[..count].iter().map(Slice::from);
        let points = DevicePoints::new(&on_device.x, &on_device.y, given, extent).unwrap();
        let mask = GridSlice::new(&mask_there, square(24)).unwrap();
        let input = gpu::Input::new(points, square(24)).mask(mask);
        let (dem, copies) =
            copies_of(&gpu, || gpu::interpolate(&mut workspace, &input, &params).unwrap());
        // The host makes the exact method's triangulation.
        assert!(copies == 0 || params.method == Method::Exact, "{copies}");
        assert_eq!((dem.len(), dem.is_empty()), (count, count == 0));
        assert!(matches!(dem.values(count), Err(Error::Core(_))));
        assert_same(&dem.to_host().unwrap(), &expected.unwrap(), &format!("{params:?}"));
    }
}

#[test]
fn a_graph_interpolates_what_lies_there_at_its_launch() {
    let gpu = testing::gpu();
    let first = random(250, 20.0, 7, |x, y| x - 0.5 * y);
    let second = random(250, 20.0, 8, |x, y| y - 0.5 * x);
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 20.0, max_y: 20.0 };
    let range = ValueRange { min: -10.0, max: 20.0 };
    let extent = Extent { bounds: Some(bounds), ranges: vec![range] };
    for params in on_pixels() {
        let mut workspace = gpu::Workspace::new(&gpu).unwrap();
        let mut expect = |cloud: &Cloud| {
            let there = Uploaded::new(&gpu, cloud);
            let dem = gpu::interpolate(&mut workspace, &there.input(20, extent.clone()), &params);
            dem.unwrap().to_host().unwrap()
        };
        let expected = [expect(&first), expect(&second)];
        let mut there = Uploaded::new(&gpu, &first);
        let news = Uploaded::new(&gpu, &second);
        let mut kept = None;
        let graph = gpu.capture(|| {
            let input = there.input(20, extent.clone());
            kept = Some(gpu::interpolate(&mut workspace, &input, &params)?);
            Ok::<_, Error>(())
        });
        let (graph, kept) = (graph.unwrap(), kept.unwrap());
        // SAFETY: the columns live on, and so does the workspace.
        unsafe { graph.launch().unwrap() };
        assert_same(&kept.to_host().unwrap(), &expected[0], &format!("{params:?}"));
        there.x.copy_from(&news.x).unwrap();
        there.y.copy_from(&news.y).unwrap();
        there.z.copy_from(&news.z).unwrap();
        // SAFETY: as above.
        unsafe { graph.launch().unwrap() };
        assert_same(&kept.to_host().unwrap(), &expected[1], &format!("{params:?}, changed"));
    }
}

#[test]
fn a_graph_cannot_hold_what_waits() {
    let gpu = testing::gpu();
    let cloud = random(100, 20.0, 7, |x, y| x - y);
    let there = Uploaded::new(&gpu, &cloud);
    let far = Bounds { min_x: -1e6, min_y: 0.0, max_x: 20.0, max_y: 20.0 };
    let far = Extent { bounds: Some(far), ..extent_of(&cloud) };
    let exact = Params::new();
    let pixels = Params::on_pixels();
    let cases = [
        (exact, extent_of(&cloud)),
        (pixels.hull(true), extent_of(&cloud)),
        (exact.hull(true), far.clone()),
    ];
    for (params, extent) in cases {
        let mut workspace = gpu::Workspace::new(&gpu).unwrap();
        let mut run =
            || gpu::interpolate(&mut workspace, &there.input(20, extent.clone()), &params);
        let expected = run().unwrap().to_host().unwrap();
        let refused = gpu.capture(|| run().map(drop));
        let error = refused.expect_err("it waits");
        assert!(matches!(error, Error::Core(gpu_core::Error::Captured { .. })), "{error}");
        assert_same(&run().unwrap().to_host().unwrap(), &expected, "afterwards");
    }
    // The method on pixels has no need of the bounds.
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    let input = there.input(20, far);
    drop(gpu::interpolate(&mut workspace, &input, &pixels).unwrap());
    gpu.capture(|| gpu::interpolate(&mut workspace, &input, &pixels).map(drop)).unwrap();
}

/// Coordinates and values that nothing prepares for.
const BAD: [f64; 8] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e19, 1e-30, -0.0];

#[test]
fn contents_beyond_the_extent_harm_nothing() {
    let gpu = testing::gpu();
    let good = random(200, 20.0, 9, |x, y| x - y);
    let with = |all: &[f64]| {
        let mut hostile = good.clone();
        for (i, &bad) in all.iter().enumerate() {
            let inner = 3.0 + i as f64;
            let points =
                [(bad, inner, 1.0), (inner, bad, 1.0), (bad, bad, bad), (inner, inner, bad)];
            points.into_iter().for_each(|point| hostile.push(point));
        }
        Uploaded::new(&gpu, &hostile)
    };
    // The exact method refuses coordinates that have too many bits together.
    let (all, some) = (with(&BAD), with(&BAD.map(|bad| bad.clamp(-1e40, 1e40))));
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    for params in every_way() {
        let there = match params.method {
            Method::Exact => {
                let input = all.input(20, extent_of(&good));
                let refused = gpu::interpolate(&mut workspace, &input, &params);
                assert!(matches!(refused, Err(Error::Range { .. })));
                &some
            }
            Method::Pixels => &all,
        };
        // Of the good points, of a part of the ground that is theirs, and of nothing.
        let narrow = Bounds { min_x: 5.0, min_y: 5.0, max_x: 5.5, max_y: 5.0 };
        let narrow =
            Extent { bounds: Some(narrow), ranges: vec![ValueRange { min: 0.0, max: 1e-9 }] };
        let inverted = Bounds { min_x: 9.0, min_y: 9.0, max_x: -9.0, max_y: -9.0 };
        let inverted = Extent {
            bounds: Some(inverted),
            ranges: vec![ValueRange { min: f64::NAN, max: -1.0 }],
        };
        for extent in [extent_of(&good), narrow, inverted] {
            let dem = gpu::interpolate(&mut workspace, &there.input(20, extent), &params).unwrap();
            let found = dem.to_host().unwrap();
            assert_eq!((found.summary.points, only(&found).len()), (232, 400));
        }
        // And the workspace is as good as new.
        let clean = Uploaded::new(&gpu, &good);
        let dem = gpu::interpolate(&mut workspace, &clean.input(20, extent_of(&good)), &params);
        assert_same(
            &dem.unwrap().to_host().unwrap(),
            &on_cpu(&good, square(20), &params),
            "afterwards",
        );
    }
}

/// The ways on pixels.
fn on_pixels() -> impl Iterator<Item = Params> {
    every_way().into_iter().filter(|params| params.method == Method::Pixels)
}

#[test]
fn on_pixels_points_that_are_not_finite_are_left_out() {
    let gpu = testing::gpu();
    let good = random(200, 20.0, 9, |x, y| x - y);
    let mut hostile = good.clone();
    hostile.push((f64::NAN, 3.5, 1.0));
    hostile.push((4.5, 4.5, f64::NAN));
    hostile.push((4.5, f64::INFINITY, 2.0));
    let there = Uploaded::new(&gpu, &hostile);
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    for params in on_pixels() {
        let dem = gpu::interpolate(&mut workspace, &there.input(20, extent_of(&good)), &params);
        let (found, expected) =
            (dem.unwrap().to_host().unwrap(), on_cpu(&good, square(20), &params));
        assert_eq!(bits(only(&found)), bits(only(&expected)), "{params:?}");
        assert_eq!(found.summary.sites, expected.summary.sites);
    }
}

#[test]
fn on_pixels_values_far_beyond_their_range_end_where_a_word_does() {
    let gpu = testing::gpu();
    let good = random(200, 20.0, 9, |x, y| x - y);
    let extent = extent_of(&good);
    let scale = ValueScale::of_range(extent.ranges[0]);
    let most = f64::from((1 << 30) - 1) * scale.step;
    let width = extent.ranges[0].max - extent.ranges[0].min;
    assert!(scale.offset + most <= extent.ranges[0].max + 0.5 * width);
    let (mut hostile, mut expected) = (good.clone(), good.clone());
    let ends = [(1e30, most), (f64::from(f32::MAX), most), (-1e6, -most), (-1e30, -most)];
    for (i, (z, end)) in ends.into_iter().enumerate() {
        hostile.push((1.5 + i as f64, 3.5, z));
        expected.push((1.5 + i as f64, 3.5, scale.offset + end));
    }
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    for params in on_pixels() {
        let [found, expected] = [&hostile, &expected].map(|cloud| {
            let there = Uploaded::new(&gpu, cloud);
            let dem = gpu::interpolate(&mut workspace, &there.input(20, extent.clone()), &params);
            dem.unwrap().to_host().unwrap()
        });
        assert_same(&found, &expected, &format!("{params:?}"));
    }
}

#[test]
fn extents_and_masks_that_fit_nothing_are_refused() {
    let gpu = testing::gpu();
    let cloud = random(10, 20.0, 9, |x, _| x);
    let there = Uploaded::new(&gpu, &cloud);
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    let params = Params::new();
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: f64::INFINITY, max_y: 20.0 };
    let endless = Extent { bounds: Some(bounds), ..extent_of(&cloud) };
    let refused = gpu::interpolate(&mut workspace, &there.input(20, endless), &params).unwrap_err();
    assert!(matches!(refused, Error::Core(gpu_core::Error::NotFinite { .. })), "{refused}");
    let mask: DeviceGrid<u8> =
        DeviceGrid::from_column(gpu.upload(&[1; 40]).unwrap(), GridSpec::of_pixels(10, 4)).unwrap();
    let input = there.input(20, extent_of(&cloud)).mask(&mask);
    let refused = gpu::interpolate(&mut workspace, &input, &params).unwrap_err();
    assert!(matches!(refused, Error::Core(gpu_core::Error::Shape { .. })), "{refused}");
}

#[test]
fn arrays_of_the_caller_hold_the_same() {
    let cloud = random(3000, 70.0, 21, |x, y| x - 2.0 * y);
    let params = Params::on_pixels().counts(true);
    let gpu = testing::gpu();
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    let expected = on_cpu(&cloud, square(70), &params);
    let locked = |values: &[f64]| {
        let mut memory = gpu.page_locked(values.len()).unwrap();
        memory.copy_from_slice(values);
        memory
    };
    let (x, y, z) = (locked(&cloud.x), locked(&cloud.y), locked(&cloud.z));
    let columns: [&[f64]; 1] = [&z];
    let points = Points { x: &x, y: &y, values: &columns };
    let mut values = gpu.page_locked::<f32>(4900).unwrap();
    let mut counts = vec![0; 4900];
    let mut into = |params: &Params, values: &mut [f32], counts: Option<&mut [u32]>| {
        let input = Input::new(points, square(70));
        gpu::interpolate_into(&mut workspace, input, params, values, counts, &gpu_core::Silent)
    };
    let summary: Summary = into(&params, &mut values, Some(&mut counts)).unwrap();
    assert_eq!(summary, expected.summary);
    assert_eq!(bits(&values), bits(only(&expected)));
    assert_eq!(counts, expected.counts.unwrap().into_values());
    let short = into(&params, &mut values[1..], None);
    assert!(matches!(short, Err(Error::Core(gpu_core::Error::Length { .. }))));
    for more in [params.distances(true), Params::new(), params.hull(true)] {
        let refused = into(&more, &mut values, None).unwrap_err();
        assert!(matches!(refused, Error::NotPlain { .. }), "{refused}");
    }
    let input = masked(points, Some(&[1; 4900]), square(70));
    let silent = &gpu_core::Silent;
    let refused = gpu::interpolate_into(&mut workspace, input, &params, &mut values, None, silent);
    assert_eq!(refused.unwrap_err(), Error::NotPlain { what: "a mask" });
}

#[test]
fn terrain_follows_without_a_copy() {
    use terrain_grid::{Product, ProductParams, SlopeUnit, product};

    let slope = ProductParams::new(Product::Slope(SlopeUnit::Degrees));
    let cloud = random(2000, 64.0, 3, |x, y| 8.0 * (x / 9.0).sin() + 0.1 * y);
    let gpu = testing::gpu();
    let mut workspace = gpu::Workspace::new(&gpu).unwrap();
    for params in [Params::new(), Params::on_pixels()] {
        let there = Uploaded::new(&gpu, &cloud);
        let input = there.input(64, extent_of(&cloud));
        let (slopes, copies) = copies_of(&gpu, || {
            let dem = gpu::interpolate(&mut workspace, &input, &params).unwrap();
            let raster = dem.values(0).unwrap();
            terrain_grid::gpu::product(&gpu, raster, &slope).unwrap()
        });
        assert!(copies == 0 || params.method == Method::Exact, "{copies}");
        let dem = on_cpu(&cloud, square(64), &params);
        let expected = product(&Device::Cpu, dem.values[0].view(), &slope).unwrap();
        assert_eq!(bits(slopes.to_host().unwrap().values()), bits(expected.values()));
    }
}
