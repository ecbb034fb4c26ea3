//! Every element type, unaligned starts, the elementwise primitives, and what is refused.

use crate::common::open;
use gpu_core::{DeviceGrid, GridSpec, Slice, SliceMut};
use gpu_scan::gpu;
use gpu_scan::{Error, LastValid, Max, Min, Number, Predicate, Scan, Sum};

/// Lengths around those of vectors, rows and tiles.
const LENGTHS: [usize; 9] = [0, 1, 2, 31, 33, 511, 2049, 8191, 20_000];

/// The bits of elements, which tell NaNs and zeros apart.
fn bits<T: Number>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}

macro_rules! each_type {
    ($($name:ident: $type:ty, $add:expr;)+) => {$(
        #[test]
        fn $name() {
            let (gpu, mut w) = open();
            let add: fn($type, $type) -> $type = $add;
            for n in LENGTHS {
                // One element before the start: nothing is aligned to 16 bytes.
                let x: Vec<$type> =
                    (0..=n as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> 20 & 0x3f) as $type).collect();
                let column = gpu.upload(&x).unwrap();
                let (x, input) = (&x[1..], column.slice(1..n + 1).unwrap());
                let mut output = gpu.zeroed::<$type>(n + 1).unwrap();

                let mut sum = 0 as $type;
                let expected: Vec<$type> = x.iter().map(|v| { sum = add(sum, *v); sum }).collect();
                let to = output.slice_mut(1..n + 1).unwrap();
                gpu::scan(&mut w, Sum, Scan::inclusive(), input, to).unwrap();
                assert_eq!(output.to_host().unwrap()[1..], expected);

                let mut sum = 3 as $type;
                let mut expected: Vec<$type> =
                    x.iter().rev().map(|v| { let before = sum; sum = add(sum, *v); before }).collect();
                expected.reverse();
                let to = output.slice_mut(1..n + 1).unwrap();
                gpu::scan(&mut w, Sum, Scan::exclusive(3 as $type).backward(), input, to).unwrap();
                assert_eq!(output.to_host().unwrap()[1..], expected);

                let mut result = gpu.zeroed::<$type>(1).unwrap();
                gpu::reduce(&mut w, Sum, input, &mut result).unwrap();
                assert_eq!(result.to_host().unwrap()[0], x.iter().fold(0 as $type, |a, b| add(a, *b)));
                gpu::reduce(&mut w, Max, input, &mut result).unwrap();
                let greatest = x.iter().copied().fold(None, |a: Option<$type>, b| {
                    Some(a.map_or(b, |a| if b > a { b } else { a }))
                });
                if let Some(greatest) = greatest {
                    assert_eq!(result.to_host().unwrap()[0], greatest);
                }
                let mut index = gpu.zeroed::<u64>(1).unwrap();
                gpu::index_of_max(&mut w, input, &mut index).unwrap();
                let expected = greatest.and_then(|g| x.iter().position(|v| *v == g));
                assert_eq!(index.to_host().unwrap()[0], expected.map_or(u64::MAX, |i| i as u64));

                let (low, high) = (20 as $type, 40 as $type);
                let mut parts = [0; 3].map(|_| gpu.zeroed::<$type>(n).unwrap());
                let mut counts = gpu.zeroed::<u64>(3).unwrap();
                let [a, b, c] = &mut parts;
                let outputs: [SliceMut<$type>; 3] = [a.into(), b.into(), c.into()];
                gpu::partition_three(&mut w, (low, high), input, outputs, &mut counts).unwrap();
                let classes: [Vec<$type>; 3] = [
                    x.iter().copied().filter(|v| *v < low).collect(),
                    x.iter().copied().filter(|v| *v >= low && *v <= high).collect(),
                    x.iter().copied().filter(|v| *v > high).collect(),
                ];
                for (i, class) in classes.iter().enumerate() {
                    assert_eq!(counts.to_host().unwrap()[i] as usize, class.len());
                    assert_eq!(parts[i].to_host().unwrap()[..class.len()], class[..]);
                }
                let flags: Vec<u8> = (0..n).map(|i| (i % 3) as u8).collect();
                let flags_there = gpu.upload(&flags).unwrap();
                let (kept, count) = (&mut parts[0], &mut index);
                gpu::select_flagged(&mut w, &flags_there, input, kept, count).unwrap();
                let expected: Vec<$type> =
                    x.iter().zip(&flags).filter(|(_, f)| **f != 0).map(|(v, _)| *v).collect();
                assert_eq!(index.to_host().unwrap()[0] as usize, expected.len());
                assert_eq!(parts[0].to_host().unwrap()[..expected.len()], expected[..]);

                let to = output.slice_mut(1..n + 1).unwrap();
                gpu::sequence(&mut w, 5 as $type, 3 as $type, to).unwrap();
                let mut next = 5 as $type;
                let expected: Vec<$type> =
                    (0..n).map(|_| { let v = next; next = add(next, 3 as $type); v }).collect();
                assert_eq!(output.to_host().unwrap()[1..], expected);
                let mut differences = gpu.zeroed::<$type>(n).unwrap();
                let from = output.slice(1..n + 1).unwrap();
                gpu::adjacent_difference(&mut w, from, &mut differences).unwrap();
                let back = differences.to_host().unwrap();
                assert!(back.iter().enumerate().all(|(i, d)| *d == if i == 0 { 5 } else { 3 } as $type));

                let order: Vec<u32> = (0..n as u32).rev().collect();
                let order = gpu.upload(&order).unwrap();
                let mut gathered = gpu.zeroed::<$type>(n).unwrap();
                gpu::gather(&mut w, &order, input, &mut gathered).unwrap();
                let mut expected = x.to_vec();
                expected.reverse();
                assert_eq!(bits(&gathered.to_host().unwrap()), bits(&expected));
                let mut scattered = gpu.zeroed::<$type>(n).unwrap();
                gpu::scatter(&mut w, &order, &gathered, &mut scattered).unwrap();
                assert_eq!(bits(&scattered.to_host().unwrap()), bits(x));
                gpu::fill(&mut w, 9 as $type, output.slice_mut(1..n + 1).unwrap()).unwrap();
                let filled = output.to_host().unwrap();
                assert!(filled[0] == 0 as $type && filled[1..].iter().all(|v| *v == 9 as $type));
            }
            let (width, height) = (37u32, 70u32);
            let x: Vec<$type> = (0..width * height).map(|i| (i % 251) as $type).collect();
            let grid = DeviceGrid::from_column(gpu.upload(&x).unwrap(), GridSpec::of_pixels(width, height)).unwrap();
            let mut turned = DeviceGrid::from_column(gpu.upload(&x).unwrap(), GridSpec::of_pixels(height, width)).unwrap();
            gpu::transpose(&mut w, &grid, &mut turned).unwrap();
            let turned = turned.column().to_host().unwrap();
            for (i, v) in x.iter().enumerate() {
                let (column, row) = (i % width as usize, i / width as usize);
                assert_eq!(turned[column * height as usize + row], *v);
            }
            let mut sums = DeviceGrid::from_column(gpu.upload(&x).unwrap(), GridSpec::of_pixels(width, height)).unwrap();
            gpu::scan_rows(&mut w, Min, Scan::inclusive().backward(), &grid, &mut sums).unwrap();
            let sums = sums.column().to_host().unwrap();
            for (row, least) in x.chunks(width as usize).zip(sums.chunks(width as usize)) {
                for i in 0..row.len() {
                    let expected = row[i..].iter().copied().reduce(|a, b| if b < a { b } else { a });
                    assert_eq!(Some(least[i]), expected);
                }
            }
        }
    )+};
}

