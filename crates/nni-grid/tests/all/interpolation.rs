//! The definition, pixel by pixel, and what must follow from it; on the CPU and on the process's GPU.

use crate::common::{Cloud, bits, devices, on_all, only, random, square, united};
use gpu_core::GridSpec;
use nni_grid::{Duplicates, Error, Input, Params, ValueScale, interpolate};
use proptest::prelude::*;

/// The definition of docs/internals/nni-grid.md in plain loops.
fn by_definition(cloud: &Cloud, grid: GridSpec, params: &Params) -> (Vec<f32>, Vec<u32>) {
    let s = i64::from(params.supersample);
    let raster = grid.refined(params.supersample).unwrap();
    let scale = ValueScale::of(&cloud.z);
    let mut pixels: std::collections::BTreeMap<(i64, i64), Vec<i64>> = Default::default();
    for i in 0..cloud.z.len() {
        if let Some((column, row)) = raster.cell_of(cloud.x[i], cloud.y[i]) {
            let values = pixels.entry((i64::from(row), i64::from(column))).or_default();
            values.push(i64::from(scale.quantise(cloud.z[i])));
        }
    }
    let merge = |values: &Vec<i64>| match params.duplicates {
        Duplicates::Mean => {
            let n = values.len() as i64;
            (2 * values.iter().sum::<i64>() + n).div_euclid(2 * n)
        }
        Duplicates::Min => *values.iter().min().unwrap(),
        Duplicates::Max => *values.iter().max().unwrap(),
        Duplicates::First => values[0],
        Duplicates::Last => *values.last().unwrap(),
    };
    // (row, column) of each site, in index order, and its value.
    let sites: Vec<((i64, i64), i64)> = pixels.iter().map(|(&p, v)| (p, merge(v))).collect();
    let squared = |a: (i64, i64), b: (i64, i64)| (a.0 - b.0).pow(2) + (a.1 - b.1).pow(2);
    let centre = |p: (i64, i64)| (2 * p.0 + 1, 2 * p.1 + 1);
    let half = 2.0 * s as f64;
    let circle = ((params.query_radius * half) * (params.query_radius * half)).max(2.0);
    let influence = (params.region_of_influence * half) * (params.region_of_influence * half);

    // Ties go to the lowest index, or to the highest.
    let one = |row: i64, column: i64, to_highest: bool| {
        let q = (s * (2 * row + 1), s * (2 * column + 1));
        let (mut stolen, mut touching) = (Vec::new(), Vec::new());
        for pixel in (0..i64::from(raster.height))
            .flat_map(|y| (0..i64::from(raster.width)).map(move |x| (y, x)))
        {
            let index = |(y, x): (i64, i64)| if to_highest { (-y, -x) } else { (y, x) };
            let nearest = sites.iter().min_by_key(|site| (squared(site.0, pixel), index(site.0)));
            let Some(&(site, value)) = nearest else { continue };
            if squared(centre(site), q) as f64 >= influence {
                continue;
            }
            let away = squared(centre(pixel), q);
            if away as f64 <= circle && away < 4 * squared(site, pixel) {
                stolen.push(value);
            }
            if away <= 2 && (away == 0 || s % 2 == 0) && site == pixel {
                touching.push(value);
            }
        }
        let counted = if stolen.is_empty() { touching } else { stolen };
        let count = counted.len() as u32;
        let value = if count == 0 { f32::NAN } else { scale.mean(counted.iter().sum(), count) };
        (value, count)
    };
    let answer = |row: i64, column: i64| {
        let [(a, m), (b, n)] = [false, true].map(|to_highest| one(row, column, to_highest));
        (united(a, b), m.max(n))
    };
    let (width, height) = (i64::from(grid.width), i64::from(grid.height));
    (0..height)
        .flat_map(|row| (0..width).map(move |column| (row, column)))
        .map(|(row, column)| answer(row, column))
        .unzip()
}

