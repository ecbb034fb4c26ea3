//! Lines that triangles do not cross: each piece is an edge of the triangulation of all sites.

use std::collections::HashMap;

use delaunay_stars::{
    Error, LineSites, OnLine, Splitting, Triangulation, split_lines, triangulate,
};
use gpu_core::{Device, Points, Silent};
use testing::Cloud;
use testing::clouds::{self, SIDE};

type P = [f64; 2];

/// The sites of lines among points, and the triangulation of all.
fn split(cloud: &Cloud, lines: &[Vec<P>], how: Splitting) -> (LineSites, Triangulation, Vec<P>) {
    let found = split_lines(Points::new(&cloud.x, &cloud.y), lines, how, &Silent).unwrap();
    let x: Vec<f64> = cloud.x.iter().chain(&found.x).copied().collect();
    let y: Vec<f64> = cloud.y.iter().chain(&found.y).copied().collect();
    let all = triangulate(&Device::Cpu, Points::new(&x, &y)).unwrap();
    let places = x.into_iter().zip(y).map(|(x, y)| [x, y]).collect();
    (found, all, places)
}

/// How many pieces are not edges of the triangulation.
fn crossed(found: &LineSites, all: &Triangulation, places: &[P]) -> usize {
    let key = |p: P| p.map(|v| (v + 0.0).to_bits());
    let sites: HashMap<_, u32> =
        (0..).zip(places).map(|(i, &p)| (key(p), all.site_of(i))).collect();
    let is_edge = |[a, b]: [P; 2]| all.star(sites[&key(a)]).contains(&sites[&key(b)]);
    found.pieces.iter().filter(|&&piece| !is_edge(piece)).count()
}

/// How far a place is from a segment.
fn away([x, y]: P, [a, b]: [P; 2]) -> f64 {
    let [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    let part = ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy);
    let part = part.clamp(0.0, 1.0);
    (x - a[0] - part * dx).hypot(y - a[1] - part * dy)
}

/// Checks that pieces follow their lines, from the first vertices to the last, and that sites lie where they say.
fn follows(found: &LineSites, lines: &[Vec<P>], least: f64) {
    let segments: Vec<[P; 2]> =
        lines.iter().flat_map(|line| line.windows(2).map(|two| [two[0], two[1]])).collect();
    for end in found.pieces.iter().flatten() {
        let nearest = segments.iter().map(|&s| away(*end, s)).fold(f64::INFINITY, f64::min);
        assert!(nearest <= 0.51 * least, "{end:?} is {nearest} from all lines");
    }
    let length = |all: &[[P; 2]]| all.iter().map(|[a, b]| (b[0] - a[0]).hypot(b[1] - a[1])).sum();
    let (of_lines, of_pieces): (f64, f64) = (length(&segments), length(&found.pieces));
    assert!((of_pieces / of_lines - 1.0).abs() < 0.02, "{of_pieces} for {of_lines}");
    let off = |[x, y]: P, of: &OnLine| {
        let line = &lines[of.line as usize];
        let a = line[of.segment as usize];
        let b = *line.get(of.segment as usize + 1).unwrap_or(&a);
        let expected = [0, 1].map(|axis| a[axis] + (b[axis] - a[axis]) * of.part);
        (x - expected[0]).hypot(y - expected[1])
    };
    for (i, of) in found.of.iter().enumerate() {
        let off = off([found.x[i], found.y[i]], of);
        assert!(off < 1e-9 * SIDE, "{off}");
    }
    // The pieces of a segment lie end to end over all of it.
    let mut covered: HashMap<(u32, u32), f64> = HashMap::new();
    assert_eq!(found.pieces.len(), found.of_pieces.len());
    for (ends, of) in found.pieces.iter().zip(&found.of_pieces) {
        let [from, to] = of;
        assert_eq!((from.line, from.segment), (to.line, to.segment));
        *covered.entry((from.line, from.segment)).or_default() += (to.part - from.part).abs();
        for (&end, of) in ends.iter().zip(of) {
            let off = off(end, of);
            assert!(off <= 0.51 * least + 1e-9 * SIDE, "{off}");
        }
    }
    assert_eq!(covered.len(), segments.len());
    assert!(covered.values().all(|part| (part - 1.0).abs() < 1e-9), "{covered:?}");
}

/// A line from west to east and back, with sharp turns.
fn winding() -> Vec<P> {
    (0..9).map(|i| [f64::from(i) * 0.12 * SIDE, (0.3 + 0.4 * f64::from(i % 2)) * SIDE]).collect()
}

