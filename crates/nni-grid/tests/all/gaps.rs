//! Points with gaps wider than the distance within which cells have a value: each value is that of all natural neighbours.

use std::time::{Duration, Instant};

use crate::common::{Cloud, on_all, on_cpu, only, oracle, square};
use geo_io::{CsvColumns, Filter};
use gpu_core::{Bounds, GridSpec};
use nni_grid::{Error, Input, Params, Weights, interpolate};

const SIDE: u32 = 120;

/// The distance of a cell's centre to the nearest point, in cells.
fn nearest(cloud: &Cloud, (x, y): (f64, f64)) -> f64 {
    let away = |i: usize| f64::hypot(cloud.x[i] - x, cloud.y[i] - y);
    (0..cloud.len()).map(away).fold(f64::INFINITY, f64::min)
}

/// Calls `check` with the place and the value of each cell that has one. Checks that these are the cells inside the
/// hull and within the distance of a point.
fn each_value(
    cloud: &Cloud,
    grid: GridSpec,
    params: &Params,
    mut check: impl FnMut(usize, (f64, f64), f32),
) {
    let dem = on_all(cloud, grid, &params.hull(true));
    let within = on_cpu(cloud, grid, &params.hull(true).max_distance(f64::INFINITY));
    for (cell, &value) in only(&dem).iter().enumerate() {
        let place = dem.grid.cell_centre(cell as u32 % SIDE, cell as u32 / SIDE);
        let is_near = nearest(cloud, place) <= params.max_distance;
        let has_value = is_near && !only(&within)[cell].is_nan();
        assert_eq!(!value.is_nan(), has_value, "{value} at {place:?}");
        if has_value {
            check(cell, place, value);
        }
    }
}

#[test]
fn a_plane_is_met_in_every_cell_that_has_a_value() {
    let plane = |x: f64, y: f64| y - 0.5 * x;
    for (what, cloud) in Cloud::with_gaps(SIDE.into(), plane) {
        for weights in [Weights::Sibson, Weights::Laplace, Weights::SibsonC1] {
            let params = Params::new().weights(weights);
            let (mut worst, mut cells) = (0.0f64, 0);
            each_value(&cloud, square(SIDE), &params, |_, (x, y), value| {
                worst = worst.max((f64::from(value) - plane(x, y)).abs());
                cells += 1;
            });
            println!("{what}, {weights:?}: {cells} cells, off by at most {worst:.1e}");
            assert!(worst < 1e-4 && cells > 3000, "{what}, {weights:?}: {worst}, {cells}");
        }
    }
}

#[test]
fn gaps_have_the_values_of_a_triangulation() {
    let relief = |x: f64, y: f64| 10.0 * (x / 19.0).sin() * (y / 22.0).cos() + 0.05 * x;
    for (what, cloud) in Cloud::with_gaps(SIDE.into(), relief) {
        let (params, mut worst) = (Params::new(), 0.0f64);
        let expected = oracle(&cloud, &square(SIDE));
        each_value(&cloud, square(SIDE), &params, |cell, _, value| {
            // On the border of the hull it has none.
            let Some(expected) = expected[cell] else { return };
            worst = worst.max((f64::from(value) - expected).abs());
        });
        println!("{what}: off by at most {worst:.1e}");
        assert!(worst < 1e-5 * 26.0, "{what}: {worst}");
    }
}

/// Ground of a real survey has the height of all natural neighbours wherever it has one.
#[test]
fn a_survey_has_the_heights_that_it_has_without_a_limit() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/autzen.laz");
    let path = std::path::Path::new(path);
    if !path.is_file() {
        println!("skipped: {} is not there", path.display());
        return;
    }
    let filter = Filter { classes: Some(vec![2]), ..Filter::default() };
    let points =
        geo_io::read_points(path, &filter, &CsvColumns::default(), &gpu_core::Silent).unwrap();
    let cloud = Cloud { x: points.x, y: points.y, z: points.z, ..Cloud::default() };
    let grid = GridSpec::covering(Bounds::of(&cloud.x, &cloud.y).unwrap(), 3.0).unwrap();
    let near = on_cpu(&cloud, grid, &Params::new());
    let everywhere = on_cpu(&cloud, grid, &Params::new().max_distance(f64::INFINITY));
    assert_eq!(everywhere.summary.nodata, 0);
    let mut left_out = 0;
    for (a, b) in only(&near).iter().zip(only(&everywhere)) {
        left_out += u64::from(a.is_nan());
        assert!(a.is_nan() || a.to_bits() == b.to_bits(), "{a} and {b}");
    }
    assert!(left_out == near.summary.nodata && left_out > 1000 && left_out < grid.cells() / 5);
}

