//! The expansion of far points in f64: 1e-12 of the value, on the CPU and on the process's GPU.

use crate::common::{Cloud, by_definition, devices, random_cloud, targets_at, values};
use gpu_core::GridSpec;
use idw::{Adaptive, Input, Method, Params, Points, Targets, interpolate};

const POWERS: [f64; 6] = [0.5, 1.0, 2.0, 2.5, 3.0, 4.0];
const SQUARE: [f64; 4] = [0.0, 0.0, 100.0, 100.0];

fn expanded(power: f64) -> Params {
    Params::default().power(power).method(Method::Expansion)
}

/// Asserts 1e-12 of the values' mean magnitude, weighted as they are, on every device.
fn assert_accurate(cloud: &Cloud, (at, places): (Targets, &Cloud), params: &Params, what: &str) {
    let magnitudes = Cloud { z: cloud.z.iter().map(|z| z.abs()).collect(), ..cloud.clone() };
    let of = |cloud: &Cloud, i: usize| by_definition(cloud, (places.x[i], places.y[i]), params);
    let all = 0..places.len();
    let wanted: Vec<_> = all.map(|i| (of(cloud, i), of(&magnitudes, i))).collect();
    for device in devices() {
        let found = values::<f64>(&device, cloud, at, params);
        for (i, (found, (wanted, magnitude))) in found.iter().zip(&wanted).enumerate() {
            let off = (found - wanted) / magnitude;
            let what = format!("{what}, {}, power {}", device.name(), params.power);
            assert!(off.abs() <= 1e-12, "{what}: target {i}: {found}, expected {wanted} ({off:e})");
        }
    }
}

fn assert_everywhere(cloud: &Cloud, targets: &Cloud, params: &Params, what: &str) {
    assert_accurate(cloud, (targets_at(targets), targets), params, what);
}

#[test]
fn every_power_is_that_of_the_definition() {
    let targets = random_cloud(50, [-20.0, -20.0, 120.0, 120.0], 2);
    for count in [1, 256, 257, 1025, 9000] {
        let cloud = random_cloud(count, SQUARE, 40 + count as u64);
        for power in POWERS {
            if count == 9000 || power == 2.0 || power == 2.5 {
                assert_everywhere(&cloud, &targets, &expanded(power), &format!("{count} points"));
            }
        }
    }
}

#[test]
fn spikes_and_values_of_both_signs_keep_the_accuracy() {
    let even = random_cloud(6000, SQUARE, 5);
    let targets = random_cloud(60, [-10.0, -10.0, 110.0, 110.0], 6);
    for rest in [90.0, -60.0] {
        let spiked = |(i, z): (usize, &f64)| if i % 1000 == 7 { 1e6 } else { z + rest };
        let z = even.z.iter().enumerate().map(spiked).collect();
        let cloud = Cloud { z, ..even.clone() };
        for power in [1.0, 2.0, 3.5] {
            assert_everywhere(&cloud, &targets, &expanded(power), "spikes");
        }
    }
}

#[test]
fn grids_smoothing_and_powers_of_their_own_keep_the_accuracy() {
    let (x, y) = (431_000.123, 5_274_000.123);
    let cloud = random_cloud(6000, [x, y, x + 50.0, y + 50.0], 7);
    let grid = GridSpec::new(x - 1.0, y + 50.0, 4.1, 13, 9).unwrap();
    let centres = Cloud::of((0..grid.cells()).map(|i| {
        let (x, y) = grid.cell_centre((i % 13) as u32, (i / 13) as u32);
        (x, y, 0.0)
    }));
    let adaptive = expanded(9.0).adaptive(Adaptive::default().area(2500.0));
    for params in [expanded(2.0), expanded(3.0), expanded(2.0).smoothing(0.7), adaptive] {
        assert_accurate(&cloud, (grid.into(), &centres), &params, "a grid");
    }
}

#[test]
fn points_are_exact_and_values_come_in_columns() {
    let mut cloud = random_cloud(3000, SQUARE, 8);
    for (i, z) in [(20, 11.0), (21, 12.0), (22, 14.5)] {
        (cloud.x[i], cloud.y[i], cloud.z[i]) = (50.0, 51.0, z);
    }
    let few = Cloud::of((0..60).map(|i| (cloud.x[i], cloud.y[i], 0.0)));
    let second: Vec<f64> = cloud.z.iter().map(|z| 300.0 - z).collect();
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z, &second] };
    for power in [1.0, 2.0, 2.2] {
        for device in devices() {
            let input = Input::new(points, targets_at(&few));
            let found = interpolate::<f64>(&device, input, &expanded(power)).unwrap().values;
            for (i, (&first, &second)) in found[0].iter().zip(&found[1]).enumerate() {
                let wanted = if (20..23).contains(&i) { 12.5 } else { cloud.z[i] };
                assert_eq!((first, second), (wanted, 300.0 - wanted), "{} at {i}", device.name());
            }
        }
    }
}

#[test]
fn bits_are_the_same_on_every_run() {
    let (cloud, targets) = (random_cloud(5000, SQUARE, 9), random_cloud(900, SQUARE, 10));
    for device in devices() {
        let first = values::<f64>(&device, &cloud, targets_at(&targets), &expanded(2.0));
        let second = values::<f64>(&device, &cloud, targets_at(&targets), &expanded(2.0));
        assert_eq!(first, second, "{}", device.name());
    }
}
