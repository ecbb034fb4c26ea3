//! The expansion of far points: the accuracy of the direct sum, whatever the points, on the CPU and on the
//! process's GPU.

use crate::common::{
    Cloud, Random, assert_close, devices, expected, random_cloud, targets_at, values,
};
use gpu_core::{Device, GridSpec};
use idw::{Adaptive, Error, Input, Method, Params, Points, Targets, interpolate};
use proptest::prelude::*;
use testing::clouds::{SIDE, heaps};

const SQUARE: [f64; 4] = [0.0, 0.0, 100.0, 100.0];

/// Where the list's clouds lie.
const GROUND: [f64; 4] = [0.0, 0.0, SIDE, SIDE];

fn expanded(power: f64) -> Params {
    Params::default().power(power).method(Method::Expansion)
}

/// Asserts the promised accuracy on every device.
fn assert_accurate(cloud: &Cloud, targets: &Cloud, params: &Params, what: &str) {
    let wanted = expected(cloud, targets, params);
    for device in devices() {
        let found = values::<f32>(&device, cloud, targets_at(targets), params);
        let what = format!("{what}, {}, power {}", device.name(), params.power);
        assert_close(&found, &wanted, 1e-5, &what);
    }
}

#[test]
fn every_power_is_that_of_the_definition() {
    let targets = random_cloud(60, [-20.0, -20.0, 120.0, 120.0], 2);
    for count in [1, 255, 257, 1024, 1025, 6000] {
        let cloud = random_cloud(count, SQUARE, 40 + count as u64);
        for power in [0.5, 1.0, 2.0, 2.5, 3.0, 4.0] {
            if count == 6000 || power == 2.0 || power == 2.5 {
                assert_accurate(&cloud, &targets, &expanded(power), &format!("{count} points"));
            }
        }
    }
}

#[test]
fn voids_and_places_far_outside_keep_the_accuracy() {
    // A ring of points, whose far side is a step higher: what is far is everything.
    let mut random = Random::new(7);
    let ring = Cloud::of((0..5000).map(|_| {
        let angle = std::f64::consts::TAU * random.unit();
        let radius = 45.0 + 5.0 * random.unit();
        let value = if angle < 2.0 { 60.0 } else { 40.0 + 5.0 * random.unit() };
        (50.0 + radius * angle.cos(), 50.0 + radius * angle.sin(), value)
    }));
    let mut targets = random_cloud(40, [25.0, 25.0, 75.0, 75.0], 8);
    for (x, y) in [(300.0, 50.0), (-2e4, 3e5), (50.0, 1e9), (1e13, -1e13)] {
        targets.x.push(x);
        targets.y.push(y);
        targets.z.push(0.0);
    }
    for power in [0.5, 1.0, 2.0, 2.5, 3.0, 4.0] {
        assert_accurate(&ring, &targets, &expanded(power), "a ring");
    }
}

#[test]
fn smoothing_and_northings_keep_the_accuracy() {
    let (x, y) = (431_000.123, 5_274_000.123);
    let cloud = random_cloud(4000, [x, y, x + 50.0, y + 50.0], 9);
    let targets = random_cloud(60, [x, y, x + 50.0, y + 50.0], 10);
    for smoothing in [0.0, 0.01, 5.0, 500.0] {
        for power in [2.0, 3.5] {
            let params = expanded(power).smoothing(smoothing);
            assert_accurate(&cloud, &targets, &params, &format!("smoothing {smoothing}"));
        }
    }
}

#[test]
fn a_grid_has_the_values_of_its_centres() {
    let cloud = heaps(3000, 11);
    for (width, height) in [(1, 1), (7, 3), (70, 19)] {
        let grid = GridSpec::new(-100.0, 1100.0, 17.0, width, height).unwrap();
        let centres = Cloud::of((0..grid.cells()).map(|i| {
            let width = u64::from(width);
            let (x, y) = grid.cell_centre((i % width) as u32, (i / width) as u32);
            (x, y, 0.0)
        }));
        for power in [1.0, 2.0, 3.0, 4.0, 1.5] {
            let wanted = expected(&cloud, &centres, &expanded(power));
            for device in devices() {
                let found = values::<f32>(&device, &cloud, Targets::Grid(grid), &expanded(power));
                let what = format!("{}, {width} x {height}, power {power}", device.name());
                assert_close(&found, &wanted, 1e-5, &what);
            }
        }
    }
}

