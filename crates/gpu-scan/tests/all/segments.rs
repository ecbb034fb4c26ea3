//! Scans and reductions of whole arrays, by key and by offsets, over every shape of segments. Compares with std's
//! iterators, on the CPU and on the GPU, also where arrays begin unaligned.

use crate::common::{Unaligned, open, same_bits};
use gpu_core::Gpu;
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{LastValid, Max, Min, Number, ReduceOperator, Scan, ScanOperator, Sort, Sum, cpu};
use proptest::prelude::*;

/// Around the lengths of warps, vectors, rows and tiles.
const LENGTHS: [usize; 14] = [0, 1, 2, 31, 32, 33, 255, 1023, 1025, 2047, 2049, 8191, 8193, 16_400];

/// An array's segments, and where the array starts in its column.
#[derive(Clone, Debug)]
struct Shape {
    offsets: Vec<u64>,
    start: usize,
}

impl Shape {
    fn len(&self) -> usize {
        *self.offsets.last().unwrap() as usize
    }

    fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
    }

    /// A key for each element; those of different segments differ.
    fn keys(&self) -> Vec<u32> {
        let segments = self.ranges().enumerate();
        segments.flat_map(|(i, range)| std::iter::repeat_n(i as u32, range.len())).collect()
    }

    /// Elements from seeds, the same in every type.
    fn elements<T>(&self, seed: u64, make: impl Fn(u64) -> T) -> Vec<T> {
        let hash = |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..self.len() as u64).map(|i| make(hash(i))).collect()
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let len = proptest::sample::select(LENGTHS.to_vec());
    let cuts = proptest::collection::vec(0f64..1.0, 0..40);
    (len, 0..6u8, cuts, 0..4usize).prop_map(|(len, kind, cuts, start)| {
        let n = len as u64;
        let offsets = match kind {
            // All singletons, one segment, one between empty ones, any with some empty, or many.
            0 => (0..=n).collect(),
            1 => vec![0, n],
            2 => vec![0, 0, 0, n, n, n],
            _ => {
                let mut cuts: Vec<u64> =
                    cuts.iter().map(|c: &f64| (*c * (len + 1) as f64) as u64).collect();
                match kind {
                    3 => cuts.extend_from_within(..),
                    4 => cuts = cuts.repeat(70),
                    _ => {}
                }
                cuts.extend([0, n]);
                cuts.sort();
                cuts
            }
        };
        Shape { offsets, start }
    })
}

/// What std says: `combine` over each range, in one direction.
fn oracle<T: Copy>(
    ranges: impl Iterator<Item = std::ops::Range<usize>>,
    x: &[T],
    (initial, backward): (Option<T>, bool),
    combine: &impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut result = x.to_vec();
    for range in ranges {
        let mut sum = initial;
        let mut visit = |i: usize| {
            let with = sum.map_or(x[i], |sum| combine(sum, x[i]));
            result[i] = if initial.is_some() { sum.unwrap_or(with) } else { with };
            sum = Some(with);
        };
        match backward {
            true => range.rev().for_each(&mut visit),
            false => range.for_each(&mut visit),
        }
    }
    result
}

/// Keys as wide as elements, which change where `keys` do.
fn keys_as_wide<T: Number>(keys: &[u32]) -> Vec<T> {
    let runs = keys.chunk_by(|a, b| a == b).enumerate();
    let bits = runs.flat_map(|(run, keys)| std::iter::repeat_n(1 + run as u64 % 2, keys.len()));
    bits.map(|bits| bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])).collect()
}

