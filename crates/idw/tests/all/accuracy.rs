//! The accuracy that is promised for f32, on data that f32 bears badly; on the CPU and on the process's
//! GPU, directly and with the expansion.

use crate::common::{
    Cloud, Random, assert_close, by_definition, devices, random_cloud, targets_at, values,
};
use gpu_core::GridSpec;
use idw::{Input, Method, Params, Points, Targets, interpolate};

const POWERS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 2.5];

/// Asserts 1e-5 of the value at every power, on every device, by both ways of summing.
fn assert_promised(cloud: &Cloud, targets: Targets, places: &Cloud, what: &str) {
    for power in POWERS {
        let params = Params::default().power(power);
        let of = |i: usize| by_definition(cloud, (places.x[i], places.y[i]), &params);
        let wanted: Vec<f64> = (0..places.len()).map(of).collect();
        for device in devices() {
            for method in [Method::Direct, Method::Expansion] {
                let what = format!("{what}, {}, {method:?}, power {power}", device.name());
                let found = values::<f32>(&device, cloud, targets, &params.method(method));
                assert_close(&found, &wanted, 1e-5, &what);
            }
        }
    }
}

/// Points in 60 heaps of 3 m over 1000 km, 50 in each; `z` gives their values.
fn heaps(seed: u64, z: impl Fn(usize, f64) -> f64) -> Cloud {
    let mut random = Random::new(seed);
    let middles: Vec<_> = (0..60).map(|_| (1e6 * random.unit(), 1e6 * random.unit())).collect();
    Cloud::of((0..3000).map(|i| {
        let (x, y) = middles[i % 60];
        (x + 3.0 * random.unit(), y + 3.0 * random.unit(), z(i, random.unit()))
    }))
}

/// Places in the heaps, and some between them.
fn among(cloud: &Cloud, count: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    Cloud::of((0..count).map(|i| {
        let of = (random.unit() * cloud.len() as f64) as usize;
        let reach = if i % 10 == 0 { 1e5 } else { 1.0 };
        (cloud.x[of] + reach * random.unit(), cloud.y[of] + reach * random.unit(), 0.0)
    }))
}

#[test]
fn heaps_of_metres_over_a_thousand_kilometres_keep_it() {
    let cloud = heaps(61, |_, unit| 10.0 + 100.0 * unit);
    let targets = among(&cloud, 150, 62);
    assert_promised(&cloud, targets_at(&targets), &targets, "heaps");
}

#[test]
fn a_grid_over_one_of_many_heaps_keeps_it() {
    let cloud = heaps(63, |_, unit| 10.0 + 100.0 * unit);
    for heap in [5, 23, 41] {
        let (west, north) = (cloud.x[heap] - 1.0, cloud.y[heap] + 1.0);
        let grid = GridSpec::new(west, north, 0.3, 9, 8).unwrap();
        let centres = Cloud::of((0..grid.cells()).map(|i| {
            let (x, y) = grid.cell_centre((i % 9) as u32, (i / 9) as u32);
            (x, y, 0.0)
        }));
        assert_promised(&cloud, Targets::Grid(grid), &centres, "a grid");
    }
}

#[test]
fn stations_beside_a_stray_point_keep_it() {
    let stations = random_cloud(60, [0.0, 0.0, 100.0, 100.0], 78);
    let targets = random_cloud(60, [0.0, 0.0, 100.0, 100.0], 79);
    for far in [1e9, 1e14, 1e15, -1e16, 1e18] {
        for (x, y) in [(far, 50.0), (50.0, far), (far, far)] {
            let mut cloud = stations.clone();
            cloud.x.insert(17, x);
            cloud.y.insert(17, y);
            cloud.z.insert(17, 900.0);
            assert_promised(&cloud, targets_at(&targets), &targets, &format!("({x:e}, {y:e})"));
        }
    }
}

