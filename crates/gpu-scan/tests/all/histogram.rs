//! Histograms against plain counting, on the CPU and on the GPU.

use crate::common::{Unaligned, open};
use gpu_core::Gpu;
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Error, Histogram, Number, cpu};
use proptest::prelude::*;

/// The definition, word by word.
fn oracle<T: Number>(bounds: &[T], input: &[T]) -> Histogram {
    let bins = bounds.len() - 1;
    let mut all = Histogram { counts: vec![0; bins], ..Histogram::default() };
    for x in input {
        if x.partial_cmp(x).is_none() {
            all.nan += 1;
        } else if *x < bounds[0] {
            all.below += 1;
        } else if let Some(bin) = (0..bins).find(|b| bounds[*b] <= *x && *x < bounds[b + 1]) {
            all.counts[bin] += 1;
        } else {
            all.above += 1;
        }
    }
    all
}

/// Runs `histogram` with 32-bit and 64-bit counts, which must agree.
fn on_gpu<T: Number>(
    (gpu, w): &mut (Gpu, Workspace),
    bins: usize,
    input: &[T],
    bounds: Option<&[T]>,
    (lower, upper): (T, T),
) -> Histogram {
    let input = Unaligned::new(gpu, input, bins % 3);
    let mut counts = gpu.upload(&vec![7u64; bins]).unwrap();
    let mut words = gpu.upload(&vec![7u32; bins]).unwrap();
    let mut outside = [gpu.upload(&[9u64; 3]).unwrap(), gpu.upload(&[9u64; 3]).unwrap()];
    let [first, second] = &mut outside;
    if let Some(bounds) = bounds {
        let bounds = gpu.upload(bounds).unwrap();
        gpu::histogram(w, &bounds, input.slice(), &mut counts, first).unwrap();
        gpu::histogram(w, &bounds, input.slice(), &mut words, second).unwrap();
    } else {
        gpu::histogram_even(w, (lower, upper), input.slice(), &mut counts, first).unwrap();
        gpu::histogram_even(w, (lower, upper), input.slice(), &mut words, second).unwrap();
    }
    let [below, above, nan] = outside[0].to_host().unwrap()[..] else { panic!() };
    assert_eq!(outside[1].to_host().unwrap(), [below, above, nan]);
    let counts = counts.to_host().unwrap();
    assert!(words.to_host().unwrap().iter().map(|c| u64::from(*c)).eq(counts.iter().copied()));
    Histogram { counts, below, above, nan }
}

macro_rules! each_type {
    ($($name:ident: $type:ty;)+) => {$(
        #[test]
        fn $name() {
            let mut device = open();
            for n in [0, 1, 31, 33, 511, 2049, 8193] {
                let x: Vec<$type> =
                    (0..n as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> 20 & 0x7f) as $type).collect();
                let (a, b, c, d) = (20 as $type, 20 as $type, 45 as $type, 100 as $type);
                let bounds = [a, b, c, d];
                let expected = oracle(&bounds, &x);
                assert_eq!(cpu::histogram(&bounds, &x).unwrap(), expected);
                assert_eq!(on_gpu(&mut device, 3, &x, Some(&bounds), (a, d)), expected);
                // Whole numbers in bins of three: the same bounds in every type.
                let bounds: Vec<$type> = (0..=27).map(|b| (20 + 3 * b) as $type).collect();
                let (lower, upper) = (bounds[0], bounds[27]);
                let expected = oracle(&bounds, &x);
                assert_eq!(cpu::histogram_even((lower, upper), 27, &x).unwrap(), expected);
                assert_eq!(on_gpu(&mut device, 27, &x, None, (lower, upper)), expected);
                assert_eq!(on_gpu(&mut device, 27, &x, Some(&bounds), (lower, upper)), expected);
            }
        }
    )+};
}

each_type! {
    bytes: u8;
    short_words: u16;
    words: u32;
    signed_words: i32;
    long_words: u64;
    signed_long_words: i64;
    floats: f32;
    doubles: f64;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equal_bins_of_integers_are_exact(
        x in proptest::collection::vec(any::<i64>(), 1..200),
        (a, b) in (any::<i64>(), any::<i64>()),
        bins in 1usize..300,
    ) {
        prop_assume!(a != b);
        let (lower, upper) = (a.min(b), a.max(b));
        let span = i128::from(upper) - i128::from(lower);
        let mut expected = Histogram { counts: vec![0; bins], ..Histogram::default() };
        for x in &x {
            if *x < lower {
                expected.below += 1;
            } else if *x >= upper {
                expected.above += 1;
            } else {
                let bin = (i128::from(*x) - i128::from(lower)) * bins as i128 / span;
                expected.counts[bin as usize] += 1;
            }
        }
        prop_assert_eq!(&cpu::histogram_even((lower, upper), bins, &x).unwrap(), &expected);
        prop_assert_eq!(&on_gpu(&mut open(), bins, &x, None, (lower, upper)), &expected);
    }

    #[test]
    fn equal_bins_of_floats_lie_between_rounded_bounds(
        x in proptest::collection::vec(proptest::num::f32::ANY, 1..100),
        near in proptest::collection::vec(-2f32..2.0, 1..100),
        (a, b) in (-1f32..1.0, 1e-3f32..2.0),
        scale in prop_oneof![Just(1f32), Just(1e-38), Just(1.6e38), Just(1e30)],
        bins in 1usize..300,
    ) {
        let x: Vec<f32> = x.into_iter().chain(near.iter().map(|x| x * scale)).collect();
        let (lower, upper) = (a * scale, (a + b) * scale);
        prop_assume!(lower < upper && upper.is_finite());
        let (from, to) = (f64::from(lower), f64::from(upper));
        let bound = |b: usize| (from + (to - from) * (b as f64 / bins as f64)) as f32;
        let mut bounds: Vec<f32> = (0..bins).map(bound).collect();
        bounds.push(upper);
        let x: Vec<f32> = x.into_iter().chain(bounds.iter().copied()).collect();
        let expected = oracle(&bounds, &x);
        prop_assert_eq!(&cpu::histogram_even((lower, upper), bins, &x).unwrap(), &expected);
        prop_assert_eq!(&on_gpu(&mut open(), bins, &x, None, (lower, upper)), &expected);
        let doubles: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let of_cpu = cpu::histogram_even((from, to), bins, &doubles).unwrap();
        prop_assert_eq!(&on_gpu(&mut open(), bins, &doubles, None, (from, to)), &of_cpu);
    }
}

