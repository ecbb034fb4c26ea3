//! The exact method against independent oracles, on the CPU and on the process's GPU: exact Sibson
//! interpolation by a Delaunay triangulation (crate `spade`), planes, and the local-coordinates property.

use crate::common::{
    Cloud, bits, input_on_all, masked, on_all, on_cpu, only, oracle, random, slices, square,
};
use gpu_core::{Device, GridSpec, Points};
use nni_grid::{Duplicates, Fill, Method, Params, Weights, interpolate};
use proptest::prelude::*;

/// No limit on anything, with all layers.
pub fn unlimited() -> Params {
    let all = Params::new().counts(true).distances(true).deviations(true);
    all.max_distance(f64::INFINITY)
}

fn range(cloud: &Cloud) -> f64 {
    let fold = |f: fn(f64, f64) -> f64, start| cloud.z.iter().copied().fold(start, f);
    fold(f64::max, f64::NEG_INFINITY) - fold(f64::min, f64::INFINITY)
}

/// Compares every cell inside the hull with the oracle, to 1e-5 of the range of the values, and looks at
/// the local coordinates; gives how many cells were compared.
pub fn check(what: &str, cloud: &Cloud, grid: GridSpec) -> usize {
    let params = unlimited().hull(true);
    let dem = on_all(cloud, grid, &params);
    let expected = oracle(cloud, &grid);
    let range = range(cloud);
    let (mut worst, mut place, mut farthest, mut compared) = (0.0f64, (0.0, 0.0), 0.0f32, 0);
    let deviations = dem.deviations.as_ref().unwrap().values();
    for (cell, expected) in expected.iter().enumerate() {
        let (Some(expected), false) = (expected, only(&dem)[cell].is_nan()) else { continue };
        let off = (f64::from(only(&dem)[cell]) - expected).abs();
        if off > worst {
            (worst, place) =
                (off, grid.cell_centre(cell as u32 % grid.width, cell as u32 / grid.width));
        }
        farthest = farthest.max(deviations[cell]);
        compared += 1;
    }
    println!(
        "{what}: {compared} cells, worst {:.1e} of the range, way {farthest:.1e} cells",
        worst / range
    );
    assert!(worst <= 1e-5 * range, "{what}: off by {worst} of {range} at {place:?}");
    compared
}

fn relief(x: f64, y: f64) -> f64 {
    10.0 * (x / 9.0).sin() * (y / 12.0).cos() + 0.05 * x
}

#[test]
fn cells_inside_the_hull_are_exact_at_any_density() {
    for count in [60, 500, 4000, 40_000] {
        let cloud = random(count, 64.0, 7, relief);
        let compared = check(&format!("{count} random points"), &cloud, square(64));
        assert!(compared > 2800, "{compared}");
    }
}

#[test]
fn lattices_are_exact_wherever_the_queries_fall() {
    for (step, shift) in [(1.0, 0.0), (1.0, 0.5), (2.0, 0.5), (0.7, 0.1), (3.0, 0.25), (0.5, 0.5)] {
        let places = (0..(40.0 / step) as i32)
            .flat_map(|i| (0..(40.0 / step) as i32).map(move |j| (f64::from(i), f64::from(j))));
        let cloud = Cloud::of(places.map(|(i, j)| {
            let (x, y) = (i * step + shift, j * step + shift);
            (x, y, relief(x, y))
        }));
        let compared = check(&format!("lattice of {step} at {shift}"), &cloud, square(40));
        assert!(compared > 1250, "{compared}");
    }
}

#[test]
fn points_on_a_circle_are_exact() {
    for (count, side) in [(3, 32), (12, 32), (100, 32), (280, 16)] {
        let (radius, middle) = (0.47 * f64::from(side), 0.5 * f64::from(side));
        let cloud = Cloud::of((0..count).map(|i| {
            let angle = f64::from(i) * std::f64::consts::TAU / f64::from(count);
            let (x, y) = (middle + 0.3 + radius * angle.cos(), middle - 0.1 + radius * angle.sin());
            (x, y, relief(x, y))
        }));
        let compared = check(&format!("{count} points on a circle"), &cloud, square(side));
        assert!(compared > (side * side / 4) as usize, "{compared}");
    }
}

