//! Leave-one-out cross-validation, on the CPU and on the process's GPU.

mod common;

use common::{Cloud, by_definition, devices, random_cloud};
use idw::{Adaptive, Params, PowerParams, best_power, cross_validate};

/// What the other points make of point `i`, by the definition.
fn without(cloud: &Cloud, i: usize, params: &Params) -> f64 {
    let others = (0..cloud.len()).filter(|&j| j != i);
    let others = Cloud::of(others.map(|j| (cloud.x[j], cloud.y[j], cloud.z[j])));
    by_definition(&others, (cloud.x[i], cloud.y[i]), params)
}

#[test]
fn each_point_is_predicted_from_the_others() {
    let mut cloud = random_cloud(120, [0.0, 0.0, 50.0, 50.0], 51);
    // Two points in one place predict each other.
    (cloud.x[1], cloud.y[1]) = (cloud.x[0], cloud.y[0]);
    let radius = Params::default().radius1(8.0).radius2(8.0);
    let adaptive = Some(Adaptive::default().area(2500.0));
    for params in [
        Params::default(),
        Params::default().power(2.7).smoothing(0.1),
        Params::nearest(6),
        Params::nearest(40),
        radius,
        Params::default().adaptive(adaptive),
        Params::nearest(6).adaptive(adaptive),
    ] {
        for device in devices() {
            let found = cloud.with(|p| cross_validate(&device, p, &params, &())).unwrap();
            let mut squares = 0.0;
            for i in 0..cloud.len() {
                let wanted = without(&cloud, i, &params) - cloud.z[i];
                let same = (found.errors[i] - wanted).abs() < 1e-9
                    || (found.errors[i].is_nan() && wanted.is_nan());
                assert!(same, "{} at {i}: {}, {wanted}", device.name(), found.errors[i]);
                squares += if wanted.is_nan() { 0.0 } else { wanted * wanted };
            }
            assert!((found.rmse - (squares / found.count as f64).sqrt()).abs() < 1e-9);
        }
    }
}

#[test]
fn the_best_power_has_the_least_error() {
    let mut cloud = random_cloud(150, [0.0, 0.0, 50.0, 50.0], 52);
    for i in 0..cloud.len() {
        cloud.z[i] = (cloud.x[i] / 6.0).sin() + (cloud.y[i] / 9.0).cos();
    }
    let params = PowerParams::new([0.5, 1.0, 2.0, 3.0, 5.0]);
    for device in devices() {
        let idw::Comparison { best, all, .. } =
            cloud.with(|p| best_power(&device, p, &params, &())).unwrap();
        let least = all.iter().map(|(_, v)| v.rmse).fold(f64::INFINITY, f64::min);
        let (power, _) = all.iter().find(|(_, v)| v.rmse == least).unwrap();
        assert_eq!(best, Some(*power));
        assert!(*power > 1.0, "a smooth field asks for near points: {power}");
    }
}
