//! The extent of points on the device is that of the same points on the host.

use gpu_core::{Error as CoreError, Extent, Points};
use gpu_scan::{Error, gpu};

use crate::common::{Unaligned, open};

/// Values between -50 and 50, repeatable, none of them zero.
fn values(len: usize, seed: u64) -> Vec<f64> {
    let mut random = testing::Random::new(seed);
    (0..len).map(|_| random.below(100_000) as f64 / 1000.0 - 49.9995).collect()
}

/// Finds the extent on both sides.
fn both(columns: &[Vec<f64>]) -> (Result<Extent, Error>, Result<Extent, CoreError>) {
    let (gpu, mut workspace) = open();
    let on_device: Vec<_> =
        columns.iter().enumerate().map(|(i, c)| Unaligned::new(&gpu, c, i % 3)).collect();
    let slices: Vec<_> = on_device.iter().map(Unaligned::slice).collect();
    let found = gpu::extent(&mut workspace, slices[0], slices[1], &slices[2..]);
    let values: Vec<&[f64]> = columns[2..].iter().map(Vec::as_slice).collect();
    (found, Extent::of(&Points { x: &columns[0], y: &columns[1], values: &values }))
}

/// The bits of an extent: `==` takes zeros of both signs for the same.
fn bits(extent: &Extent) -> Vec<u64> {
    let bounds = extent.bounds.iter().flat_map(|b| [b.min_x, b.min_y, b.max_x, b.max_y]);
    let ranges = extent.ranges.iter().flat_map(|range| [range.min, range.max]);
    bounds.chain(ranges).map(f64::to_bits).collect()
}

fn check(columns: &[Vec<f64>]) {
    let (found, expected) = both(columns);
    assert_eq!(bits(&found.unwrap()), bits(&expected.unwrap()), "{} points", columns[0].len());
}

#[test]
fn extents_have_the_bits_of_the_host_s() {
    for len in testing::sizes(2048) {
        for columns in [2, 3, 8, 9, 19] {
            let columns: Vec<_> = (0..columns).map(|c| values(len, c as u64)).collect();
            check(&columns);
        }
    }
    let many = (1 << 20) + 12_345;
    check(&[values(many, 1), values(many, 2), values(many, 3)]);
}

#[test]
fn of_zeros_of_both_signs_the_first_one_counts() {
    for seed in 0..20 {
        let mut random = testing::Random::new(seed);
        let mut zeros = |sign: f64| -> Vec<f64> {
            let mut one = |_| match random.below(3) {
                0 => 0.0,
                1 => -0.0,
                _ => sign * 1.5,
            };
            (0..5000).map(&mut one).collect()
        };
        check(&[zeros(1.0), zeros(-1.0), zeros(0.0)]);
    }
}

#[test]
fn the_first_that_is_not_finite_is_named_x_before_y_before_values() {
    let len = 9000;
    let place = |column: &mut Vec<f64>, index: usize, value: f64| column[index] = value;
    let clean: Vec<_> = (0..4).map(|c| values(len, c)).collect();
    let expect = |columns: &[Vec<f64>], what: &'static str, index: u64| {
        let (found, expected) = both(columns);
        let (Err(Error::Core(found)), Err(expected)) = (found, expected) else {
            panic!("{what} {index} passed")
        };
        assert_eq!(found.to_string(), expected.to_string());
        let CoreError::NotFinite { what: found, index: at, .. } = found else { panic!("{found}") };
        assert_eq!((found, at), (what, index));
    };
    let mut columns = clean.clone();
    place(&mut columns[3], 8999, f64::NAN);
    expect(&columns, "value", 8999);
    place(&mut columns[3], 17, f64::NEG_INFINITY);
    expect(&columns, "value", 17);
    place(&mut columns[2], 8000, -f64::NAN);
    expect(&columns, "value", 8000);
    place(&mut columns[1], 4096, f64::INFINITY);
    expect(&columns, "y", 4096);
    place(&mut columns[0], 8191, f64::NAN);
    expect(&columns, "x", 8191);
    place(&mut columns[0], 0, f64::INFINITY);
    expect(&columns, "x", 0);
}

#[test]
fn extents_of_columns_of_different_lengths_are_refused() {
    let (gpu, mut workspace) = open();
    let (three, two) = (gpu.upload(&[1.0; 3]).unwrap(), gpu.upload(&[1.0; 2]).unwrap());
    let error = gpu::extent(&mut workspace, &three, &two, &[]).unwrap_err();
    assert_eq!(error.to_string(), "column of y has 2 elements, expected 3");
    let error = gpu::extent(&mut workspace, &three, &three, &[(&two).into()]).unwrap_err();
    assert_eq!(error.to_string(), "column of values has 2 elements, expected 3");
}

#[test]
fn an_extent_is_not_captured() {
    let (gpu, mut workspace) = open();
    let x = gpu.upload(&[1.0; 3]).unwrap();
    gpu::extent(&mut workspace, &x, &x, &[]).unwrap();
    let captured = gpu.capture(|| gpu::extent(&mut workspace, &x, &x, &[]).map(drop));
    assert!(matches!(captured, Err(Error::Core(CoreError::Captured { .. }))), "{captured:?}");
}
