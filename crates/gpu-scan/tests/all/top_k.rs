//! The first k, of an array and of segments, against std's stable sort, on the CPU and on the software device or, with
//! `TESSERA_DEVICE`, on another.

use crate::common::open;
use crate::sort::{assert_same, random};
use gpu_core::Gpu;
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Direction, Error, Key, TopK, cpu};

#[test]
fn the_first_k() {
    let (gpu, mut w) = open();
    for n in [0, 1, 33, 4097, 20_000usize] {
        let words: Vec<u32> = (0..n as u64).map(|i| random(i) as u32 >> (i % 20)).collect();
        let bytes: Vec<u8> = words.iter().map(|word| *word as u8).collect();
        let short_words: Vec<u16> = words.iter().map(|word| *word as u16).collect();
        let few: Vec<i64> = (0..n as u64).map(|i| (random(i) % 5) as i64 - 2).collect();
        let nan = |i: u64| if random(i).is_multiple_of(3) { f32::NAN } else { random(i) as f32 };
        let floats: Vec<f32> = (0..n as u64).map(nan).collect();
        for k in [0, 1, 32, 1000, 1024, 1025, n / 2, n] {
            let k = k.min(n);
            for how in [TopK::least(), TopK::greatest()] {
                check_top((&gpu, &mut w), how, &words, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &bytes, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &short_words, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &few, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &floats, k, |x| {
                    let rank = if x.is_nan() { 1 << 80 } else { *x as i128 };
                    // NaN is last, whatever is first.
                    if how == TopK::greatest() && x.is_nan() { -rank } else { rank }
                });
            }
        }
    }
    let keys = gpu.zeroed::<u32>(4).unwrap();
    let (mut top, mut at) = (gpu.zeroed::<u32>(5).unwrap(), gpu.zeroed::<u64>(5).unwrap());
    let found = gpu::top_k(&mut w, TopK::least(), &keys, &mut top, &mut at);
    assert_eq!(found, Err(crate::length("keys", 5, 4)));
}

/// Sampled, kept and sorted by one block; and where the sample does not represent the rest.
#[test]
fn the_first_few_of_many() {
    let (gpu, mut w) = open();
    for n in [8192_u64, 8193, 70_000] {
        let words: Vec<u32> = (0..n).map(|i| random(i) as u32).collect();
        let long: Vec<u64> = (0..n).map(|i| random(i) >> (i % 40)).collect();
        // More than there is room for have the least key.
        let few: Vec<u16> = (0..n).map(|i| (random(i) % (n / 4000)) as u16 * 7).collect();
        let bytes: Vec<u8> = (0..n).map(|i| random(i) as u8).collect();
        let rising: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let alike = vec![-1_i64; n as usize];
        // The sample meets none of those that come first, or last.
        let mut hidden = vec![1_u32; n as usize];
        let step = n.div_ceil(8192);
        for i in 0..n.div_ceil(step) {
            let place = i * step + ((i * 0x9e37_79b9 % (1 << 32) * step) >> 32);
            hidden[place.min(n - 1) as usize] = 0;
        }
        for k in [1, 17, 1000, 1024] {
            for how in [TopK::least(), TopK::greatest()] {
                check_top((&gpu, &mut w), how, &words, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &long, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &few, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &bytes, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &rising, k, |x| *x as i128);
                check_top((&gpu, &mut w), how, &alike, k, |x| i128::from(*x));
                check_top((&gpu, &mut w), how, &hidden, k, |x| i128::from(*x));
            }
        }
    }
}

/// Sampled twice.
#[test]
fn the_first_few_of_millions() {
    let (gpu, mut w) = open();
    let words: Vec<u32> = (0..3_000_000).map(|i| random(i) as u32 >> 3).collect();
    check_top((&gpu, &mut w), TopK::least(), &words, 1, |x| i128::from(*x));
    check_top((&gpu, &mut w), TopK::greatest(), &words, 1000, |x| i128::from(*x));
}

