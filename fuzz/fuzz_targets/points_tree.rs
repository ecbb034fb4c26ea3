//! Quadtrees of any points and parameters: neighbours, windows and leaves beside all pairs.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Bounds, Device, Points};
use libfuzzer_sys::fuzz_target;
use quadtree_sort::{Outside, Params, Regions, build};
use tessera_fuzz::{Coordinate, Place, columns};

#[derive(Arbitrary, Debug)]
struct Case {
    places: Vec<Place>,
    queries: Vec<Place>,
    threshold: u8,
    max_level: u8,
    bounds: Option<[Coordinate; 4]>,
    square: bool,
    is_skipping: bool,
    k: u8,
}

fuzz_target!(|case: Case| {
    let [x, y, _] = columns(&case.places);
    let mut params = Params::new()
        .threshold(case.threshold.into())
        .max_level(case.max_level.into())
        .square(case.square);
    if let Some(bounds) = case.bounds {
        let [min_x, min_y, max_x, max_y] = bounds.map(Coordinate::get);
        params = params.bounds(Bounds { min_x, min_y, max_x, max_y });
    }
    if case.is_skipping {
        params = params.outside(Outside::Skip);
    }
    let Ok(tree) = build(&Device::Cpu, Points::new(&x, &y), &params) else { return };
    let kept: Vec<usize> = tree.order().iter().map(|&point| point as usize).collect();
    let [a, b, _] = columns(&case.queries);
    let k = usize::from(case.k % 8) + 1;
    if let Ok(found) = tree.nearest(&a, &b, k) {
        for query in 0..a.len() {
            let of = |&point: &usize| {
                let (dx, dy) = (x[point] - a[query], y[point] - b[query]);
                dx * dx + dy * dy
            };
            let mut squares: Vec<f64> = kept.iter().map(of).collect();
            squares.sort_by(f64::total_cmp);
            for (nearest, square) in squares.iter().take(k).enumerate() {
                let distance = found.distances[query * k + nearest];
                assert_eq!(distance, square.sqrt(), "query {query}, neighbour {nearest}");
            }
        }
    }
    let windows = [Bounds { min_x: -4.0, min_y: -4.0, max_x: 9.0, max_y: 6.5 }];
    let within =
        |&&point: &&usize| (-4.0..=9.0).contains(&x[point]) && (-4.0..=6.5).contains(&y[point]);
    let counts = tree.count_in(Regions::Windows(&windows)).expect("a sound window");
    assert_eq!(counts[0] as usize, kept.iter().filter(within).count());
});
