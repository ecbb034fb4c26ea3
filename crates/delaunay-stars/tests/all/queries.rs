//! Voronoi cells, places in triangles, and natural neighbours, against brute force and each other.

use delaunay_stars::{Error, Location, Triangulation, triangulate};
use gpu_core::{Device, Points};
use testing::{Cloud, Random};

use crate::exact::{self, P};
use crate::triangulations::{of, of_places};

fn place(cloud: &Cloud, i: u32) -> P {
    [cloud.x[i as usize], cloud.y[i as usize]]
}

/// Clouds whose sites are not all in line, with what they are triangulated to.
fn flat_clouds(size: usize) -> impl Iterator<Item = (Cloud, Triangulation)> {
    let all = testing::clouds::all(size, 9).map(|cloud| {
        let found = of(&cloud);
        (cloud, found)
    });
    all.filter(|(_, found)| !found.is_in_line())
}

/// Places of every kind: inside, on sites, on edges as far as f64 has places there, and outside.
pub fn targets(cloud: &Cloud, found: &Triangulation) -> Vec<P> {
    let mut random = Random::new(2);
    let mut targets: Vec<P> =
        (0..60).map(|_| [0; 2].map(|_| random.between(-100.0, 1100.0))).collect();
    for _ in 0..60 {
        let a = found.site_of(random.below(cloud.len() as u64) as u32);
        let star = found.star(a);
        if star.is_empty() {
            targets.push(place(cloud, a));
            continue;
        }
        let b = star[random.below(star.len() as u64) as usize];
        let [pa, pb] = [a, b].map(|i| place(cloud, i));
        targets.push(pa);
        targets.push([0, 1].map(|k| pa[k] + 0.5 * (pb[k] - pa[k])));
        targets.push([0, 1].map(|k| pa[k] + 0.3 * (pb[k] - pa[k]) + 1e-3 * random.unit()));
    }
    targets
}

/// Checks where a place is said to lie.
pub fn check_location(cloud: &Cloud, found: &Triangulation, target: P, location: Location) {
    let side = |a: u32, b: u32| exact::orientation(place(cloud, a), place(cloud, b), target);
    let name = cloud.name;
    match location {
        Location::Site(i) => assert_eq!(place(cloud, i), target, "{name}"),
        Location::Edge([a, b]) => {
            assert!(a < b && found.star(a).contains(&b), "{name}");
            assert_eq!(side(a, b), 0, "{name}");
            let [pa, pb] = [a, b].map(|i| place(cloud, i));
            let k = usize::from(pa[0] == pb[0]);
            assert!((pa[k] < target[k]) != (pb[k] < target[k]), "{name}");
        }
        Location::Triangle([a, b, c]) => {
            assert!(a < b && a < c, "{name}");
            assert!(found.triangles().any(|triangle| triangle == [a, b, c]), "{name}");
            assert!(side(a, b) > 0 && side(b, c) > 0 && side(c, a) > 0, "{name}");
        }
        Location::Outside([a, b]) => {
            assert_eq!(found.star(a).first(), Some(&b), "{name}");
            assert!(found.is_on_hull(a) && found.is_on_hull(b) && side(a, b) < 0, "{name}");
        }
        Location::Nowhere => panic!("{name}"),
    }
}

#[test]
fn every_place_is_where_exact_arithmetic_says() {
    for (cloud, found) in flat_clouds(120) {
        let mut walk = found.walk();
        for target in targets(&cloud, &found) {
            for location in [
                walk.locate(target[0], target[1]).unwrap(),
                found.walk().locate(target[0], target[1]).unwrap(),
            ] {
                check_location(&cloud, &found, target, location);
            }
        }
    }
}

/// A hub and places around it, whose angles are `turn` apart.
fn wheel(rim: u32, turn: f64) -> Cloud {
    let place = |i: u32| (turn * f64::from(i)).sin_cos();
    let on_rim = (0..rim).map(place).map(|(sin, cos)| (cos, sin, 0.0));
    Cloud::of(std::iter::once((0.0, 0.0, 0.0)).chain(on_rim))
}

