//! Linear weights: planes, the TIN of the crate `spade`, ties, edges, and the order of points.

use crate::clouds::grids;
use crate::common::{Cloud, bits, mesh, on_all, only, random, square};
use crate::exact::unlimited;
use gpu_core::{Device, Points};
use nni_grid::{Error, Fill, Input, Method, Params, Weights, interpolate};
use spade::{Point2, PositionInTriangulation, Triangulation};
use testing::clouds::{self, SIDE};

/// No limits, all layers.
fn linear() -> Params {
    unlimited().weights(Weights::Linear)
}

/// Clouds of which more than one Delaunay triangulation may be made, beside those whose hull has no area.
const TIES: [&str; 6] = ["lattice", "circle", "annulus", "axis line", "oblique line", "one place"];

/// The value at a place of the triangle that `spade` finds, from the areas of its parts; `None` outside.
fn of_triangle(
    mesh: &spade::DelaunayTriangulation<crate::common::Site>,
    [x, y]: [f64; 2],
) -> Option<f64> {
    let PositionInTriangulation::OnFace(face) = mesh.locate(Point2::new(x, y)) else { return None };
    let corners = mesh.face(face).vertices();
    let [a, b, c] = corners.map(|corner| [corner.position().x, corner.position().y]);
    let area = |p: [f64; 2], q: [f64; 2], r: [f64; 2]| {
        (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    };
    let parts = [area([x, y], b, c), area(a, [x, y], c), area(a, b, [x, y])];
    let all = area(a, b, c);
    // Of flatter ones this oracle has no digits.
    let longest =
        [[a, b], [b, c], [c, a]].map(|[p, q]| (q[0] - p[0]).powi(2) + (q[1] - p[1]).powi(2));
    if all < 1e-6 * longest.into_iter().fold(0.0, f64::max) {
        return None;
    }
    let values = corners.map(|corner| corner.data().z);
    Some((0..3).map(|i| parts[i] * values[i]).sum::<f64>() / all)
}

#[test]
fn values_of_every_cloud_are_those_of_the_triangles_of_another_triangulation() {
    for cloud in clouds::all(500, 3).filter(|cloud| !TIES.contains(&cloud.name)) {
        let mesh = mesh(&cloud);
        let fold = |f: fn(f64, f64) -> f64| cloud.z.iter().copied().reduce(f).unwrap();
        let range = fold(f64::max) - fold(f64::min);
        let mut compared = 0;
        for grid in grids(&cloud) {
            let dem = on_all(&cloud, grid, &linear().hull(true));
            for (cell, &value) in (0..).zip(only(&dem)).filter(|(_, value)| !value.is_nan()) {
                let (x, y) = grid.cell_centre(cell % grid.width, cell / grid.width);
                let Some(expected) = of_triangle(&mesh, [x, y]) else { continue };
                let off = (f64::from(value) - expected).abs();
                assert!(off < 1e-6 * range, "{}: {off} off at {x}, {y}", cloud.name);
                compared += 1;
            }
        }
        println!("{}: {compared} cells", cloud.name);
        assert!(compared > 20, "{}: {compared}", cloud.name);
    }
}

#[test]
fn planes_of_every_cloud_are_met_inside_the_hull() {
    let plane = |x: f64, y: f64| 0.2 * y - 0.1 * x;
    // A plane through a point at 1e12 has heights of which the others' are less than the step of values.
    for mut cloud in clouds::all(500, 2).filter(|cloud| cloud.name != "stray") {
        cloud.z = cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| plane(x, y)).collect();
        let dem = on_all(&cloud, grids(&cloud)[0], &linear().hull(true));
        let deviations = dem.deviations.as_ref().unwrap().values();
        for (cell, &value) in (0..).zip(only(&dem)).filter(|(_, value)| !value.is_nan()) {
            let (x, y) = dem.grid.cell_centre(cell % 20, cell / 20);
            let off = (f64::from(value) - plane(x, y)).abs();
            assert!(off < 1e-6 * 0.3 * SIDE, "{}: {off} off at {x}, {y}", cloud.name);
            assert!(
                deviations[cell as usize] < 1e-8,
                "{}: {}",
                cloud.name,
                deviations[cell as usize]
            );
        }
    }
}

