//! Sorts against std's stable sort, on the CPU and on the software device or, with
//! `TESSERA_DEVICE`, on another.

use std::cmp::Reverse;

use crate::common::open;
use gpu_core::Gpu;
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Error, Key, Payload, Sort, cpu};
use proptest::prelude::*;

/// Lengths around those of warps and tiles (384 threads x 11, 17 or 22 keys).
const LENGTHS: [usize; 11] = [0, 1, 2, 31, 33, 4223, 4225, 6529, 8447, 8449, 30_000];

pub fn random(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Compares bits, which tell NaNs and zeros apart.
pub fn assert_same<T: Key>(found: &[T], expected: &[T], what: &str) {
    let (found, expected): (&[u8], &[u8]) =
        (bytemuck::cast_slice(found), bytemuck::cast_slice(expected));
    assert!(found == expected, "{what}");
}

/// Every kind of sort of these keys, on both devices, against std.
fn check<K: Key, V: Payload + Key, R: Ord>(
    (gpu, w): (&Gpu, &mut Workspace),
    sort: Sort,
    keys: &[K],
    rank: impl Fn(&K) -> R,
    value: impl Fn(usize) -> V,
    what: &str,
) {
    let n = keys.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|i| rank(&keys[*i as usize]));
    let sorted: Vec<K> = order.iter().map(|i| keys[*i as usize]).collect();
    let values: Vec<V> = (0..n).map(value).collect();
    let carried: Vec<V> = order.iter().map(|i| values[*i as usize]).collect();

    assert_same(&cpu::sort(sort.clone(), keys).unwrap(), &sorted, what);
    let (a, b) = cpu::sort_pairs(sort.clone(), keys, &values).unwrap();
    assert_same(&a, &sorted, what);
    assert_same(&b, &carried, what);
    assert_eq!(cpu::argsort::<K, u32>(sort.clone(), keys).unwrap(), order, "{what}");

    let mut output = gpu.zeroed::<K>(n).unwrap();
    gpu::sort(w, sort.clone(), &gpu.upload(keys).unwrap(), &mut output).unwrap();
    assert_same(&output.to_host().unwrap(), &sorted, what);
    // One element before the start: no array is aligned to more than an element.
    let shifted: Vec<K> = keys.first().into_iter().chain(keys).copied().collect();
    let first = shifted.len() - n;
    let mut input = gpu.upload(&shifted).unwrap();
    let mut carried_in = gpu.upload(&values).unwrap();
    let mut output_values = gpu.zeroed::<V>(n).unwrap();
    let mut indices = gpu.zeroed::<u32>(n).unwrap();
    let mut long = gpu.zeroed::<u64>(n).unwrap();
    let slice = input.slice(first..first + n).unwrap();
    gpu::sort(w, sort.clone(), slice, &mut output).unwrap();
    assert_same(&output.to_host().unwrap(), &sorted, what);
    gpu::sort_pairs(w, sort.clone(), slice, &carried_in, &mut output, &mut output_values).unwrap();
    assert_same(&output.to_host().unwrap(), &sorted, what);
    assert_same(&output_values.to_host().unwrap(), &carried, what);
    gpu::argsort(w, sort.clone(), slice, &mut indices).unwrap();
    assert_eq!(indices.to_host().unwrap(), order, "{what}");
    indices = gpu.zeroed(n).unwrap();
    gpu::sort_with_indices(w, sort.clone(), slice, &mut output, &mut indices).unwrap();
    assert_same(&output.to_host().unwrap(), &sorted, what);
    assert_eq!(indices.to_host().unwrap(), order, "{what}");
    gpu::argsort(w, sort.clone(), slice, &mut long).unwrap();
    assert!(long.to_host().unwrap().iter().copied().eq(order.iter().map(|i| u64::from(*i))));
    let slice = input.slice_mut(first..first + n).unwrap();
    gpu::sort_pairs_in_place(w, sort.clone(), slice, &mut carried_in).unwrap();
    assert_same(&carried_in.to_host().unwrap(), &carried, what);
    assert_same(&input.to_host().unwrap()[first..], &sorted, what);
    let mut input = gpu.upload(&shifted).unwrap();
    gpu::sort_in_place(w, sort, input.slice_mut(first..first + n).unwrap()).unwrap();
    assert_same(&input.to_host().unwrap()[first..], &sorted, what);
}