#[test]
fn a_turn_around_a_hub_is_one_step() {
    let (rim, places) = (100_000, 2_000);
    let turn = std::f64::consts::TAU / f64::from(rim);
    let found = of(&wheel(rim, turn));
    assert_eq!(found.star(0).len(), rim as usize);
    // Step by step, with a look at all of the star in each, this would be 10^12 comparisons.
    let mut walk = found.walk();
    for k in 0..places {
        let i = k * 7_919 % rim;
        let (sin, cos) = (turn * (f64::from(i) + 0.5)).sin_cos();
        let away = if k % 2 == 0 { 0.3 } else { 0.999_999 };
        let corners = [0, i + 1, (i + 1) % rim + 1];
        assert_eq!(walk.locate(away * cos, away * sin).unwrap(), Location::Triangle(corners));
        if k % 10 == 0 {
            assert_eq!(walk.locate(0.0, 0.0).unwrap(), Location::Site(0));
            let Location::Outside(side) = walk.locate(2.0 * cos, 2.0 * sin).unwrap() else {
                panic!("a place beyond the rim is outside");
            };
            assert_eq!(side, [i + 1, (i + 1) % rim + 1]);
        }
    }
}

#[test]
fn places_around_a_hub_are_where_exact_arithmetic_says() {
    // All of a turn; half of one, with the hub on the hull, exactly and nearly; and a part of one.
    for turn in [0.1, 0.05, 0.0498, 0.052, 0.01] {
        let cloud = wheel(64, turn);
        let found = of(&cloud);
        let mut walk = found.walk();
        let mut random = Random::new(3);
        let near = (0..300).map(|_| [0; 2].map(|_| random.between(-1.5, 1.5)));
        for target in targets(&cloud, &found).into_iter().chain(near) {
            let location = walk.locate(target[0], target[1]).unwrap();
            check_location(&cloud, &found, target, location);
        }
    }
}

#[test]
fn places_are_found_where_all_sites_are_in_line() {
    let found = of_places(&[[2.0, 2.0], [0.0, 0.0], [4.0, 4.0], [2.0, 2.0]]);
    let mut walk = found.walk();
    assert_eq!(walk.locate(2.0, 2.0).unwrap(), Location::Site(0));
    assert_eq!(walk.locate(1.0, 1.0).unwrap(), Location::Edge([0, 1]));
    assert_eq!(walk.locate(1.0, 1.5).unwrap(), Location::Nowhere);
    assert_eq!(walk.locate(5.0, 5.0).unwrap(), Location::Nowhere);
    let near = walk.natural_neighbours(3.0, 3.0).unwrap();
    assert_eq!((&near.sites[..], &near.sibson[..]), (&[0, 2][..], &[0.5; 2][..]));
    assert_eq!(walk.interpolate_linear(&[1.0, 5.0, 3.0, 9.0], 1.0, 1.0).unwrap(), Some(3.0));
    let none = of_places(&[]);
    assert_eq!(none.walk().locate(0.0, 0.0).unwrap(), Location::Nowhere);
    let one = of_places(&[[1.0, -0.0]; 3]);
    assert_eq!(one.walk().locate(1.0, 0.0).unwrap(), Location::Site(0));
    assert_eq!(one.walk().locate(1.0, 2.0).unwrap(), Location::Nowhere);
    assert_eq!((one.hull(), one.duplicates()), (&[0][..], &[[1, 0], [2, 0]][..]));
    assert_eq!(one.cell(2).area, f64::INFINITY);
}

