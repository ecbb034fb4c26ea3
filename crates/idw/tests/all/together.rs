//! Targets side by side, whose neighbours are searched together on the GPU: the same bits as one by one, and
//! as on the CPU.

use std::ops::Range;

use crate::common::{Cloud, devices, random_cloud};
use gpu_core::{Device, GridSpec, Points};
use idw::{Input, Params, Statistics, Surface, Targets, TooFewPoints, cross_validate, interpolate};
use proptest::prelude::*;

const SQUARE: [f64; 4] = [0.0, 0.0, 100.0, 100.0];

/// Fewer scattered targets than are sorted: each is searched by itself.
const FEW: usize = 1000;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Values and statistics of some targets, by their bits.
fn words(run: &Surface<f64>, targets: Range<usize>) -> Vec<Vec<u64>> {
    let statistics = run.statistics.as_ref().unwrap();
    let Statistics { count, min, max, mean, deviation, nearest_distance, .. } = statistics;
    let of_neighbours = [min, max, mean, deviation, nearest_distance];
    let columns = run.values.iter().chain(of_neighbours);
    let counts = count[targets.clone()].iter().map(|&n| u64::from(n)).collect();
    columns.map(|column| bits(&column[targets.clone()])).chain([counts]).collect()
}

/// Interpolates two values on every device, compares the values with the CPU's, and all with what targets
/// get that are searched one by one.
pub fn check(cloud: &Cloud, targets: Targets, params: &Params) {
    let params = params.statistics(true);
    let other: Vec<f64> = cloud.z.iter().map(|z| 7.0 - z * 0.3).collect();
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z, &other] };
    let places: (Vec<f64>, Vec<f64>) = (0..targets.len())
        .map(|i| match targets {
            Targets::Points { x, y } => (x[i as usize], y[i as usize]),
            Targets::Grid(grid) => {
                let width = u64::from(grid.width);
                grid.cell_centre((i % width) as u32, (i / width) as u32)
            }
        })
        .unzip();
    let on_cpu = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &params);
    let on_cpu = on_cpu.unwrap().values;
    for device in devices() {
        let run = |targets: Targets| {
            interpolate::<f64>(&device, Input::new(points, targets), &params).unwrap()
        };
        let together = run(targets);
        for (column, wanted) in together.values.iter().zip(&on_cpu) {
            let other = (0..column.len()).find(|&i| column[i].to_bits() != wanted[i].to_bits());
            let place = other.map(|i| (places.0[i], places.1[i], column[i], wanted[i]));
            assert_eq!(place, None, "{}, {params:?}", device.name());
        }
        let (x, y) = (places.0.chunks(FEW), places.1.chunks(FEW));
        for (i, (x, y)) in x.zip(y).enumerate() {
            let alone = words(&run(Targets::Points { x, y }), 0..x.len());
            let found = words(&together, i * FEW..i * FEW + x.len());
            assert_eq!(found, alone, "{}, {params:?}", device.name());
        }
    }
}

fn grid(west: f64, north: f64, cell: f64, width: u32, height: u32) -> Targets<'static> {
    Targets::Grid(GridSpec::new(west, north, cell, width, height).unwrap())
}

fn of_quadrant(max_points: u32) -> Params {
    Params::default().max_points_per_quadrant(max_points)
}

#[test]
fn a_grid_takes_the_nearest_whatever_their_number() {
    let cloud = random_cloud(900, SQUARE, 61);
    // Neither a multiple of the patches' columns nor of their rows.
    let targets = grid(-10.0, 110.0, 3.4, 35, 34);
    for max_points in [1, 3, 8, 9, 12, 16, 24, 25, 32, 33, 48, 49, 64] {
        check(&cloud, targets, &Params::nearest(max_points));
    }
    for (width, height) in [(1, 1), (1, 40), (40, 1), (7, 3), (9, 5)] {
        check(&cloud, grid(20.0, 70.0, 1.0, width, height), &Params::nearest(12).power(3.0));
    }
}

#[test]
fn fewer_points_than_wanted_are_all_taken() {
    for count in [1, 2, 11, 12, 13, 14, 30] {
        let cloud = random_cloud(count, SQUARE, 62);
        let targets = grid(-50.0, 150.0, 10.0, 20, 20);
        check(&cloud, targets, &Params::nearest(12));
        check(&cloud, targets, &Params::nearest(12).min_points(12));
        check(&cloud, targets, &Params::nearest(40).min_points(13));
        check(&cloud, targets, &Params::default().max_points_per_quadrant(5));
    }
}