#[test]
fn points_and_constants_stay_exact_and_values_within_their_range() {
    let mut cloud = random_cloud(3000, SQUARE, 12);
    // Three points in one place, and one whose value f32 rounds.
    for (i, z) in [(20, 11.0), (21, 12.0), (22, 14.5)] {
        (cloud.x[i], cloud.y[i], cloud.z[i]) = (50.0, 51.0, z);
    }
    cloud.z[30] = 10.1;
    let few: Vec<usize> = (0..60).collect();
    let at = Cloud::of(few.iter().map(|&i| (cloud.x[i], cloud.y[i], 0.0)));
    let around = random_cloud(100, [-50.0, -50.0, 150.0, 150.0], 13);
    let (low, high) = cloud.z.iter().fold((f64::MAX, f64::MIN), |(l, h), &z| (l.min(z), h.max(z)));
    for power in [1.0, 2.0, 3.0, 4.0, 2.2] {
        for device in devices() {
            let found = values::<f32>(&device, &cloud, targets_at(&at), &expanded(power));
            for &i in &few {
                let wanted = if (20..23).contains(&i) { 12.5 } else { cloud.z[i] };
                assert_eq!(found[i], f64::from(wanted as f32), "{} at {i}", device.name());
            }
            for v in values::<f32>(&device, &cloud, targets_at(&around), &expanded(power)) {
                assert!(v >= f64::from(low as f32) && v <= f64::from(high as f32), "{v}");
            }
        }
    }
    cloud.z.fill(0.1);
    for device in devices() {
        let found = values::<f32>(&device, &cloud, targets_at(&around), &expanded(2.0));
        assert!(found.iter().all(|&v| v == f64::from(0.1f32)), "{}", device.name());
    }
}

#[test]
fn each_target_may_have_a_power_of_its_own() {
    // Dense and thin regions, so that powers differ among targets side by side.
    let mut random = Random::new(21);
    let cloud = Cloud::of((0..4000).map(|_| {
        let (x, y) = (100.0 * random.unit(), 100.0 * random.unit().powi(3));
        (x, y, 10.0 + 100.0 * random.unit())
    }));
    let scattered = random_cloud(90, [-10.0, -10.0, 110.0, 110.0], 22);
    let grid = GridSpec::new(-5.0, 100.0, 6.0, 13, 9).unwrap();
    let centres = Cloud::of((0..grid.cells()).map(|i| {
        let (x, y) = grid.cell_centre((i % 13) as u32, (i / 13) as u32);
        (x, y, 0.0)
    }));
    let second: Vec<f64> = cloud.z.iter().map(|z| 300.0 - z).collect();
    let other = Cloud { z: second.clone(), ..cloud.clone() };
    let how = Adaptive::default().area(1e4);
    for how in [how, how.levels([2.0, 1.0, 3.5, 0.5, 3.0]).neighbours(4)] {
        let params = expanded(9.0).adaptive(how);
        for (places, at) in [(&scattered, targets_at(&scattered)), (&centres, grid.into())] {
            let wanted = [&cloud, &other].map(|cloud| expected(cloud, places, &params));
            for device in devices() {
                let found = values::<f32>(&device, &cloud, at, &params);
                assert_close(&found, &wanted[0], 1e-5, &device.name());
                let both = [&cloud.z[..], &second];
                let points = Points { x: &cloud.x, y: &cloud.y, values: &both };
                let found = interpolate::<f32>(&device, Input::new(points, at), &params);
                for (found, wanted) in found.unwrap().values.iter().zip(&wanted) {
                    let found: Vec<f64> = found.iter().map(|&v| f64::from(v)).collect();
                    assert_close(&found, wanted, 1e-5, &device.name());
                }
            }
        }
    }
}

#[test]
fn several_values_of_either_sign_are_off_by_a_share_of_the_greatest() {
    let cloud = heaps(2500, 14);
    let targets = random_cloud(70, GROUND, 15);
    let grid = GridSpec::new(0.0, 1000.0, 90.0, 11, 11).unwrap();
    let columns: Vec<Vec<f64>> = (0..6)
        .map(|v| cloud.z.iter().map(|z| (z - 100.0) * (1.0 + f64::from(v))).collect())
        .collect();
    for (power, number) in [(2.0, 2), (3.0, 6), (1.5, 5)] {
        let refs: Vec<&[f64]> = columns[..number].iter().map(|c| &c[..]).collect();
        let points = Points { x: &cloud.x, y: &cloud.y, values: &refs };
        let exact = Params::default().power(power);
        for device in devices() {
            for at in [targets_at(&targets), Targets::Grid(grid)] {
                let all =
                    interpolate::<f32>(&device, Input::new(points, at), &expanded(power)).unwrap();
                let wanted =
                    interpolate::<f64>(&Device::Cpu, Input::new(points, at), &exact).unwrap();
                for (v, (found, wanted)) in all.values.iter().zip(&wanted.values).enumerate() {
                    let greatest = 40.0 * (1.0 + v as f64);
                    for (f, w) in found.iter().zip(wanted) {
                        let off = (f64::from(*f) - w).abs();
                        assert!(off <= 1e-5 * greatest, "{}: {f}, expected {w}", device.name());
                    }
                }
            }
        }
    }
}

