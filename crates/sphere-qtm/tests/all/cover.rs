//! Covers hold what they cover, and no cell without need.

use std::f64::consts::PI;

use sphere_qtm::{
    Cell, Error, Level, LonLat, UnitVector, compact, cover_box, cover_circle, cover_polygon,
    uncompact,
};
use testing::Random;

fn level(level: u32) -> Level {
    Level::new(level).unwrap()
}

fn place(longitude: f64, latitude: f64) -> LonLat {
    LonLat::new(longitude, latitude).unwrap()
}

fn random_place(random: &mut Random) -> UnitVector {
    let (z, turn) = (random.between(-1.0, 1.0), random.between(0.0, 2.0 * PI));
    let r = (1.0 - z * z).sqrt();
    UnitVector::new(r * turn.cos(), r * turn.sin(), z).unwrap()
}

fn holds(cover: &[Cell], place: UnitVector) -> bool {
    let there = Cell::containing(place, Level::MAX);
    cover.iter().any(|cell| cell.contains(there))
}

/// In order, without overlap, compact, none deeper than wanted.
fn check_shape(cover: &[Cell], deepest: Level) {
    assert!(cover.windows(2).all(|pair| pair[0].id_range().end() < pair[1].id_range().start()));
    assert!(cover.iter().all(|cell| cell.level() <= deepest));
    assert_eq!(compact(cover), cover);
}

#[test]
fn a_circle_is_covered_and_little_more() {
    let mut random = Random::new(1);
    let mut cases: Vec<(UnitVector, f64)> =
        (0..20).map(|_| (random_place(&mut random), random.between(0.0, 180.0))).collect();
    cases.extend([(place(0.0, 90.0).into(), 20.0), (place(180.0, 0.0).into(), 3.0)]);
    cases.extend([(place(10.0, 10.0).into(), 0.0), (place(10.0, 10.0).into(), 180.0)]);
    for (centre, radius) in cases {
        let cover = cover_circle(centre, radius, level(5)).unwrap();
        check_shape(&cover, level(5));
        for _ in 0..400 {
            let there = random_place(&mut random);
            if there.distance(centre).to_degrees() <= radius {
                assert!(holds(&cover, there), "{centre:?} {radius}");
            }
        }
        // No cell lies beyond: its centre is not farther than the circle and its own radius.
        for cell in &cover {
            let own =
                cell.vertices().map(|v| v.distance(cell.centre())).into_iter().fold(0.0, f64::max);
            let far = cell.centre().distance(centre);
            assert!(far <= radius.to_radians() + own + 1e-12, "{cell}");
        }
    }
    assert_eq!(cover_circle(place(3.0, 4.0), 180.0, level(4)).unwrap().len(), 8);
    let one = cover_circle(place(3.3, 4.4), 0.0, Level::MAX).unwrap();
    assert_eq!(one, [Cell::containing(place(3.3, 4.4), Level::MAX)]);
    for degrees in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            cover_circle(place(0.0, 0.0), degrees, level(3)),
            Err(Error::Core(gpu_core::Error::Parameter { .. }))
        ));
    }
}

#[test]
fn a_box_is_covered_across_the_antimeridian_and_at_poles() {
    let mut random = Random::new(2);
    for (lon, lat) in [
        ((-10.0, 20.0), (35.0, 60.0)),
        ((170.0, -170.0), (-20.0, 5.0)),
        ((-180.0, 180.0), (80.0, 90.0)),
        ((100.0, 101.0), (-90.0, -88.0)),
        ((-180.0, 180.0), (-90.0, 90.0)),
        ((40.0, 40.0), (10.0, 10.0)),
        ((0.0, 90.0), (0.0, 90.0)),
    ] {
        let cover = cover_box(lon, lat, level(6)).unwrap();
        check_shape(&cover, level(6));
        let width = if lon.1 >= lon.0 { lon.1 - lon.0 } else { lon.1 + 360.0 - lon.0 };
        for _ in 0..300 {
            let there = place(lon.0 + random.unit() * width, random.between(lat.0, lat.1));
            assert!(holds(&cover, there.to_vector()), "{lon:?} {lat:?}: {there:?}");
        }
        let area: f64 = cover.iter().map(|cell| cell.area()).sum();
        let sine = |degrees: f64| degrees.to_radians().sin();
        let exact = width.to_radians() * (sine(lat.1) - sine(lat.0));
        assert!(area >= exact * (1.0 - 1e-12), "{lon:?} {lat:?}");
        // A margin of two cells on all sides, of 1.6 degrees each, and a pole's full turn.
        let margin = (2.0 * (width + (lat.1 - lat.0)) + 16.0).to_radians() * 3.2f64.to_radians();
        assert!(area <= exact + margin, "{lon:?} {lat:?}: {area}, {exact}");
    }
    // All that share an edge with the octant, or the pole.
    let octants = cover_box((0.0, 90.0), (0.0, 90.0), Level::ZERO).unwrap();
    assert_eq!(octants.iter().map(|cell| cell.octant()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 7]);
    for (lat, pole) in [((88.0, 90.0), 90.0), ((-90.0, -88.0), -90.0)] {
        let cover = cover_box((100.0, 101.0), lat, level(8)).unwrap();
        assert!(holds(&cover, place(100.5, pole).to_vector()));
    }
    let refused = cover_box((0.0, 1.0), (5.0, 4.0), level(3));
    assert_eq!(refused, Err(Error::Box { south: 5.0, north: 4.0 }));
    assert!(matches!(cover_box((0.0, 1.0), (5.0, 95.0), level(3)), Err(Error::Place { .. })));
}