#[test]
fn targets_far_outside_and_across_a_void_find_the_same() {
    let mut cloud = random_cloud(700, [0.0, 0.0, 30.0, 30.0], 63);
    for i in 0..350 {
        cloud.x[i] += 1000.0;
        cloud.y[i] += 400.0;
    }
    for (cell, width, height) in [(25.0, 50, 24), (1e5, 20, 20), (1e25, 9, 9)] {
        let (west, north) = (-0.1 * cell * f64::from(width), 0.5 * cell * f64::from(height));
        for params in [Params::nearest(12), Params::nearest(48), of_quadrant(2)] {
            check(&cloud, grid(west, north, cell, width, height), &params);
        }
    }
}

#[test]
fn equal_distances_and_equal_points_go_by_their_index() {
    let lattice = |i: u32| (f64::from(i * 7919 % 900 % 30), f64::from(i * 7919 % 900 / 30));
    let value = |i: u32| f64::from(i * 37 % 101);
    let cloud = Cloud::of((0..900).map(|i| (lattice(i).0, lattice(i).1, value(i))));
    for (offset, cell) in [(0.5, 1.0), (0.0, 1.0), (0.25, 0.5)] {
        for max_points in [3, 12, 13, 30, 64] {
            check(&cloud, grid(offset, 30.0 + offset, cell, 27, 22), &Params::nearest(max_points));
        }
        for max_points in [3, 12] {
            check(&cloud, grid(offset, 30.0 + offset, cell, 27, 22), &of_quadrant(max_points));
        }
    }
    // Ten points in each place, then hundreds in one.
    let places = random_cloud(60, SQUARE, 64);
    let ten = |i: u32| (places.x[i as usize % 60], places.y[i as usize % 60], value(i));
    let tens = Cloud::of((0..600).map(ten));
    for params in [Params::nearest(12), Params::nearest(33), of_quadrant(7)] {
        check(&tens, grid(0.0, 100.0, 4.0, 25, 25), &params);
    }
    let heap = |i: u32| if i < 2000 { (50.0, 50.0, value(i)) } else { ten(i) };
    let heaps = Cloud::of((0..2300).map(heap));
    for params in [Params::nearest(8), Params::nearest(50), of_quadrant(3)] {
        check(&heaps, grid(0.0, 100.0, 4.0, 25, 25), &params);
    }
}

#[test]
fn each_point_of_heaps_is_predicted_from_the_others() {
    let cloud = testing::clouds::heaps(5000, 75);
    for params in [Params::nearest(12), of_quadrant(2)] {
        let run = |device: &Device| cloud.with(|p| cross_validate(device, p, &params)).unwrap();
        let wanted = bits(&run(&Device::Cpu).errors);
        for device in devices() {
            assert_eq!(bits(&run(&device).errors), wanted, "{}, {params:?}", device.name());
        }
    }
}

#[test]
fn a_radius_limits_what_is_searched_together() {
    let cloud = random_cloud(1500, SQUARE, 66);
    let targets = grid(-20.0, 120.0, 4.0, 35, 35);
    for radius in [0.1, 2.0, 6.0, 20.0, 1e4] {
        for params in [Params::nearest(12), Params::nearest(40), of_quadrant(3)] {
            let params = params.radius(radius);
            check(&cloud, targets, &params);
            check(&cloud, targets, &params.min_points(4).too_few_points(TooFewPoints::Nearest));
        }
    }
}

#[test]
fn scattered_targets_are_searched_in_whatever_order_they_come() {
    let cloud = random_cloud(5000, SQUARE, 67);
    let mut targets = random_cloud(4500, [-10.0, -10.0, 110.0, 110.0], 68);
    for i in 0..40 {
        targets.x[i * 100] = 1e3 * i as f64;
        targets.y[i * 77 + 5] = -1e12;
    }
    let places = Targets::Points { x: &targets.x, y: &targets.y };
    for max_points in [5, 12, 40] {
        check(&cloud, places, &Params::nearest(max_points));
    }
}

#[test]
fn each_of_many_points_is_predicted_from_the_others() {
    let mut cloud = random_cloud(4200, SQUARE, 69);
    // Points in one place predict each other.
    for i in 0..60 {
        (cloud.x[i + 60], cloud.y[i + 60]) = (cloud.x[i], cloud.y[i]);
    }
    for params in [1, 8, 12, 40].map(Params::nearest).into_iter().chain([of_quadrant(2)]) {
        let run = |device: &Device| cloud.with(|p| cross_validate(device, p, &params)).unwrap();
        let wanted = bits(&run(&Device::Cpu).errors);
        for device in devices() {
            assert_eq!(bits(&run(&device).errors), wanted, "{}, {params:?}", device.name());
        }
    }
}