fn check_definition(cloud: &Cloud, grid: GridSpec, params: &Params) {
    let dem = on_all(cloud, grid, params);
    let (values, counts) = by_definition(cloud, grid, params);
    assert_eq!(bits(only(&dem)), bits(&values));
    assert_eq!(dem.summary.nodata, values.iter().filter(|v| v.is_nan()).count() as u64);
    assert_eq!(dem.counts.unwrap().into_values(), counts);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_cell_follows_the_definition(
        (width, height) in (1u32..13, 1u32..13),
        count in 0usize..60,
        query_radius in prop_oneof![0.1f64..6.0, 3.0f64..40.0, Just(f64::INFINITY)],
        region in prop_oneof![0.1f64..9.0, Just(f64::INFINITY)],
        supersample in prop::sample::select(vec![1u32, 2, 3, 4]),
        duplicates in prop::sample::select(Duplicates::ALL.to_vec()),
        seed in any::<u64>(),
    ) {
        let grid = GridSpec::new(0.5, 12.5, 1.0, width, height).unwrap();
        let cloud = random(count, 14.0, seed, |x, y| 3.0 * x - y * y);
        let params =
            Params::on_pixels().query_radius(query_radius).region_of_influence(region).supersample(supersample).duplicates(duplicates);
        check_definition(&cloud, grid, &params);
    }
}

#[test]
fn a_constant_field_comes_back_exactly() {
    for value in [0.0, -17.3, 1234.5678] {
        let cloud = random(300, 40.0, 3, |_, _| value);
        for supersample in [1, 2, 4] {
            let params = Params::on_pixels().supersample(supersample);
            let dem = on_all(&cloud, square(40), &params);
            assert!(only(&dem).iter().all(|&v| v == value as f32 || v.is_nan()));
            assert!(only(&dem).iter().any(|v| !v.is_nan()));
        }
    }
}

/// The greatest error of a plane z = x, away from the border, where natural neighbours are
/// one-sided.
fn plane_error(supersample: u32) -> f64 {
    let cloud = random(500, 48.0, 11, |x, _| x);
    let params = Params::on_pixels().supersample(supersample).query_radius(8.0);
    let dem = on_all(&cloud, square(48), &params);
    let error = |row: usize, column: usize| {
        (f64::from(only(&dem)[row * 48 + column]) - (column as f64 + 0.5)).abs()
    };
    (12..36).flat_map(|row| (12..36).map(move |column| error(row, column))).fold(0.0, f64::max)
}

#[test]
fn a_plane_is_met_within_the_discretisation_which_shrinks() {
    let errors = [1, 2, 4].map(plane_error);
    println!("greatest error of a plane at supersample 1, 2, 4: {errors:.4?}");
    // A site moves by half a pixel's diagonal at most, and so does what is stolen from it.
    for (error, pixel) in errors.iter().zip([1.0, 0.5, 0.25]) {
        assert!(*error < 2.0 * pixel, "{errors:?}");
    }
    assert!(errors[1] < errors[0] && errors[2] < errors[1], "{errors:?}");
}

#[test]
fn a_query_on_a_site_gives_its_value() {
    // Points at cell centres: at odd supersampling the query is on the site.
    let cloud = Cloud::of([(2.5, 2.5, 7.25), (6.5, 3.5, -1.0), (4.5, 7.5, 3.0)]);
    let dem = on_all(&cloud, square(9), &Params::on_pixels().query_radius(20.0));
    for (x, y, z) in [(2, 6, 7.25), (6, 5, -1.0), (4, 1, 3.0)] {
        let at = y * 9 + x;
        assert!((only(&dem)[at] - z).abs() < 1e-6, "{} is not {z}", only(&dem)[at]);
        assert_eq!(dem.counts.as_ref().unwrap().values()[at], 1);
    }
}

#[test]
fn values_one_unit_in_the_last_place_apart_fit_the_words() {
    // The offset is rounded to one of the two values, so the other is a whole range away.
    let cloud = Cloud::of((0..16).map(|i| {
        let (x, y) = (f64::from(i % 4) * 0.5 + 0.25, f64::from(i / 4) * 0.5 + 0.25);
        (x, y, if x < 0.5 && y > 1.5 { 1.0 } else { 1.0 + f64::EPSILON })
    }));
    let dem = on_all(&cloud, square(2), &Params::on_pixels().supersample(2));
    assert_eq!(only(&dem), [1.0; 4]);
}

