//! First light.
use gpu_core::{DeviceChoice, Gpu};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{LastValid, Max, Min, Scan, Sum};

fn open() -> Gpu {
    Gpu::open(DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software)).unwrap()
}

#[test]
fn scans_and_reductions() {
    let gpu = open();
    let mut w = Workspace::new(&gpu).unwrap();
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
