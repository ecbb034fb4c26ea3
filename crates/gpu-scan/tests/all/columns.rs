//! Scans along the columns and rows of grids, on the CPU and on the GPU.

use crate::common::{open, same_bits};
use gpu_core::{DeviceGrid, Gpu, GridSpec};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{LastValid, Max, Min, Number, Scan, ScanOperator, Sum, cpu};

/// Scans a grid along its columns in all ways on both back ends, and gives what the CPU said.
fn scan<T: Number, O: ScanOperator<T>>(
    (gpu, w): &mut (Gpu, Workspace),
    operator: O,
    how: Scan<T>,
    width: usize,
    x: &[T],
) -> Vec<T> {
    let mut expected = vec![x.first().copied().unwrap_or(bytemuck::Zeroable::zeroed()); x.len()];
    cpu::scan_columns(operator, how, width, x, &mut expected).unwrap();
    let mut again = x.to_vec();
    cpu::scan_columns_in_place(operator, how, width, &mut again).unwrap();
    assert!(same_bits(&again, &expected));
    let (columns, rows) = (width as u32, (x.len() / width) as u32);
    let mut grid =
        DeviceGrid::from_column(gpu.upload(x).unwrap(), GridSpec::of_pixels(columns, rows))
            .unwrap();
    let mut output =
        DeviceGrid::from_column(gpu.zeroed(x.len()).unwrap(), GridSpec::of_pixels(columns, rows))
            .unwrap();
    gpu::scan_columns(w, operator, how, &grid, &mut output).unwrap();
    assert!(same_bits(&output.column().to_host().unwrap(), &expected), "{width} {how:?}");
    gpu::scan_columns_in_place(w, operator, how, &mut grid).unwrap();
    assert!(same_bits(&grid.column().to_host().unwrap(), &expected), "{width} {how:?}");
    expected
}

/// The definition: a column as std scans it.
fn oracle<T: Number>(
    combine: impl Fn(T, T) -> T,
    how: (Option<T>, bool),
    width: usize,
    x: &[T],
) -> Vec<T> {
    let (initial, backward) = how;
    let mut result = x.to_vec();
    for column in 0..width {
        let mut at: Vec<usize> = (column..x.len()).step_by(width).collect();
        if backward {
            at.reverse();
        }
        let mut sum = initial;
        for i in at {
            let with = sum.map_or(x[i], |sum| combine(sum, x[i]));
            result[i] = if initial.is_some() { sum.unwrap_or(with) } else { with };
            sum = Some(with);
        }
    }
    result
}

/// One column, less than a warp, more; one chunk, several, the last of them partial.
const SHAPES: [(usize, usize); 8] =
    [(1, 1), (1, 100), (3, 7), (31, 33), (70, 65), (300, 40), (33, 131), (513, 1)];

macro_rules! each_type {
    ($($name:ident: $type:ty, $add:expr;)+) => {$(
        #[test]
        fn $name() {
            let mut device = open();
            let add: fn($type, $type) -> $type = $add;
            let least = |a: $type, b: $type| if b < a { b } else { a };
            let most = |a: $type, b: $type| if b > a { b } else { a };
            let gap = 7 as $type;
            let valid = |a: $type, b: $type| if b == gap { a } else { b };
            for (width, height) in SHAPES {
                let x: Vec<$type> = (0..(width * height) as u64)
                    .map(|i| (i.wrapping_mul(2_654_435_761) >> 20 & 0x1f) as $type)
                    .collect();
                let first = 9 as $type;
                let hows = [
                    (Scan::inclusive(), (None, false)),
                    (Scan::inclusive().backward(), (None, true)),
                    (Scan::exclusive(first), (Some(first), false)),
                    (Scan::exclusive(first).backward(), (Some(first), true)),
                ];
                for (how, plain) in hows {
                    assert_eq!(scan(&mut device, Sum, how, width, &x), oracle(add, plain, width, &x));
                    assert_eq!(scan(&mut device, Min, how, width, &x), oracle(least, plain, width, &x));
                    assert_eq!(scan(&mut device, Max, how, width, &x), oracle(most, plain, width, &x));
                    let last = scan(&mut device, LastValid(gap), how, width, &x);
                    assert_eq!(last, oracle(valid, plain, width, &x));
                }
            }
        }
    )+};
}

