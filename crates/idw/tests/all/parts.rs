//! Points that come in parts: whatever the division, the sum of the parts is as accurate as one call over all points,
//! on the CPU and on the process's GPU.

use crate::common::{Cloud, Random, devices, haversine, random_cloud, targets_at};
use gpu_core::{Device, GridSpec};
use idw::{
    Adaptive, Baseline, Error, Input, Method, Number, Params, Surface, Targets, Total, Weight,
};
use idw::{interpolate, part};
use proptest::prelude::*;

/// How points are handed to parts.
#[derive(Clone, Copy, Debug)]
enum Division {
    /// Anywhere.
    Scattered,
    /// By their eastings.
    Strips,
    /// In the order in which they come.
    Runs,
}

impl Division {
    /// Parts of a cloud; of several the second is empty.
    fn of(self, cloud: &Cloud, parts: usize, random: &mut Random) -> Vec<Cloud> {
        let mut clouds = vec![Cloud::default(); parts];
        let mut order: Vec<usize> = (0..cloud.len()).collect();
        order.sort_by(|&a, &b| cloud.x[a].total_cmp(&cloud.x[b]));
        for (rank, &sorted) in order.iter().enumerate() {
            let (i, to) = match self {
                Self::Scattered => (rank, random.below(parts as u64) as usize),
                Self::Strips => (sorted, rank * parts / cloud.len()),
                Self::Runs => (rank, rank * parts / cloud.len()),
            };
            let to = if to == 1 { 0 } else { to };
            clouds[to].push((cloud.x[i], cloud.y[i], cloud.z[i]));
        }
        clouds
    }
}

/// What the parts add up to.
fn added<T: Number>(
    device: &Device,
    parts: &[Cloud],
    targets: Targets,
    params: &Params,
) -> Surface<T> {
    let mut total = Total::new();
    for cloud in parts {
        let part = cloud.with(|points| part::<T>(device, Input::new(points, targets), params));
        total.add(&part.unwrap()).unwrap();
    }
    total.surface(params).unwrap()
}

/// The value at a place, and the mean magnitude of the values, by the definition in f64: weights relative to the nearest.
fn by_definition(cloud: &Cloud, (x, y): (f64, f64), params: &Params) -> [f64; 2] {
    let squared = |i: usize| {
        let (px, py) = (cloud.x[i], cloud.y[i]);
        let distance = match params.geographic {
            true => haversine((x, y), (px, py)),
            false => (px - x).hypot(py - y),
        };
        distance * distance + params.smoothing * params.smoothing
    };
    let nearest = (0..cloud.len()).map(squared).fold(f64::INFINITY, f64::min);
    let [mut weights, mut values, mut magnitudes] = [0.0; 3];
    for i in 0..cloud.len() {
        let weight = match nearest {
            0.0 => f64::from(u8::from(squared(i) == 0.0)),
            _ => (squared(i) / nearest).powf(-0.5 * params.power),
        };
        weights += weight;
        values += weight * cloud.z[i];
        magnitudes += weight * cloud.z[i].abs();
    }
    [values / weights, magnitudes / weights]
}

/// Asserts what is promised, as a share of the mean magnitude: in proportion to the power above 4.
fn assert_promised<T: Number>(
    (cloud, parts): (&Cloud, &[Cloud]),
    places: &Cloud,
    params: &Params,
    what: &str,
) {
    let share = if size_of::<T>() == 4 { 1e-5 } else { 1e-12 } * (params.power / 4.0).max(1.0);
    let of = |i: usize| by_definition(cloud, (places.x[i], places.y[i]), params);
    let wanted: Vec<[f64; 2]> = (0..places.len()).map(of).collect();
    for device in devices() {
        let found = added::<T>(&device, parts, targets_at(places), params);
        assert_eq!(found.summary.points, cloud.len() as u64);
        for (i, (found, [value, magnitude])) in found.values[0].iter().zip(&wanted).enumerate() {
            let off = (found.to_f64() - value).abs() / magnitude;
            let what = format!("{what}, {}, {params:?}, target {i}", device.name());
            assert!(off <= share, "{what}: {found:?}, expected {value} (off by {off:e})");
        }
    }
}