#[test]
fn special_floats_have_their_places() {
    let mut device = open();
    let bounds = [f32::NEG_INFINITY, -1.0, 0.0, 1.0, f32::INFINITY];
    let x = [-0.0, 0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1.0];
    let expected = Histogram { counts: vec![1, 1, 2, 1], below: 0, above: 1, nan: 2 };
    assert_eq!(cpu::histogram(&bounds, &x).unwrap(), expected);
    assert_eq!(on_gpu(&mut device, 4, &x, Some(&bounds), (0.0, 0.0)), expected);
    // The span of these is beyond the greatest double.
    let (low, high) = (f64::MIN, f64::MAX);
    let x = [low, -1.0, 0.0, 1.0, high / 2.0, high, f64::INFINITY, f64::NAN];
    let expected = Histogram { counts: vec![1, 1, 2, 1], below: 0, above: 2, nan: 1 };
    assert_eq!(cpu::histogram_even((low, high), 4, &x).unwrap(), expected);
    assert_eq!(on_gpu(&mut device, 4, &x, None, (low, high)), expected);
}

#[test]
fn many_bins_and_many_of_one() {
    let mut device = open();
    let x: Vec<u32> = (0..20_000u32).map(|i| i.wrapping_mul(2_654_435_761) >> 12).collect();
    for bins in [1024, 4096, 7000] {
        let expected = cpu::histogram_even((0, 1 << 20), bins, &x).unwrap();
        assert_eq!(expected.counts.iter().sum::<u64>(), 20_000);
        assert_eq!(on_gpu(&mut device, bins, &x, None, (0, 1 << 20)), expected);
    }
    let same = vec![5u16; 30_000];
    let expected = Histogram { counts: vec![0, 30_000], ..Histogram::default() };
    assert_eq!(on_gpu(&mut device, 2, &same, Some(&[0, 5, 6]), (0, 0)), expected);
    assert_eq!(on_gpu(&mut device, 2, &same, None, (4, 6)), expected);
}

#[test]
fn what_cannot_be_done_is_named() {
    let (gpu, mut w) = open();
    let bins = |bins, lower: &str, upper: &str| Error::Bins {
        bins,
        lower: lower.to_owned(),
        upper: upper.to_owned(),
    };
    assert_eq!(cpu::histogram(&[1u8], &[1]), Err(bins(0, "1", "1")));
    assert_eq!(cpu::histogram(&[2u8, 1], &[1]), Err(bins(1, "2", "1")));
    assert_eq!(cpu::histogram(&[0.0, f32::NAN], &[1.0]), Err(bins(1, "0.0", "NaN")));
    assert_eq!(cpu::histogram_even((1, 1), 4, &[1]), Err(bins(4, "1", "1")));
    assert_eq!(cpu::histogram_even((0.0, f64::INFINITY), 4, &[1.0]), Err(bins(4, "0.0", "inf")));
    let too_many = Error::TooLarge { elements: 1 << 32, most: (1 << 32) - 4 };
    assert_eq!(cpu::histogram_even((0u64, 1 << 40), 1 << 32, &[1]), Err(too_many));
    let input = gpu.upload(&[1u64, 2]).unwrap();
    let mut counts = gpu.zeroed::<u64>(3).unwrap();
    let mut outside = gpu.zeroed::<u64>(3).unwrap();
    let mut two = gpu.zeroed::<u64>(2).unwrap();
    assert_eq!(
        gpu::histogram_even(&mut w, (2, 1), &input, &mut counts, &mut outside),
        Err(bins(3, "2", "1"))
    );
    assert_eq!(
        gpu::histogram_even(&mut w, (1, 2), &input, &mut counts, &mut two),
        Err(crate::length("outside", 3, 2))
    );
    let bounds = gpu.upload(&[1u64, 2, 3]).unwrap();
    assert_eq!(
        gpu::histogram(&mut w, &bounds, &input, &mut counts, &mut outside),
        Err(crate::length("bounds", 4, 3))
    );
    // SAFETY: nothing is enqueued: the overlap is refused.
    let same = unsafe { gpu_core::SliceMut::from_raw_parts(bounds.as_ptr().cast_mut(), 2) };
    assert_eq!(
        gpu::histogram(&mut w, &bounds, &input, same, &mut outside),
        Err(Error::Overlap { first: "bounds", second: "counts" })
    );
}