#[test]
fn heaps_of_a_metre_over_any_extent_keep_it() {
    for (seed, extent) in [(80, 1e7), (81, 1e9), (82, 1e11), (83, 1e12)] {
        let mut random = Random::new(seed);
        let middles: Vec<_> =
            (0..40).map(|_| (extent * random.unit(), extent * random.unit())).collect();
        let cloud = Cloud::of((0..2000).map(|i| {
            let (x, y) = middles[i % 40];
            (x + random.unit(), y + random.unit(), 10.0 + 100.0 * random.unit())
        }));
        let targets = among(&cloud, 60, seed + 10);
        assert_promised(&cloud, targets_at(&targets), &targets, &format!("heaps over {extent:e}"));
    }
}

#[test]
fn values_with_rare_spikes_keep_it() {
    let spiked = |i: usize, unit: f64| if i % 1000 == 7 { 1e6 } else { 99.0 + 2.0 * unit };
    let mut random = Random::new(64);
    let even = Cloud::of(
        (0..4000).map(|i| (100.0 * random.unit(), 100.0 * random.unit(), spiked(i, random.unit()))),
    );
    let targets = random_cloud(150, [-10.0, -10.0, 110.0, 110.0], 65);
    assert_promised(&even, targets_at(&targets), &targets, "spikes");
    let below = Cloud { z: even.z.iter().map(|z| -z).collect(), ..even };
    assert_promised(&below, targets_at(&targets), &targets, "spikes downwards");
    let heaps = heaps(66, spiked);
    let targets = among(&heaps, 100, 67);
    assert_promised(&heaps, targets_at(&targets), &targets, "spikes in heaps");
}

#[test]
fn targets_close_beside_points_keep_it() {
    let cloud = random_cloud(3000, [0.0, 0.0, 100.0, 100.0], 68);
    let mut random = Random::new(69);
    let beside = Cloud::of((0..200).map(|i| {
        let reach = 10f64.powf(-6.0 * random.unit());
        (cloud.x[i] + reach * random.unit(), cloud.y[i] - reach * random.unit(), 0.0)
    }));
    assert_promised(&cloud, targets_at(&beside), &beside, "beside points");
}

#[test]
fn close_pairs_of_unlike_points_keep_it() {
    // Pairs from 1 m down to 1 mm apart, and targets between the two.
    let mut random = Random::new(70);
    let mut cloud = random_cloud(2000, [0.0, 0.0, 3e4, 3e4], 71);
    let mut between = Cloud::default();
    for i in (0..400).step_by(2) {
        let apart = 10f64.powf(-3.0 * random.unit());
        (cloud.x[i + 1], cloud.y[i + 1]) = (cloud.x[i] + apart, cloud.y[i]);
        (cloud.z[i], cloud.z[i + 1]) = (10.0, 110.0);
        between.x.push(cloud.x[i] + apart * random.unit());
        between.y.push(cloud.y[i] + 0.1 * apart);
        between.z.push(0.0);
    }
    assert_promised(&cloud, targets_at(&between), &between, "pairs");
}

#[test]
fn a_point_that_f32_takes_for_farther_still_counts() {
    // The tile of the cluster holds the nearest point, 3 um from the target. The next tile holds a second one, 0.1 mm away, and
    // reaches over 32 km: f32 has it millimetres away, so that its share seems too small to matter.
    let side = 32768.0;
    for (seed, sign) in (0..300).zip([1.0, -1.0].into_iter().cycle()) {
        let mut random = Random::new(seed);
        let mut unit = || random.unit();
        // Points are sorted along a curve that ends the cluster's square in this corner.
        let target = (0.005 + 0.005 * unit(), 0.99 + 0.005 * unit());
        let mut cloud = Cloud::of([(0.0, 0.0, 10.0), (side, side, 10.0)]);
        let mut add = |x: f64, y: f64, z: f64| {
            cloud.x.push(x);
            cloud.y.push(y);
            cloud.z.push(z);
        };
        (0..254).for_each(|_| add(0.98 * unit(), 0.98 * unit(), 10.0));
        let apart = 1e-4 + 3e-4 * unit();
        add(target.0, target.1 + sign * 3e-6, 10.0);
        add(target.0 + 0.1 * apart, target.1 - sign * apart, 25.0);
        let far = side - 100.0;
        (0..255).for_each(|_| add(100.0 + far * unit(), 100.0 + far * unit(), 10.0));
        let params = Params::default().method(Method::Direct);
        let wanted = [by_definition(&cloud, target, &params)];
        let place = Cloud::of([(target.0, target.1, 0.0)]);
        for device in devices() {
            let found = values::<f32>(&device, &cloud, targets_at(&place), &params);
            assert_close(&found, &wanted, 1e-5, &format!("{}, seed {seed}", device.name()));
        }
    }
}

