//! The expansion of far points on the sphere: the promised accuracy, on the CPU and on the process's GPU.

use crate::common::{Cloud, Random, assert_close, devices, expected, targets_at, values, without};
use gpu_core::GridSpec;
use idw::{Adaptive, Input, Method, Params, Points, cross_validate, interpolate};

const POWERS: [f64; 6] = [0.5, 1.0, 2.0, 2.5, 3.0, 4.0];

fn expanded(power: f64) -> Params {
    Params::default().power(power).geographic(true).method(Method::Expansion)
}

/// Asserts 1e-5 of the values' mean magnitude, weighted as they are, on every device.
fn assert_accurate(cloud: &Cloud, targets: &Cloud, params: &Params, what: &str) {
    let magnitudes = Cloud { z: cloud.z.iter().map(|z| z.abs()).collect(), ..cloud.clone() };
    let wanted = expected(cloud, targets, params);
    let most = expected(&magnitudes, targets, params);
    for device in devices() {
        let found = values::<f32>(&device, cloud, targets_at(targets), params);
        for i in 0..found.len() {
            let off = (found[i] - wanted[i]) / most[i];
            let place = (targets.x[i], targets.y[i]);
            let what = format!("{what}, {}, power {}, {place:?}", device.name(), params.power);
            assert!(off.abs() <= 1e-5, "{what}: {}, expected {} ({off:e})", found[i], wanted[i]);
        }
    }
}

/// Points spread evenly over the sphere, with values between 10 and 110.
fn globe(count: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    Cloud::of((0..count).map(|_| {
        let latitude = (2.0 * random.unit() - 1.0).asin().to_degrees();
        (360.0 * random.unit() - 180.0, latitude, 10.0 + 100.0 * random.unit())
    }))
}

/// Places where charts and cells have their corners, and some beside points and opposite of them.
fn places(cloud: &Cloud, seed: u64) -> Cloud {
    let mut all = globe(25, seed);
    let mut add = |x: f64, y: f64| {
        all.x.push(x);
        all.y.push(y);
        all.z.push(0.0);
    };
    for (x, y) in [(0.0, 90.0), (77.0, -90.0), (180.0, 12.0), (-180.0, -34.0), (540.0, 0.0)] {
        add(x, y);
    }
    for i in (0..cloud.len()).step_by(cloud.len() / 12 + 1) {
        let (x, y) = (cloud.x[i], cloud.y[i]);
        add(x + 1e-6, y * 0.999_999_99);
        add(x + 0.01, y * 0.999);
        add(x + 180.0, -y);
        add(x + 179.999, -y * 0.999_99);
    }
    all
}

#[test]
fn every_power_is_that_of_the_definition() {
    for count in [1, 255, 257, 1025, 7000] {
        let cloud = globe(count, 30 + count as u64);
        let targets = places(&cloud, 31);
        for power in POWERS {
            if count == 7000 || power == 2.0 || power == 2.5 {
                assert_accurate(&cloud, &targets, &expanded(power), &format!("{count} points"));
            }
        }
    }
}

#[test]
fn heaps_anywhere_keep_the_accuracy() {
    // Heaps from 10 m to 1000 km wide: on the poles, across the date line, at antipodes of each other.
    let mut random = Random::new(32);
    let middles = [
        (10.0, 90.0),
        (0.0, -90.0),
        (180.0, 5.0),
        (0.0, -5.0),
        (-120.0, 45.0),
        (60.0, -45.0),
        (179.999_9, -70.0),
        (33.0, 0.0),
    ];
    let widths = [1e-4, 0.01, 1.0, 10.0];
    let mut any = |i: usize| {
        let ((x, y), width) = (middles[i % 8], widths[i / 8 % 4]);
        // Over the pole and down the other side.
        let (x, y) = (x + width * (random.unit() - 0.5), y + width * (random.unit() - 0.5));
        let (x, y) = if y.abs() > 90.0 { (x + 180.0, 180.0 * y.signum() - y) } else { (x, y) };
        (x, y, 10.0 + 100.0 * random.unit())
    };
    let cloud = Cloud::of((0..4000).map(&mut any));
    let mut targets = places(&cloud, 33);
    for i in 0..60 {
        let (x, y, _) = any(i);
        targets.x.push(x);
        targets.y.push(y);
        targets.z.push(0.0);
    }
    for power in POWERS {
        assert_accurate(&cloud, &targets, &expanded(power), "heaps");
    }
    // One small heap alone, seen from its antipode.
    let heap = Cloud::of(
        (0..1500)
            .map(|i| any(8 * i + 4))
            .map(|(x, y, z)| (-120.0 + (x + 120.0) * 1e-3, 45.0 + (y - 45.0) * 1e-3, z)),
    );
    let opposite = Cloud::of((0..40).map(|i| {
        let (x, y, _) = any(8 * i + 4);
        (60.0 + (x + 120.0) * 1e-3, -45.0 - (y - 45.0) * 1e-3, 0.0)
    }));
    for power in [1.0, 2.0, 4.0] {
        assert_accurate(&heap, &opposite, &expanded(power), "a heap from its antipode");
    }
}

