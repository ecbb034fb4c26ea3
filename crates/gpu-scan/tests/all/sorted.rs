//! Merges and bounds of sorted arrays against std, on the CPU and on the GPU.

use std::cmp::Ordering;

use crate::common::{Unaligned, open, same_bits};
use gpu_scan::{Direction, Error, Merge, Number, Payload, cpu, gpu};
use proptest::prelude::*;

/// The total order of numbers: by value, -0.0 before +0.0, NaN last, the negative ones at the end.
trait Total: Number {
    fn total(&self, other: &Self) -> Ordering;
}

macro_rules! total {
    (integers $($int:ty)+; floats $($float:ty)+) => {
        $(impl Total for $int {
            fn total(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        })+
        $(impl Total for $float {
            fn total(&self, other: &Self) -> Ordering {
                let class = |x: &Self| (x.is_nan(), x.is_nan() && x.is_sign_negative());
                class(self).cmp(&class(other)).then(self.total_cmp(other))
            }
        })+
    };
}

total! { integers u8 u16 u32 i32 u64 i64; floats f32 f64 }

fn in_direction(how: Merge, order: Ordering) -> Ordering {
    if how.direction == Direction::Ascending { order } else { order.reverse() }
}

/// Sorts, then merges on both back ends, with values that tell equal keys apart.
fn check_merge<K: Total, V: Payload>(a: &[K], b: &[K], value: impl Fn(usize) -> V) {
    let (gpu, mut w) = open();
    for how in [Merge::ascending(), Merge::descending()] {
        let sorted = |keys: &[K]| {
            let mut keys = keys.to_vec();
            keys.sort_by(|x, y| in_direction(how, x.total(y)));
            keys
        };
        let (a, b) = (sorted(a), sorted(b));
        let values: Vec<V> = (0..a.len() + b.len()).map(&value).collect();
        let (a_values, b_values) = values.split_at(a.len());
        // A stable sort of one after the other is the stable merge.
        let keys = a.iter().chain(&b).copied();
        let mut pairs: Vec<(K, V)> = keys.zip(values.iter().copied()).collect();
        pairs.sort_by(|x, y| in_direction(how, x.0.total(&y.0)));
        let (keys, values): (Vec<K>, Vec<V>) = pairs.into_iter().unzip();

        let (mut to, mut values_to) = (keys.clone(), values.clone());
        to.reverse();
        cpu::merge_keys(how, &a, &b, &mut to).unwrap();
        assert!(same_bits(&to, &keys));
        to.reverse();
        values_to.reverse();
        let outputs = (&mut to[..], &mut values_to[..]);
        cpu::merge_pairs(how, (&a, a_values), (&b, b_values), outputs).unwrap();
        assert!(same_bits(&to, &keys) && same_bits(&values_to, &values));

        let there = |keys: &[K]| Unaligned::new(&gpu, keys, 1);
        let values_there = |values: &[V]| Unaligned::new(&gpu, values, 0);
        let (a_there, b_there) = (there(&a), there(&b));
        let mut output = Unaligned::new(&gpu, &vec![bytemuck::Zeroable::zeroed(); keys.len()], 1);
        gpu::merge_keys(&mut w, how, a_there.slice(), b_there.slice(), output.slice_mut()).unwrap();
        assert!(same_bits(&output.to_host(), &keys));
        let (a_values, b_values) = (values_there(a_values), values_there(b_values));
        let mut output = there(&to);
        let mut values_to = values_there(&vec![bytemuck::Zeroable::zeroed(); values.len()]);
        gpu::merge_pairs(
            &mut w,
            how,
            (a_there.slice(), a_values.slice()),
            (b_there.slice(), b_values.slice()),
            (output.slice_mut(), values_to.slice_mut()),
        )
        .unwrap();
        assert!(same_bits(&output.to_host(), &keys));
        assert!(same_bits(&values_to.to_host(), &values));
    }
}

/// Bounds of queries on both back ends.
fn check_bounds<T: Total>(array: &[T], queries: &[T]) {
    let (gpu, mut w) = open();
    let mut array = array.to_vec();
    array.sort_by(T::total);
    let bound =
        |query: &T, upper: Ordering| array.partition_point(|x| x.total(query) <= upper) as u64;
    let lower: Vec<u64> = queries.iter().map(|q| bound(q, Ordering::Less)).collect();
    let upper: Vec<u64> = queries.iter().map(|q| bound(q, Ordering::Equal)).collect();
    let mut output = vec![0; queries.len()];
    cpu::lower_bound(&array, queries, &mut output).unwrap();
    assert_eq!(output, lower);
    cpu::upper_bound(&array, queries, &mut output).unwrap();
    assert_eq!(output, upper);
    let sorted = Unaligned::new(&gpu, &array, 1);
    let asked = Unaligned::new(&gpu, queries, 3);
    let mut found = gpu.zeroed::<u64>(queries.len()).unwrap();
    gpu::lower_bound(&mut w, sorted.slice(), asked.slice(), &mut found).unwrap();
    assert_eq!(found.to_host().unwrap(), lower);
    gpu::upper_bound(&mut w, sorted.slice(), asked.slice(), &mut found).unwrap();
    assert_eq!(found.to_host().unwrap(), upper);
}

macro_rules! each_type {
    ($($name:ident: $type:ty, $value:ty;)+) => {$(
        #[test]
        fn $name() {
            let hash = |i: usize| (i as u64).wrapping_mul(2_654_435_761) >> 20;
            let ladder = [(0, 0), (0, 1), (1, 0), (31, 33), (3839, 1), (5, 3835), (2000, 5700)];
            for (n, m) in ladder {
                let a: Vec<$type> = (0..n).map(|i| (hash(i) & 0x3f) as $type).collect();
                let b: Vec<$type> = (0..m).map(|i| (hash(i + n) & 0x7f) as $type).collect();
                check_merge(&a, &b, |i| i as $value);
                check_bounds(&a, &b);
            }
        }
    )+};
}

each_type! {
    bytes: u8, u32;
    short_words: u16, u64;
    words: u32, f64;
    signed_words: i32, i32;
    long_words: u64, f32;
    signed_long_words: i64, i64;
    floats: f32, u64;
    doubles: f64, u32;
}

fn any_floats(len: usize) -> impl Strategy<Value = Vec<f32>> {
    let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
    let value = prop_oneof![
        proptest::sample::select(special.to_vec()),
        (-3i8..3).prop_map(f32::from),
        any::<f32>(),
    ];
    proptest::collection::vec(value, 0..len)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_floats_are_merged_and_found(a in any_floats(300), b in any_floats(100)) {
        check_merge(&a, &b, |i| i as u32);
        check_bounds(&a, &b);
    }

    #[test]
    fn any_integers_are_merged_and_found(
        a in proptest::collection::vec(any::<i64>(), 0..200),
        b in proptest::collection::vec(any::<i64>(), 0..300),
    ) {
        check_merge(&a, &b, |i| i as u64);
        check_bounds(&a, &b);
    }
}

/// All equal, one array before the other, one after the other, and one between the other.
#[test]
fn extreme_inputs_are_merged() {
    let same = vec![7u32; 6000];
    check_merge(&same, &same, |i| i as u32);
    let low: Vec<u32> = (0..5000).collect();
    let high: Vec<u32> = (5000..10_000).collect();
    check_merge(&low, &high, |i| i as u32);
    check_merge(&high, &low, |i| i as u32);
    let odd: Vec<u32> = (0..4000).map(|i| 2 * i + 1).collect();
    let even: Vec<u32> = (0..4000).map(|i| 2 * i).collect();
    check_merge(&odd, &even, |i| i as u64);
    check_bounds(&low, &high);
}

/// What comes out is of no use then, but it comes from the arrays, and nothing else is touched.
#[test]
fn arrays_that_are_not_sorted_do_no_harm() {
    let (gpu, mut w) = open();
    let hash = |i: u32| i.wrapping_mul(2_654_435_761) >> 7;
    let x: Vec<u32> = (0..20_000).map(hash).collect();
    let falling: Vec<u32> = (0..9_000).rev().collect();
    for (a, b) in [(&x[..12_000], &x[12_000..]), (&falling[..], &x[..]), (&x[..], &falling[..])] {
        let (a_there, b_there) = (gpu.upload(a).unwrap(), gpu.upload(b).unwrap());
        let mut output = gpu.upload(&vec![u32::MAX; a.len() + b.len()]).unwrap();
        let mut places = gpu.zeroed::<u32>(a.len() + b.len()).unwrap();
        let up = Merge::ascending();
        gpu::merge_keys(&mut w, up, &a_there, &b_there, &mut output).unwrap();
        assert!(output.to_host().unwrap().iter().all(|key| *key < 1 << 25));
        let (of_a, of_b) = (&a_there, &b_there);
        gpu::merge_pairs(&mut w, up, (of_a, of_a), (of_b, of_b), (&mut output, &mut places))
            .unwrap();
        assert_eq!(output.to_host().unwrap(), places.to_host().unwrap());
        let mut found = gpu.zeroed::<u64>(b.len()).unwrap();
        gpu::lower_bound(&mut w, of_a, of_b, &mut found).unwrap();
        assert!(found.to_host().unwrap().iter().all(|at| *at <= a.len() as u64));
        let mut to = vec![0; a.len() + b.len()];
        cpu::merge_keys(up, a, b, &mut to).unwrap();
        cpu::upper_bound(a, b, &mut vec![0; b.len()]).unwrap();
    }
}

#[test]
fn large_arrays_are_merged_on_the_cpu() {
    let a: Vec<u64> = (0..400_000).map(|i| i * i / 1000).collect();
    let b: Vec<u64> = (0..300_000).map(|i| i * 500).collect();
    let mut expected = [a.as_slice(), &b].concat();
    expected.sort();
    let mut merged = vec![0; expected.len()];
    cpu::merge_keys(Merge::ascending(), &a, &b, &mut merged).unwrap();
    assert!(merged == expected);
}

#[test]
fn what_cannot_be_done_is_named() {
    let (gpu, mut w) = open();
    let a = gpu.upload(&[1u32, 2]).unwrap();
    let mut output = gpu.zeroed::<u32>(4).unwrap();
    let mut found = gpu.zeroed::<u64>(3).unwrap();
    let up = Merge::ascending();
    let length = |what, expected, found| Err(crate::length(what, expected, found));
    assert_eq!(
        gpu::merge_keys(&mut w, up, &a, a.slice(0..1).unwrap(), &mut output),
        length("output", 3, 4)
    );
    assert_eq!(gpu::lower_bound(&mut w, &a, &a, &mut found), length("output", 2, 3));
    // SAFETY: nothing is enqueued: the overlap is refused.
    let same = unsafe { gpu_core::SliceMut::from_raw_parts(a.as_ptr().cast_mut(), 2) };
    let none = a.slice(0..0).unwrap();
    let overlap = |first, second| Err(Error::Overlap { first, second });
    assert_eq!(gpu::merge_keys(&mut w, up, &a, none, same), overlap("a", "output"));
    // SAFETY: as above.
    let same = unsafe { gpu_core::SliceMut::from_raw_parts(a.as_ptr().cast_mut().cast(), 1) };
    let one = output.slice(0..1).unwrap();
    assert_eq!(gpu::lower_bound(&mut w, &a, one, same), overlap("sorted", "output"));
    let mut keys = gpu.zeroed::<u32>(2).unwrap();
    let values = gpu.zeroed::<f32>(2).unwrap();
    let none_of = values.slice(0..0).unwrap();
    let mut short = gpu.zeroed::<f32>(1).unwrap();
    assert_eq!(
        gpu::merge_pairs(&mut w, up, (&a, &values), (none, none_of), (&mut keys, &mut short)),
        length("output of values", 2, 1)
    );
    assert_eq!(
        cpu::merge_pairs(up, (&[1u8], &[2u32]), (&[], &[1]), (&mut [0], &mut [0])),
        length("values of b", 0, 1)
    );
    assert_eq!(cpu::upper_bound(&[1u8], &[1], &mut []), length("output", 1, 0));
}