#[test]
fn a_point_among_a_hundred_at_its_place_is_predicted_from_as_many_as_are_wanted() {
    let mut cloud = random_cloud(700, SQUARE, 90);
    // Searches pass over all but the first points of a place. The one that is left out must not be missing then.
    for i in 100..400 {
        (cloud.x[i], cloud.y[i]) = (cloud.x[0], cloud.y[0]);
    }
    for params in [63, 64].map(Params::nearest).into_iter().chain([of_quadrant(16)]) {
        let run = |device: &Device| cloud.with(|p| cross_validate(device, p, &params)).unwrap();
        let wanted = bits(&run(&Device::Cpu).errors);
        for device in devices() {
            assert_eq!(bits(&run(&device).errors), wanted, "{}, {params:?}", device.name());
        }
    }
}

#[test]
fn an_ellipse_limits_what_is_searched_together() {
    let cloud = random_cloud(1500, SQUARE, 70);
    let targets = grid(-20.0, 120.0, 4.0, 35, 35);
    for (radius1, radius2, angle) in [
        (6.0, 3.0, 30.0),
        (40.0, 2.0, -70.0),
        (0.2, 9.0, 10.0),
        (1e4, 3.0, 45.0),
        (1e-9, 1e-3, 5.0),
    ] {
        for params in [Params::nearest(12), Params::nearest(40), of_quadrant(3)] {
            let params = params.radius1(radius1).radius2(radius2).angle(angle);
            check(&cloud, targets, &params);
            check(&cloud, targets, &params.min_points(4).too_few_points(TooFewPoints::Nearest));
        }
    }
    // Points on the ellipse itself.
    let lattice = Cloud::of(
        (0..900).map(|i| (f64::from(i % 30), f64::from(i / 30), f64::from(i * 37 % 101))),
    );
    let params = Params::nearest(20).radius1(4.0).radius2(2.0);
    check(&lattice, grid(0.5, 29.5, 1.0, 28, 28), &params);
}

#[test]
fn quadrants_are_searched_together() {
    let cloud = random_cloud(1500, SQUARE, 71);
    let targets = grid(-10.0, 110.0, 3.4, 35, 34);
    for max_points in [1, 3, 4, 5, 8, 9, 16] {
        check(&cloud, targets, &of_quadrant(max_points));
        check(&cloud, targets, &of_quadrant(max_points).max_points(max_points * 3));
        check(&cloud, targets, &of_quadrant(max_points).min_points_per_quadrant(1));
    }
    let few = Params::nearest(7).min_points_per_quadrant(2).too_few_points(TooFewPoints::Nearest);
    check(&cloud, targets, &few);
    // Targets on points, and in rows and columns with them: rounding may give an f32 difference either sign.
    let mut aligned = cloud.clone();
    for i in 0..700 {
        aligned.x[i] = (aligned.x[i] / 3.4).round() * 3.4 - 10.0 + 1.7;
        aligned.y[i + 300] = 110.0 - 1.7 - (aligned.y[i + 300] / 3.4).round() * 3.4;
        aligned.x[i] += if i % 3 == 0 { 1e-9 } else { 0.0 };
    }
    aligned.x.iter_mut().for_each(|x| *x += 1e7);
    for max_points in [3, 8] {
        check(&aligned, grid(1e7 - 10.0, 110.0, 3.4, 35, 34), &of_quadrant(max_points));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_search_together_is_that_of_each_target(
        seed in 0u64..1000,
        count in 1usize..900,
        snap in prop::bool::ANY,
        (max_points, of_quadrants) in (1u32..65, prop::option::of(1u32..17)),
        least in 0u32..9,
        radius in prop::option::of(1.0f64..80.0),
        (stretch, angle) in (0.1f64..3.0, -90.0f64..90.0),
        nearest in prop::bool::ANY,
        cell in 0.5f64..8.0,
    ) {
        let mut cloud = random_cloud(count, SQUARE, seed);
        if snap {
            cloud.x.iter_mut().chain(&mut cloud.y).for_each(|v| *v = (*v / 4.0).round() * 4.0);
        }
        let params = match of_quadrants {
            Some(most) => of_quadrant(most).max_points(max_points).min_points_per_quadrant(least.min(most)),
            None => Params::nearest(max_points).min_points(least.min(max_points)),
        };
        let radius = radius.unwrap_or(0.0);
        let below = if nearest { TooFewPoints::Nearest } else { TooFewPoints::Nodata };
        let params = params.radius1(radius).radius2(radius * stretch).angle(angle).too_few_points(below);
        check(&cloud, grid(20.0, 80.0, cell, 18, 13), &params);
    }
}