/// Points of a pattern; a tenth of them lie where another does. They are uniform, or in clusters of metres over a
/// thousand kilometres, or have a few points far away. Their values may be of both signs, or a few ten thousand times
/// the others.
fn pattern(kind: u32, count: usize, random: &mut Random) -> Cloud {
    let side = if kind == 1 { 1e6 } else { 100.0 };
    let middles: Vec<_> = (0..12).map(|_| [side * random.unit(), side * random.unit()]).collect();
    let mut cloud = Cloud::default();
    for i in 0..count {
        let [x, y, z] = match kind {
            1 => {
                let [x, y] = middles[i % 12];
                [x + 3.0 * random.unit(), y + 3.0 * random.unit(), 10.0 + 100.0 * random.unit()]
            }
            2 => {
                let z = if i % 100 == 7 { 1e6 } else { 99.0 + 2.0 * random.unit() };
                [side * random.unit(), side * random.unit(), z]
            }
            3 => [side * random.unit(), side * random.unit(), 200.0 * random.unit() - 100.0],
            4 if i % 50 == 3 => [1e5 * random.unit(), -1e5 * random.unit(), 500.0],
            _ => [side * random.unit(), side * random.unit(), 10.0 + 100.0 * random.unit()],
        };
        let twin = (i > 0 && random.below(10) == 0).then(|| random.below(i as u64) as usize);
        let (x, y) = twin.map_or((x, y), |twin| (cloud.x[twin], cloud.y[twin]));
        cloud.push((x, y, z));
    }
    cloud
}

