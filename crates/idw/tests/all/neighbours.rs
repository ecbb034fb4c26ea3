//! Neighbours: which points a target takes, and what they give; on the CPU and on the process's GPU.

use crate::common::{
    Cloud, Random, assert_close, by_definition, devices, expected, haversine, neighbours,
    random_cloud, targets_at, values, without,
};
use gpu_core::{Device, GridSpec};
use idw::{
    Adaptive, Input, Kernel, KernelShape, Params, PowerParams, Targets, TooFewPoints, ValueRange,
    best_power, cross_validate, interpolate,
};
use proptest::prelude::*;

const SQUARE: [f64; 4] = [0.0, 0.0, 100.0, 100.0];

/// Interpolates on every device and compares with the definition, the statistics too.
pub fn check(cloud: &Cloud, targets: &Cloud, params: &Params, share: f64) {
    let places: Vec<(f64, f64)> =
        targets.x.iter().copied().zip(targets.y.iter().copied()).collect();
    let wanted: Vec<f64> = places.iter().map(|&at| by_definition(cloud, at, params)).collect();
    let params = params.statistics(true);
    for device in devices() {
        let what = format!("{}, {params:?}", device.name());
        let run = cloud.with(|points| {
            interpolate::<f64>(&device, Input::new(points, targets_at(targets)), &params).unwrap()
        });
        assert_close(&run.values[0], &wanted, share, &what);
        let missing = wanted.iter().filter(|v| v.is_nan()).count() as u64;
        assert_eq!(run.summary.nodata, missing, "{what}");
        let statistics = run.statistics.unwrap();
        for (i, &at) in places.iter().enumerate().filter(|&(i, _)| !wanted[i].is_nan()) {
            let taken = neighbours(cloud, at, &params);
            assert_eq!(statistics.count[i] as usize, taken.len(), "{what}, target {i}");
            let values: Vec<f64> = taken.iter().map(|&(_, p)| cloud.z[p]).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
            assert_eq!(statistics.min[i], values.iter().copied().fold(f64::MAX, f64::min));
            assert_eq!(statistics.max[i], values.iter().copied().fold(f64::MIN, f64::max));
            assert!((statistics.mean[i] - mean).abs() < 1e-9, "{what}");
            assert!((statistics.deviation[i] - deviation).abs() < 1e-6, "{what}");
            let nearest = taken[0].0;
            assert!((statistics.nearest_distance[i] - nearest).abs() <= 1e-6 * nearest.max(1e-6));
        }
        let single = cloud.with(|points| {
            interpolate::<f32>(&device, Input::new(points, targets_at(targets)), &params).unwrap()
        });
        let single: Vec<f64> = single.values[0].iter().map(|&v| f64::from(v)).collect();
        assert_close(&single, &wanted, 1e-6, &what);
    }
}

#[test]
fn the_nearest_points_are_found() {
    let targets = random_cloud(80, [-60.0, -60.0, 160.0, 160.0], 31);
    for count in [1, 5, 33, 400] {
        let cloud = random_cloud(count, SQUARE, 30 + count as u64);
        for max_points in [1, 3, 8, 9, 12, 16, 24, 25, 32, 48, 64, 65, 1000] {
            let params = Params::default().max_points(max_points);
            check(&cloud, &targets, &params, 1e-12);
        }
    }
}

const SHAPES: [KernelShape; 7] = [
    KernelShape::Uniform,
    KernelShape::Triangular,
    KernelShape::Epanechnikov,
    KernelShape::Biweight,
    KernelShape::Triweight,
    KernelShape::Tricube,
    KernelShape::Gaussian,
];

/// On points too, and where none is within the bandwidth or, for the Gaussian, far within it.
#[test]
fn kernel_functions_weigh_neighbours() {
    let cloud = random_cloud(300, SQUARE, 71);
    let mut targets = random_cloud(80, [-30.0, -30.0, 130.0, 130.0], 72);
    for i in 0..20 {
        (targets.x[i], targets.y[i]) = (cloud.x[i], cloud.y[i]);
    }
    for shape in SHAPES {
        let kernel = |bandwidth| Params::default().kernel(Kernel::new(shape, bandwidth));
        let searches = [
            kernel(9.0).radius(9.0),
            kernel(9.0).max_points(12),
            kernel(1.5).max_points(4).min_points(2),
            kernel(40.0).max_points(40).max_points_per_quadrant(10),
            kernel(25.0).radius1(30.0).radius2(6.0).angle(20.0).max_points(200),
            kernel(6.0).min_points(3).max_points(9).too_few_points(TooFewPoints::Nearest),
        ];
        for params in searches {
            check(&cloud, &targets, &params, 1e-11);
        }
        if shape.ends() {
            assert_eq!((kernel(9.0).radius1, kernel(9.0).radius2), (9.0, 9.0));
        }
    }
}

