//! What the tests share: points, and the definition in plain f64 loops.
#![allow(dead_code, unused_imports, reason = "not every suite uses all of it")]

use gpu_core::Device;
use idw::{Adaptive, Input, KernelShape, Number, Params, Targets, TooFewPoints, interpolate};

pub use testing::{Cloud, Random, devices};

/// Repeatable points in a rectangle, with values between 10 and 110.
pub fn random_cloud(count: usize, [west, south, east, north]: [f64; 4], seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    Cloud::of((0..count).map(|_| {
        let x = west + random.unit() * (east - west);
        let y = south + random.unit() * (north - south);
        (x, y, 10.0 + 100.0 * random.unit())
    }))
}

/// The places of points, as targets.
pub fn targets_at(cloud: &Cloud) -> Targets<'_> {
    Targets::Points { x: &cloud.x, y: &cloud.y }
}

/// The values at targets on a device, in f64.
pub fn values<T: Number>(
    device: &Device,
    cloud: &Cloud,
    targets: Targets,
    params: &Params,
) -> Vec<f64> {
    cloud.with(|points| {
        let surface = interpolate::<T>(device, Input::new(points, targets), params).unwrap();
        surface.values[0].iter().map(|v| v.to_f64()).collect()
    })
}

/// The values of targets by the definition.
pub fn expected(cloud: &Cloud, targets: &Cloud, params: &Params) -> Vec<f64> {
    let of = |i: usize| by_definition(cloud, (targets.x[i], targets.y[i]), params);
    (0..targets.len()).map(of).collect()
}

/// The great-circle distance by the haversine formula, in metres.
pub fn haversine((lon1, lat1): (f64, f64), (lon2, lat2): (f64, f64)) -> f64 {
    let (dlon, dlat) = ((lon2 - lon1).to_radians(), (lat2 - lat1).to_radians());
    let h = (dlat / 2.0).sin().powi(2)
        + lat1.to_radians().cos() * lat2.to_radians().cos() * (dlon / 2.0).sin().powi(2);
    2.0 * idw::RADIUS * h.sqrt().min(1.0).asin()
}