/// The rank of a float: as IEEE 754's total order, but all NaNs come last, the negative ones after
/// the positive ones.
fn float_rank(bits: u64, size: u32) -> (bool, i128) {
    let top = 1 << (size - 1);
    let infinity = if size == 32 { 0xff << 23 } else { 0x7ff << 52 };
    let magnitude = i128::from(bits & (top - 1));
    let is_negative = bits & top != 0;
    let is_nan = magnitude > infinity;
    let ordered = match (is_nan, is_negative) {
        (true, true) => i128::MAX - magnitude,
        (_, false) => magnitude,
        (false, true) => -1 - magnitude,
    };
    (is_nan, ordered)
}

#[test]
fn unsigned_keys_of_every_length() {
    let (gpu, mut w) = open();
    for n in LENGTHS {
        let keys: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
        let what = format!("u32 {n}");
        check((&gpu, &mut w), Sort::ascending(), &keys, |k| u64::from(*k), |i| i as u32, &what);
        let keys: Vec<u64> = (0..n as u64).map(random).collect();
        let what = format!("u64 {n}");
        check((&gpu, &mut w), Sort::descending(), &keys, |k| !*k, |i| i as u64, &what);
    }
}

#[test]
fn signed_and_floating_keys() {
    let (gpu, mut w) = open();
    let n = 9000;
    let keys: Vec<i32> = (0..n).map(|i| random(i) as i32).collect();
    let rank = |k: &i32| (i64::from(*k) + (1 << 31)) as u64;
    check((&gpu, &mut w), Sort::ascending(), &keys, rank, |i| i as f64, "i32");
    let keys: Vec<i64> = (0..n).map(|i| random(i) as i64 >> (i % 50)).collect();
    let rank = |k: &i64| !(*k as u64 ^ 1 << 63);
    check((&gpu, &mut w), Sort::descending(), &keys, rank, |i| i as i32, "i64");

    let special = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1e-40];
    let float = |i: u64| match i % 3 {
        0 => special[random(i) as usize % special.len()],
        1 => f32::from_bits(random(i) as u32),
        _ => (random(i) as i32) as f32 / 1e6,
    };
    let keys: Vec<f32> = (0..n).map(float).collect();
    let rank = |k: &f32| float_rank(k.to_bits().into(), 32);
    check((&gpu, &mut w), Sort::ascending(), &keys, rank, |i| i as f32, "f32");
    check(
        (&gpu, &mut w),
        Sort::descending(),
        &keys,
        |k| Reverse(rank(k)),
        |i| i as i64,
        "f32 down",
    );
    let keys: Vec<f64> = (0..n).map(|i| f64::from(float(i)) * 1e-3).collect();
    let rank = |k: &f64| float_rank(k.to_bits(), 64);
    check((&gpu, &mut w), Sort::ascending(), &keys, rank, |i| i as u32, "f64");
}

