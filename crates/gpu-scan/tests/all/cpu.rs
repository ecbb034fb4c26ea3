//! The CPU's primitives against std, and the same bits as the GPU's.

use gpu_scan::{Number, Predicate, cpu};
use proptest::prelude::*;

fn same_bits<T: Number>(a: &[T], b: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b)
}

fn floats() -> impl Strategy<Value = Vec<f32>> {
    let value = prop_oneof![
        Just(f32::NAN),
        Just(-f32::NAN),
        Just(0.0),
        Just(-0.0),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        (-3i8..3).prop_map(f32::from),
    ];
    proptest::collection::vec(value, 0..300)
}

proptest! {
    #[test]
    fn selections_are_those_of_std(x in floats(), low in -3i8..3, span in 0i8..4) {
        let (low, high) = (f32::from(low), f32::from(low + span));
        let less: Vec<f32> = x.iter().copied().filter(|v| *v < low).collect();
        let within: Vec<f32> = x.iter().copied().filter(|v| *v >= low && *v <= high).collect();
        let rest: Vec<f32> = x.iter().copied().filter(|v| *v > high || v.is_nan()).collect();
        let [a, b, c] = cpu::partition_three((low, high), &x).unwrap();
        prop_assert!(same_bits(&a, &less) && same_bits(&b, &within) && same_bits(&c, &rest));
        let (a, b) = cpu::partition(Predicate::less_than(low), &x);
        prop_assert!(same_bits(&a, &less) && a.len() + b.len() == x.len());
    }

    #[test]
    fn runs_put_together_are_the_array(x in floats()) {
        let (values, lengths) = cpu::run_lengths(&x);
        let again: Vec<f32> = values
            .iter()
            .zip(&lengths)
            .flat_map(|(value, length)| std::iter::repeat_n(*value, *length as usize))
            .collect();
        prop_assert!(same_bits(&again, &x));
        prop_assert!(values.windows(2).all(|pair| pair[0].to_bits() != pair[1].to_bits()));
        prop_assert!(same_bits(&cpu::unique(&x), &values));
    }

    #[test]
    fn moves_come_back(x in proptest::collection::vec(any::<u16>(), 0..300), width in 1usize..20) {
        let order: Vec<u32> = (0..x.len() as u32).rev().collect();
        let (mut there, mut back) = (vec![0; x.len()], vec![0; x.len()]);
        cpu::gather(&order, &x, &mut there).unwrap();
        prop_assert!(there.iter().eq(x.iter().rev()));
        cpu::scatter(&order, &there, &mut back).unwrap();
        prop_assert_eq!(&back, &x);
        let whole = &x[..x.len() / width * width];
        let (mut turned, mut again) = (vec![0; whole.len()], vec![0; whole.len()]);
        cpu::transpose(width, whole, &mut turned).unwrap();
        cpu::transpose(whole.len() / width, &turned, &mut again).unwrap();
        prop_assert_eq!(&again, whole);
        let mut differences = vec![0; x.len()];
        cpu::adjacent_difference(&x, &mut differences).unwrap();
        let sums: Vec<u16> = differences
            .iter()
            .scan(0u16, |sum, d| {
                *sum = sum.wrapping_add(*d);
                Some(*sum)
            })
            .collect();
        prop_assert_eq!(&sums, &x);
    }
}

#[test]
fn large_arrays_are_put_together_from_chunks() {
    let x: Vec<i64> = (0..300_000).map(|i| i / 7 % 1000).collect();
    let flags: Vec<u8> = (0..x.len()).map(|i| (i % 5 == 0) as u8).collect();
    let expected: Vec<i64> = x.iter().copied().step_by(5).collect();
    assert_eq!(cpu::select_flagged(&flags, &x).unwrap(), expected);
    assert_eq!(cpu::select_flagged(&flags[1..], &x), Err(crate::length("flags", 300_000, 299_999)));
    let mut steps = vec![0i64; 200_000];
    cpu::sequence(5, -3, &mut steps);
    assert!(steps.iter().enumerate().all(|(i, v)| *v == 5 - 3 * i as i64));
    cpu::fill(7, &mut steps);
    assert!(steps.iter().all(|v| *v == 7));
}

