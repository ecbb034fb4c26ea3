//! Every allocation, launch, copy and fill of every kind of call fails once, and so does every module's load. The call
//! gives an error, nothing stays in use, and the same call on the same workspace is right afterwards.
//!
//! Memory is counted for the whole process, and modules are loaded once in it: so this is a test binary of
//! its own.
#![cfg(feature = "cuda")]

use gpu_core::{Column, DeviceGrid, Gpu, GridSpec};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Error, Max, Merge, Predicate, Result, Scan, Sort, Sum, TopK};
use testing::faults::{Failures, everywhere};

/// More than a tile of every primitive.
const N: usize = 9_000;

/// What calls take and give.
struct State {
    gpu: Gpu,
    workspace: Workspace,
    keys: Column<u32>,
    runs: Column<u32>,
    coordinates: Column<f64>,
    offsets: Column<u64>,
    words: Column<u32>,
    others: Column<u32>,
    long_words: Column<u64>,
    count: Column<u64>,
    bytes: Column<u8>,
}

impl State {
    fn new(gpu: &Gpu) -> Result<Self> {
        let mut random = testing::Random::new(7);
        let keys: Vec<u32> = (0..N).map(|_| random.below(1 << 32) as u32).collect();
        let runs: Vec<u32> = (0..N as u32).map(|i| i / 7).collect();
        let coordinates: Vec<f64> = (0..N).map(|_| random.between(-5.0, 5.0)).collect();
        Ok(Self {
            workspace: Workspace::new(gpu)?,
            keys: gpu.upload(&keys)?,
            runs: gpu.upload(&runs)?,
            coordinates: gpu.upload(&coordinates)?,
            offsets: gpu.upload(&[0, 5, 5, 8000, N as u64])?,
            words: gpu.zeroed(N)?,
            others: gpu.zeroed(N)?,
            long_words: gpu.zeroed(N)?,
            count: gpu.zeroed(1)?,
            bytes: gpu.upload(&keys.iter().map(|key| *key as u8).collect::<Vec<_>>())?,
            gpu: gpu.clone(),
        })
    }

    /// What a call that counts wrote to the front of `words` and `others`.
    fn counted(&self) -> Result<(Vec<u32>, Vec<u32>, u64)> {
        Ok((self.words.to_host()?, self.others.to_host()?, self.count.to_host()?[0]))
    }
}

/// Lets everything fail in a call.
fn suffer<T: PartialEq + std::fmt::Debug>(
    call: impl FnMut(&mut State) -> Result<T>,
) -> Option<Failures> {
    let gpu = testing::gpu();
    let failures = everywhere(&gpu, || State::new(&gpu), call)?;
    assert!(failures.launches > 0 && failures.copies > 0, "{failures:?}");
    Some(failures)
}

#[test]
fn a_workspace_that_cannot_be_had_is_an_error() {
    let gpu = testing::gpu();
    let failures =
        everywhere(&gpu, || Ok::<_, Error>(gpu.clone()), |gpu| Workspace::new(gpu).map(drop));
    assert!(failures.is_none_or(|failures| failures.allocations > 2), "{failures:?}");
}

#[test]
fn sorts_survive_faults() {
    let failures = suffer(|s| {
        gpu::sort(&mut s.workspace, Sort::ascending(), &s.keys, &mut s.words)?;
        Ok(s.words.to_host()?)
    });
    // The histogram and four passes.
    assert!(failures.is_none_or(|failures| failures.launches == 5), "{failures:?}");
    let failures = suffer(|s| {
        let mut sorted = s.gpu.zeroed::<u8>(N)?;
        gpu::sort(&mut s.workspace, Sort::ascending(), &s.bytes, &mut sorted)?;
        Ok(sorted.to_host()?)
    });
    // The histogram, and the keys that it counts.
    assert!(failures.is_none_or(|failures| failures.launches == 2), "{failures:?}");
    suffer(|s| {
        s.words.copy_from(&s.keys)?;
        gpu::sort_in_place(&mut s.workspace, Sort::descending().by_bits(3..12), &mut s.words)?;
        Ok(s.words.to_host()?)
    });
}

#[test]
fn sorts_of_pairs_survive_faults() {
    suffer(|s| {
        let (keys, values) = (&mut s.words, &mut s.others);
        gpu::sort_pairs(&mut s.workspace, Sort::ascending(), &s.keys, &s.runs, keys, values)?;
        s.counted()
    });
    suffer(|s| {
        gpu::argsort(&mut s.workspace, Sort::ascending(), &s.coordinates, &mut s.long_words)?;
        Ok(s.long_words.to_host()?)
    });
}

#[test]
fn segmented_sorts_survive_faults() {
    suffer(|s| {
        let sort = Sort::ascending();
        gpu::segmented_sort(&mut s.workspace, sort, &s.offsets, &s.keys, &mut s.words)?;
        Ok(s.words.to_host()?)
    });
    suffer(|s| {
        let (sort, keys, values) = (Sort::descending(), &mut s.words, &mut s.others);
        let (w, offsets) = (&mut s.workspace, &s.offsets);
        gpu::segmented_sort_pairs(w, sort, offsets, &s.keys, &s.runs, keys, values)?;
        s.counted()
    });
}

