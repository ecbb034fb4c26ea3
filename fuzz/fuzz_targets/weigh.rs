//! Inverse distance weights of any points, targets and parameters: values within the range of the points'.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, Points};
use idw::{Input, NonFinite, Params, Targets, TooFewPoints, interpolate};
use libfuzzer_sys::fuzz_target;
use tessera_fuzz::{Coordinate, Place, columns};

#[derive(Arbitrary, Debug)]
struct Case {
    places: Vec<Place>,
    targets: Vec<Place>,
    power: Coordinate,
    smoothing: Coordinate,
    radius: Coordinate,
    angle: Coordinate,
    counts: [u8; 4],
    flags: [bool; 5],
}

fuzz_target!(|case: Case| {
    let [x, y, z] = columns(&case.places);
    let [a, b, _] = columns(&case.targets);
    let values: [&[f64]; 1] = [&z];
    let points = Points { x: &x, y: &y, values: &values };
    let [most, least, most_of_quadrant, least_of_quadrant] = case.counts.map(u32::from);
    let [is_skipping, is_nearest, is_geographic, has_radius, is_smooth] = case.flags;
    let mut params = Params::nearest(most)
        .power(case.power.get())
        .min_points(least)
        .geographic(is_geographic)
        .max_points_per_quadrant(most_of_quadrant)
        .min_points_per_quadrant(least_of_quadrant);
    if has_radius {
        params = params.radius(case.radius.get()).angle(case.angle.get());
    }
    if is_smooth {
        params = params.smoothing(case.smoothing.get());
    }
    if is_skipping {
        params = params.non_finite(NonFinite::Skip);
    }
    if is_nearest {
        params = params.too_few_points(TooFewPoints::Nearest);
    }
    let finite = z.iter().copied().filter(|value| value.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), z| (low.min(z), high.max(z)));
    let targets = Targets::Points { x: &a, y: &b };
    let within =
        |value: f64, slack: f64| value.is_nan() || (low - slack..=high + slack).contains(&value);
    let most_of = low.abs().max(high.abs());
    if let Ok(surface) = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &params) {
        let slack = most_of * 1e-9;
        assert!(
            surface.values[0].iter().all(|&value| within(value, slack)),
            "{:?}",
            surface.values
        );
    }
    if let Ok(surface) = interpolate::<f32>(&Device::Cpu, Input::new(points, targets), &params) {
        let slack = most_of * 1e-4 + 1e-30;
        assert!(
            surface.values[0].iter().all(|&value| within(value.into(), slack)),
            "{:?}",
            surface.values
        );
    }
});
