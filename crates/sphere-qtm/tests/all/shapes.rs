//! Diagrams of points, arcs and polygons equal those of comparing every cell with every arc; and distances those of
//! angles, and insides those of winding numbers.

use std::f64::consts::PI;

use gpu_core::Device;
use rayon::prelude::*;
use sphere_qtm::gpu::{self, DeviceShapes};
use sphere_qtm::{
    Baseline, Diagram, Error, Level, LonLat, Method, NONE, Params, Shape, Shapes, voronoi,
    voronoi_of_shapes,
};
use testing::{Random, bits64, devices, gpu as handle, is_slow};

type Vector = [f64; 3];

fn level(level: u32) -> Level {
    Level::new(level).unwrap()
}

fn place(longitude: f64, latitude: f64) -> LonLat {
    LonLat::new(longitude, latitude).unwrap()
}

fn places(all: &[[f64; 2]]) -> Vec<LonLat> {
    all.iter().map(|&[longitude, latitude]| place(longitude, latitude)).collect()
}

/// A ring around a place, with bays.
fn ring(centre: [f64; 2], size: f64, vertices: usize, random: &mut Random) -> Vec<LonLat> {
    let [east, north, up] = frame(place(centre[0], centre[1]).to_vector().to_array());
    (0..vertices)
        .map(|i| {
            let turn = 2.0 * PI * i as f64 / vertices as f64;
            let r = (size * random.between(0.4, 1.0)).to_radians();
            let v: Vector = std::array::from_fn(|k| {
                r.cos() * up[k] + r.sin() * (turn.cos() * east[k] + turn.sin() * north[k])
            });
            sphere_qtm::UnitVector::new(v[0], v[1], v[2]).unwrap().to_lon_lat()
        })
        .collect()
}

fn dot(u: Vector, v: Vector) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