#[test]
fn pieces_are_edges_among_every_cloud() {
    for cloud in clouds::all(400, 4).filter(|cloud| cloud.name != "stray") {
        let lines = [winding(), vec![[0.05 * SIDE, 0.9 * SIDE], [0.95 * SIDE, 0.93 * SIDE]]];
        let how = Splitting::new(0.1 * SIDE).least(1e-5 * SIDE);
        let (found, all, places) = split(&cloud, &lines, how);
        println!("{}: {} pieces, {} open", cloud.name, found.pieces.len(), found.open);
        let crossed = crossed(&found, &all, &places);
        assert!(crossed <= found.open, "{}: {crossed}, open {}", cloud.name, found.open);
        assert!(found.open <= found.pieces.len() / 20, "{}: {}", cloud.name, found.open);
        follows(&found, &lines, 1e-5 * SIDE);
        let longest = |[a, b]: &[P; 2]| (b[0] - a[0]).hypot(b[1] - a[1]) <= 0.1001 * SIDE;
        assert!(found.pieces.iter().all(longest));
    }
}

#[test]
fn without_division_lines_are_crossed() {
    let cloud = Cloud::uniform(400, [0.0, 0.0, SIDE, SIDE], 1, |_, _| 0.0);
    let how = Splitting::new(2.0 * SIDE).least(2.0 * SIDE);
    let (found, all, places) = split(&cloud, &[winding()], how);
    assert_eq!((found.pieces.len(), found.open), (8, 8));
    assert_eq!(crossed(&found, &all, &places), 8);
}

#[test]
fn lines_that_cross_or_meet_at_sharp_angles_come_to_an_end() {
    let cloud = Cloud::uniform(300, [0.0, 0.0, 10.0, 10.0], 7, |_, _| 0.0);
    let star = |angle: f64| vec![[5.0, 5.0], [5.0 + 4.9 * angle.cos(), 5.0 + 4.9 * angle.sin()]];
    for (what, lines, most) in [
        ("crossing", vec![vec![[0.0, 1.0], [10.0, 9.0]], vec![[0.0, 8.5], [10.0, 1.2]]], 2),
        ("sharp", vec![star(0.3), star(0.31), star(0.4), star(2.0)], 0),
        ("twice", vec![vec![[1.0, 2.0], [8.0, 9.0]], vec![[8.0, 9.0], [1.0, 2.0]]], 0),
        (
            "nearly parallel",
            vec![vec![[1.0, 5.0], [9.0, 5.0]], vec![[1.0, 5.0005], [9.0, 4.9993]]],
            20,
        ),
        ("touching", vec![vec![[1.0, 5.0], [9.0, 5.0]], vec![[4.0, 5.0], [4.5, 9.0]]], 0),
        ("a ring", vec![vec![[2.0, 2.0], [8.0, 2.0], [8.0, 8.0], [2.0, 2.0]]], 0),
    ] {
        let (found, all, places) = split(&cloud, &lines, Splitting::new(1.0));
        println!("{what}: {} pieces, {} open", found.pieces.len(), found.open);
        assert!(found.open <= most, "{what}: {}", found.open);
        assert!(crossed(&found, &all, &places) <= found.open, "{what}");
        assert!(found.pieces.len() < 2000, "{what}: {}", found.pieces.len());
    }
}

#[test]
fn a_line_goes_through_points_that_it_nearly_touches() {
    let line = vec![vec![[0.0, 0.0], [10.0, 0.0]]];
    let near = [(2.0, 0.0), (3.3, 1e-9), (5.0, -1e-4), (7.7, 1e-15), (9.0, 0.3), (0.0, 0.0)];
    let cloud = Cloud::of(near.map(|(x, y)| (x, y, 0.0)));
    let (found, all, places) = split(&cloud, &line, Splitting::new(10.0).least(1e-3));
    assert_eq!((found.open, crossed(&found, &all, &places)), (0, 0));
    assert!(found.pieces.len() < 20, "{}", found.pieces.len());
    for (x, y) in &near[..4] {
        assert!(found.pieces.iter().flatten().any(|end| end == &[*x, *y]), "{x}, {y}");
    }
}

