//! A seeded sample, for a first run without data.

use gpu_core::Grid;
use gpu_core::GridSpec;
use rayon::prelude::*;

/// A fractal landscape of whole metres: octaves of smoothed noise, each half as high and twice as fine as the one
/// before.
pub fn landscape(side: u32, seed: u64) -> Grid<i16> {
    let height = |column: u32, row: u32| {
        let (mut sum, mut weight, mut cell) = (0.0, 1000.0, 256);
        for octave in 0..8 {
            sum += weight * noise((column, row), cell, seed.wrapping_add(octave));
            weight *= 0.5;
            cell = (cell / 2).max(1);
        }
        (sum - 800.0) as i16
    };
    let rows = (0..side).into_par_iter();
    let values = rows.flat_map_iter(|row| (0..side).map(move |column| height(column, row)));
    Grid::new(values.collect(), GridSpec::of_pixels(side, side)).expect("a value for each cell")
}

/// Random values from 0 to 1 at every `cell`-th column and row, and between them smoothly.
fn noise((column, row): (u32, u32), cell: u32, seed: u64) -> f64 {
    let at = |x: u32, y: u32| {
        // Mixes the bits as splitmix64 does (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
        let mut bits =
            (u64::from(x) << 32 | u64::from(y)) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) >> 11) as f64 / (1u64 << 53) as f64
    };
    let (x, y) = (column / cell, row / cell);
    let [u, v] = [column, row].map(|place| {
        let t = f64::from(place % cell) / f64::from(cell);
        t * t * (3.0 - 2.0 * t)
    });
    let north = at(x, y) * (1.0 - u) + at(x + 1, y) * u;
    let south = at(x, y + 1) * (1.0 - u) + at(x + 1, y + 1) * u;
    north * (1.0 - v) + south * v
}
