//! What lies in device memory is the caller's: offsets that fall or lie beyond the end, indices beyond the array,
//! bounds that fall. The results are what the documentation says: useless values or some of the input's elements. But
//! nothing outside is read or written: on the software device memory outside holds NaN, and a write there is an error.

use crate::common::{Unaligned, open};
use gpu_scan::gpu;
use gpu_scan::{Max, Min, Scan, Sort, Sum, TopK, cpu};

const LEN: usize = 20_000;

/// Offsets of ten segments that are wrong in every way there is.
fn offsets() -> Vec<Vec<u64>> {
    let len = LEN as u64;
    vec![
        vec![0, 40_000],
        vec![0, 1, u64::MAX, u64::MAX, u64::MAX - 1],
        vec![len + 1, len + 1, 1 << 40, 0, len],
        vec![19_999, 20_001, 5, 5, 4, 3, 2, 1, 0],
        vec![u64::MAX; 11],
        vec![7, 3, 9_000, 100, 20_000, 1 << 63, 0],
        // Short segments in the mean, so that the long ones are cut up.
        (0..LEN as u64).map(|i| if i == 100 { 1 << 50 } else { i / 3 }).collect(),
    ]
}

/// The elements of a segment that are there.
fn clamped(bounds: &[u64]) -> std::ops::Range<usize> {
    let end = bounds[1].min(LEN as u64);
    bounds[0].min(end) as usize..end as usize
}

/// Values of which every sum of some is exact.
fn values() -> Vec<f32> {
    (0..LEN).map(|i| (i % 13) as f32 + 1.0).collect()
}

#[test]
fn segments_are_reduced_as_far_as_they_are_there() {
    let (gpu, mut w) = open();
    let x = values();
    let input = gpu.upload(&x).unwrap();
    for offsets in offsets() {
        let there = gpu.upload(&offsets).unwrap();
        let mut sums = gpu.zeroed::<f32>(offsets.len() - 1).unwrap();
        gpu::segmented_reduce(&mut w, Sum, &there, &input, &mut sums).unwrap();
        let expected: Vec<f32> =
            offsets.windows(2).map(|bounds| x[clamped(bounds)].iter().sum()).collect();
        assert_eq!(sums.to_host().unwrap(), expected);
    }
}

/// More and longer segments than the list of long ones has room for, all over each other.
#[test]
fn segments_that_overlap_are_reduced_to_something() {
    let (gpu, mut w) = open();
    let input = gpu.upload(&values()).unwrap();
    for segments in [3, 10, 300, LEN] {
        let offsets: Vec<u64> = (0..=segments as u64).map(|i| i % 2 * 1_000_000).collect();
        let there = gpu.upload(&offsets).unwrap();
        let mut greatest = gpu.zeroed::<f32>(segments).unwrap();
        gpu::segmented_reduce(&mut w, Max, &there, &input, &mut greatest).unwrap();
        let greatest = greatest.to_host().unwrap();
        assert!(greatest.iter().all(|x| *x <= 13.0), "nothing but elements of the array");
        // And afterwards all is as ever.
        let there = gpu.upload(&[0, 5, LEN as u64]).unwrap();
        let mut least = gpu.zeroed::<f32>(2).unwrap();
        gpu::segmented_reduce(&mut w, Min, &there, &input, &mut least).unwrap();
        assert_eq!(least.to_host().unwrap(), [1.0, 1.0]);
    }
}

/// Each sum is of elements that follow each other, up to its own (from its own on, if backward).
#[test]
fn segments_are_scanned_from_some_elements_on() {
    let (gpu, mut w) = open();
    let x = values();
    let input = gpu.upload(&x).unwrap();
    let mut output = gpu.zeroed::<f32>(LEN).unwrap();
    for offsets in offsets() {
        let there = gpu.upload(&offsets).unwrap();
        for how in [Scan::inclusive(), Scan::inclusive().backward()] {
            let found = gpu::segmented_scan(&mut w, Sum, how, &there, &input, &mut output);
            found.unwrap();
            let mut found = output.to_host().unwrap();
            let mut x = x.clone();
            if how.backward {
                found.reverse();
                x.reverse();
            }
            for i in 1..LEN {
                assert!(found[i] == x[i] || found[i] == found[i - 1] + x[i], "element {i}");
            }
        }
    }
}