#[test]
fn pieces_avoid_a_line_of_a_single_place() {
    let cloud = Cloud::of([(5.0, -4.0, 0.0), (5.0, 4.0, 0.0)]);
    for lone in [vec![[5.0, 0.0]], vec![[5.0, 0.0]; 2], vec![[5.0, 0.1]]] {
        let lines = [vec![[0.0, 0.0], [10.0, 0.0]], lone.clone()];
        let (found, all, places) = split(&cloud, &lines, Splitting::new(30.0));
        assert_eq!((found.open, crossed(&found, &all, &places)), (0, 0), "{lone:?}");
        let is_end = found.pieces.iter().flatten().any(|end| *end == lone[0]);
        assert!(is_end, "{lone:?}: within half of the least length");
    }
}

#[test]
fn shifts_to_points_nearly_touched_do_not_add_up() {
    let line = [vec![[0.0, 0.0], [16.0, 0.0]]];
    let near = [(8.0, 0.49), (4.0, 0.73), (2.0, 0.85), (12.0, 0.7)];
    let cloud = Cloud::of(near.map(|(x, y)| (x, y, 0.0)));
    let (found, all, places) = split(&cloud, &line, Splitting::new(16.0).least(1.0));
    assert!(crossed(&found, &all, &places) <= found.open);
    let is_end = |(x, y): (f64, f64)| found.pieces.iter().flatten().any(|end| *end == [x, y]);
    assert_eq!(near.map(is_end), [true, false, false, false]);
    for end in found.pieces.iter().flatten() {
        assert!(away(*end, [[0.0, 0.0], [16.0, 0.0]]) <= 0.5, "{end:?}");
    }
}

/// Places farther than half the greatest length from a line have no natural neighbours across it.
#[test]
fn natural_neighbours_lie_on_one_side() {
    let line = [[-1.0, 3.0], [11.0, 7.0]];
    let side = |[x, y]: P| (12.0 * (y - 3.0) - 4.0 * (x + 1.0)) / 160f64.sqrt();
    for (count, longest) in [(100, 0.5), (2000, 0.5), (100, 2.0)] {
        let cloud = Cloud::uniform(count, [0.0, 0.0, 10.0, 10.0], 3, |_, _| 0.0);
        let how = Splitting::new(longest);
        let (found, all, places) = split(&cloud, &[line.to_vec()], how);
        assert_eq!(found.open, 0);
        let targets = Cloud::uniform(2000, [1.0, 1.0, 9.0, 9.0], 5, |_, _| 0.0);
        let (mut walk, mut looked_at) = (all.walk(), 0);
        for (&x, &y) in targets.x.iter().zip(&targets.y) {
            let own = side([x, y]);
            if own.abs() <= 0.5 * longest {
                continue;
            }
            looked_at += 1;
            for site in walk.natural_neighbours(x, y).unwrap().sites {
                let other = side(places[site as usize]);
                assert!(own * other >= -how.least.abs() * own.abs(), "{x}, {y}: {other} for {own}");
            }
        }
        assert!(looked_at > 1000);
    }
}

#[test]
fn what_is_no_line_is_refused_or_a_site() {
    let points = Points::new(&[0.0, 1.0], &[0.0, 1.0]);
    let none = split_lines(points, &[], Splitting::new(1.0), &Silent).unwrap();
    assert_eq!(none, LineSites::default());
    let lines = [vec![], vec![[3.0, 4.0]], vec![[5.0, 5.0]; 3]];
    let found = split_lines(points, &lines, Splitting::new(1.0), &Silent).unwrap();
    assert_eq!((found.x.len(), found.pieces.len(), found.open), (4, 0, 0));
    let alone = [vec![[0.0, 0.0], [4.0, 0.0]]];
    let found = split_lines(Points::new(&[], &[]), &alone, Splitting::new(1.0), &Silent).unwrap();
    assert_eq!((found.x.len(), found.pieces.len()), (5, 4));
    let bad = [vec![[0.0, 0.0], [1.0, f64::NAN]]];
    let error = split_lines(points, &bad, Splitting::new(1.0), &Silent).unwrap_err();
    assert!(matches!(error, Error::Core(gpu_core::Error::NotFinite { what: "y", index: 1, .. })));
    for how in [Splitting::new(0.0), Splitting::new(f64::NAN), Splitting::new(1.0).least(2.0)] {
        assert!(matches!(split_lines(points, &[], how, &Silent), Err(Error::Splitting { .. })));
    }
    let long = [vec![[0.0, 0.0], [1e12, 0.0]]];
    let error = split_lines(points, &long, Splitting::new(1.0), &Silent).unwrap_err();
    assert!(matches!(error, Error::Core(gpu_core::Error::TooMany { .. })));
}
