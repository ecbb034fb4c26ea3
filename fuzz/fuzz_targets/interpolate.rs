//! Natural neighbours of any points and parameters: Sibson's values lie within the range of the points'.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, GridSpec, Points};
use libfuzzer_sys::fuzz_target;
use nni_grid::{Duplicates, Fill, Input, Method, Params, Weights, interpolate};
use tessera_fuzz::{Coordinate, Place, columns};

#[derive(Arbitrary, Debug)]
struct Case {
    places: Vec<Place>,
    origin: [Coordinate; 2],
    cell_size: Coordinate,
    sides: [u8; 2],
    radii: [Option<Coordinate>; 3],
    weights: u8,
    method: bool,
    supersample: u8,
    duplicates: u8,
    hull: bool,
    fill: bool,
}

fuzz_target!(|case: Case| {
    let [x, y, z] = columns(&case.places);
    let values: [&[f64]; 1] = [&z];
    let points = Points { x: &x, y: &y, values: &values };
    let [west, north] = case.origin.map(Coordinate::get);
    let [width, height] = case.sides.map(|side| u32::from(side % 32));
    let Ok(grid) = GridSpec::new(west, north, case.cell_size.get(), width, height) else { return };
    let weights =
        [Weights::Sibson, Weights::Laplace, Weights::SibsonC1][usize::from(case.weights % 3)];
    let mut params = Params::new()
        .weights(weights)
        .duplicates(Duplicates::ALL[usize::from(case.duplicates) % Duplicates::ALL.len()])
        .hull(case.hull);
    if case.method {
        params = params.method(Method::Pixels).supersample(u32::from(case.supersample % 4));
    }
    if case.fill {
        params = params.fill(Fill::Nearest);
    }
    let [influence, query, distance] = case.radii.map(|radius| radius.map(Coordinate::get));
    if let Some(radius) = influence {
        params = params.region_of_influence(radius);
    }
    if let Some(radius) = query {
        params = params.query_radius(radius);
    }
    if let Some(distance) = distance {
        params = params.max_distance(distance);
    }
    let Ok(dem) = interpolate(&Device::Cpu, Input::new(points, grid), &params) else { return };
    if weights == Weights::SibsonC1 {
        return;
    }
    let (low, high) = z
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &z| (low.min(z), high.max(z)));
    let slack = (high - low).abs() * 1e-5 + low.abs().max(high.abs()) * 1e-6 + 1e-37;
    let within =
        |&value: &f32| value.is_nan() || (low - slack..=high + slack).contains(&f64::from(value));
    assert!(dem.values[0].values().iter().all(within), "{:?}", dem.values[0].values());
});
