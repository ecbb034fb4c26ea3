//! Triangles and cells as types of geo-types.

use gpu_core::geo_types::{Coord, Point};
use gpu_core::{ArrayPoints, Device, Points};
use proptest::prelude::*;

fn bits(at: Coord) -> [u64; 2] {
    [at.x.to_bits(), at.y.to_bits()]
}

/// The area of a ring that ends where it begins.
fn area(ring: &[Coord]) -> f64 {
    let first = ring[0];
    let turn = |pair: &[Coord]| {
        let ([a, b], [c, d]) = (
            [pair[0].x - first.x, pair[0].y - first.y],
            [pair[1].x - first.x, pair[1].y - first.y],
        );
        a * d - b * c
    };
    0.5 * ring.windows(2).map(turn).sum::<f64>()
}

proptest! {
    #[test]
    fn triangles_keep_every_bit_of_the_points(
        places in prop::collection::vec((-20..20_i32, -20..20_i32), 0..60),
        scale in prop::sample::select(vec![1.0, 1e-200, 1e200, 0.1]),
    ) {
        // -0 among them.
        let places: Vec<_> = places.iter().map(|&(x, y)| Point::new(-scale * f64::from(x), scale * f64::from(y))).collect();
        let points = ArrayPoints::from_geo(&places).unwrap();
        let triangulation = delaunay_stars::triangulate(&Device::Cpu, points.points()).unwrap();
        let found: Vec<_> = triangulation.geo_triangles(points.points()).unwrap().collect();
        prop_assert_eq!(found.len(), triangulation.triangles().count());
        for (triangle, corners) in found.iter().zip(triangulation.triangles()) {
            let wanted = corners.map(|i| bits(places[i as usize].0));
            prop_assert_eq!(triangle.to_array().map(bits), wanted);
        }
        for point in 0..places.len() as u32 {
            let cell = triangulation.cell(point);
            let Some(polygon) = cell.to_geo() else {
                prop_assert!(!cell.is_bounded);
                continue;
            };
            let ring = &polygon.exterior().0;
            let ends = (ring.first(), ring.last());
            prop_assert_eq!(ends.0, ends.1);
            for (found, wanted) in ring.iter().zip(&cell.corners) {
                prop_assert_eq!(bits(*found), wanted.map(f64::to_bits));
            }
            if scale == 1.0 {
                let found = area(ring);
                prop_assert!((found - cell.area).abs() <= 1e-9 * cell.area.max(1.0), "{found} {}", cell.area);
            }
        }
    }
}

#[test]
fn points_that_are_not_the_triangulated_ones_are_refused() {
    let (x, y) = ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
    let triangulation = delaunay_stars::triangulate(&Device::Cpu, Points::new(&x, &y)).unwrap();
    let fewer = triangulation.geo_triangles(Points::new(&x[..2], &y[..2]));
    assert!(fewer.err().unwrap().to_string().contains("2 elements, expected 3"));
    assert!(triangulation.geo_triangles(Points::new(&x, &y[..2])).is_err());
}
