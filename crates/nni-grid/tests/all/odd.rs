//! Cells with hundreds of neighbours, beside finely sampled curves: the exact method on the CPU and on the process's GPU.

use crate::common::{Cloud, on_all, only};
use gpu_core::GridSpec;
use nni_grid::{Params, Weights};

const ALL: [Weights; 3] = [Weights::Sibson, Weights::Laplace, Weights::SibsonC1];

/// However far away the sites are.
fn unlimited() -> Params {
    Params::new().max_distance(f64::INFINITY)
}

/// Points along the x axis, a step apart or so, that rise with x.
fn line(from: f64, step: f64, count: u32) -> Cloud {
    Cloud::of((0..count).map(|i| {
        let x = from + step * (f64::from(i) + 0.3 * f64::from(i * 7 % 5) / 5.0);
        (x, 0.0, x)
    }))
}

#[test]
fn a_cell_beside_a_line_has_the_value_of_the_nearest_place_of_it() {
    // Centres 1.5, 2.5 and 3.5 above the line, none above a point.
    let grid = GridSpec::new(0.003, 4.0, 1.0, 3, 3).unwrap();
    let cloud = line(-16.0, 0.02, 1750);
    for weights in ALL {
        let dem = on_all(&cloud, grid, &unlimited().weights(weights).deviations(true));
        let deviations = dem.deviations.as_ref().unwrap().values();
        for (cell, &z) in (0..).zip(only(&dem)) {
            let (x, away) = grid.cell_centre(cell % 3, cell / 3);
            assert!((f64::from(z) - x).abs() < 1e-5, "{weights:?}: {z} at {x}, {away}");
            assert!((f64::from(deviations[cell as usize]) - away).abs() < 1e-6, "{weights:?}");
        }
        if let Some(counts) = &dem.counts {
            assert!(counts.values().iter().all(|&count| count == 2), "{:?}", counts.values());
        }
    }
}

#[test]
fn lines_of_any_direction_give_what_lies_beside_them() {
    for angle in [0.3, 1.2, 2.5f64] {
        let (sin, cos) = angle.sin_cos();
        let cloud = line(-20.0, 0.05, 800);
        let turned = Cloud::of((0..cloud.z.len()).map(|i| {
            let (along, z) = (cloud.x[i], cloud.z[i]);
            (along * cos, along * sin, z)
        }));
        // A corner of the grid lies on the line.
        let grid = GridSpec::new(0.0, 2.0, 1.0, 2, 2).unwrap();
        for weights in ALL {
            let dem = on_all(&turned, grid, &unlimited().weights(weights));
            for (cell, &z) in (0..).zip(only(&dem)) {
                let (x, y) = grid.cell_centre(cell % 2, cell / 2);
                // Rounding has moved points off the line by an ulp, so that some cells lie inside the hull.
                let along = x * cos + y * sin;
                let off = (f64::from(z) - along).abs();
                assert!(off < 1e-5, "{weights:?}: {z} at {along}");
            }
        }
    }
}

#[test]
fn amid_a_circle_every_point_counts() {
    use std::f64::consts::TAU;
    let cloud = Cloud::of((0..700).map(|i| {
        let angle = (f64::from(i) + 0.2 * f64::from(i * 3 % 7)) / 700.0 * TAU;
        let (x, y) = (6.0 * angle.cos(), 6.0 * angle.sin());
        (x, y, x - 2.0 * y)
    }));
    let grid = GridSpec::new(-1.0, 1.0, 1.0, 2, 2).unwrap();
    for weights in ALL {
        let dem = on_all(&cloud, grid, &unlimited().weights(weights));
        for (cell, &z) in (0..).zip(only(&dem)) {
            let (x, y) = grid.cell_centre(cell % 2, cell / 2);
            let off = (f64::from(z) - (x - 2.0 * y)).abs();
            assert!(off < 1e-3, "{weights:?}: {off} off at {x}, {y}");
        }
        if let Some(counts) = &dem.counts {
            assert!(counts.values().iter().all(|&count| count == 700), "{:?}", counts.values());
        }
    }
}