#[test]
fn a_polygon_is_covered_with_holes() {
    let mut random = Random::new(3);
    for (lon, lat) in [(10.0, 50.0), (180.0, 0.0), (0.0, 90.0), (45.0, -88.0), (90.0, 0.0)] {
        let centre = place(lon, lat).to_vector();
        // A star around the centre, with a hole in the shape of a smaller one.
        let [x, y, z] = centre.to_array();
        let (east, north) = if lat.abs() == 90.0 {
            ([0.0, 1.0, 0.0], [-1.0, 0.0, 0.0])
        } else {
            let r = x.hypot(y);
            ([-y / r, x / r, 0.0], [-z * x / r, -z * y / r, r])
        };
        let star = |size: f64| -> Vec<LonLat> {
            (0..20)
                .map(|i| {
                    let turn = f64::from(i) * PI / 10.0;
                    let far = if i % 2 == 0 { size } else { 0.6 * size };
                    let at = |k: usize| {
                        [x, y, z][k] + far * (turn.cos() * east[k] + turn.sin() * north[k])
                    };
                    UnitVector::new(at(0), at(1), at(2)).unwrap().to_lon_lat()
                })
                .collect()
        };
        // Membership in the plane that touches the sphere at the centre, where arcs are straight.
        let inside = |place: UnitVector, size: f64| {
            let p = place.to_array();
            let height = p[0] * x + p[1] * y + p[2] * z;
            if height <= 0.0 {
                return false;
            }
            let at = |axis: [f64; 3]| (0..3).map(|k| p[k] * axis[k]).sum::<f64>() / height;
            let (u, v) = (at(east), at(north));
            let (turn, far) = (v.atan2(u).rem_euclid(2.0 * PI), u.hypot(v));
            // Within a tooth of the star the edge runs from one radius to the other.
            let tooth = turn.rem_euclid(PI / 5.0);
            let t = if tooth > PI / 10.0 { PI / 5.0 - tooth } else { tooth };
            let (a, b, open) = (size, 0.6 * size, PI / 10.0);
            far <= a * b * open.sin() / (a * t.sin() + b * (open - t).sin())
        };
        let cover = cover_polygon(&[star(0.3), star(0.1)], level(7)).unwrap();
        check_shape(&cover, level(7));
        let mut counts = [0; 2];
        for _ in 0..20_000 {
            let there = random_place(&mut random);
            if inside(there, 0.2999) && !inside(there, 0.1001) {
                assert!(holds(&cover, there), "{lon} {lat}");
                counts[0] += 1;
            } else if inside(there, 0.07) || !inside(there, 0.4) {
                assert!(!holds(&cover, there), "{lon} {lat}");
                counts[1] += 1;
            }
        }
        assert!(counts[0] > 50 && counts[1] > 5000, "{counts:?}");
    }
}

#[test]
fn small_polygons_and_wrong_ones() {
    let corner = |lon, lat| place(lon, lat);
    // Far smaller than a cell.
    let tiny = [corner(10.0, 10.0), corner(10.001, 10.0), corner(10.0, 10.001)];
    let cover = cover_polygon(&[tiny], level(4)).unwrap();
    assert_eq!(cover, [Cell::containing(tiny[0], level(4))]);
    assert_eq!(cover_polygon(&[] as &[Vec<LonLat>], level(4)), Ok(vec![]));
    let two = cover_polygon(&[&tiny[..2]], level(4));
    assert_eq!(two, Err(Error::Ring { ring: 0, why: "has fewer than three vertices" }));
    let large = [corner(0.0, 10.0), corner(120.0, -20.0), corner(-120.0, 10.0)];
    assert!(matches!(cover_polygon(&[large], level(4)), Err(Error::Ring { ring: 0, .. })));
    // The octant itself: its neighbours touch it.
    let octant = [corner(0.0, 0.0), corner(90.0, 0.0), corner(0.0, 90.0)];
    let cover = cover_polygon(&[octant], level(3)).unwrap();
    assert_eq!(
        cover.iter().filter(|cell| cell.octant() == 0).count(),
        cover.iter().position(|cell| cell.octant() > 0).unwrap()
    );
    let own: f64 = cover.iter().filter(|cell| cell.octant() == 0).map(|cell| cell.area()).sum();
    assert!((own - PI / 2.0).abs() < 1e-12);
}

#[test]
fn compact_and_uncompact_are_inverse() {
    let mut random = Random::new(4);
    let all: Vec<Cell> = level(3).cells().collect();
    assert_eq!(compact(&all), Level::ZERO.cells().collect::<Vec<_>>());
    assert_eq!(uncompact(&compact(&all), level(3)).unwrap(), all);
    assert_eq!(compact(&[]), []);
    for _ in 0..30 {
        let mut some: Vec<Cell> = all.iter().copied().filter(|_| random.unit() < 0.9).collect();
        let small = compact(&some);
        check_shape(&small, level(3));
        assert!(small.len() < some.len());
        assert_eq!(uncompact(&small, level(3)).unwrap(), some);
        // Order, duplicates and descendants change nothing.
        let more: Vec<Cell> = some.iter().flat_map(|cell| cell.descendants(level(4))).collect();
        some.extend(more);
        some.reverse();
        assert_eq!(compact(&some), small);
    }
    let deep = all[5].children().unwrap()[2];
    assert_eq!(
        uncompact(&[deep], level(3)),
        Err(Error::Deeper { cell: deep, level: 4, wanted: 3 })
    );
    assert!(matches!(uncompact(&all, Level::MAX), Err(Error::Core(_))));
}
