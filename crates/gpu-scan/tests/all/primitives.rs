//! The primitives against std, on the software device or, with `TESSERA_DEVICE`, on another.

use crate::common::open;
use gpu_core::Column;
use gpu_scan::gpu;
use gpu_scan::{LastValid, Max, Min, Predicate, Scan, Sum};

#[test]
fn scans_and_reductions() {
    let (gpu, mut w) = open();
    for n in [0usize, 1, 31, 33, 4096, 8192, 8193, 100_000] {
        let x: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2654435761) >> 7).collect();
        let input = gpu.upload(&x).unwrap();
        let mut output = gpu.zeroed::<u32>(n).unwrap();
        gpu::scan(&mut w, Sum, Scan::inclusive(), &input, &mut output).unwrap();
        let mut sum = 0u32;
        let expected: Vec<u32> = x
            .iter()
            .map(|v| {
                sum = sum.wrapping_add(*v);
                sum
            })
            .collect();
        assert!(output.to_host().unwrap() == expected, "{n}");
        gpu::scan(&mut w, Max, Scan::exclusive(5).backward(), &input, &mut output).unwrap();
        let mut max = 5;
        let mut expected: Vec<u32> = x
            .iter()
            .rev()
            .map(|v| {
                let b = max;
                max = max.max(*v);
                b
            })
            .collect();
        expected.reverse();
        assert!(output.to_host().unwrap() == expected, "{n}");
        let keys: Vec<u8> = (0..n).map(|i| (i / 7 * i / 3) as u8).collect();
        let keys_d = gpu.upload(&keys).unwrap();
        gpu::scan_by_key(&mut w, Sum, Scan::inclusive(), &keys_d, &input, &mut output).unwrap();
        let mut expected = x.clone();
        for i in 1..n {
            if keys[i] == keys[i - 1] {
                expected[i] = expected[i].wrapping_add(expected[i - 1]);
            }
        }
        assert!(output.to_host().unwrap() == expected, "{n}");
        let mut result = gpu.zeroed::<u32>(1).unwrap();
        gpu::reduce(&mut w, Sum, &input, &mut result).unwrap();
        assert_eq!(result.to_host().unwrap()[0], x.iter().fold(0u32, |a, b| a.wrapping_add(*b)));
        gpu::reduce(&mut w, Min, &input, &mut result).unwrap();
        assert_eq!(result.to_host().unwrap()[0], x.iter().copied().min().unwrap_or(u32::MAX));
        let f: Vec<f32> =
            x.iter().map(|v| if v % 3 == 0 { f32::NAN } else { *v as f32 - 1e7 }).collect();
        let fd = gpu.upload(&f).unwrap();
        let mut out = gpu.zeroed::<f32>(n).unwrap();
        gpu::scan(&mut w, LastValid(f32::NAN), Scan::inclusive(), &fd, &mut out).unwrap();
        let mut last = f32::NAN;
        let expected: Vec<u32> = f
            .iter()
            .map(|v| {
                if !v.is_nan() {
                    last = *v
                }
                last.to_bits()
            })
            .collect();
        assert!(out.to_host().unwrap().iter().map(|v| v.to_bits()).eq(expected), "{n}");
        let mut index = gpu.zeroed::<u64>(1).unwrap();
        gpu::index_of_max(&mut w, &fd, &mut index).unwrap();
        let best = f.iter().copied().filter(|v| !v.is_nan()).fold(f32::NEG_INFINITY, f32::max);
        let expected = f.iter().position(|v| *v == best).map_or(u64::MAX, |i| i as u64);
        assert_eq!(index.to_host().unwrap()[0], expected);
    }
}

