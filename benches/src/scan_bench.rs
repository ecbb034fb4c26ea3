//! Times the primitives of gpu-scan, one tab-separated row each: library, name, elements, and the median, least and
//! greatest time in ms. `peers/cub_bench.cu` prints the same rows for CUB.
//!
//! `scan_bench [FILTER,.. [EXPONENT..]]`: rows whose name contains one of the filters, of 2^EXPONENT elements,
//! else all. The device is `TESSERA_DEVICE`, else `cuda`. Data are resident and
//! random from a fixed seed; 3 runs to warm up, then 20 between events of their own; inputs that
//! fit the L2 cache are in it.

use anyhow::Result;
use gpu_core::{Column, DeviceChoice, DeviceGrid, Gpu, GridSpec};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{
    Key, Max, Merge, Min, Number, Payload, Predicate, ReduceOperator, Scan, ScanOperator, Sort,
    Sum, TopK,
};
use rayon::prelude::*;

const SIZES: [usize; 4] = [1 << 16, 1 << 20, 1 << 24, 1 << 28];
const WARM_UP: usize = 3;
const RUNS: usize = 20;

fn main() -> Result<()> {
    let filters = std::env::args().nth(1).unwrap_or_default();
    let filters = filters.split(',').map(str::to_owned).collect();
    let exponents = std::env::args().skip(2).map(|text| text.parse());
    let exponents = exponents.collect::<Result<Vec<u32>, _>>()?;
    let choice = DeviceChoice::from_env()?.unwrap_or(DeviceChoice::Cuda(0));
    let gpu = Gpu::open(choice)?;
    let mut bench = Bench { workspace: Workspace::new(&gpu)?, gpu, filters };
    let is_wanted = |n: &usize| exponents.is_empty() || exponents.contains(&n.ilog2());
    for n in SIZES.into_iter().filter(is_wanted) {
        bench.reductions(n)?;
        bench.scans(n)?;
        bench.selections(n)?;
        bench.runs_of_keys(n)?;
        bench.segments(n)?;
        bench.segmented_scans(n)?;
        bench.top_k(n)?;
        bench.segmented_top_k(n)?;
        bench.sorts(n)?;
        bench.histograms(n)?;
        bench.sorted_arrays(n)?;
        bench.columns(n)?;
    }
    Ok(())
}

