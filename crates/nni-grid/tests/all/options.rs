//! Weights, layers and limits beyond the plain DEM, against plain loops; on the CPU and on the process's GPU,
//! which agree in all bits.

use crate::common::{
    Cloud, bits, devices, input_on_all, layer_bits, masked, on_all, on_cpu, only, random, slices,
    square, united,
};
use gpu_core::{GridSpec, GridView, Points};
use nni_grid::{Error, Fill, Input, Params, ValueScale, Weights, interpolate};
use proptest::prelude::*;

/// The sites of a cloud with one point in a pixel: (column, row) in half pixels, and value.
fn sites(cloud: &Cloud, grid: GridSpec, params: &Params) -> Vec<([i64; 2], i64)> {
    let raster = grid.refined(params.supersample).unwrap();
    let scale = ValueScale::of(&cloud.z);
    let mut sites = Vec::new();
    for i in 0..cloud.z.len() {
        if let Some((column, row)) = raster.cell_of(cloud.x[i], cloud.y[i]) {
            let centre = [2 * i64::from(column) + 1, 2 * i64::from(row) + 1];
            let value = i64::from(scale.quantise(cloud.z[i]));
            if !sites.iter().any(|&(place, _)| place == centre) {
                sites.push((centre, value));
            }
        }
    }
    // In the order of their indices.
    sites.sort_by_key(|&([x, y], _)| (y, x));
    sites
}

fn squared(a: [i64; 2], b: [i64; 2]) -> i64 {
    (a[0] - b[0]).pow(2) + (a[1] - b[1]).pow(2)
}

/// What a query point steals: each pixel's site, or `None`, row by row. Ties go to the lowest index, or to
/// the highest.
fn stolen(
    q: [i64; 2],
    raster: [i64; 2],
    sites: &[([i64; 2], i64)],
    to_highest: bool,
) -> Vec<Option<usize>> {
    let of = |pixel: [i64; 2]| {
        let away = |s: &usize| squared(sites[*s].0, pixel);
        let nearest = match to_highest {
            false => (0..sites.len()).min_by_key(away)?,
            true => (0..sites.len()).rev().min_by_key(away)?,
        };
        (squared(pixel, q) < squared(sites[nearest].0, pixel)).then_some(nearest)
    };
    let row = |y: i64| (0..raster[0]).map(move |x| [2 * x + 1, 2 * y + 1]);
    (0..raster[1]).flat_map(row).map(of).collect()
}

/// The query points of all cells, in half pixels, row by row.
fn queries(grid: GridSpec, params: &Params) -> Vec<[i64; 2]> {
    let at = |i: u32| i64::from(params.supersample * (2 * i + 1));
    let row = |y: u32| (0..grid.width).map(move |x| [at(x), at(y)]);
    (0..grid.height).flat_map(row).collect()
}

fn raster(grid: GridSpec, params: &Params) -> [i64; 2] {
    [grid.width, grid.height].map(|side| i64::from(side * params.supersample))
}

const UNLIMITED: f64 = f64::INFINITY;

fn unlimited() -> Params {
    Params::on_pixels()
        .query_radius(UNLIMITED)
        .region_of_influence(UNLIMITED)
        .duplicates(nni_grid::Duplicates::First)
}