/// Indices of the points that a target takes, nearest first, by the definition.
pub fn neighbours(cloud: &Cloud, (x, y): (f64, f64), params: &Params) -> Vec<(f64, usize)> {
    let limit = |count: u32| if count == 0 { usize::MAX } else { count as usize };
    let mut all: Vec<(f64, usize)> = (0..cloud.len())
        .map(|i| {
            let p = (cloud.x[i], cloud.y[i]);
            let d = if params.geographic { haversine((x, y), p) } else { (p.0 - x).hypot(p.1 - y) };
            (d, i)
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (sin, cos) = params.angle.to_radians().sin_cos();
    let inside = |&(d, i): &(f64, usize)| {
        let (dx, dy) = (cloud.x[i] - x, cloud.y[i] - y);
        let (a, b) =
            ((dx * cos + dy * sin) / params.radius1, (dy * cos - dx * sin) / params.radius2);
        params.radius1 == 0.0
            || if params.geographic { d <= params.radius1 } else { a * a + b * b <= 1.0 }
    };
    let reached: Vec<_> = all.iter().copied().filter(inside).collect();
    let has_quadrants = params.max_points_per_quadrant > 0 || params.min_points_per_quadrant > 0;
    let mut taken: Vec<(f64, usize)> = Vec::new();
    let mut enough = true;
    if has_quadrants {
        let is_east = |i: usize| match params.geographic {
            true => (cloud.x[i] - x).rem_euclid(360.0) <= 180.0,
            false => cloud.x[i] >= x,
        };
        let quadrant = |i: usize| usize::from(is_east(i)) + 2 * usize::from(cloud.y[i] >= y);
        let each: Vec<Vec<(f64, usize)>> = (0..4)
            .map(|q| reached.iter().copied().filter(|&(_, i)| quadrant(i) == q).collect())
            .collect();
        enough = each.iter().all(|q| q.len() >= params.min_points_per_quadrant as usize);
        for turn in 0..limit(params.max_points_per_quadrant).min(cloud.len()) {
            for of_quadrant in &each {
                if taken.len() < limit(params.max_points) {
                    taken.extend(of_quadrant.get(turn));
                }
            }
        }
        taken.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    } else {
        taken.extend(reached.iter().take(limit(params.max_points)));
    }
    enough = enough && taken.len() >= params.min_points.max(1) as usize;
    match params.too_few_points {
        _ if enough => taken,
        TooFewPoints::Nearest => {
            let of_each = params.min_points_per_quadrant.saturating_mul(4);
            let of_quadrants = if has_quadrants { of_each } else { 0 };
            all.truncate(params.min_points.max(of_quadrants).max(1) as usize);
            // Of fewer points in all than that nobody can take as many.
            if all.len() < params.min_points as usize { Vec::new() } else { all }
        }
        _ => Vec::new(),
    }
}

/// The adaptive power at a target: Lu and Wong's formulas with the distance that is expected of so many neighbours, for
/// an area that is given and the default range.
pub fn adaptive_power(cloud: &Cloud, target: (f64, f64), how: &Adaptive, geographic: bool) -> f64 {
    assert!(how.area > 0.0 && (how.r_min, how.r_max) == (0.0, 2.0));
    let nearest = Params::nearest(how.neighbours).geographic(geographic);
    let taken = neighbours(cloud, target, &nearest);
    let observed = taken.iter().map(|p| p.0).sum::<f64>() / taken.len() as f64;
    // Thompson's mean distance of the i-th nearest, over the spacing: Gamma(i + 1/2) / (i - 1)! / sqrt(pi).
    let (mut expected, mut of_next) = (0.0, 0.5);
    for i in 1..=taken.len() {
        expected += of_next / taken.len() as f64;
        of_next *= (i as f64 + 0.5) / i as f64;
    }
    let ratio = observed / (expected * (how.area / cloud.len() as f64).sqrt());
    let mu =
        if ratio >= 2.0 { 1.0 } else { 0.5 - 0.5 * (std::f64::consts::PI * ratio / 2.0).cos() };
    let [a, b, c, d, e] = how.levels;
    match mu {
        _ if mu <= 0.1 => a,
        _ if mu <= 0.3 => a * (1.0 - 5.0 * (mu - 0.1)) + 5.0 * b * (mu - 0.1),
        _ if mu <= 0.5 => 5.0 * c * (mu - 0.3) + b * (1.0 - 5.0 * (mu - 0.3)),
        _ if mu <= 0.7 => c * (1.0 - 5.0 * (mu - 0.5)) + 5.0 * d * (mu - 0.5),
        _ if mu <= 0.9 => 5.0 * e * (mu - 0.7) + d * (1.0 - 5.0 * (mu - 0.7)),
        _ => e,
    }
}

/// The value at a target by the definition, in f64.
pub fn by_definition(cloud: &Cloud, target: (f64, f64), params: &Params) -> f64 {
    let taken = neighbours(cloud, target, params);
    if let Some(kernel) = params.kernel {
        let weight = |d: f64| {
            let u = d / kernel.bandwidth;
            match kernel.shape {
                KernelShape::Gaussian => (-0.5 * u * u).exp(),
                _ if u > 1.0 => 0.0,
                KernelShape::Uniform => 1.0,
                KernelShape::Triangular => 1.0 - u,
                KernelShape::Epanechnikov => 1.0 - u.powi(2),
                KernelShape::Biweight => (1.0 - u.powi(2)).powi(2),
                KernelShape::Triweight => (1.0 - u.powi(2)).powi(3),
                KernelShape::Tricube => (1.0 - u.powi(3)).powi(3),
                other => panic!("{other:?}"),
            }
        };
        let weights: f64 = taken.iter().map(|&(d, _)| weight(d)).sum();
        let sum: f64 = taken.iter().map(|&(d, i)| weight(d) * cloud.z[i]).sum();
        return if weights > 0.0 { sum / weights } else { f64::NAN };
    }
    let of_pattern = |how| adaptive_power(cloud, target, &how, params.geographic);
    let power = params.adaptive.map_or(params.power, of_pattern);
    let smooth = params.smoothing * params.smoothing;
    let squared = |d: f64| d * d + smooth;
    let on: Vec<f64> =
        taken.iter().filter(|p| squared(p.0) == 0.0).map(|&(_, i)| cloud.z[i]).collect();
    if !on.is_empty() {
        return on.iter().sum::<f64>() / on.len() as f64;
    }
    // Relative to the nearest, so that no weight overflows.
    let nearest = taken.first().map_or(1.0, |p| squared(p.0));
    let weight = |d: f64| (squared(d) / nearest).powf(-0.5 * power);
    let weights: f64 = taken.iter().map(|&(d, _)| weight(d)).sum();
    taken.iter().map(|&(d, i)| weight(d) * cloud.z[i]).sum::<f64>() / weights
}

/// What the other points make of point `i`, by the definition.
pub fn without(cloud: &Cloud, i: usize, params: &Params) -> f64 {
    let others = (0..cloud.len()).filter(|&j| j != i);
    let others = Cloud::of(others.map(|j| (cloud.x[j], cloud.y[j], cloud.z[j])));
    by_definition(&others, (cloud.x[i], cloud.y[i]), params)
}

/// Asserts that values agree within a share of the expected ones; NaN only with NaN.
pub fn assert_close(found: &[f64], expected: &[f64], share: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (&f, &e)) in found.iter().zip(expected).enumerate() {
        let same = (f.is_nan() && e.is_nan()) || (f - e).abs() <= share * e.abs();
        assert!(same, "{what}: target {i}: {f}, expected {e} (off by {:e})", (f - e) / e);
    }
}