#[test]
fn points_in_line_give_what_lies_beside_them() {
    for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.3, -0.7)] {
        let cloud = Cloud::of((0..20).map(|i| {
            let t = f64::from(i) - 9.5;
            (12.0 + t * dx, 12.0 + t * dy, t)
        }));
        let dem = on_all(&cloud, square(24), &unlimited());
        for (cell, value) in only(&dem).iter().enumerate() {
            let (x, y) = dem.grid.cell_centre(cell as u32 % 24, cell as u32 / 24);
            // At the nearest place of the line. Rounding may have moved points off it by an ulp.
            let along = ((x - 12.0) * dx + (y - 12.0) * dy) / (dx * dx + dy * dy);
            let expected = along.clamp(-9.5, 9.5);
            let off = (f64::from(*value) - expected).abs();
            assert!(off < 1e-5, "{value} for {expected} beside the line");
        }
    }
}

/// The mean of DEM minus truth over the inner cells, in cells, for a plane of slope 1.
fn displacement(
    per_cell: f64,
    grid: GridSpec,
    params: &Params,
    along: fn(f64, f64) -> f64,
    seed: u64,
) -> f64 {
    let side = grid.width;
    let count = (f64::from(side * side) * per_cell) as usize;
    let cloud = random(count, f64::from(side), seed, along);
    let dem = on_cpu(&cloud, grid, params);
    let margin = side / 8;
    let (mut sum, mut cells) = (0.0, 0);
    for row in margin..side - margin {
        for column in margin..side - margin {
            let (x, y) = dem.grid.cell_centre(column, row);
            sum += f64::from(only(&dem)[(row * side + column) as usize]) - along(x, y);
            cells += 1;
        }
    }
    sum / f64::from(cells)
}

const PLANES: [fn(f64, f64) -> f64; 3] = [|x, _| x, |_, y| y, |x, y| x + y];

#[test]
fn planes_lie_in_their_place_by_every_weight() {
    for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
        for per_cell in [0.1, 0.25, 1.0, 4.0, 16.0] {
            for along in PLANES {
                let grid = square(if per_cell > 1.0 { 128 } else { 200 });
                let params = unlimited().weights(weights);
                let found = displacement(per_cell, grid, &params, along, 3);
                assert!(found.abs() < 1e-4, "{weights:?}, {per_cell} a cell: {found}");
            }
        }
    }
}

#[test]
fn the_mean_of_the_neighbours_places_is_the_query() {
    let cloud = random(3000, 64.0, 17, relief);
    for weights in [Weights::Sibson, Weights::Laplace] {
        let params = unlimited().weights(weights);
        let dem = on_all(&cloud, square(64), &params);
        let deviations = dem.deviations.unwrap().into_values();
        for row in 6..58 {
            for column in 6..58 {
                let deviation = deviations[row * 64 + column];
                assert!(deviation < 1e-9, "{weights:?}: {deviation} at ({column}, {row})");
            }
        }
    }
}

#[test]
fn a_site_under_a_query_gives_its_value_and_duplicates_merge() {
    let places = [(2.5, 2.5), (6.5, 3.5), (4.5, 7.5), (1.0, 6.0)];
    let values = [4.0, 1.0, 9.0, 2.0];
    let all = places.iter().flat_map(|&(x, y)| values.map(|z| (x, y, z + x)));
    let cloud = Cloud::of(all);
    for (duplicates, expected) in [
        (Duplicates::Mean, 4.0),
        (Duplicates::Min, 1.0),
        (Duplicates::Max, 9.0),
        (Duplicates::First, 4.0),
        (Duplicates::Last, 2.0),
    ] {
        let dem = on_all(&cloud, square(9), &unlimited().duplicates(duplicates));
        for (x, y) in &places[..3] {
            let cell = (8 - *y as usize) * 9 + *x as usize;
            assert!((f64::from(only(&dem)[cell]) - (expected + x)).abs() < 1e-6, "{duplicates}");
            assert_eq!(dem.counts.as_ref().unwrap().values()[cell], 1);
        }
        assert_eq!((dem.summary.sites, dem.summary.merged), (4, 12));
    }
}

