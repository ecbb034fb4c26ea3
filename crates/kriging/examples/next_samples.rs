//! Where to take the next samples of a soil: each at the greatest kriging variance, given all previous samples.
//!
//! `cargo run --package kriging --example next_samples`

use gpu_core::{Device, DeviceChoice, GridSpec, Points, Silent};
use kriging::{Empirical, EmpiricalParams, Input, Model, Params, Result, Variogram, interpolate};

/// A place for a sample, and the standard error of the map there before it was taken.
struct Place {
    x: f64,
    y: f64,
    error: f64,
}

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    for (i, Place { x, y, error }) in next_samples(&device, 6)?.iter().enumerate() {
        println!("sample {}: at ({x:.0}, {y:.0}) m, where the error is {error:.3} g/kg", i + 1);
    }
    Ok(())
}

/// Places for more samples of a field of 500 m, of which the western part is sampled already.
fn next_samples(device: &Device, count: usize) -> Result<Vec<Place>> {
    let (mut x, mut y, mut phosphorus) = samples();
    let points = Points { x: &x, y: &y, values: &[&phosphorus] };
    let empirical = Empirical::of(points, &EmpiricalParams::default(), &Silent)?;
    let params = Params::new(Variogram::fit(&empirical, &Model::ALL)?.variogram).max_points(16);
    let grid = GridSpec::new(0.0, 500.0, 10.0, 50, 50)?;
    let mut places = Vec::new();
    for _ in 0..count {
        let points = Points { x: &x, y: &y, values: &[&phosphorus] };
        let map = interpolate(device, Input::new(points, grid), &params)?;
        let worst = (0..map.variances.len())
            .max_by(|&a, &b| map.variances[a].total_cmp(&map.variances[b]))
            .expect("the grid has cells");
        let (column, row) = (worst as u32 % grid.width, worst as u32 / grid.width);
        let (to_x, to_y) = grid.cell_centre(column, row);
        places.push(Place { x: to_x, y: to_y, error: map.variances[worst].sqrt() });
        // The variance depends on places alone, so a sample counts before it is taken.
        x.push(to_x);
        y.push(to_y);
        phosphorus.push(map.values[0][worst]);
    }
    Ok(places)
}

/// 80 samples west of 300 m.
fn samples() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let column = |step: f64, side: f64| {
        (0..80).map(|i| (f64::from(i) * step).fract() * side).collect::<Vec<_>>()
    };
    let (x, y) = (column(0.754_877_666_246_693, 300.0), column(0.569_840_290_998_053, 500.0));
    let content = |(x, y): (&f64, &f64)| 1.2 + 0.4 * (x / 60.0).sin() * (y / 80.0).cos();
    let phosphorus = x.iter().zip(&y).map(content).collect();
    (x, y, phosphorus)
}

#[cfg(test)]
#[test]
fn samples_go_where_there_are_none_and_the_error_falls() {
    let places = next_samples(&Device::Cpu, 6).unwrap();
    let (x, y, _) = samples();
    assert!(places[0].x > 400.0, "{}", places[0].x);
    for (i, place) in places.iter().enumerate() {
        let before = places[..i].iter().map(|place| (place.x, place.y));
        let taken = x.iter().copied().zip(y.iter().copied()).chain(before);
        assert!(taken.into_iter().all(|(x, y)| f64::hypot(x - place.x, y - place.y) > 50.0));
    }
    assert!(places.windows(2).all(|pair| pair[1].error <= pair[0].error));
    main().unwrap();
}