#[test]
fn points_far_outside_are_counted() {
    let cloud =
        Cloud::of([(1.5, 1.5, 3.0), (1.0, -1e19, 1.0), (1e300, 1.0, 2.0), (-1e19, 1e19, 0.0)]);
    let dem = on_all(&cloud, square(3), &Params::on_pixels());
    assert_eq!((dem.summary.outside, dem.summary.sites), (3, 1));
    assert!(only(&dem).iter().all(|&v| (v - 3.0).abs() < 1e-6));
}

#[test]
fn no_points_and_no_cells() {
    let empty = Cloud::default();
    let dem = on_all(&empty, square(20), &Params::on_pixels());
    assert!(only(&dem).iter().all(|v| v.is_nan()));
    assert_eq!(dem.summary.nodata, 400);
    let outside = Cloud::of([(-5.0, 3.0, 1.0), (3.0, 99.0, 2.0)]);
    let dem = on_all(&outside, square(20), &Params::on_pixels().region_of_influence(f64::INFINITY));
    assert!(only(&dem).iter().all(|v| v.is_nan()));
    assert_eq!((dem.summary.outside, dem.summary.sites), (2, 0));
    for (width, height) in [(0, 0), (0, 5), (5, 0)] {
        let grid = GridSpec::new(0.0, 5.0, 1.0, width, height).unwrap();
        let dem = on_all(&Cloud::of([(1.0, 1.0, 1.0)]), grid, &Params::on_pixels());
        assert_eq!((only(&dem).len(), dem.summary.outside), (0, 1));
    }
}

#[test]
fn one_point_reaches_as_far_as_its_radius() {
    let cloud = Cloud::of([(10.5, 10.5, 5.0)]);
    let params = Params::on_pixels().region_of_influence(4.0);
    let dem = on_all(&cloud, square(21), &params);
    for (cell, value) in only(&dem).iter().enumerate() {
        let (dx, dy) = (cell as i32 % 21 - 10, cell as i32 / 21 - 10);
        let inside = dx * dx + dy * dy < 16;
        assert_eq!(inside, *value == 5.0, "cell {cell}: {value}");
    }
    let everywhere = params.region_of_influence(f64::INFINITY);
    assert!(only(&on_all(&cloud, square(21), &everywhere)).iter().all(|&v| v == 5.0));
}

#[test]
fn points_in_one_pixel_merge_by_the_policy() {
    let cloud = Cloud::of([(1.2, 1.2, 4.0), (1.8, 1.3, 1.0), (1.5, 1.9, 9.0), (1.1, 1.1, 2.0)]);
    for (duplicates, expected) in [
        (Duplicates::Mean, 4.0),
        (Duplicates::Min, 1.0),
        (Duplicates::Max, 9.0),
        (Duplicates::First, 4.0),
        (Duplicates::Last, 2.0),
    ] {
        let dem = on_all(&cloud, square(3), &Params::on_pixels().duplicates(duplicates));
        assert!(only(&dem).iter().all(|v| (v - expected).abs() < 1e-6), "{duplicates}");
        assert_eq!((dem.summary.sites, dem.summary.merged), (1, 3));
        assert_eq!(duplicates.to_string().parse::<Duplicates>(), Ok(duplicates));
    }
    assert!("median".parse::<Duplicates>().is_err());
}

#[test]
fn the_order_of_points_does_not_matter() {
    let cloud = random(600, 24.0, 5, |x, y| (x * 0.7).sin() + y);
    let mut order: Vec<usize> = (0..600).collect();
    order.reverse();
    order.rotate_left(217);
    let shuffled = Cloud::of(order.iter().map(|&i| (cloud.x[i], cloud.y[i], cloud.z[i])));
    for duplicates in [Duplicates::Mean, Duplicates::Min, Duplicates::Max] {
        let params = Params::on_pixels().duplicates(duplicates);
        assert_eq!(
            bits(only(&on_all(&cloud, square(24), &params))),
            bits(only(&on_all(&shuffled, square(24), &params)))
        );
    }
}

