//! Reductions by key and by offsets of sums that are not exact. The CPU's order is the GPU's, bit for bit, for runs of
//! every length and keys of every size, and it is the documented order.

use crate::common::{Unaligned, open, same_bits};
use gpu_core::Gpu;
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Max, Number, Sum, cpu};

/// Around the lengths of stretches, of warps' parts and of tiles (2048, 3072 and 5120 elements).
const LENGTHS: [usize; 12] = [1, 7, 20, 21, 641, 2048, 3071, 3072, 5120, 5121, 15_360, 30_000];

fn hash(i: usize) -> u32 {
    (i as u32 ^ 0x5bd1).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x9e37_79b1)
}

/// The number of the run that each element is in; the mean length of a run is `mean`, and 0 stands
/// for one run.
fn runs(len: usize, mean: u32) -> Vec<u64> {
    let mut run = 0;
    let begins = |i: usize| mean > 0 && i > 0 && hash(i).is_multiple_of(mean);
    (0..len)
        .map(|i| {
            run += u64::from(begins(i));
            run
        })
        .collect()
}

fn check<K: Number, T: Number>(
    (gpu, w): (&Gpu, &mut Workspace),
    keys: &[K],
    values: &[T],
    start: usize,
) where
    Sum: gpu_scan::ReduceOperator<T>,
    Max: gpu_scan::ReduceOperator<T>,
{
    let len = keys.len();
    let there = Unaligned::new(gpu, keys, start);
    let values_there = Unaligned::new(gpu, values, start * 3 % 4);
    let mut keys_out = gpu.zeroed::<K>(len).unwrap();
    let mut totals = gpu.zeroed::<T>(len).unwrap();
    let mut count = gpu.zeroed::<u64>(1).unwrap();
    let (from, of) = (there.slice(), values_there.slice());
    gpu::reduce_by_key(w, Sum, from, of, &mut keys_out, &mut totals, &mut count).unwrap();
    let (heads, sums) = cpu::reduce_by_key(Sum, keys, values).unwrap();
    assert_eq!(count.to_host().unwrap(), [heads.len() as u64], "{len}");
    assert!(same_bits(&keys_out.to_host().unwrap()[..heads.len()], &heads), "{len}");
    let found = totals.to_host().unwrap();
    let wrong = (0..sums.len()).find(|&i| !same_bits(&found[i..=i], &sums[i..=i]));
    assert_eq!(wrong, None, "{len} elements, {} runs", heads.len());
    gpu::reduce_by_key(w, Max, from, of, &mut keys_out, &mut totals, &mut count).unwrap();
    let (_, greatest) = cpu::reduce_by_key(Max, keys, values).unwrap();
    assert!(same_bits(&totals.to_host().unwrap()[..heads.len()], &greatest), "{len}");
}

#[test]
fn runs_of_every_length_have_the_order_of_the_cpu() {
    let (gpu, mut w) = open();
    for len in LENGTHS {
        let floats: Vec<f32> = (0..len).map(|i| (hash(i) as f32).sqrt() - 3e4).collect();
        let doubles: Vec<f64> = (0..len).map(|i| f64::from(hash(i)).sqrt() - 3e4).collect();
        for (case, mean) in [1, 2, 50, 1000, 0].into_iter().enumerate() {
            let runs = runs(len, mean);
            let start = (case + len) % 4;
            // Keys of one byte repeat, but not in neighbouring runs.
            let bytes: Vec<u8> = runs.iter().map(|&run| run as u8).collect();
            let shorts: Vec<u16> = runs.iter().map(|&run| run as u16).collect();
            let words: Vec<u32> = runs.iter().map(|&run| run as u32).collect();
            match case % 2 == len % 2 {
                true => {
                    check((&gpu, &mut w), &words, &floats, start);
                    check((&gpu, &mut w), &runs, &doubles, start);
                    check((&gpu, &mut w), &bytes, &doubles, 0);
                }
                false => {
                    check((&gpu, &mut w), &words, &floats, 0);
                    check((&gpu, &mut w), &runs, &floats, start);
                    check((&gpu, &mut w), &shorts, &floats, start);
                    check((&gpu, &mut w), &words, &doubles, start);
                }
            }
        }
    }
}

#[test]
fn segments_of_every_length_have_the_order_of_the_cpu() {
    let (gpu, mut w) = open();
    // In the mean 2, 40, 1000 and 10,000 elements, with one that is much longer: beyond what a group
    // of lanes takes, and beyond a chunk.
    for (mean, long) in [(2, 600), (2, 20_000), (40, 40_000), (1000, 70_000), (10_000, 0)] {
        let mut offsets = vec![0u64];
        for i in 0..20 {
            let length = if i == 7 { long } else { u64::from(hash(i)) % (2 * mean) };
            offsets.push(offsets[i] + length);
        }
        // Enough short segments follow that the mean stays.
        let end = offsets[20];
        let short = (end / mean).saturating_sub(20);
        offsets.extend((1..=short).map(|i| end + i));
        let len = *offsets.last().unwrap() as usize;
        let floats: Vec<f32> = (0..len).map(|i| (hash(i) as f32).sqrt() - 3e4).collect();
        let values = Unaligned::new(&gpu, &floats, 1);
        let there = gpu.upload(&offsets).unwrap();
        let mut totals = gpu.zeroed::<f32>(offsets.len() - 1).unwrap();
        gpu::segmented_reduce(&mut w, Sum, &there, values.slice(), &mut totals).unwrap();
        let sums = cpu::segmented_reduce(Sum, &offsets, &floats).unwrap();
        assert!(same_bits(&totals.to_host().unwrap(), &sums), "mean {mean}, longest {long}");
        gpu::segmented_reduce(&mut w, Max, &there, values.slice(), &mut totals).unwrap();
        let greatest = cpu::segmented_reduce(Max, &offsets, &floats).unwrap();
        assert!(same_bits(&totals.to_host().unwrap(), &greatest), "mean {mean}, longest {long}");
    }
}

/// The order as the crate's documentation has it, for one run over two tiles.
#[test]
fn a_run_over_two_tiles_is_added_up_as_documented() {
    const TILE: usize = 5120;
    let x: Vec<f32> = (0..TILE + 100).map(|i| (hash(i) as f32).sqrt() - 3e4).collect();
    let add_up = |part: &[f32]| part.iter().copied().reduce(|a, b| a + b);
    let scan = |mut sums: Vec<f32>| {
        for delta in [1, 2, 4, 8, 16] {
            for lane in (delta..sums.len()).rev() {
                sums[lane] += sums[lane - delta];
            }
        }
        sums
    };
    let ends = |warp: &[f32]| scan(warp.chunks(20).map(|s| add_up(s).unwrap()).collect());
    let warps: Vec<f32> = x[..TILE].chunks(640).map(|warp| ends(warp)[31]).collect();
    let first_tile = add_up(&warps).unwrap();
    // The second tile has five stretches, and the array ends where a sixth begins.
    let second_tile = ends(&x[TILE..])[4];
    let (_, totals) = cpu::reduce_by_key(Sum, &vec![1u32; x.len()], &x).unwrap();
    assert_eq!(totals, [first_tile + second_tile]);
}
