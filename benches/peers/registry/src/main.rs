//! Times what the crate oxicuda-primitives offers of gpu-scan's primitives, a row each as `scan_bench` prints them:
//! `registry [EXPONENT..]`, of 2^16, 2^20, 2^24 and 2^28 elements without.
//!
//! The crate writes PTX; its user loads it, allocates what its kernels want, and launches them one by one. Here that is
//! done before, but for the launches, which events are around: random u32 from a fixed seed, 3 runs to warm up, the
//! median of 20. Each result is compared with the CPU's before its row; what is wrong is named in a line `# ..` in
//! place of its row. Its radix sort wants the digits' places of each pass from its user, who has them here from the
//! host, untimed.

use std::error::Error;
use std::sync::Arc;

use oxicuda_driver::{Context, Device, Event, Module, Stream};
use oxicuda_launch::{Kernel, LaunchParams};
use oxicuda_memory::DeviceBuffer;
use oxicuda_primitives::device::decoupled_scan::{
    DecoupledScanConfig, DecoupledScanTemplate, ScanKind,
};
use oxicuda_primitives::device::reduce::{DeviceReduceConfig, DeviceReduceTemplate};
use oxicuda_primitives::ptx_helpers::ReduceOp;
use oxicuda_primitives::sort::onesweep::{OnesweepConfig, OnesweepTemplate};
use oxicuda_ptx::arch::SmVersion;
use oxicuda_ptx::ir::PtxType;

const BLOCK: u32 = 256;
const WARM_UP: usize = 3;
const RUNS: usize = 20;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    oxicuda_driver::init()?;
    let device = Device::get(0)?;
    let (major, minor) = device.compute_capability()?;
    let sm = SmVersion::from_compute_capability(major, minor).unwrap_or(SmVersion::Sm80);
    let context = Arc::new(Context::new(&device)?);
    let bench = Bench { stream: Stream::new(&context)?, sm };
    let words = std::env::args().skip(1).map(|word| word.parse());
    let mut exponents = words.collect::<std::result::Result<Vec<u32>, _>>()?;
    if exponents.is_empty() {
        exponents = vec![16, 20, 24, 28];
    }
    for exponent in exponents {
        let keys = random(1 << exponent);
        for (name, run) in [
            ("reduce_sum_u32", Bench::reduce as fn(&Bench, &str, &[u32]) -> Result<()>),
            ("scan_inclusive_sum_u32", Bench::scan),
            ("sort_keys_u32", Bench::sort),
        ] {
            if let Err(error) = run(&bench, name, &keys) {
                println!("# {name} of 2^{exponent}: {error}");
            }
        }
    }
    Ok(())
}

struct Bench {
    stream: Stream,
    sm: SmVersion,
}

impl Bench {
    /// One block for 256 elements, and one block for all of their sums.
    fn reduce(&self, name: &str, keys: &[u32]) -> Result<()> {
        let blocks = blocks(keys);
        let config = DeviceReduceConfig::new(ReduceOp::Sum, PtxType::U32);
        let (first, second) = DeviceReduceTemplate::new(config).generate(self.sm)?;
        let first = kernel(&first, &format!("device_reduce_pass1_sum_u32_bs{BLOCK}"))?;
        let second = kernel(&second, &format!("device_reduce_pass2_sum_u32_bs{BLOCK}"))?;
        let input = DeviceBuffer::<u32>::from_host(keys)?;
        let (sums, total) = (zeros(blocks as usize)?, zeros(1)?);
        let work = || -> Result<()> {
            let n = keys.len() as u64;
            let arguments = (sums.as_device_ptr(), input.as_device_ptr(), n);
            first.launch(&LaunchParams::new(blocks, BLOCK), &self.stream, &arguments)?;
            let arguments = (total.as_device_ptr(), sums.as_device_ptr(), blocks);
            Ok(second.launch(&LaunchParams::new(1, BLOCK), &self.stream, &arguments)?)
        };
        work()?;
        let wanted = keys.iter().fold(0u32, |sum, &key| sum.wrapping_add(key));
        self.check(&total, &[wanted])?;
        self.row(name, keys.len(), || Ok(()), work)
    }

    /// A block for 256 elements, each of which looks back at those before it.
    fn scan(&self, name: &str, keys: &[u32]) -> Result<()> {
        let blocks = blocks(keys);
        let (sum, inclusive) = (ReduceOp::Sum, ScanKind::Inclusive);
        let config = DecoupledScanConfig::with_kind(sum, PtxType::U32, BLOCK, inclusive)?;
        let text = DecoupledScanTemplate::new(config).generate(self.sm)?;
        let scan = kernel(&text, &format!("decoupled_scan_inc_sum_u32_bs{BLOCK}"))?;
        let input = DeviceBuffer::<u32>::from_host(keys)?;
        let output = zeros(keys.len())?;
        let none = vec![0; blocks as usize];
        let mut status = zeros(blocks as usize)?;
        let (sums, before) = (zeros(blocks as usize)?, zeros(blocks as usize)?);
        let pointers = (
            output.as_device_ptr(),
            input.as_device_ptr(),
            status.as_device_ptr(),
            sums.as_device_ptr(),
            before.as_device_ptr(),
        );
        let work = || -> Result<()> {
            let (output, input, status, sums, before) = pointers;
            let arguments = (output, input, status, sums, before, keys.len() as u64, blocks);
            Ok(scan.launch(&LaunchParams::new(blocks, BLOCK), &self.stream, &arguments)?)
        };
        work()?;
        let mut sum = 0u32;
        let wanted: Vec<u32> = keys
            .iter()
            .map(|&key| {
                sum = sum.wrapping_add(key);
                sum
            })
            .collect();
        self.check(&output, &wanted)?;
        self.row(name, keys.len(), || Ok(status.copy_from_host(&none)?), work)
    }