/// Places among points: on some, beside some, anywhere, and far from all.
fn among(cloud: &Cloud, count: usize, random: &mut Random) -> Cloud {
    Cloud::of((0..count).map(|i| {
        let of = random.below(cloud.len() as u64) as usize;
        let reach = match i % 5 {
            0 => 0.0,
            1 => 10f64.powf(-6.0 * random.unit()),
            2 => 1.0,
            3 => 30.0,
            _ => 1e5,
        };
        let (dx, dy) = (reach * (random.unit() - 0.5), reach * (random.unit() - 0.5));
        (cloud.x[of] + dx, cloud.y[of] + dy, 0.0)
    }))
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    kind: u32,
    points: usize,
    parts: usize,
    division: Division,
    power: f64,
    smoothing: f64,
    expands: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let divisions = vec![Division::Scattered, Division::Strips, Division::Runs];
    let how = (1..=7_usize, prop::sample::select(divisions));
    let powers = vec![0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0];
    let weighting = (prop::sample::select(powers), prop::sample::select(vec![0.0, 0.0, 0.5]));
    let cloud = (any::<u64>(), 0..5_u32, prop_oneof![1..20_usize, 20..1500_usize]);
    (cloud, how, weighting, any::<bool>()).prop_map(|(cloud, how, weighting, expands)| {
        let ((seed, kind, points), (parts, division)) = (cloud, how);
        let (power, smoothing) = weighting;
        Case { seed, kind, points, parts, division, power, smoothing, expands }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn parts_of_any_division_add_up_to_the_definition(case in case()) {
        let mut random = Random::new(case.seed);
        let cloud = pattern(case.kind, case.points, &mut random);
        let places = among(&cloud, 60, &mut random);
        let parts = case.division.of(&cloud, case.parts, &mut random);
        let method = match case.expands && case.power <= 4.0 {
            true => Method::Expansion,
            false => Method::Direct,
        };
        let params = Params::default().power(case.power).smoothing(case.smoothing).method(method);
        let what = format!("{case:?}");
        assert_promised::<f32>((&cloud, &parts), &places, &params, &what);
        assert_promised::<f64>((&cloud, &parts), &places, &params, &what);
    }
}

#[test]
fn heaps_and_targets_beside_points_keep_it_at_every_power() {
    for kind in 0..5 {
        let mut random = Random::new(100 + u64::from(kind));
        let cloud = pattern(kind, 3000, &mut random);
        let places = among(&cloud, 100, &mut random);
        for (power, division) in [
            (1.0, Division::Strips),
            (2.0, Division::Scattered),
            (2.5, Division::Strips),
            (3.0, Division::Runs),
            (4.0, Division::Scattered),
        ] {
            let parts = division.of(&cloud, 5, &mut random);
            for method in [Method::Direct, Method::Expansion] {
                let params = Params::default().power(power).method(method);
                let what = format!("pattern {kind}, {division:?}");
                assert_promised::<f32>((&cloud, &parts), &places, &params, &what);
            }
        }
    }
}

#[test]
fn parts_on_the_sphere_keep_it() {
    // A third each around a pole, across the date line and near the antipode of the latter.
    let mut random = Random::new(110);
    let cloud = Cloud::of((0..900).map(|i| {
        let (x, y) = (random.unit() - 0.5, random.unit() - 0.5);
        let (lon, lat) = match i % 3 {
            0 => (360.0 * x, 90.0 - 5.0 * (y + 0.5)),
            1 => (180.0 + 20.0 * x, 20.0 * y),
            _ => (20.0 * x, 20.0 * y),
        };
        (lon, lat, 10.0 + 100.0 * random.unit())
    }));
    let places = Cloud::of((0..50).map(|i| match i {
        0..10 => (cloud.x[i], cloud.y[i], 0.0),
        _ => (360.0 * random.unit() - 180.0, 180.0 * random.unit() - 90.0, 0.0),
    }));
    for power in [1.0, 2.0, 2.5, 4.0, 6.0] {
        let parts = Division::Strips.of(&cloud, 4, &mut random);
        let params = Params::default().power(power).geographic(true);
        assert_promised::<f32>((&cloud, &parts), &places, &params, "sphere");
        if power <= 4.0 {
            let params = params.method(Method::Expansion);
            assert_promised::<f32>((&cloud, &parts), &places, &params, "sphere");
        }
    }
}

#[test]
fn weights_beyond_the_range_of_f64_are_compared() {
    // At power 8 points 1e100 away weigh 1e-800, and those 1e-100 away 1e800.
    for scale in [1e100, 1e-100] {
        let mut random = Random::new(120);
        let cloud = pattern(0, 200, &mut random);
        let places = among(&cloud, 40, &mut random);
        let far =
            |c: &Cloud| Cloud::of((0..c.len()).map(|i| (c.x[i] * scale, c.y[i] * scale, c.z[i])));
        let (cloud, places) = (far(&cloud), far(&places));
        let parts = Division::Runs.of(&cloud, 3, &mut random);
        for power in [2.0, 8.0] {
            let params = Params::default().power(power);
            assert_promised::<f32>((&cloud, &parts), &places, &params, "far apart");
        }
    }
}

#[test]
fn one_part_has_the_bits_of_the_interpolation() {
    let cloud = random_cloud(700, [0.0, 0.0, 80.0, 80.0], 130);
    let grid = GridSpec::new(-5.0, 85.0, 4.0, 22, 22).unwrap();
    for device in devices() {
        for params in [
            Params::default(),
            Params::default().power(3.0).method(Method::Expansion),
            Params::default().power(2.5).smoothing(2.0),
            Params::default().geographic(true).method(Method::Expansion),
        ] {
            let whole =
                cloud.with(|p| interpolate::<f32>(&device, Input::new(p, grid), &params)).unwrap();
            let one = cloud.with(|p| part::<f32>(&device, Input::new(p, grid), &params));
            let one = one.unwrap();
            assert_eq!(one.values, whole.values, "{}, {params:?}", device.name());
            assert!(one.weights.iter().all(Weight::is_some));
            let mut total = Total::new();
            total.add(&one).unwrap();
            let surface = total.surface::<f32>(&params).unwrap();
            assert_eq!((surface.values, surface.grid), (whole.values, whole.grid));
            assert_eq!(surface.summary, whole.summary);
        }
    }
}

#[test]
fn targets_on_points_of_several_parts_have_their_mean() {
    let at = |z: &[f64]| Cloud::of(z.iter().map(|&z| (3.0, 4.0, z)));
    let near = Cloud::of([(3.0, 4.0 + 1e-9, 1e6), (9.0, 9.0, -1e6)]);
    let parts = [at(&[1.0, 2.0]), near, at(&[6.0])];
    let targets = Targets::Points { x: &[3.0], y: &[4.0] };
    for device in devices() {
        for power in [0.5, 2.0, 8.0] {
            let params = Params::default().power(power);
            assert_eq!(added::<f64>(&device, &parts, targets, &params).values[0], [3.0]);
            assert_eq!(added::<f32>(&device, &parts, targets, &params).values[0], [3.0]);
        }
        // With smoothing no weight is infinite.
        let params = Params::default().smoothing(1.0);
        let whole =
            Cloud::of(parts.iter().flat_map(|c| (0..c.len()).map(|i| (c.x[i], c.y[i], c.z[i]))));
        let [wanted, magnitude] = by_definition(&whole, (3.0, 4.0), &params);
        let found = added::<f64>(&device, &parts, targets, &params).values[0][0];
        assert!((found - wanted).abs() <= 1e-12 * magnitude, "{found}, {wanted}");
    }
}

#[test]
fn equal_values_stay_as_they_are() {
    let cloud = random_cloud(400, [0.0, 0.0, 10.0, 10.0], 140);
    let cloud = Cloud { z: vec![0.1; 400], ..cloud };
    let places = random_cloud(50, [-1.0, -1.0, 11.0, 11.0], 141);
    let parts = Division::Scattered.of(&cloud, 6, &mut Random::new(142));
    for device in devices() {
        let found = added::<f64>(&device, &parts, targets_at(&places), &Params::default());
        assert_eq!(found.values[0], [0.1; 50]);
    }
}

#[test]
fn the_same_parts_in_the_same_order_have_the_same_bits() {
    let cloud = random_cloud(900, [0.0, 0.0, 10.0, 10.0], 150);
    let places = random_cloud(80, [-1.0, -1.0, 11.0, 11.0], 151);
    let mut parts = Division::Scattered.of(&cloud, 7, &mut Random::new(152));
    let params = Params::default().power(2.5);
    for device in devices() {
        let run = |parts: &[Cloud]| {
            added::<f64>(&device, parts, targets_at(&places), &params).values.swap_remove(0)
        };
        let found = run(&parts);
        assert_eq!(found, run(&parts));
        parts.reverse();
        for (a, b) in found.iter().zip(run(&parts)) {
            assert!((a - b).abs() <= 1e-14 * a, "{a}, {b}");
        }
    }
}

#[test]
fn several_values_share_the_weights() {
    let cloud = random_cloud(600, [0.0, 0.0, 100.0, 100.0], 160);
    let places = random_cloud(40, [0.0, 0.0, 100.0, 100.0], 161);
    // Six columns: more than are summed at once.
    let columns: Vec<Vec<f64>> =
        (0..6).map(|c| cloud.z.iter().map(|z| z * f64::from(c + 1)).collect()).collect();
    for device in devices() {
        for params in [Params::default(), Params::default().method(Method::Expansion)] {
            let mut total = Total::new();
            for range in [0..150, 150..150, 150..600] {
                let values: Vec<&[f64]> = columns.iter().map(|c| &c[range.clone()]).collect();
                let (x, y) = (&cloud.x[range.clone()], &cloud.y[range]);
                let points = idw::Points { x, y, values: &values };
                let input = Input::new(points, targets_at(&places));
                total.add(&part::<f32>(&device, input, &params).unwrap()).unwrap();
            }
            let surface = total.surface::<f32>(&params).unwrap();
            for (column, found) in surface.values.iter().enumerate() {
                for (i, &value) in found.iter().enumerate() {
                    let [wanted, _] = by_definition(&cloud, (places.x[i], places.y[i]), &params);
                    let wanted = wanted * (column + 1) as f64;
                    let off = (f64::from(value) - wanted).abs();
                    assert!(off <= 1e-5 * wanted, "{}, column {column}", device.name());
                }
            }
        }
    }
}

#[test]
fn no_points_and_too_few_have_no_value() {
    let cloud = random_cloud(5, [0.0, 0.0, 10.0, 10.0], 170);
    let grid = GridSpec::new(0.0, 10.0, 2.0, 5, 5).unwrap();
    for device in devices() {
        let params = Params::default().nodata(-9.0).min_points(6);
        let parts = [Cloud::default(), cloud.clone()];
        let none = added::<f32>(&device, &parts[..1], grid.into(), &params.min_points(0));
        assert_eq!((none.summary.nodata, &none.values[0][..]), (25, &[-9.0; 25][..]));
        let few = added::<f32>(&device, &parts, grid.into(), &params);
        assert_eq!((few.summary.nodata, few.summary.points), (25, 5));
        let enough = added::<f32>(&device, &parts, grid.into(), &params.min_points(5));
        assert_eq!(enough.summary.nodata, 0);
        // Points that are left out do not count.
        let mut holed = cloud.clone();
        holed.push((f64::NAN, 1.0, 1.0));
        let params = params.non_finite(idw::NonFinite::Skip);
        let found = added::<f32>(&device, &[holed], grid.into(), &params);
        assert_eq!((found.summary.nodata, found.summary.skipped), (25, 1));
    }
    let empty = Total::new().surface::<f32>(&Params::default()).unwrap();
    assert!(empty.values.is_empty() && empty.summary.points == 0);
}

#[test]
fn what_has_no_parts_is_refused() {
    let cloud = random_cloud(30, [0.0, 0.0, 10.0, 10.0], 180);
    let grid = GridSpec::new(0.0, 10.0, 2.0, 5, 5).unwrap();
    let all = Params::default();
    for device in devices() {
        let run = |params: &Params, grid: GridSpec| {
            cloud.with(|points| part::<f32>(&device, Input::new(points, grid), params))
        };
        for params in [
            Params::nearest(3),
            all.radius(3.0),
            all.max_points_per_quadrant(2),
            all.adaptive(Adaptive::default()),
            all.statistics(true),
            all.method(Method::Baseline(Baseline::Naive)),
            all.method(Method::Baseline(Baseline::Tiled)),
            all.power(1e301),
        ] {
            let error = run(&params, grid).unwrap_err();
            let Error::Conflict { option, .. } = error else { panic!("{error}") };
            assert_eq!(option, "a part of the points");
        }
        let mut total = Total::new();
        total.add(&run(&all, grid).unwrap()).unwrap();
        let shorter = GridSpec { height: 4, ..grid };
        let error = total.add(&run(&all, shorter).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Core(gpu_core::Error::Length { expected: 25, .. })));
        let elsewhere = GridSpec { origin_x: 1.0, ..grid };
        let error = total.add(&run(&all, elsewhere).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error}");
    }
}