/// The area of the places of a square that are nearer to one site than to any other: the square, clipped by each bisector.
fn clipped_area(sites: &[P], own: usize, half: f64) -> f64 {
    let at = sites[own];
    let mut polygon = vec![[-half, -half], [half, -half], [half, half], [-half, half]];
    for site in sites.iter().filter(|&&site| site != at) {
        let [x, y] = [site[0] - at[0], site[1] - at[1]];
        let beyond = |[px, py]: P| px * x + py * y - 0.5 * (x * x + y * y);
        let mut clipped = Vec::new();
        for (i, &p) in polygon.iter().enumerate() {
            let q = polygon[(i + 1) % polygon.len()];
            let (a, b) = (beyond(p), beyond(q));
            if a <= 0.0 {
                clipped.push(p);
            }
            if (a <= 0.0) != (b <= 0.0) {
                let part = a / (a - b);
                clipped.push([p[0] + part * (q[0] - p[0]), p[1] + part * (q[1] - p[1])]);
            }
        }
        polygon = clipped;
    }
    let twice = |i: usize| {
        let (p, q) = (polygon[i], polygon[(i + 1) % polygon.len()]);
        p[0] * q[1] - p[1] * q[0]
    };
    0.5 * (0..polygon.len()).map(twice).sum::<f64>()
}

#[test]
fn cells_are_those_of_clipped_squares() {
    for cloud in [testing::clouds::uniform(150, 3), testing::clouds::lattice(150, 3)] {
        let found = of(&cloud);
        let sites: Vec<P> = (0..150).map(|i| place(&cloud, i)).collect();
        let mut bounded = 0;
        for i in 0..150 {
            let cell = found.cell(i);
            assert_eq!(cell.is_bounded, !found.is_on_hull(i));
            for corner in &cell.corners {
                let distance = |site: &P| (site[0] - corner[0]).hypot(site[1] - corner[1]);
                let (own, all) = (distance(&sites[i as usize]), sites.iter().map(distance));
                let nearest = all.fold(f64::INFINITY, f64::min);
                assert!((own - nearest).abs() <= 1e-9 * own, "{own} {nearest}");
            }
            if let Some([x, y]) = cell.centroid {
                bounded += 1;
                // A square that holds the whole cell.
                let reach = cell.corners.iter().map(|corner| {
                    (corner[0] - sites[i as usize][0]).hypot(corner[1] - sites[i as usize][1])
                });
                let half = 1.1 * reach.fold(0.0, f64::max);
                let expected = clipped_area(&sites, i as usize, half);
                assert!((cell.area - expected).abs() <= 1e-9 * expected);
                // The area is that of the triangles around the centroid.
                let around = |k: usize| {
                    let (p, q) = (cell.corners[k], cell.corners[(k + 1) % cell.corners.len()]);
                    0.5 * ((p[0] - x) * (q[1] - y) - (p[1] - y) * (q[0] - x))
                };
                let parts: Vec<f64> = (0..cell.corners.len()).map(around).collect();
                assert!(parts.iter().all(|&part| part >= -1e-9 * expected));
                assert!((parts.iter().sum::<f64>() - expected).abs() <= 1e-9 * expected);
            } else {
                assert_eq!(cell.area, f64::INFINITY);
            }
        }
        assert!(bounded > 80, "{bounded}");
    }
}

