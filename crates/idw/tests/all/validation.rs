//! Leave-one-out cross-validation, on the CPU and on the process's GPU.

use crate::common::{Cloud, Random, devices, random_cloud, without};
use gpu_core::Device;
use idw::{Adaptive, Method, Params, PowerParams, best_power, cross_validate};

#[test]
fn each_point_is_predicted_from_the_others() {
    let mut cloud = random_cloud(120, [0.0, 0.0, 50.0, 50.0], 51);
    // Two points in one place predict each other.
    (cloud.x[1], cloud.y[1]) = (cloud.x[0], cloud.y[0]);
    let radius = Params::default().radius1(8.0).radius2(8.0);
    let adaptive = Some(Adaptive::default().area(2500.0));
    for params in [
        Params::default(),
        Params::default().power(2.7).smoothing(0.1),
        Params::nearest(6),
        Params::nearest(40),
        radius,
        Params::default().adaptive(adaptive),
        Params::nearest(6).adaptive(adaptive),
    ] {
        for device in devices() {
            let found = cloud.with(|p| cross_validate(&device, p, &params)).unwrap();
            let mut squares = 0.0;
            for i in 0..cloud.len() {
                let wanted = without(&cloud, i, &params) - cloud.z[i];
                let same = (found.errors[i] - wanted).abs() < 1e-9
                    || (found.errors[i].is_nan() && wanted.is_nan());
                assert!(same, "{} at {i}: {}, {wanted}", device.name(), found.errors[i]);
                squares += if wanted.is_nan() { 0.0 } else { wanted * wanted };
            }
            assert!((found.rmse - (squares / found.count as f64).sqrt()).abs() < 1e-9);
        }
    }
}

#[test]
fn points_within_a_radius_that_holds_many_leave_out_one_alone() {
    let mut cloud = random_cloud(1500, [0.0, 0.0, 50.0, 50.0], 58);
    (cloud.x[1], cloud.y[1]) = (cloud.x[0], cloud.y[0]);
    // A stray, which has none within the radius.
    (cloud.x[2], cloud.y[2]) = (500.0, 70.0);
    for params in [
        Params::default().radius(12.0),
        Params::default().radius(40.0).power(3.0),
        Params::default().radius1(30.0).radius2(9.0).angle(20.0).power(2.5),
        Params::default().radius(20.0).adaptive(Adaptive::default().area(2500.0)),
    ] {
        for device in devices() {
            let found = cloud.with(|p| cross_validate(&device, p, &params)).unwrap();
            for i in 0..cloud.len() {
                let wanted = without(&cloud, i, &params) - cloud.z[i];
                let same = (found.errors[i] - wanted).abs() < 1e-9
                    || (found.errors[i].is_nan() && wanted.is_nan());
                assert!(same, "{} at {i}: {}, {wanted}", device.name(), found.errors[i]);
            }
        }
    }
}

#[test]
fn the_best_power_has_the_least_error() {
    let mut cloud = random_cloud(150, [0.0, 0.0, 50.0, 50.0], 52);
    for i in 0..cloud.len() {
        cloud.z[i] = (cloud.x[i] / 6.0).sin() + (cloud.y[i] / 9.0).cos();
    }
    let params = PowerParams::new([0.5, 1.0, 2.0, 3.0, 5.0]);
    for device in devices() {
        let idw::Comparison { best, all, .. } =
            cloud.with(|p| best_power(&device, p, &params)).unwrap();
        let least = all.iter().map(|(_, v)| v.rmse).fold(f64::INFINITY, f64::min);
        let (power, _) = all.iter().find(|(_, v)| v.rmse == least).unwrap();
        assert_eq!(best, Some(*power));
        assert!(*power > 1.0, "a smooth field asks for near points: {power}");
    }
}

/// Asserts that what others make of some points is within 1e-5 of their mean magnitude, weighted as they are,
/// with far points expanded.
fn assert_expanded(cloud: &Cloud, params: &Params, what: &str) {
    let magnitudes = Cloud { z: cloud.z.iter().map(|z| z.abs()).collect(), ..cloud.clone() };
    let sample = (0..cloud.len()).step_by(cloud.len() / 97 + 1);
    let wanted: Vec<_> =
        sample.map(|i| (i, without(cloud, i, params), without(&magnitudes, i, params))).collect();
    let params = params.method(Method::Expansion);
    for device in devices() {
        let found = cloud.with(|points| cross_validate(&device, points, &params)).unwrap();
        assert_eq!(found.count, cloud.len() as u64, "{what}");
        for &(i, wanted, magnitude) in &wanted {
            let off = found.errors[i] + cloud.z[i] - wanted;
            let what = format!("{what}, {}, power {}", device.name(), params.power);
            assert!(off.abs() <= 1e-5 * magnitude, "{what} at {i}: off {off:e} of {wanted}");
        }
    }
}