// Small whole numbers, so that sums of floats are exact in any order.
each_type! {
    bytes: u8, |a, b| a.wrapping_add(b);
    short_words: u16, |a, b| a.wrapping_add(b);
    words: u32, |a, b| a.wrapping_add(b);
    signed_words: i32, |a, b| a.wrapping_add(b);
    long_words: u64, |a, b| a.wrapping_add(b);
    signed_long_words: i64, |a, b| a.wrapping_add(b);
    floats: f32, |a, b| a + b;
    doubles: f64, |a, b| a + b;
}

#[test]
fn floats_have_their_order() {
    let (gpu, mut w) = open();
    let x = [2.0f32, f32::NAN, -0.0, 0.0, f32::NEG_INFINITY, -f32::NAN, f32::INFINITY];
    let input = gpu.upload(&x).unwrap();
    let mut result = gpu.zeroed::<f32>(1).unwrap();
    let mut index = gpu.zeroed::<u64>(1).unwrap();
    gpu::reduce(&mut w, Min, input.slice(0..4).unwrap(), &mut result).unwrap();
    assert_eq!(result.to_host().unwrap()[0].to_bits(), (-0.0f32).to_bits());
    gpu::reduce(&mut w, Max, input.slice(1..2).unwrap(), &mut result).unwrap();
    assert_eq!(result.to_host().unwrap(), [f32::NEG_INFINITY]);
    gpu::reduce(&mut w, Min, input.slice(0..0).unwrap(), &mut result).unwrap();
    assert_eq!(result.to_host().unwrap(), [f32::INFINITY]);
    gpu::reduce(&mut w, Min, &input, &mut result).unwrap();
    assert_eq!(result.to_host().unwrap(), [f32::NEG_INFINITY]);
    gpu::index_of_min(&mut w, &input, &mut index).unwrap();
    assert_eq!(index.to_host().unwrap(), [4]);
    gpu::index_of_max(&mut w, &input, &mut index).unwrap();
    assert_eq!(index.to_host().unwrap(), [6]);
    gpu::index_of_max(&mut w, input.slice(1..2).unwrap(), &mut index).unwrap();
    assert_eq!(index.to_host().unwrap(), [u64::MAX]);
    let mut output = gpu.zeroed::<f32>(7).unwrap();
    gpu::scan(&mut w, LastValid(f32::NAN), Scan::inclusive(), &input, &mut output).unwrap();
    assert_eq!(
        output.to_host().unwrap()[1..],
        [2.0, -0.0, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::INFINITY]
    );
    gpu::select_if(&mut w, Predicate::is_nan().not(), &input, &mut output, &mut index).unwrap();
    assert_eq!(index.to_host().unwrap(), [5]);
}

