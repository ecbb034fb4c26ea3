//! Beside gstat 2.1 (R): `benches/peers/kriging_gstat.R table` wrote the file.

use gpu_core::{Silent, Targets};
use kriging::{Empirical, EmpiricalParams, Model, Params, Variogram, cross_validate};
use testing::{Cloud, devices};

use crate::common::{assert_close, of_cloud};

/// The rows of the file: what, which variogram, two whole numbers, two numbers.
fn rows(what: &str) -> impl Iterator<Item = (&'static str, u64, usize, [f64; 2])> {
    let what = format!("{what}\t");
    include_str!("gstat.tsv").lines().filter(move |line| line.starts_with(&what)).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number =
            |i: usize| if fields[i] == "NA" { f64::NAN } else { fields[i].parse().unwrap() };
        (fields[1], fields[2].parse().unwrap(), fields[3].parse().unwrap(), [number(4), number(5)])
    })
}

/// Park and Miller's generator.
fn numbers(count: usize, mut seed: u64) -> Vec<f64> {
    let mut next = || {
        seed = 16807 * seed % 2_147_483_647;
        seed as f64 / 2_147_483_647.0
    };
    (0..count).map(|_| next()).collect()
}

fn points(count: usize, field: impl Fn(f64, f64) -> f64) -> Cloud {
    Cloud::of(numbers(3 * count, 1).chunks(3).map(|three| {
        let (x, y) = (1000.0 * three[0], 1000.0 * three[1]);
        (x, y, field(x, y) + 4.0 * three[2])
    }))
}

fn long_field(x: f64, y: f64) -> f64 {
    10.0 * (x / 150.0).sin() + 8.0 * (y / 200.0).cos()
}

/// What is compared: at most 1e-6 of the range of values, 40, and of the sill.
fn compare(what: &str, params: impl Fn(Params) -> Params) {
    let cloud = points(300, long_field);
    let (mut x, mut y) = (numbers(20, 7), numbers(20, 11));
    x.iter_mut().chain(&mut y).for_each(|along| *along *= 1000.0);
    (x[19], y[19]) = (cloud.x[4], cloud.y[4]);
    let rows: Vec<_> = rows(what).collect();
    assert!(!rows.is_empty());
    for table in rows.chunks(20) {
        let (variogram, most) = (table[0].0.parse::<Variogram>().unwrap(), table[0].1);
        let params = params(Params::new(variogram.clone()).max_points(most as u32));
        let (values, variances) = of_cloud(&cloud, Targets::Points { x: &x, y: &y }, &params);
        for &(_, _, i, [value, variance]) in table {
            let which = format!("{variogram}, {most} points, target {i}");
            assert_close(values[i], value, 4e-9, &which);
            assert_close(variances[i], variance, 1e-9 * variogram.sill(), &which);
        }
    }
}

#[test]
fn values_and_variances_are_gstats() {
    compare("krige", |params| params);
}

#[test]
fn within_a_radius_they_are_gstats() {
    compare("within", |params| params.radius(60.0).min_points(3));
}

#[test]
fn left_out_they_are_gstats() {
    let cloud = points(300, long_field);
    for device in devices() {
        for (variogram, most, i, [value, variance]) in rows("left out") {
            let params = Params::new(variogram.parse().unwrap()).max_points(most as u32);
            let found = cloud.with(|points| cross_validate(&device, points, &params)).unwrap();
            assert_close(found.errors[i] + cloud.z[i], value, 4e-9, "value");
            assert_close(found.variances[i], variance, 1e-9, "variance");
        }
    }
}

fn empirical() -> Empirical {
    let params = EmpiricalParams::default().cutoff(450.0);
    let cloud = points(1000, |x, y| 10.0 * (x / 50.0).sin() * (y / 60.0).cos());
    cloud.with(|points| Empirical::of(points, &params, &Silent)).unwrap()
}

#[test]
fn the_empirical_variogram_is_gstats() {
    let found = empirical();
    assert_eq!(found.lags.len(), rows("lag").count());
    for (_, pairs, i, [distance, semivariance]) in rows("lag") {
        let lag = found.lags[i];
        assert_eq!(lag.pairs, pairs);
        assert_close(lag.distance, distance, 1e-8, "distance");
        assert_close(lag.semivariance, semivariance, 1e-8, "semivariance");
    }
}

#[test]
fn fits_are_gstats_or_better() {
    let empirical = empirical();
    let rows: Vec<_> = rows("fit").collect();
    for (two, model) in rows.chunks(2).zip(Model::ALL) {
        let ([nugget, sill], [range, error]) = (two[0].3, two[1].3);
        let found = Variogram::fit(&empirical, &[model]).unwrap();
        assert!(found.error <= error * (1.0 + 1e-9), "{found:?}, {two:?}");
        // gstat stops before the minimum for the Gaussian model, wherever it starts.
        if model != Model::Gaussian {
            let structure = found.variogram.structures()[0];
            assert_close(found.variogram.nugget(), nugget, 1e-3 * sill, "nugget");
            assert_close(structure.sill, sill, 1e-3 * sill, "sill");
            assert_close(structure.range, range, 2e-3 * range, "range");
        }
    }
    let best = Variogram::fit(&empirical, &Model::ALL).unwrap();
    assert_eq!(best.model, Model::Gaussian);
}