#[test]
fn bits_are_the_same_on_every_run() {
    let cloud = heaps(3000, 16);
    let targets = random_cloud(1500, GROUND, 17);
    let grid = GridSpec::new(0.0, 1000.0, 30.0, 33, 33).unwrap();
    for device in devices() {
        for at in [targets_at(&targets), Targets::Grid(grid)] {
            let first = values::<f32>(&device, &cloud, at, &expanded(2.0));
            assert_eq!(
                first,
                values::<f32>(&device, &cloud, at, &expanded(2.0)),
                "{}",
                device.name()
            );
        }
    }
}

#[test]
fn cpu_and_gpu_and_the_direct_sum_agree() {
    let cloud = heaps(3000, 18);
    let targets = random_cloud(300, GROUND, 19);
    for power in [1.0, 2.0, 3.0] {
        let direct = expanded(power).method(Method::Direct);
        let wanted = values::<f32>(&Device::Cpu, &cloud, targets_at(&targets), &direct);
        for device in devices() {
            let found = values::<f32>(&device, &cloud, targets_at(&targets), &expanded(power));
            assert_close(&found, &wanted, 1e-5, &device.name());
        }
    }
}

#[test]
fn what_cannot_be_expanded_is_refused() {
    // Places on the sphere too.
    let cloud = random_cloud(100, [0.0, 0.0, 80.0, 80.0], 20);
    let base = expanded(2.0);
    let refused = |params: Params, double: bool, device: &Device| {
        cloud.with(|points| {
            let at = targets_at(&cloud);
            match double {
                true => interpolate::<f64>(device, Input::new(points, at), &params).map(|_| ()),
                false => interpolate::<f32>(device, Input::new(points, at), &params).map(|_| ()),
            }
        })
    };
    for device in devices() {
        for (params, double) in [
            (base.power(4.5), false),
            (base.power(4.5), true),
            (base.geographic(true), true),
            (base.max_points(3), false),
            (base.adaptive(Adaptive::default().levels([1.0, 2.0, 3.0, 4.0, 4.1])), false),
        ] {
            let error = refused(params, double, &device).unwrap_err();
            assert!(matches!(error, Error::Conflict { option: "the expansion", .. }), "{error}");
        }
        // Unlike the fixed power, which does not count then.
        let adaptive = base.power(9.0).adaptive(Adaptive::default());
        assert_eq!(refused(adaptive, false, &device), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_points_keep_the_accuracy(
        seed in 1u64..10_000,
        count in 1usize..3000,
        power in 0.5f64..4.0,
        // How the extent and the density in a corner vary.
        width in -3.0f64..4.0,
        ratio in -1.0f64..1.0,
        crowding in 1.0f64..2.0,
        smoothing in prop_oneof![Just(0.0), 0.0f64..2.0],
    ) {
        let mut random = Random::new(seed);
        let (w, h) = (10f64.powf(width), 10f64.powf(width + ratio));
        let mut any = || random.unit().powf(crowding);
        let cloud = Cloud::of((0..count).map(|_| (w * any(), h * any(), 10.0 + 40.0 * any())));
        let targets = random_cloud(25, [-0.2 * w, -0.2 * h, 1.2 * w, 1.2 * h], seed + 1);
        let params = expanded(power).smoothing(smoothing * w.min(h));
        let wanted = expected(&cloud, &targets, &params);
        // Where points are dense, rounding places to f32 may cost more than that.
        let direct = params.method(Method::Direct);
        let off = |found: &[f64]| {
            let each = found.iter().zip(&wanted).map(|(f, w)| (f / w - 1.0).abs());
            each.fold(0.0, f64::max)
        };
        for device in devices() {
            let found = off(&values::<f32>(&device, &cloud, targets_at(&targets), &params));
            let direct = off(&values::<f32>(&device, &cloud, targets_at(&targets), &direct));
            let most = f64::max(1e-5, 3.0 * direct);
            prop_assert!(found <= most, "{found:e}, directly {direct:e}, {}", device.name());
        }
    }
}