#[test]
fn sums_of_floats_are_the_same_in_every_run() {
    let (gpu, mut w) = open();
    let (n, runs) = if testing::is_slow() { (100_000, 5) } else { (1 << 20, 1000) };
    let x: Vec<f32> =
        (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) as f32).sqrt() - 3e4).collect();
    let input = gpu.upload(&x).unwrap();
    let mut output = gpu.zeroed::<f32>(n).unwrap();
    let mut total = gpu.zeroed::<f32>(1).unwrap();
    let mut first = None;
    for run in 0..runs {
        software_gpu::set_seed(run);
        gpu::scan(&mut w, Sum, Scan::inclusive(), &input, &mut output).unwrap();
        gpu::reduce(&mut w, Sum, &input, &mut total).unwrap();
        let now = (bits(&output.to_host().unwrap()), bits(&total.to_host().unwrap()));
        assert!(*first.get_or_insert_with(|| now.clone()) == now, "run {run}");
    }
}

#[test]
fn blocks_in_any_order_make_progress() {
    let (gpu, mut w) = open();
    let n = 60 * 8192;
    let input = gpu.upload(&vec![1u32; n]).unwrap();
    let mut output = gpu.zeroed::<u32>(n).unwrap();
    for seed in 0..5 {
        software_gpu::set_seed(seed);
        gpu::scan(&mut w, Sum, Scan::inclusive(), &input, &mut output).unwrap();
        assert!(output.to_host().unwrap().iter().enumerate().all(|(i, v)| *v == i as u32 + 1));
    }
}