#[test]
fn what_is_left_out_is_not_interpolated() {
    // A corridor of 3000 x 10 cells, turned by 40 degrees: of its rectangle 1 cell in 150 is inside the hull.
    let corridor = Cloud::uniform(12_000, [0.0, 0.0, 3000.0, 10.0], 3, |x, y| x + y);
    let (sin, cos) = 40f64.to_radians().sin_cos();
    let turned = Cloud::of((0..corridor.len()).map(|i| {
        let (x, y) = (corridor.x[i], corridor.y[i]);
        (x * cos - y * sin + 10.0, x * sin + y * cos, corridor.z[i])
    }));
    let grid = GridSpec::new(0.0, 1940.0, 1.0, 2310, 1940).unwrap();
    let params = Params::new();
    for params in [params, params.hull(true), params.hull(true).max_distance(f64::INFINITY)] {
        let start = Instant::now();
        let dem = on_cpu(&turned, grid, &params);
        let time = start.elapsed();
        let valued = grid.cells() - dem.summary.nodata;
        println!("{valued} of {} cells in {time:?}", grid.cells());
        assert!(valued > 25_000 && valued < 120_000, "{valued}");
        // All cells take minutes.
        assert!(time < Duration::from_secs(40), "{time:?}");
    }
}

#[test]
fn cells_left_out_have_no_neighbours_but_a_distance() {
    let cloud = Cloud::of([(2.5, 2.5, 1.0), (6.0, 3.0, 2.0), (3.0, 7.0, 4.0)]);
    let params = Params::new().hull(true).max_distance(1.5);
    let dem = on_all(&cloud, square(9), &params.counts(true).distances(true).deviations(true));
    let (counts, distances) = (dem.counts.as_ref().unwrap(), dem.distances.as_ref().unwrap());
    for (cell, value) in only(&dem).iter().enumerate() {
        let place = dem.grid.cell_centre(cell as u32 % 9, cell as u32 / 9);
        let distance = f64::from(distances.values()[cell]);
        assert!((distance - nearest(&cloud, place)).abs() < 1e-6, "{distance} at {place:?}");
        assert_eq!(value.is_nan(), counts.values()[cell] == 0, "{place:?}");
        assert_eq!(value.is_nan(), dem.deviations.as_ref().unwrap().values()[cell].is_nan());
    }
}

#[test]
fn the_exact_method_has_no_region_of_influence() {
    let cloud = Cloud::of([(1.0, 1.0, 1.0)]);
    for device in crate::common::devices() {
        let params = Params::new().region_of_influence(9.0);
        let error = cloud.with(|points| {
            interpolate(&device, Input::new(points, square(3)), &params).unwrap_err()
        });
        assert_eq!(error, Error::ExactRegionOfInfluence { region_of_influence: 9.0 });
        assert!(error.to_string().contains("use max_distance"), "{error}");
    }
}

#[test]
fn the_exact_method_has_no_query_radius() {
    let cloud = Cloud::of([(1.0, 1.0, 1.0)]);
    for device in crate::common::devices() {
        let params = Params::new().query_radius(9.0);
        let error = cloud.with(|points| {
            interpolate(&device, Input::new(points, square(3)), &params).unwrap_err()
        });
        assert_eq!(error, Error::ExactQueryRadius { query_radius: 9.0 });
        assert!(error.to_string().contains("use max_distance"), "{error}");
    }
}
