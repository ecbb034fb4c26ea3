//! Cells outside the hull of the points, by the exact method: the value at the nearest place of the hull. The oracle is the
//! hull by brute force: each pair of points that has all others on one side.

use std::time::{Duration, Instant};

use crate::common::{Cloud, on_all, on_cpu, only, random, square};
use crate::exact::unlimited;
use gpu_core::{Device, GridSpec};
use nni_grid::{Fill, Weights, interpolate};
use testing::clouds;

type P = [f64; 2];

fn cross(a: P, b: P, c: P) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn place(cloud: &Cloud, i: usize) -> P {
    [cloud.x[i], cloud.y[i]]
}

/// The sides of the hull: pairs of points with all others on the left of the way between them, or on its line, but not
/// between.
fn sides(cloud: &Cloud) -> Vec<[usize; 2]> {
    let all = 0..cloud.len();
    let pairs = all.clone().flat_map(|a| all.clone().map(move |b| [a, b]));
    let is_side = |&[a, b]: &[usize; 2]| {
        let (from, to) = (place(cloud, a), place(cloud, b));
        let is_between = |p: P| {
            let dot = (p[0] - from[0]) * (p[0] - to[0]) + (p[1] - from[1]) * (p[1] - to[1]);
            cross(from, to, p) == 0.0 && dot < 0.0
        };
        let allows = |p: P| cross(from, to, p) >= 0.0 && !is_between(p);
        from != to && all.clone().all(|c| allows(place(cloud, c)))
    };
    pairs.filter(is_side).collect()
}

/// The nearest place of the hull to a place, as the part of a side, and its distance.
fn nearest(cloud: &Cloud, sides: &[[usize; 2]], at: P) -> ([usize; 2], f64, f64) {
    let of_side = |&[a, b]: &[usize; 2]| {
        let (from, to) = (place(cloud, a), place(cloud, b));
        let (side, way) = ([to[0] - from[0], to[1] - from[1]], [at[0] - from[0], at[1] - from[1]]);
        let part = (side[0] * way[0] + side[1] * way[1]) / (side[0] * side[0] + side[1] * side[1]);
        let part = part.clamp(0.0, 1.0);
        let away = f64::hypot(way[0] - part * side[0], way[1] - part * side[1]);
        ([a, b], part, away)
    };
    sides.iter().map(of_side).min_by(|a, b| a.2.total_cmp(&b.2)).unwrap()
}

/// Clouds of few points, with points within sides of the hull, on a grid that reaches far beyond them.
fn all() -> Vec<(&'static str, Cloud, GridSpec)> {
    let height = |x: f64, y: f64| (0.3 * x).sin() * 5.0 + y;
    let lattice = Cloud::of((0..36).map(|i| {
        let (x, y) = (3.0 * f64::from(i % 6) + 14.0, 2.0 * f64::from(i / 6) + 19.0);
        (x, y, height(x, y))
    }));
    let mut turned = random(60, 10.0, 4, height);
    turned.x.iter_mut().for_each(|x| *x += 20.0);
    turned.y.iter_mut().zip(&turned.x).for_each(|(y, x)| *y = 0.2 * *y + 0.8 * x);
    let sliver = Cloud::of([(15.0, 20.0, 1.0), (33.0, 21.0, 5.0), (24.0, 20.7, 2.0)]);
    vec![
        ("lattice", lattice, square(48)),
        ("turned", turned, square(48)),
        ("sliver", sliver, square(48)),
    ]
}

#[test]
fn cells_outside_have_the_value_at_the_nearest_place_of_the_hull() {
    for (what, cloud, grid) in all() {
        let sides = sides(&cloud);
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let dem = on_all(&cloud, grid, &unlimited().weights(weights).counts(true));
            let within = on_all(&cloud, grid, &unlimited().weights(weights).hull(true));
            let deviations = dem.deviations.as_ref().unwrap().values();
            let (mut outside, mut worst) = (0, 0.0f64);
            for (cell, &value) in (0..).zip(only(&dem)) {
                let (x, y) = grid.cell_centre(cell % 48, cell / 48);
                let on_side =
                    |&[a, b]: &[usize; 2]| cross(place(&cloud, a), place(&cloud, b), [x, y]) < 0.0;
                let is_outside = sides.iter().any(on_side);
                let left_out = only(&within)[cell as usize].is_nan();
                assert_eq!(is_outside, left_out, "{what}, {weights:?}: {x}, {y}");
                if !is_outside {
                    continue;
                }
                outside += 1;
                let ([a, b], part, away) = nearest(&cloud, &sides, [x, y]);
                let off = f64::from(deviations[cell as usize]) - away;
                assert!(off.abs() < 1e-5, "{what}, {weights:?}: {off} at {x}, {y}");
                if weights != Weights::SibsonC1 || part == 0.0 || part == 1.0 {
                    let expected = cloud.z[a] * (1.0 - part) + cloud.z[b] * part;
                    worst = worst.max((f64::from(value) - expected).abs());
                }
            }
            println!("{what}, {weights:?}: {outside} cells outside, worst {worst:.1e}");
            assert!(worst < 1e-5 && outside > 1000, "{what}, {weights:?}: {worst}, {outside}");
        }
    }
}