#[test]
fn what_cannot_be_done_is_named_before_anything_runs() {
    let (gpu, mut w) = open();
    let input = gpu.upload(&[1u32, 2, 3]).unwrap();
    let mut output = gpu.zeroed::<u32>(3).unwrap();
    let mut short = gpu.zeroed::<u32>(2).unwrap();
    let mut count = gpu.zeroed::<u64>(1).unwrap();
    let how = Scan::inclusive();
    let length = |what, expected, found| Err(crate::length(what, expected, found));
    assert_eq!(gpu::scan(&mut w, Sum, how, &input, &mut short), length("output", 3, 2));
    assert_eq!(gpu::reduce(&mut w, Sum, &input, &mut output), length("result", 1, 3));
    let keys = gpu.upload(&[1u8]).unwrap();
    assert_eq!(
        gpu::scan_by_key(&mut w, Sum, how, &keys, &input, &mut output),
        length("keys", 3, 1)
    );
    // SAFETY: nothing is enqueued: the overlap is refused.
    let same = unsafe { SliceMut::from_raw_parts(input.as_ptr().cast_mut(), 3) };
    let overlap = Err(Error::Overlap { first: "input", second: "output" });
    assert_eq!(gpu::scan(&mut w, Sum, how, &input, same), overlap);
    let none = gpu.upload(&[0u64; 0]).unwrap();
    assert_eq!(
        gpu::segmented_scan(&mut w, Sum, how, &none, &input, &mut output),
        length("offsets", 1, 0)
    );
    let mut parts = [0; 3].map(|_| gpu.zeroed::<u32>(3).unwrap());
    let mut counts = gpu.zeroed::<u64>(3).unwrap();
    let [a, b, c] = &mut parts;
    let refused =
        gpu::partition_three(&mut w, (5, 4), &input, [a.into(), b.into(), c.into()], &mut counts);
    let thresholds = Error::Thresholds { low: "5".to_owned(), high: "4".to_owned() };
    assert_eq!(refused, Err(thresholds));
    assert_eq!(
        gpu::select_if(&mut w, Predicate::at_most(2), &input, &mut short, &mut count),
        length("output", 3, 2)
    );
    let grid =
        DeviceGrid::from_column(gpu.upload(&[1u32, 2, 3]).unwrap(), GridSpec::of_pixels(3, 1))
            .unwrap();
    let mut same_shape = DeviceGrid::from_column(output, GridSpec::of_pixels(3, 1)).unwrap();
    assert_eq!(
        gpu::transpose(&mut w, &grid, &mut same_shape),
        length("columns of the output", 1, 3)
    );
}

#[test]
fn too_many_elements_are_refused() {
    let (gpu, mut w) = open();
    let memory = gpu.zeroed::<u8>(64).unwrap();
    let mut byte = gpu.zeroed::<u8>(1).unwrap();
    let mut count = gpu.zeroed::<u64>(1).unwrap();
    let (n, start) = (1 << 50, memory.as_ptr());
    // SAFETY: nothing is enqueued: the lengths are refused.
    let input = unsafe { Slice::from_raw_parts(start, n) };
    // Arrays that are apart, as far as their addresses say.
    let beyond = |k: usize| start.cast_mut().wrapping_add(k * n);
    // SAFETY: as above.
    let output = |k| unsafe { SliceMut::from_raw_parts(beyond(k), n) };
    let too_large = |result: gpu_scan::Result<()>| match result {
        Err(Error::TooLarge { elements, most }) => elements > most && most >= 1 << 32,
        _ => false,
    };
    let how = Scan::inclusive();
    assert!(too_large(gpu::scan(&mut w, Sum, how, input, output(1))));
    assert!(too_large(gpu::scan_in_place(&mut w, Sum, how, output(1))));
    assert!(too_large(gpu::scan_by_key(&mut w, Sum, how, input, input, output(1))));
    assert!(too_large(gpu::select_if(&mut w, Predicate::at_most(2), input, output(1), &mut count)));
    assert!(too_large(gpu::unique(&mut w, input, output(1), &mut count)));
    // SAFETY: as above.
    let lengths = unsafe { SliceMut::<u32>::from_raw_parts(beyond(2).cast(), n) };
    assert!(matches!(
        gpu::run_lengths(&mut w, input, output(1), lengths, &mut count),
        Err(Error::TooLarge { most: 0xffff_ffff, .. })
    ));
    let reduced = gpu::reduce_by_key(&mut w, Sum, input, input, output(1), output(2), &mut count);
    assert!(too_large(reduced));
    // SAFETY: as above.
    let none = unsafe { Slice::from_raw_parts(start, 0) };
    let up = gpu_scan::Merge::ascending();
    assert!(too_large(gpu::merge_keys(&mut w, up, input, none, output(1))));
    // SAFETY: as above.
    let found = unsafe { SliceMut::<u64>::from_raw_parts(beyond(2).cast(), n) };
    assert!(too_large(gpu::lower_bound(&mut w, none, input, found)));
    // The handle works as before.
    gpu::reduce(&mut w, Sum, &memory, &mut byte).unwrap();
    assert_eq!(byte.to_host().unwrap(), [0]);
}

