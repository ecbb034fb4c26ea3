//! Whole triangulations, checked by exact arithmetic on small clouds and by `spade`.

use std::collections::{BTreeMap, BTreeSet};

use delaunay_stars::{Error, Triangulation, triangulate};
use gpu_core::{Device, Points};
use spade::{HasPosition, Point2, Triangulation as _};
use testing::{Cloud, Random};

use crate::exact::{self, P};

pub fn of(cloud: &Cloud) -> Triangulation {
    triangulate(&Device::Cpu, Points::new(&cloud.x, &cloud.y)).unwrap()
}

pub fn of_places(places: &[P]) -> Triangulation {
    let (x, y): (Vec<_>, Vec<_>) = places.iter().map(|&[x, y]| (x, y)).unzip();
    triangulate(&Device::Cpu, Points::new(&x, &y)).unwrap()
}

fn places(cloud: &Cloud) -> Vec<P> {
    cloud.x.iter().zip(&cloud.y).map(|(&x, &y)| [x, y]).collect()
}

fn before(a: P, b: P) -> std::cmp::Ordering {
    a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
}

/// Everything that defines the result, by brute force in exact arithmetic.
fn check(name: &str, places: &[P], found: &Triangulation) {
    let mut firsts: Vec<(P, u32)> = Vec::new();
    let mut sorted: Vec<u32> = (0..places.len() as u32).collect();
    let place = |i: u32| places[i as usize];
    sorted.sort_by(|&a, &b| before(place(a), place(b)).then(a.cmp(&b)));
    for &i in &sorted {
        match firsts.last() {
            Some(&(last, point)) if last == place(i) => {
                assert_eq!(found.site_of(i), point, "{name}");
                assert!(found.star(i).is_empty() && !found.is_on_hull(i), "{name}");
            }
            _ => {
                assert_eq!(found.site_of(i), i, "{name}");
                firsts.push((place(i), i));
            }
        }
    }
    let sites: Vec<u32> = firsts.iter().map(|&(_, i)| i).collect();
    assert_eq!(found.sites(), sites.len(), "{name}");
    check_stars(name, found);
    check_hull(name, places, &sites, found);
    let triangles: Vec<[u32; 3]> = found.triangles().collect();
    let edges = found.neighbours().len() / 2;
    let is_flat = triangles.is_empty();
    let [first, second] = [0, 1].map(|i| sites.get(i).map_or([0.0; 2], |&i| place(i)));
    let in_line = sites.iter().all(|&i| exact::orientation(first, second, place(i)) == 0);
    assert_eq!(is_flat, in_line || sites.len() < 3, "{name}");
    assert_eq!(found.is_in_line(), is_flat, "{name}");
    // Euler's formula, with the outside as a face.
    if !is_flat {
        assert_eq!(sites.len() + triangles.len() + 1, edges + 2, "{name}");
        assert_eq!(triangles.len(), 2 * sites.len() - 2 - found.hull().len(), "{name}");
    } else {
        assert_eq!(edges, sites.len().saturating_sub(1), "{name}");
    }
    for &[a, b, c] in &triangles {
        let corners = [a, b, c].map(place);
        assert_eq!(exact::orientation(corners[0], corners[1], corners[2]), 1, "{name}");
        for &site in sites.iter().filter(|&site| ![a, b, c].contains(site)) {
            let side = exact::in_circle(corners[0], corners[1], corners[2], place(site));
            assert!(side <= 0, "{name}: {site} inside {a} {b} {c}");
            // A fan around the first site of the circle: it is a corner of each of its triangles.
            if side == 0 {
                let is_first = corners.iter().all(|&corner| before(place(site), corner).is_lt());
                assert!(!is_first, "{name}: {site} comes before {a} {b} {c}");
            }
        }
    }
}

/// Whoever names is named; triangles lie to the left of each edge but those along the hull.
fn check_stars(name: &str, found: &Triangulation) {
    for p in 0..found.len() as u32 {
        let star = found.star(p);
        let distinct: BTreeSet<_> = star.iter().collect();
        assert_eq!(distinct.len(), star.len(), "{name}");
        for &q in star {
            assert!(q != p && found.star(q).contains(&p), "{name}: {q} names not {p}");
        }
        if !found.is_on_hull(p) {
            assert_eq!(star.first(), star.iter().min(), "{name}");
        }
    }
}