#[test]
fn keys_that_are_equal_sorted_or_reversed() {
    let (gpu, mut w) = open();
    let n = 20_000u32;
    type Shape = (&'static str, fn(u32) -> u32);
    let shapes: [Shape; 5] = [
        ("equal", |_| 7),
        ("all ones", |_| u32::MAX),
        ("sorted", |i| i),
        ("reversed", |i| u32::MAX - i),
        ("two values", |i| (i % 2) << 31),
    ];
    for (name, key) in shapes {
        let keys: Vec<u32> = (0..n).map(key).collect();
        check((&gpu, &mut w), Sort::ascending(), &keys, |k| u64::from(*k), |i| i as u32, name);
        check((&gpu, &mut w), Sort::descending(), &keys, |k| !u64::from(*k), |i| i as u64, name);
    }
}

#[test]
fn ranges_of_bits() {
    let (gpu, mut w) = open();
    let keys: Vec<u32> = (0..9000).map(|i| random(i) as u32).collect();
    for (begin, end) in [(0, 1), (0, 8), (3, 12), (5, 29), (24, 32), (31, 32), (7, 32)] {
        let mask = u64::MAX >> (64 - (end - begin));
        let rank = |k: &u32| u64::from(*k) >> begin & mask;
        let what = format!("bits {begin}..{end}");
        let sort = Sort::ascending().by_bits(begin..end);
        check((&gpu, &mut w), sort, &keys, rank, |i| i as u32, &what);
        let sort = Sort::descending().by_bits(begin..end);
        check((&gpu, &mut w), sort, &keys, |k| !(rank(k) | !mask), |i| i as u64, &what);
    }
    let keys: Vec<u64> = (0..5000).map(random).collect();
    for (begin, end) in [(0, 62), (40, 64), (63, 64), (0, 24)] {
        let mask = u64::MAX >> (64 - (end - begin));
        let rank = |k: &u64| *k >> begin & mask;
        let sort = Sort::ascending().by_bits(begin..end);
        check((&gpu, &mut w), sort, &keys, rank, |i| i as u32, "bits of u64");
    }
}

/// Keys of 1 or 2 bytes, which `key` makes of the low bits of a number.
fn check_narrow<K: Key + Into<u64>>(key: fn(u64) -> K) {
    let (gpu, mut w) = open();
    let bits = 8 * size_of::<K>() as u32;
    let mut check_both = |keys: &[K], range: std::ops::Range<u32>, what: &str| {
        let mask = u64::MAX >> (64 - range.len());
        let rank = |k: &K| (*k).into() >> range.start & mask;
        let is_whole = range.len() as u32 == bits;
        let [up, down] = [Sort::ascending(), Sort::descending()].map(|sort| match is_whole {
            true => sort,
            false => sort.by_bits(range.clone()),
        });
        check((&gpu, &mut w), up, keys, rank, |i| i as u32, what);
        check((&gpu, &mut w), down, keys, |k| Reverse(rank(k)), |i| i as u64, what);
    };
    // Tiles have 384 threads with 14, 15, 19, 22 or 23 keys.
    let tiles = [14, 15, 19, 22, 23].into_iter().flat_map(|items| {
        let tile = 384 * items;
        [tile - 1, tile, tile + 1]
    });
    for n in [0, 1, 2, 16, 31, 33].into_iter().chain(tiles).chain([30_000]) {
        let keys: Vec<K> = (0..n).map(|i| key(random(i))).collect();
        check_both(&keys, 0..bits, &format!("{bits} bits, {n} keys"));
    }
    type Shape = (&'static str, fn(u64) -> u64);
    let shapes: [Shape; 6] = [
        ("zeros", |_| 0),
        ("equal", |_| 7),
        ("all ones", |_| u64::MAX),
        ("sorted", |i| i / 100),
        ("reversed", |i| u64::MAX - i / 100),
        ("two values", |i| i % 2 * u64::MAX),
    ];
    for (name, shape) in shapes {
        let keys: Vec<K> = (0..20_001).map(|i| key(shape(i))).collect();
        check_both(&keys, 0..bits, name);
    }
    let keys: Vec<K> = (0..9001).map(|i| key(random(i))).collect();
    for range in [0..1, 0..4, 3..8, 7..8, bits - 5..bits, 0..bits - 1, 1..bits] {
        check_both(&keys, range.clone(), &format!("bits {range:?} of {bits}"));
    }
}

#[test]
fn keys_of_one_byte() {
    check_narrow(|bits| bits as u8);
}

#[test]
fn keys_of_two_bytes() {
    check_narrow(|bits| bits as u16);
}

/// Segments of every shape: none, one, all of one element, empty ones in front, between and
/// behind, short and long ones.
fn segment_shapes(n: u64) -> Vec<Vec<u64>> {
    let mut mixed = vec![0, 0, 0, 1, 1, 34, 5000, 5000, 5001];
    mixed.extend((5002..n).step_by(100));
    mixed.extend([n, n, n]);
    vec![vec![0, n], (0..=n).collect(), mixed]
}

#[test]
fn segments_of_every_shape() {
    let (gpu, mut w) = open();
    let n = 9000;
    let values: Vec<u64> = (0..n).collect();
    let words: Vec<u32> = (0..n).map(|i| random(i) as u32 % 1000).collect();
    let floats: Vec<f64> = (0..n).map(|i| f64::from(random(i) as i32 >> 22) - 0.5).collect();
    let bytes: Vec<u8> = (0..n).map(|i| random(i) as u8).collect();
    let short_words: Vec<u16> = (0..n).map(|i| random(i) as u16 >> (i % 9)).collect();
    for offsets in segment_shapes(n) {
        for sort in [Sort::ascending(), Sort::descending(), Sort::descending().by_bits(2..9)] {
            check_segments((&gpu, &mut w), sort.clone(), &offsets, &words, &values);
            let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            check_segments((&gpu, &mut w), sort.clone(), &offsets, &floats, &values);
            check_segments((&gpu, &mut w), sort, &offsets, &short_words, &values);
        }
        for sort in [Sort::ascending(), Sort::descending(), Sort::descending().by_bits(2..7)] {
            check_segments((&gpu, &mut w), sort, &offsets, &bytes, &values);
        }
    }
}

/// Sorts segments on both devices; the CPU's are also compared with a sort of each one alone.
fn check_segments<K: Key, V: Payload + Key>(
    (gpu, w): (&Gpu, &mut Workspace),
    sort: Sort,
    offsets: &[u64],
    keys: &[K],
    values: &[V],
) {
    let expected = cpu::segmented_sort(sort.clone(), offsets, keys).unwrap();
    for ends in offsets.windows(2) {
        let segment = ends[0] as usize..ends[1] as usize;
        let alone = cpu::sort(sort.clone(), &keys[segment.clone()]).unwrap();
        assert_same(&expected[segment], &alone, "one segment");
    }
    let offsets_in = gpu.upload(offsets).unwrap();
    let (input, values_in) = (gpu.upload(keys).unwrap(), gpu.upload(values).unwrap());
    let mut output = gpu.zeroed::<K>(keys.len()).unwrap();
    let mut carried = gpu.zeroed::<V>(keys.len()).unwrap();
    gpu::segmented_sort(w, sort.clone(), &offsets_in, &input, &mut output).unwrap();
    assert_same(&output.to_host().unwrap(), &expected, "keys");
    let pairs = cpu::segmented_sort_pairs(sort.clone(), offsets, keys, values).unwrap();
    gpu::segmented_sort_pairs(w, sort, &offsets_in, &input, &values_in, &mut output, &mut carried)
        .unwrap();
    assert_same(&pairs.0, &expected, "keys of pairs on the CPU");
    assert_same(&output.to_host().unwrap(), &expected, "keys of pairs");
    assert_same(&carried.to_host().unwrap(), &pairs.1, "values");
}

#[test]
fn what_is_refused() {
    let (gpu, mut w) = open();
    let mut keys = gpu.zeroed::<u32>(10).unwrap();
    let mut short = gpu.zeroed::<u32>(9).unwrap();
    for (begin, end) in [(3, 3), (5, 4), (0, 33), (32, 40)] {
        let sort = Sort::ascending().by_bits(begin..end);
        let found = gpu::sort_in_place(&mut w, sort.clone(), &mut keys);
        assert_eq!(found, Err(Error::BitRange { begin, end, bits: 32 }));
        assert_eq!(cpu::sort(sort, &[1u32]), Err(Error::BitRange { begin, end, bits: 32 }));
    }
    let found = gpu::sort(&mut w, Sort::ascending(), &keys, &mut short);
    assert_eq!(found, Err(crate::length("sorted", 10, 9)));
    let values = keys.slice(0..10).unwrap();
    // SAFETY: refused before anything touches the overlapping part.
    let overlapping = unsafe {
        gpu_core::SliceMut::from_raw_parts(values.as_ptr().cast_mut().wrapping_add(3), 10)
    };
    let found = gpu::sort(&mut w, Sort::ascending(), values, overlapping);
    assert_eq!(found, Err(Error::Overlap { first: "keys", second: "sorted" }));
}

#[test]
fn a_sort_that_failed_on_its_way_leaves_the_next_one_right() {
    let (gpu, mut w) = open();
    if !gpu.is_software() {
        return;
    }
    let keys: Vec<u32> = (0..30_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let input = gpu.upload(&keys).unwrap();
    let mut output = gpu.zeroed::<u32>(keys.len()).unwrap();
    // The histogram is counted, and the first pass, which would set it to zero, never runs.
    let failure = software_gpu::fail(software_gpu::Operation::Launch, 1);
    let failed = gpu::sort(&mut w, Sort::ascending(), &input, &mut output);
    assert!(matches!(failed, Err(Error::Core(_))) && failure.happened(), "{failed:?}");
    drop(failure);
    let captured = gpu.capture(|| gpu::sort(&mut w, Sort::ascending(), &input, &mut output));
    let refused = matches!(captured, Err(Error::Core(gpu_core::Error::Captured { .. })));
    assert!(refused, "{captured:?}");
    for bits in [0..32, 0..8] {
        let sort = Sort::ascending().by_bits(bits);
        gpu::sort(&mut w, sort.clone(), &input, &mut output).unwrap();
        assert_eq!(output.to_host().unwrap(), cpu::sort(sort, &keys).unwrap());
    }
}

#[test]
fn a_sort_is_recorded_whole_or_not_at_all() {
    let (gpu, mut w) = open();
    let keys: Vec<u32> = (0..30_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let input = gpu.upload(&keys).unwrap();
    let mut here = gpu.zeroed::<u32>(keys.len()).unwrap();
    let mut elsewhere = gpu.fork().unwrap().zeroed::<u32>(keys.len()).unwrap();
    // Once outside, so that the workspace has grown.
    gpu::sort(&mut w, Sort::ascending(), &input, &mut here).unwrap();
    let graph = gpu.capture(|| {
        // The histogram would be recorded, and no pass, which sets it to zero.
        let refused = gpu::sort(&mut w, Sort::ascending(), &input, &mut elsewhere);
        let is_refused = matches!(refused, Err(Error::Core(gpu_core::Error::Captured { .. })));
        assert!(is_refused, "{refused:?}");
        Ok::<_, Error>(())
    });
    let graph = graph.unwrap();
    gpu::sort(&mut w, Sort::ascending(), &input, &mut here).unwrap();
    // SAFETY: nothing is in it.
    unsafe { graph.launch().unwrap() };
    here = gpu.zeroed(keys.len()).unwrap();
    gpu::sort(&mut w, Sort::ascending(), &input, &mut here).unwrap();
    assert_eq!(here.to_host().unwrap(), cpu::sort(Sort::ascending(), &keys).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_keys_in_any_direction(
        keys in proptest::collection::vec(any::<u64>(), 0..6000),
        (begin, end) in (0u32..64).prop_flat_map(|begin| (Just(begin), begin + 1..=64)),
        down in any::<bool>(),
    ) {
        let (gpu, mut w) = open();
        let mask = u64::MAX >> (64 - (end - begin));
        let sort = if down { Sort::descending() } else { Sort::ascending() };
        let rank = |k: &u64| (if down { !*k } else { *k }) >> begin & mask;
        let what = format!("{begin}..{end} {down}");
        check((&gpu, &mut w), sort.by_bits(begin..end), &keys, rank, |i| i as u32, &what);
    }
}