#[test]
fn the_first_k_of_segments() {
    let (gpu, mut w) = open();
    let n = 60_000_u64;
    let mut offsets = vec![0, 0];
    for s in 0.. {
        let length = [1, 5, 31, 100, 1000, 1025, 2000, 9000][random(s) as usize % 8];
        if offsets[offsets.len() - 1] + length > n {
            break;
        }
        offsets.push(offsets[offsets.len() - 1] + length);
    }
    offsets.extend([n; 3]);
    let nan = |i| if random(i).is_multiple_of(3) { f64::NAN } else { random(i) as f64 };
    let doubles: Vec<f64> = (0..n).map(nan).collect();
    let words: Vec<i32> = (0..n).map(|i| random(i) as i32 >> (i % 20)).collect();
    let bytes: Vec<u8> = (0..n).map(|i| random(i) as u8 & 3).collect();
    let alike = vec![7_u16; n as usize];
    for k in [0, 1, 10, 500, 1024] {
        for how in [TopK::least(), TopK::greatest()] {
            check_top_of_segments((&gpu, &mut w), (how, k), &offsets, &doubles);
            check_top_of_segments((&gpu, &mut w), (how, k), &offsets, &words);
            check_top_of_segments((&gpu, &mut w), (how, k), &offsets, &bytes);
            check_top_of_segments((&gpu, &mut w), (how, k), &offsets, &alike);
        }
    }
    let keys = gpu.zeroed::<u32>(4).unwrap();
    let offsets = gpu.upload(&[0_u64, 4]).unwrap();
    let (mut top, mut at) = (gpu.zeroed::<u32>(1025).unwrap(), gpu.zeroed::<u64>(1025).unwrap());
    let how = (TopK::least(), 1025);
    let found = gpu::segmented_top_k(&mut w, how, &offsets, &keys, &mut top, &mut at);
    assert_eq!(found, Err(Error::TooLarge { elements: 1025, most: 1024 }));
    let how = (TopK::least(), 1024);
    let found = gpu::segmented_top_k(&mut w, how, &offsets, &keys, &mut top, &mut at);
    assert_eq!(found, Err(crate::length("top", 1024, 1025)));
}

/// Beside [`cpu::top_k`] of each segment.
fn check_top_of_segments<K: Key>(
    (gpu, w): (&Gpu, &mut Workspace),
    how: (TopK, usize),
    offsets: &[u64],
    keys: &[K],
) {
    let (mut expected, mut order) = (Vec::new(), Vec::new());
    for ends in offsets.windows(2) {
        let segment = &keys[ends[0] as usize..ends[1] as usize];
        let (top, at) = cpu::top_k(how.0, segment, how.1.min(segment.len())).unwrap();
        let missing = how.1 - top.len();
        expected.extend(top.into_iter().chain(std::iter::repeat_n(K::zeroed(), missing)));
        order.extend(at.into_iter().map(|index| index + ends[0]));
        order.extend(std::iter::repeat_n(u64::MAX, missing));
    }
    let what = format!("{how:?}");
    let (top, at) = cpu::segmented_top_k(how, offsets, keys).unwrap();
    assert_eq!(at, order, "{what}");
    assert_same(&top, &expected, &what);
    let (there, input) = (gpu.upload(offsets).unwrap(), gpu.upload(keys).unwrap());
    let mut top = gpu.zeroed::<K>(order.len()).unwrap();
    let mut at = gpu.zeroed::<u64>(order.len()).unwrap();
    gpu::segmented_top_k(w, how, &there, &input, &mut top, &mut at).unwrap();
    assert_eq!(at.to_host().unwrap(), order, "{what}");
    assert_same(&top.to_host().unwrap(), &expected, &what);
}

fn check_top<K: Key>(
    (gpu, w): (&Gpu, &mut Workspace),
    how: TopK,
    keys: &[K],
    k: usize,
    rank: impl Fn(&K) -> i128,
) {
    let mut order: Vec<u64> = (0..keys.len() as u64).collect();
    let sign = if how.direction == Direction::Descending { -1 } else { 1 };
    order.sort_by_key(|i| sign * rank(&keys[*i as usize]));
    let expected: Vec<K> = order[..k].iter().map(|i| keys[*i as usize]).collect();
    let what = format!("{k} of {}", keys.len());
    let (top, at) = cpu::top_k(how, keys, k).unwrap();
    assert_eq!(at, order[..k], "{what}");
    assert_same(&top, &expected, &what);
    let input = gpu.upload(keys).unwrap();
    let (mut top, mut at) = (gpu.zeroed::<K>(k).unwrap(), gpu.zeroed::<u64>(k).unwrap());
    gpu::top_k(w, how, &input, &mut top, &mut at).unwrap();
    assert_eq!(at.to_host().unwrap(), order[..k], "{what}");
    assert_same(&top.to_host().unwrap(), &expected, &what);
}
