//! Lower and upper bounds.

use device_std::In;
use gpu_core::{Blocks, Slice, SliceMut};
use kernels_rs::primitives::search::{
    BLOCK, Levels, RESIDENT, Sorted, TILE, bounds as kernel, pivot_steps, sample,
};

use super::Workspace;
use super::workspace::{Layout, apart, tiles};
use crate::error::{Result, same_len};
use crate::number::{Direction, Number, total_order};

/// Returns, for each query, how many elements of `sorted` are less: the first place at which to insert the query.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last. If the array is not sorted, the results are arbitrary
/// numbers up to its length. Each query takes log2(n) reads.
///
/// Example: see [`cpu::lower_bound`](crate::cpu::lower_bound()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless there is a result for each query,
/// [`Overlap`](crate::Error::Overlap), [`TooLarge`](crate::Error::TooLarge).
pub fn lower_bound<'a, T: Number>(
    workspace: &mut Workspace,
    sorted: impl Into<Slice<'a, T>>,
    queries: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    bounds(workspace, sorted.into(), queries.into(), false, output.into())
}

/// Returns, for each query, how many elements of `sorted` are less or equal: the last place at which to insert the
/// query. Otherwise as [`lower_bound`].
///
/// Example: see [`cpu::upper_bound`](crate::cpu::upper_bound()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`lower_bound`].
pub fn upper_bound<'a, T: Number>(
    workspace: &mut Workspace,
    sorted: impl Into<Slice<'a, T>>,
    queries: impl Into<Slice<'a, T>>,
    output: impl Into<SliceMut<'a, u64>>,
) -> Result<()> {
    bounds(workspace, sorted.into(), queries.into(), true, output.into())
}

fn bounds<T: Number>(
    workspace: &mut Workspace,
    sorted: Slice<'_, T>,
    queries: Slice<'_, T>,
    upper: bool,
    output: SliceMut<'_, u64>,
) -> Result<()> {
    same_len("output", queries.len(), output.len())?;
    apart(("sorted", sorted), ("output", &output))?;
    apart(("queries", queries), ("output", &output))?;
    let levels =
        Levels::worthwhile(sorted.len() as u64, queries.len() as u64, size_of::<T::Bits>());
    bounds_by(workspace, sorted, queries, upper, output, levels)
}

/// The same by given levels of samples.
fn bounds_by<T: Number>(
    workspace: &mut Workspace,
    sorted: Slice<'_, T>,
    queries: Slice<'_, T>,
    upper: bool,
    output: SliceMut<'_, u64>,
    levels: Levels,
) -> Result<()> {
    let count = queries.len() as u64;
    let most = workspace.gpu().multiprocessors() * RESIDENT;
    let tiles = tiles(count, TILE)?;
    let blocks = tiles.min(most);
    let tiles_of_block = u64::from(tiles / blocks.max(1));
    let samples = sampled(workspace, sorted, levels)?;
    let arguments = kernel::Args {
        sorted: Sorted {
            elements: sorted.cast().input(),
            len: sorted.len() as u64,
            samples,
            lowest: levels.lowest,
            levels: levels.count,
        },
        queries: queries.cast().input(),
        count,
        parameters: total_order::<T>(Direction::Ascending).parameters(),
        upper: u32::from(upper),
        steps: pivot_steps(levels.of(levels.count), tiles_of_block, size_of::<T>()),
        output: output.output(),
    };
    let kernel = <T::Bits as kernel::Instance>::KERNEL;
    // SAFETY: the arrays are as long as the kernel asks, and the samples are made before it; without queries there
    // is no block.
    unsafe { workspace.gpu().enqueue(kernel, Blocks::x(blocks), arguments)? };
    Ok(())
}

/// The samples of the levels above an array; without levels there is nothing there.
fn sampled<'a, T: Number>(
    workspace: &mut Workspace,
    sorted: Slice<'_, T>,
    levels: Levels,
) -> Result<In<'a, T::Bits>> {
    let mut layout = Layout::default();
    let samples = layout.part::<T::Bits>(levels.samples());
    let samples = workspace.arena(&layout)?.at(&samples);
    let arguments = sample::Args {
        sorted: sorted.cast().input(),
        len: sorted.len() as u64,
        parameters: total_order::<T>(Direction::Ascending).parameters(),
        lowest: levels.lowest,
        count: levels.count,
        samples,
    };
    let blocks = Blocks::x(tiles(levels.samples(), BLOCK as u64)?);
    let kernel = <T::Bits as sample::Instance>::KERNEL;
    // SAFETY: the arena holds all levels; without a level no block runs, and with one the array is not empty.
    unsafe { workspace.gpu().enqueue(kernel, blocks, arguments)? };
    Ok(samples.as_input())
}