#[test]
fn segments_are_sorted_to_a_permutation() {
    let (gpu, mut w) = open();
    let keys: Vec<u32> = (0..LEN as u32).map(|i| i.wrapping_mul(0x9e37_79b1)).collect();
    let long: Vec<u64> = keys.iter().map(|key| u64::from(*key)).collect();
    let (input, long_input) = (gpu.upload(&keys).unwrap(), gpu.upload(&long).unwrap());
    let mut expected = keys.clone();
    expected.sort();
    let mut output = gpu.zeroed::<u32>(LEN).unwrap();
    let mut long_output = gpu.zeroed::<u64>(LEN).unwrap();
    for offsets in offsets() {
        let there = gpu.upload(&offsets).unwrap();
        let up = Sort::ascending();
        gpu::segmented_sort(&mut w, up.clone(), &there, &input, &mut output).unwrap();
        let mut found = output.to_host().unwrap();
        found.sort();
        assert!(found == expected);
        let (from, to) = (&long_input, &mut long_output);
        gpu::segmented_sort_pairs(&mut w, up, &there, from, &input, to, &mut output).unwrap();
        let (found, carried) = (long_output.to_host().unwrap(), output.to_host().unwrap());
        assert!(found.iter().zip(&carried).all(|(key, value)| *key == u64::from(*value)));
        let mut carried = carried;
        carried.sort();
        assert!(carried == expected);
    }
}

#[test]
fn the_first_of_segments_are_sought_as_far_as_they_are_there() {
    let (gpu, mut w) = open();
    let x = values();
    let input = gpu.upload(&x).unwrap();
    for offsets in offsets().into_iter().take(6) {
        let there = gpu.upload(&offsets).unwrap();
        let len = 3 * (offsets.len() - 1);
        let (mut top, mut at) = (gpu.zeroed::<f32>(len).unwrap(), gpu.zeroed(len).unwrap());
        let how = (TopK::greatest(), 3);
        gpu::segmented_top_k(&mut w, how, &there, &input, &mut top, &mut at).unwrap();
        let places = |bounds: &[u64]| {
            let segment = clamped(bounds);
            let (_, at) =
                cpu::top_k(TopK::greatest(), &x[segment.clone()], 3.min(segment.len())).unwrap();
            let mut at: Vec<u64> = at.into_iter().map(|i| i + segment.start as u64).collect();
            at.resize(3, u64::MAX);
            at
        };
        let expected: Vec<u64> = offsets.windows(2).flat_map(places).collect();
        assert_eq!(at.to_host().unwrap(), expected);
    }
}

#[test]
fn indices_beyond_the_array_move_nothing() {
    let (gpu, mut w) = open();
    let x: Vec<u16> = (1..=1000).collect();
    let input = Unaligned::new(&gpu, &x, 3);
    let words: Vec<u32> =
        (0..1000).map(|i| if i % 3 == 0 { i } else { 1000 + i * i * 4000 }).collect();
    let long: Vec<u64> = words.iter().map(|i| u64::from(*i) << (i % 3 * 16)).collect();
    let kept = |i: u32, moved: u64| if moved < 1000 { i as u16 + 1 } else { 7 };
    let (words_there, long_there) = (gpu.upload(&words).unwrap(), gpu.upload(&long).unwrap());
    for is_long in [false, true] {
        let mut gathered = gpu.upload(&[7u16; 1000]).unwrap();
        let mut scattered = gpu.upload(&[7u16; 1000]).unwrap();
        if is_long {
            gpu::gather(&mut w, &long_there, input.slice(), &mut gathered).unwrap();
            gpu::scatter(&mut w, &long_there, input.slice(), &mut scattered).unwrap();
        } else {
            gpu::gather(&mut w, &words_there, input.slice(), &mut gathered).unwrap();
            gpu::scatter(&mut w, &words_there, input.slice(), &mut scattered).unwrap();
        }
        // An index within the array is its own place's.
        let index = |i: u32| if is_long { long[i as usize] } else { words[i as usize].into() };
        let expected: Vec<u16> = (0..1000).map(|i| kept(i, index(i))).collect();
        assert_eq!(gathered.to_host().unwrap(), expected);
        assert_eq!(scattered.to_host().unwrap(), expected);
    }
}

