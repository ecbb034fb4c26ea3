//! Where vines would grow: warm enough, not too high, and in one piece of at least 5 hectares. Two indices are searched together, and what is
//! found is joined to regions.
//!
//! `cargo run --package ccq-tree --example vineyards`

use ccq_tree::{Condition, Connectivity, Params, Query, Regions, Result, build, regions};
use gpu_core::{Device, DeviceChoice, Grid, GridSpec};

/// Cells of 50 m on a side: 4 of them are a hectare.
const CELL: f64 = 50.0;
const SIDE: u32 = 300;
const LEAST_CELLS: u64 = 20;

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let (heights, warmth) = land()?;
    let found = vineyards(&device, &heights, &warmth)?;
    let large = || found.regions().iter().filter(|region| region.cells >= LEAST_CELLS);
    let (count, cells) = (large().count(), large().map(|region| region.cells).sum::<u64>());
    println!(
        "{} places, {count} of them large enough, with {} ha",
        found.regions().len(),
        cells / 4
    );
    if let Some(best) = large().max_by_key(|region| region.cells) {
        let (x, y) = heights.grid().cell_centre(best.column, best.row);
        println!("the largest has {} ha and begins at ({x:.0}, {y:.0})", best.cells / 4);
    }
    Ok(())
}

/// The connected regions from 150 to below 400 m whose mean temperature is 9.5 degrees or more.
fn vineyards(device: &Device, heights: &Grid<i16>, warmth: &Grid<f32>) -> Result<Regions> {
    let heights = build(device, heights.view(), &Params::new())?;
    let warmth = build(device, warmth.view(), &Params::new())?;
    let conditions = [
        Condition::new(&heights).range(150, 400),
        Condition::new(&warmth).range(9.5, f64::INFINITY),
    ];
    regions(device, &conditions, &Query::new(), Connectivity::Four)
}

/// Heights in metres, and temperatures: less with the height, more on southern slopes.
fn land() -> Result<(Grid<i16>, Grid<f32>)> {
    let grid = GridSpec::new(0.0, CELL * f64::from(SIDE), CELL, SIDE, SIDE)?;
    let height = |column: f64, row: f64| {
        350.0
            + 180.0 * (column / 31.0).sin() * (row / 23.0).cos()
            + 60.0 * (row / 9.0).sin()
            + 50.0 * (column / 4.0 + row / 7.0).sin()
    };
    let cells = || (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (column, row)));
    let at = |(column, row): (u32, u32)| (f64::from(column), f64::from(row));
    let heights = cells().map(at).map(|(column, row)| height(column, row) as i16).collect();
    let warmth = cells().map(at).map(|(column, row)| {
        let fall_to_south = (height(column, row - 1.0) - height(column, row + 1.0)) / (2.0 * CELL);
        (11.5 - 0.0065 * height(column, row) + 2.0 * fall_to_south) as f32
    });
    Ok((Grid::new(heights, grid)?, Grid::new(warmth.collect(), grid)?))
}

#[cfg(test)]
#[test]
fn the_regions_are_those_that_spread_from_cell_to_cell() {
    let (heights, warmth) = land().unwrap();
    let found = vineyards(&Device::Cpu, &heights, &warmth).unwrap();
    let cells = heights.values().iter().zip(warmth.values());
    let mut is_open: Vec<bool> =
        cells.map(|(&height, &warmth)| (150..400).contains(&height) && warmth >= 9.5).collect();
    let mut sizes = Vec::new();
    let side = SIDE as usize;
    for first in 0..is_open.len() {
        let mut waiting = vec![first];
        let mut size = 0;
        while let Some(cell) = waiting.pop() {
            if std::mem::take(&mut is_open[cell]) {
                size += 1;
                let (column, row) = (cell % side, cell / side);
                waiting.extend((column > 0).then(|| cell - 1));
                waiting.extend((column + 1 < side).then(|| cell + 1));
                waiting.extend((row > 0).then(|| cell - side));
                waiting.extend((row + 1 < side).then(|| cell + side));
            }
        }
        sizes.extend((size > 0).then_some(size));
    }
    assert_eq!(found.regions().iter().map(|region| region.cells).collect::<Vec<u64>>(), sizes);
    main().unwrap();
}