#[cfg(test)]
mod tests {
    use gpu_core::{DeviceChoice, Gpu};

    use super::*;

    /// The device that `TESSERA_DEVICE` names, or else the software device.
    fn gpu() -> Gpu {
        let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
        Gpu::open(choice).unwrap()
    }

    /// Both bounds by some levels, and by what std finds.
    fn check<T: Number + Ord>(sorted: &[T], queries: &[T], lowest: u32, count: u32) {
        let gpu = gpu();
        let mut w = Workspace::new(&gpu).unwrap();
        let levels = Levels::new(sorted.len() as u64, lowest, count, size_of::<T>());
        assert!(levels.of(count) > 0, "{levels:?}");
        let (array, asked) = (gpu.upload(sorted).unwrap(), gpu.upload(queries).unwrap());
        for upper in [false, true] {
            let mut found = gpu.zeroed::<u64>(queries.len()).unwrap();
            let (array, asked, to) = ((&array).into(), (&asked).into(), (&mut found).into());
            bounds_by(&mut w, array, asked, upper, to, levels).unwrap();
            let bound = |q: &T| sorted.partition_point(|x| x < q || (upper && x == q)) as u64;
            let expected: Vec<u64> = queries.iter().map(bound).collect();
            assert!(found.to_host().unwrap() == expected, "{levels:?}, upper: {upper}");
        }
    }

    fn random(n: usize, range: u64) -> Vec<u64> {
        let hash = |i: u64| (i ^ i >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (0..n as u64).map(|i| hash(i) % range).collect()
    }

    /// Lengths about those at which a group, a level or the pivots are full.
    #[test]
    fn levels_of_samples_lead_to_the_same_bounds() {
        for (len, lowest, count) in [
            (17, 4, 1),
            (18, 4, 1),
            (31, 4, 1),
            (257, 4, 2),
            (258, 3, 2),
            (4096, 4, 2),
            (4097, 4, 3),
            (4098, 1, 2),
            (5000, 9, 1),
            (70_000, 4, 1),
            (70_001, 5, 3),
        ] {
            for range in [3, len as u64, 1 << 40] {
                let mut sorted = random(len, range);
                sorted.sort_unstable();
                let mut queries = random(700, range);
                queries.extend([0, 1, range - 1, range, u64::MAX]);
                queries.extend([sorted[0], sorted[len - 2], sorted[len - 1]]);
                let words = |x: &[u64]| x.iter().map(|&x| (x >> 8) as u32).collect::<Vec<_>>();
                check(&words(&sorted), &words(&queries), lowest, count);
                check(&sorted, &queries, lowest, count);
            }
        }
    }

    #[test]
    fn levels_of_bytes_lead_to_the_same_bounds() {
        let mut sorted: Vec<u8> = random(9000, 256).iter().map(|&x| x as u8).collect();
        sorted.sort_unstable();
        let queries: Vec<u8> = (0..=255).collect();
        check(&sorted, &queries, 6, 1);
        check(&sorted, &queries, 6, 2);
        check(&sorted[..4097], &queries, 2, 2);
        let words = |x: &[u8]| x.iter().map(|&x| u16::from(x) * 255).collect::<Vec<_>>();
        check(&words(&sorted), &words(&queries), 5, 2);
    }

    /// Whatever the array holds, what is found is no more than its length.
    #[test]
    fn levels_over_an_array_that_is_not_sorted_stay_in_it() {
        let gpu = gpu();
        let mut w = Workspace::new(&gpu).unwrap();
        let array: Vec<u64> = random(40_003, 1 << 30);
        let queries = random(3000, 1 << 30);
        let (array, asked) = (gpu.upload(&array).unwrap(), gpu.upload(&queries).unwrap());
        let mut found = gpu.zeroed::<u64>(queries.len()).unwrap();
        let levels = Levels::new(array.len() as u64, 3, 3, 8);
        bounds_by(&mut w, (&array).into(), (&asked).into(), true, (&mut found).into(), levels)
            .unwrap();
        assert!(found.to_host().unwrap().iter().all(|&at| at <= 40_003));
    }
}