fn cross(u: Vector, v: Vector) -> Vector {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

fn angle(u: Vector, v: Vector) -> f64 {
    let product = cross(u, v);
    dot(product, product).sqrt().atan2(dot(u, v))
}

/// Two directions across, and the direction itself.
fn frame(up: Vector) -> [Vector; 3] {
    let axis = if up[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
    let east = cross(axis, up);
    let length = dot(east, east).sqrt();
    let east = east.map(|x| x / length);
    [east, cross(up, east), up]
}

/// The angle from a place to an arc: by the sides and angles of the triangle of the three, not by planes.
fn angle_to_arc(p: Vector, a: Vector, b: Vector) -> f64 {
    let (to_a, to_b, side) = (angle(p, a), angle(p, b), angle(a, b));
    // The angle at a vertex between two others: of their directions there.
    let at = |v: Vector, s: Vector, t: Vector| {
        let tangent = |u: Vector| {
            let along: Vector = std::array::from_fn(|k| u[k] - dot(u, v) * v[k]);
            along
        };
        angle(tangent(s), tangent(t))
    };
    if side > 0.0 && at(a, p, b) < PI / 2.0 && at(b, p, a) < PI / 2.0 {
        (to_a.sin() * at(a, p, b).sin()).clamp(0.0, 1.0).asin()
    } else {
        to_a.min(to_b)
    }
}

/// How often rings go round a place: the sum of the turns from vertex to vertex, as seen from there.
fn winding(p: Vector, rings: &[Vec<Vector>]) -> f64 {
    let [east, north, _] = frame(p);
    let direction = |v: Vector| dot(v, north).atan2(dot(v, east));
    let turns = rings.iter().flat_map(|ring| {
        (0..ring.len()).map(|i| {
            let turn = direction(ring[(i + 1) % ring.len()]) - direction(ring[i]);
            turn - 2.0 * PI * (turn / (2.0 * PI)).round()
        })
    });
    turns.sum::<f64>() / (2.0 * PI)
}

fn vectors(places: &[LonLat]) -> Vec<Vector> {
    places.iter().map(|p| p.to_vector().to_array()).collect()
}

/// The angle from a place to a shape, by these.
fn angle_to(p: Vector, shape: &Shape) -> f64 {
    match shape {
        Shape::Point(place) => angle(p, place.to_vector().to_array()),
        Shape::Line(places) => {
            let v = vectors(places);
            v.windows(2).map(|ends| angle_to_arc(p, ends[0], ends[1])).fold(PI, f64::min)
        }
        Shape::Polygon(rings) => {
            let rings: Vec<Vec<Vector>> = rings.iter().map(|ring| vectors(ring)).collect();
            let to_edges = rings
                .iter()
                .flat_map(|v| (0..v.len()).map(|i| angle_to_arc(p, v[i], v[(i + 1) % v.len()])))
                .fold(PI, f64::min);
            // Rings of either direction count as often; seen from the other side of the globe none is inside.
            let is_inside = to_edges < PI / 2.0
                && rings
                    .iter()
                    .filter(|ring| {
                        let seen_from_front = ring.iter().any(|&v| dot(v, p) > 0.0);
                        seen_from_front && winding(p, std::slice::from_ref(*ring)).round() != 0.0
                    })
                    .count()
                    % 2
                    == 1;
            if is_inside { 0.0 } else { to_edges }
        }
        Shape::Several(shapes) => shapes.iter().map(|s| angle_to(p, s)).fold(PI, f64::min),
        _ => unreachable!("there are four kinds of shapes"),
    }
}

/// Each cell against all shapes: the nearest is as near as the oracle's nearest, and so is the second.
fn check_by_angles(shapes: &[Shape], diagram: &Diagram, what: &str) {
    let distance = diagram.distance.as_ref().unwrap();
    let second = diagram.second.as_ref().unwrap();
    (0..diagram.nearest.len()).into_par_iter().for_each(|i| {
        let p = sphere_qtm::Cell::from_index(diagram.level, i as u64).unwrap().centre().to_array();
        let mut all: Vec<f64> = shapes.iter().map(|shape| angle_to(p, shape)).collect();
        let own = all[diagram.nearest[i] as usize];
        let next = if second[i] == NONE { None } else { Some(all[second[i] as usize]) };
        all.sort_by(f64::total_cmp);
        // Near the antipode a chord says little of the arc.
        let slack = if all[0] > 3.0 { 1e-7 } else { 1e-11 };
        assert!((own - all[0]).abs() < slack, "{what}: cell {i}: {own}, least {}", all[0]);
        assert!((distance[i] - all[0]).abs() < slack, "{what}: cell {i}: {}", distance[i]);
        if let Some(next) = next {
            let slack = if all[1] > 3.0 { 1e-7 } else { 1e-11 };
            assert!((next - all[1]).abs() < slack, "{what}: second of cell {i}");
        }
    });
}

fn assert_same(found: &Diagram, expected: &Diagram, what: &str) {
    assert!(found.nearest == expected.nearest, "{what}: nearest");
    assert!(found.second == expected.second && found.tie == expected.tie, "{what}: second");
    let bits = |d: &Diagram| bits64(d.distance.as_ref().unwrap());
    assert!(bits(found) == bits(expected), "{what}: distances");
}

/// All devices, pruned and not, against comparing all on the CPU, and that against the oracle.
fn check_all(shapes: &[Shape], at: u32, what: &str) {
    let all = Shapes::new(shapes).unwrap();
    assert_eq!(all.len(), shapes.len());
    let params = Params::new(level(at)).second(true).distance(true).tie(true);
    let brute =
        voronoi_of_shapes(&Device::Cpu, &all, &params.method(Method::Baseline(Baseline::Global)))
            .unwrap();
    check_by_angles(shapes, &brute, what);
    for device in devices() {
        for method in [Method::Pruned, Method::Baseline(Baseline::Registers)] {
            let found = voronoi_of_shapes(&device, &all, &params.method(method)).unwrap();
            assert_same(&found, &brute, &format!("{what}, {}, {method:?}", device.name()));
        }
        let params = Params::new(level(at));
        let found = voronoi_of_shapes(&device, &all, &params).unwrap();
        assert!(found.nearest == brute.nearest, "{what}, {}, one nearest", device.name());
    }
}

#[test]
fn arcs_and_points() {
    let mut random = Random::new(1);
    let mut any =
        || place(random.between(-180.0, 180.0), random.between(-1.0, 1.0).asin().to_degrees());
    let mut shapes: Vec<Shape> = (0..15).map(|_| Shape::Line(vec![any(), any()])).collect();
    shapes.extend((0..5).map(|_| Shape::Line((0..6).map(|_| any()).collect())));
    shapes.extend((0..10).map(|_| Shape::Point(any())));
    shapes.push(Shape::Several(vec![Shape::Point(any()), Shape::Line(vec![any(), any()])]));
    check_all(&shapes, if is_slow() { 4 } else { 7 }, "arcs and points");
}

#[test]
fn polygons_with_holes_and_bays() {
    let mut random = Random::new(2);
    let mut shapes = vec![];
    for i in 0..12 {
        let centre = [random.between(-180.0, 180.0), random.between(-1.0, 1.0).asin().to_degrees()];
        let size = [40.0, 12.0, 3.0, 0.2][i % 4];
        let mut rings = vec![ring(centre, size, 5 + 3 * i, &mut random)];
        if i % 3 == 0 {
            let mut hole = ring(centre, 0.3 * size, 9, &mut random);
            if i % 2 == 0 {
                hole.reverse();
            }
            rings.push(hole);
        }
        if i % 2 == 1 {
            rings[0].reverse();
        }
        shapes.push(Shape::Polygon(rings));
    }
    check_all(&shapes, if is_slow() { 4 } else { 7 }, "polygons");
}

#[test]
fn polygons_around_poles_and_across_the_antimeridian() {
    let shapes = [
        // Around the north pole, closed as GeoJSON has it.
        Shape::Polygon(vec![places(&[[0.0, 70.0], [120.0, 65.0], [-120.0, 75.0], [0.0, 70.0]])]),
        // Around the south pole, as maps cut it: along both sides of the antimeridian to the pole.
        Shape::Polygon(vec![places(&[
            [-180.0, -90.0],
            [-180.0, -78.0],
            [-90.0, -72.0],
            [0.0, -70.0],
            [90.0, -66.0],
            [180.0, -78.0],
            [180.0, -90.0],
        ])]),
        // Across the antimeridian, at once and in two parts.
        Shape::Polygon(vec![places(&[
            [170.0, 10.0],
            [-170.0, 10.0],
            [-170.0, -10.0],
            [170.0, -10.0],
        ])]),
        Shape::Several(vec![
            Shape::Polygon(vec![places(&[
                [175.0, 30.0],
                [180.0, 30.0],
                [180.0, 40.0],
                [175.0, 40.0],
            ])]),
            Shape::Polygon(vec![places(&[
                [-180.0, 30.0],
                [-175.0, 30.0],
                [-175.0, 40.0],
                [-180.0, 40.0],
            ])]),
        ]),
        Shape::Line(places(&[[179.0, -40.0], [-179.0, -45.0], [0.0, -90.0]])),
        Shape::Point(place(20.0, 5.0)),
    ];
    let all = Shapes::new(&shapes).unwrap();
    for device in devices() {
        let params = Params::new(level(6)).distance(true).method(Method::Pruned);
        let diagram = voronoi_of_shapes(&device, &all, &params).unwrap();
        for (longitude, latitude, site, is_inside) in [
            (10.0, 88.0, 0, true),
            (-120.0, 80.0, 0, true),
            (100.0, -85.0, 1, true),
            (179.9, -88.0, 1, true),
            (-179.9, -80.0, 1, true),
            (180.0, 0.0, 2, true),
            (-175.0, 5.0, 2, true),
            (178.0, 35.0, 3, true),
            (-178.0, 35.0, 3, true),
            (20.0, 10.0, 5, false),
        ] {
            let at = sphere_qtm::Cell::containing(place(longitude, latitude), level(6)).index();
            let found =
                (diagram.nearest[at as usize], diagram.distance.as_ref().unwrap()[at as usize]);
            assert_eq!((found.0, found.1 == 0.0), (site, is_inside), "({longitude}, {latitude})");
        }
    }
    let simple: Vec<Shape> =
        shapes.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, s)| s.clone()).collect();
    check_all(&simple, if is_slow() { 4 } else { 7 }, "poles and antimeridian");
}