#[cfg(feature = "cuda")]
#[test]
fn the_gpu_gives_the_same() {
    use gpu_scan::{Scan, Sum, gpu};

    let (gpu, mut w) = crate::common::open();
    let x: Vec<f64> = (0..40_000u64).map(|i| (i * i / 91 % 17) as f64 / 8.0 - 1.0).collect();
    let input = gpu.upload(&x).unwrap();
    let mut values = gpu.zeroed::<f64>(x.len()).unwrap();
    let mut lengths = gpu.zeroed::<u64>(x.len()).unwrap();
    let mut count = gpu.zeroed::<u64>(1).unwrap();
    gpu::run_lengths(&mut w, &input, &mut values, &mut lengths, &mut count).unwrap();
    let (runs, of_runs) = cpu::run_lengths(&x);
    assert_eq!(count.to_host().unwrap(), [runs.len() as u64]);
    assert!(same_bits(&values.to_host().unwrap()[..runs.len()], &runs));
    assert_eq!(lengths.to_host().unwrap()[..runs.len()], of_runs);
    let offsets: Vec<u64> =
        [0, 0, 1, 5000, 5000, 39_990].into_iter().chain(39_991..=40_000).collect();
    let offsets_there = gpu.upload(&offsets).unwrap();
    let mut totals = gpu.zeroed::<f32>(offsets.len() - 1).unwrap();
    let y: Vec<f32> =
        (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) as f32).sqrt() - 3e4).collect();
    let floats = gpu.upload(&y).unwrap();
    gpu::segmented_reduce(&mut w, Sum, &offsets_there, &floats, &mut totals).unwrap();
    let expected = cpu::segmented_reduce(Sum, &offsets, &y).unwrap();
    assert!(same_bits(&totals.to_host().unwrap(), &expected));
    let (mut keys, mut totals) =
        (gpu.zeroed::<f64>(x.len()).unwrap(), gpu.zeroed::<f32>(x.len()).unwrap());
    gpu::reduce_by_key(&mut w, Sum, &input, &floats, &mut keys, &mut totals, &mut count).unwrap();
    let (runs, of_runs) = cpu::reduce_by_key(Sum, &x, &y).unwrap();
    assert!(same_bits(&keys.to_host().unwrap()[..runs.len()], &runs));
    assert!(same_bits(&totals.to_host().unwrap()[..runs.len()], &of_runs));
    let mut total = gpu.zeroed::<f32>(1).unwrap();
    gpu::reduce(&mut w, Sum, &floats, &mut total).unwrap();
    assert!(same_bits(&total.to_host().unwrap(), &[cpu::reduce(Sum, &y)]));
    let mut sums = gpu.zeroed::<f32>(y.len()).unwrap();
    let mut expected = y.clone();
    for how in [Scan::inclusive(), Scan::exclusive(0.5), Scan::inclusive().backward()] {
        gpu::scan(&mut w, Sum, how, &floats, &mut sums).unwrap();
        cpu::scan(Sum, how, &y, &mut expected).unwrap();
        assert!(same_bits(&sums.to_host().unwrap(), &expected), "{how:?}");
        gpu::scan_by_key(&mut w, Sum, how, &input, &floats, &mut sums).unwrap();
        cpu::scan_by_key(Sum, how, &x, &y, &mut expected).unwrap();
        assert!(same_bits(&sums.to_host().unwrap(), &expected), "{how:?}");
    }
    let mut steps = gpu.zeroed::<f32>(5000).unwrap();
    gpu::sequence(&mut w, 0.1f32, 0.3, &mut steps).unwrap();
    let mut expected = vec![0.0f32; 5000];
    cpu::sequence(0.1, 0.3, &mut expected);
    assert!(same_bits(&steps.to_host().unwrap(), &expected));
}
