//! More elements than 32 bits can count: on a GPU only, where one has the memory for it.

use crate::common::open;
use gpu_core::{Column, Gpu};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Error, Max, Merge, Min, Predicate, Scan, Sort, Sum};
use rayon::prelude::*;

/// A tile's length, and more, past 2^32.
const LEN: usize = (1 << 32) + 70_001;

/// The GPU, if it is one and has room for this many bytes.
fn open_large(bytes: u64) -> Option<(Gpu, Workspace)> {
    let (gpu, w) = open();
    if gpu.is_software() || gpu.free_memory().unwrap() < bytes + (1 << 30) {
        println!("skipped: needs a GPU with {} GiB of free memory", (bytes >> 30) + 1);
        return None;
    }
    Some((gpu, w))
}

/// Element i is `i % 251`.
fn pattern(gpu: &Gpu) -> Column<u8> {
    let host: Vec<u8> = (0..LEN).into_par_iter().map(|i| (i % 251) as u8).collect();
    gpu.upload(&host).unwrap()
}

/// The sum of the first `len` elements, as bytes wrap.
fn sum(len: u64) -> u8 {
    let (periods, rest) = (len / 251, len % 251);
    (periods * (250 * 251 / 2) + rest * rest.saturating_sub(1) / 2) as u8
}

/// How many of `0..len` have a remainder by 251 that satisfies a condition.
fn count(len: u64, holds: impl Fn(u64) -> bool) -> u64 {
    (0..251).filter(|r| holds(*r)).map(|r| (len + 250 - r) / 251).sum()
}

#[test]
fn reductions_scans_sorts_selections_and_histograms() {
    let Some((gpu, mut w)) = open_large(5 * LEN as u64) else { return };
    let x = pattern(&gpu);
    let mut byte = gpu.zeroed::<u8>(1).unwrap();
    let mut number = gpu.zeroed::<u64>(1).unwrap();
    let len = LEN as u64;
    gpu::reduce(&mut w, Sum, &x, &mut byte).unwrap();
    assert_eq!(byte.to_host().unwrap(), [sum(len)]);
    gpu::reduce(&mut w, Max, &x, &mut byte).unwrap();
    assert_eq!(byte.to_host().unwrap(), [250]);

    let mut output = gpu.zeroed::<u8>(LEN).unwrap();
    gpu::scan(&mut w, Sum, Scan::exclusive(0), &x, &mut output).unwrap();
    let scanned = output.to_host().unwrap();
    assert!(scanned.par_iter().enumerate().all(|(i, found)| *found == sum(i as u64)));
    drop(scanned);

    // By counting, and by a pass over the upper bits.
    gpu::sort(&mut w, Sort::descending(), &x, &mut output).unwrap();
    let sorted = output.to_host().unwrap();
    assert!(sorted.par_windows(2).all(|pair| pair[0] >= pair[1]));
    let ends = (0..251).map(|value| count(len, |r| r >= value) as usize);
    assert!(ends.enumerate().all(|(value, end)| usize::from(sorted[end - 1]) == value));
    gpu::sort(&mut w, Sort::ascending().by_bits(4..8), &x, &mut output).unwrap();
    let sorted = output.to_host().unwrap();
    assert!(sorted.par_windows(2).all(|pair| pair[0] >> 4 <= pair[1] >> 4));
    drop(sorted);

    gpu::select_if(&mut w, Predicate::less_than(250), &x, &mut output, &mut number).unwrap();
    let kept = count(len, |r| r < 250);
    assert!(kept > 1 << 31);
    assert_eq!(number.to_host().unwrap(), [kept]);
    let selected = output.to_host().unwrap();
    let selected = selected[..kept as usize].par_iter().enumerate();
    assert!(selected.all(|(i, v)| *v == (i % 250) as u8));
    gpu::unique(&mut w, &x, &mut output, &mut number).unwrap();
    assert_eq!(number.to_host().unwrap(), [len]);

    let mut counts = gpu.zeroed::<u64>(2).unwrap();
    let mut outside = gpu.zeroed::<u64>(3).unwrap();
    gpu::histogram_even(&mut w, (50, 250), &x, &mut counts, &mut outside).unwrap();
    let bins = [count(len, |r| (50..150).contains(&r)), count(len, |r| (150..250).contains(&r))];
    assert_eq!(counts.to_host().unwrap(), bins);
    let below_and_above = [count(len, |r| r < 50), count(len, |r| r == 250), 0];
    assert_eq!(outside.to_host().unwrap(), below_and_above);
    let mut words = gpu.zeroed::<u32>(2).unwrap();
    assert_eq!(
        gpu::histogram_even(&mut w, (50, 250), &x, &mut words, &mut outside),
        Err(Error::TooLarge { elements: len, most: u64::from(u32::MAX) })
    );
}

#[test]
fn merges_and_bounds() {
    let Some((gpu, mut w)) = open_large(4 * LEN as u64) else { return };
    // Zeros, then ones; the border lies past 2^32 in the merge of two.
    let zeros = (1 << 31) + 12_345;
    let host: Vec<u8> = (0..LEN).into_par_iter().map(|i| u8::from(i >= zeros)).collect();
    let x = gpu.upload(&host).unwrap();
    let mut merged = gpu.zeroed::<u8>(2 * LEN).unwrap();
    gpu::merge_keys(&mut w, Merge::ascending(), &x, &x, &mut merged).unwrap();
    let queries = gpu.upload(&[0u8, 1, 2]).unwrap();
    let mut found = gpu.zeroed::<u64>(3).unwrap();
    let (border, end) = (2 * zeros as u64, 2 * LEN as u64);
    gpu::lower_bound(&mut w, &merged, &queries, &mut found).unwrap();
    assert_eq!(found.to_host().unwrap(), [0, border, end]);
    gpu::upper_bound(&mut w, &merged, &queries, &mut found).unwrap();
    assert_eq!(found.to_host().unwrap(), [border, end, end]);
    let mut byte = gpu.zeroed::<u8>(1).unwrap();
    let ones = merged.slice(border as usize..2 * LEN).unwrap();
    gpu::reduce(&mut w, Min, ones, &mut byte).unwrap();
    assert_eq!(byte.to_host().unwrap(), [1]);
}

/// Long segments that all overlap, enough of them that the counter of their chunks wraps while their list is not full.
#[test]
fn segments_that_overlap_a_hundred_million_times_do_no_harm() {
    const LEN: usize = 1 << 28;
    let Some((gpu, mut w)) = open_large(8 * LEN as u64) else { return };
    let values = gpu.filled_with_byte::<u8>(1, LEN).unwrap();
    let offsets: Vec<u64> =
        (0..=LEN / 4).into_par_iter().map(|i| if i % 2 == 0 { 0 } else { u64::MAX }).collect();
    let offsets = gpu.upload(&offsets).unwrap();
    let mut greatest = gpu.zeroed::<u8>(LEN / 4).unwrap();
    gpu::segmented_reduce(&mut w, Max, &offsets, &values, &mut greatest).unwrap();
    assert!(greatest.to_host().unwrap().par_iter().all(|x| *x <= 1));
    let offsets = gpu.upload(&[0, 5, LEN as u64]).unwrap();
    let mut sums = gpu.zeroed::<u8>(2).unwrap();
    gpu::segmented_reduce(&mut w, Sum, &offsets, &values, &mut sums).unwrap();
    assert_eq!(sums.to_host().unwrap(), [5, (LEN - 5) as u8]);
}
