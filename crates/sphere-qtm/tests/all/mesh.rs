//! The mesh: what must be true of its cells, their ids and their neighbours, whatever the level.

use std::collections::{BTreeSet, HashMap};
use std::f64::consts::PI;

use sphere_qtm::{Cell, Error, Latitude, Level, LonLat, UnitVector};
use testing::Random;

fn level(level: u32) -> Level {
    Level::new(level).unwrap()
}

fn place(longitude: f64, latitude: f64) -> LonLat {
    LonLat::new(longitude, latitude).unwrap()
}

/// Uniform on the sphere.
fn random_place(random: &mut Random) -> UnitVector {
    let (z, turn) = (random.between(-1.0, 1.0), random.between(0.0, 2.0 * PI));
    let r = (1.0 - z * z).sqrt();
    UnitVector::new(r * turn.cos(), r * turn.sin(), z).unwrap()
}

/// How far to the left of each edge a place lies; inside all are positive. From differences, which are exact.
fn sides(cell: Cell, place: UnitVector) -> [f64; 3] {
    let corners = cell.polygon().map(UnitVector::to_array);
    let minus = |u: [f64; 3], v: [f64; 3]| [u[0] - v[0], u[1] - v[1], u[2] - v[2]];
    [0, 1, 2].map(|i| {
        let (u, v) = (corners[i], corners[(i + 1) % 3]);
        let ([a, b, c], [d, e, f]) = (u, minus(v, u));
        let normal = [b * f - c * e, c * d - a * f, a * e - b * d];
        let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        let p = minus(place.to_array(), u);
        (0..3).map(|k| normal[k] * p[k]).sum::<f64>() / length
    })
}

#[test]
fn areas_of_a_level_sum_to_the_sphere() {
    for l in 0..=8 {
        let sum: f64 = level(l).cells().map(Cell::area).sum();
        assert!((sum / (4.0 * PI) - 1.0).abs() < 1e-12, "level {l}: {sum}");
    }
}

#[test]
fn children_tile_their_parent_at_every_level() {
    let mut random = Random::new(1);
    for l in 0..29 {
        for _ in 0..20 {
            let cell = Cell::containing(random_place(&mut random), level(l));
            let children = cell.children().unwrap();
            let sum: f64 = children.iter().map(|c| c.area()).sum();
            // What an area of an edge of this length says is known to so much.
            let slack = 1e-13 + 1e-16 * f64::from(1 << (l + 1));
            assert!((sum / cell.area() - 1.0).abs() < 8.0 * slack, "{cell}: {sum}");
            for child in children {
                assert_eq!((child.parent(), child.level().get()), (Some(cell), l + 1));
                assert!(sides(cell, child.centre()).iter().all(|&side| side > 0.0), "{child}");
            }
        }
    }
    assert_eq!(Cell::containing(place(1.0, 2.0), Level::MAX).children(), None);
}

#[test]
fn a_cell_holds_its_centre_and_what_lies_inside_its_edges_at_every_level() {
    let mut random = Random::new(2);
    for l in 0..=29 {
        for _ in 0..300 {
            let there = random_place(&mut random);
            let cell = Cell::containing(there, level(l));
            assert_eq!(Cell::containing(cell.centre(), level(l)), cell, "centre of {cell}");
            // Rounding may put what lies on an edge beyond it.
            assert!(sides(cell, there).iter().all(|&side| side > -1e-15), "{cell}");
            assert_eq!(Cell::from_index(level(l), cell.index()), Ok(cell));
            assert_eq!(Cell::from_id(cell.id()), Ok(cell));
            assert_eq!(cell.to_string().parse(), Ok(cell));
            assert_eq!(cell.level(), level(l));
        }
    }
}

#[test]
fn every_cell_of_a_level_is_that_of_its_centre() {
    for l in 0..=7 {
        for (index, cell) in level(l).cells().enumerate() {
            assert_eq!(cell.index(), index as u64);
            assert_eq!(Cell::containing(cell.centre(), level(l)), cell);
            let polygon = cell.polygon();
            let middle = cell.centre();
            assert!(sides(cell, middle).iter().all(|&side| side > 0.0), "{cell}");
            assert!(polygon.iter().all(|p| p.distance(middle) < 1.5 / f64::from(1 << l)));
        }
    }
}

