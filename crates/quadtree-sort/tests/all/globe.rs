//! Neighbours on the globe, beside all of them by angles between vectors.

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::{Error, NONE, Params, Quadtree, build};
use testing::Random;

fn tree(x: &[f64], y: &[f64], params: &Params) -> Quadtree {
    build(&Device::Cpu, Points::new(x, y), params).unwrap()
}

fn vector(longitude: f64, latitude: f64) -> [f64; 3] {
    let (l, p) = (longitude.to_radians(), latitude.to_radians());
    [p.cos() * l.cos(), p.cos() * l.sin(), p.sin()]
}

/// The angle by the cross product, which chords know nothing of.
fn angle(u: [f64; 3], v: [f64; 3]) -> f64 {
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let dot: f64 = u.iter().zip(v).map(|(a, b)| a * b).sum();
    cross.iter().map(|c| c * c).sum::<f64>().sqrt().atan2(dot)
}

/// Every neighbour is as near as that of all, and none comes twice.
fn check(x: &[f64], y: &[f64], params: &Params, places: &[[f64; 2]], k: usize, what: &str) {
    let tree = tree(x, y, params);
    let (px, py): (Vec<f64>, Vec<f64>) = places.iter().map(|p| (p[0], p[1])).unzip();
    let found = tree.nearest_on_globe(&px, &py, k).unwrap();
    for (i, &[longitude, latitude]) in places.iter().enumerate() {
        let from = vector(longitude, latitude);
        let angles: Vec<f64> = x.iter().zip(y).map(|(&x, &y)| angle(from, vector(x, y))).collect();
        let mut sorted = angles.clone();
        sorted.sort_by(f64::total_cmp);
        let (indices, distances) = found.of(i);
        let mut seen = std::collections::BTreeSet::new();
        for (rank, (&index, &distance)) in indices.iter().zip(distances).enumerate() {
            if rank >= x.len() {
                assert!(index == NONE && distance.is_infinite(), "{what}");
                continue;
            }
            let own = angles[index as usize];
            let slack = if own > 3.0 { 1e-7 } else { 1e-13 };
            let at =
                format!("{what}: {rank} of ({longitude}, {latitude}): {own}, {}", sorted[rank]);
            assert!(seen.insert(index), "{at}");
            assert!((own - sorted[rank]).abs() < slack && (distance - own).abs() < slack, "{at}");
        }
    }
}

#[test]
fn neighbours_are_those_by_great_circles_everywhere() {
    let mut random = Random::new(5);
    let mut places = vec![
        [0.0, 90.0],
        [77.0, 90.0],
        [0.0, -90.0],
        [180.0, 0.0],
        [-180.0, 0.0],
        [179.9, 0.0],
        [360.0, 45.0],
        [-360.0, -45.0],
        [25.0, 70.0],
        [-135.0, 89.99],
        [10.0, -89.999],
    ];
    places.extend(
        (0..60).map(|_| {
            [random.between(-180.0, 180.0), random.between(-1.0, 1.0).asin().to_degrees()]
        }),
    );
    let mut of = |count: usize, west: f64, east: f64, south: f64, north: f64| {
        let x: Vec<f64> = (0..count).map(|_| random.between(west, east)).collect();
        let y: Vec<f64> = (0..count).map(|_| random.between(south, north)).collect();
        (x, y)
    };
    for (what, (x, y)) in [
        ("the world", of(3000, -180.0, 180.0, -90.0, 90.0)),
        ("from 0 to 360", of(3000, 0.0, 360.0, -90.0, 90.0)),
        ("twice around", of(2000, -360.0, 360.0, -90.0, 90.0)),
        ("an octant", of(2000, 90.0, 180.0, 0.0, 90.0)),
        ("a pole", of(2000, -180.0, 180.0, 89.9, 90.0)),
        ("a town", of(2000, 8.5, 8.6, 47.3, 47.4)),
        ("beyond 180", of(500, 175.0, 185.0, -5.0, 5.0)),
        ("a parallel", of(500, -180.0, 180.0, 60.0, 60.0)),
        ("a few", of(3, -180.0, 180.0, -90.0, 90.0)),
    ] {
        for params in [Params::new().threshold(4), Params::new()] {
            check(&x, &y, &params, &places, 7, what);
        }
        let world = Bounds { min_x: -400.0, min_y: -100.0, max_x: 400.0, max_y: 100.0 };
        check(&x, &y, &Params::new().bounds(world), &places, 2, what);
    }
}

#[test]
fn of_points_as_near_the_lower_index_comes_first_and_no_points_have_none() {
    let (x, y) = ([180.0, -180.0, 180.0, 0.0, 50.0], [10.0, 10.0, 10.0, 90.0, 90.0]);
    let tree = tree(&x, &y, &Params::new().threshold(1));
    let found = tree.nearest_on_globe(&[-180.0, 7.0], &[10.0, 90.0], 3).unwrap();
    assert_eq!(found.of(0), (&[0, 1, 2][..], &[0.0; 3][..]));
    assert_eq!(found.of(1).0[..2], [3, 4]);
    let none = build(&Device::Cpu, Points::new(&[], &[]), &Params::new()).unwrap();
    assert_eq!(none.nearest_on_globe(&[1.0], &[2.0], 2).unwrap().indices, [NONE, NONE]);
}

#[test]
fn what_is_not_on_the_globe_is_named() {
    let here = tree(&[1.0, 2.0], &[3.0, 4.0], &Params::new());
    let error = here.nearest_on_globe(&[0.0, 361.0], &[0.0, 1.0], 1).unwrap_err();
    assert!(matches!(error, Error::Globe { what: "place", index: 1, .. }), "{error}");
    let beyond = tree(&[1.0, 2.0, 3.0], &[3.0, 91.0, 5.0], &Params::new());
    let error = beyond.nearest_on_globe(&[0.0], &[0.0], 1).unwrap_err();
    assert!(
        matches!(error, Error::Globe { what: "point", index: 1, latitude: 91.0, .. }),
        "{error}"
    );
    assert!(matches!(here.nearest_on_globe(&[0.0], &[0.0], 0), Err(Error::NoNeighbours)));
}

#[test]
fn the_system_is_kept_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.qtree");
    let none = tree(&[1.0, 2.0], &[3.0, 4.0], &Params::new());
    assert_eq!(none.system(), None);
    none.with_system(4326).save(&path).unwrap();
    assert_eq!(Quadtree::open(&path).unwrap().system(), Some(4326));
}