#[test]
fn very_many_points_at_one_place_are_one_site() {
    let crowd = (0..70_000).map(|i| (0.5, 0.5, f64::from(i % 3)));
    let cloud = Cloud::of(crowd.chain([(2.5, 1.5, 12.0), (1.5, 2.5, 7.0)]));
    let dem = on_all(&cloud, square(3), &unlimited());
    assert_eq!((dem.summary.sites, dem.summary.merged), (3, 69_999));
    let mean = cloud.z[..70_000].iter().sum::<f64>() / 70_000.0;
    assert!((f64::from(only(&dem)[6]) - mean).abs() < 1e-6);
}

#[test]
fn points_outside_the_grid_count_and_far_ones_do_no_harm() {
    let inner = random(2000, 40.0, 3, relief);
    let whole = on_cpu(&inner, square(40), &unlimited());
    // The middle of the grid alone, with all points.
    let grid = GridSpec::new(15.0, 25.0, 1.0, 10, 10).unwrap();
    let part = on_all(&inner, grid, &unlimited());
    for row in 0..10 {
        for column in 0..10 {
            let expected = only(&whole)[(row + 15) * 40 + column + 15];
            assert!((only(&part)[row * 10 + column] - expected).abs() < 1e-5);
        }
    }
    assert!(part.summary.outside > 1800 && part.summary.sites == 2000);
    let mut with_stray = inner.clone();
    for (x, y) in [(2e5, -3e5), (20.0, -1e19), (1e120, 0.0)] {
        with_stray.push((x, y, 0.0));
    }
    let strayed = on_all(&with_stray, grid, &unlimited());
    for (a, b) in only(&strayed).iter().zip(only(&part)) {
        assert!((a - b).abs() < 1e-5, "{a} is not {b}");
    }
}

#[test]
fn one_point_or_two_reach_as_far_as_their_radius() {
    let cloud = Cloud::of([(10.5, 10.5, 5.0), (10.5, 10.5, 5.0)]);
    let params = Params::new().max_distance(4.0).counts(true);
    let dem = on_all(&cloud, square(21), &params);
    for (cell, value) in only(&dem).iter().enumerate() {
        let (dx, dy) = (cell as i32 % 21 - 10, cell as i32 / 21 - 10);
        assert_eq!(dx * dx + dy * dy <= 16, *value == 5.0, "cell {cell}: {value}");
    }
    let everywhere = params.max_distance(f64::INFINITY);
    assert!(only(&on_all(&cloud, square(21), &everywhere)).iter().all(|&v| v == 5.0));
    for params in [params, everywhere, everywhere.distances(true), everywhere.fill(Fill::Nearest)] {
        assert_eq!(on_all(&Cloud::default(), square(21), &params).summary.nodata, 441);
    }
    for (width, height) in [(0, 0), (0, 5), (5, 0)] {
        let grid = GridSpec::new(0.0, 5.0, 1.0, width, height).unwrap();
        let dem = on_all(&Cloud::of([(1.0, 1.0, 1.0)]), grid, &Params::new());
        assert_eq!((only(&dem).len(), dem.summary.outside), (0, 1));
    }
}

#[test]
fn a_void_has_as_many_neighbours_as_border_it() {
    // More sides than any fast path holds, and blocks far beyond the next cells.
    let mut cloud = random(32_000, 40.0, 23, relief);
    let keep: Vec<usize> = (0..cloud.z.len())
        .filter(|&i| (cloud.x[i] - 20.0).hypot(cloud.y[i] - 20.0) > 12.0)
        .collect();
    cloud = Cloud::of(keep.iter().map(|&i| (cloud.x[i], cloud.y[i], cloud.z[i])));
    check("void", &cloud, square(40));
    let dem = on_all(&cloud, square(40), &unlimited());
    let neighbours = dem.counts.unwrap().values()[20 * 40 + 20];
    assert!(neighbours > 64, "{neighbours}");
    let near = on_all(&cloud, square(40), &Params::new().max_distance(5.0));
    assert!(near.summary.nodata > 100, "{}", near.summary.nodata);
}