#[test]
fn a_place_has_one_way_down() {
    let mut random = Random::new(3);
    for _ in 0..500 {
        let there = random_place(&mut random);
        let deepest = Cell::containing(there, Level::MAX);
        let mut above = deepest.ancestors().collect::<Vec<_>>();
        above.reverse();
        assert_eq!(above.len(), 29);
        for (l, ancestor) in above.into_iter().enumerate() {
            let l = level(l as u32);
            assert_eq!(Cell::containing(there, l), ancestor);
            assert_eq!(deepest.ancestor(l), Some(ancestor));
            assert!(ancestor.contains(deepest) && !deepest.contains(ancestor));
        }
    }
}

#[test]
fn edges_vertices_poles_and_the_antimeridian_belong_to_one_cell() {
    for l in [0, 1, 5, 13, 14, 20, 29] {
        let at = |lon, lat| Cell::containing(place(lon, lat), level(l));
        // One place, however it is written.
        assert_eq!(at(180.0, 10.0), at(-180.0, 10.0));
        assert_eq!(at(270.0, -10.0), at(-90.0, -10.0));
        assert_eq!(at(0.0, 0.0), at(-0.0, -0.0));
        assert_eq!(at(360.0, 0.0), at(0.0, -0.0));
        for lon in [-180.0, -90.0, -0.0, 0.0, 90.0, 180.0, 77.0] {
            assert_eq!((at(lon, 90.0).octant(), at(lon, -90.0).octant()), (0, 4), "{lon}");
        }
        // The equator is north, a meridian between octants east.
        let octants = |lat| [0.0, 90.0, 180.0, -90.0].map(|lon| at(lon, lat).octant());
        assert_eq!((octants(0.0), octants(30.0)), ([0, 1, 2, 3], [0, 1, 2, 3]));
        assert_eq!(octants(-30.0), [4, 5, 6, 7]);
        // The vertices and the midpoints of edges of some cells lie in a cell that has them.
        for cell in [at(12.3, 45.6), at(-170.0, -80.0)] {
            for vertex in cell.vertices() {
                let owner = Cell::containing(vertex, level(l));
                assert!(owner == cell || cell.vertex_neighbours().contains(&owner), "{cell}");
            }
        }
    }
}

#[test]
fn octants_are_where_they_should_be() {
    for (lon, lat, text) in [
        (45.0, 30.0, "1"),
        (135.0, 30.0, "2"),
        (-135.0, 30.0, "3"),
        (-45.0, 30.0, "4"),
        (45.0, -30.0, "5"),
        (135.0, -30.0, "6"),
        (-135.0, -30.0, "7"),
        (-45.0, -30.0, "8"),
    ] {
        assert_eq!(Cell::containing(place(lon, lat), Level::ZERO).to_string(), text);
    }
    // Near the pole, in the west on the equator, in the east there, and in between.
    for (lon, lat, text) in
        [(45.0, 80.0, "11"), (5.0, 5.0, "12"), (85.0, 5.0, "13"), (45.0, 30.0, "10")]
    {
        assert_eq!(Cell::containing(place(lon, lat), level(1)).to_string(), text);
    }
}

/// Neighbours by their vertices, which are the same bits in all cells that have one.
#[test]
fn neighbours_are_those_that_share_vertices() {
    for l in 0..=4 {
        let mut at_vertex: HashMap<[u64; 3], Vec<Cell>> = HashMap::new();
        let bits = |v: UnitVector| v.to_array().map(|x| (x + 0.0).to_bits());
        for cell in level(l).cells() {
            for vertex in cell.vertices() {
                at_vertex.entry(bits(vertex)).or_default().push(cell);
            }
        }
        let valences = at_vertex.values().map(Vec::len);
        let octahedral = valences.clone().filter(|&v| v == 4).count();
        assert_eq!((octahedral, valences.filter(|&v| v != 4 && v != 6).count()), (6, 0));
        for cell in level(l).cells() {
            let mut shared: HashMap<Cell, usize> = HashMap::new();
            for vertex in cell.vertices() {
                for &other in &at_vertex[&bits(vertex)] {
                    *shared.entry(other).or_default() += 1;
                }
            }
            shared.remove(&cell);
            let by_vertex: BTreeSet<Cell> = shared.keys().copied().collect();
            assert_eq!(by_vertex, cell.vertex_neighbours().into_iter().collect(), "{cell}");
            let by_edge: BTreeSet<Cell> =
                shared.iter().filter(|(_, n)| **n == 2).map(|(c, _)| *c).collect();
            let found = cell.edge_neighbours();
            assert_eq!(by_edge, found.into_iter().collect(), "{cell}");
            for (i, other) in found.into_iter().enumerate() {
                // Across the edge opposite to vertex i, which is the one that it does not have.
                let opposite = bits(cell.vertices()[i]);
                assert!(!other.vertices().iter().any(|&v| bits(v) == opposite), "{cell}");
            }
        }
    }
}