/// All scans of one operator, four ways each.
fn check_scans<T: Number, O: ScanOperator<T>>(
    (gpu, w): &mut (Gpu, Workspace),
    (operator, first): (O, T),
    shape: &Shape,
    x: &[T],
    combine: impl Fn(T, T) -> T,
) {
    let (keys, offsets) = (shape.keys(), &shape.offsets);
    let input = Unaligned::new(gpu, x, shape.start);
    let keys_there = Unaligned::new(gpu, &keys, 3 - shape.start);
    let wide_keys = Unaligned::new(gpu, &keys_as_wide::<T>(&keys), shape.start);
    let offsets_there = gpu.upload(offsets).unwrap();
    let zero = vec![bytemuck::Zeroable::zeroed(); x.len()];
    let hows = [
        (Scan::inclusive(), (None, false)),
        (Scan::inclusive().backward(), (None, true)),
        (Scan::exclusive(first), (Some(first), false)),
        (Scan::exclusive(first).backward(), (Some(first), true)),
    ];
    for (how, plain) in hows {
        let whole = std::iter::once(0..x.len());
        let of_all = oracle(whole, x, plain, &combine);
        let of_segments = oracle(shape.ranges(), x, plain, &combine);
        let mut to = x.to_vec();
        let check = |what: &str, result: &[T], expected: &[T]| {
            assert!(same_bits(result, expected), "{what} {how:?} {shape:?}");
        };
        cpu::scan(operator, how, x, &mut to).unwrap();
        check("cpu", &to, &of_all);
        cpu::segmented_scan(operator, how, offsets, x, &mut to).unwrap();
        check("cpu segmented", &to, &of_segments);
        cpu::scan_by_key(operator, how, &keys, x, &mut to).unwrap();
        check("cpu by key", &to, &of_segments);
        to.copy_from_slice(x);
        cpu::scan_by_key_in_place(operator, how, &keys, &mut to).unwrap();
        check("cpu by key in place", &to, &of_segments);

        let mut output = Unaligned::new(gpu, &zero, (shape.start + 1) % 4);
        gpu::scan(w, operator, how, input.slice(), output.slice_mut()).unwrap();
        check("gpu", &output.to_host(), &of_all);
        gpu::segmented_scan(w, operator, how, &offsets_there, input.slice(), output.slice_mut())
            .unwrap();
        check("gpu segmented", &output.to_host(), &of_segments);
        let keys = keys_there.slice();
        gpu::scan_by_key(w, operator, how, keys, input.slice(), output.slice_mut()).unwrap();
        check("gpu by key", &output.to_host(), &of_segments);
        let wide = wide_keys.slice();
        gpu::scan_by_key(w, operator, how, wide, input.slice(), output.slice_mut()).unwrap();
        check("gpu by key as wide", &output.to_host(), &of_segments);
        let mut data = Unaligned::new(gpu, x, shape.start);
        gpu::scan_in_place(w, operator, how, data.slice_mut()).unwrap();
        check("gpu in place", &data.to_host(), &of_all);
        let mut data = Unaligned::new(gpu, x, shape.start);
        gpu::segmented_scan_in_place(w, operator, how, &offsets_there, data.slice_mut()).unwrap();
        check("gpu segmented in place", &data.to_host(), &of_segments);
        let mut data = Unaligned::new(gpu, x, shape.start);
        gpu::scan_by_key_in_place(w, operator, how, keys, data.slice_mut()).unwrap();
        check("gpu by key in place", &data.to_host(), &of_segments);
    }
}

/// All reductions of one operator; `empty` is that of nothing.
fn check_reductions<T: Number, O: ReduceOperator<T>>(
    (gpu, w): &mut (Gpu, Workspace),
    (operator, empty): (O, T),
    shape: &Shape,
    x: &[T],
    combine: impl Fn(T, T) -> T,
) {
    let (keys, offsets) = (shape.keys(), &shape.offsets);
    let total =
        |range: std::ops::Range<usize>| x[range].iter().copied().reduce(&combine).unwrap_or(empty);
    let of_all = [total(0..x.len())];
    let of_segments: Vec<T> = shape.ranges().map(total).collect();
    let runs: Vec<&[u32]> = keys.chunk_by(|a, b| a == b).collect();
    let heads: Vec<u32> = runs.iter().map(|run| run[0]).collect();
    let lengths: Vec<u64> = runs.iter().map(|run| run.len() as u64).collect();
    let of_runs: Vec<T> = shape.ranges().filter(|range| !range.is_empty()).map(total).collect();

    assert!(same_bits(&[cpu::reduce(operator, x)], &of_all), "{shape:?}");
    let totals = cpu::segmented_reduce(operator, offsets, x).unwrap();
    assert!(same_bits(&totals, &of_segments), "{shape:?}");
    let (found, totals) = cpu::reduce_by_key(operator, &keys, x).unwrap();
    assert!(found == heads && same_bits(&totals, &of_runs), "{shape:?}");
    assert_eq!(cpu::run_lengths(&keys), (heads.clone(), lengths.clone()));

    let input = Unaligned::new(gpu, x, shape.start);
    let keys_there = Unaligned::new(gpu, &keys, 3 - shape.start);
    let mut result = gpu.zeroed::<T>(1).unwrap();
    gpu::reduce(w, operator, input.slice(), &mut result).unwrap();
    assert!(same_bits(&result.to_host().unwrap(), &of_all), "{shape:?}");
    let offsets_there = gpu.upload(offsets).unwrap();
    let mut totals = gpu.zeroed::<T>(of_segments.len()).unwrap();
    gpu::segmented_reduce(w, operator, &offsets_there, input.slice(), &mut totals).unwrap();
    assert!(same_bits(&totals.to_host().unwrap(), &of_segments), "{shape:?}");
    let mut totals = gpu.zeroed::<T>(x.len()).unwrap();
    let mut found = gpu.zeroed::<u32>(x.len()).unwrap();
    let mut count = gpu.zeroed::<u64>(1).unwrap();
    let (keys, values) = (keys_there.slice(), input.slice());
    gpu::reduce_by_key(w, operator, keys, values, &mut found, &mut totals, &mut count).unwrap();
    assert_eq!(count.to_host().unwrap(), [heads.len() as u64], "{shape:?}");
    assert_eq!(found.to_host().unwrap()[..heads.len()], heads, "{shape:?}");
    assert!(same_bits(&totals.to_host().unwrap()[..heads.len()], &of_runs), "{shape:?}");
    let mut counted = gpu.zeroed::<u64>(x.len()).unwrap();
    gpu::run_lengths(w, keys, &mut found, &mut counted, &mut count).unwrap();
    assert_eq!(count.to_host().unwrap(), [heads.len() as u64], "{shape:?}");
    assert_eq!(counted.to_host().unwrap()[..heads.len()], lengths, "{shape:?}");
}