#[test]
fn kernel_functions_have_the_same_bits_on_every_device_and_on_the_globe() {
    let cloud = random_cloud(400, [5.0, 40.0, 9.0, 43.0], 73);
    let grid = GridSpec::new(4.9, 43.1, 0.11, 39, 29).unwrap();
    let places = random_cloud(60, [5.0, 40.0, 9.0, 43.0], 74);
    for shape in SHAPES {
        for geographic in [false, true] {
            let bandwidth = if geographic { 35_000.0 } else { 0.4 };
            let kernel = Params::default().kernel(Kernel::new(shape, bandwidth));
            let kernel = kernel.geographic(geographic);
            let params = kernel.max_points(20);
            same_bits(&cloud, grid, &params);
            same_bits(&cloud, grid, &kernel.max_points(60));
            if !geographic {
                same_bits(&cloud, grid, &kernel.max_points_per_quadrant(8).max_points(32));
            }
            check(&cloud, &places, &params, 1e-9);
        }
    }
}

/// Far from lines with so many points that 32 targets together would come to thousands of them.
#[test]
fn far_targets_of_long_lines_have_the_same_bits_on_every_device_and_on_the_globe() {
    let mut random = Random::new(75);
    let grid = GridSpec::new(-150.0, 80.0, 10.0, 30, 16).unwrap();
    for (from, to) in [
        ((-170.0, 0.0), (170.0, 0.0)),
        ((10.0, -89.0), (10.0, 89.0)),
        ((-60.0, -30.0), (70.0, 20.0)),
    ] {
        let cloud = Cloud::of((0..12_000).map(|_| {
            let part = random.unit();
            let along = |from: f64, to: f64| from + part * (to - from);
            (along(from.0, to.0), along(from.1, to.1), random.between(10.0, 110.0))
        }));
        for geographic in [false, true] {
            let params = Params::default().geographic(geographic);
            let radius = if geographic { 4e6 } else { 35.0 };
            same_bits(&cloud, grid, &params.max_points(12));
            same_bits(&cloud, grid, &params.max_points(60));
            same_bits(&cloud, grid, &params.max_points(30).radius(radius));
        }
    }
}