fn check_hull(name: &str, places: &[P], sites: &[u32], found: &Triangulation) {
    let place = |i: u32| places[i as usize];
    let hull = found.hull();
    assert_eq!(hull.first(), sites.first(), "{name}");
    let on_hull = (0..found.len() as u32).filter(|&i| found.is_on_hull(i)).count();
    assert_eq!(on_hull, hull.len(), "{name}");
    let flat = sites.len() < 3
        || sites
            .iter()
            .all(|&c| exact::orientation(place(sites[0]), place(sites[1]), place(c)) == 0);
    if flat {
        assert_eq!(hull, sites, "{name}");
        for pair in sites.windows(2) {
            assert!(found.star(pair[0]).contains(&pair[1]), "{name}");
        }
        return;
    }
    for (i, &a) in hull.iter().enumerate() {
        let b = hull[(i + 1) % hull.len()];
        assert!(found.is_on_hull(a), "{name}");
        assert_eq!(found.star(a).first(), Some(&b), "{name}");
        assert_eq!(found.star(b).last(), Some(&a), "{name}");
        let [pa, pb] = [place(a), place(b)];
        for &c in sites {
            let side = exact::orientation(pa, pb, place(c));
            assert!(side >= 0, "{name}: {c} outside {a} {b}");
            // Sites in line lie before or behind the edge.
            let [low, high] = if before(pa, pb).is_lt() { [pa, pb] } else { [pb, pa] };
            let between = before(low, place(c)).is_lt() && before(place(c), high).is_lt();
            assert!(side > 0 || !between, "{name}: {c} between {a} {b}");
        }
    }
}

#[test]
fn every_cloud_has_its_triangulation() {
    for size in [0, 1, 2, 3, 4, 5, 7, 31, 32, 33, 150] {
        for seed in [1, 2] {
            for cloud in testing::clouds::all(size, seed) {
                check(cloud.name, &places(&cloud), &of(&cloud));
            }
        }
    }
}

/// The triangles by their places, whatever the points' numbers.
fn by_places(places: &[P], found: &Triangulation) -> BTreeSet<[[u64; 2]; 3]> {
    let triangle = |corners: [u32; 3]| {
        let mut corners = corners.map(|i| places[i as usize].map(|v| (v + 0.0).to_bits()));
        corners.sort_unstable();
        corners
    };
    found.triangles().map(triangle).collect()
}

#[test]
fn the_order_of_points_is_of_no_account() {
    let mut random = Random::new(11);
    for cloud in testing::clouds::all(700, 3) {
        let given = places(&cloud);
        let expected = by_places(&given, &of(&cloud));
        for _ in 0..3 {
            let mut mixed = given.clone();
            for i in (1..mixed.len()).rev() {
                mixed.swap(i, random.below(i as u64 + 1) as usize);
            }
            let found = of_places(&mixed);
            assert!(by_places(&mixed, &found) == expected, "{}", cloud.name);
        }
    }
}

struct Vertex(P);

impl HasPosition for Vertex {
    type Scalar = f64;
    fn position(&self) -> Point2<f64> {
        Point2::new(self.0[0], self.0[1])
    }
}

/// The edges by spade, as pairs of places.
fn by_spade(places: &[P]) -> BTreeSet<[[u64; 2]; 2]> {
    let vertices = places.iter().map(|&place| Vertex(place)).collect();
    let spade = spade::DelaunayTriangulation::<Vertex>::bulk_load(vertices).unwrap();
    let edges = spade.undirected_edges().map(|edge| {
        let mut ends = edge.vertices().map(|v| v.data().0.map(|v| (v + 0.0).to_bits()));
        ends.sort_unstable();
        ends
    });
    edges.collect()
}

#[test]
fn spade_has_the_same_edges_where_no_four_sites_are_on_a_circle() {
    for cloud in testing::clouds::all(20_000, 5) {
        let given = places(&cloud);
        let found = of(&cloud);
        let ours: BTreeSet<[[u64; 2]; 2]> = (0..found.len() as u32)
            .flat_map(|p| found.star(p).iter().map(move |&q| [p, q]))
            .map(|ends| {
                let mut ends = ends.map(|i| given[i as usize].map(|v| (v + 0.0).to_bits()));
                ends.sort_unstable();
                ends
            })
            .collect();
        let theirs = by_spade(&given);
        assert_eq!(ours.len(), theirs.len(), "{}", cloud.name);
        let other = ours.difference(&theirs).count();
        // Lines with even steps have parallel rows, whose quadrangles have circles.
        if !matches!(cloud.name, "lattice" | "sections" | "zigzag") {
            assert_eq!(other, 0, "{}", cloud.name);
        }
    }
}