#[test]
fn values_are_continuous_where_the_hull_ends() {
    for (what, cloud, _) in all() {
        let sides = sides(&cloud);
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let at = |[x, y]: P| {
                let cell = 1e-9;
                let grid = GridSpec::new(x - 0.5 * cell, y + 0.5 * cell, cell, 1, 1).unwrap();
                let params = unlimited().weights(weights);
                f64::from(only(&on_cpu(&cloud, grid, &params))[0])
            };
            for &[a, b] in &sides {
                let (from, to) = (place(&cloud, a), place(&cloud, b));
                let side = [to[0] - from[0], to[1] - from[1]];
                let length = f64::hypot(side[0], side[1]);
                let outward = [side[1] / length, -side[0] / length];
                for part in [0.1, 0.5, 0.77] {
                    let away = |by: f64| [0, 1].map(|k| from[k] + part * side[k] + by * outward[k]);
                    let [inside, outside] = [-1e-7, 1e-7].map(|by| at(away(by)));
                    let step = (inside - outside).abs();
                    assert!(
                        step < 1e-4,
                        "{what}, {weights:?}: a step of {step} at {:?}",
                        away(0.0)
                    );
                }
            }
        }
    }
}

#[test]
fn no_value_depends_on_the_cell_before() {
    // The walk of a cell begins where that of its neighbour ended: here each cell is alone.
    for cloud in clouds::all(80, 5) {
        let side = clouds::SIDE / 8.0;
        let grid = GridSpec::new(-0.1 * side, 8.4 * side, side, 9, 9).unwrap();
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let dem = on_cpu(&cloud, grid, &unlimited().weights(weights));
            for cell in 0..81 {
                let (column, row) = (cell % 9, cell / 9);
                let mask: Vec<u8> = (0..81).map(|i| u8::from(i == cell)).collect();
                let params = unlimited().weights(weights).distances(false);
                let alone = cloud.with(|points| {
                    let input = crate::common::masked(points, Some(&mask), grid);
                    interpolate(&Device::Cpu, input, &params).unwrap()
                });
                let (a, b) = (only(&dem)[cell], only(&alone)[cell]);
                let name = cloud.name;
                assert!(a.to_bits() == b.to_bits(), "{name}, {weights:?}: {column}, {row}");
            }
        }
    }
}

#[test]
fn a_cell_on_a_side_of_the_hull_is_not_outside() {
    // Centres lie on all four sides, and on their prolongations.
    let cloud = Cloud::of([
        (2.5, 2.5, 1.0),
        (6.5, 2.5, 3.0),
        (6.5, 6.5, 7.0),
        (2.5, 6.5, 9.0),
        (4.5, 2.5, 2.0),
    ]);
    for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
        let params = unlimited().weights(weights).hull(true).fill(Fill::Value(-1.0));
        let dem = on_all(&cloud, square(9), &params);
        for (cell, &value) in (0..).zip(only(&dem)) {
            let (column, row) = (cell % 9, cell / 9);
            let is_inside = (2..=6).contains(&column) && (2..=6).contains(&row);
            assert_eq!(value != -1.0, is_inside, "{weights:?}: {value} at {column}, {row}");
        }
    }
    // All in line: the hull is the line.
    let line = Cloud::of([(1.5, 1.5, 1.0), (5.5, 5.5, 5.0), (3.5, 3.5, 3.0)]);
    let dem = on_all(&line, square(9), &unlimited().hull(true));
    for (cell, &value) in (0..).zip(only(&dem)) {
        let (x, y) = dem.grid.cell_centre(cell % 9, cell / 9);
        let is_on_line = x == y && (1.5..=5.5).contains(&x);
        assert!(
            if is_on_line { f64::from(value) == x - 0.5 } else { value.is_nan() },
            "{value}, {x}, {y}"
        );
    }
}

/// Of three points nearly in line, seen from far away across the line, rounding makes every side of the hull nearer than the one before.
#[test]
fn a_cell_so_far_away_that_rounding_decides_has_a_value_of_the_hull() {
    let cloud = Cloud::of([
        (0.5856952554295133, 1.3666222626688644, 1.0),
        (0.40396574382945927, 0.9425867356020716, 2.0),
        (2.791335646054322, 6.513116507460085, 3.0),
    ]);
    let dem = on_all(&cloud, GridSpec::new(-7e20, 3e20, 1.0, 1, 1).unwrap(), &unlimited());
    assert!((1.0..=3.0).contains(&only(&dem)[0]), "{:?}", only(&dem));
}

#[test]
fn cells_beyond_a_fan_cost_as_much_as_others() {
    // The point above the row's west end has all points of the row as neighbours. A way straight north from the row crosses
    // thousands of their triangles.
    let plane = |x: f64, y: f64| x + 2.0 * y;
    let row = (0..100_000).map(|i| (0.01 * f64::from(i), 1000.0));
    let points = row.chain([(0.0, 1000.5)]).map(|(x, y)| (x, y, plane(x, y)));
    let cloud = Cloud::of(points.collect::<Vec<_>>());
    let grid = GridSpec::new(0.0, 2000.0, 5.0, 200, 200).unwrap();
    let start = Instant::now();
    let dem = on_cpu(&cloud, grid, &unlimited());
    let time = start.elapsed();
    let side = [[100_000, 99_999]];
    for cell in 0..40_000 {
        let (x, y) = grid.cell_centre(cell % 200, cell / 200);
        let ([a, b], part, _) = nearest(&cloud, &side, [x, y]);
        if y > 1000.5 && part > 0.0 && part < 1.0 {
            let expected = (1.0 - part) * cloud.z[a] + part * cloud.z[b];
            let found = f64::from(only(&dem)[cell as usize]);
            assert!((found - expected).abs() < 1e-3, "{x} {y}: {found}, not {expected}");
        }
    }
    // From triangle to triangle it took a minute.
    assert!(time < Duration::from_secs(10), "{time:?}");
}