#[test]
fn bad_input_is_named() {
    let good = Cloud::of([(1.0, 1.0, 1.0)]);
    let params = Params::on_pixels();
    for device in devices() {
        let of = |cloud: &Cloud, grid: GridSpec, params: &Params| {
            cloud.with(|points| interpolate(&device, Input::new(points, grid), params).unwrap_err())
        };
        let run = |cloud: &Cloud, params: &Params| of(cloud, square(3), params);
        let nan = Cloud::of([(1.0, 1.0, 1.0), (1.0, f64::NAN, 2.0)]);
        for params in [params, Params::new()] {
            let error = run(&nan, &params);
            let expected = gpu_core::Error::NotFinite { what: "y", index: 1, value: f64::NAN };
            assert_eq!(error.to_string(), expected.to_string());
            let (what, index, value) = ("value", 0, f64::INFINITY);
            let infinite = Cloud::of([(1.0, 1.0, value)]);
            let expected = gpu_core::Error::NotFinite { what, index, value };
            assert_eq!(run(&infinite, &params), Error::Core(expected));
            let wide = Cloud::of([(1.0, 1.0, 2.0), (2.0, 2.0, -1e39)]);
            assert_eq!(run(&wide, &params), Error::Value { index: 1, value: -1e39 });
        }
        let flat = GridSpec { cell_size: 0.0, ..square(3) };
        let error = of(&good, flat, &params);
        assert!(matches!(error, Error::Core(gpu_core::Error::CellSize { .. })), "{error}");
        let uneven = Cloud { z: vec![], ..good.clone() };
        let (what, expected, found) = ("column of values", 1, 0);
        let length = gpu_core::Error::Length { what, expected, found };
        assert_eq!(run(&uneven, &params), Error::Core(length));
        for supersample in [0, 9] {
            let error = run(&good, &params.supersample(supersample));
            let text = format!("supersample {supersample} is not from 1 to 8");
            assert_eq!(error.to_string(), text);
        }
        for query_radius in [0.0, -1.0, f64::NAN] {
            let error = run(&good, &params.query_radius(query_radius));
            assert!(
                matches!(
                    error,
                    Error::Core(gpu_core::Error::Parameter { what: "query radius", .. })
                ),
                "{error}"
            );
        }
        for radius in [0.0, -2.0, f64::NAN] {
            let error = run(&good, &params.region_of_influence(radius));
            assert!(
                matches!(
                    error,
                    Error::Core(gpu_core::Error::Parameter { what: "region of influence", .. })
                ),
                "{error}"
            );
        }
        let grid = GridSpec::new(0.0, 0.0, 1.0, 1 << 20, 1 << 20).unwrap();
        assert!(matches!(of(&good, grid, &Params::on_pixels()), Error::TooLarge { .. }));
    }
}

#[test]
fn a_callback_can_cancel() {
    struct Stop;
    impl gpu_core::Progress for Stop {
        fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Break(())
        }
    }
    let cloud = Cloud::of([(1.0, 1.0, 1.0)]);
    for device in devices() {
        for params in [Params::on_pixels(), Params::new()] {
            let ended = cloud.with(|points| {
                interpolate(device.with_progress(&Stop), Input::new(points, square(3)), &params)
            });
            assert_eq!(ended.unwrap_err(), Error::Cancelled(gpu_core::Cancelled));
        }
    }
}

#[test]
fn the_finest_raster_follows_the_definition() {
    let cloud = random(15, 6.0, 77, |x, y| x * y);
    for query_radius in [1.5, f64::INFINITY] {
        let params = Params::on_pixels().supersample(8).query_radius(query_radius);
        check_definition(&cloud, square(5), &params);
    }
}

#[test]
fn tiles_and_the_tiles_they_leave_agree_with_the_cpu() {
    // Dense on the left and empty on the right, so that regions of influence end in some tiles only.
    let dense = random(6000, 90.0, 31, |x, y| (0.1 * x).sin() * y);
    let cloud = Cloud::of((0..6000).map(|i| (dense.x[i], dense.y[i], dense.z[i])));
    for (supersample, query_radius) in [(1, 3.0), (1, 4.6), (2, 1.9), (2, 3.0)] {
        let grid = GridSpec::new(0.0, 85.0, 1.0, 150, 85).unwrap();
        let params = Params::on_pixels()
            .supersample(supersample)
            .query_radius(query_radius)
            .region_of_influence(6.0);
        let dem = on_all(&cloud, grid, &params);
        let empty = only(&dem).iter().filter(|v| v.is_nan()).count();
        assert!(empty > 150 * 20 && empty < 150 * 40, "{empty} cells are empty");
    }
}
