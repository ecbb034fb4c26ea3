//! How much water a reservoir holds at each level: it turns soundings into the table that operators need.
//!
//! `cargo run --package nni-grid --example reservoir`

use std::f64::consts::PI;

use gpu_core::{Device, DeviceChoice, GridSpec, Points};
use nni_grid::{Input, Params, Result, interpolate};

/// The level of the full reservoir, its greatest depth, and the radius of its shore, in metres.
const FULL: f64 = 412.0;
const DEPTH: f64 = 30.0;
const RADIUS: f64 = 400.0;

/// The side of a cell, in metres.
const CELL: f64 = 5.0;

/// What the reservoir has at a level.
struct Stage {
    level: f64,
    hectares: f64,
    cubic_metres: f64,
}

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    println!("level m   area ha   volume million m3   (on {})", device.name());
    for Stage { level, hectares, cubic_metres } in stages(&device, &[392.0, 402.0, FULL])? {
        println!("{level:7.1}  {hectares:8.2}  {:18.3}", cubic_metres / 1e6);
    }
    Ok(())
}

/// Interpolates the soundings, and adds up the water above the ground.
fn stages(device: &Device, levels: &[f64]) -> Result<Vec<Stage>> {
    let (x, y, z) = soundings();
    let cells = (2.0 * RADIUS / CELL) as u32;
    let grid = GridSpec::new(-RADIUS, RADIUS, CELL, cells, cells)?;
    let points = Points { x: &x, y: &y, values: &[&z] };
    // Cells outside the hull of the soundings have no value: they are land.
    let ground = interpolate(device, Input::new(points, grid), &Params::new().hull(true))?;
    let stage = |&level: &f64| {
        let depths = ground.values[0].values().iter().map(|&z| level - f64::from(z));
        let wet: Vec<f64> = depths.filter(|depth| *depth > 0.0).collect();
        let hectares = wet.len() as f64 * CELL * CELL / 1e4;
        Stage { level, hectares, cubic_metres: wet.iter().sum::<f64>() * CELL * CELL }
    };
    Ok(levels.iter().map(stage).collect())
}

/// Soundings along rings that a boat drives, 20 m apart, in a bowl whose depth falls with the square of the radius.
fn soundings() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut x, mut y, mut z) = (vec![0.0], vec![0.0], vec![FULL - DEPTH]);
    for ring in 1..=20 {
        let radius = f64::from(ring) / 20.0 * RADIUS;
        for i in 0..8 * ring {
            let (sine, cosine) = (2.0 * PI * f64::from(i) / f64::from(8 * ring)).sin_cos();
            x.push(radius * cosine);
            y.push(radius * sine);
            z.push(FULL - DEPTH * (1.0 - (radius / RADIUS).powi(2)));
        }
    }
    (x, y, z)
}

#[cfg(test)]
#[test]
fn the_volumes_are_those_of_a_paraboloid() {
    for stage in stages(&Device::Cpu, &[392.0, 402.0, FULL]).unwrap() {
        // Up to depth d, a paraboloid has the radius R sqrt(d / D), and half the volume of its cylinder.
        let depth = stage.level - (FULL - DEPTH);
        let area = PI * RADIUS * RADIUS * depth / DEPTH;
        let volume = area * depth / 2.0;
        assert!((stage.hectares * 1e4 / area - 1.0).abs() < 0.02, "{}", stage.hectares);
        assert!((stage.cubic_metres / volume - 1.0).abs() < 0.02, "{}", stage.cubic_metres);
    }
    main().unwrap();
}