#[test]
fn nested_overlapping_and_twin_polygons_go_to_the_lowest_index() {
    let square = |half: f64| {
        Shape::Polygon(vec![places(&[[-half, -half], [half, -half], [half, half], [-half, half]])])
    };
    let shapes = [
        square(10.0),
        square(30.0),
        square(30.0),
        Shape::Line(places(&[[0.0, -50.0], [0.0, 50.0]])),
    ];
    let all = Shapes::new(&shapes).unwrap();
    for device in devices() {
        let params = Params::new(level(5)).second(true).tie(true).distance(true);
        let diagram = voronoi_of_shapes(&device, &all, &params).unwrap();
        let at = |longitude, latitude| {
            let cell = sphere_qtm::Cell::containing(place(longitude, latitude), level(5));
            let i = cell.index() as usize;
            (
                diagram.nearest[i],
                diagram.second.as_ref().unwrap()[i],
                diagram.tie.as_ref().unwrap()[i],
            )
        };
        assert_eq!(at(3.0, 4.0), (0, 1, 1));
        assert_eq!(at(20.0, 20.0), (1, 2, 1));
        assert_eq!(at(5.0, 60.0).0, 3);
    }
    check_all(&shapes, 4, "nested");
}

/// What a polygon holds, by the turns of each ring around a place: those of the outer one an odd number of times, and of no
/// hole.
fn is_held(p: Vector, rings: &[Vec<LonLat>]) -> bool {
    let held = |ring: &Vec<LonLat>| {
        let v = vectors(ring);
        let is_in_front = v.iter().any(|&v| dot(v, p) > 0.0);
        is_in_front && winding(p, &[v]).round() as i64 % 2 != 0
    };
    held(&rings[0]) && !rings[1..].iter().any(held)
}