#[test]
fn sibsons_shares_are_what_cells_lose() {
    let cloud = testing::clouds::uniform(200, 6);
    let found = of(&cloud);
    let mut random = Random::new(8);
    for _ in 0..50 {
        let target = [0; 2].map(|_| random.between(300.0, 700.0));
        let near = found.walk().natural_neighbours(target[0], target[1]).unwrap();
        let (mut x, mut y) = (cloud.x.clone(), cloud.y.clone());
        x.push(target[0]);
        y.push(target[1]);
        let with = triangulate(&Device::Cpu, Points::new(&x, &y)).unwrap();
        let own = with.cell(200).area;
        let mut star = with.star(200).to_vec();
        let mut sites = near.sites.clone();
        star.sort_unstable();
        sites.sort_unstable();
        assert_eq!(star, sites);
        for (&site, &share) in near.sites.iter().zip(&near.sibson) {
            let (before, after) = (found.cell(site), with.cell(site));
            if before.is_bounded {
                assert!(((before.area - after.area) / own - share).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn shares_sum_to_one_and_meet_planes() {
    for (cloud, found) in flat_clouds(500) {
        // Values of up to about 3, however far the one stray point lies.
        let plane = |[x, y]: P| 1.0 + x * 1e-3 - y * 5e-4;
        let values: Vec<f64> = (0..500).map(|i| plane(place(&cloud, i))).collect();
        let mut walk = found.walk();
        let mut inside = 0;
        for target in targets(&cloud, &found) {
            let [x, y] = target;
            let near = walk.natural_neighbours(x, y).unwrap();
            let linear = walk.interpolate_linear(&values, x, y).unwrap();
            assert_eq!(near.sites.is_empty(), linear.is_none(), "{}", cloud.name);
            let Some(linear) = linear else { continue };
            inside += 1;
            let size: f64 =
                near.sites.iter().map(|&i| values[i as usize].abs()).fold(3.0, f64::max);
            assert!((linear - plane(target)).abs() < 1e-9 * size, "{}", cloud.name);
            let distances = near.sites.iter().map(|&i| {
                let [px, py] = place(&cloud, i);
                (px - x).hypot(py - y)
            });
            let (nearest, farthest) = distances.fold((f64::INFINITY, 0.0), |(least, most), d| {
                (f64::min(least, d), f64::max(most, d))
            });
            let ratio = if farthest > 0.0 { farthest / nearest } else { 1.0 };
            let tolerance = size * f64::max(1e-9, 64.0 * f64::EPSILON * ratio * ratio);
            for shares in [&near.sibson, &near.laplace] {
                let sum: f64 = shares.iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{}", cloud.name);
                assert!(shares.iter().all(|&share| share >= 0.0), "{}", cloud.name);
                let terms = near.sites.iter().zip(shares);
                let value: f64 = terms.map(|(&i, share)| values[i as usize] * share).sum();
                let error = (value - plane(target)).abs();
                assert!(error < tolerance, "{} {target:?} {error}", cloud.name);
            }
        }
        assert!(inside > 50, "{} {inside}", cloud.name);
    }
}

#[test]
fn many_places_have_the_values_of_each() {
    let cloud = testing::clouds::heaps(3000, 4);
    let found = of(&cloud);
    let mut random = Random::new(4);
    let mut column = || -> Vec<f64> { (0..2000).map(|_| random.between(0.0, 1000.0)).collect() };
    let (x, y) = (column(), column());
    let values = found.interpolate_linear(&cloud.z, &x, &y).unwrap();
    for i in 0..2000 {
        let value = found.walk().interpolate_linear(&cloud.z, x[i], y[i]).unwrap();
        assert_eq!(value.unwrap_or(f64::NAN).to_bits(), values[i].to_bits());
    }
}

#[test]
fn places_are_checked() {
    let found = of_places(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    let nan = found.walk().locate(0.5, f64::NAN).unwrap_err();
    assert!(matches!(nan, Error::Core(gpu_core::Error::NotFinite { what: "y", .. })));
    assert!(matches!(found.walk().locate(1e-200, 0.0), Err(Error::Range { .. })));
    assert!(matches!(found.walk().locate(1e60, 0.0), Ok(Location::Outside(_))));
    let error = found.interpolate_linear(&[1.0], &[0.1], &[0.1]).unwrap_err();
    assert!(matches!(error, Error::Core(gpu_core::Error::Length { .. })));
    let error = found.interpolate_linear(&[1.0; 3], &[0.1, f64::NAN], &[0.1; 2]).unwrap_err();
    assert!(matches!(error, Error::Core(gpu_core::Error::NotFinite { index: 1, .. })));
}

#[test]
fn accessors_of_a_point_panic_if_there_is_no_such_point() {
    let found = of_places(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    let found = &found;
    for i in [3, 10, 64, u32::MAX] {
        let panics =
            |call: fn(&Triangulation, u32)| std::panic::catch_unwind(|| call(found, i)).is_err();
        assert!(panics(|found, i| assert!(!found.is_on_hull(i))), "{i}");
        assert!(panics(|found, i| assert!(found.site_of(i) > 0)), "{i}");
        assert!(panics(|found, i| assert!(found.star(i).is_empty())), "{i}");
        assert!(panics(|found, i| assert!(!found.cell(i).is_bounded)), "{i}");
    }
}
