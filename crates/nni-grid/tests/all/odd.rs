//! Cells with hundreds of neighbours, beside finely sampled curves: the exact method on the CPU and on the process's GPU.

use crate::common::{Cloud, on_all, only};
use gpu_core::GridSpec;
use nni_grid::{Params, Weights};

const ALL: [Weights; 3] = [Weights::Sibson, Weights::Laplace, Weights::SibsonC1];

/// However far away the sites are.
fn unlimited(grid: GridSpec) -> Params {
    Params::new(grid).max_distance(f64::INFINITY)
}

/// Points along the x axis, a step apart or so, that rise with x.
fn line(from: f64, step: f64, count: u32) -> Cloud {
    Cloud::of((0..count).map(|i| {
        let x = from + step * (f64::from(i) + 0.3 * f64::from(i * 7 % 5) / 5.0);
        (x, 0.0, x)
    }))
}

#[test]
fn a_cell_beside_a_line_sees_what_a_parabola_touches_within_its_window() {
    // Centres 1.5, 2.5 and 3.5 above the line.
    let grid = GridSpec::new(0.0, 4.0, 1.0, 3, 3).unwrap();
    let step = 0.02;
    let cloud = line(-16.0, step, 1750);
    for weights in ALL {
        let dem = on_all(&cloud, &unlimited(grid).weights(weights));
        let counts = dem.counts.as_ref().map(|counts| counts.values());
        for (cell, &z) in (0..).zip(only(&dem)) {
            let (x, away) = grid.cell_centre(cell % 3, cell / 3);
            assert!((f64::from(z) - x).abs() < 0.01, "{weights:?}: {z} at {x}, {away}");
            // What is nearer to the centre than to the line ends eight distances above, where it is twice the root of 17
            // wide.
            let expected = 2.0 * 17f64.sqrt() * away / step;
            if let Some(counts) = counts {
                let count = f64::from(counts[cell as usize]);
                assert!((count - expected).abs() < 0.01 * expected, "{count} of {expected}");
            }
        }
        let most = counts.map_or(0, |counts| counts.iter().copied().max().unwrap());
        assert!(weights != Weights::Sibson || most > 1024, "{most}");
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
            let dem = on_all(&turned, &unlimited(grid).weights(weights));
            for (cell, &z) in (0..).zip(only(&dem)) {
                let (x, y) = grid.cell_centre(cell % 2, cell / 2);
                let (along, away) = (x * cos + y * sin, (y * cos - x * sin).abs());
                // The window is not the same on both sides of the way to the line.
                let off = (f64::from(z) - along).abs();
                assert!(off < away, "{weights:?}: {z} at {along}, {away} away");
            }
        }
    }
}

#[test]
fn amid_a_circle_a_window_is_cut_by_every_point() {
    use std::f64::consts::TAU;
    let cloud = Cloud::of((0..700).map(|i| {
        let angle = (f64::from(i) + 0.2 * f64::from(i * 3 % 7)) / 700.0 * TAU;
        let (x, y) = (6.0 * angle.cos(), 6.0 * angle.sin());
        (x, y, x - 2.0 * y)
    }));
    let grid = GridSpec::new(-1.0, 1.0, 1.0, 2, 2).unwrap();
    for weights in ALL {
        let dem = on_all(&cloud, &unlimited(grid).query_radius(7.0).weights(weights));
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