#[test]
fn neighbours_are_symmetric_at_every_level() {
    let mut random = Random::new(4);
    for l in 0..=29 {
        let mut cells: Vec<Cell> =
            (0..40).map(|_| Cell::containing(random_place(&mut random), level(l))).collect();
        for (lon, lat) in [(0.0, 90.0), (0.0, -90.0), (180.0, 0.0), (90.0, 0.0), (-90.0, 1e-9)] {
            cells.push(Cell::containing(place(lon, lat), level(l)));
        }
        for cell in cells {
            let by_edge = cell.edge_neighbours();
            assert_eq!(BTreeSet::from(by_edge).len(), 3);
            assert!(by_edge.iter().all(|n| n.edge_neighbours().contains(&cell)), "{cell}");
            let by_vertex = cell.vertex_neighbours();
            let expected: &[usize] = if l == 0 { &[6] } else { &[10, 12] };
            assert!(expected.contains(&by_vertex.len()), "{cell}: {}", by_vertex.len());
            assert!(by_edge.iter().all(|n| by_vertex.contains(n)) && !by_vertex.contains(&cell));
            assert!(by_vertex.iter().all(|n| n.vertex_neighbours().contains(&cell)), "{cell}");
        }
    }
}

#[test]
fn ids_are_in_order_and_hold_their_descendants() {
    let mut last = 0;
    for cell in level(3).cells() {
        assert!(cell.id() > last);
        last = cell.id();
        let range = cell.id_range();
        let inside: Vec<Cell> = cell.descendants(level(5)).collect();
        assert_eq!(inside.len(), 16);
        assert!(inside.iter().all(|c| range.contains(&c.id()) && cell.contains(*c)));
        assert!(inside.iter().all(|c| c.ancestor(level(3)) == Some(cell)));
        assert_eq!(cell.descendants(level(3)).collect::<Vec<_>>(), [cell]);
        assert_eq!(cell.descendants(level(2)).count(), 0);
    }
    assert_eq!((level(9).cell_count(), level(9).cells().len()), (2_097_152, 2_097_152));
}

#[test]
fn what_is_no_cell_is_refused() {
    assert_eq!(Level::new(30), Err(Error::Level { level: 30 }));
    assert_eq!(Error::Level { level: 30 }.to_string(), "level 30 is beyond the deepest, 29");
    for id in [0, 1 << 62, 2, 1 << 59, u64::MAX, 1 << 63] {
        assert_eq!(Cell::from_id(id), Err(Error::Id { id }));
    }
    let cells = 8 << 4;
    let refused = Cell::from_index(level(2), cells);
    assert_eq!(refused, Err(Error::Index { level: 2, index: cells, cells }));
    let long = "1".repeat(31);
    for text in ["", "0", "9", "14", "1a", "1 ", "é", long.as_str()] {
        assert_eq!(text.parse::<Cell>(), Err(Error::Text { text: text.into() }));
    }
    for (lon, lat) in [
        (f64::NAN, 0.0),
        (0.0, 90.1),
        (0.0, -91.0),
        (f64::INFINITY, 0.0),
        (361.0, 0.0),
        (500_000.0, 5.0),
        (0.0, f64::NAN),
    ] {
        assert!(matches!(LonLat::new(lon, lat), Err(Error::Place { .. })), "{lon} {lat}");
    }
    for [x, y, z] in [[0.0; 3], [f64::NAN, 1.0, 1.0], [f64::INFINITY, 0.0, 0.0]] {
        assert!(matches!(UnitVector::new(x, y, z), Err(Error::Direction { .. })));
    }
    let long = UnitVector::new(1e300, 0.0, -1e300).unwrap().to_lon_lat();
    assert!((long.latitude() + 45.0).abs() < 1e-12);
}