/// Polygons as sites beside one far point: inside of each polygon the distance is 0, and outside that to the border of what it
/// holds. Edges that run inside are no border, so distances are those to the edges at least.
fn check_mended(name: &str, parts: &[Vec<Vec<LonLat>>], is_mended: bool) {
    let polygons: Vec<Shape> = parts.iter().cloned().map(Shape::Polygon).collect();
    let shapes = Shapes::new(&[Shape::Several(polygons), Shape::Point(place(-100.0, -20.0))]);
    let shapes = shapes.unwrap();
    assert_eq!(shapes.mended(), if is_mended { &[0u32][..] } else { &[] }, "{name}");
    let params = Params::new(level(6)).distance(true);
    let diagram = voronoi_of_shapes(&Device::Cpu, &shapes, &params).unwrap();
    let pruned = voronoi_of_shapes(
        &Device::Cpu,
        &shapes,
        &params.method(Method::Baseline(Baseline::Global)),
    );
    assert_same(&pruned.unwrap(), &diagram, name);
    let distances = diagram.distance.as_ref().unwrap();
    let mut inside = 0;
    for (i, cell) in level(6).cells().enumerate() {
        let p = cell.centre().to_array();
        let to_edges = parts
            .iter()
            .flatten()
            .map(|ring| angle_to(p, &Shape::Line([&ring[..], &ring[..1]].concat())))
            .fold(PI, f64::min);
        if !(1e-9..=PI / 2.0).contains(&to_edges) {
            continue;
        }
        let held = parts.iter().any(|rings| is_held(p, rings));
        inside += u32::from(held);
        let own = diagram.nearest[i] == 0 && distances[i] == 0.0;
        assert_eq!(own, held, "{name}: {:?}", cell.centre().to_lon_lat());
        if !held && diagram.nearest[i] == 0 {
            assert!(distances[i] >= to_edges - 1e-12, "{name}: {} {to_edges}", distances[i]);
        }
    }
    println!("{name}: {inside} cells inside");
}

