//! Input and parameters that are refused, and input that is hardly there; on the CPU and on the process's GPU.

use crate::common::{devices, random_cloud, targets_at};
use gpu_core::GridSpec;
use idw::{
    Baseline, Error, Input, Method, NonFinite, Params, Points, Targets, TooFewPoints, ValueRange,
    cross_validate, interpolate,
};

const EMPTY: Points = Points { x: &[], y: &[], values: &[&[]] };

fn all_params() -> [Params; 4] {
    let quadrants = Params::default().max_points_per_quadrant(2);
    let sphere = Params::default().geographic(true).statistics(true);
    [Params::default(), Params::nearest(5).statistics(true), quadrants, sphere]
}

#[test]
fn no_points_give_nodata_and_no_targets_nothing() {
    let targets = Targets::Points { x: &[1.0, 2.0], y: &[3.0, 4.0] };
    let grid = GridSpec::new(0.0, 1.0, 1.0, 0, 7).unwrap();
    for device in devices() {
        for params in all_params() {
            let surface = interpolate::<f32>(&device, Input::new(EMPTY, targets), &params).unwrap();
            assert!(surface.values[0].len() == 2 && surface.values[0].iter().all(|v| v.is_nan()));
            assert_eq!(surface.summary.nodata, 2);
            let marked = params.nodata(-9999.0);
            let surface = interpolate::<f64>(&device, Input::new(EMPTY, targets), &marked).unwrap();
            assert_eq!(surface.values[0], [-9999.0; 2]);
            let one = Points { x: &[1.0], y: &[1.0], values: &[&[5.0]] };
            let surface = interpolate::<f64>(&device, Input::new(one, grid), &params).unwrap();
            assert!(surface.values[0].is_empty());
        }
        let validation = cross_validate(&device, EMPTY, &Params::default()).unwrap();
        assert!(validation.errors.is_empty() && validation.rmse.is_nan());
    }
}

#[test]
fn one_point_is_everywhere() {
    let one = Points { x: &[10.0], y: &[20.0], values: &[&[0.3]] };
    let targets = Targets::Points { x: &[10.0, 0.0, -80.0], y: &[20.0, 0.0, 45.0] };
    for device in devices() {
        for params in all_params() {
            let surface = interpolate::<f64>(&device, Input::new(one, targets), &params).unwrap();
            assert_eq!(surface.values[0], [0.3; 3], "{} {params:?}", device.name());
        }
        // One is too few.
        let params = Params::default().min_points(2);
        let surface = interpolate::<f64>(&device, Input::new(one, targets), &params).unwrap();
        assert_eq!(surface.summary.nodata, 3);
        let validation = cross_validate(&device, one, &Params::default()).unwrap();
        assert!(validation.errors[0].is_nan() && validation.count == 0);
    }
}

