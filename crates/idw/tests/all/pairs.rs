//! All pairs: the definition, and what must follow from it; on the CPU and on the process's GPU.

use crate::common::{
    Cloud, assert_close, by_definition, devices, expected, random_cloud, targets_at, values,
};
use gpu_core::{Device, GridSpec};
use idw::{Adaptive, Baseline, Input, Method, Params, Points, Targets, interpolate};

/// The centres of a grid's cells as points.
fn centres(grid: &GridSpec) -> Cloud {
    let cell = |i: u64| (i % u64::from(grid.width), i / u64::from(grid.width));
    Cloud::of((0..grid.cells()).map(cell).map(|(column, row)| {
        let (x, y) = grid.cell_centre(column as u32, row as u32);
        (x, y, 0.0)
    }))
}

const SQUARE: [f64; 4] = [0.0, 0.0, 100.0, 100.0];

#[test]
fn every_power_is_that_of_the_definition() {
    let targets = random_cloud(150, [-20.0, -20.0, 120.0, 120.0], 2);
    for count in [1, 2, 31, 255, 256, 257, 700] {
        let cloud = random_cloud(count, SQUARE, 1 + count as u64);
        for power in [1.0, 2.0, 3.0, 4.0, 0.5, 2.5, 7.0] {
            let params = Params::default().power(power);
            let wanted = expected(&cloud, &targets, &params);
            for device in devices() {
                let what = format!("{}, {count} points, power {power}", device.name());
                let single = values::<f32>(&device, &cloud, targets_at(&targets), &params);
                // What rounding does to a distance, a power multiplies.
                assert_close(&single, &wanted, 1e-5 * f64::max(1.0, power / 4.0), &what);
                if power == 2.0 || count == 257 {
                    let double = values::<f64>(&device, &cloud, targets_at(&targets), &params);
                    assert_close(&double, &wanted, 1e-12, &what);
                }
            }
        }
    }
}

#[test]
fn a_grid_has_the_values_of_its_centres() {
    let cloud = random_cloud(300, SQUARE, 5);
    for (width, height) in [(1, 1), (9, 3), (65, 17), (64, 16)] {
        let grid = GridSpec::new(-3.0, 104.0, 1.7, width, height).unwrap();
        for power in [1.0, 2.0, 3.0, 4.0, 1.5] {
            let params = Params::default().power(power).smoothing(0.3);
            let wanted = expected(&cloud, &centres(&grid), &params);
            for device in devices() {
                let what = format!("{}, {width} x {height}, power {power}", device.name());
                let found = values::<f32>(&device, &cloud, Targets::Grid(grid), &params);
                assert_close(&found, &wanted, 1e-5, &what);
                if power < 2.0 {
                    let found = values::<f64>(&device, &cloud, Targets::Grid(grid), &params);
                    assert_close(&found, &wanted, 1e-12, &what);
                }
            }
        }
    }
}

#[test]
fn coordinates_like_northings_keep_their_accuracy() {
    let (x, y) = (431_000.123, 5_274_000.123);
    let cloud = random_cloud(600, [x, y, x + 50.0, y + 50.0], 3);
    let targets = random_cloud(200, [x, y, x + 50.0, y + 50.0], 4);
    let params = Params::default();
    let wanted = expected(&cloud, &targets, &params);
    for device in devices() {
        let single = values::<f32>(&device, &cloud, targets_at(&targets), &params);
        assert_close(&single, &wanted, 1e-5, &device.name());
        let double = values::<f64>(&device, &cloud, targets_at(&targets), &params);
        assert_close(&double, &wanted, 1e-12, &device.name());
    }
}

