//! Points and targets that lie on the device: the same values as from the host, nothing copied, captured
//! into graphs, and nothing outside touched whatever lies in memory.

use crate::common::{random_cloud, targets_at};
use gpu_core::{Column, Device, DevicePoints, Extent, Gpu, Graph, GridSpec, Points};
use idw::gpu::{DeviceTargets, DeviceTotal, Index, Input, Workspace, interpolate, part};
use idw::{Adaptive, Baseline, Error, Method, Params, Targets, Total};
use testing::{Cloud, bits, gpu};

const SQUARE: [f64; 4] = [0.0, 0.0, 80.0, 80.0];

/// Points on the device.
struct Resident {
    x: Column<f64>,
    y: Column<f64>,
    z: Column<f64>,
    extent: Extent,
}

impl Resident {
    fn new(gpu: &Gpu, cloud: &Cloud) -> Self {
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
        Self { x, y, z, extent: cloud.with(|points| Extent::of(&points)).unwrap() }
    }

    fn points(&self) -> DevicePoints<'_> {
        let values = [(&self.z).into()];
        DevicePoints::new(&self.x, &self.y, values, self.extent.clone()).unwrap()
    }

    fn targets(&self) -> DeviceTargets<'_> {
        DeviceTargets::points(&self.x, &self.y)
    }
}

/// Every way of interpolating.
fn all_params() -> Vec<Params> {
    let all = Params::default();
    let plane = [
        all,
        all.power(2.5).smoothing(0.5),
        all.method(Method::Expansion),
        all.method(Method::Baseline(Baseline::Tiled)),
        all.statistics(true),
        Params::nearest(5).statistics(true),
        Params::nearest(40),
        all.radius(20.0).min_points(2),
        all.max_points_per_quadrant(2),
        all.adaptive(Adaptive::default()),
        all.adaptive(Adaptive::default()).method(Method::Expansion),
        Params::nearest(6).adaptive(Adaptive::default()),
    ];
    let sphere = [
        all,
        all.method(Method::Expansion),
        all.adaptive(Adaptive::default()).method(Method::Expansion),
        Params::nearest(5),
        all.radius(2e6),
    ];
    plane.into_iter().chain(sphere.map(|params| params.geographic(true))).collect()
}

#[test]
fn values_are_those_of_the_call_from_the_host() {
    let gpu = gpu();
    let device = Device::Gpu(gpu.clone());
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (cloud, places) = (random_cloud(700, SQUARE, 81), random_cloud(90, SQUARE, 82));
    let grid = GridSpec::new(-3.0, 80.0, 7.0, 15, 10).unwrap();
    let (resident, at) = (Resident::new(&gpu, &cloud), Resident::new(&gpu, &places));
    for params in all_params() {
        let cases = [(targets_at(&places), at.targets()), (grid.into(), grid.into())];
        for (from_host, on_device) in cases {
            let wanted = cloud.with(|points| {
                idw::interpolate::<f32>(&device, idw::Input::new(points, from_host), &params)
            });
            let wanted = wanted.unwrap();
            let input = Input::new(resident.points(), on_device);
            let found = interpolate::<f32>(&mut workspace, &input, &params).unwrap();
            let found = found.to_host().unwrap();
            assert_eq!(bits(&found.values[0]), bits(&wanted.values[0]), "{params:?}");
            assert_eq!((found.grid, found.summary), (wanted.grid, wanted.summary));
            assert_eq!(found.statistics, wanted.statistics, "{params:?}");
            assert_eq!(found.grid, from_host.grid());
        }
    }
}

