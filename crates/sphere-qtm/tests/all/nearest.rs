//! The sites nearest to places, against comparing all.

use crate::common::Sites;
use gpu_core::{Points, Silent};
use sphere_qtm::{Error, NONE, nearest_sites};
use testing::clouds;

#[test]
fn the_nearest_sites_are_those_of_comparing_all() {
    let clouds = clouds::all(1000, 2).map(|cloud| (cloud.name, Sites::of_cloud(cloud)));
    let others = [
        ("random", Sites::random(2000, 1)),
        ("on circles", Sites::on_circles(500)),
        ("duplicate", Sites::duplicate(500, 3)),
        ("few", Sites::random(3, 4)),
    ];
    for (what, sites) in others.into_iter().chain(clouds) {
        let mut places = Sites::random(150, 5);
        for (lon, lat) in [(0.0, 90.0), (0.0, -90.0), (180.0, 0.0), (sites.x[0], sites.y[0])] {
            places.x.push(lon);
            places.y.push(lat);
        }
        let vectors = sites.vectors();
        for k in [1, 2, 12, 40] {
            let found = nearest_sites(&sites.points(), &places.points(), k, &Silent).unwrap();
            assert_eq!((found.k, found.sites.len()), (k, k * places.len()));
            for (i, place) in places.vectors().into_iter().enumerate() {
                let squared = |v: &[f64; 3]| {
                    let [x, y, z] = [0, 1, 2].map(|k| place[k] - v[k]);
                    x * x + y * y + z * z
                };
                let mut all: Vec<(f64, u32)> =
                    vectors.iter().enumerate().map(|(j, v)| (squared(v), j as u32)).collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let expected: Vec<u32> =
                    (0..k).map(|j| all.get(j).map_or(NONE, |&(_, site)| site)).collect();
                assert_eq!(found.sites[i * k..][..k], expected, "{what}, place {i}");
                for (j, distance) in found.distances[i * k..][..k].iter().enumerate() {
                    let exact = all.get(j).map_or(f64::INFINITY, |(squared, _)| {
                        2.0 * (squared.sqrt() / 2.0).min(1.0).asin()
                    });
                    assert!(*distance == exact || (distance - exact).abs() < 1e-7, "{what}");
                }
            }
        }
    }
}

#[test]
fn no_places_no_sites_and_what_is_no_place() {
    let sites = Sites::random(5, 1);
    let none = nearest_sites(&sites.points(), &Points::default(), 3, &Silent).unwrap();
    assert!(none.sites.is_empty());
    assert!(nearest_sites(&sites.points(), &sites.points(), 0, &Silent).unwrap().sites.is_empty());
    assert_eq!(nearest_sites(&Points::default(), &sites.points(), 1, &Silent), Err(Error::NoSites));
    let huge = nearest_sites(&sites.points(), &sites.points(), usize::MAX / 2, &Silent);
    assert!(matches!(huge, Err(Error::Core(gpu_core::Error::HostMemory { .. }))));
    let wrong = nearest_sites(&sites.points(), &Points::new(&[0.0], &[f64::NAN]), 1, &Silent);
    assert!(matches!(wrong, Err(Error::Row { what: "place", row: 0, .. })));
}