#[test]
fn four_points_on_a_circle_are_divided_from_the_first_one() {
    // The rule: from the corner that comes first by x, then by y, here the south-western one.
    let corners = [(0.5, 0.5, 1.0), (4.5, 0.5, 2.0), (4.5, 4.5, 9.0), (0.5, 4.5, 4.0)];
    for turn in 0..4 {
        let mut cloud = Cloud::of(corners);
        [&mut cloud.x, &mut cloud.y, &mut cloud.z]
            .into_iter()
            .for_each(|all| all.rotate_left(turn));
        let dem = on_all(&cloud, square(5), &linear());
        let value = |x: usize, y: usize| only(&dem)[(4 - y) * 5 + x];
        // Planes of both triangles, and the edge between them.
        assert_eq!(
            [value(3, 1), value(1, 3), value(2, 2)],
            [1.0 + 0.75 + 0.25 * 7.0, 1.0 + 0.75 * 3.0 + 0.25 * 5.0, 5.0]
        );
        let counts = dem.counts.as_ref().unwrap().values();
        assert_eq!([counts[3 * 5 + 3], counts[2 * 5 + 2], counts[20], counts[22]], [3, 2, 1, 2]);
    }
}

#[test]
fn an_edge_has_one_value_from_both_sides_and_for_any_order_of_points() {
    // Lattices whose edges the queries fall on, and whose points they do not.
    for (step, shift) in [(2.0, 0.5), (3.0, 0.5), (3.0, 1.5), (1.5, 0.25)] {
        let places =
            (0..400).map(|i| (f64::from(i % 20) * step + shift, f64::from(i / 20) * step + shift));
        let points: Vec<_> =
            places.map(|(x, y)| (x, y, (0.7 * x).sin() + (0.3 * y * x).cos())).collect();
        let params = linear();
        let first = on_all(&Cloud::of(points.iter().copied()), square(24), &params);
        let turned = on_all(&Cloud::of(points.iter().rev().copied()), square(24), &params);
        let mixed = on_all(&Cloud::of((0..400).map(|i| points[i * 7 % 400])), square(24), &params);
        for other in [&turned, &mixed] {
            assert_eq!(bits(only(&first)), bits(only(other)));
            assert_eq!(first.counts, other.counts);
        }
        assert!(first.counts.unwrap().values().contains(&2));
    }
}

#[test]
fn parts_of_the_ground_and_limits_are_as_with_other_weights() {
    let cloud = random(700, 64.0, 5, |x, y| x - 2.0 * y);
    let grid = square(64);
    for params in [
        Params::new().max_distance(1.5),
        Params::new().max_distance(2.0).fill(Fill::Nearest),
        Params::new().max_distance(f64::INFINITY).hull(true).fill(Fill::Value(-3.0)),
    ] {
        let with = |weights| on_all(&cloud, grid, &params.weights(weights).distances(true));
        let (linear, sibson) = (with(Weights::Linear), with(Weights::Sibson));
        assert_eq!(linear.summary, sibson.summary);
        assert_eq!(linear.distances, sibson.distances);
        // On a plane all weights agree, inside the hull, outside and where cells are filled.
        for (a, b) in only(&linear).iter().zip(only(&sibson)) {
            assert!((a - b).abs() < 1e-3 || a.is_nan() && b.is_nan(), "{a}, {b}");
        }
    }
}

#[test]
fn linear_weights_are_of_the_exact_method() {
    let points = Points { x: &[1.0], y: &[1.0], values: &[&[1.0]] };
    for params in [Params::on_pixels(), Params::new().method(Method::Pixels)] {
        let params = params.weights(Weights::Linear);
        assert_eq!(
            interpolate(&Device::Cpu, Input::new(points, square(3)), &params).unwrap_err(),
            Error::LinearOnPixels
        );
    }
    assert_eq!("linear".parse(), Ok(Weights::Linear));
}