#[test]
fn values_of_both_signs_are_off_by_a_share_of_their_mean_magnitude() {
    let spiked = |i: usize, unit: f64| if i % 1000 == 7 { 1e6 } else { 2.0 * unit - 1.0 };
    let mut random = Random::new(72);
    let cloud = Cloud::of(
        (0..4000).map(|i| (100.0 * random.unit(), 100.0 * random.unit(), spiked(i, random.unit()))),
    );
    let magnitudes = Cloud { z: cloud.z.iter().map(|z| z.abs()).collect(), ..cloud.clone() };
    let targets = random_cloud(100, [0.0, 0.0, 100.0, 100.0], 73);
    for power in POWERS {
        let params = Params::default().power(power);
        for device in devices() {
            for method in [Method::Direct, Method::Expansion] {
                let params = params.method(method);
                let found = values::<f32>(&device, &cloud, targets_at(&targets), &params);
                for (i, &value) in found.iter().enumerate() {
                    let at = (targets.x[i], targets.y[i]);
                    let off = (value - by_definition(&cloud, at, &params)).abs();
                    let most = 1e-5 * by_definition(&magnitudes, at, &params);
                    assert!(off <= most, "{}: {off} above {most}", device.name());
                }
            }
        }
    }
}

#[test]
fn heaps_keep_the_accuracy_of_f64() {
    let cloud = heaps(74, |_, unit| 10.0 + 100.0 * unit);
    let targets = among(&cloud, 60, 75);
    for power in POWERS {
        let params = Params::default().power(power);
        for device in devices() {
            let surface = cloud.with(|points| {
                interpolate::<f64>(&device, Input::new(points, targets_at(&targets)), &params)
                    .unwrap()
            });
            let of = |i: usize| by_definition(&cloud, (targets.x[i], targets.y[i]), &params);
            let wanted: Vec<f64> = (0..targets.len()).map(of).collect();
            let what = format!("{}, power {power}", device.name());
            assert_close(&surface.values[0], &wanted, 1e-12, &what);
        }
    }
}

#[test]
fn several_values_in_heaps_keep_it() {
    let cloud = heaps(76, |_, unit| 10.0 + 100.0 * unit);
    let targets = among(&cloud, 60, 77);
    let other: Vec<f64> = cloud.z.iter().map(|z| 3000.0 - z).collect();
    let columns = [&cloud.z[..], &other[..]];
    let points = Points { x: &cloud.x, y: &cloud.y, values: &columns };
    let second = Cloud { z: other.clone(), ..cloud.clone() };
    for power in [1.0, 2.0, 3.0] {
        for method in [Method::Direct, Method::Expansion] {
            let params = Params::default().power(power).method(method);
            for device in devices() {
                let all =
                    interpolate::<f32>(&device, Input::new(points, targets_at(&targets)), &params);
                for (found, cloud) in all.unwrap().values.iter().zip([&cloud, &second]) {
                    let of = |i| by_definition(cloud, (targets.x[i], targets.y[i]), &params);
                    let wanted: Vec<f64> = (0..targets.len()).map(of).collect();
                    let found: Vec<f64> = found.iter().map(|&v| f64::from(v)).collect();
                    let what = format!("{}, {method:?}, power {power}", device.name());
                    assert_close(&found, &wanted, 1e-5, &what);
                }
            }
        }
    }
}
