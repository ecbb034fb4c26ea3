//! Distance transforms of small rasters with any spacing and limit, beside all pairs.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, GridSpec};
use libfuzzer_sys::fuzz_target;
use pba_voronoi::{Input, Params, Sites, transform};
use tessera_fuzz::Coordinate;

#[derive(Arbitrary, Debug)]
struct Case {
    width: u8,
    mask: Vec<u8>,
    spacing: Option<[Coordinate; 2]>,
    limit: Option<Coordinate>,
}

fuzz_target!(|case: Case| {
    let width = usize::from(case.width % 70) + 1;
    let height = (case.mask.len() / width).min(70);
    let mask = &case.mask[..width * height];
    let input = Input::new(Sites::Mask(mask), GridSpec::of_pixels(width as u32, height as u32));
    let mut params = Params::new().distance_f64().coordinates();
    let mut sides = [1.0, 1.0];
    if let Some(spacing) = case.spacing {
        sides = spacing.map(Coordinate::get);
        params = params.spacing(sides[0], sides[1]);
    }
    if let Some(limit) = case.limit {
        params = params.max_distance(limit.get());
    }
    let Ok(diagram) = transform(&Device::Cpu, &input, &params) else { return };
    let found = diagram.distance_f64.expect("it was asked for");
    let sites: Vec<usize> = (0..mask.len()).filter(|&pixel| mask[pixel] != 0).collect();
    for (pixel, &distance) in found.values().iter().enumerate() {
        let of = |&site: &usize| {
            let dx = (site % width).abs_diff(pixel % width) as f64 * sides[0];
            let dy = (site / width).abs_diff(pixel / width) as f64 * sides[1];
            dx.hypot(dy)
        };
        let truth = sites.iter().map(of).fold(f64::INFINITY, f64::min);
        let is_near = distance == truth || (distance - truth).abs() <= 1e-6 * truth;
        let is_left_out = case.limit.is_some_and(|limit| truth >= limit.get() * (1.0 - 1e-6));
        assert!(is_near || (is_left_out && distance.is_infinite()), "{distance} for {truth}");
    }
});