// Small whole numbers, so that sums of floats are exact in any order.
each_type! {
    bytes: u8, |a, b| a.wrapping_add(b);
    short_words: u16, |a, b| a.wrapping_add(b);
    words: u32, |a, b| a.wrapping_add(b);
    signed_words: i32, |a, b| a.wrapping_add(b);
    long_words: u64, |a, b| a.wrapping_add(b);
    signed_long_words: i64, |a, b| a.wrapping_add(b);
    floats: f32, |a, b| a + b;
    doubles: f64, |a, b| a + b;
}

#[test]
fn rounded_sums_and_gaps_are_the_same_on_both() {
    let mut device = open();
    let x: Vec<f32> = (0..150 * 200u32)
        .map(|i| match i % 7 {
            0 => f32::NAN,
            _ => (i.wrapping_mul(2_654_435_761) as f32).sqrt() - 3e4,
        })
        .collect();
    let filled = scan(&mut device, LastValid(f32::NAN), Scan::inclusive(), 150, &x);
    assert!(filled[150..].iter().all(|x| !x.is_nan()));
    let sums: Vec<f32> = x.iter().map(|x| if x.is_nan() { 0.25 } else { *x }).collect();
    for how in [Scan::inclusive(), Scan::exclusive(0.1), Scan::inclusive().backward()] {
        scan(&mut device, Sum, how, 150, &sums);
        scan(&mut device, Min, how, 150, &x);
    }
}

#[test]
fn rows_can_be_scanned_in_place() {
    let (gpu, mut w) = open();
    let x: Vec<u32> = (0..37 * 70).map(|i| i * 7 % 251).collect();
    let mut expected = x.clone();
    cpu::scan_rows_in_place(Sum, Scan::exclusive(3), 37, &mut expected).unwrap();
    let mut grid =
        DeviceGrid::from_column(gpu.upload(&x).unwrap(), GridSpec::of_pixels(37, 70)).unwrap();
    gpu::scan_rows_in_place(&mut w, Sum, Scan::exclusive(3), &mut grid).unwrap();
    assert_eq!(grid.column().to_host().unwrap(), expected);
}

#[test]
fn rows_of_all_widths_are_scanned() {
    let (gpu, mut w) = open();
    for width in [1u32, 2, 3, 5, 8, 16, 31, 33, 127, 129, 1000, 4097, 20_000] {
        let height = 20_001_u32.div_ceil(width);
        let x: Vec<u16> =
            (0..width * height).map(|i| (i.wrapping_mul(40_503) >> 5) as u16).collect();
        let spec = GridSpec::of_pixels(width, height);
        for how in [Scan::inclusive(), Scan::exclusive(7).backward()] {
            let mut expected = x.clone();
            cpu::scan_rows_in_place(Sum, how, width as usize, &mut expected).unwrap();
            let mut grid = DeviceGrid::from_column(gpu.upload(&x).unwrap(), spec).unwrap();
            gpu::scan_rows_in_place(&mut w, Sum, how, &mut grid).unwrap();
            assert!(grid.column().to_host().unwrap() == expected, "rows of {width}, {how:?}");
        }
    }
}

/// Large on the CPU alone: chunks by the hundred.
#[test]
fn tall_grids_are_put_together_from_chunks() {
    let (width, height) = (5, 100_000);
    let x: Vec<u64> = (0..width * height).map(|i| i as u64 % 1000).collect();
    let mut sums = vec![0; x.len()];
    cpu::scan_columns(Sum, Scan::inclusive(), width, &x, &mut sums).unwrap();
    assert_eq!(sums, oracle(|a, b| a + b, (None, false), width, &x));
}

#[test]
fn what_cannot_be_done_is_named() {
    let (gpu, mut w) = open();
    let grid =
        DeviceGrid::from_column(gpu.upload(&[1u32, 2, 3, 4]).unwrap(), GridSpec::of_pixels(2, 2))
            .unwrap();
    let mut other =
        DeviceGrid::from_column(gpu.upload(&[1u32, 2]).unwrap(), GridSpec::of_pixels(2, 1))
            .unwrap();
    let how = Scan::inclusive();
    let length = |what, expected, found| Err(crate::length(what, expected, found));
    assert_eq!(
        gpu::scan_columns(&mut w, Sum, how, &grid, &mut other),
        length("rows of the output", 2, 1)
    );
    assert_eq!(
        cpu::scan_columns(Sum, how, 2, &[1, 2, 3], &mut [0; 3]),
        length("input (as whole rows)", 2, 3)
    );
    assert_eq!(cpu::scan_columns(Sum, how, 2, &[1, 2], &mut [0; 3]), length("output", 2, 3));
    assert_eq!(cpu::scan_columns(Sum, how, 0, &[], &mut []), Ok(()));
}