#[test]
fn top_k_survives_faults() {
    suffer(|s| {
        let (top, at) = (s.words.slice_mut(0..100)?, s.long_words.slice_mut(0..100)?);
        gpu::top_k(&mut s.workspace, TopK::greatest(), &s.keys, top, at)?;
        Ok((s.words.to_host()?, s.long_words.to_host()?))
    });
}

#[test]
fn scans_survive_faults() {
    suffer(|s| {
        gpu::scan(&mut s.workspace, Sum, Scan::exclusive(3), &s.keys, &mut s.words)?;
        let how = Scan::inclusive().backward();
        gpu::scan_by_key(&mut s.workspace, Max, how, &s.runs, &s.keys, &mut s.others)?;
        s.counted()
    });
    suffer(|s| {
        let how = Scan::inclusive();
        gpu::segmented_scan(&mut s.workspace, Sum, how, &s.offsets, &s.keys, &mut s.words)?;
        Ok(s.words.to_host()?)
    });
    suffer(|s| {
        let mut grid =
            DeviceGrid::from_column(s.gpu.upload(&[1u32; N])?, GridSpec::of_pixels(90, 100))?;
        gpu::scan_columns_in_place(&mut s.workspace, Sum, Scan::inclusive(), &mut grid)?;
        gpu::scan_rows_in_place(&mut s.workspace, Sum, Scan::inclusive(), &mut grid)?;
        Ok(grid.column().to_host()?)
    });
}

#[test]
fn reductions_survive_faults() {
    suffer(|s| {
        gpu::reduce(&mut s.workspace, Sum, &s.keys, s.words.slice_mut(0..1)?)?;
        gpu::index_of_min(&mut s.workspace, &s.keys, &mut s.count)?;
        s.counted()
    });
    suffer(|s| {
        let (keys, totals) = (&mut s.words, &mut s.others);
        gpu::reduce_by_key(&mut s.workspace, Sum, &s.runs, &s.keys, keys, totals, &mut s.count)?;
        s.counted()
    });
    suffer(|s| {
        let totals = s.words.slice_mut(0..4)?;
        gpu::segmented_reduce(&mut s.workspace, Sum, &s.offsets, &s.keys, totals)?;
        Ok(s.words.to_host()?)
    });
}

#[test]
fn extents_survive_faults() {
    let failures = suffer(|s| {
        let values = [(&s.coordinates).into()];
        gpu::extent(&mut s.workspace, &s.coordinates, &s.coordinates, &values)
    });
    // No other call has this kernel.
    assert!(failures.is_none_or(|failures| failures.module_loads == 1), "{failures:?}");
}

#[test]
fn selections_survive_faults() {
    suffer(|s| {
        let odd = Predicate::less_than(1 << 30);
        gpu::partition(&mut s.workspace, odd, &s.keys, &mut s.words, &mut s.others, &mut s.count)?;
        s.counted()
    });
    suffer(|s| {
        gpu::unique(&mut s.workspace, &s.runs, &mut s.words, &mut s.count)?;
        s.counted()
    });
    suffer(|s| {
        gpu::run_lengths(&mut s.workspace, &s.runs, &mut s.words, &mut s.others, &mut s.count)?;
        s.counted()
    });
}

#[test]
fn merges_survive_faults() {
    suffer(|s| {
        let (a, b) = (s.runs.slice(0..4000)?, s.runs.slice(4000..N)?);
        gpu::merge_keys(&mut s.workspace, Merge::ascending(), a, b, &mut s.words)?;
        Ok(s.words.to_host()?)
    });
    suffer(|s| {
        let (a, b) = (s.runs.slice(0..4000)?, s.runs.slice(4000..N)?);
        let (a_values, b_values) = (s.keys.slice(0..4000)?, s.keys.slice(4000..N)?);
        let output = (&mut s.words, &mut s.others);
        gpu::merge_pairs(
            &mut s.workspace,
            Merge::ascending(),
            (a, a_values),
            (b, b_values),
            output,
        )?;
        s.counted()
    });
}

#[test]
fn histograms_survive_faults() {
    suffer(|s| {
        let (counts, outside) = (s.words.slice_mut(0..50)?, s.long_words.slice_mut(0..3)?);
        gpu::histogram_even(&mut s.workspace, (10, 4_000_000_000), &s.keys, counts, outside)?;
        Ok((s.words.to_host()?, s.long_words.to_host()?))
    });
    suffer(|s| {
        let (counts, outside) = (s.words.slice_mut(0..50)?, s.long_words.slice_mut(0..3)?);
        let bounds = s.runs.slice(700..751)?;
        gpu::histogram(&mut s.workspace, bounds, &s.keys, counts, outside)?;
        Ok((s.words.to_host()?, s.long_words.to_host()?))
    });
}