#[test]
fn every_element_is_counted_between_bounds_that_fall() {
    let (gpu, mut w) = open();
    let x: Vec<f32> = (0..LEN).map(|i| if i % 7 == 0 { f32::NAN } else { i as f32 }).collect();
    let input = gpu.upload(&x).unwrap();
    let bytes = gpu.upload(&vec![200u8; LEN]).unwrap();
    // In shared memory, and in global memory.
    for bins in [4, 20_000] {
        let falling: Vec<f32> = (0..=bins).rev().map(|b| b as f32).collect();
        let wild = |b: usize| if b.is_multiple_of(3) { f32::NAN } else { (b * 7919 % LEN) as f32 };
        let wild: Vec<f32> = (0..=bins).map(wild).collect();
        for bounds in [falling, wild, vec![f32::NAN; bins + 1]] {
            let bounds = gpu.upload(&bounds).unwrap();
            let mut counts = gpu.zeroed::<u64>(bins).unwrap();
            let mut outside = gpu.zeroed::<u64>(3).unwrap();
            gpu::histogram(&mut w, &bounds, &input, &mut counts, &mut outside).unwrap();
            let all = [counts.to_host().unwrap(), outside.to_host().unwrap()].concat();
            assert_eq!(all.iter().sum::<u64>(), LEN as u64);
        }
        let bounds = gpu.upload(&(0..=bins).rev().map(|b| b as u8).collect::<Vec<u8>>()).unwrap();
        let mut counts = gpu.zeroed::<u32>(bins).unwrap();
        let mut outside = gpu.zeroed::<u64>(3).unwrap();
        gpu::histogram(&mut w, &bounds, &bytes, &mut counts, &mut outside).unwrap();
        let counts = counts.to_host().unwrap().into_iter().map(u64::from);
        assert_eq!(counts.chain(outside.to_host().unwrap()).sum::<u64>(), LEN as u64);
    }
}

/// One bound more than no bins would be one, but there is nothing to count in.
#[test]
fn histograms_without_a_bin_are_refused() {
    let (gpu, mut w) = open();
    let input = gpu.upload(&[1u32, 2]).unwrap();
    let mut none = gpu.zeroed::<u64>(0).unwrap();
    let mut outside = gpu.zeroed::<u64>(3).unwrap();
    for bounds in [&[0u32, 9][..], &[0], &[]] {
        let bounds = gpu.upload(bounds).unwrap();
        assert_eq!(
            gpu::histogram(&mut w, &bounds, &input, &mut none, &mut outside),
            Err(crate::length("counts", 1, 0))
        );
    }
}

/// Named bits of a float are those of the documentation, on both back ends: the sign flipped, and of
/// negative floats all others. The turn that brings all NaNs to the end would change every one.
#[test]
fn named_bits_of_floats_are_those_of_the_number() {
    let (gpu, mut w) = open();
    let special = [0.0, -1.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40];
    let random = |i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b1).rotate_left(11));
    let keys: Vec<f32> = special.into_iter().chain((0..9000).map(random)).collect();
    let rank = |x: &f32| {
        let bits = x.to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    };
    let ranges = [(31, 32), (23, 31), (0, 8), (3, 12), (16, 32), (0, 32)];
    for (begin, end) in ranges {
        let mask = u32::MAX >> (32 - (end - begin));
        for down in [false, true] {
            let sort = if down { Sort::descending() } else { Sort::ascending() };
            let sort = sort.by_bits(begin..end);
            let of = |x: &f32| (if down { !rank(x) } else { rank(x) }) >> begin & mask;
            let mut expected = keys.clone();
            expected.sort_by_key(of);
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
            let what = format!("bits {begin}..{end} {down}");
            assert!(bits(&cpu::sort(sort.clone(), &keys).unwrap()) == bits(&expected), "{what}");
            let mut sorted = gpu.upload(&keys).unwrap();
            gpu::sort_in_place(&mut w, sort.clone(), &mut sorted).unwrap();
            assert!(bits(&sorted.to_host().unwrap()) == bits(&expected), "{what}");
            let input = gpu.upload(&keys).unwrap();
            let all = gpu.upload(&[0, keys.len() as u64]).unwrap();
            gpu::segmented_sort(&mut w, sort, &all, &input, &mut sorted).unwrap();
            assert!(bits(&sorted.to_host().unwrap()) == bits(&expected), "{what}, one segment");
        }
    }
    let two = gpu.upload(&[0.0f32, -1.0]).unwrap();
    let mut sorted = gpu.zeroed::<f32>(2).unwrap();
    gpu::sort(&mut w, Sort::ascending().by_bits(31..32), &two, &mut sorted).unwrap();
    assert_eq!(sorted.to_host().unwrap(), [-1.0, 0.0]);
}