#[test]
fn a_target_on_points_has_their_mean_exactly() {
    let mut cloud = random_cloud(400, SQUARE, 7);
    // Three points in one place, and one a hair away.
    for (i, z) in [(20, 1.0), (21, 2.0), (22, 4.5)] {
        (cloud.x[i], cloud.y[i], cloud.z[i]) = (50.0, 51.0, z);
    }
    cloud.z[30] = 0.1;
    for power in [1.0, 2.0, 3.0, 4.0, 2.2] {
        let params = Params::default().power(power);
        for device in devices() {
            let found = values::<f32>(&device, &cloud, targets_at(&cloud), &params);
            let exact = values::<f64>(&device, &cloud, targets_at(&cloud), &params);
            for i in (0..cloud.len()).filter(|i| !(20..23).contains(i)) {
                assert_eq!(found[i], f64::from(cloud.z[i] as f32), "{} at {i}", device.name());
                assert_eq!(exact[i], cloud.z[i], "{} at {i}", device.name());
            }
            for i in 20..23 {
                assert_eq!((found[i], exact[i]), (2.5, 2.5), "{} at {i}", device.name());
            }
        }
    }
}

#[test]
fn with_smoothing_no_point_is_exact() {
    let cloud = random_cloud(100, SQUARE, 8);
    let params = Params::default().smoothing(5.0).power(3.0);
    let wanted = expected(&cloud, &cloud, &params);
    for device in devices() {
        let found = values::<f32>(&device, &cloud, targets_at(&cloud), &params);
        assert_close(&found, &wanted, 1e-5, &device.name());
    }
}

#[test]
fn weights_beyond_f32_are_computed_all_the_same() {
    let cloud = random_cloud(60, SQUARE, 9);
    // Far away, nearly on a point, and by powers that leave the range of f32.
    let (x, y) = (cloud.x[3], cloud.y[3]);
    let targets = Cloud::of([
        (1e12, 3.0, 0.0),
        (x + 1e-13, y, 0.0),
        (x, y + 1e-9, 0.0),
        (-1e15, 1e15, 0.0),
        (50.0, 50.0, 0.0),
    ]);
    for power in [1.0, 2.0, 3.0, 4.0, 40.0, 300.0] {
        let params = Params::default().power(power);
        let wanted = expected(&cloud, &targets, &params);
        for device in devices() {
            let what = format!("{}, power {power}", device.name());
            let single = values::<f32>(&device, &cloud, targets_at(&targets), &params);
            assert_close(&single, &wanted, 1e-5, &what);
            let double = values::<f64>(&device, &cloud, targets_at(&targets), &params);
            assert_close(&double, &wanted, 1e-9, &what);
        }
    }
}