struct Bench {
    gpu: Gpu,
    workspace: Workspace,
    filters: Vec<String>,
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.filters.iter().any(|filter| name.contains(filter))
    }

    /// Times `work` and prints a row.
    fn row(
        &mut self,
        name: &str,
        n: usize,
        mut work: impl FnMut(&mut Workspace) -> gpu_scan::Result<()>,
    ) -> Result<()> {
        self.prepared_row(name, n, &mut (), |_| Ok(()), |workspace, ()| work(workspace))
    }

    /// Times work that needs `prepare` before each run; the time of `prepare` does not count.
    fn prepared_row<D>(
        &mut self,
        name: &str,
        n: usize,
        data: &mut D,
        prepare: impl Fn(&mut D) -> Result<()>,
        mut work: impl FnMut(&mut Workspace, &mut D) -> gpu_scan::Result<()>,
    ) -> Result<()> {
        let mut times = Vec::with_capacity(RUNS);
        for run in 0..WARM_UP + RUNS {
            prepare(data)?;
            self.gpu.synchronize()?;
            let ((), time) =
                self.gpu.time::<_, anyhow::Error>(|| Ok(work(&mut self.workspace, data)?))?;
            if run >= WARM_UP {
                times.push(time.as_secs_f64() * 1e3);
            }
        }
        times.sort_by(f64::total_cmp);
        let median = (times[RUNS / 2 - 1] + times[RUNS / 2]) / 2.0;
        let (least, most) = (times[0], times[RUNS - 1]);
        println!("tessera\t{name}\t{n}\t{median:.5}\t{least:.5}\t{most:.5}");
        Ok(())
    }

    fn reductions(&mut self, n: usize) -> Result<()> {
        self.reduction::<u32, _>("reduce_sum_u32", Sum, n)?;
        self.reduction::<f32, _>("reduce_sum_f32", Sum, n)?;
        self.reduction::<u64, _>("reduce_sum_u64", Sum, n)?;
        self.reduction::<f64, _>("reduce_sum_f64", Sum, n)?;
        self.reduction::<f32, _>("reduce_min_f32", Min, n)?;
        if self.wants("argmin_f32") {
            let input = self.random::<f32>(n)?;
            let mut result = self.gpu.zeroed::<u64>(1)?;
            self.row("argmin_f32", n, |w| gpu::index_of_min(w, &input, &mut result))?;
        }
        Ok(())
    }

    fn reduction<T: Number, O: ReduceOperator<T>>(
        &mut self,
        name: &str,
        operator: O,
        n: usize,
    ) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let input = self.random::<T>(n)?;
        let mut result = self.gpu.zeroed::<T>(1)?;
        self.row(name, n, |w| gpu::reduce(w, operator, &input, &mut result))
    }

    fn scans(&mut self, n: usize) -> Result<()> {
        self.scan::<u8, _>("scan_inclusive_sum_u8", Sum, Scan::inclusive(), n)?;
        // The peer adds narrow integers as wide ones, or, in these rows, as they are.
        self.scan::<u8, _>("scan_inclusive_sum_u8_narrow", Sum, Scan::inclusive(), n)?;
        self.scan::<u16, _>("scan_inclusive_sum_u16_narrow", Sum, Scan::inclusive(), n)?;
        self.scan::<u16, _>("scan_inclusive_sum_u16", Sum, Scan::inclusive(), n)?;
        self.scan::<u32, _>("scan_inclusive_sum_u32", Sum, Scan::inclusive(), n)?;
        self.scan::<f32, _>("scan_inclusive_sum_f32", Sum, Scan::inclusive(), n)?;
        self.scan::<u64, _>("scan_inclusive_sum_u64", Sum, Scan::inclusive(), n)?;
        self.scan::<f64, _>("scan_inclusive_sum_f64", Sum, Scan::inclusive(), n)?;
        self.scan::<u32, _>("scan_exclusive_sum_u32", Sum, Scan::exclusive(0), n)?;
        self.scan::<u32, _>("scan_inclusive_max_u32", Max, Scan::inclusive(), n)?;
        if self.wants("scan_by_key_sum_u32") {
            let (keys, input) = (self.runs(n, 50)?, self.random::<u32>(n)?);
            let mut output = self.gpu.zeroed::<u32>(n)?;
            let how = Scan::inclusive();
            self.row("scan_by_key_sum_u32", n, |w| {
                gpu::scan_by_key(w, Sum, how, &keys, &input, &mut output)
            })?;
        }
        Ok(())
    }

    fn scan<T: Number, O: ScanOperator<T>>(
        &mut self,
        name: &str,
        operator: O,
        how: Scan<T>,
        n: usize,
    ) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let input = self.random::<T>(n)?;
        let mut output = self.gpu.zeroed::<T>(n)?;
        self.row(name, n, |w| gpu::scan(w, operator, how, &input, &mut output))
    }

    fn selections(&mut self, n: usize) -> Result<()> {
        let names = ["select_if_u32", "select_flagged_u32", "partition_u32"];
        if !names.iter().any(|name| self.wants(name)) {
            return Ok(());
        }
        let input = self.random::<u32>(n)?;
        let mut output = self.gpu.zeroed::<u32>(n)?;
        let mut rejected = self.gpu.zeroed::<u32>(n)?;
        let mut count = self.gpu.zeroed::<u64>(1)?;
        let low = Predicate::less_than(1 << 31);
        if self.wants(names[0]) {
            self.row(names[0], n, |w| gpu::select_if(w, low, &input, &mut output, &mut count))?;
        }
        if self.wants(names[1]) {
            let flags: Vec<u8> = (0..n as u64).map(|i| (mix(i) >> 20 & 1) as u8).collect();
            let flags = self.gpu.upload(&flags)?;
            self.row(names[1], n, |w| {
                gpu::select_flagged(w, &flags, &input, &mut output, &mut count)
            })?;
        }
        if self.wants(names[2]) {
            self.row(names[2], n, |w| {
                gpu::partition(w, low, &input, &mut output, &mut rejected, &mut count)
            })?;
        }
        Ok(())
    }

    fn runs_of_keys(&mut self, n: usize) -> Result<()> {
        for mean in [2, 50] {
            let unique = if mean == 2 { "unique_u32" } else { "unique_u32_mean50" };
            let encode = format!("rle_u32_mean{mean}");
            let reduce = format!("reduce_by_key_u32_mean{mean}");
            if ![unique, &encode, &reduce].iter().any(|name| self.wants(name)) {
                continue;
            }
            let (keys, values) = (self.runs(n, mean)?, self.random::<u32>(n)?);
            let mut keys_out = self.gpu.zeroed::<u32>(n)?;
            let mut totals = self.gpu.zeroed::<u32>(n)?;
            let mut count = self.gpu.zeroed::<u64>(1)?;
            if self.wants(unique) {
                self.row(unique, n, |w| gpu::unique(w, &keys, &mut keys_out, &mut count))?;
            }
            if self.wants(&encode) {
                self.row(&encode, n, |w| {
                    gpu::run_lengths(w, &keys, &mut keys_out, &mut totals, &mut count)
                })?;
            }
            if self.wants(&reduce) {
                let (k, t, c) = (&mut keys_out, &mut totals, &mut count);
                self.row(&reduce, n, |w| {
                    gpu::reduce_by_key(w, Sum, &keys, &values, &mut *k, &mut *t, &mut *c)
                })?;
            }
        }
        Ok(())
    }

    fn segments(&mut self, n: usize) -> Result<()> {
        if !self.wants("segmented_reduce_sum_f32") {
            return Ok(());
        }
        let (offsets, values) = (self.offsets(n)?, self.random::<f32>(n)?);
        let mut totals = self.gpu.zeroed::<f32>(offsets.len() - 1)?;
        self.row("segmented_reduce_sum_f32", n, |w| {
            gpu::segmented_reduce(w, Sum, &offsets, &values, &mut totals)
        })
    }

    fn segmented_scans(&mut self, n: usize) -> Result<()> {
        let name = "segmented_scan_inclusive_sum_u32";
        if !self.wants(name) {
            return Ok(());
        }
        let (offsets, values) = (self.offsets(n)?, self.random::<u32>(n)?);
        let mut sums = self.gpu.zeroed::<u32>(n)?;
        self.row(name, n, |w| {
            gpu::segmented_scan(w, Sum, Scan::inclusive(), &offsets, &values, &mut sums)
        })
    }

    /// The greatest, in order, and their indices; the peer gives them in no order.
    fn top_k(&mut self, n: usize) -> Result<()> {
        let name = "top_k_u32_1000";
        if !self.wants(name) {
            return Ok(());
        }
        let keys = self.random::<u32>(n)?;
        let (mut top, mut indices) = (self.gpu.zeroed::<u32>(1000)?, self.gpu.zeroed::<u64>(1000)?);
        self.row(name, n, |w| gpu::top_k(w, TopK::greatest(), &keys, &mut top, &mut indices))
    }

    /// The greatest of each segment, in order; the peer gives them in no order.
    fn segmented_top_k(&mut self, n: usize) -> Result<()> {
        let name = "segmented_top_k_u32_10";
        if !self.wants(name) {
            return Ok(());
        }
        let (offsets, keys) = (self.offsets(n)?, self.random::<u32>(n)?);
        let len = 10 * (offsets.len() - 1);
        let (mut top, mut indices) = (self.gpu.zeroed::<u32>(len)?, self.gpu.zeroed::<u64>(len)?);
        let how = (TopK::greatest(), 10);
        self.row(name, n, |w| gpu::segmented_top_k(w, how, &offsets, &keys, &mut top, &mut indices))
    }

    fn sorts(&mut self, n: usize) -> Result<()> {
        self.sort_keys::<u8>("sort_keys_u8", n)?;
        self.sort_keys::<u16>("sort_keys_u16", n)?;
        self.sort_keys::<u32>("sort_keys_u32", n)?;
        self.sort_keys::<u64>("sort_keys_u64", n)?;
        self.sort_keys::<f32>("sort_keys_f32", n)?;
        self.sort_pairs::<u8, u32>("sort_pairs_u8_u32", n)?;
        self.sort_pairs::<u16, u32>("sort_pairs_u16_u32", n)?;
        self.sort_pairs::<u32, u32>("sort_pairs_u32_u32", n)?;
        self.sort_pairs::<u32, u64>("sort_pairs_u32_u64", n)?;
        self.sort_pairs::<u64, u32>("sort_pairs_u64_u32", n)?;
        self.sort_pairs::<u64, u64>("sort_pairs_u64_u64", n)?;
        self.sort_in_place(n)?;
        self.sort_segments(n)
    }

    /// The peer sorts between two buffers, both of which it may overwrite.
    fn sort_in_place(&mut self, n: usize) -> Result<()> {
        let name = "sort_keys_u32_doublebuffer";
        if !self.wants(name) {
            return Ok(());
        }
        let keys = self.random::<u32>(n)?;
        let mut sorted = self.gpu.zeroed::<u32>(n)?;
        self.prepared_row(
            name,
            n,
            &mut sorted,
            |sorted| Ok(sorted.copy_from(&keys)?),
            |w, sorted| gpu::sort_in_place(w, Sort::ascending(), sorted),
        )
    }

    /// The peer has two ways.
    fn sort_segments(&mut self, n: usize) -> Result<()> {
        for name in ["segmented_sort_u32", "segmented_sort_u32_radix"] {
            if !self.wants(name) || !SIZES[1..3].contains(&n) {
                continue;
            }
            let (offsets, keys) = (self.offsets(n)?, self.random::<u32>(n)?);
            let mut sorted = self.gpu.zeroed::<u32>(n)?;
            self.row(name, n, |w| {
                gpu::segmented_sort(w, Sort::ascending(), &offsets, &keys, &mut sorted)
            })?;
        }
        Ok(())
    }

    fn sort_keys<K: Key>(&mut self, name: &str, n: usize) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let keys = self.random::<K>(n)?;
        let mut sorted = self.gpu.zeroed::<K>(n)?;
        self.row(name, n, |w| gpu::sort(w, Sort::ascending(), &keys, &mut sorted))
    }

    fn sort_pairs<K: Key, V: Payload>(&mut self, name: &str, n: usize) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let (keys, values) = (self.random::<K>(n)?, self.random::<V>(n)?);
        let mut sorted = self.gpu.zeroed::<K>(n)?;
        let mut carried = self.gpu.zeroed::<V>(n)?;
        self.row(name, n, |w| {
            gpu::sort_pairs(w, Sort::ascending(), &keys, &values, &mut sorted, &mut carried)
        })
    }

    fn histograms(&mut self, n: usize) -> Result<()> {
        let mut counts = self.gpu.zeroed::<u32>(256)?;
        let mut outside = self.gpu.zeroed::<u64>(3)?;
        let names = ["histogram_256_u8", "histogram_256_f32", "histogram_range_256_f32"];
        if self.wants(names[0]) {
            // The peer's 256 bins of one value each: 255 is the last bound's own.
            let bounds: Vec<u8> = (0..=255).collect();
            let (bounds, input) = (self.gpu.upload(&bounds)?, self.random::<u8>(n)?);
            let counts = &mut counts;
            self.row(names[0], n, |w| {
                let bins = counts.slice_mut(0..255)?;
                gpu::histogram(w, &bounds, &input, bins, &mut outside)
            })?;
        }
        if !names[1..].iter().any(|name| self.wants(name)) {
            return Ok(());
        }
        let input = self.random::<f32>(n)?;
        if self.wants(names[1]) {
            self.row(names[1], n, |w| {
                gpu::histogram_even(w, (0.0, 1.0), &input, &mut counts, &mut outside)
            })?;
        }
        if self.wants(names[2]) {
            let bounds: Vec<f32> = (0..=256u16).map(|b| f32::from(b) / 256.0).collect();
            let bounds = self.gpu.upload(&bounds)?;
            self.row(names[2], n, |w| {
                gpu::histogram(w, &bounds, &input, &mut counts, &mut outside)
            })?;
        }
        Ok(())
    }

    /// Merges of two halves, and as many queries as sorted elements.
    fn sorted_arrays(&mut self, n: usize) -> Result<()> {
        let names = ["merge_keys_u32", "merge_pairs_u32_u32", "upper_bound_u32"];
        if !names.iter().any(|name| self.wants(name)) {
            return Ok(());
        }
        let up = Merge::ascending();
        let values = self.random::<u32>(n)?;
        if names[..2].iter().any(|name| self.wants(name)) {
            let half = n / 2;
            let (a, b) = (self.sorted(0, half)?, self.sorted(1 << 40, half)?);
            let (of_a, of_b) = (values.slice(0..half)?, values.slice(half..n)?);
            let mut keys = self.gpu.zeroed::<u32>(n)?;
            let mut moved = self.gpu.zeroed::<u32>(n)?;
            if self.wants(names[0]) {
                self.row(names[0], n, |w| gpu::merge_keys(w, up, &a, &b, &mut keys))?;
            }
            if self.wants(names[1]) {
                let (k, v) = (&mut keys, &mut moved);
                self.row(names[1], n, |w| {
                    gpu::merge_pairs(w, up, (&a, of_a), (&b, of_b), (&mut *k, &mut *v))
                })?;
            }
        }
        if self.wants(names[2]) {
            let sorted = self.sorted(0, n)?;
            let mut found = self.gpu.zeroed::<u64>(n)?;
            self.row(names[2], n, |w| gpu::upper_bound(w, &sorted, &values, &mut found))?;
        }
        Ok(())
    }

    /// Scans along the columns and the rows of a grid that is about square: no peer has them.
    fn columns(&mut self, n: usize) -> Result<()> {
        let names = ["scan_columns_sum_f32", "scan_rows_sum_f32"];
        if !names.iter().any(|name| self.wants(name)) {
            return Ok(());
        }
        let width = 1u32 << (n.ilog2() / 2);
        let height = n as u32 / width;
        let input =
            DeviceGrid::from_column(self.random::<f32>(n)?, GridSpec::of_pixels(width, height))?;
        let mut output = DeviceGrid::from_column(
            self.gpu.zeroed::<f32>(n)?,
            GridSpec::of_pixels(width, height),
        )?;
        let how = Scan::inclusive();
        if self.wants(names[0]) {
            self.row(names[0], n, |w| gpu::scan_columns(w, Sum, how, &input, &mut output))?;
        }
        if self.wants(names[1]) {
            self.row(names[1], n, |w| gpu::scan_rows(w, Sum, how, &input, &mut output))?;
        }
        Ok(())
    }

    /// Offsets of segments of 1000 elements.
    fn offsets(&self, n: usize) -> Result<Column<u64>> {
        let offsets: Vec<u64> = (0..=n.div_ceil(1000)).map(|s| (s * 1000).min(n) as u64).collect();
        Ok(self.gpu.upload(&offsets)?)
    }

    /// Sorted random elements.
    fn sorted(&self, seed: u64, n: usize) -> Result<Column<u32>> {
        let random = |i: usize| mix(i as u64 + seed) as u32;
        let mut host: Vec<u32> = (0..n).into_par_iter().map(random).collect();
        host.par_sort_unstable();
        Ok(self.gpu.upload(&host)?)
    }

    /// Uniformly random elements: integers over the whole range, floats between 0 and 1.
    fn random<T: Number>(&self, n: usize) -> Result<Column<T>> {
        let bits = |i: usize| match std::any::type_name::<T>() {
            "f32" => u64::from(((mix(i as u64) >> 40) as f32 / 16_777_216.0).to_bits()),
            "f64" => ((mix(i as u64) >> 11) as f64 / (1u64 << 53) as f64).to_bits(),
            _ => mix(i as u64),
        };
        let host: Vec<T> = (0..n)
            .into_par_iter()
            .map(|i| bytemuck::pod_read_unaligned(&bits(i).to_le_bytes()[..size_of::<T>()]))
            .collect();
        Ok(self.gpu.upload(&host)?)
    }

    /// Equal keys in runs of this mean length: an element begins a run with probability 1 / mean.
    fn runs(&self, n: usize, mean: u64) -> Result<Column<u32>> {
        let mut run = 0;
        let host: Vec<u32> = (0..n as u64)
            .map(|i| {
                run += u32::from(mix(i).is_multiple_of(mean));
                run
            })
            .collect();
        Ok(self.gpu.upload(&host)?)
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014, DOI 10.1145/2660193.2660195).
fn mix(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