#[test]
fn far_points_expanded_leave_out_one_point_alone() {
    let mut even = random_cloud(4000, [0.0, 0.0, 100.0, 100.0], 53);
    // Two points in one place predict each other, and so do three; and some are very near others.
    for (i, j) in [(1, 0), (400, 401), (402, 401), (3999, 17)] {
        (even.x[i], even.y[i]) = (even.x[j], even.y[j]);
    }
    for i in (500..900).step_by(2) {
        (even.x[i + 1], even.y[i + 1]) = (even.x[i] + 1e-5, even.y[i]);
    }
    for power in [1.0, 2.0, 3.0, 4.0, 2.5] {
        assert_expanded(&even, &Params::default().power(power), "even");
    }
    assert_expanded(&even, &Params::default().smoothing(0.7), "smoothed");
    let adaptive = Params::default().adaptive(Adaptive::default().area(1e4));
    assert_expanded(&even, &adaptive, "adaptive");
    for (i, z) in even.z.iter_mut().enumerate() {
        *z = if i % 1000 == 7 { 1e6 } else { *z - 60.0 };
    }
    assert_expanded(&even, &Params::default(), "both signs, with spikes");
}

#[test]
fn heaps_and_single_places_are_left_out_one_by_one() {
    let mut random = Random::new(54);
    let middles: Vec<_> = (0..60).map(|_| (1e6 * random.unit(), 1e6 * random.unit())).collect();
    let heaps = Cloud::of((0..3000).map(|i| {
        let (x, y) = middles[i % 60];
        (x + 3.0 * random.unit(), y + 3.0 * random.unit(), 10.0 + 100.0 * random.unit())
    }));
    let place = Cloud::of((0..600).map(|i| (5.0, 7.0, 1.0 + f64::from(i % 4))));
    for power in [1.0, 2.0, 4.0] {
        assert_expanded(&heaps, &Params::default().power(power), "heaps");
        assert_expanded(&place, &Params::default().power(power), "one place");
    }
    let two = random_cloud(2, [0.0, 0.0, 1.0, 1.0], 55);
    assert_expanded(&two, &Params::default(), "two points");
}

#[test]
fn a_point_with_too_few_others_gets_no_value_whether_all_count_or_a_search_finds_them() {
    let points =
        gpu_core::Points { x: &[0.0, 1.0, 3.0], y: &[0.0; 3], values: &[&[1.0, 2.0, 3.0]] };
    for device in devices() {
        for (least, count) in [(2, 3), (3, 0), (4, 0)] {
            for params in [Params::default(), Params::nearest(9), Params::default().radius(99.0)] {
                let params = params.min_points(least);
                let found = cross_validate(&device, points, &params).unwrap();
                assert_eq!(found.count, count, "{} {params:?}", device.name());
                let powers = PowerParams::new([1.0, 2.0]).interpolation(params);
                let best = best_power(&device, points, &powers).unwrap().best;
                assert_eq!(best.is_some(), count > 0, "{} {params:?}", device.name());
            }
        }
    }
}

#[test]
fn points_in_pairs_at_one_place_cost_no_pass_over_all_points_each() {
    let apart = random_cloud(30_000, [0.0, 0.0, 1000.0, 1000.0], 59);
    let mut pairs = apart.clone();
    for i in (0..pairs.len()).step_by(2) {
        (pairs.x[i + 1], pairs.y[i + 1]) = (pairs.x[i], pairs.y[i]);
    }
    for params in [Params::default(), Params::default().power(3.0)] {
        let seconds = |cloud: &Cloud| {
            let start = std::time::Instant::now();
            let found = cloud.with(|p| cross_validate(&Device::Cpu, p, &params)).unwrap();
            (start.elapsed().as_secs_f64(), found)
        };
        let (of_apart, _) = seconds(&apart);
        let (of_pairs, found) = seconds(&pairs);
        // 40 times as long with a pass for each.
        assert!(of_pairs < 8.0 * of_apart, "{of_pairs} s, {of_apart} s apart");
        for i in 0..pairs.len() {
            let off = found.errors[i] + pairs.z[i] - pairs.z[i ^ 1];
            assert!(off.abs() <= 1e-6 * pairs.z[i ^ 1].abs(), "point {i}: off {off:e}");
        }
    }
}

#[test]
fn points_of_rising_power_and_values_beyond_f32_are_left_out_one_by_one() {
    let mut cloud = random_cloud(9000, [-70.0, -50.0, 60.0, 50.0], 60);
    // In one place with another, and nearly so.
    (cloud.x[1], cloud.y[1]) = (cloud.x[0], cloud.y[0]);
    (cloud.x[3], cloud.y[3]) = (cloud.x[2] + 1e-12, cloud.y[2]);
    let large = Cloud { z: cloud.z.iter().map(|z| 1e60 * z).collect(), ..cloud.clone() };
    for params in [
        Params::default().power(5.0),
        Params::default().power(6.5).smoothing(0.5),
        Params::default().power(2.5),
        Params::default().power(4.0),
        Params::default().method(Method::Direct),
        Params::default().geographic(true).power(5.0),
        Params::default().geographic(true).power(4.0),
    ] {
        for cloud in [&cloud, &large] {
            let found = cloud.with(|p| cross_validate(&Device::Cpu, p, &params)).unwrap();
            for i in (0..cloud.len()).step_by(997).chain(0..4) {
                let wanted = without(cloud, i, &params);
                let off = found.errors[i] + cloud.z[i] - wanted;
                let most = 1e-5 * (params.power / 4.0).max(1.0) * wanted.abs();
                assert!(off.abs() <= most, "{params:?} at {i}: off {off:e} of {wanted}");
            }
        }
    }
}