fn square(x: f64, y: f64, half: f64) -> Vec<LonLat> {
    places(&[
        [x - half, y - half],
        [x + half, y - half],
        [x + half, y + half],
        [x - half, y + half],
    ])
}

/// Some parts, each of rings.
type Parts = Vec<Vec<Vec<LonLat>>>;

/// One part of these rings.
fn of(rings: &[Vec<LonLat>]) -> Parts {
    vec![rings.to_vec()]
}

#[test]
fn rings_that_cross_or_touch_hold_what_make_valid_makes_of_them() {
    let bow = places(&[[0.0, 0.0], [20.0, 20.0], [20.0, 0.0], [0.0, 20.0]]);
    let eight =
        places(&[[0.0, 0.0], [20.0, 20.0], [40.0, 0.0], [40.0, 20.0], [20.0, 0.0], [0.0, 20.0]]);
    let star = (0..5).map(|i| 144.0 * f64::from(i)).map(|a: f64| {
        place(10.0 + 25.0 * a.to_radians().sin(), 40.0 + 25.0 * a.to_radians().cos())
    });
    // A ring that touches itself at a vertex, with most of the plane around it inside.
    let notches = places(&[
        [-20.0, -20.0],
        [20.0, -20.0],
        [20.0, 2.0],
        [0.0, 0.0],
        [20.0, 4.0],
        [20.0, 6.0],
        [0.0, 0.0],
        [20.0, 8.0],
        [20.0, 20.0],
        [-20.0, 20.0],
    ]);
    let half_edge =
        places(&[[-10.0, -10.0], [10.0, -10.0], [10.0, 0.0], [0.0, 0.0], [5.0, 0.0], [-10.0, 0.0]]);
    let twice = [square(0.0, 0.0, 10.0), square(0.0, 0.0, 10.0)].concat();
    let unclosed = places(&[
        [0.0, 0.0],
        [10.0, 0.0],
        [10.0, 0.0],
        [10.0, 10.0],
        [10.0, 30.0],
        [10.0, 10.0],
        [0.0, 10.0],
    ]);
    for (name, parts, is_mended) in [
        ("a square", of(&[square(0.0, 0.0, 10.0)]), false),
        ("a square with a hole", of(&[square(0.0, 0.0, 20.0), square(0.0, 0.0, 5.0)]), false),
        ("vertices given twice, and a spike", of(&[unclosed]), false),
        ("a bow tie", of(std::slice::from_ref(&bow)), true),
        (
            "a bow tie over the pole",
            of(&[places(&[[10.0, 70.0], [190.0, 75.0], [100.0, 70.0], [-80.0, 80.0]])]),
            true,
        ),
        (
            "a bow tie across 180",
            of(&[places(&[[170.0, 0.0], [-170.0, 20.0], [-170.0, 0.0], [170.0, 20.0]])]),
            true,
        ),
        ("two crossings", of(&[eight]), true),
        ("a star of five, twice around its middle", of(&[star.collect()]), true),
        ("thin notches that meet at a vertex", of(&[notches]), true),
        ("part of an edge twice", of(&[half_edge]), true),
        ("a ring gone round twice", of(&[square(0.0, 0.0, 10.0), twice.clone()]), true),
        ("a bow tie as a hole", of(&[square(10.0, 10.0, 20.0), bow]), true),
    ] {
        if name == "a ring gone round twice" {
            // As a hole it holds nothing, and by itself it is refused.
            assert!(Shapes::new(&[Shape::Polygon(vec![twice.clone()])]).is_err());
        }
        check_mended(name, &parts, is_mended);
    }
}