/// The least of each of some segments, of which the first are short.
fn check_segments(workspace: &mut gpu::Workspace, v: &[f32], values: &Column<f32>) {
    let n = v.len() as u64;
    let mut offsets: Vec<u64> = (0..=n / 3).map(|s| (s * s / (1 + n / 3)).min(n)).collect();
    if n > 0 && offsets.len() == 1 {
        offsets.push(0)
    }
    *offsets.last_mut().unwrap() = n;
    let on_device = workspace.gpu().upload(&offsets).unwrap();
    let mut least = workspace.gpu().zeroed::<f32>(offsets.len() - 1).unwrap();
    gpu::segmented_reduce(workspace, Min, &on_device, values, &mut least).unwrap();
    for (s, (found, ends)) in
        least.to_host().unwrap().into_iter().zip(offsets.windows(2)).enumerate()
    {
        let segment = &v[ends[0] as usize..ends[1] as usize];
        let expected = segment.iter().copied().fold(f32::INFINITY, f32::min);
        assert_eq!(found, expected, "{n} {s}");
    }
}

#[test]
fn selections_and_runs() {
    let (gpu, mut w) = open();
    for n in [0usize, 1, 31, 33, 4096, 8192, 8193, 60_000] {
        for mean in [1u32, 2, 50, 100_000] {
            let mut run = 0u32;
            let x: Vec<u32> = (0..n as u32)
                .map(|i| {
                    if i.wrapping_mul(2654435761) >> 7 < (1 << 25) / mean {
                        run += 1
                    }
                    run
                })
                .collect();
            let v: Vec<f32> = (0..n).map(|i| (i % 97) as f32 * 0.37 - 7.0).collect();
            let input = gpu.upload(&x).unwrap();
            let values = gpu.upload(&v).unwrap();
            let mut output = gpu.zeroed::<u32>(n).unwrap();
            let mut rejected = gpu.zeroed::<u32>(n).unwrap();
            let mut lengths = gpu.zeroed::<u32>(n).unwrap();
            let mut totals = gpu.zeroed::<f32>(n).unwrap();
            let mut count = gpu.zeroed::<u64>(1).unwrap();
            let limit = n as u32 / mean / 2;
            gpu::partition(
                &mut w,
                Predicate::less_than(limit),
                &input,
                &mut output,
                &mut rejected,
                &mut count,
            )
            .unwrap();
            let (a, b): (Vec<u32>, Vec<u32>) = x.iter().partition(|x| **x < limit);
            let k = count.to_host().unwrap()[0] as usize;
            assert_eq!(k, a.len());
            assert!(
                output.to_host().unwrap()[..k] == a && rejected.to_host().unwrap()[..n - k] == b
            );
            gpu::run_lengths(&mut w, &input, &mut output, &mut lengths, &mut count).unwrap();
            let runs: Vec<(u32, u32)> =
                x.chunk_by(|a, b| a == b).map(|c| (c[0], c.len() as u32)).collect();
            let k = count.to_host().unwrap()[0] as usize;
            assert_eq!(k, runs.len(), "{n} {mean}");
            let (o, l) = (output.to_host().unwrap(), lengths.to_host().unwrap());
            for (i, run) in runs.iter().enumerate() {
                assert_eq!((o[i], l[i]), *run, "{n} {mean} {i}");
            }
            gpu::reduce_by_key(&mut w, Sum, &input, &values, &mut output, &mut totals, &mut count)
                .unwrap();
            let (o, t) = (output.to_host().unwrap(), totals.to_host().unwrap());
            assert_eq!(count.to_host().unwrap()[0] as usize, runs.len());
            let mut at = 0;
            for (i, run) in runs.iter().enumerate() {
                let sum: f64 = v[at..at + run.1 as usize].iter().map(|v| *v as f64).sum();
                at += run.1 as usize;
                assert_eq!(o[i], run.0);
                assert!(
                    (t[i] as f64 - sum).abs() <= 1e-4 * (1.0 + run.1 as f64),
                    "{n} {mean} {i}: {} {sum}",
                    t[i]
                );
            }
            check_segments(&mut w, &v, &values);
        }
    }
}