macro_rules! each_type {
    ($($name:ident: $type:ty, $make:expr, $add:expr, $least:expr, $greatest:expr;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(12))]
            $(
                #[test]
                fn $name(shape in shapes(), seed in any::<u32>()) {
                    let mut device = open();
                    let make: fn(u64) -> $type = $make;
                    let add: fn($type, $type) -> $type = $add;
                    let least = |a: $type, b: $type| if b < a { b } else { a };
                    let most = |a: $type, b: $type| if b > a { b } else { a };
                    let (gap, first) = (make(3), make(11));
                    let valid = |a: $type, b: $type| if b == gap { a } else { b };
                    let x = shape.elements(seed.into(), make);
                    check_scans(&mut device, (Sum, first), &shape, &x, add);
                    check_scans(&mut device, (Min, first), &shape, &x, least);
                    check_scans(&mut device, (Max, first), &shape, &x, most);
                    check_scans(&mut device, (LastValid(gap), first), &shape, &x, valid);
                    check_reductions(&mut device, (Sum, 0 as $type), &shape, &x, add);
                    check_reductions(&mut device, (Min, $greatest), &shape, &x, least);
                    check_reductions(&mut device, (Max, $least), &shape, &x, most);
                }
            )+
        }
    };
}

// Floats are small whole numbers, so that their sums are exact in any order.
each_type! {
    bytes: u8, |h| h as u8, |a, b| a.wrapping_add(b), 0, u8::MAX;
    short_words: u16, |h| h as u16, |a, b| a.wrapping_add(b), 0, u16::MAX;
    words: u32, |h| h as u32, |a, b| a.wrapping_add(b), 0, u32::MAX;
    signed_words: i32, |h| h as i32 - (1 << 23), |a, b| a.wrapping_add(b), i32::MIN, i32::MAX;
    long_words: u64, |h| h << 38, |a, b| a.wrapping_add(b), 0, u64::MAX;
    signed_long_words: i64, |h| (h as i64) << 40, |a, b| a.wrapping_add(b), i64::MIN, i64::MAX;
    floats: f32, |h| (h % 15) as f32 - 7.0, |a, b| a + b, f32::NEG_INFINITY, f32::INFINITY;
    doubles: f64, |h| (h % 15) as f64 - 7.0, |a, b| a + b, f64::NEG_INFINITY, f64::INFINITY;
}

