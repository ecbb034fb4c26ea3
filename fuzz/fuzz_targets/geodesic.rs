//! Distances on the globe of small rasters at any place, beside all pairs by the haversine formula.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, GridSpec};
use libfuzzer_sys::fuzz_target;
use pba_voronoi::{Globe, Input, Params, Sites, geodesic};
use tessera_fuzz::Coordinate;

#[derive(Arbitrary, Debug)]
struct Case {
    width: u8,
    mask: Vec<u8>,
    corner: [Coordinate; 2],
    sides: [Coordinate; 2],
    limit: Option<Coordinate>,
}

fuzz_target!(|case: Case| {
    let width = usize::from(case.width % 40) + 1;
    let height = (case.mask.len() / width).min(40);
    let mask = &case.mask[..width * height];
    let input = Input::new(Sites::Mask(mask), GridSpec::of_pixels(width as u32, height as u32));
    let (corner, sides) = (case.corner.map(Coordinate::get), case.sides.map(Coordinate::get));
    let globe = Globe::new(corner, sides);
    let mut params = Params::new().distance_f64();
    if let Some(limit) = case.limit {
        params = params.max_distance(limit.get());
    }
    let Ok(diagram) = geodesic(&Device::Cpu, &input, &globe, &params) else { return };
    let found = diagram.distance_f64.expect("it was asked for");
    let sites: Vec<usize> = (0..mask.len()).filter(|&pixel| mask[pixel] != 0).collect();
    // A row just beyond a pole is moved there, and all rows share that.
    let last = height.saturating_sub(1) as f64;
    let [north, south] =
        [0.5, last + 0.5].map(|row| (corner[1] - row * sides[1]).clamp(-90.0, 90.0));
    let latitude = |pixel: usize| {
        let part = (pixel / width) as f64 / last.max(1.0);
        (north + part * (south - north)).to_radians()
    };
    for (pixel, &distance) in found.values().iter().enumerate() {
        let of = |&site: &usize| {
            let columns = (site % width).abs_diff(pixel % width) as f64;
            let (turn, a, b) = ((columns * sides[0]).to_radians(), latitude(site), latitude(pixel));
            let rise = ((a - b) / 2.0).sin().powi(2);
            let half = rise + a.cos() * b.cos() * (turn / 2.0).sin().powi(2);
            2.0 * globe.radius * half.sqrt().min(1.0).asin()
        };
        let truth = sites.iter().map(of).fold(f64::INFINITY, f64::min);
        // Near the antipode the formula has half of the digits.
        let is_near = distance == truth || (distance - truth).abs() <= 1e-6 * truth + 1.0;
        let is_left_out = case.limit.is_some_and(|limit| truth >= limit.get() * (1.0 - 1e-6) - 1.0);
        assert!(is_near || (is_left_out && distance.is_infinite()), "{distance} for {truth}");
    }
});
