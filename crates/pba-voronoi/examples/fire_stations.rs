//! For each pixel of a city: the nearest fire station and its distance; and how much of the city is too far from every
//! station.
//!
//! `cargo run --package pba-voronoi --example fire_stations`

use gpu_core::{Device, DeviceChoice, GridSpec};
use pba_voronoi::{Diagram, Input, Params, Result, Sites, transform};

/// A city of 12 by 8 km, in pixels of 20 m.
const SIZE: (u32, u32) = (600, 400);
const PIXEL: f64 = 20.0;

/// Columns and rows of the stations; the first has the label 1.
const STATIONS: [(u32, u32); 5] = [(90, 80), (300, 60), (420, 300), (150, 310), (560, 110)];

/// How far a station may be, in metres.
const REACH: f32 = 2500.0;

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let (labels, distances) = districts(&device)?;
    for station in 1..=STATIONS.len() as u32 {
        let own = || labels.iter().zip(&distances).filter(|(label, _)| **label == station);
        let area = own().count() as f64 * PIXEL * PIXEL / 1e6;
        let farthest = own().map(|(_, &distance)| distance).fold(0.0, f32::max);
        println!("station {station}: {area:5.2} km2, up to {farthest:4.0} m away");
    }
    let beyond = distances.iter().filter(|&&distance| distance > REACH).count();
    let share = 100.0 * beyond as f64 / distances.len() as f64;
    println!("{share:.1}% of the city is farther than {REACH} m from every station");
    Ok(())
}

/// The label of the nearest station of each pixel, and the distance to it in metres, row by row.
fn districts(device: &Device) -> Result<(Vec<u32>, Vec<f32>)> {
    let (width, height) = SIZE;
    let mut labels = vec![0; width as usize * height as usize];
    for (label, (column, row)) in (1..).zip(STATIONS) {
        labels[(row * width + column) as usize] = label;
    }
    let grid = GridSpec::new(0.0, PIXEL * f64::from(height), PIXEL, width, height)?;
    let input = Input::new(Sites::Labels(&labels), grid);
    let Diagram { label, distance, .. } =
        transform(device, &input, &Params::new().label().distance())?;
    let (label, distance) = label.zip(distance).expect("both were asked for");
    Ok((label.into_values(), distance.into_values()))
}

#[cfg(test)]
#[test]
fn each_pixel_has_the_nearest_of_all_stations() {
    let (labels, distances) = districts(&Device::Cpu).unwrap();
    let pixels = (0..SIZE.1).flat_map(|row| (0..SIZE.0).map(move |column| (column, row)));
    for ((column, row), (&label, &distance)) in pixels.zip(labels.iter().zip(&distances)) {
        let square = |station: usize| {
            let (x, y) = STATIONS[station];
            u64::from(x.abs_diff(column)).pow(2) + u64::from(y.abs_diff(row)).pow(2)
        };
        let least = (0..STATIONS.len()).map(square).min().unwrap();
        assert_eq!(square(label as usize - 1), least, "at {column}, {row}");
        assert!((f64::from(distance) - PIXEL * (least as f64).sqrt()).abs() < 1e-3);
    }
    main().unwrap();
}
