//! Values and variances: those of the definition, on every device.

use gpu_core::{GridSpec, Points, Targets};
use kriging::{Model, Params, Variogram};
use testing::{Cloud, Random, bits64};

use crate::common::{assert_close, by_definition, of_cloud, surface, variograms};

const SQUARE: [f64; 4] = [0.0, 0.0, 80.0, 80.0];

fn field(x: f64, y: f64) -> f64 {
    100.0 + 10.0 * (x / 11.0).sin() + 0.2 * y
}

fn cloud(count: usize, seed: u64) -> Cloud {
    Cloud::uniform(count, SQUARE, seed, field)
}

/// Places within and around the square.
fn places(count: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    (0..count).map(|_| (random.between(-9.0, 95.0), random.between(-9.0, 95.0))).unzip()
}

#[test]
fn values_and_variances_are_those_of_the_definition_for_any_number_of_neighbours() {
    let cloud = cloud(220, 1);
    let (x, y) = places(37, 2);
    let targets = Targets::Points { x: &x, y: &y };
    for variogram in variograms() {
        for most in [1, 2, 3, 4, 5, 8, 9, 12, 13, 16, 17, 31, 32, 33, 64] {
            let params = Params::new(variogram.clone()).max_points(most);
            let (values, variances) = of_cloud(&cloud, targets, &params);
            for i in 0..x.len() {
                let (value, variance) = by_definition(&cloud, (x[i], y[i]), &params, None);
                let what = format!("{variogram}, {most} points, target {i}");
                assert_close(values[i], value, 1e-9, &what);
                assert_close(variances[i], variance, 1e-9 * variogram.sill(), &what);
            }
        }
    }
}

#[test]
fn any_number_of_points_and_targets() {
    let variogram = &variograms()[3];
    for points in [1, 2, 3, 11, 12, 13, 31, 32, 33, 64, 65, 1025] {
        let cloud = cloud(points, points as u64);
        for most in [12, 40] {
            let params = Params::new(variogram.clone()).max_points(most);
            for (width, height) in [(1, 1), (9, 5), (33, 1), (1, 70)] {
                let grid = GridSpec::new(-3.0, 85.0, 2.5, width, height).unwrap();
                let (values, variances) = of_cloud(&cloud, grid.into(), &params);
                let at = values.len() / 2;
                let place = Targets::Grid(grid).place(at);
                let (value, variance) = by_definition(&cloud, place, &params, None);
                assert_close(values[at], value, 1e-9, "value");
                assert_close(variances[at], variance, 1e-9 * variogram.sill(), "variance");
            }
        }
    }
}

#[test]
fn a_radius_and_too_few_points() {
    let cloud = cloud(150, 3);
    let (x, y) = places(64, 4);
    let targets = Targets::Points { x: &x, y: &y };
    for most in [10, 30] {
        let params =
            Params::new(variograms()[0].clone()).max_points(most).radius(12.0).min_points(3);
        let (values, variances) = of_cloud(&cloud, targets, &params);
        for i in 0..x.len() {
            let (value, variance) = by_definition(&cloud, (x[i], y[i]), &params, None);
            assert_close(values[i], value, 1e-9, "value");
            assert_close(variances[i], variance, 1e-9, "variance");
        }
        let missing = values.iter().filter(|value| value.is_nan()).count();
        assert!(missing > 5 && missing < 60, "{missing}");
        let filled = params.nodata(-9999.0);
        let all = cloud.with(|points| surface(points, targets, &filled));
        let is_filled =
            |column: &[f64]| column.iter().filter(|&&v| v == -9999.0).count() == missing;
        assert!(is_filled(&all.values[0]) && is_filled(&all.variances));
        assert_eq!((all.summary.nodata, all.summary.points), (missing as u64, 150));
    }
}

#[test]
fn a_target_on_a_point_has_its_value_and_no_variance() {
    let cloud = cloud(300, 5);
    let targets = Targets::Points { x: &cloud.x, y: &cloud.y };
    for variogram in variograms() {
        for most in [1, 12, 16, 24] {
            let params = Params::new(variogram.clone()).max_points(most);
            let (values, variances) = of_cloud(&cloud, targets, &params);
            assert_eq!(bits64(&values), bits64(&cloud.z), "{variogram}");
            assert!(variances.iter().all(|&variance| variance == 0.0), "{variogram}");
        }
    }
}