#[test]
fn holes_and_parts_that_meet_hold_what_make_valid_makes_of_them() {
    for (name, parts, is_mended) in [
        ("a hole across the shell", of(&[square(0.0, 0.0, 10.0), square(10.0, 3.0, 5.0)]), true),
        ("a hole along the shell", of(&[square(0.0, 0.0, 10.0), square(5.0, 0.0, 5.0)]), true),
        (
            "a hole along a meridian of the shell",
            of(&[square(0.0, 0.0, 10.0), square(8.0, 1.0, 2.0)]),
            true,
        ),
        (
            "a hole that touches the shell",
            of(&[square(0.0, 0.0, 10.0), places(&[[10.0, 10.0], [0.0, 5.0], [5.0, 0.0]])]),
            true,
        ),
        (
            "holes that overlap",
            of(&[square(0.0, 0.0, 20.0), square(-3.0, 0.0, 6.0), square(3.0, 2.0, 6.0)]),
            true,
        ),
        (
            "a hole in a hole",
            of(&[square(0.0, 0.0, 20.0), square(0.0, 0.0, 10.0), square(0.0, 0.0, 5.0)]),
            true,
        ),
        (
            "a hole without area",
            of(&[square(0.0, 0.0, 20.0), places(&[[1.0, 1.0], [5.0, 5.0]])]),
            true,
        ),
        (
            "parts that overlap",
            vec![vec![square(0.0, 0.0, 10.0)], vec![square(8.0, 3.0, 10.0)]],
            false,
        ),
        ("a part twice", vec![vec![square(0.0, 0.0, 10.0)], vec![square(0.0, 0.0, 10.0)]], false),
        (
            "an island in a hole",
            vec![vec![square(0.0, 0.0, 20.0), square(0.0, 0.0, 10.0)], vec![square(0.0, 0.0, 4.0)]],
            false,
        ),
    ] {
        check_mended(name, &parts, is_mended);
    }
}

