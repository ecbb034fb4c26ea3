//! Coordinates that are scaled by a power of two: the same bits, up to where products of lengths hold no more.

use gpu_core::GridSpec;
use nni_grid::{Error, Params, Weights, interpolate};
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
fn exact_values_are_the_same_in_any_unit_of_length_that_is_not_refused() {
    for device in devices() {
        let values = |power: i32, weights: Weights| {
            let (cloud, grid) = scaled(power);
            let params = Params::new(grid).weights(weights);
            let layers = cloud.with(|points| interpolate(&device, points, &params, &()));
            layers.map(|layers| bits(layers.values[0].values()))
        };
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let expected = values(0, weights).unwrap();
            // The cells are 2^-200 and the grid 2^200 at the ends; with gradients 2^-100 and 2^100.
            let half = if weights == Weights::SibsonC1 { 100 } else { 200 };
            for power in [1 - half, -40, 40, half - 4] {
                let found = values(power, weights).unwrap();
                assert!(found == expected, "{}: 2^{power}, {weights:?}", device.name());
            }
            for power in [-half, -360, half - 3, 350] {
                let refused = values(power, weights);
                let is_refused = matches!(refused, Err(Error::Lengths { .. }));
                assert!(is_refused, "{}: 2^{power}, {weights:?}", device.name());
            }
        }
    }
}