#[test]
fn statistics_of_all_points_are_of_their_values_not_of_the_wider_range_of_a_whole() {
    let points = Points { x: &[0.0, 1.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
    let targets = Targets::Points { x: &[0.25], y: &[0.0] };
    for device in devices() {
        for whole in [None, Some(ValueRange { min: -5.0, max: 5000.0 })] {
            for params in [Params::default(), Params::nearest(2)] {
                let params = params.statistics(true).value_range(whole);
                let surface = interpolate::<f64>(&device, Input::new(points, targets), &params);
                let found = surface.unwrap().statistics.unwrap();
                assert_eq!((found.min[0], found.max[0]), (10.0, 20.0), "{}", device.name());
                assert_eq!((found.mean[0], found.deviation[0]), (15.0, 5.0), "{}", device.name());
            }
        }
    }
}

#[test]
fn a_target_takes_the_nearest_points_if_quadrants_lack_some_and_no_value_below_min_points() {
    let points = Points { x: &[0.0, 1.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
    let targets = Targets::Points { x: &[0.5], y: &[0.0] };
    let params = Params::default().min_points_per_quadrant(2).statistics(true);
    for device in devices() {
        for (least, value) in [(0, Some(15.0)), (2, Some(15.0)), (3, None)] {
            let params = params.too_few_points(TooFewPoints::Nearest).min_points(least);
            let surface =
                interpolate::<f64>(&device, Input::new(points, targets), &params).unwrap();
            let found = Some(surface.values[0][0]).filter(|value| !value.is_nan());
            assert_eq!(found, value, "{} {least}", device.name());
            // Statistics tell what the search found, though it is too little.
            assert_eq!(surface.statistics.unwrap().count, [2], "{} {least}", device.name());
        }
        let all = Params::default().min_points(3).statistics(true);
        let surface = interpolate::<f64>(&device, Input::new(points, targets), &all).unwrap();
        assert_eq!(surface.statistics.unwrap().count, [0], "{}", device.name());
    }
}

#[test]
fn points_in_one_place_have_their_mean_everywhere() {
    let points = Points { x: &[3.0; 5], y: &[4.0; 5], values: &[&[1.0, 2.0, 3.0, 4.0, 10.0]] };
    let targets = Targets::Points { x: &[3.0, 8.0], y: &[4.0, 9.0] };
    for device in devices() {
        for params in [Params::default(), Params::nearest(5)] {
            let surface =
                interpolate::<f64>(&device, Input::new(points, targets), &params).unwrap();
            assert!(surface.values[0].iter().all(|v| (v - 4.0).abs() < 1e-14), "{surface:?}");
            assert_eq!(surface.values[0][0], 4.0);
        }
    }
}

#[test]
fn what_is_not_finite_is_refused_or_counted() {
    let (x, y) = ([0.0, 1.0, 2.0, f64::INFINITY], [0.0; 4]);
    let z = [1.0, f64::NAN, 3.0, 4.0];
    let points = Points { x: &x, y: &y, values: &[&z] };
    let targets = Targets::Points { x: &[1.0], y: &[0.0] };
    for device in devices() {
        let error = interpolate::<f32>(&device, Input::new(points, targets), &Params::default());
        assert!(error.unwrap_err().to_string().contains("point 1"));
        let skip = Params::default().non_finite(NonFinite::Skip);
        let surface = interpolate::<f64>(&device, Input::new(points, targets), &skip).unwrap();
        assert_eq!((surface.values[0][0], surface.summary.skipped), (2.0, 2));
        assert_eq!(surface.summary.points, 4);
        let validation = cross_validate(&device, points, &skip).unwrap();
        assert_eq!(validation.errors[0], 2.0);
        assert!(validation.errors[1].is_nan() && validation.errors[3].is_nan());
        assert_eq!((validation.errors[2], validation.count), (-2.0, 2));

        let lost = Targets::Points { x: &[f64::NAN], y: &[0.0] };
        let cloud = random_cloud(3, [0.0, 0.0, 1.0, 1.0], 1);
        let error =
            cloud.with(|p| interpolate::<f32>(&device, Input::new(p, lost), &Params::default()));
        assert!(matches!(error.unwrap_err(), Error::Target { index: 0, .. }));
        let sphere = Params::default().geographic(true);
        let beyond = Points { x: &[0.0], y: &[91.0], values: &[&[1.0]] };
        let error = interpolate::<f32>(&device, Input::new(beyond, targets), &sphere).unwrap_err();
        assert_eq!(error, Error::Latitude { index: 0, latitude: 91.0 });
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let cloud = random_cloud(9, [0.0, 0.0, 1.0, 1.0], 2);
    let paper = Params::default().method(Method::Baseline(Baseline::Tiled));
    for device in devices() {
        let run = |params: &Params| {
            cloud
                .with(|p| interpolate::<f32>(&device, Input::new(p, targets_at(&cloud)), params))
                .map(drop)
        };
        for power in [0.0, -2.0, f64::NAN] {
            assert!(matches!(
                run(&paper.power(power)),
                Err(Error::Core(gpu_core::Error::Parameter { what: "power", .. }))
            ));
        }
        for radius in [-1.0, f64::NAN] {
            let params = Params::default().radius1(radius).radius2(radius);
            assert!(matches!(run(&params), Err(Error::Radius { .. })));
        }
        assert!(matches!(run(&paper.max_points(3)), Err(Error::Conflict { .. })));
        assert_eq!(run(&paper), Ok(()));
    }
}

#[test]
fn more_points_than_there_are_means_all() {
    let cloud = random_cloud(7, [0.0, 0.0, 10.0, 10.0], 3);
    let targets = random_cloud(20, [0.0, 0.0, 10.0, 10.0], 4);
    for device in devices() {
        let run = |params: &Params| {
            cloud
                .with(|p| interpolate::<f64>(&device, Input::new(p, targets_at(&targets)), params))
                .unwrap()
        };
        let all = run(&Params::default());
        for max_points in [7, 8, 24, 100] {
            let found = run(&Params::nearest(max_points).min_points(7));
            for (a, b) in all.values[0].iter().zip(&found.values[0]) {
                assert!((a - b).abs() < 1e-12 * a, "{a} {b}");
            }
            let none = Params::default().min_points(8).max_points(max_points.max(8));
            assert_eq!(run(&none).summary.nodata, 20);
            let regardless = none.too_few_points(TooFewPoints::Nearest);
            assert_eq!(run(&regardless).summary.nodata, 20, "there are only seven");
        }
    }
}

#[test]
fn places_and_lengths_whose_squares_leave_f64_are_refused() {
    let cloud = random_cloud(9, [0.0, 0.0, 1.0, 1.0], 5);
    let run = |device: &_, x: f64, at: f64, params: &Params| {
        let mut cloud = cloud.clone();
        cloud.x[4] = x;
        let targets = Targets::Points { x: &[0.5, 0.3], y: &[0.5, at] };
        cloud.with(|p| interpolate::<f64>(device, Input::new(p, targets), params)).map(drop)
    };
    for device in devices() {
        for params in [Params::default(), Params::nearest(3)] {
            for x in [1e151, -1e200, 1e-131, -1e-200, 5e-324, f64::MAX] {
                let error = run(&device, x, 0.5, &params).unwrap_err();
                assert!(matches!(error, Error::Place { what: "point", index: 4, .. }), "{error}");
                let error = run(&device, 0.5, x, &params).unwrap_err();
                assert!(matches!(error, Error::Place { what: "target", index: 1, .. }), "{error}");
                let skip = params.non_finite(NonFinite::Skip);
                assert_eq!(run(&device, x, 0.5, &skip), Ok(()));
                // Degrees are not squared.
                if x.abs() < 1.0 {
                    let sphere = params.geographic(true);
                    assert_eq!(run(&device, x, x, &sphere), Ok(()));
                }
            }
            for smoothing in [1e160, 1e-160] {
                let error = run(&device, 0.5, 0.5, &params.smoothing(smoothing)).unwrap_err();
                assert!(
                    matches!(
                        error,
                        Error::Core(gpu_core::Error::Parameter { what: "smoothing", .. })
                    ),
                    "{error}"
                );
            }
            let radius = params.radius1(1e-160).radius2(1e-160);
            assert!(matches!(run(&device, 0.5, 0.5, &radius), Err(Error::Radius { .. })));
            let far = GridSpec::new(1e160, 10.0, 1e150, 3, 3).unwrap();
            let error =
                cloud.with(|p| interpolate::<f32>(&device, Input::new(p, far), &params).map(drop));
            assert!(matches!(error, Err(Error::Place { what: "target", .. })), "{error:?}");
        }
    }
}

#[test]
fn the_largest_and_the_least_lengths_give_the_value_of_the_definition() {
    for device in devices() {
        for unit in [1e149, 1e-120, 1e-20, 1.0] {
            let cloud = random_cloud(30, [0.0, 0.0, unit, unit], 6);
            let mut at = random_cloud(10, [-unit, -unit, 2.0 * unit, 2.0 * unit], 7);
            // As far, and as near, as can be.
            at.x[0] = 1e150;
            at.x[1] = cloud.x[3] + unit * 1e-9;
            at.y[1] = cloud.y[3];
            for smoothing in [0.0, 0.1 * unit, 1e150, 1e-125] {
                for power in [1.0, 2.0, 3.0, 4.0, 1.5] {
                    for base in [Params::default(), Params::nearest(4), Params::nearest(25)] {
                        let params = base.power(power).smoothing(smoothing);
                        let of =
                            |i| crate::common::by_definition(&cloud, (at.x[i], at.y[i]), &params);
                        let wanted: Vec<f64> = (0..at.len()).map(of).collect();
                        let what = format!("{}, unit {unit}, {params:?}", device.name());
                        let run = |params: &Params| {
                            cloud.with(|p| {
                                interpolate::<f64>(&device, Input::new(p, targets_at(&at)), params)
                                    .unwrap()
                            })
                        };
                        crate::common::assert_close(&run(&params).values[0], &wanted, 1e-9, &what);
                        let single = cloud.with(|p| {
                            interpolate::<f32>(&device, Input::new(p, targets_at(&at)), &params)
                                .unwrap()
                        });
                        let single: Vec<f64> =
                            single.values[0].iter().map(|&v| f64::from(v)).collect();
                        crate::common::assert_close(&single, &wanted, 1e-5, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn what_an_f32_does_not_hold_is_refused_by_its_index() {
    let (x, y) = ([0.0, 1.0, f64::NAN, 3.0], [0.0; 4]);
    let targets = Targets::Points { x: &[1.5], y: &[0.5] };
    let skip = |params: Params| params.non_finite(NonFinite::Skip);
    for device in devices() {
        for params in [skip(Params::default()), skip(Params::nearest(2))] {
            let of_z = |z: &[f64], params: &Params| {
                let points = Points { x: &x, y: &y, values: &[z] };
                interpolate::<f32>(&device, Input::new(points, targets), params)
            };
            let error = of_z(&[1.0, 2.0, 3.0, -3.5e38], &params).unwrap_err();
            assert_eq!(error, Error::Value { index: 3, value: -3.5e38 });
            assert!(error.to_string().contains("value 3 is -3.5e38"), "{error}");
            assert!(
                of_z(&[3.4e38, -3.4e38, 0.0, 3.4e38], &params).unwrap().values[0][0].is_finite()
            );
            let wide = params.value_range(idw::ValueRange { min: 0.0, max: 1e39 });
            let error = of_z(&[1.0, 2.0, 3.0, 4.0], &wide).unwrap_err();
            assert_eq!(error, Error::ValueRange { min: 0.0, max: 1e39 });
            let nodata = params.nodata(-1.7976931348623157e308);
            assert!(matches!(of_z(&[1.0; 4], &nodata), Err(Error::Nodata { .. })));
            // In f64 all of that is fine.
            let points = Points { x: &x, y: &y, values: &[&[1e300, 2e300, 0.0, -1e300]] };
            let found = interpolate::<f64>(&device, Input::new(points, targets), &params);
            assert!(found.unwrap().values[0][0].abs() < 2e300);
        }
        let far = Targets::Points { x: &[1e100], y: &[0.0] };
        let points = Points { x: &[0.0], y: &[0.0], values: &[&[1.0]] };
        let params = Params::nearest(1).statistics(true);
        let found = interpolate::<f32>(&device, Input::new(points, far), &params);
        assert_eq!(found.unwrap_err(), Error::Distance { index: 0 });
    }
}
