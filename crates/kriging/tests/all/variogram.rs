//! Empirical variograms and fits.

use gpu_core::Silent;
use kriging::{Empirical, EmpiricalParams, Error, Lag, Model, Sample, Variogram};
use testing::Cloud;

fn cloud(count: usize) -> Cloud {
    Cloud::uniform(count, [0.0, 0.0, 100.0, 100.0], 31, |x, y| (x / 9.0).sin() + (y / 7.0).cos())
}

fn of(cloud: &Cloud, params: &EmpiricalParams) -> Empirical {
    cloud.with(|points| Empirical::of(points, params, &Silent)).unwrap()
}

#[test]
fn lags_hold_the_pairs_of_their_distances() {
    let cloud = cloud(300);
    let params = EmpiricalParams::default().cutoff(60.0).lags(7);
    let found = of(&cloud, &params);
    assert_eq!((found.points, found.cutoff, found.lags.len()), (300, 60.0, 7));
    for (i, lag) in found.lags.iter().enumerate() {
        let (low, high) = (60.0 / 7.0 * i as f64, 60.0 / 7.0 * (i + 1) as f64);
        let (mut pairs, mut distances, mut squares) = (0, 0.0, 0.0);
        for a in 0..300 {
            for b in 0..a {
                let distance = (cloud.x[a] - cloud.x[b]).hypot(cloud.y[a] - cloud.y[b]);
                if low < distance && distance <= high {
                    pairs += 1;
                    distances += distance;
                    squares += (cloud.z[a] - cloud.z[b]).powi(2);
                }
            }
        }
        assert_eq!(lag.pairs, pairs);
        assert!((lag.distance - distances / pairs as f64).abs() < 1e-9);
        assert!((lag.semivariance - squares / (2 * pairs) as f64).abs() < 1e-9);
    }
}

#[test]
fn a_sample_is_of_all_points_and_repeatable() {
    let cloud = cloud(5000);
    let params = EmpiricalParams::default().sample(1000).cutoff(50.0);
    let (all, some) = (of(&cloud, &params.sample(5000)), of(&cloud, &params));
    assert_eq!((all.points, some.points), (5000, 1000));
    assert_eq!(some, of(&cloud, &params));
    assert_ne!(some, of(&cloud, &params.seed(2)));
    for (a, b) in all.lags.iter().zip(&some.lags).skip(2) {
        assert!((a.semivariance / b.semivariance - 1.0).abs() < 0.15, "{a:?}, {b:?}");
    }
}

#[test]
fn a_sample_is_the_same_in_whatever_order_and_parts_points_come() {
    let (cloud, params) = (cloud(3000), EmpiricalParams::default().sample(500));
    let mut sample = Sample::new(&params).unwrap();
    for part in (0..3000).rev().collect::<Vec<usize>>().chunks(700) {
        let part = Cloud::of(part.iter().map(|&i| (cloud.x[i], cloud.y[i], cloud.z[i])));
        part.with(|points| sample.add(points)).unwrap();
    }
    assert_eq!(sample.variogram(&Silent).unwrap(), of(&cloud, &params));
}

#[test]
fn pairs_at_one_place_are_of_the_first_lag() {
    let cloud = Cloud::of([(0.0, 0.0, 1.0), (0.0, 0.0, 3.0), (30.0, 40.0, 1.0)]);
    let found = of(&cloud, &EmpiricalParams::default().cutoff(50.0).lags(5));
    let lag = |pairs, distance, semivariance| Lag { pairs, distance, semivariance };
    assert_eq!(found.lags, [lag(1, 0.0, 2.0), lag(2, 50.0, 1.0)]);
    // All at one place: the cutoff is 0.
    let one = Cloud::of((0..10).map(|i| (1.0, 1.0, f64::from(i))));
    let found = of(&one, &EmpiricalParams::default());
    assert_eq!((found.lags.len(), found.lags[0].pairs), (1, 45));
    assert!(of(&Cloud::default(), &EmpiricalParams::default()).lags.is_empty());
}

/// The lags of a variogram without noise.
fn exact(variogram: &Variogram) -> Empirical {
    let mut empirical = of(&cloud(200), &EmpiricalParams::default().cutoff(50.0).lags(15));
    for lag in &mut empirical.lags {
        lag.semivariance = variogram.semivariance(lag.distance);
    }
    empirical
}

#[test]
fn a_fit_finds_the_variogram_that_lags_were_made_of() {
    for model in Model::ALL {
        for (nugget, sill, range) in [(0.5, 2.0, 20.0), (0.0, 3e-8, 11.0), (5e7, 1e8, 30.0)] {
            let variogram = Variogram::new(nugget).structure(model, sill, range);
            let found = Variogram::fit(&exact(&variogram), &Model::ALL).unwrap();
            assert_eq!(found.model, model);
            let structure = found.variogram.structures()[0];
            assert!(
                (found.variogram.nugget() - nugget).abs() < 1e-5 * (nugget + sill),
                "{found:?}"
            );
            assert!((structure.sill / sill - 1.0).abs() < 1e-5, "{found:?}");
            assert!((structure.range / range - 1.0).abs() < 1e-5, "{found:?}");
        }
    }
    // A nugget alone, and what falls with the distance.
    let flat = Variogram::fit(&exact(&Variogram::new(4.0)), &Model::ALL).unwrap();
    assert!((flat.variogram.semivariance(30.0) - 4.0).abs() < 1e-6);
    let mut falling = exact(&Variogram::new(4.0));
    falling.lags.iter_mut().for_each(|lag| lag.semivariance = 10.0 - 0.1 * lag.distance);
    let falling = Variogram::fit(&falling, &Model::ALL).unwrap().variogram;
    assert!(falling.nugget() >= 0.0 && falling.structures()[0].sill >= 0.0);
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let fit = |empirical: &Empirical, models: &[Model]| Variogram::fit(empirical, models);
    let mut empirical = exact(&Variogram::new(1.0));
    assert_eq!(fit(&empirical, &[]), Err(Error::Fit { reason: "the list of models is empty" }));
    empirical.lags.truncate(2);
    assert!(matches!(fit(&empirical, &Model::ALL), Err(Error::Fit { .. })));
    let constant = Cloud::uniform(100, [0.0, 0.0, 9.0, 9.0], 1, |_, _| 5.0);
    let constant = of(&constant, &EmpiricalParams::default());
    assert_eq!(fit(&constant, &Model::ALL), Err(Error::Fit { reason: "all values are the same" }));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let cloud = cloud(10);
    let base = EmpiricalParams::default();
    for params in [
        base.cutoff(-1.0),
        base.cutoff(f64::NAN),
        base.cutoff(f64::INFINITY),
        base.lags(0),
        base.lags(u32::MAX),
        base.sample(1),
        base.sample(u32::MAX),
    ] {
        let error = cloud.with(|points| Empirical::of(points, &params, &Silent)).unwrap_err();
        let is_core = matches!(
            error,
            Error::Core(gpu_core::Error::Parameter { .. } | gpu_core::Error::TooMany { .. })
        );
        assert!(is_core, "{error}");
    }
}
