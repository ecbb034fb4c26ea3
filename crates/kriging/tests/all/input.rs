//! Points, targets and parameters that are refused, on every device.

use gpu_core::{Cancelled, GridSpec, Points, Progress, Targets};
use kriging::{
    Error, Input, MAX_NEIGHBOURS, Model, Params, Variogram, cross_validate, interpolate,
};
use testing::{Cloud, devices};

const X: [f64; 3] = [1.0, 2.0, 3.0];
const NAN: f64 = f64::NAN;

fn params() -> Params {
    Params::new(Variogram::new(0.1).structure(Model::Spherical, 1.0, 10.0))
}

fn refused(points: Points, targets: Targets, params: &Params, words: &str) {
    for device in devices() {
        let error =
            interpolate(&device, Input::new(points, targets), params).unwrap_err().to_string();
        assert!(error.contains(words), "{error}, not {words}");
    }
}

#[test]
fn points_and_targets() {
    let good = Points { x: &X, y: &X, values: &[&X] };
    let at = Targets::Points { x: &X, y: &X };
    let bad = [1.0, NAN, 2.0];
    let far = [1.0, 2.0, -1e151];
    let cases: [(Points, Targets, &str); 12] = [
        (Points::new(&X, &X), at, "no values"),
        (Points { y: &X[..2], ..good }, at, "column of y has 2 elements, expected 3"),
        (Points { values: &[&X[..1]], ..good }, at, "column of values has 1"),
        (Points { x: &bad, ..good }, at, "x of point 1 is NaN"),
        (Points { y: &bad, ..good }, at, "y of point 1 is NaN"),
        (Points { y: &far, ..good }, at, "point 2: (3, -1"),
        (Points { values: &[&X, &bad], ..good }, at, "value 1 is NaN"),
        (Points { values: &[&far], ..good }, at, "value 2 is -1e151"),
        (good, Targets::Points { x: &X, y: &X[..1] }, "targets' y has 1 elements"),
        (good, Targets::Points { x: &bad, y: &X }, "x of target 1 is NaN"),
        (good, Targets::Points { x: &X, y: &far }, "target 2: (3, -1"),
        (
            good,
            Targets::Grid(GridSpec {
                origin_x: 0.0,
                origin_y: 0.0,
                cell_size: -1.0,
                width: 3,
                height: 3,
            }),
            "cell size -1",
        ),
    ];
    for (points, targets, words) in cases {
        refused(points, targets, &params(), words);
    }
    let huge =
        GridSpec { origin_x: 0.0, origin_y: 0.0, cell_size: 1.0, width: 1 << 16, height: 1 << 16 };
    refused(good, huge.into(), &params(), "4294967296 targets");
    for device in devices() {
        let error = cross_validate(&device, Points::new(&X, &X), &params()).unwrap_err();
        assert_eq!(error, Error::NoValues);
    }
}

#[test]
fn parameters() {
    let good = Points { x: &X, y: &X, values: &[&X] };
    let at = Targets::Points { x: &X, y: &X };
    let base = params();
    for (params, words) in [
        (base.clone().max_points(0), "max_points 0 is not at least 1"),
        (base.clone().max_points(MAX_NEIGHBOURS + 1), "at most 64"),
        (base.clone().max_points(3).min_points(4), "minimum of 4 points is above the maximum of 3"),
        (base.clone().radius(-1.0), "radius -1 is not"),
        (base.clone().radius(NAN), "radius NaN is not"),
        (base.clone().radius(f64::INFINITY), "radius inf is not"),
        (base.clone().radius(1e-200), "radius 1e-200 is not"),
        (base.clone().variogram(Variogram::new(0.0)), "no sill"),
        (base.clone().variogram(Variogram::new(-1.0)), "nugget -1"),
        (base.variogram(Variogram::new(0.0).structure(Model::Gaussian, 1.0, NAN)), "range NaN"),
    ] {
        refused(good, at, &params, words);
    }
}

#[test]
fn no_points_and_no_targets_are_no_error() {
    let none = Points { x: &[], y: &[], values: &[&[]] };
    let some = Points { x: &X, y: &X, values: &[&X, &X] };
    for device in devices() {
        let targets = Targets::Points { x: &X, y: &X };
        let surface = interpolate(&device, Input::new(none, targets), &params()).unwrap();
        assert!(surface.values[0].len() == 3 && surface.summary.nodata == 3);
        assert!(surface.variances.iter().all(|variance| variance.is_nan()));
        let targets = Targets::Points { x: &[], y: &[] };
        let surface = interpolate(&device, Input::new(some, targets), &params()).unwrap();
        assert!(surface.variances.is_empty() && surface.into_grids().is_none());
    }
}

#[test]
fn whoever_watches_may_end_the_call() {
    struct Ends;
    impl Progress for Ends {
        fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Break(())
        }
    }
    let cloud = Cloud::uniform(50, [0.0, 0.0, 9.0, 9.0], 41, |x, _| x);
    let grid = GridSpec::new(0.0, 9.0, 1.0, 9, 9).unwrap();
    for device in devices() {
        let error = cloud.with(|points| {
            interpolate(device.with_progress(&Ends), Input::new(points, grid), &params())
        });
        let error = error.unwrap_err();
        let is_cancelled = matches!(error, Error::Cancelled(Cancelled { .. }) | Error::Index(_));
        assert!(is_cancelled, "{error:?}");
    }
}
