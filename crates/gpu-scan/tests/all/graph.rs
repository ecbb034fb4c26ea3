//! A sequence of primitives, captured once and launched again and again.

use crate::common::open;
use gpu_core::{Column, DeviceGrid, Gpu, GridSpec};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Error, Max, Merge, Number, Predicate, Result, Scan, Sum};

const WIDTH: u32 = 130;
const HEIGHT: u32 = 70;
const LEN: usize = WIDTH as usize * HEIGHT as usize;

/// What goes in, and what comes out of the calls.
struct Data {
    input: Column<f32>,
    keys: Column<u32>,
    grid: DeviceGrid<f32>,
    total: Column<f32>,
    scanned: Column<f32>,
    by_key: Column<f32>,
    selected: Column<f32>,
    distinct: Column<u32>,
    totals: Column<f32>,
    lengths: Column<u32>,
    columns: DeviceGrid<f32>,
    turned: DeviceGrid<f32>,
    merged: Column<u32>,
    found: Column<u64>,
    offsets: Column<u64>,
    of_segments: Column<f32>,
    counts: Column<u32>,
    numbers: Column<u64>,
}

impl Data {
    fn new(gpu: &Gpu) -> Result<Self> {
        // The last segment is long, beside the others.
        let offsets: Vec<u64> = (0..=2000).chain([LEN as u64]).collect();
        let (floats, words) = (|| gpu.zeroed::<f32>(LEN), || gpu.zeroed::<u32>(LEN));
        Ok(Self {
            input: floats()?,
            keys: words()?,
            grid: DeviceGrid::from_column(floats()?, GridSpec::of_pixels(WIDTH, HEIGHT))?,
            total: gpu.zeroed(1)?,
            scanned: floats()?,
            by_key: floats()?,
            selected: floats()?,
            distinct: words()?,
            totals: floats()?,
            lengths: words()?,
            columns: DeviceGrid::from_column(floats()?, GridSpec::of_pixels(WIDTH, HEIGHT))?,
            turned: DeviceGrid::from_column(floats()?, GridSpec::of_pixels(HEIGHT, WIDTH))?,
            merged: gpu.zeroed(2 * LEN)?,
            found: gpu.zeroed(LEN)?,
            offsets: gpu.upload(&offsets)?,
            of_segments: gpu.zeroed(2001)?,
            counts: gpu.zeroed(32)?,
            numbers: gpu.zeroed(7)?,
        })
    }

    /// Puts other numbers in, the same for the same seed.
    fn fill(&mut self, gpu: &Gpu, seed: u32) -> Result<()> {
        let hash = |i: usize| (i as u32 ^ seed).wrapping_mul(2_654_435_761);
        let x: Vec<f32> = (0..LEN).map(|i| (hash(i) as f32).sqrt() - 3e4).collect();
        let keys: Vec<u32> = (0..LEN as u32).map(|i| i / (3 + seed)).collect();
        self.input.copy_from(&gpu.upload(&x)?)?;
        self.grid.copy_from(&gpu.upload(&x)?)?;
        self.keys.copy_from(&gpu.upload(&keys)?)?;
        Ok(())
    }

