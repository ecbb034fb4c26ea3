//! Where the Earth shakes most: counts earthquakes by area in the cells of the mesh, and again in coarser cells. Unlike
//! a grid of degrees, the mesh does not grow narrow at the poles.
//!
//! `cargo run --package sphere-qtm --example earthquakes`

use std::collections::BTreeMap;

use gpu_core::{Device, DeviceChoice, Points};
use sphere_qtm::{Cell, Level, Result, cells_of_points};

/// The square of the Earth's mean radius, in million km2: areas on the sphere of radius 1 are in steradians.
const RADIUS_SQUARED: f64 = 6.371_008_8 * 6.371_008_8;

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let (longitudes, latitudes) = earthquakes(50_000);
    let counts = count(&device, &Points::new(&longitudes, &latitudes), Level::new(5)?)?;
    println!("{} of {} cells have earthquakes", counts.len(), Level::new(5)?.cell_count());
    let mut by_density: Vec<(&Cell, f64)> = counts
        .iter()
        .map(|(cell, &count)| (cell, f64::from(count) / (cell.area() * RADIUS_SQUARED)))
        .collect();
    by_density.sort_by(|one, other| other.1.total_cmp(&one.1));
    for (cell, density) in by_density.iter().take(3) {
        let place = cell.centre().to_lon_lat();
        let (longitude, latitude) = (place.longitude(), place.latitude());
        println!("cell {cell} at ({longitude:.0}, {latitude:.0}): {density:.0} a million km2");
    }
    for (octant, count) in coarser(&counts, Level::ZERO) {
        println!("octant {octant}: {count}");
    }
    Ok(())
}

/// How many points each cell of a level has.
fn count(device: &Device, points: &Points<'_>, level: Level) -> Result<BTreeMap<Cell, u32>> {
    let mut counts = BTreeMap::new();
    for cell in cells_of_points(device, points, level)? {
        *counts.entry(cell).or_default() += 1;
    }
    Ok(counts)
}

/// The sums over the cells of a coarser level.
fn coarser(counts: &BTreeMap<Cell, u32>, level: Level) -> BTreeMap<Cell, u32> {
    let mut sums = BTreeMap::new();
    for (cell, count) in counts {
        let above = cell.ancestor(level).expect("the level is coarser");
        *sums.entry(above).or_default() += count;
    }
    sums
}

/// Longitudes and latitudes along a great circle that is inclined by 50 degrees, and so far beside it.
fn earthquakes(count: u32) -> (Vec<f64>, Vec<f64>) {
    let (sine, cosine) = 50f64.to_radians().sin_cos();
    let place = |i: u32| {
        let along = std::f64::consts::TAU * (f64::from(i) * 0.754_877_666_246_693).fract();
        let beside = 0.3 * (f64::from(i) * 0.569_840_290_998_053).fract().powi(3);
        let (x, y, z) = (along.cos() * beside.cos(), along.sin() * beside.cos(), beside.sin());
        let (y, z) = (y * cosine - z * sine, y * sine + z * cosine);
        (y.atan2(x).to_degrees(), z.asin().to_degrees())
    };
    (0..count).map(place).unzip()
}

#[cfg(test)]
#[test]
fn every_earthquake_is_in_the_cell_of_its_place() {
    let (longitudes, latitudes) = earthquakes(2000);
    let (level, points) = (Level::new(5).unwrap(), Points::new(&longitudes, &latitudes));
    let counts = count(&Device::Cpu, &points, level).unwrap();
    let mut one_by_one = BTreeMap::new();
    for (&longitude, &latitude) in longitudes.iter().zip(&latitudes) {
        let place = sphere_qtm::LonLat::new(longitude, latitude).unwrap();
        *one_by_one.entry(Cell::containing(place, level)).or_insert(0) += 1;
    }
    assert_eq!(counts, one_by_one);
    // An octant holds the longitudes of a quarter, north or south of the equator.
    let northern = |cell: &Cell| cell.centre().to_lon_lat().latitude() > 0.0;
    let octants = coarser(&counts, Level::ZERO);
    let north: u32 =
        octants.iter().filter(|(cell, _)| northern(cell)).map(|(_, count)| count).sum();
    assert_eq!(north as usize, latitudes.iter().filter(|&&latitude| latitude >= 0.0).count());
    main().unwrap();
}
