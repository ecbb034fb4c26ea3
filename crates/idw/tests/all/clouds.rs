//! Every cloud of the list, by the definition in plain f64 loops, on the CPU and on the process's GPU. Each cloud may
//! show a slow or wrong result that no other shows.

use crate::common::{Cloud, Random, assert_close, devices, expected, targets_at, values};
use crate::{neighbours, together};
use gpu_core::GridSpec;
use idw::{Method, Params, Targets, TooFewPoints};
use testing::clouds::{self, SIDE};

/// The list's clouds, with values of which each point has another than those beside it, and at its place.
fn all(points: usize, seed: u64) -> impl Iterator<Item = Cloud> {
    clouds::all(points, seed).map(|mut cloud| {
        cloud.z.iter_mut().enumerate().for_each(|(i, z)| *z += (i * 37 % 101) as f64);
        println!("{}", cloud.name);
        cloud
    })
}

/// Targets on points, beside points from near to far, anywhere in the square, and far outside of it.
fn places(cloud: &Cloud, count: usize) -> Cloud {
    let mut random = Random::new(7);
    Cloud::of((0..count).map(|i| {
        let of = random.below(cloud.len() as u64) as usize;
        let [u, v] = [(); 2].map(|()| random.between(-1.0, 1.0));
        let beside = |reach: f64| (cloud.x[of] + reach * u, cloud.y[of] + reach * v, 0.0);
        match i % 5 {
            0 => beside(0.0),
            1 | 2 => beside(10f64.powf(random.between(-8.0, 2.0))),
            3 => (SIDE * (u + 1.0) / 2.0, SIDE * (v + 1.0) / 2.0, 0.0),
            _ => (SIDE * 1e3f64.powf(random.unit()) * u, SIDE * v, 0.0),
        }
    }))
}

/// A search of each kind: the nearest, within a radius, within an ellipse, by quadrants.
fn searches() -> [Params; 7] {
    let nearest = Params::nearest(12);
    [
        Params::nearest(1),
        nearest,
        Params::nearest(40),
        Params::default().radius(60.0),
        nearest.radius(30.0),
        nearest.radius1(80.0).radius2(10.0).angle(30.0),
        Params::default().max_points_per_quadrant(3),
    ]
}

#[test]
fn neighbours_are_those_of_the_definition_in_every_cloud() {
    // More than lists hold.
    let many = [Params::nearest(100), Params::default().max_points_per_quadrant(20)];
    for cloud in all(400, 1) {
        let targets = places(&cloud, 40);
        searches()
            .iter()
            .chain(&many)
            .for_each(|params| neighbours::check(&cloud, &targets, params, 1e-11));
    }
}

#[test]
fn grids_are_searched_alike_together_and_alone_in_every_cloud() {
    for cloud in all(1200, 2) {
        // Over the square, and over what lies closely around a point.
        let middle = cloud.len() / 2;
        let (x, y, cell) = (cloud.x[middle], cloud.y[middle], 1e-5 * SIDE);
        let near = GridSpec::new(x - 9.3 * cell, y + 7.1 * cell, cell, 12, 14).unwrap();
        let square = GridSpec::new(-0.1 * SIDE, 1.1 * SIDE, 0.09 * SIDE, 14, 14).unwrap();
        // (What lies within a radius, however much, has no one order of summation.)
        for params in searches().into_iter().filter(|params| params.radius1 != 60.0) {
            together::check(&cloud, Targets::Grid(square), &params);
            together::check(&cloud, Targets::Grid(near), &params);
        }
    }
}

/// Radii that hold few points, many, and all: with many no list is made.
#[test]
fn sums_within_a_radius_are_those_of_the_definition_in_every_cloud() {
    for cloud in all(3000, 4) {
        let targets = places(&cloud, 25);
        let base = Params::default();
        for params in [
            base.radius(0.05 * SIDE),
            base.power(1.0).radius(0.4 * SIDE),
            base.power(2.5).radius(1e4 * SIDE).min_points(300),
            base.power(3.0).radius1(0.8 * SIDE).radius2(0.2 * SIDE).angle(30.0),
            base.power(4.0).smoothing(1e-3 * SIDE).radius(0.4 * SIDE).min_points(400),
            base.radius(0.3 * SIDE).min_points(500).too_few_points(TooFewPoints::Nearest),
            base.radius(0.4 * SIDE).method(Method::Direct),
        ] {
            let wanted = expected(&cloud, &targets, &params);
            for device in devices() {
                let what = format!("{}, {}, {params:?}", cloud.name, device.name());
                let found = values::<f64>(&device, &cloud, targets_at(&targets), &params);
                assert_close(&found, &wanted, 1e-12, &what);
                let found = values::<f32>(&device, &cloud, targets_at(&targets), &params);
                assert_close(&found, &wanted, 1e-5, &what);
            }
        }
    }
}

#[test]
fn sums_over_all_points_are_those_of_the_definition_in_every_cloud() {
    for cloud in all(600, 3) {
        let targets = places(&cloud, 25);
        for (power, method) in [
            (2.0, Method::Direct),
            (1.0, Method::Expansion),
            (2.5, Method::Expansion),
            (4.0, Method::Expansion),
        ] {
            let params = Params::default().power(power).method(method);
            let wanted = expected(&cloud, &targets, &params);
            for device in devices() {
                let what = format!("{}, {}, power {power}, {method:?}", cloud.name, device.name());
                let found = values::<f64>(&device, &cloud, targets_at(&targets), &params);
                assert_close(&found, &wanted, 1e-12, &what);
                let found = values::<f32>(&device, &cloud, targets_at(&targets), &params);
                assert_close(&found, &wanted, 1e-5, &what);
            }
        }
    }
}