    /// The sequence. Temporary storage is shared by all of it, so the order counts.
    fn enqueue(&mut self, w: &mut Workspace) -> Result<()> {
        let how = Scan::inclusive();
        let number = |i: usize| i..i + 1;
        let (x, keys, numbers) = (&self.input, &self.keys, &mut self.numbers);
        gpu::reduce(w, Sum, x, &mut self.total)?;
        gpu::scan(w, Sum, Scan::exclusive(0.5).backward(), x, &mut self.scanned)?;
        gpu::scan_by_key(w, Max, how, keys, x, &mut self.by_key)?;
        let positive = Predicate::at_least(0.0);
        gpu::select_if(w, positive, x, &mut self.selected, numbers.slice_mut(number(0))?)?;
        let count = numbers.slice_mut(number(1))?;
        gpu::reduce_by_key(w, Sum, keys, x, &mut self.distinct, &mut self.totals, count)?;
        let count = numbers.slice_mut(number(2))?;
        gpu::run_lengths(w, keys, &mut self.distinct, &mut self.lengths, count)?;
        gpu::segmented_reduce(w, Sum, &self.offsets, x, &mut self.of_segments)?;
        gpu::scan_columns(w, Sum, how, &self.grid, &mut self.columns)?;
        gpu::transpose(w, &self.columns, &mut self.turned)?;
        gpu::merge_keys(w, Merge::ascending(), keys, keys, &mut self.merged)?;
        gpu::upper_bound(w, &self.merged, keys, &mut self.found)?;
        gpu::index_of_max(w, x, numbers.slice_mut(number(3))?)?;
        let outside = numbers.slice_mut(4..7)?;
        gpu::histogram_even(w, (-2e4, 2e4), x, &mut self.counts, outside)
    }

    /// The bits of all results.
    fn read(&self) -> Result<Vec<Vec<u8>>> {
        let floats = [
            &self.total,
            &self.scanned,
            &self.by_key,
            &self.selected,
            &self.totals,
            &self.of_segments,
            self.columns.column(),
            self.turned.column(),
        ];
        let words = [&self.distinct, &self.lengths, &self.merged, &self.counts];
        let long_words = [&self.found, &self.numbers];
        let all = floats.into_iter().map(bytes).chain(words.into_iter().map(bytes));
        all.chain(long_words.into_iter().map(bytes)).collect()
    }
}

fn bytes<T: Number>(column: &Column<T>) -> Result<Vec<u8>> {
    Ok(bytemuck::cast_slice(&column.to_host()?).to_vec())
}

#[test]
fn a_graph_of_primitives_gives_what_the_calls_give() {
    let (gpu, mut w) = open();
    let (mut calls, mut launches) = (Data::new(&gpu).unwrap(), Data::new(&gpu).unwrap());
    // Once outside, so that the workspace has grown.
    launches.enqueue(&mut w).unwrap();
    let graph = gpu.capture(|| launches.enqueue(&mut w)).unwrap();
    for seed in [0, 1, 5, 1] {
        calls.fill(&gpu, seed).unwrap();
        calls.enqueue(&mut w).unwrap();
        let expected = calls.read().unwrap();
        let outside = &calls.numbers.to_host().unwrap()[4..];
        assert!(outside[0] > 0 && outside[1] > 0, "elements lie on both sides of the bins");
        launches.fill(&gpu, seed).unwrap();
        // SAFETY: columns and workspace are there as they were, and nothing else uses them now.
        unsafe { graph.launch().unwrap() };
        assert!(launches.read().unwrap() == expected, "seed {seed}");
    }
}

/// A capture that fails leaves workspace and handle usable.
#[test]
fn an_error_in_a_capture_is_the_callers() {
    let (gpu, mut w) = open();
    let x = gpu.upload(&[1.0f32, 2.0]).unwrap();
    let mut total = gpu.zeroed::<f32>(1).unwrap();
    let mut short = gpu.zeroed::<f32>(1).unwrap();
    // What the first call allocates would be the graph's.
    let grown = gpu.capture(|| gpu::reduce(&mut w, Sum, &x, &mut total)).err();
    assert!(matches!(grown, Some(Error::Core(gpu_core::Error::Captured { .. }))), "{grown:?}");
    gpu::reduce(&mut w, Sum, &x, &mut total).unwrap();
    let refused = gpu.capture(|| {
        gpu::reduce(&mut w, Sum, &x, &mut total)?;
        gpu::scan(&mut w, Sum, Scan::inclusive(), &x, &mut short)
    });
    let length = crate::length("output", 2, 1);
    assert_eq!(refused.err(), Some(length));
    gpu::reduce(&mut w, Sum, &x, &mut total).unwrap();
    assert_eq!(total.to_host().unwrap(), [3.0]);
}
