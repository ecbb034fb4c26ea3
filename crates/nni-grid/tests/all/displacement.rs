//! Checks that terrain lies in its place. On planes of slope 1 through uniform random points, the mean of DEM minus
//! truth is close to 0. This is the method on pixels; `exact.rs` tests the exact one.

use crate::common::{random, square};
use gpu_core::{Device, GridSpec, Points};
use nni_grid::{Input, Params, Weights, interpolate};

/// Points times the pixels of a cell, enough that chance leaves the mean within a tenth of a percent of a cell. A point
/// lies anywhere in its pixel, 0.29 pixels from the centre in the root mean square.
const ENOUGH: f64 = 200_000.0;

/// Returns the means of DEM minus truth in cells, inside, for the planes z = x, z = y and z = x + y, and the root mean
/// square of the first. Makes as many clouds as [`ENOUGH`] demands.
fn displacements(per_cell: f64, grid: GridSpec, params: &Params) -> ([f64; 3], f64) {
    let side = grid.width;
    let count = f64::from(side * side) * per_cell;
    let clouds = (ENOUGH / (count * f64::from(params.supersample).powi(2))).ceil() as u64;
    let (mut sums, mut squares, mut cells) = ([0.0; 3], 0.0, 0.0);
    for seed in 0..clouds {
        let cloud = random(count as usize, f64::from(side), 29 + seed, |x, y| x + y);
        let values: [&[f64]; 3] = [&cloud.x, &cloud.y, &cloud.z];
        let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
        let dem = interpolate(&Device::Cpu, Input::new(points, grid), params).unwrap();
        let margin = side / 10;
        for row in margin..side - margin {
            for column in margin..side - margin {
                let (x, y) = grid.cell_centre(column, row);
                let error = |k: usize| {
                    f64::from(*dem.values[k].get(column, row).unwrap()) - [x, y, x + y][k]
                };
                (0..3).for_each(|k| sums[k] += error(k));
                squares += error(0).powi(2);
                cells += 1.0;
            }
        }
    }
    (sums.map(|sum| sum / cells), (squares / cells).sqrt())
}

/// A side of about as many pixels, whatever the supersampling.
fn side(supersample: u32) -> u32 {
    match supersample {
        1 => 700,
        2 => 400,
        3 => 300,
        4 => 240,
        _ => 140,
    }
}

fn check(per_cell: f64, grid: GridSpec, params: &Params) -> f64 {
    let (means, error) = displacements(per_cell, grid, params);
    let what = format!("{:?}, supersample {}", params.weights, params.supersample);
    println!("{what}, {per_cell} a cell: {means:.4?}, error {error:.3}");
    for mean in means {
        assert!(mean.abs() < 0.005, "{what}, {per_cell} a cell: {means:?}");
    }
    error
}

#[test]
fn the_method_on_pixels_leans_nowhere_and_gains_by_supersampling() {
    for per_cell in [0.1, 0.25, 1.0, 4.0, 16.0] {
        let errors = [1, 2, 3, 4, 8].map(|supersample| {
            let base = Params::on_pixels();
            let radius = if per_cell < 1.0 { 12.0 } else { 4.0 };
            check(
                per_cell,
                square(side(supersample)),
                &base.supersample(supersample).query_radius(radius).region_of_influence(40.0),
            )
        });
        // Where a pixel has several points their mean stands at its centre, which averages more over a
        // coarse pixel than it misplaces; so accuracy rises by every step only without.
        let has_several = per_cell > 1.0;
        let rises = errors.is_sorted_by(|a, b| a > b);
        assert!(rises || has_several && errors[4] < errors[0], "{per_cell} a cell: {errors:?}");
    }
}

#[test]
fn other_weights_on_pixels_lean_nowhere() {
    for weights in [Weights::Laplace, Weights::SibsonC1] {
        for (supersample, per_cell) in [(1, 0.25), (1, 1.0), (1, 4.0), (2, 1.0), (2, 4.0)] {
            let base = Params::on_pixels();
            let far = f64::INFINITY;
            let params = base
                .supersample(supersample)
                .weights(weights)
                .query_radius(far)
                .region_of_influence(far);
            check(per_cell, square(side(supersample)), &params);
        }
    }
}