#[test]
fn points_are_checked() {
    let of = |x: &[f64], y: &[f64]| triangulate(&Device::Cpu, Points::new(x, y)).unwrap_err();
    assert!(matches!(
        of(&[0.0, 1.0, f64::NAN], &[0.0; 3]),
        Error::Core(gpu_core::Error::NotFinite { what: "x", index: 2, .. })
    ));
    assert!(matches!(
        of(&[0.0; 3], &[0.0, f64::INFINITY, 1.0]),
        Error::Core(gpu_core::Error::NotFinite { what: "y", index: 1, .. })
    ));
    assert!(matches!(of(&[0.0], &[]), Error::Core(gpu_core::Error::Length { .. })));
    assert!(matches!(of(&[1e300, 1.0, 0.0], &[0.0; 3]), Error::Range { .. }));
}

#[test]
fn coordinates_of_any_size_are_scaled_without_loss() {
    let cloud = testing::clouds::lattice(60, 4);
    let uneven = testing::clouds::heaps(60, 4);
    for cloud in [cloud, uneven] {
        // Whole numbers, so that none loses bits among the subnormal ones.
        let given: Vec<P> = places(&cloud).iter().map(|p| p.map(|v| (v * 64.0).round())).collect();
        let expected = of_places(&given);
        check(cloud.name, &given, &expected);
        for exponent in [-1074, -1060, -700, -251, 260, 700, 950] {
            let scaled: Vec<P> = given
                .iter()
                .map(|p| {
                    p.map(|v| v * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2))
                })
                .collect();
            let found = of_places(&scaled);
            assert!(found.neighbours() == expected.neighbours() && found.hull() == expected.hull());
        }
    }
}

/// Each part of the sites is a single one and all nearer ones, by x and by y in turn.
#[test]
fn sites_at_five_hundred_scales_are_triangulated() {
    let mut random = Random::new(7);
    let mut near = || random.below(1 << 14) as f64 * 2f64.powi(-259);
    let mut all: Vec<P> = (0..5000).map(|_| [near(), near()]).collect();
    all.extend((-243..240).map(|exponent| {
        let far = 2f64.powi(exponent);
        if exponent % 2 == 0 { [far, far / 4.0] } else { [far / 4.0, far] }
    }));
    let found = of_places(&all);
    check_stars("scales", &found);
    let (edges, triangles) = (found.neighbours().len() / 2, found.triangles().count());
    assert_eq!(found.sites() + triangles, edges + 1);
    assert_eq!(triangles, 2 * found.sites() - 2 - found.hull().len());
    all.reverse();
    assert_eq!(by_places(&all, &of_places(&all)).len(), triangles);
}

#[test]
fn circles_of_rational_points_lattices_and_near_ties_are_exact() {
    let mut circle = Vec::new();
    for (m, n) in [(2.0, 1.0), (3.0, 2.0), (4.0, 1.0), (5.0, 2.0), (6.0, 1.0)] {
        let scale = 5.0 * 13.0 * 17.0 * 29.0 * 37.0 / (m * m + n * n);
        let [x, y] = [(m * m - n * n) * scale, 2.0 * m * n * scale];
        circle.extend([[x, y], [-x, y], [x, -y], [-x, -y], [y, x], [-y, x], [y, -x], [-y, -x]]);
    }
    check("circle", &circle, &of_places(&circle));
    let moved: Vec<P> = circle.iter().map(|[x, y]| [x + 1e12, y + 3e12]).collect();
    check("circle far away", &moved, &of_places(&moved));
    let near: Vec<P> = (0..100)
        .map(|i| [1e7 + f64::from(i % 10) * 1.9e-9, 2e7 - f64::from(i / 10) * 3.8e-9])
        .collect();
    check("near", &near, &of_places(&near));
    let with_duplicates: Vec<P> = circle.iter().chain(&circle).copied().collect();
    check("twice", &with_duplicates, &of_places(&with_duplicates));
}

#[test]
fn the_number_of_threads_is_of_no_account() {
    let mut by_threads = BTreeMap::new();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for cloud in [testing::clouds::uniform(30_000, 3), testing::clouds::lattice(30_000, 3)] {
            let found = pool.install(|| of(&cloud));
            let first = by_threads.entry(cloud.name).or_insert_with(|| found.clone());
            assert!(*first == found);
        }
    }
}
