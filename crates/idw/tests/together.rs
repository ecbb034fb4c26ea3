//! Targets side by side, whose neighbours are searched together on the GPU: the same bits as one by one, and
//! as on the CPU.

mod common;

use std::ops::Range;

use common::{Cloud, devices, random_cloud};
use gpu_core::{Device, GridSpec, Points};
use idw::{Below, Input, Params, Statistics, Surface, Targets, cross_validate, interpolate};

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
fn check(cloud: &Cloud, targets: Targets, params: &Params) {
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
    let on_cpu = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &params, &());
    let on_cpu = on_cpu.unwrap().values;
    for device in devices() {
        let run = |targets: Targets| {
            interpolate::<f64>(&device, Input::new(points, targets), &params, &()).unwrap()
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

#[test]
fn a_grid_takes_the_nearest_whatever_their_number() {
    let cloud = random_cloud(900, SQUARE, 61);
    // Neither a multiple of the patches' columns nor of their rows.
    let targets = grid(-10.0, 110.0, 3.4, 35, 34);
    for max_points in [1, 3, 8, 9, 12, 16, 24] {
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
        check(&cloud, grid(west, north, cell, width, height), &Params::nearest(12));
    }
}

#[test]
fn equal_distances_and_equal_points_go_by_their_index() {
    let lattice = |i: u32| (f64::from(i * 7919 % 900 % 30), f64::from(i * 7919 % 900 / 30));
    let value = |i: u32| f64::from(i * 37 % 101);
    let cloud = Cloud::of((0..900).map(|i| (lattice(i).0, lattice(i).1, value(i))));
    for (offset, cell) in [(0.5, 1.0), (0.0, 1.0), (0.25, 0.5)] {
        for max_points in [3, 12, 13] {
            check(&cloud, grid(offset, 30.0 + offset, cell, 27, 22), &Params::nearest(max_points));
        }
    }
    // Ten points in each place, then hundreds in one.
    let places = random_cloud(60, SQUARE, 64);
    let ten = |i: u32| (places.x[i as usize % 60], places.y[i as usize % 60], value(i));
    check(&Cloud::of((0..600).map(ten)), grid(0.0, 100.0, 4.0, 25, 25), &Params::nearest(12));
    let heap = |i: u32| if i < 2000 { (50.0, 50.0, value(i)) } else { ten(i) };
    check(&Cloud::of((0..2300).map(heap)), grid(0.0, 100.0, 4.0, 25, 25), &Params::nearest(8));
}

#[test]
fn crowded_points_are_searched_alike() {
    // Half of the points in a thousandth of the ground, at a great distance from the origin.
    let mut cloud = random_cloud(6000, SQUARE, 65);
    for i in 0..3000 {
        (cloud.x[i], cloud.y[i]) = (40.0 + 0.03 * cloud.x[i], 60.0 + 0.03 * cloud.y[i]);
    }
    cloud.x.iter_mut().for_each(|x| *x += 5e6);
    let targets = grid(5e6 - 5.0, 105.0, 3.0, 37, 37);
    for max_points in [8, 12, 24] {
        check(&cloud, targets, &Params::nearest(max_points).smoothing(0.5));
    }
}

#[test]
fn a_radius_limits_what_is_searched_together() {
    let cloud = random_cloud(1500, SQUARE, 66);
    let targets = grid(-20.0, 120.0, 4.0, 35, 35);
    for radius in [0.1, 2.0, 6.0, 20.0, 1e4] {
        let params = Params::nearest(12).radius(radius);
        check(&cloud, targets, &params);
        check(&cloud, targets, &params.min_points(4).below(Below::Nearest));
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
    for max_points in [5, 12] {
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
    for max_points in [1, 8, 12] {
        let params = Params::nearest(max_points);
        let run =
            |device: &Device| cloud.with(|p| cross_validate(device, p, &params, &())).unwrap();
        let wanted = bits(&run(&Device::Cpu).errors);
        for device in devices() {
            assert_eq!(bits(&run(&device).errors), wanted, "{}, {params:?}", device.name());
        }
    }
}