#[test]
fn an_index_serves_several_calls_and_refuses_what_it_was_not_made_for() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let resident = Resident::new(&gpu, &random_cloud(300, SQUARE, 83));
    let all = Index::new(&mut workspace, &resident.points(), &Params::default()).unwrap();
    let near = Index::new(&mut workspace, &resident.points(), &Params::nearest(3)).unwrap();
    let sphere = Params::default().geographic(true);
    let on_sphere = Index::new(&mut workspace, &resident.points(), &sphere).unwrap();
    let mut run = |index: &Index, params: &Params| {
        let surface = index.interpolate::<f32>(&mut workspace, resident.targets(), params)?;
        surface.to_host().map(|surface| surface.values[0].clone())
    };
    let powers = [1.0, 2.0, 3.0].map(|power| run(&all, &Params::default().power(power)).unwrap());
    assert_eq!(powers[0], powers[2], "targets on points have their values");
    assert_eq!(run(&near, &Params::nearest(1)).unwrap(), powers[0]);
    assert!(run(&near, &Params::nearest(30)).is_ok() && run(&on_sphere, &sphere).is_ok());
    // Any number of neighbours, and what lies within a radius.
    for params in [Params::nearest(65), Params::default().radius(5.0)] {
        assert_eq!(run(&near, &params).unwrap(), powers[0], "targets on points have their values");
    }
    for (index, params) in [
        (&all, Params::nearest(3)),
        (&all, Params::default().statistics(true)),
        (&all, Params::default().adaptive(Adaptive::default())),
        (&near, Params::default()),
        (&all, sphere),
        (&on_sphere, Params::default()),
    ] {
        assert!(matches!(run(index, &params), Err(Error::Conflict { .. })), "{params:?}");
    }
    let (x, short) = (gpu.upload(&[1.0, 2.0]).unwrap(), gpu.upload(&[1.0]).unwrap());
    let odd = DeviceTargets::points(&x, &short);
    let error = all.interpolate::<f32>(&mut workspace, odd, &Params::default()).unwrap_err();
    let what = "column of targets' y";
    assert_eq!(error, Error::Core(gpu_core::Error::Length { what, expected: 2, found: 1 }));
}

#[test]
fn no_points_and_no_targets_are_no_error() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (none, some) = (Cloud::default(), random_cloud(20, SQUARE, 84));
    let (none, some) = (Resident::new(&gpu, &none), Resident::new(&gpu, &some));
    for params in all_params() {
        let mut run = |points: &Resident, targets: &Resident| {
            let input = Input::new(points.points(), targets.targets());
            interpolate::<f64>(&mut workspace, &input, &params).unwrap().to_host().unwrap()
        };
        let nodata = run(&none, &some);
        assert!(nodata.values[0].len() == 20 && nodata.summary.nodata == 20, "{params:?}");
        assert!(run(&some, &none).values[0].is_empty());
    }
}

/// Every way of summing over parts of the points.
fn all_params_of_parts() -> Vec<Params> {
    let adds_up = |p: &Params| {
        p.is_all_pairs()
            && p.adaptive.is_none()
            && !p.statistics
            && p.method != Method::Baseline(Baseline::Tiled)
    };
    all_params().into_iter().filter(adds_up).collect()
}