/// Laplace's weights by counting the sides of pixels.
fn laplace_by_definition(cloud: &Cloud, grid: GridSpec, params: &Params) -> Vec<Option<f64>> {
    let (sites, [width, height]) = (sites(cloud, grid, params), raster(grid, params));
    let scale = ValueScale::of(&cloud.z);
    let one = |q: [i64; 2], to_highest: bool| {
        let region = stolen(q, [width, height], &sites, to_highest);
        let at = |x: i64, y: i64| region[(y * width + x) as usize];
        let (mut sum, mut weights) = (0.0, 0.0);
        for y in 0..height {
            for x in 0..width {
                let Some(site) = at(x, y) else { continue };
                let sides = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
                let is_border = |&(x, y): &(i64, i64)| {
                    (0..width).contains(&x) && (0..height).contains(&y) && at(x, y).is_none()
                };
                let count = sides.iter().filter(|side| is_border(side)).count() as f64;
                let (place, value) = sites[site];
                let away = (place[0] - q[0]).abs() + (place[1] - q[1]).abs();
                weights += count / away as f64;
                sum += count / away as f64 * value as f64;
            }
        }
        (weights > 0.0).then(|| scale.offset + sum / weights * scale.step)
    };
    let answer = |q| Some((one(q, false)? + one(q, true)?) / 2.0);
    queries(grid, params).into_iter().map(answer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn laplace_weights_are_sides_over_distance(
        (width, height) in (1u32..9, 1u32..9),
        count in 0usize..20,
        supersample in 1u32..4,
        seed in any::<u64>(),
    ) {
        let grid = GridSpec::new(0.5, 9.5, 1.0, width, height).unwrap();
        let cloud = random(count, 11.0, seed, |x, y| 3.0 * x - y * y);
        let params = unlimited().supersample(supersample).weights(Weights::Laplace);
        let dem = on_all(&cloud, grid, &params);
        for (value, expected) in only(&dem).iter().zip(laplace_by_definition(&cloud, grid, &params)) {
            // Where nothing is stolen the query point is on a site, or amid four.
            if let Some(expected) = expected {
                let error = (f64::from(*value) - expected).abs();
                prop_assert!(error <= 1e-5 * expected.abs().max(1.0), "{value} is not {expected}");
            }
        }
    }

    #[test]
    fn layers_and_limits_follow_their_definitions(
        (width, height) in (1u32..9, 1u32..9),
        count in 0usize..12,
        supersample in 1u32..4,
        (query_radius, max_distance) in (prop_oneof![1f64..6.0, Just(UNLIMITED)], 0f64..5.0),
        fill in prop::sample::select(vec![Fill::Nodata, Fill::Nearest, Fill::Value(-7.5)]),
        (hull, has_mask) in any::<(bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let grid = GridSpec::new(0.5, 9.5, 1.0, width, height).unwrap();
        let cloud = random(count, 11.0, seed, |x, y| 3.0 * x - y * y);
        let plain = unlimited().supersample(supersample).query_radius(query_radius).deviations(true);
        let params = plain.max_distance(max_distance).fill(fill).hull(hull).distances(true);
        let mask: Vec<u8> =
            (0..grid.cells()).map(|i| u8::from((i * 7 + seed % 5) % 3 != 0)).collect();
        let values: [&[f64]; 1] = [&cloud.z];
        let mask = has_mask.then_some(&mask[..]);
        let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
        let dem = input_on_all(&masked(points, mask, grid), &params);
        let distances = dem.distances.as_ref().unwrap().values();
        let base = on_cpu(&cloud, grid, &plain);
        let deviations = base.deviations.as_ref().unwrap().values();
        let (sites, scale) = (sites(&cloud, grid, &params), ValueScale::of(&cloud.z));
        let half = 2.0 * f64::from(supersample);
        let [raster_width, raster_height] = raster(grid, &params);
        for (i, q) in queries(grid, &params).into_iter().enumerate() {
            // The nearest of the sites of the pixels that touch the query point.
            let reach = if supersample % 2 == 1 { 0 } else { 1 };
            let corners = [-reach, reach].map(|dy| [-reach, reach].map(|dx| [q[0] + dx, q[1] + dy]));
            let touching = corners.iter().flatten().filter_map(|&pixel| {
                (0..sites.len()).min_by_key(|&s| squared(sites[s].0, pixel))
            });
            let nearest = touching.min_by_key(|&s| (squared(sites[s].0, q), s));
            let away = nearest.map_or(f64::INFINITY, |s| (squared(sites[s].0, q) as f64).sqrt() / half);
            prop_assert_eq!(distances[i], away as f32);
            let inside = !hull || in_hull(q, &sites.iter().map(|s| s.0).collect::<Vec<_>>());
            let kept = inside && away <= max_distance;
            let value = only(&base)[i];
            let expected = match fill {
                _ if mask.is_some_and(|mask| mask[i] == 0) => f32::NAN,
                _ if kept && !value.is_nan() => value,
                Fill::Value(fill) => fill,
                Fill::Nearest => nearest.map_or(f32::NAN, |s| scale.mean(sites[s].1, 1)),
                _ => f32::NAN,
            };
            prop_assert_eq!(bits(&[only(&dem)[i]]), bits(&[expected]), "cell {}", i);
            // The deviation, where the circle is the whole raster and something is stolen.
            let deviation = |to_highest: bool| {
                let region = stolen(q, [raster_width, raster_height], &sites, to_highest);
                let counted: Vec<usize> = region.into_iter().flatten().collect();
                let mean = |k: usize| {
                    let sum: i64 = counted.iter().map(|&s| sites[s].0[k] - q[k]).sum();
                    sum as f64 / counted.len() as f64
                };
                mean(0).hypot(mean(1)) / half
            };
            // The mean of both; not a number where nothing is stolen.
            let expected = (deviation(false) + deviation(true)) / 2.0;
            if query_radius == UNLIMITED && !expected.is_nan() {
                let found = f64::from(deviations[i]);
                prop_assert!((found - expected).abs() < 1e-5 * expected.max(1.0));
            }
        }
    }
}

/// Whether a point is in the convex hull of others, by trying all their triangles.
fn in_hull(q: [i64; 2], sites: &[[i64; 2]]) -> bool {
    let cross =
        |a: [i64; 2], b: [i64; 2]| (a[0] - q[0]) * (b[1] - q[1]) - (a[1] - q[1]) * (b[0] - q[0]);
    let dot =
        |a: [i64; 2], b: [i64; 2]| (a[0] - q[0]) * (b[0] - q[0]) + (a[1] - q[1]) * (b[1] - q[1]);
    let pairs = || sites.iter().flat_map(|&a| sites.iter().map(move |&b| (a, b)));
    sites.contains(&q)
        || pairs().any(|(a, b)| cross(a, b) == 0 && dot(a, b) < 0)
        || pairs().any(|(a, b)| {
            cross(a, b) > 0 && sites.iter().any(|&c| cross(b, c) > 0 && cross(c, a) > 0)
        })
}

#[test]
fn every_weight_keeps_a_constant_and_nearly_a_plane() {
    for weights in [Weights::Laplace, Weights::SibsonC1] {
        let params = unlimited().weights(weights).supersample(2);
        let constant = on_all(&random(60, 24.0, 3, |_, _| -17.25), square(24), &params);
        assert!(only(&constant).iter().all(|&v| v == -17.25), "{weights:?}");
        let cloud = random(80, 24.0, 11, |x, _| x);
        let dem = on_all(&cloud, square(24), &params);
        for row in 6..18 {
            for column in 6..18 {
                let error =
                    (f64::from(only(&dem)[row * 24 + column]) - (column as f64 + 0.5)).abs();
                assert!(error < 1.0, "{weights:?}: {error} at ({column}, {row})");
            }
        }
    }
}

#[test]
fn gradients_make_a_smooth_surface_more_accurate() {
    let height = |x: f64, y: f64| 0.05 * ((x - 32.0).powi(2) + (y - 30.0).powi(2));
    let cloud = random(160, 64.0, 5, height);
    let error = |weights| {
        let params = unlimited().weights(weights).supersample(4);
        let dem = on_cpu(&cloud, square(64), &params);
        let mut sum = 0.0;
        for row in 16..48u32 {
            for column in 16..48u32 {
                let (x, y) = dem.grid.cell_centre(column, row);
                sum += (f64::from(only(&dem)[(row * 64 + column) as usize]) - height(x, y)).powi(2);
            }
        }
        (sum / 1024.0).sqrt()
    };
    let errors = [Weights::Sibson, Weights::Laplace, Weights::SibsonC1].map(error);
    println!("RMSE on a paraboloid, Sibson, Laplace, Sibson C1: {errors:.4?}");
    assert!(errors[2] < 0.6 * errors[0], "{errors:?}");
    assert!(errors[1] < 2.0 * errors[0], "{errors:?}");
}

#[test]
fn lone_sites_at_the_corners_of_tiles_have_gradients() {
    // The GPU takes larger boxes and other tiles where there are fewer points; these are the tiles' cells.
    for (crowd, [columns, rows]) in [(5000, [96, 36]), (1000, [96, 28]), (0, [64, 26])] {
        let grid = GridSpec::new(0.0, 120.0, 1.0, 200, 120).unwrap();
        let far = [[0, 0], [199, 0], [0, 119], [199, 119]];
        let corners = [[columns, rows], [columns - 1, rows - 1], [columns, rows - 1]];
        for corner in corners {
            let at = |[column, row]: [u32; 2]| {
                let (x, y) = grid.cell_centre(column, row);
                (x, y, 0.1 * x + 0.01 * x * y)
            };
            let crowded = (0..crowd).map(|i| at([190 + i % 9, 110 + i / 9 % 9]));
            let lone = far.into_iter().chain([corner]).map(at);
            let params = unlimited().weights(Weights::SibsonC1);
            on_all(&Cloud::of(lone.chain(crowded)), grid, &params);
        }
    }
}

#[test]
fn a_large_void_is_filled_exactly() {
    // Sites around the border of 300 x 300 pixels; a few query points by brute force.
    let grid = square(300);
    let cloud = Cloud::of((0..40).map(|i| {
        let angle = f64::from(i) * 0.157;
        let (x, y) = (150.0 + 140.0 * angle.cos(), 150.0 + 140.0 * angle.sin());
        (x, y, angle.sin() * 10.0)
    }));
    let radii = [UNLIMITED, 170.0, 95.0, 20.0];
    for (supersample, region) in radii.map(|r| (1, r)).into_iter().chain([(2, 95.0), (2, 20.0)]) {
        let params = unlimited().region_of_influence(region).supersample(supersample);
        let dem = on_cpu(&cloud, grid, &params);
        let (sites, scale) = (sites(&cloud, grid, &params), ValueScale::of(&cloud.z));
        let cells = [[150, 150], [149, 37], [260, 191], [12, 288], [88, 140], [150, 20], [24, 150]];
        for [column, row] in cells {
            let q = [2 * column + 1, 2 * row + 1].map(|place| place * i64::from(supersample));
            let limit = (2.0 * region * f64::from(supersample)).powi(2);
            let one = |to_highest: bool| {
                let counted: Vec<i64> = stolen(q, raster(grid, &params), &sites, to_highest)
                    .into_iter()
                    .flatten()
                    .filter(|&s| (squared(sites[s].0, q) as f64) < limit)
                    .map(|s| sites[s].1)
                    .collect();
                match counted.len() {
                    0 => f32::NAN,
                    n => scale.mean(counted.iter().sum(), n as u32),
                }
            };
            let expected = united(one(false), one(true));
            let found = only(&dem)[(row * 300 + column) as usize];
            assert_eq!(bits(&[found]), bits(&[expected]), "({column}, {row})");
        }
    }
}

#[test]
fn pixels_with_very_many_points_are_counted() {
    // 70,000 points in one pixel and 66,000 in another, which is more than a word counts.
    let crowd = (0..136_000).map(|i| match i < 70_000 {
        true => (0.5, 0.5, f64::from(i % 3)),
        false => (2.5, 1.5, f64::from(i % 7) - 50.0),
    });
    let cloud = Cloud::of(crowd.chain([(1.5, 2.5, 12.0)]));
    let dem = on_all(&cloud, square(3), &unlimited_mean());
    assert_eq!((dem.summary.sites, dem.summary.merged), (3, 135_998));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let [first, second] = [&cloud.z[..70_000], &cloud.z[70_000..136_000]].map(mean);
    assert!((f64::from(only(&dem)[6]) - first).abs() < 1e-6);
    assert!((f64::from(only(&dem)[5]) - second).abs() < 1e-5);
}

fn unlimited_mean() -> Params {
    unlimited().duplicates(nni_grid::Duplicates::Mean)
}

/// Columns of values of a cloud, all different, one of them constant.
fn columns(cloud: &Cloud, count: usize) -> Vec<Vec<f64>> {
    let of = |k: usize| {
        let value = move |(x, y): (&f64, &f64)| match k {
            1 => -3.5,
            _ => (x * (k as f64 + 0.3)).sin() * 10f64.powi(k as i32) + y,
        };
        cloud.x.iter().zip(&cloud.y).map(value).collect()
    };
    (0..count).map(of).collect()
}

fn check_several(
    cloud: &Cloud,
    count: usize,
    grid: GridSpec,
    params: &Params,
    mask: Option<&[u8]>,
) {
    let columns = columns(cloud, count);
    let values = slices(&columns);
    let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
    for device in devices() {
        let name = device.name();
        let all = interpolate(&device, masked(points, mask, grid), params).unwrap();
        assert_eq!(all.values.len(), count);
        for (k, found) in all.values.iter().enumerate() {
            let one = masked(Points { values: &values[k..=k], ..points }, mask, grid);
            let alone = interpolate(&device, one, params).unwrap();
            let what = format!("value {k} of {count}, {name}");
            assert_eq!(bits(found.values()), bits(only(&alone)), "{what}");
            assert_eq!((&all.counts, all.summary), (&alone.counts, alone.summary), "{what}");
            assert_eq!(layer_bits(&all.distances), layer_bits(&alone.distances), "{what}");
            assert_eq!(layer_bits(&all.deviations), layer_bits(&alone.deviations), "{what}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn several_values_are_each_as_alone(
        (width, height) in (0u32..40, 1u32..24),
        (points, count) in (0usize..200, 0usize..8),
        supersample in 1u32..4,
        query_radius in prop_oneof![0.5f64..6.0, 8f64..30.0, Just(UNLIMITED)],
        region in prop_oneof![0.5f64..9.0, Just(UNLIMITED)],
        weights in prop::sample::select(vec![Weights::Sibson, Weights::Laplace, Weights::SibsonC1]),
        duplicates in prop::sample::select(nni_grid::Duplicates::ALL.to_vec()),
        fill in prop::sample::select(vec![Fill::Nodata, Fill::Nearest, Fill::Value(-7.5)]),
        (layers, has_mask, hull) in any::<(bool, bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let grid = GridSpec::new(0.5, 24.5, 1.0, width, height).unwrap();
        let cloud = random(points, 40.0, seed, |x, y| x * y);
        let is_sibson = weights == Weights::Sibson;
        let query_radius = if is_sibson { query_radius } else { UNLIMITED };
        let base = Params::on_pixels().supersample(supersample).query_radius(query_radius).region_of_influence(region).weights(weights);
        let params = base.duplicates(duplicates).fill(fill).hull(hull).counts(layers && is_sibson).deviations(layers && is_sibson && seed % 2 == 0).distances(layers);
        let mask: Vec<u8> = (0..grid.cells()).map(|i| u8::from(i % 5 != 0)).collect();
        check_several(&cloud, count, grid, &params, has_mask.then_some(&mask[..]));
    }
}

#[test]
fn several_values_of_every_small_circle() {
    let cloud = random(900, 40.0, 9, |x, y| x * y);
    let grid = GridSpec::new(0.0, 40.0, 1.0, 70, 37).unwrap();
    for (supersample, query_radius) in [(1, 3.0), (1, 5.0), (2, 2.0), (2, 3.0)] {
        for count in [2, 3, 6] {
            let base = Params::on_pixels()
                .supersample(supersample)
                .query_radius(query_radius)
                .region_of_influence(6.0);
            check_several(&cloud, count, grid, &base.counts(true), None);
        }
    }
}

#[test]
fn crowded_pixels_have_several_values() {
    let crowd = (0..66_000).map(|i| (0.5, 0.5, f64::from(i % 3)));
    let cloud = Cloud::of(crowd.chain([(1.5, 2.5, 12.0)]));
    check_several(&cloud, 3, square(3), &unlimited_mean(), None);
}

#[test]
fn bad_options_are_named() {
    let cloud = Cloud::of([(1.0, 1.0, 1.0)]);
    let params = Params::on_pixels();
    for device in devices() {
        let run = |params: &Params| {
            cloud.with(|points| {
                interpolate(&device, Input::new(points, square(3)), params).unwrap_err()
            })
        };
        for max_distance in [-1.0, f64::NAN] {
            let error = run(&params.max_distance(max_distance));
            assert!(
                matches!(
                    error,
                    Error::Core(gpu_core::Error::Parameter { what: "maximum distance", .. })
                ),
                "{error}"
            );
        }
        let error = run(&params.fill(Fill::Value(f32::INFINITY)));
        assert!(
            matches!(error, Error::Core(gpu_core::Error::Parameter { what: "fill value", .. })),
            "{error}"
        );
        let error = run(&params.weights(Weights::Laplace));
        assert!(matches!(error, Error::WeightsRadius { query_radius: 3.0, .. }), "{error}");
        let smooth = unlimited().weights(Weights::SibsonC1);
        let error = run(&smooth.counts(true));
        assert_eq!(error, Error::WeightsLayers { weights: Weights::SibsonC1 });
        let mask = GridView::new(&[1; 8], GridSpec::of_pixels(2, 4)).unwrap();
        let error = cloud.with(|points| {
            let input = Input::new(points, square(3)).mask(mask);
            interpolate(&device, input, &params).unwrap_err()
        });
        let (rows, columns, width, height) = (4, 2, 3, 3);
        let shape = gpu_core::Error::Shape { rows, columns, width, height };
        assert_eq!(error, Error::Core(shape));
    }
}
