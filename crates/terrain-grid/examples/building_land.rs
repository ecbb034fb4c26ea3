//! How much of a valley is fit to build on (flatter than 8 degrees, or than 15 if it faces south), and how long its
//! contour lines are.
//!
//! `cargo run --package terrain-grid --example building_land`

use gpu_core::{Device, DeviceChoice, Grid, GridSpec, GridView};
use terrain_grid::{
    Aspect, Contour, ContourParams, Product, ProductParams, Result, SlopeUnit, contours, product,
};

/// A DEM of 200 by 200 cells of 10 m.
const SIDE: u32 = 200;
const CELL: f64 = 10.0;

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let dem =
        dem(|x, y| 40.0 * ((x / 350.0).sin() * (y / 500.0).cos()) + 0.0001 * (x - 900.0).powi(2))?;
    println!("{:.1} ha are fit, on {}", hectares(&device, dem.view())?, device.name());
    for line in contours(&device, dem.view(), &ContourParams::every(25.0))? {
        let shape = if line.is_closed() { "ring" } else { "line" };
        println!("{:5.0} m: a {shape} of {:.0} m", line.level, length(&line));
    }
    Ok(())
}

/// The area that is fit to build on. Cells on the border have no slope, so they do not count.
fn hectares(device: &Device, dem: GridView<'_, f32>) -> Result<f64> {
    let slope = product(device, dem, &ProductParams::new(Product::Slope(SlopeUnit::Degrees)))?;
    let aspect = product(device, dem, &ProductParams::new(Product::Aspect(Aspect::new())))?;
    let is_fit = |(&slope, &aspect): (&f32, &f32)| {
        slope < 8.0 || (slope < 15.0 && (135.0..225.0).contains(&aspect))
    };
    let cells = slope.values().iter().zip(aspect.values());
    Ok(cells.filter(|cell| is_fit(*cell)).count() as f64 * CELL * CELL / 1e4)
}

/// The length of a contour line, in metres.
fn length(line: &Contour) -> f64 {
    let pairs = line.points.windows(2);
    pairs.map(|pair| f64::hypot(pair[1][0] - pair[0][0], pair[1][1] - pair[0][1])).sum()
}

/// Heights at the centres of the cells.
fn dem(height: impl Fn(f64, f64) -> f64) -> Result<Grid<f32>> {
    let grid = GridSpec::new(0.0, CELL * f64::from(SIDE), CELL, SIDE, SIDE)?;
    let cells = (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (column, row)));
    let centres = cells.map(|(column, row)| grid.cell_centre(column, row));
    Ok(Grid::new(centres.map(|(x, y)| height(x, y) as f32).collect(), grid)?)
}

#[cfg(test)]
#[test]
fn planes_and_a_cone_have_their_areas_and_lengths() {
    let inner = f64::from((SIDE - 2) * (SIDE - 2)) * CELL * CELL / 1e4;
    // A plane that falls to the south by 10 degrees, to the north by as much, and to the north by 5.
    for (rise, expected) in [(10f64, inner), (-10.0, 0.0), (-5.0, inner)] {
        let plane = dem(|_, y| y * rise.to_radians().tan()).unwrap();
        assert_eq!(hectares(&Device::Cpu, plane.view()).unwrap(), expected);
    }
    // A contour line of a cone is a circle.
    let cone = dem(|x, y| 500.0 - 0.5 * f64::hypot(x - 1000.0, y - 1000.0)).unwrap();
    let lines = contours(&Device::Cpu, cone.view(), &ContourParams::at([250.0])).unwrap();
    assert!(lines.len() == 1 && lines[0].is_closed());
    assert!((length(&lines[0]) / (std::f64::consts::TAU * 500.0) - 1.0).abs() < 0.01);
    main().unwrap();
}