#[test]
fn parts_and_their_total_are_those_of_the_calls_from_the_host() {
    let gpu = gpu();
    let device = Device::Gpu(gpu.clone());
    let mut workspace = Workspace::new(&gpu).unwrap();
    let places = random_cloud(90, SQUARE, 93);
    let at = Resident::new(&gpu, &places);
    let grid = GridSpec::new(-3.0, 80.0, 7.0, 15, 10).unwrap();
    let mut clouds = vec![random_cloud(700, SQUARE, 94), Cloud::default()];
    // Some of the targets lie on points of two parts.
    clouds.push(Cloud::of((0..40).map(|i| (places.x[i], places.y[i], 20.0 + i as f64))));
    clouds.push(Cloud::of((20..60).map(|i| (places.x[i], places.y[i], 60.0 - i as f64))));
    for params in all_params_of_parts() {
        let cases = [(targets_at(&places), at.targets()), (grid.into(), grid.into())];
        for (from_host, on_device) in cases {
            let (mut total, mut resident_total) = (Total::new(), DeviceTotal::new());
            for cloud in &clouds {
                let wanted = cloud.with(|points| {
                    idw::part::<f32>(&device, idw::Input::new(points, from_host), &params)
                });
                let wanted = wanted.unwrap();
                let resident = Resident::new(&gpu, cloud);
                let input = Input::new(resident.points(), on_device);
                let of_part = part::<f32>(&mut workspace, &input, &params).unwrap();
                let found = of_part.to_host().unwrap();
                assert_eq!(bits(&found.values[0]), bits(&wanted.values[0]), "{params:?}");
                assert_eq!(found.weights, wanted.weights, "{params:?}");
                assert_eq!((found.grid, found.summary), (wanted.grid, wanted.summary));
                total.add(&wanted).unwrap();
                resident_total.add(&mut workspace, &of_part).unwrap();
            }
            for params in [params, params.min_points(2000)] {
                let wanted = total.surface::<f32>(&params).unwrap();
                let found = resident_total.surface::<f32>(&mut workspace, &params).unwrap();
                let found = found.to_host().unwrap();
                for (found, wanted) in found.values[0].iter().zip(&wanted.values[0]) {
                    assert!(found == wanted || (found.is_nan() && wanted.is_nan()), "{params:?}");
                }
                assert_eq!((found.grid, found.summary), (wanted.grid, wanted.summary));
            }
        }
    }
    let empty = DeviceTotal::new().surface::<f32>(&mut workspace, &Params::default()).unwrap();
    assert!(empty.is_empty() && empty.to_host().unwrap().values.is_empty());
}

#[test]
fn a_captured_part_is_added_once_for_each_launch() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (cloud, places) = (random_cloud(300, SQUARE, 95), random_cloud(40, SQUARE, 96));
    let (resident, at) = (Resident::new(&gpu, &cloud), Resident::new(&gpu, &places));
    let params = Params::default();
    let mut total = DeviceTotal::new();
    let mut add = || {
        let input = Input::new(resident.points(), at.targets());
        let of_part = part::<f32>(&mut workspace, &input, &params)?;
        total.add(&mut workspace, &of_part)
    };
    add().unwrap();
    let graph = gpu.capture::<Error>(&mut add).unwrap();
    let values = |workspace: &mut Workspace| {
        let surface = total.surface::<f32>(workspace, &params).unwrap();
        surface.to_host().unwrap().values.swap_remove(0)
    };
    let before = values(&mut workspace);
    launch(&gpu, &graph);
    // The mean of a part and itself is its own.
    assert_eq!(bits(&values(&mut workspace)), bits(&before));
}

/// Launches a graph, and waits for it.
fn launch(gpu: &Gpu, graph: &Graph) {
    // SAFETY: what the graph uses is alive, and nothing else runs.
    unsafe { graph.launch().unwrap() };
    gpu.synchronize().unwrap();
}

#[test]
fn a_captured_call_takes_the_values_that_are_there_when_it_is_launched() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (cloud, places) = (random_cloud(600, SQUARE, 85), random_cloud(70, SQUARE, 86));
    let (mut resident, at) = (Resident::new(&gpu, &cloud), Resident::new(&gpu, &places));
    // Other values of the same range, so that the extent holds for both.
    let turned: Vec<f64> = cloud.z.iter().rev().copied().collect();
    let other = gpu.upload(&turned).unwrap();
    let first = gpu.upload(&cloud.z).unwrap();
    for params in all_params() {
        let mut expected = Vec::new();
        for values in [&first, &other] {
            resident.z.copy_from(values).unwrap();
            let input = Input::new(resident.points(), at.targets());
            let surface = interpolate::<f32>(&mut workspace, &input, &params).unwrap();
            expected.push(bits(&surface.values.to_host().unwrap()[..70]));
        }
        assert_ne!(expected[0], expected[1], "{params:?}");
        let mut captured = None;
        let graph = gpu.capture::<Error>(|| {
            let input = Input::new(resident.points(), at.targets());
            captured = Some(interpolate::<f32>(&mut workspace, &input, &params)?);
            Ok(())
        });
        let graph = graph.unwrap_or_else(|error| panic!("{params:?}: {error}"));
        let surface = captured.unwrap();
        for (values, expected) in [&first, &other].into_iter().zip(&expected) {
            resident.z.copy_from(values).unwrap();
            launch(&gpu, &graph);
            let found = surface.values.to_host().unwrap();
            assert_eq!(&bits(&found[..70]), expected, "{params:?}");
        }
    }
}