#[test]
fn arrays_that_overlap_are_refused() {
    let (gpu, mut w) = open();
    let data = gpu.upload(&[1u32; 100]).unwrap();
    let mut other = gpu.zeroed::<u32>(60).unwrap();
    let mut count = gpu.zeroed::<u64>(1).unwrap();
    let (how, x) = (Scan::inclusive(), data.slice(0..60).unwrap());
    let part = |start: usize| {
        let start = data.as_ptr().wrapping_add(start).cast_mut();
        // SAFETY: nothing is enqueued where arrays overlap.
        unsafe { SliceMut::from_raw_parts(start, 40) }
    };
    let overlap = |first, second| Err(Error::Overlap { first, second });
    let x40 = data.slice(20..60).unwrap();
    // At the last element, from before the first, in the middle; then side by side, which is fine.
    for start in [59, 0, 30] {
        let result = gpu::scan(&mut w, Sum, how, x40, part(start));
        assert_eq!(result, overlap("input", "output"), "{start}");
    }
    assert_eq!(gpu::scan(&mut w, Sum, how, x40, part(60)), Ok(()));
    let keys = x40;
    assert_eq!(gpu::scan_by_key(&mut w, Sum, how, keys, x40, part(10)), overlap("input", "output"));
    assert_eq!(
        gpu::select_if(&mut w, Predicate::at_most(2), x40, part(21), &mut count),
        overlap("input", "output")
    );
    assert_eq!(gpu::unique(&mut w, x40, part(0), &mut count), overlap("input", "output"));
    let lengths = other.slice_mut(0..40).unwrap();
    assert_eq!(
        gpu::run_lengths(&mut w, x40, part(58), lengths, &mut count),
        overlap("input", "output")
    );
    let kept = other.slice_mut(0..40).unwrap();
    assert_eq!(
        gpu::run_lengths(&mut w, x40, kept, part(58), &mut count),
        overlap("input", "lengths")
    );
    let kept = other.slice_mut(0..40).unwrap();
    assert_eq!(
        gpu::partition(&mut w, Predicate::at_most(2), x40, part(60), kept, &mut count),
        Ok(())
    );
    assert_eq!(
        gpu::partition(&mut w, Predicate::at_most(2), x40, part(60), part(60), &mut count),
        overlap("selected", "rejected")
    );
    let mut found = gpu.zeroed::<u32>(40).unwrap();
    assert_eq!(
        gpu::reduce_by_key(&mut w, Sum, keys, x40, &mut found, part(59), &mut count),
        overlap("values", "totals")
    );
    assert_eq!(gpu::adjacent_difference(&mut w, x40, part(59)), overlap("input", "output"));
    assert_eq!(gpu::gather(&mut w, x40, x, part(59)), overlap("input", "output"));
    assert_eq!(gpu::scatter(&mut w, x40, x40, part(0)), overlap("input", "output"));
    assert_eq!(data.to_host().unwrap()[..20], [1; 20]);
}
