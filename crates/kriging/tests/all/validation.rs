//! Leave-one-out cross-validation: what the definition makes of each point, on every device.

use kriging::{Params, cross_validate};
use testing::{Cloud, bits64, devices};

use crate::common::{assert_close, by_definition, variograms};

#[test]
fn errors_are_those_of_the_definition() {
    let cloud = Cloud::uniform(180, [0.0, 0.0, 80.0, 80.0], 21, |x, y| 5.0 * (x / 9.0).sin() + y);
    for variogram in variograms() {
        for most in [1, 8, 16, 17, 64] {
            let params = Params::new(variogram.clone()).max_points(most);
            let found: Vec<_> = devices()
                .iter()
                .map(|device| cloud.with(|points| cross_validate(device, points, &params)).unwrap())
                .collect();
            for i in 0..cloud.len() {
                let place = (cloud.x[i], cloud.y[i]);
                let (value, variance) = by_definition(&cloud, place, &params, Some(i));
                assert_close(found[0].errors[i], value - cloud.z[i], 1e-8, "error");
                assert_close(found[0].variances[i], variance, 1e-9 * variogram.sill(), "variance");
            }
            for other in &found {
                assert_eq!(bits64(&other.errors), bits64(&found[0].errors));
                assert_eq!(bits64(&other.variances), bits64(&found[0].variances));
                assert_eq!(other.count, 180);
            }
        }
    }
}

#[test]
fn points_at_one_place_predict_each_other_and_one_point_has_no_others() {
    let two = Cloud::of([(1.0, 1.0, 5.0), (1.0, 1.0, 7.0), (9.0, 9.0, 1.0)]);
    let params = Params::new(variograms()[0].clone()).max_points(1);
    for device in devices() {
        let found = two.with(|points| cross_validate(&device, points, &params)).unwrap();
        assert_eq!(found.errors[..2], [2.0, -2.0]);
        assert_eq!(found.variances[..2], [0.0, 0.0]);
        let one = Cloud::of([(1.0, 1.0, 5.0)]);
        let found = one.with(|points| cross_validate(&device, points, &params)).unwrap();
        assert!(found.count == 0 && found.errors[0].is_nan() && found.rmse.is_nan());
        let none = Cloud::default();
        let found = none.with(|points| cross_validate(&device, points, &params)).unwrap();
        assert!(found.count == 0 && found.errors.is_empty());
    }
}

#[test]
fn a_hundred_points_at_one_place_leave_each_other_out_one_by_one() {
    let cloud = Cloud::of((0..100).map(|i| (3.0, 4.0, f64::from(i))));
    let params = Params::new(variograms()[0].clone()).max_points(4);
    for device in devices() {
        let found = cloud.with(|points| cross_validate(&device, points, &params)).unwrap();
        // The four others with the lowest indices.
        assert_eq!(found.errors[0], 2.5);
        assert_eq!(found.errors[1], 9.0 / 4.0 - 1.0);
        assert_eq!(found.errors[50], 1.5 - 50.0);
    }
}