#[test]
fn whatever_lies_in_memory_nothing_outside_is_touched() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (mut cloud, mut places) = (random_cloud(500, SQUARE, 87), random_cloud(60, SQUARE, 88));
    // The extent is that of points which were there before.
    let extent = cloud.with(|points| Extent::of(&points)).unwrap();
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e-320, 1e9, -0.0];
    for (i, &value) in odd.iter().enumerate() {
        cloud.x[7 * i] = value;
        cloud.y[11 * i + 3] = value;
        cloud.z[13 * i + 5] = value;
        places.x[2 * i] = value;
        places.y[3 * i + 1] = value;
    }
    let hostile = [cloud.clone(), Cloud { x: vec![f64::NAN; 500], ..cloud }];
    for cloud in &hostile {
        let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
        let [x, y, z] = [points.x, points.y, points.values[0]].map(|c| gpu.upload(c).unwrap());
        let [tx, ty] = [&places.x, &places.y].map(|column| gpu.upload(column).unwrap());
        for params in all_params() {
            let points = DevicePoints::new(&x, &y, [(&z).into()], extent.clone()).unwrap();
            let targets = DeviceTargets::points(&tx, &ty);
            let input = Input::new(points, targets);
            let surface = interpolate::<f32>(&mut workspace, &input, &params);
            // The software device looks at its red zones whenever the host waits.
            let surface = surface.unwrap().to_host().unwrap();
            for (i, value) in surface.values[0].iter().enumerate() {
                let is_place = places.x[i].is_finite() && places.y[i].is_finite();
                assert!(is_place || value.is_nan(), "{params:?}, target {i}: {value}");
            }
        }
    }
    // It still works.
    let (cloud, grid) = (random_cloud(50, SQUARE, 89), GridSpec::new(0.0, 9.0, 1.0, 9, 9).unwrap());
    let resident = Resident::new(&gpu, &cloud);
    let input = Input::new(resident.points(), grid);
    let surface = interpolate::<f32>(&mut workspace, &input, &Params::nearest(3)).unwrap();
    assert_eq!(surface.to_host().unwrap().summary.nodata, 0);
    assert_eq!(Targets::from(grid).len(), surface.len() as u64);
}

#[test]
fn targets_that_are_nowhere_have_no_value_among_many_that_are_searched_together() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let (cloud, mut places) = (random_cloud(900, SQUARE, 91), random_cloud(5000, SQUARE, 92));
    let at = Resident::new(&gpu, &places);
    let resident = Resident::new(&gpu, &cloud);
    let params = Params::nearest(6);
    let mut run = |targets: DeviceTargets| {
        let input = Input::new(resident.points(), targets);
        interpolate::<f64>(&mut workspace, &input, &params).unwrap().to_host().unwrap()
    };
    let wanted = run(at.targets());
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for i in 0..300 {
        places.x[i * 16] = odd[i % 3];
        places.y[i * 13 + 2] = odd[(i + 1) % 3];
    }
    let [x, y] = [&places.x, &places.y].map(|column| gpu.upload(column).unwrap());
    let found = run(DeviceTargets::points(&x, &y));
    for (i, (&found, &wanted)) in found.values[0].iter().zip(&wanted.values[0]).enumerate() {
        let is_place = places.x[i].is_finite() && places.y[i].is_finite();
        let wanted = if is_place { wanted } else { f64::NAN };
        assert_eq!(found.to_bits(), wanted.to_bits(), "target {i}");
    }
}