/// Of few segments, and of more than one launch reduces.
#[test]
fn segments_may_be_more_than_elements_as_most_are_empty() {
    let (gpu, mut w) = open();
    for (len, segments) in [(0_usize, 1_usize), (0, 9000), (1, 2), (3, 40), (3, 9000), (700, 9000)]
    {
        // The elements lie in a few segments in the middle.
        let offsets: Vec<u64> =
            (0..=segments).map(|s| s.saturating_sub(segments / 2).min(len) as u64).collect();
        let mut offsets = offsets;
        *offsets.last_mut().unwrap() = len as u64;
        let x: Vec<u32> = (0..len as u32).map(|i| 1 + (i * 37) % 101).collect();
        let total = |ends: &[u64]| x[ends[0] as usize..ends[1] as usize].iter().sum::<u32>();
        let totals: Vec<u32> = offsets.windows(2).map(total).collect();
        let what = format!("{segments} segments of {len} elements");
        assert_eq!(cpu::segmented_reduce(Sum, &offsets, &x).unwrap(), totals, "{what}");
        let (there, input) = (gpu.upload(&offsets).unwrap(), gpu.upload(&x).unwrap());
        let mut found = gpu.upload(&vec![7_u32; segments]).unwrap();
        gpu::segmented_reduce(&mut w, Sum, &there, &input, &mut found).unwrap();
        assert_eq!(found.to_host().unwrap(), totals, "{what}");

        let (mut sums, mut output) = (vec![0; len], gpu.zeroed::<u32>(len).unwrap());
        for how in [Scan::inclusive(), Scan::exclusive(5).backward()] {
            cpu::segmented_scan(Sum, how, &offsets, &x, &mut sums).unwrap();
            gpu::segmented_scan(&mut w, Sum, how, &there, &input, &mut output).unwrap();
            assert_eq!(output.to_host().unwrap(), sums, "{what}");
        }
        let sorted = cpu::segmented_sort(Sort::descending(), &offsets, &x).unwrap();
        gpu::segmented_sort(&mut w, Sort::descending(), &there, &input, &mut output).unwrap();
        assert_eq!(output.to_host().unwrap(), sorted, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Runs are of equal bits: zeros of either sign and NaNs of any kind are apart.
    #[test]
    fn keys_are_compared_by_their_bits(
        kinds in proptest::collection::vec((0..7usize, 1..600usize), 0..40),
        start in 0..4usize,
    ) {
        let special = [
            0.0,
            -0.0,
            f64::NAN,
            -f64::NAN,
            f64::from_bits(0x7ff0_0000_0000_0001),
            f64::INFINITY,
            1.0,
        ];
        let runs = kinds.iter().map(|(kind, len)| std::iter::repeat_n(special[*kind], *len));
        let keys: Vec<f64> = runs.flatten().collect();
        let values: Vec<u16> = (0..keys.len()).map(|i| (i * 7) as u16).collect();
        let chunks: Vec<&[f64]> =
            keys.chunk_by(|a, b| a.to_bits() == b.to_bits()).collect();
        let heads: Vec<f64> = chunks.iter().map(|chunk| chunk[0]).collect();
        let lengths: Vec<u64> = chunks.iter().map(|chunk| chunk.len() as u64).collect();
        let mut totals = Vec::new();
        let mut rest = &values[..];
        for length in &lengths {
            let (run, after) = rest.split_at(*length as usize);
            totals.push(run.iter().fold(0u16, |a, b| a.wrapping_add(*b)));
            rest = after;
        }
        let (found, counted) = cpu::run_lengths(&keys);
        prop_assert!(same_bits(&found, &heads) && counted == lengths);
        prop_assert!(same_bits(&cpu::unique(&keys), &heads));
        let (found, sums) = cpu::reduce_by_key(Sum, &keys, &values).unwrap();
        prop_assert!(same_bits(&found, &heads) && sums == totals);

        let (gpu, mut w) = open();
        let n = keys.len();
        let there = Unaligned::new(&gpu, &keys, start);
        let values = Unaligned::new(&gpu, &values, 3);
        let mut found = gpu.zeroed::<f64>(n).unwrap();
        let mut counted = gpu.zeroed::<u32>(n).unwrap();
        let mut sums = gpu.zeroed::<u16>(n).unwrap();
        let mut count = gpu.zeroed::<u64>(1).unwrap();
        gpu::run_lengths(&mut w, there.slice(), &mut found, &mut counted, &mut count).unwrap();
        prop_assert_eq!(count.to_host().unwrap(), [heads.len() as u64]);
        prop_assert!(same_bits(&found.to_host().unwrap()[..heads.len()], &heads));
        let counted = counted.to_host().unwrap();
        prop_assert!(counted.iter().map(|c| u64::from(*c)).take(heads.len()).eq(lengths));
        gpu::unique(&mut w, there.slice(), &mut found, &mut count).unwrap();
        prop_assert_eq!(count.to_host().unwrap(), [heads.len() as u64]);
        prop_assert!(same_bits(&found.to_host().unwrap()[..heads.len()], &heads));
        let (keys, values) = (there.slice(), values.slice());
        gpu::reduce_by_key(&mut w, Sum, keys, values, &mut found, &mut sums, &mut count).unwrap();
        prop_assert!(same_bits(&found.to_host().unwrap()[..heads.len()], &heads));
        prop_assert_eq!(&sums.to_host().unwrap()[..heads.len()], &totals[..]);
    }
}