/// As GEOS and GDAL take it.
#[test]
fn a_hole_outside_is_a_part_of_its_own() {
    let (a, b) = (square(0.0, 0.0, 10.0), square(50.0, 50.0, 5.0));
    let (hole, inner) = (square(1.0, 1.0, 3.0), square(50.0, 50.0, 2.0));
    let far = Shape::Point(place(-100.0, -20.0));
    let polygon = Shape::Polygon(vec![a.clone(), b.clone(), hole.clone(), inner]);
    let parts = vec![Shape::Polygon(vec![a, hole]), Shape::Polygon(vec![b])];
    let [found, expected] = [polygon, Shape::Several(parts)].map(|shape| {
        let shapes = Shapes::new(&[shape, far.clone()]).unwrap();
        let params = Params::new(level(6)).distance(true);
        voronoi_of_shapes(&Device::Cpu, &shapes, &params).unwrap()
    });
    assert!(found.nearest == expected.nearest);
    let (found, expected) = (found.distance.unwrap(), expected.distance.unwrap());
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn random_rings_and_holes_that_cross_hold_what_turns_say() {
    let mut random = Random::new(11);
    for i in 0..if is_slow() { 8 } else { 60 } {
        let centre = [random.between(-180.0, 180.0), random.between(-1.0, 1.0).asin().to_degrees()];
        let mut any = |count: usize, size: f64| -> Vec<LonLat> {
            let [east, north, up] = frame(place(centre[0], centre[1]).to_vector().to_array());
            let one = |_| {
                let (a, b) = (random.between(-size, size), random.between(-size, size));
                let v: Vector = std::array::from_fn(|k| up[k] + a * east[k] + b * north[k]);
                sphere_qtm::UnitVector::new(v[0], v[1], v[2]).unwrap().to_lon_lat()
            };
            (0..count).map(one).collect()
        };
        let rings: Vec<Vec<LonLat>> = match i % 4 {
            0 => vec![any(5, 0.5)],
            1 => vec![any(9, 0.4)],
            2 => vec![any(4, 0.5), any(4, 0.3), any(3, 0.3)],
            _ => vec![any(12, 0.6), any(7, 0.5)],
        };
        // Holes that have a vertex of the outer ring are holes.
        let mut rings = rings;
        let shared = rings[0][0];
        rings[1..].iter_mut().for_each(|hole| hole.push(shared));
        let polygon = Shape::Polygon(rings.clone());
        if Shapes::new(&[polygon]).is_ok_and(|found| !found.mended().is_empty()) {
            check_mended(&format!("random polygon {i}"), &[rings], true);
        }
    }
}

/// A coast of thousands of vertices, of which neighbours are swapped here and there: each swap crosses once.
#[test]
fn a_ring_of_thousands_of_vertices_that_crosses_itself_is_mended() {
    let count = if is_slow() { 2_000 } else { 20_000 };
    let vertex = |i: usize| {
        let turn = 2.0 * PI * i as f64 / count as f64;
        let radius = 30.0 * (1.0 + 0.3 * (50.0 * turn).sin());
        place(20.0 + radius * turn.cos(), 10.0 + radius * turn.sin())
    };
    let mut coast: Vec<LonLat> = (0..count).map(vertex).collect();
    let whole = Shapes::new(&[Shape::Polygon(vec![coast.clone()])]).unwrap();
    assert!(whole.mended().is_empty());
    (0..count - 1).step_by(10).for_each(|i| coast.swap(i, i + 1));
    let shapes = Shapes::new(&[Shape::Polygon(vec![coast])]).unwrap();
    assert_eq!(shapes.mended(), [0]);
    let nearest = |shapes: &Shapes| {
        let params = Params::new(level(4)).distance(true);
        let distance = voronoi_of_shapes(&Device::Cpu, shapes, &params).unwrap().distance;
        distance.unwrap()
    };
    let (expected, found) = (nearest(&whole), nearest(&shapes));
    assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 0.02));
}

/// Points alone are a diagram of points.
#[test]
fn points_as_shapes_have_the_diagram_of_points() {
    let sites = crate::common::Sites::random(200, 3);
    let shapes: Vec<Shape> =
        sites.x.iter().zip(&sites.y).map(|(&x, &y)| Shape::Point(place(x, y))).collect();
    let params = Params::new(level(4)).second(true).tie(true).distance(true);
    let expected = voronoi(&Device::Cpu, &sites.points(), &params).unwrap();
    for device in devices() {
        let found = voronoi_of_shapes(&device, &Shapes::new(&shapes).unwrap(), &params).unwrap();
        assert_same(&found, &expected, &device.name());
    }
}

/// No place of an arc is nearer than the arc, and some is nearly as near.
#[test]
fn distances_are_bounded_by_places_along_arcs() {
    let (a, b) = (place(-100.0, 20.0), place(60.0, 50.0));
    let [u, v] = [a, b].map(|p| p.to_vector().to_array());
    let turn = angle(u, v);
    let along: Vec<Vector> = (0..=4000)
        .map(|i| {
            let t = f64::from(i) / 4000.0 * turn;
            std::array::from_fn(|k| ((turn - t).sin() * u[k] + t.sin() * v[k]) / turn.sin())
        })
        .collect();
    let shapes = Shapes::new(&[Shape::Line(vec![a, b])]).unwrap();
    let params = Params::new(level(4)).distance(true);
    let diagram = voronoi_of_shapes(&Device::Cpu, &shapes, &params).unwrap();
    for (cell, distance) in level(4).cells().zip(diagram.distance.unwrap()) {
        let p = cell.centre().to_array();
        let sampled = along.iter().map(|&q| angle(p, q)).fold(PI, f64::min);
        assert!(distance <= sampled + 1e-7 && sampled <= distance + 4e-4, "{cell}: {distance}");
    }
}