#[test]
fn longitude_and_latitude_come_back() {
    let mut random = Random::new(5);
    for _ in 0..1000 {
        let (lon, lat) = (random.between(-180.0, 180.0), random.between(-90.0, 90.0));
        let back = place(lon, lat).to_vector().to_lon_lat();
        assert!((back.latitude() - lat).abs() < 1e-13, "{lon} {lat}");
        let slack = 1e-13 / lat.to_radians().cos();
        assert!((back.longitude() - lon).abs() < slack, "{lon} {lat}");
    }
    let pole = place(55.0, -90.0).to_vector().to_lon_lat();
    assert_eq!((pole.longitude(), pole.latitude()), (0.0, -90.0));
}

/// The authalic one against areas of zones that were integrated numerically.
#[test]
fn geodetic_latitudes_become_those_of_a_sphere() {
    let of = |lat, how| LonLat::from_geodetic(10.0, lat, how).unwrap().latitude();
    assert_eq!(of(45.0, Latitude::Geodetic), 45.0);
    assert!((of(45.0, Latitude::Geocentric) - 44.807_576_8).abs() < 1e-6);
    assert!((of(45.0, Latitude::Authalic) - 44.871_702_873).abs() < 1e-8);
    for how in [Latitude::Geodetic, Latitude::Geocentric, Latitude::Authalic] {
        assert_eq!([of(90.0, how), of(-90.0, how), of(0.0, how)], [90.0, -90.0, 0.0]);
        assert!((of(33.0, how) + of(-33.0, how)).abs() < 1e-13);
    }
}

#[test]
fn latitudes_come_back() {
    for how in [Latitude::Geodetic, Latitude::Geocentric, Latitude::Authalic] {
        for step in -9_000..=9_000 {
            let degrees = f64::from(step) / 100.0;
            for degrees in [degrees, degrees * (1.0 - 1e-9)] {
                let back = how.to_geodetic(how.on_sphere(degrees));
                assert!((back - degrees).abs() < 1e-13, "{how:?} {degrees}: {back}");
            }
        }
    }
}

/// The area of a polygon on the unit sphere: the sum of the excesses of triangles with the south pole.
fn polar_polygon(places: &[LonLat]) -> f64 {
    let next = places.iter().cycle().skip(1);
    let excess = |(a, b): (&LonLat, &LonLat)| {
        // Todhunter's formula of two sides and the angle between, which is the difference of longitudes.
        let half = |p: &LonLat| ((90.0 + p.latitude()) / 2.0).to_radians().tan();
        let turn = (b.longitude() - a.longitude()).to_radians();
        let product = half(a) * half(b);
        2.0 * (product * turn.sin()).atan2(1.0 + product * turn.cos())
    };
    places.iter().zip(next).map(excess).sum::<f64>().abs()
}

/// Antarctica, as the documentation of GeographicLib's Planimeter (Karney 2013, DOI 10.1007/s00190-012-0578-z) has it: of
/// geodesics on WGS 84.
#[test]
fn areas_on_authalic_latitudes_are_those_of_the_ellipsoid() {
    let antarctica = [
        (-58.0, -63.1),
        (-74.0, -72.9),
        (-102.0, -71.9),
        (-102.0, -74.9),
        (-131.0, -74.3),
        (-163.0, -77.5),
        (163.0, -77.4),
        (172.0, -71.7),
        (140.0, -65.9),
        (113.0, -65.7),
        (88.0, -66.6),
        (59.0, -66.9),
        (25.0, -69.8),
        (-4.0, -70.0),
        (-14.0, -71.0),
        (-33.0, -77.3),
        (-46.0, -77.9),
        (-61.0, -74.7),
    ];
    let area = |how: Latitude| {
        let place = |&(lon, lat): &(f64, f64)| LonLat::from_geodetic(lon, lat, how).unwrap();
        let places: Vec<LonLat> = antarctica.iter().map(place).collect();
        polar_polygon(&places) / (4.0 * PI) * 510_065_621.724
    };
    let karney = 13_662_703.680_020_1;
    assert!((area(Latitude::Authalic) / karney - 1.0).abs() < 5e-5, "{}", area(Latitude::Authalic));
    assert!((area(Latitude::Geodetic) / karney - 1.0).abs() > 5e-3);
}