#[test]
fn cells_of_some_dozens_of_sites_have_the_same_bits() {
    let grid = GridSpec::new(0.5, 24.5, 1.0, 14, 1).unwrap();
    let params = Params::new().deviations(true);
    for seed in [16699746085023199835, 1, 2] {
        let cloud = random(114, 40.0, seed, |x, _| (0.3 * x).sin());
        for weights in [Weights::Sibson, Weights::Laplace] {
            on_all(&cloud, grid, &params.weights(weights));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn devices_agree_in_every_bit(
        (width, height) in (0u32..40, 1u32..24),
        (points, count) in (0usize..300, 0usize..6),
        weights in prop::sample::select(vec![Weights::Sibson, Weights::Laplace, Weights::SibsonC1, Weights::Linear]),
        duplicates in prop::sample::select(Duplicates::ALL.to_vec()),
        fill in prop::sample::select(vec![Fill::Nodata, Fill::Nearest, Fill::Value(-7.5)]),
        (layers, has_mask, hull, snapped) in any::<(bool, bool, bool, bool)>(),
        max_distance in prop_oneof![0.3f64..9.0, Just(f64::INFINITY)],
        seed in any::<u64>(),
    ) {
        let grid = GridSpec::new(0.5, 24.5, 1.0, width, height).unwrap();
        let mut cloud = random(points, 40.0, seed, |x, y| x * y);
        if snapped {
            // Duplicates, lines, and queries on points.
            cloud.x.iter_mut().chain(&mut cloud.y).for_each(|c| *c = (*c / 2.0).round() * 2.0);
        }
        let params = Params::new().weights(weights).duplicates(duplicates).fill(fill).hull(hull).max_distance(max_distance).counts(layers).deviations(layers).distances(layers);
        let columns: Vec<Vec<f64>> = (0..count)
            .map(|k| cloud.x.iter().map(|x| (x * (k as f64 + 0.3)).sin() * 10f64.powi(k as i32)).collect())
            .collect();
        let values = slices(&columns);
        let mask: Vec<u8> = (0..grid.cells()).map(|i| u8::from(i % 5 != 0)).collect();
        let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
        let mask = has_mask.then_some(&mask[..]);
        let all = input_on_all(&masked(points, mask, grid), &params);
        prop_assert_eq!(all.values.len(), count);
        // Each value is as it is alone.
        for (k, found) in all.values.iter().enumerate() {
            let one = masked(Points { values: &values[k..=k], ..points }, mask, grid);
            let alone = interpolate(&Device::Cpu, one, &params).unwrap();
            prop_assert_eq!(bits(found.values()), bits(only(&alone)), "value {} alone", k);
        }
    }
}

#[test]
fn beside_a_straight_edge_cells_have_the_value_next_to_them() {
    // The northern and eastern centres lie within the lattice, the others outside by as little as said.
    let grid = GridSpec::new(0.0, 40.0, 1.0, 40, 40).unwrap();
    for outside in [0.1, 1e-2, 1e-4, 1e-6, 1e-8] {
        let place = |i: u32| f64::from(i) + 0.5 + outside;
        let places = (0..1681).map(|i| [place(i % 41), place(i / 41)]);
        let points = places.map(|[x, y]| (x, y, 2.0 * x - y));
        let cloud = Cloud::of(points);
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let dem = on_all(&cloud, grid, &unlimited().weights(weights));
            for (cell, &z) in (0..).zip(only(&dem)) {
                let (x, y) = grid.cell_centre(cell % 40, cell / 40);
                let [east, north] = [x, y].map(|along| along.clamp(0.5 + outside, 40.5 + outside));
                let off = (f64::from(z) - (2.0 * east - north)).abs();
                assert!(off < 1e-4, "{weights:?}, {outside}: {off} off at {x}, {y}");
            }
        }
    }
}

#[test]
fn the_exact_method_is_the_default() {
    assert_eq!(Params::new().method, Method::Exact);
    assert_eq!("exact".parse(), Ok(Method::Exact));
    assert_eq!("pixels".parse(), Ok(Method::Pixels));
    assert!("raster".parse::<Method>().is_err());
}