#[test]
fn what_is_no_shape_is_refused() {
    let new = |shape: Shape| Shapes::new(&[Shape::Point(place(1.0, 2.0)), shape]).unwrap_err();
    let found = new(Shape::Line(places(&[[10.0, 20.0], [-170.0, -20.0]])));
    assert!(matches!(found, Error::Arc { site: 1, why: "antipodes", .. }), "{found}");
    for line in [places(&[[1.0, 1.0]]), places(&[[1.0, 1.0]; 3])] {
        assert!(matches!(new(Shape::Line(line)), Error::Shape { site: 1, .. }));
    }
    assert!(matches!(new(Shape::Several(vec![])), Error::Shape { site: 1, .. }));
    for ring in [vec![], places(&[[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]]), places(&[[1.0, 1.0]; 5])] {
        assert!(matches!(new(Shape::Polygon(vec![ring])), Error::Shape { site: 1, .. }));
    }
    // A rectangle of half the map has corners at both poles alone, and one around the globe closes on itself.
    for [west, south, east, north] in [[-90.0, -90.0, 90.0, 90.0], [-180.0, -10.0, 180.0, 10.0]] {
        let found = new(Shape::Polygon(vec![places(&[
            [west, south],
            [east, south],
            [east, north],
            [west, north],
        ])]));
        assert!(found.to_string().contains("give a rectangle"), "{found}");
    }
    let half = places(&[[0.0, -90.0], [90.0, 0.0], [0.0, 90.0], [-90.0, 0.0]]);
    assert!(new(Shape::Polygon(vec![half])).to_string().contains("halves"));
    let square = places(&[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]);
    let hole = places(&[[-1.0, -1.0], [3.0, -1.0], [3.0, 3.0], [-1.0, 3.0]]);
    let found = new(Shape::Polygon(vec![square, hole]));
    assert!(found.to_string().contains("more than its holes take away"), "{found}");
    assert_eq!(Shapes::new(&[]).unwrap_err(), Error::NoSites);
    let one = Shapes::new(&[Shape::Point(place(1.0, 2.0))]).unwrap();
    for device in devices() {
        let refused = voronoi_of_shapes(&device, &one, &Params::new(Level::MAX)).unwrap_err();
        assert!(matches!(refused, Error::Memory { level: 29, .. }), "{refused}");
    }
}

#[test]
fn a_captured_diagram_of_shapes_comes_again() {
    let gpu = handle();
    let mut random = Random::new(7);
    let shapes = Shapes::new(&[
        Shape::Polygon(vec![ring([20.0, 40.0], 30.0, 12, &mut random)]),
        Shape::Line(places(&[[-100.0, 0.0], [-60.0, -40.0]])),
        Shape::Point(place(150.0, -30.0)),
    ]);
    let shapes = shapes.unwrap();
    let resident = DeviceShapes::new(&gpu, &shapes).unwrap();
    assert_eq!(resident.len(), 3);
    for method in [Method::Pruned, Method::Baseline(Baseline::Global)] {
        let params = Params::new(level(4)).distance(true).method(method);
        let expected = voronoi_of_shapes(&Device::Cpu, &shapes, &params).unwrap();
        gpu::voronoi_of_shapes(&gpu, &resident, &params).unwrap();
        let mut made = None;
        let graph = gpu.capture(|| {
            made = Some(gpu::voronoi_of_shapes(&gpu, &resident, &params)?);
            Ok::<_, Error>(())
        });
        let (graph, made) = (graph.unwrap(), made.unwrap());
        // SAFETY: the shapes are where they were.
        unsafe { graph.launch().unwrap() };
        assert!(made.to_host().unwrap() == expected, "{method:?}");
    }
}
