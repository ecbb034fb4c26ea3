//! A DEM, indexes of its heights and slopes, where both are in a range, and the distance to there.

use gpu_core::{DeviceGrid, Grid, GridSpec};
use gpu_scan::gpu::Workspace;
use library::places::{self, Asked, slope_params};
use terrain_grid::product;
use testing::{bits, gpu};

use crate::bytes_to_host;

/// Hills of 380 to 460 metres, and a lake without heights.
fn dem(width: u32, height: u32) -> Grid<f32> {
    let grid = GridSpec::new(0.0, 10.0 * f64::from(height), 10.0, width, height).unwrap();
    let cells = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
    let z = |(column, row): (u32, u32)| match (3..7).contains(&column) && (2..5).contains(&row) {
        true => f32::NAN,
        false => 420.0 + 40.0 * (f32::sin(column as f32 / 9.0) * f32::cos(row as f32 / 7.0)),
    };
    Grid::new(cells.map(z).collect(), grid).unwrap()
}

#[test]
fn where_it_is_high_and_steep_is_found_on_the_device() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for (width, height) in [(1, 1), (33, 17), (150, 90)] {
        let dem = dem(width, height);
        let there = DeviceGrid::upload(&gpu, dem.view()).unwrap();
        for asked in [
            Asked { heights: [420.0, 430.0], slope: 5.0 },
            Asked { heights: [0.0, 1e4], slope: 0.0 },
            Asked { heights: [9e3, 1e4], slope: 5.0 },
        ] {
            let (found, bytes) = bytes_to_host(&gpu, || {
                places::gpu::distance(&mut workspace, (&there).into(), asked).unwrap()
            });
            let found = found.to_host().unwrap();
            let wanted = places::distance(dem.view(), asked).unwrap();
            assert_eq!(bits(found.values()), bits(wanted.values()), "{width} x {height} {asked:?}");
            // The numbers of nodes of each index, level by level.
            if gpu.is_software() {
                assert!((16..=2 * 8 * 16).contains(&bytes), "{bytes}");
            }
        }
    }
}

#[test]
fn what_is_found_is_what_a_look_at_each_cell_finds() {
    let dem = dem(70, 50);
    let asked = Asked { heights: [420.0, 430.0], slope: 5.0 };
    let slope = product(&gpu_core::Device::Cpu, dem.view(), &slope_params()).unwrap();
    let is_found = |i: usize| {
        (420.0..430.0).contains(&dem.values()[i]) && f64::from(slope.values()[i]) >= asked.slope
    };
    let distance = places::distance(dem.view(), asked).unwrap();
    let found: Vec<usize> = (0..dem.values().len()).filter(|&i| is_found(i)).collect();
    assert!(found.len() > 50 && found.len() < 2000, "{}", found.len());
    for (cell, &distance) in distance.values().iter().enumerate() {
        let place =
            |cell: usize| [(cell % 70) as f64, (cell / 70) as f64].map(|along| 10.0 * along);
        let [x, y] = place(cell);
        let from = |&other: &usize| f64::hypot(place(other)[0] - x, place(other)[1] - y);
        let nearest = found.iter().map(from).fold(f64::INFINITY, f64::min);
        assert!((f64::from(distance) - nearest).abs() <= 1e-4 * nearest, "{cell}");
    }
}
