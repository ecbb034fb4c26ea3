//! Coordinates that are scaled by a power of two: the same bits; and points that are too far from each other to decide exactly
//! about them.

use gpu_core::GridSpec;
use nni_grid::{Error, Input, Params, Weights, interpolate};
use testing::{Cloud, bits, devices};

/// A cloud and the cells over it, scaled by 2^`power`.
fn scaled(power: i32) -> (Cloud, GridSpec) {
    let mut cloud =
        Cloud::uniform(150, [0.0, 0.0, 16.0, 16.0], 3, |x, y| (x * 0.7).sin() + 0.1 * y);
    let by = |number: f64| number * 2f64.powi(power);
    cloud.x.iter_mut().chain(&mut cloud.y).for_each(|c| *c = by(*c));
    (
        cloud,
        GridSpec { origin_x: 0.0, origin_y: by(16.0), cell_size: by(0.5), width: 32, height: 32 },
    )
}

#[test]
fn exact_values_are_the_same_in_any_unit_of_length() {
    for device in devices() {
        let values = |power: i32, weights: Weights| {
            let (cloud, grid) = scaled(power);
            let params = Params::new().weights(weights);
            let layers =
                cloud.with(|points| interpolate(&device, Input::new(points, grid), &params));
            bits(layers.unwrap().values[0].values())
        };
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let expected = values(0, weights);
            for power in [-900, -360, -200, -40, 40, 196, 350, 1000] {
                let found = values(power, weights);
                assert!(found == expected, "{}: 2^{power}, {weights:?}", device.name());
            }
        }
    }
}

#[test]
fn a_plane_is_exact_where_a_natural_neighbour_lies_as_far_as_500_bits_reach() {
    // Cells between the two near points have the third, and no other, to the east: those of a strip.
    let grid = GridSpec::new(0.0, 10.0, 1.0, 12, 10).unwrap();
    let plane = |y: f64| 3.0 + 0.2 * y;
    for far in [1e60, 1e70, 1e77, 1e100, 1e140] {
        let cloud = Cloud::of([(0.0, 0.0, plane(0.0)), (0.0, 10.0, plane(10.0)), (far, 5.0, 4.0)]);
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let params = Params::new().max_distance(f64::INFINITY).weights(weights);
            for (device, params) in
                devices().iter().flat_map(|device| [(device, params), (device, params.hull(true))])
            {
                let dem = cloud
                    .with(|points| interpolate(device, Input::new(points, grid), &params))
                    .unwrap();
                for (cell, &value) in dem.values[0].values().iter().enumerate() {
                    let expected = plane(9.5 - (cell / 12) as f64);
                    let is_right = (f64::from(value) - expected).abs() < 1e-5;
                    let name = device.name();
                    assert!(is_right, "{name}: {far:e}, {weights:?}: {value} for {expected}");
                }
            }
        }
    }
}

#[test]
fn three_points_around_a_grid_have_values_between_theirs_however_far_one_lies() {
    let grid = GridSpec::new(22.0, 22.0, 22.0, 22, 22).unwrap();
    for (x, y) in [(1e140, 0.0), (-1e78, 1e90), (1e140, -1e140), (7.0, 3e99)] {
        let cloud = Cloud::of([(-3.0, -2.0, 1.0), (40.0, -500.0, 2.0), (x, y, 5.0)]);
        for weights in [Weights::Sibson, Weights::Laplace] {
            let params = Params::new().max_distance(f64::INFINITY).weights(weights);
            let of_all = devices().into_iter().map(|device| {
                let dem = cloud
                    .with(|points| interpolate(&device, Input::new(points, grid), &params))
                    .unwrap();
                let values = dem.values[0].values();
                let is_within = |value: &&f32| (1.0..=5.0).contains(*value);
                let within = values.iter().filter(is_within).count();
                assert_eq!(within, values.len(), "{}: {x:e}, {y:e}, {weights:?}", device.name());
                bits(values)
            });
            let of_all: Vec<_> = of_all.collect();
            assert!(of_all.iter().all(|bits| *bits == of_all[0]), "{x:e}, {y:e}, {weights:?}");
        }
    }
}

#[test]
fn points_of_which_some_are_too_far_to_compute_with_are_refused() {
    let grid = GridSpec::new(0.0, 10.0, 1.0, 10, 10).unwrap();
    for device in devices() {
        let run = |places: [(f64, f64, f64); 3]| {
            let params = Params::new().max_distance(f64::INFINITY);
            Cloud::of(places).with(|points| interpolate(&device, Input::new(points, grid), &params))
        };
        for far in [1e151, 1e300, f64::MAX] {
            let error = run([(far, 0.0, 1.0), (-2.0, 1.0, 2.0), (0.0, -3.0, 3.0)]).unwrap_err();
            let Error::Range { greatest, most, .. } = error else { panic!("{error}") };
            let text = format!("{far:e}");
            assert!(greatest == far && most == 500 && error.to_string().contains(&text), "{error}");
        }
        // The middle of a triangle however far its corners lie: all three count alike.
        for far in [1e69, 1e149] {
            let half = far * 0.75f64.sqrt();
            let dem =
                run([(0.0, far, 1.0), (-half, -far / 2.0, 2.0), (half, -far / 2.0, 6.0)]).unwrap();
            let values = dem.values[0].values();
            assert!(
                values.iter().all(|value| (value - 3.0).abs() < 1e-5),
                "{}: {values:?}",
                device.name()
            );
        }
    }
}