#[test]
fn a_town_keeps_the_accuracy() {
    let mut random = Random::new(34);
    let mut any = |width: f64| (11.5 + width * random.unit(), 48.1 + width * random.unit());
    let cloud = Cloud::of((0..5000).map(|i| {
        let (x, y) = any(0.1);
        (x, y, f64::from(100 + i % 37))
    }));
    let targets = Cloud::of((0..60).map(|_| any(0.1)).map(|(x, y)| (x, y, 0.0)));
    for power in POWERS {
        assert_accurate(&cloud, &targets, &expanded(power), "a town");
    }
    assert_accurate(&cloud, &targets, &expanded(2.0).smoothing(300.0), "a smoothed town");
}

#[test]
fn spikes_and_values_of_both_signs_keep_the_accuracy() {
    let even = globe(5000, 35);
    let targets = places(&even, 36);
    let spiked = |(i, z): (usize, &f64), rest: f64| if i % 1000 == 7 { 1e6 } else { z + rest };
    for rest in [90.0, -60.0] {
        let z = even.z.iter().enumerate().map(|of| spiked(of, rest)).collect();
        let cloud = Cloud { z, ..even.clone() };
        for power in [1.0, 2.0, 3.5] {
            assert_accurate(&cloud, &targets, &expanded(power), "spikes");
        }
    }
}

#[test]
fn points_and_constants_stay_exact() {
    let mut cloud = globe(3000, 37);
    for (i, z) in [(20, 11.0), (21, 12.0), (22, 14.5)] {
        (cloud.x[i], cloud.y[i], cloud.z[i]) = (50.0, 51.0, z);
    }
    let few = Cloud::of((0..60).map(|i| (cloud.x[i], cloud.y[i], 0.0)));
    for power in [1.0, 2.0, 2.2] {
        for device in devices() {
            let found = values::<f32>(&device, &cloud, targets_at(&few), &expanded(power));
            for (i, &found) in found.iter().enumerate() {
                let wanted = if (20..23).contains(&i) { 12.5 } else { cloud.z[i] };
                assert_eq!(found, f64::from(wanted as f32), "{} at {i}", device.name());
            }
        }
    }
    let around = places(&cloud, 38);
    cloud.z.fill(0.1);
    for device in devices() {
        let found = values::<f32>(&device, &cloud, targets_at(&around), &expanded(2.0));
        assert!(found.iter().all(|&v| v == f64::from(0.1f32)), "{}", device.name());
    }
}

#[test]
fn grids_and_several_values_have_the_values_of_their_places() {
    let cloud = globe(3000, 39);
    let second: Vec<f64> = cloud.z.iter().map(|z| 300.0 - z).collect();
    let other = Cloud { z: second.clone(), ..cloud.clone() };
    let grid = GridSpec::new(-180.0, 90.0, 22.5, 16, 8).unwrap();
    let centres = Cloud::of((0..grid.cells()).map(|i| {
        let (x, y) = grid.cell_centre((i % 16) as u32, (i / 16) as u32);
        (x, y, 0.0)
    }));
    for power in [2.0, 3.0] {
        let wanted = [&cloud, &other].map(|cloud| expected(cloud, &centres, &expanded(power)));
        let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z, &second] };
        for device in devices() {
            let found = interpolate::<f32>(&device, Input::new(points, grid), &expanded(power));
            for (found, wanted) in found.unwrap().values.iter().zip(&wanted) {
                let found: Vec<f64> = found.iter().map(|&v| f64::from(v)).collect();
                assert_close(&found, wanted, 1e-5, &device.name());
            }
        }
    }
}

#[test]
fn powers_of_their_own_and_points_left_out_keep_the_accuracy() {
    let mut cloud = globe(3000, 40);
    // Two in one place predict each other.
    (cloud.x[5], cloud.y[5]) = (cloud.x[4], cloud.y[4]);
    let area = 4.0 * std::f64::consts::PI * idw::RADIUS * idw::RADIUS;
    let adaptive = expanded(2.0).adaptive(Adaptive::default().area(area));
    assert_accurate(&cloud, &places(&cloud, 41), &adaptive, "adaptive");
    for params in [expanded(2.0), expanded(3.0), adaptive] {
        for device in devices() {
            let found = cloud.with(|points| cross_validate(&device, points, &params)).unwrap();
            for i in (0..cloud.len()).step_by(61).chain([4, 5]) {
                let wanted = without(&cloud, i, &params);
                let off = (found.errors[i] + cloud.z[i] - wanted) / wanted;
                assert!(off.abs() <= 1e-5, "{} at {i}: {off:e}", device.name());
            }
        }
    }
}

#[test]
fn bits_are_the_same_on_every_run() {
    let cloud = globe(3000, 42);
    let targets = globe(1500, 43);
    for device in devices() {
        let first = values::<f32>(&device, &cloud, targets_at(&targets), &expanded(2.0));
        let second = values::<f32>(&device, &cloud, targets_at(&targets), &expanded(2.0));
        assert_eq!(first, second, "{}", device.name());
    }
}