#[test]
fn a_constant_field_stays_what_it_is_and_variances_do_not_depend_on_values() {
    let cloud = cloud(200, 6);
    let constant = vec![123.456; cloud.len()];
    let grid = GridSpec::new(0.0, 80.0, 4.0, 20, 20).unwrap();
    for variogram in variograms() {
        let params = Params::new(variogram).max_points(14);
        let values = [&constant[..], &cloud.z, &constant];
        let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
        let all = surface(points, grid.into(), &params);
        assert!([0, 2].iter().all(|&c| all.values[c].iter().all(|&value| value == 123.456)));
        let (alone, variances) = of_cloud(&cloud, grid.into(), &params);
        assert_eq!(bits64(&all.values[1]), bits64(&alone));
        assert_eq!(bits64(&all.variances), bits64(&variances));
        assert!(variances.iter().all(|&v| v >= 0.0));
    }
}

#[test]
fn weights_add_up_to_one_and_are_those_of_the_values() {
    let cloud = cloud(9, 7);
    let ones: Vec<Vec<f64>> =
        (0..9).map(|i| (0..9).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let columns: Vec<&[f64]> = ones.iter().map(|column| &column[..]).collect();
    let points = Points { x: &cloud.x, y: &cloud.y, values: &columns };
    let (x, y) = places(50, 8);
    let targets = Targets::Points { x: &x, y: &y };
    for variogram in variograms() {
        for most in [9, 20] {
            let params = Params::new(variogram.clone()).max_points(most);
            let weights = surface(points, targets, &params).values;
            let (values, _) = of_cloud(&cloud, targets, &params);
            for i in 0..x.len() {
                let sum: f64 = weights.iter().map(|column| column[i]).sum();
                assert_close(sum, 1.0, 1e-12, "sum of weights");
                let value = weights.iter().zip(&cloud.z).map(|(column, z)| column[i] * z).sum();
                assert_close(values[i], value, 1e-9, "value");
            }
        }
    }
}

#[test]
fn two_points_in_closed_form() {
    let cloud = Cloud::of([(0.0, 0.0, 3.0), (10.0, 0.0, 7.0)]);
    let variogram = Variogram::new(0.0).structure(Model::Exponential, 2.0, 5.0);
    let (x, y) = (&[2.0], &[0.0]);
    let params = Params::new(variogram.clone());
    let (values, variances) = of_cloud(&cloud, Targets::Points { x, y }, &params);
    let [g12, g10, g20] = [10.0, 2.0, 8.0].map(|h| variogram.semivariance(h));
    // The weights of two points: halves, shifted by how much nearer one is.
    let first = 0.5 + (g20 - g10) / (2.0 * g12);
    assert_close(values[0], first * 3.0 + (1.0 - first) * 7.0, 1e-13, "value");
    let multiplier = g10 - (1.0 - first) * g12;
    assert_close(variances[0], first * g10 + (1.0 - first) * g20 + multiplier, 1e-13, "variance");
    // One point: its value, and twice the semivariance.
    let (values, variances) = of_cloud(&cloud, Targets::Points { x, y }, &params.max_points(1));
    assert_eq!(values[0], 3.0);
    assert_close(variances[0], 2.0 * g10, 1e-14, "variance of one point");
}

#[test]
fn of_points_at_one_place_the_mean_counts_once() {
    let mut doubled = cloud(40, 9);
    for i in 0..40 {
        doubled.push((doubled.x[i], doubled.y[i], doubled.z[i] + 4.0));
    }
    let means = Cloud::of((0..40).map(|i| (doubled.x[i], doubled.y[i], doubled.z[i] + 2.0)));
    let (x, y) = places(30, 10);
    let targets = Targets::Points { x: &x, y: &y };
    for variogram in variograms() {
        for places in [4, 8, 15, 32] {
            let params = Params::new(variogram.clone()).max_points(places);
            let (values, variances) = of_cloud(&doubled, targets, &params);
            let (wanted, wanted_variances) = of_cloud(&means, targets, &params);
            for i in 0..x.len() {
                assert_close(values[i], wanted[i], 1e-10, "value");
                assert_close(variances[i], wanted_variances[i], 1e-10, "variance");
            }
        }
    }
    // 20 measurements of one place are one of two neighbours, and one is too few.
    let mut one = Cloud::of((0..20).map(|i| (0.0, 0.0, f64::from(i))));
    one.push((10.0, 0.0, 100.0));
    let params = Params::new(variograms()[0].clone()).max_points(2).min_points(2).radius(9.0);
    let near = Targets::Points { x: &[5.0, 0.5], y: &[0.0; 2] };
    let (values, _) = of_cloud(&one, near, &params);
    assert_close(values[0], (9.5 + 100.0) / 2.0, 1e-12, "halfway");
    assert!(values[1].is_nan());
    let one = Cloud::of((0..100).map(|i| (5.0, 5.0, f64::from(i))));
    let params = Params::new(variograms()[0].clone()).max_points(10);
    let (values, variances) =
        of_cloud(&one, Targets::Points { x: &[5.0, 8.0], y: &[5.0, 9.0] }, &params);
    assert_eq!(values, [49.5, 49.5]);
    assert_eq!(variances[0], 0.0);
    assert_close(variances[1], 2.0 * params.variogram.semivariance(5.0), 1e-14, "variance");
}

#[test]
fn hostile_clouds_have_values_and_variances_between_0_and_twice_the_sill() {
    for cloud in testing::clouds::all(400, 11) {
        let side =
            cloud.x.iter().chain(&cloud.y).fold(1e-9, |most: f64, v| most.max(v.abs())) / 10.0;
        let grid = GridSpec::new(-side, 11.0 * side, side, 12, 12).unwrap();
        for variogram in [
            Variogram::new(0.0).structure(Model::Gaussian, 1.0, 3.0 * side),
            Variogram::new(0.1).structure(Model::Spherical, 1.0, 5.0 * side),
        ] {
            for most in [12, 40] {
                let params = Params::new(variogram.clone()).max_points(most);
                let (values, variances) = of_cloud(&cloud, grid.into(), &params);
                let name = cloud.name;
                assert!(values.iter().all(|value| value.is_finite()), "{name}");
                let most = 2.0 * variogram.sill() * (1.0 + 1e-9);
                assert!(
                    variances.iter().all(|v| (0.0..=most).contains(v)),
                    "{name}: {variances:?}"
                );
            }
        }
    }
}

#[test]
fn values_beyond_f32_and_places_far_from_the_origin() {
    let near = cloud(120, 12);
    let far = Cloud::of((0..120).map(|i| {
        (
            (near.x[i] * 1024.0).round() / 1024.0 + 3e9,
            (near.y[i] * 1024.0).round() / 1024.0 - 5e9,
            near.z[i] * 1e60,
        )
    }));
    let back = Cloud::of((0..120).map(|i| (far.x[i] - 3e9, far.y[i] + 5e9, near.z[i])));
    let params = Params::new(variograms()[1].clone()).max_points(12);
    let (x, y) = ([10.5, 33.25], [20.0, 70.5]);
    let (wanted, variances) = of_cloud(&back, Targets::Points { x: &x, y: &y }, &params);
    let (x, y) = (x.map(|x| x + 3e9), y.map(|y| y - 5e9));
    let (values, far_variances) = of_cloud(&far, Targets::Points { x: &x, y: &y }, &params);
    for i in 0..2 {
        assert_close(values[i] / 1e60, wanted[i], 1e-11, "value");
    }
    assert_eq!(bits64(&far_variances), bits64(&variances), "all differences are exact");
}

#[test]
fn tiles_have_the_bits_of_the_whole() {
    let cloud = cloud(2000, 13);
    let grid = GridSpec::new(0.0, 80.0, 1.0, 80, 80).unwrap();
    let params = Params::new(variograms()[3].clone()).max_points(12);
    let (whole, variances) = of_cloud(&cloud, grid.into(), &params);
    for (columns, rows) in [(0..33, 0..80), (33..80, 0..41), (33..80, 41..80)] {
        let cells: Vec<usize> =
            rows.flat_map(|row| columns.clone().map(move |c| row * 80 + c)).collect();
        let (x, y): (Vec<f64>, Vec<f64>) =
            cells.iter().map(|&i| Targets::Grid(grid).place(i)).unzip();
        // Points that no cell of the tile has as a neighbour are missing.
        let reach = 12.0;
        let is_near = |i: usize| {
            let within = |at: f64, all: &[f64]| all.iter().any(|v| (v - at).abs() <= reach);
            within(cloud.x[i], &x) && within(cloud.y[i], &y)
        };
        let some = Cloud::of(
            (0..2000).filter(|&i| is_near(i)).map(|i| (cloud.x[i], cloud.y[i], cloud.z[i])),
        );
        assert!(some.len() < 1700);
        let (values, of_tile) = of_cloud(&some, Targets::Points { x: &x, y: &y }, &params);
        for (i, &cell) in cells.iter().enumerate() {
            assert_eq!(values[i].to_bits(), whole[cell].to_bits());
            assert_eq!(of_tile[i].to_bits(), variances[cell].to_bits());
        }
    }
}