#[test]
fn several_values_are_those_of_one_after_the_other() {
    let cloud = random_cloud(300, SQUARE, 10);
    let targets = random_cloud(90, SQUARE, 11);
    let columns: Vec<Vec<f64>> = (0..6)
        .map(|v| cloud.z.iter().map(|z| z * (1.0 + f64::from(v)) - 30.0 * f64::from(v)).collect())
        .collect();
    let grid = GridSpec::new(0.0, 100.0, 9.0, 11, 11).unwrap();
    for (power, number) in [(2.0, 2), (3.0, 5), (1.5, 6)] {
        let refs: Vec<&[f64]> = columns[..number].iter().map(|c| &c[..]).collect();
        let points = Points { x: &cloud.x, y: &cloud.y, values: &refs };
        let params = Params::default().power(power);
        for device in devices() {
            for at in [targets_at(&targets), Targets::Grid(grid)] {
                let all = interpolate::<f32>(&device, Input::new(points, at), &params).unwrap();
                assert_eq!(all.values.len(), number);
                for (v, found) in all.values.iter().enumerate() {
                    let single = Points { values: &refs[v..=v], ..points };
                    let wanted =
                        interpolate::<f64>(&device, Input::new(single, at), &params).unwrap();
                    for (f, w) in found.iter().zip(&wanted.values[0]) {
                        let bound = 1e-5 * w.abs().max(50.0);
                        assert!((f64::from(*f) - w).abs() <= bound, "{f}, expected {w}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_constant_stays_one_and_values_stay_within_their_range() {
    let mut cloud = random_cloud(500, SQUARE, 12);
    let targets = random_cloud(200, [-50.0, -50.0, 150.0, 150.0], 13);
    let (low, high) = cloud.z.iter().fold((f64::MAX, f64::MIN), |(l, h), &z| (l.min(z), h.max(z)));
    for power in [2.0, 1.3] {
        let params = Params::default().power(power);
        for device in devices() {
            for v in values::<f64>(&device, &cloud, targets_at(&targets), &params) {
                assert!((low..=high).contains(&v), "{v}");
            }
            for v in values::<f32>(&device, &cloud, targets_at(&targets), &params) {
                assert!(v >= f64::from(low as f32) && v <= f64::from(high as f32), "{v}");
            }
        }
    }
    cloud.z.fill(0.1);
    for device in devices() {
        let found = values::<f32>(&device, &cloud, targets_at(&targets), &Params::default());
        assert!(found.iter().all(|&v| v == f64::from(0.1f32)), "{}", device.name());
    }
}

#[test]
fn bits_depend_neither_on_the_run_nor_on_how_targets_are_split() {
    let cloud = random_cloud(3000, SQUARE, 14);
    let targets = random_cloud(1100, SQUARE, 15);
    let params = Params::default();
    for device in devices() {
        let all = values::<f32>(&device, &cloud, targets_at(&targets), &params);
        assert_eq!(all, values::<f32>(&device, &cloud, targets_at(&targets), &params));
        let few = Targets::Points { x: &targets.x[..7], y: &targets.y[..7] };
        assert_eq!(all[..7], values::<f32>(&device, &cloud, few, &params), "{}", device.name());
    }
}

#[test]
fn the_order_of_the_points_changes_rounding_alone() {
    let cloud = random_cloud(700, SQUARE, 16);
    let turned = Cloud::of((0..700).rev().map(|i| (cloud.x[i], cloud.y[i], cloud.z[i])));
    let targets = random_cloud(100, SQUARE, 17);
    for device in devices() {
        let first = values::<f64>(&device, &cloud, targets_at(&targets), &Params::default());
        let second = values::<f64>(&device, &turned, targets_at(&targets), &Params::default());
        assert_close(&second, &first, 1e-13, &device.name());
    }
}

#[test]
fn the_kernels_of_the_paper_agree() {
    let cloud = random_cloud(600, SQUARE, 18);
    let mut targets = random_cloud(130, SQUARE, 19);
    (targets.x[0], targets.y[0]) = (cloud.x[0], cloud.y[0]);
    let grid = GridSpec::new(0.0, 100.0, 9.0, 11, 11).unwrap();
    for power in [2.0, 3.0] {
        for method in [Method::Baseline(Baseline::Naive), Method::Baseline(Baseline::Tiled)] {
            let params = Params::default().power(power).method(method);
            for device in devices() {
                let wanted = expected(&cloud, &targets, &params);
                let found = values::<f32>(&device, &cloud, targets_at(&targets), &params);
                assert_close(&found, &wanted, 1e-4, &device.name());
                let wanted = expected(&cloud, &centres(&grid), &params);
                let found = values::<f32>(&device, &cloud, Targets::Grid(grid), &params);
                assert_close(&found, &wanted, 1e-4, &device.name());
            }
        }
    }
}

#[test]
fn distances_on_the_sphere_are_great_circles() {
    let cloud = random_cloud(200, [-180.0, -90.0, 180.0, 90.0], 20);
    let mut targets = random_cloud(80, [-180.0, -90.0, 540.0, 90.0], 21);
    (targets.x[0], targets.y[0]) = (0.0, 90.0);
    (targets.x[1], targets.y[1]) = (cloud.x[9], cloud.y[9]);
    for power in [2.0, 1.5] {
        let params = Params::default().power(power).geographic(true);
        let wanted = expected(&cloud, &targets, &params);
        for device in devices() {
            let found = values::<f64>(&device, &cloud, targets_at(&targets), &params);
            assert_close(&found, &wanted, 1e-7, &device.name());
            assert_eq!(found[1], cloud.z[9]);
            let found = values::<f32>(&device, &cloud, targets_at(&targets), &params);
            assert_close(&found, &wanted, 1e-5, &device.name());
        }
    }
}

#[test]
fn the_adaptive_power_follows_the_pattern() {
    // A dense corner with half of the points.
    let mut cloud = random_cloud(100, SQUARE, 22);
    for i in 0..50 {
        (cloud.x[i], cloud.y[i]) = (cloud.x[i] / 10.0, cloud.y[i] / 10.0);
    }
    let targets = random_cloud(60, SQUARE, 23);
    let how = Adaptive::default().area(10_000.0).neighbours(5);
    let params = Params::default().adaptive(how);
    let of = |i: usize| by_definition(&cloud, (targets.x[i], targets.y[i]), &params);
    let wanted: Vec<f64> = (0..targets.len()).map(of).collect();
    for device in devices() {
        let double = values::<f64>(&device, &cloud, targets_at(&targets), &params);
        assert_close(&double, &wanted, 1e-12, &device.name());
        let single = values::<f32>(&device, &cloud, targets_at(&targets), &params);
        assert_close(&single, &wanted, 1e-5, &device.name());
    }
}

/// The median of the powers that give the adaptive values of some targets.
fn median_power(cloud: &Cloud, how: Adaptive, device: &Device) -> f64 {
    let targets = random_cloud(200, [20.0, 20.0, 80.0, 80.0], 51);
    let of = |params: Params| values::<f64>(device, cloud, targets_at(&targets), &params);
    let adaptive = of(Params::default().adaptive(how));
    // Powers in steps of a tenth: the nearest value tells which one it was.
    let steps: Vec<f64> = (5..=40).map(|tenth| f64::from(tenth) / 10.0).collect();
    let of_steps: Vec<Vec<f64>> =
        steps.iter().map(|&power| of(Params::default().power(power))).collect();
    let mut powers: Vec<f64> = (0..targets.len())
        .map(|i| {
            let off = |step: &usize| (of_steps[*step][i] - adaptive[i]).abs();
            let nearest = (0..steps.len()).min_by(|a, b| off(a).total_cmp(&off(b)));
            steps[nearest.unwrap()]
        })
        .collect();
    powers.sort_by(f64::total_cmp);
    powers[powers.len() / 2]
}

#[test]
fn points_without_a_pattern_have_the_middle_power_whatever_the_number_of_neighbours() {
    let mut cloud = random_cloud(2_000, SQUARE, 50);
    // Values that rise to the east, so that each power has its own value.
    cloud.z = cloud.x.iter().map(|x| x * x).collect();
    for device in devices() {
        for neighbours in [3, 10, 30] {
            let how = Adaptive::default().area(10_000.0).neighbours(neighbours);
            let power = median_power(&cloud, how, &device);
            assert!((1.6..=2.4).contains(&power), "{neighbours} neighbours: {power}");
        }
    }
}

#[test]
fn targets_on_points_cost_no_pass_over_all_points_each() {
    let cloud = random_cloud(30_000, SQUARE, 15);
    let beside = Cloud { x: cloud.x.iter().map(|x| x + 1e-3).collect(), ..cloud.clone() };
    let seconds = |targets: &Cloud| {
        let start = std::time::Instant::now();
        let targets = targets_at(targets);
        (
            values::<f32>(&Device::Cpu, &cloud, targets, &Params::default()),
            start.elapsed().as_secs_f64(),
        )
    };
    let (found, on_points) = seconds(&cloud);
    let (_, beside_points) = seconds(&beside);
    assert!(on_points < 8.0 * beside_points, "{on_points} s, {beside_points} s beside points");
    assert_close(&found, &cloud.z, 1e-6, "on points");
}
