//! Triangulations of any points: what the stars say of each other, and empty circles by adaptive arithmetic.
#![no_main]

use std::collections::HashSet;

use arbitrary::Arbitrary;
use delaunay_stars::{Location, Triangulation, triangulate};
use gpu_core::Points;
use libfuzzer_sys::fuzz_target;
use robust::{Coord, incircle, orient2d};
use tessera_fuzz::{Place, columns};

#[derive(Arbitrary, Debug)]
struct Case {
    places: Vec<Place>,
    queries: Vec<Place>,
}

/// More points make a case slow, and tell no more.
const MOST: usize = 64;

fuzz_target!(|case: Case| {
    let [x, y, z] = columns(&case.places[..case.places.len().min(MOST)]);
    let Ok(found) = triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y)) else { return };
    let points = 0..x.len() as u32;
    for point in points.clone() {
        for &neighbour in found.star(point) {
            assert!(found.star(neighbour).contains(&point), "{neighbour} has not {point}");
        }
    }
    let triangles: Vec<[u32; 3]> = found.triangles().collect();
    if !found.is_in_line() {
        let (sites, hull) = (found.sites(), found.hull().len());
        assert_eq!(triangles.len(), 2 * sites - 2 - hull);
        assert_eq!(found.neighbours().len() / 2, 3 * sites - 3 - hull);
    }
    // That arithmetic is exact where nothing overflows or underflows.
    let is_moderate = |v: &f64| *v == 0.0 || (1e-60..1e60).contains(&v.abs());
    if x.iter().chain(&y).all(is_moderate) {
        let at = |point: u32| Coord { x: x[point as usize], y: y[point as usize] };
        for &[a, b, c] in &triangles {
            assert!(orient2d(at(a), at(b), at(c)) > 0.0);
            for point in points.clone() {
                assert!(incircle(at(a), at(b), at(c), at(point)) <= 0.0, "{point} in {a} {b} {c}");
            }
        }
    }
    ask(&found, &z, &case.queries);
});

/// Asks for places: answers name sites, and shares sum to 1.
fn ask(found: &Triangulation, values: &[f64], queries: &[Place]) {
    let [x, y, _] = columns(&queries[..queries.len().min(MOST)]);
    let mut walk = found.walk();
    for (&x, &y) in x.iter().zip(&y) {
        let Ok(location) = walk.locate(x, y) else { continue };
        let Ok(near) = walk.natural_neighbours(x, y) else { continue };
        let different: HashSet<u32> = near.sites.iter().copied().collect();
        assert_eq!(different.len(), near.sites.len());
        let is_outside = matches!(location, Location::Outside(_) | Location::Nowhere);
        assert_eq!(near.sites.is_empty(), is_outside, "{location:?}");
        let _ = walk.interpolate_linear(values, x, y);
    }
    for point in 0..found.len() as u32 {
        let _ = found.cell(point);
    }
}
