//! A map of rain from gauges. A cross-validation chooses the power and tells the error of the map.
//!
//! `cargo run --package idw --example rain_gauges`

use gpu_core::{Device, DeviceChoice, GridSpec, Points};
use idw::{Comparison, Input, Params, PowerParams, Result, Surface, best_power, interpolate};

/// The side of the land, in metres.
const SIDE: f64 = 40_000.0;

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let (x, y, rain) = gauges(150);
    let (powers, map) = map_of_rain(&device, Points { x: &x, y: &y, values: &[&rain] })?;
    for (power, left_out) in &powers.all {
        println!("power {power}: gauges left out are met to {:.1} mm", left_out.rmse);
    }
    let best = powers.best.map_or("none".to_owned(), |power| power.to_string());
    println!("the best power: {best}");
    let rain = &map.values[0];
    let mean = rain.iter().sum::<f64>() / rain.len() as f64;
    println!("{mean:.1} mm on average, on {}", device.name());
    println!("{:.1} million m3 of water", mean / 1000.0 * SIDE * SIDE / 1e6);
    Ok(())
}

/// Compares powers, and maps the rain by the best, in cells of 500 m.
fn map_of_rain(device: &Device, gauges: Points) -> Result<(Comparison, Surface<f64>)> {
    let params = Params::nearest(12);
    let compared = PowerParams::new([1.0, 1.5, 2.0, 3.0, 4.0]).interpolation(params);
    let powers = best_power(device, gauges, &compared)?;
    let params = params.power(powers.best.expect("150 gauges predict each other"));
    let grid = GridSpec::new(0.0, SIDE, 500.0, 80, 80)?;
    let map = interpolate(device, Input::new(gauges, grid), &params)?;
    Ok((powers, map))
}

/// Gauges in Roberts' sequence R2, and the rain of a storm around the middle: 80 mm, and less by the distance.
fn gauges(count: u32) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let column = |step: f64| (0..count).map(|i| (f64::from(i) * step).fract() * SIDE).collect();
    let (x, y): (Vec<_>, Vec<_>) = (column(0.754_877_666_246_693), column(0.569_840_290_998_053));
    let rain = x.iter().zip(&y).map(|(&x, &y)| storm(x, y)).collect();
    (x, y, rain)
}

fn storm(x: f64, y: f64) -> f64 {
    let (east, north) = ((x - SIDE / 2.0) / 12_000.0, (y - SIDE / 2.0) / 8000.0);
    80.0 * (-0.5 * (east * east + north * north)).exp()
}

#[cfg(test)]
#[test]
fn the_map_holds_the_water_of_the_storm() {
    let (x, y, rain) = gauges(150);
    let points = Points { x: &x, y: &y, values: &[&rain] };
    let (powers, map) = map_of_rain(&Device::Cpu, points).unwrap();
    let best = powers.all.iter().min_by(|a, b| a.1.rmse.total_cmp(&b.1.rmse)).unwrap();
    assert_eq!(powers.best, Some(best.0));
    let centres = (0..80).flat_map(|row| (0..80).map(move |column| (column, row)));
    let centre = |(column, row)| map.grid.unwrap().cell_centre(column, row);
    let fallen: f64 = centres.map(centre).map(|(x, y)| storm(x, y)).sum();
    let mapped: f64 = map.values[0].iter().sum();
    assert!((mapped / fallen - 1.0).abs() < 0.05, "{mapped} of {fallen}");
    main().unwrap();
}