    /// Four passes of eight bits.
    fn sort(&self, name: &str, keys: &[u32]) -> Result<()> {
        let blocks = blocks(keys);
        let text = OnesweepTemplate::new(OnesweepConfig::new(PtxType::U32, 8, BLOCK)?);
        let pass = kernel(&text.generate(self.sm)?, &format!("onesweep_pass_r8_u32_bs{BLOCK}"))?;
        let (first, second) = (DeviceBuffer::<u32>::from_host(keys)?, zeros(keys.len())?);
        let places = (0..4).map(|i| Ok(DeviceBuffer::from_host(&digits(keys, 8 * i))?));
        let places = places.collect::<Result<Vec<_>>>()?;
        let none = vec![0; blocks as usize];
        let mut status = (0..4).map(|_| zeros(blocks as usize)).collect::<Result<Vec<_>>>()?;
        let scratch = blocks as usize * 256;
        let (sums, before) = (zeros(scratch)?, zeros(scratch)?);
        let flags: Vec<_> = status.iter().map(DeviceBuffer::as_device_ptr).collect();
        let work = || -> Result<()> {
            for i in 0..4 {
                let (from, to) = if i % 2 == 0 { (&first, &second) } else { (&second, &first) };
                let arguments = (
                    to.as_device_ptr(),
                    from.as_device_ptr(),
                    places[i].as_device_ptr(),
                    flags[i],
                    sums.as_device_ptr(),
                    before.as_device_ptr(),
                    keys.len() as u64,
                    blocks,
                    8 * i as u32,
                );
                pass.launch(&LaunchParams::new(blocks, BLOCK), &self.stream, &arguments)?;
            }
            Ok(())
        };
        work()?;
        let mut wanted = keys.to_vec();
        wanted.sort_unstable();
        self.check(&first, &wanted)?;
        // Later runs sort what is sorted: as many bytes, and friendlier to the cache than a first run.
        let clear = || status.iter_mut().try_for_each(|flags| Ok(flags.copy_from_host(&none)?));
        self.row(name, keys.len(), clear, work)
    }

    fn check(&self, found: &DeviceBuffer<u32>, wanted: &[u32]) -> Result<()> {
        self.stream.synchronize()?;
        let mut there = vec![0; wanted.len()];
        found.copy_to_host(&mut there)?;
        let wrong = there.iter().zip(wanted).filter(|(a, b)| a != b).count();
        if wrong > 0 {
            let first = there.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(0);
            let (found, right) = (there[first], wanted[first]);
            let all = wanted.len();
            return Err(format!(
                "{wrong} of {all} elements are wrong, the first at {first}: {found}, not {right}"
            )
            .into());
        }
        Ok(())
    }

    fn row(
        &self,
        name: &str,
        n: usize,
        mut prepare: impl FnMut() -> Result<()>,
        work: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let (start, end) = (Event::new()?, Event::new()?);
        let mut times = Vec::with_capacity(RUNS);
        for run in 0..WARM_UP + RUNS {
            prepare()?;
            start.record(&self.stream)?;
            work()?;
            end.record(&self.stream)?;
            end.synchronize()?;
            if run >= WARM_UP {
                times.push(Event::elapsed_time(&start, &end)?);
            }
        }
        times.sort_by(f32::total_cmp);
        let (median, least, most) = (times[RUNS / 2], times[0], times[RUNS - 1]);
        println!("oxicuda\t{name}\t{n}\t0\t{median:.5}\t{least:.5}\t{most:.5}");
        Ok(())
    }
}

fn kernel(text: &str, entry: &str) -> Result<Kernel> {
    Ok(Kernel::from_module(Arc::new(Module::from_ptx(text)?), entry)?)
}

fn blocks(keys: &[u32]) -> u32 {
    (keys.len() as u32).div_ceil(BLOCK)
}

fn zeros(n: usize) -> Result<DeviceBuffer<u32>> {
    Ok(DeviceBuffer::from_host(&vec![0; n])?)
}

/// Where the keys of each digit begin, in a pass over eight bits.
fn digits(keys: &[u32], shift: u32) -> Vec<u32> {
    let mut counts = vec![0u32; 256];
    for key in keys {
        counts[(key >> shift & 255) as usize] += 1;
    }
    let mut before = 0;
    counts.iter_mut().for_each(|count| before += std::mem::replace(count, before));
    counts
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
fn random(n: u64) -> Vec<u32> {
    let mix = |i: u64| {
        let z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    };
    (0..n).map(mix).collect()
}