fn same_bits(cloud: &Cloud, grid: GridSpec, params: &Params) {
    let mut all = devices().into_iter().map(|device| {
        let bits = |v: &f64| v.to_bits();
        values::<f64>(&device, cloud, Targets::Grid(grid), params)
            .iter()
            .map(bits)
            .collect::<Vec<_>>()
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert!(other == first, "{params:?}"));
}

/// Each point from the others, and what a kernel function does not go with.
#[test]
fn kernel_functions_are_validated_and_checked() {
    let cloud = random_cloud(200, SQUARE, 75);
    let biweight =
        |bandwidth| Params::default().kernel(Kernel::new(KernelShape::Biweight, bandwidth));
    for params in [biweight(12.0), biweight(30.0).max_points(10)] {
        for device in devices() {
            let found = cloud.with(|points| cross_validate(&device, points, &params).unwrap());
            for (i, error) in found.errors.iter().enumerate() {
                let expected = without(&cloud, i, &params) - cloud.z[i];
                let is_near =
                    (error - expected).abs() < 1e-9 || (error.is_nan() && expected.is_nan());
                assert!(is_near, "{}, {i}: {error}, not {expected}", device.name());
            }
        }
    }
    let refused = |params: Params, words: &[&str]| {
        let run = cloud.with(|points| {
            interpolate::<f32>(&Device::Cpu, Input::new(points, targets_at(&cloud)), &params)
        });
        let error = run.unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    for bandwidth in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-140] {
        refused(
            biweight(1.0).kernel(Kernel::new(KernelShape::Biweight, bandwidth)),
            &["bandwidth"],
        );
    }
    let gaussian = Params::default().kernel(Kernel::new(KernelShape::Gaussian, 3.0));
    refused(gaussian, &["kernel function", "all points", "radius"]);
    refused(biweight(1.0).smoothing(1.0), &["kernel function", "smoothing"]);
    refused(biweight(1.0).adaptive(Adaptive::default()), &["kernel function", "adaptive"]);
    let powers = PowerParams::new(vec![1.0, 2.0]).interpolation(biweight(1.0));
    let error = cloud.with(|points| best_power(&Device::Cpu, points, &powers)).unwrap_err();
    assert!(error.to_string().contains("kernel function does not work with powers"), "{error}");
}

#[test]
fn the_adaptive_power_goes_with_a_search() {
    let targets = random_cloud(80, SQUARE, 33);
    let mut cloud = random_cloud(150, SQUARE, 34);
    for i in 0..75 {
        (cloud.x[i], cloud.y[i]) = (cloud.x[i] / 8.0, cloud.y[i] / 8.0);
    }
    // The pattern is of the nearest points, whatever the search takes.
    let how = Adaptive::default().area(10_000.0).neighbours(6);
    let base = Params::default().adaptive(how);
    for params in [
        base.max_points(4),
        base.max_points(30).min_points(2),
        base.radius1(9.0).radius2(9.0).smoothing(0.5),
        base.max_points_per_quadrant(3),
    ] {
        check(&cloud, &targets, &params, 1e-12);
    }
}

#[test]
fn equal_distances_go_to_the_lower_index() {
    // A lattice with shuffled values, and targets on it, between it and amid its cells.
    let lattice = |i: usize| (f64::from(i as u32 % 12), f64::from(i as u32 / 12));
    let cloud = Cloud::of(
        (0..144)
            .map(lattice)
            .enumerate()
            .map(|(i, (x, y))| (x, y, f64::from((i * 37 % 101) as u32))),
    );
    let targets = Cloud::of(
        (0..60).map(|i| (f64::from(i % 10) + 0.5 * f64::from(i % 3), f64::from(i / 10) + 0.5, 0.0)),
    );
    for max_points in [1, 2, 3, 5, 7, 30] {
        check(&cloud, &targets, &Params::nearest(max_points), 1e-12);
    }
}

#[test]
fn radius_ellipse_and_counts_limit_the_neighbours() {
    let cloud = random_cloud(300, SQUARE, 33);
    let targets = random_cloud(60, [-20.0, -20.0, 120.0, 120.0], 34);
    let base = Params::default().power(3.0);
    for (radius1, radius2, angle) in
        [(9.0, 9.0, 0.0), (20.0, 5.0, 0.0), (20.0, 5.0, 30.0), (3.0, 25.0, -75.0)]
    {
        for (max_points, min_points) in [(0, 0), (0, 3), (5, 2), (40, 4)] {
            for below in [TooFewPoints::Nodata, TooFewPoints::Nearest] {
                let params = base
                    .radius1(radius1)
                    .radius2(radius2)
                    .angle(angle)
                    .max_points(max_points)
                    .min_points(min_points)
                    .too_few_points(below);
                check(&cloud, &targets, &params, 1e-12);
            }
        }
    }
}

#[test]
fn quadrants_have_their_own_limits() {
    let cloud = random_cloud(250, SQUARE, 35);
    let targets = random_cloud(50, [-10.0, -10.0, 110.0, 110.0], 36);
    for (max_points_per_quadrant, min_points_per_quadrant) in
        [(1, 0), (3, 1), (2, 2), (0, 2), (16, 5), (17, 3)]
    {
        for (max_points, min_points) in [(0, 0), (7, 3)] {
            for (radius, below) in [
                (0.0, TooFewPoints::Nodata),
                (15.0, TooFewPoints::Nodata),
                (15.0, TooFewPoints::Nearest),
            ] {
                let params = Params::default()
                    .max_points_per_quadrant(max_points_per_quadrant)
                    .min_points_per_quadrant(min_points_per_quadrant)
                    .max_points(max_points)
                    .min_points(min_points)
                    .radius1(radius)
                    .radius2(radius)
                    .too_few_points(below)
                    .smoothing(0.5);
                check(&cloud, &targets, &params, 1e-12);
            }
        }
    }
}

#[test]
fn quadrants_on_the_sphere_are_by_longitude_and_latitude() {
    // Some on the targets' meridian, some on its parallel, and the targets round the whole globe.
    let mut cloud = random_cloud(300, [-180.0, -90.0, 180.0, 90.0], 45);
    let mut targets = random_cloud(40, [-180.0, -80.0, 180.0, 80.0], 46);
    for i in 0..40 {
        (targets.x[i], targets.y[i]) = (targets.x[i].round(), targets.y[i].round());
        cloud.x[i] = targets.x[i] + if i % 3 == 0 { 360.0 } else { 0.0 };
        cloud.y[40 + i] = targets.y[i];
    }
    (targets.x[0], targets.y[0]) = (179.99, 10.3);
    (targets.x[1], targets.y[1]) = (-179.99, -40.2);
    let by_quadrants = Params::default().geographic(true).max_points_per_quadrant(2);
    for params in [
        by_quadrants,
        by_quadrants.min_points_per_quadrant(1).radius1(4e6).radius2(4e6),
        by_quadrants.max_points(5).min_points_per_quadrant(2).too_few_points(TooFewPoints::Nearest),
    ] {
        check(&cloud, &targets, &params, 1e-9);
    }
}

#[test]
fn on_the_sphere_many_neighbours_are_found_in_heaps_and_gaps() {
    // Heaps around a pole, on the date line and in a town, and points everywhere.
    let mut cloud = random_cloud(900, [-180.0, -90.0, 180.0, 90.0], 39);
    let mut random = testing::Random::new(40);
    for i in 0..600 {
        let [u, v] = [(); 2].map(|()| random.between(-1.0, 1.0));
        (cloud.x[i], cloud.y[i]) = match i % 3 {
            0 => (180.0 * u, 90.0 - 3.0 * v.abs()),
            1 => (179.5 + 2.0 * u, 10.0 + 2.0 * v),
            _ => (8.0 + 0.05 * u, 47.0 + 0.05 * v),
        };
    }
    let mut targets = random_cloud(40, [-180.0, -90.0, 180.0, 90.0], 41);
    for i in 0..20 {
        (targets.x[i], targets.y[i]) = (cloud.x[7 * i] + 0.01, cloud.y[7 * i] - 0.01);
    }
    let nearest = |count: u32| Params::nearest(count).geographic(true);
    let by_quadrants = |most: u32| Params::default().geographic(true).max_points_per_quadrant(most);
    for params in [
        nearest(13),
        nearest(33),
        nearest(64),
        nearest(65),
        nearest(500),
        nearest(2000),
        nearest(70).radius(3e5),
        by_quadrants(20),
        by_quadrants(40).max_points(90),
        nearest(200).radius(2e5).min_points(80).too_few_points(TooFewPoints::Nearest),
    ] {
        check(&cloud, &targets, &params, 1e-7);
    }
}

#[test]
fn on_the_sphere_neighbours_lie_beyond_the_date_line_and_the_poles() {
    let cloud = random_cloud(300, [-180.0, -90.0, 180.0, 90.0], 37);
    let mut targets = random_cloud(50, [-180.0, -90.0, 180.0, 90.0], 38);
    for (i, at) in [(179.9, 10.0), (-179.9, -40.0), (5.0, 89.5), (77.0, -90.0), (190.0, 0.0)]
        .into_iter()
        .enumerate()
    {
        (targets.x[i], targets.y[i]) = at;
    }
    for max_points in [1, 4, 12, 30] {
        let params = Params::default().max_points(max_points).geographic(true);
        check(&cloud, &targets, &params, 1e-7);
    }
    let params = Params::default().radius1(2.5e6).radius2(2.5e6).geographic(true);
    check(&cloud, &targets, &params, 1e-7);
    let limited = params.max_points(5).min_points(4);
    check(&cloud, &targets, &limited, 1e-7);
    assert!(haversine((179.9, 0.0), (-179.9, 0.0)) < 23_000.0);
}

/// Of caps that hold many points no list is made.
#[test]
fn caps_of_many_points_are_summed_as_defined() {
    let cloud = random_cloud(4000, [-180.0, -90.0, 180.0, 90.0], 48);
    let targets = random_cloud(60, [-180.0, -89.0, 180.0, 89.0], 49);
    for (radius, power) in [(1e6, 2.0), (4e6, 2.0), (9e6, 1.0), (1.5e7, 3.0), (2.1e7, 2.5)] {
        let params = Params::default().radius(radius).power(power).geographic(true);
        let wanted = expected(&cloud, &targets, &params);
        for device in devices() {
            let what = format!("{} m on {}", radius, device.name());
            let found = values::<f64>(&device, &cloud, targets_at(&targets), &params);
            assert_close(&found, &wanted, 1e-9, &what);
            let found = values::<f32>(&device, &cloud, targets_at(&targets), &params);
            assert_close(&found, &wanted, 1e-5, &what);
        }
    }
}

#[test]
fn a_grid_searches_like_its_centres() {
    let cloud = random_cloud(500, SQUARE, 41);
    let grid = GridSpec::new(-5.0, 105.0, 4.0, 27, 28).unwrap();
    let params = Params::nearest(12);
    let centre = |i: u64| grid.cell_centre((i % 27) as u32, (i / 27) as u32);
    let wanted: Vec<f64> =
        (0..grid.cells()).map(|i| by_definition(&cloud, centre(i), &params)).collect();
    for device in devices() {
        let run = cloud
            .with(|points| interpolate::<f64>(&device, Input::new(points, grid), &params).unwrap());
        assert_close(&run.values[0], &wanted, 1e-12, &device.name());
    }
}

/// On the CPU, where targets of a grid are searched in patches. Covers edges, grids of a row or a column, ties between
/// points of several patches, and clusters of more points than a patch can have candidates.
#[test]
fn patches_of_any_shape_are_searched_like_their_targets() {
    let even = random_cloud(600, SQUARE, 47);
    let mut lattice = even.clone();
    lattice.x.iter_mut().chain(&mut lattice.y).for_each(|v| *v = (*v / 5.0).round() * 5.0);
    let mut heaps = even.clone();
    for i in 0..100 {
        (heaps.x[i], heaps.y[i]) = (40.0 + heaps.x[i] * 1e-9, 60.0);
    }
    (0..1200).for_each(|i| heaps.push((45.0, 55.0, f64::from(i))));
    for (what, cloud) in [("even", even), ("lattice", lattice), ("heaps", heaps)] {
        for (width, height) in [(1, 21), (21, 1), (2, 9), (9, 2), (3, 7), (7, 3), (13, 9)] {
            let grid = GridSpec::new(30.0, 70.0, 2.5, width, height).unwrap();
            for most in [1, 4, 12, 32, 64] {
                let params = Params::nearest(most).power(3.0);
                let wanted: Vec<f64> = (0..grid.cells() as u32)
                    .map(|i| grid.cell_centre(i % width, i / width))
                    .map(|centre| by_definition(&cloud, centre, &params))
                    .collect();
                let run = cloud.with(|points| {
                    interpolate::<f64>(&Device::Cpu, Input::new(points, grid), &params)
                });
                let what = format!("{what}, {width} x {height}, {most} nearest");
                assert_close(&run.unwrap().values[0], &wanted, 1e-12, &what);
            }
        }
    }
}

#[test]
fn statistics_over_all_points_are_those_of_the_points() {
    let cloud = random_cloud(90, SQUARE, 42);
    let targets = random_cloud(30, SQUARE, 43);
    check(&cloud, &targets, &Params::default(), 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_search_is_that_of_the_definition(
        seed in 0u64..1000,
        count in 1usize..120,
        snap in prop::bool::ANY,
        max_points in 0u32..30,
        min in 0u32..4,
        radius in prop::option::of(1.0f64..80.0),
        stretch in 0.2f64..3.0,
        angle in -90.0f64..90.0,
        quadrants in (0u32..4, 0u32..3),
        nearest in prop::bool::ANY,
    ) {
        let mut cloud = random_cloud(count, SQUARE, seed);
        if snap {
            cloud.x.iter_mut().chain(&mut cloud.y).for_each(|v| *v = (*v / 8.0).round() * 8.0);
        }
        let mut targets = random_cloud(12, [-30.0, -30.0, 130.0, 130.0], seed + 1);
        (targets.x[0], targets.y[0]) = (cloud.x[0], cloud.y[0]);
        let params = Params::default().max_points(max_points).min_points(if max_points > 0 { min.min(max_points) } else { min }).radius1(radius.unwrap_or(0.0)).radius2(radius.map_or(0.0, |r| r * stretch)).angle(angle).max_points_per_quadrant(quadrants.0).min_points_per_quadrant(if quadrants.0 > 0 { quadrants.1.min(quadrants.0) } else { quadrants.1 }).too_few_points(if nearest { TooFewPoints::Nearest } else { TooFewPoints::Nodata });
        check(&cloud, &targets, &params, 1e-11);
    }
}

#[test]
fn weights_are_relative_to_the_nearest_whatever_the_power() {
    let cloud = Cloud::of([(1000.0, 0.0, 1.0), (0.0, 1001.0, 2.0), (-5000.0, 1.0, 9.0)]);
    let origin = Cloud::of([(0.0, 0.0, 0.0)]);
    for params in [
        Params::nearest(2).power(100.0),
        Params::nearest(30).power(100.0),
        Params::default().power(100.0).max_points_per_quadrant(2),
        Params::default().power(100.0).radius1(2e3).radius2(2e3),
        Params::nearest(2).power(100.0).smoothing(1e3),
    ] {
        check(&cloud, &origin, &params, 1e-12);
        if params.smoothing == 0.0 {
            let value = by_definition(&cloud, (0.0, 0.0), &params);
            assert!((value - 1.475).abs() < 1e-3, "{value}");
        }
    }
    // Weights that overflow by themselves, and points equally far.
    let tiny = Cloud::of([(1e-100, 0.0, 3.0), (0.0, 2e-100, 1.0), (3.0, 4.0, 5.0)]);
    let ties = Cloud::of([(1e4, 0.0, 1.0), (0.0, 1e4, 2.0), (-1e4, 0.0, 6.0), (0.0, -2e4, 7.0)]);
    for power in [1.0, 2.0, 3.0, 4.0, 80.0] {
        for cloud in [&tiny, &ties] {
            check(cloud, &origin, &Params::nearest(3).power(power), 1e-12);
            check(cloud, &origin, &Params::nearest(30).power(power), 1e-12);
        }
    }
}

#[test]
fn as_many_points_of_a_quadrant_as_there_are_numbers_means_all() {
    let cloud = random_cloud(40, SQUARE, 45);
    let targets = random_cloud(10, SQUARE, 46);
    for least in [1 << 30, (1 << 30) + 1, u32::MAX] {
        let params =
            Params::default().min_points_per_quadrant(least).too_few_points(TooFewPoints::Nearest);
        check(&cloud, &targets, &params, 1e-12);
    }
}

/// A part of a surface, of the points within reach alone, in f64: with the range of the whole it has the whole's bits.
#[test]
fn a_part_with_the_range_of_the_whole_has_its_bits() {
    let mut cloud = random_cloud(4000, SQUARE, 61);
    cloud.x.iter_mut().take(2000).for_each(|x| *x = x.round());
    cloud.y.iter_mut().take(2000).for_each(|y| *y = y.round());
    // The extremes lie in no part.
    cloud.push((1.0, 1.0, 2.0));
    cloud.push((99.0, 99.0, 500.0));
    let all = cloud.z.iter().fold((f64::MAX, f64::MIN), |(l, h), &z| (l.min(z), h.max(z)));
    let range = ValueRange { min: all.0, max: all.1 };
    let near =
        |i: &usize| (25.0..=55.0).contains(&cloud.x[*i]) && (35.0..=65.0).contains(&cloud.y[*i]);
    let part = (0..cloud.len()).filter(near).map(|i| (cloud.x[i], cloud.y[i], cloud.z[i]));
    let part = Cloud::of(part);
    let grid = GridSpec::new(35.0, 55.0, 0.25, 40, 40).unwrap();
    let centres = |i: u32| grid.cell_centre(i % 40, i / 40);
    let centres = Cloud::of((0..1600).map(centres).map(|(x, y)| (x, y, 0.0)));
    let nearest = Params::nearest(12).radius(10.0);
    for (params, on_device) in [
        (nearest, true),
        (nearest.max_points(24).power(2.5).min_points(3), true),
        (nearest.smoothing(0.5).power(3.0), true),
        (Params::default().radius(7.0), false),
        (nearest.max_points_per_quadrant(3).min_points_per_quadrant(1), true),
        (nearest.max_points(60), true),
        (nearest.radius2(7.0).angle(20.0).max_points(64), true),
        (nearest.max_points(65), false),
    ] {
        for device in devices() {
            if !matches!(device, Device::Cpu) && !on_device {
                continue;
            }
            let bits = |cloud: &Cloud, params: &Params, is_grid: bool| -> Vec<u64> {
                let run = cloud.with(|points| {
                    let input = match is_grid {
                        true => Input::new(points, grid),
                        false => Input::new(points, targets_at(&centres)),
                    };
                    interpolate::<f64>(&device, input, params).unwrap()
                });
                run.values[0].iter().map(|value| value.to_bits()).collect()
            };
            let whole = bits(&cloud, &params, true);
            let what = format!("{}, {params:?}", device.name());
            assert!(whole == bits(&part, &params.value_range(range), false), "{what}");
            assert!(whole != bits(&part, &params, false), "{what}: the range is of no account");
            // What the points widen is as if it were not given.
            let narrow = ValueRange { min: 50.0, max: 51.0 };
            assert!(whole == bits(&cloud, &params.value_range(narrow), true), "{what}");
        }
    }
}
