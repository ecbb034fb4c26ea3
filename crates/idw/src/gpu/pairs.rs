//! All pairs: which kernel, how its launch is split, and what follows it.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::idw as kernels;
use kernels_rs::idw::setup;
use kernels_rs::idw_index::scatter_values;

use super::index::Sorted;
use super::number::DeviceNumber;
use super::tree::Tree;
use super::{About, DeviceTargets, Index, padded};
use crate::points::Range;
use crate::{Error, Kernel, Params, Result, expansion, sphere};

/// The most segments that sums are divided into.
const MOST_SEGMENTS: u32 = 128;

/// Blocks that a launch should have for each multiprocessor, where the targets alone do not give them.
const BLOCKS_EACH: u32 = 8;

/// What all groups of values of a call share.
struct Call<'a> {
    gpu: &'a Gpu,
    about: &'a About,
    sorted: &'a Sorted,
    targets: &'a DeviceTargets,
    params: &'a Params,
    left_out: *const u32,
    exponents: *const f64,
    /// Whether far points are expanded.
    expanded: bool,
}

/// The values of all targets from all points. Enqueues and returns.
pub(super) fn interpolate<T: DeviceNumber>(
    gpu: &Gpu,
    index: &Index,
    targets: &DeviceTargets,
    params: &Params,
    leave_out: bool,
    exponents: Option<&Column<f64>>,
) -> Result<Column<T>> {
    let about = &index.points.about;
    let columns = padded(about.ranges.len());
    let sorted = index.part(true)?;
    let left_out = if leave_out { sorted.order.as_ptr() } else { std::ptr::null() };
    let exponents = exponents.map_or(std::ptr::null(), Column::as_ptr);
    let single = T::IS_SINGLE && !leave_out;
    expansion::check(params, single)?;
    let expanded =
        expansion::is_used(params, single, about.count, targets.count, expansion::LEAST_PAIRS_GPU);
    let along = if expanded { targets.along_curve(gpu)? } else { None };
    let targets = along.as_ref().map_or(targets, |(targets, _)| targets);
    let call = Call { gpu, about, sorted, targets, params, left_out, exponents, expanded };
    // SAFETY: every value of every target is written below.
    let mut values = unsafe { gpu.uninitialized::<T>(columns * targets.count as usize)? };
    let group = columns.min(kernels::SEVERAL as usize);
    for first in (0..columns).step_by(group) {
        let start = values.as_mut_ptr().wrapping_add(first * targets.count as usize);
        call.group(first, group as u32, start)?;
    }
    match along {
        Some((_, order)) => scatter(gpu, &order, columns, values),
        None => Ok(values),
    }
}

/// The values of targets along a curve, in the targets' own order.
fn scatter<T: DeviceNumber>(
    gpu: &Gpu,
    order: &Column<u32>,
    columns: usize,
    mut values: Column<T>,
) -> Result<Column<T>> {
    let count = order.len() as u64;
    // SAFETY: the order names every target once, so that every value is written; only f32 is expanded.
    unsafe {
        let mut scattered = gpu.uninitialized::<T>(values.len())?;
        gpu.launch(
            scatter_values,
            Blocks::for_each(&scatter_values, count)?,
            0,
            (
                order.as_ptr(),
                count,
                columns as u32,
                T::as_f32(values.as_mut_ptr()).cast_const(),
                T::as_f32(scattered.as_mut_ptr()),
            ),
        )?;
        Ok(scattered)
    }
}

/// The numbers of a call, as `kernels_rs::idw::setup` says, for a group of values.
fn setup_numbers(
    about: &About,
    targets: &DeviceTargets,
    params: &Params,
    first: usize,
    group: u32,
) -> Vec<f64> {
    let mut numbers = vec![0.0; setup::VALUES];
    let on_ground = if about.geographic { sphere::RADIUS } else { 1.0 };
    numbers[setup::SCALE] = on_ground / about.unit;
    numbers[setup::SMOOTHING] = (params.smoothing / about.unit).powi(2);
    numbers[setup::EXPONENT] = -0.5 * params.power;
    numbers[setup::CENTRE..setup::CENTRE + 3].copy_from_slice(&about.centre);
    numbers[setup::GRID..setup::GRID + 3].copy_from_slice(&targets.grid_numbers());
    numbers[setup::GROUND] = on_ground;
    numbers[setup::GROUND + 1] = params.smoothing * params.smoothing;
    numbers[setup::EXTENT] = about.extent[0] / about.unit;
    numbers[setup::EXTENT + 1] = about.extent[1] / about.unit;
    for v in first..first + group as usize {
        let none = Range { offset: 0.0, low: 0.0, high: 0.0 };
        let Range { offset, low, high } = about.ranges.get(v).copied().unwrap_or(none);
        numbers.extend([offset, low, high]);
    }
    numbers
}

impl Call<'_> {
    /// Interpolates one value of each point, or several.
    fn group<T: DeviceNumber>(&self, first: usize, group: u32, values: *mut T) -> Result<()> {
        let &Self { gpu, about, sorted, targets, params, left_out, exponents, expanded } = self;
        let numbers = setup_numbers(about, targets, params, first, group);
        let setup = gpu.enqueue_upload(&numbers)?;
        // SAFETY: the count is zeroed below, and the kernels write indices before they read them.
        let mut rescued = unsafe { gpu.uninitialized::<u32>(1 + targets.count as usize)? };
        let several = group > 1;
        let sorted_values = sorted.values.as_ptr().wrapping_add(first * about.count);
        // SAFETY: the columns have the lengths that the kernels ask for; what is dropped at the end
        // is released on the stream, after the launches.
        unsafe {
            gpu.fill_with_byte(rescued.as_mut_ptr(), 0, 1)?;
            if expanded {
                let tree = Tree::new(gpu, about.count, several, sorted, sorted_values, &setup)?;
                let (rows, mut partial) = tree.sum(gpu, targets, params, sorted, &setup)?;
                let start = partial.as_mut_ptr();
                self.combine(rows, (true, several), &setup, values, &mut rescued, start)?;
            } else if matches!(params.kernel, Kernel::Naive | Kernel::Tiled) {
                self.paper(several, sorted_values, &setup, values, &mut rescued)?;
            } else if T::IS_FAST && !about.geographic && left_out.is_null() {
                let kernel = fast_kernel(targets.grid.is_some(), params.law(), several);
                let per_thread = if several { kernels::QUERIES_SEVERAL } else { kernels::QUERIES };
                let blocks = blocks_of(targets, per_thread)?;
                let plan = Plan::new(gpu, about.count, blocks, targets.count);
                let mut partial = plan.partial(gpu, group, targets.count)?;
                gpu.launch(
                    kernel,
                    Blocks { x: blocks, y: plan.splits },
                    kernels::SHARED[usize::from(several)],
                    (
                        sorted.places.as_ptr(),
                        sorted_values,
                        about.count as u32,
                        plan.segment,
                        targets.places(),
                        targets.count,
                        targets.width(),
                        targets.height(),
                        setup.as_ptr(),
                        exponents,
                        sorted.reaches.as_ptr(),
                        partial.as_mut_ptr(),
                    ),
                )?;
                let partial_start = partial.as_mut_ptr();
                self.combine(
                    plan.rows(),
                    (true, several),
                    &setup,
                    values,
                    &mut rescued,
                    partial_start,
                )?;
            } else {
                let kernel = if several { kernels::general_4 } else { kernels::general_1 };
                let blocks = Blocks::for_each(&kernel, targets.count)?.x;
                let plan = Plan::new(gpu, about.count, blocks, targets.count);
                let mut partial = plan.partial(gpu, group, targets.count)?;
                let partial_start = partial.as_mut_ptr();
                gpu.launch(
                    kernel,
                    Blocks { x: blocks, y: plan.splits },
                    0,
                    (
                        sorted.places.as_ptr(),
                        sorted_values,
                        about.count as u32,
                        plan.segment,
                        targets.places(),
                        targets.count,
                        targets.width(),
                        about.dimensions(),
                        params.law(),
                        left_out,
                        exponents,
                        setup.as_ptr(),
                        partial_start,
                    ),
                )?;
                self.combine(
                    plan.rows(),
                    (false, several),
                    &setup,
                    values,
                    &mut rescued,
                    partial_start,
                )?;
            }
            let blocks = u64::min(targets.count, 4 * u64::from(gpu.multiprocessors()));
            gpu.launch(
                T::rescue(),
                Blocks::x(blocks as u32),
                kernels::RESCUE_SHARED,
                (
                    sorted.places.as_ptr(),
                    sorted_values,
                    group,
                    about.count as u32,
                    targets.places(),
                    targets.count,
                    targets.width(),
                    about.dimensions(),
                    left_out,
                    exponents,
                    setup.as_ptr(),
                    values,
                    rescued.as_mut_ptr(),
                ),
            )?;
        }
        Ok(())
    }

    /// Makes results of the sums that a launch left, in so many rows.
    ///
    /// # Safety
    /// `partial` is what the launch writes.
    unsafe fn combine<T: DeviceNumber>(
        &self,
        rows: u32,
        (fast, several): (bool, bool),
        setup: &Column<f64>,
        values: *mut T,
        rescued: &mut Column<u32>,
        partial: *const f64,
    ) -> Result<()> {
        let (kernel, targets) = (T::combine(several), self.targets);
        let arguments = (
            rows,
            u32::from(fast),
            targets.positions(),
            targets.count,
            targets.width(),
            setup.as_ptr(),
            values,
            rescued.as_mut_ptr(),
            partial,
        );
        // SAFETY: passed on to the caller.
        unsafe {
            let blocks = Blocks::for_each(&kernel, targets.count)?;
            Ok(self.gpu.launch(kernel, blocks, 0, arguments)?)
        }
    }

    /// A kernel of the paper.
    ///
    /// # Safety
    /// The columns are as long as the kernels ask.
    unsafe fn paper<T: DeviceNumber>(
        &self,
        several: bool,
        sorted_values: *const f64,
        setup: &Column<f64>,
        values: *mut T,
        rescued: &mut Column<u32>,
    ) -> Result<()> {
        let fits = T::IS_FAST && !several && self.left_out.is_null();
        if !fits {
            return Err(Error::Conflict {
                option: "a kernel of the paper",
                with: "f64, several values or leaving points out",
            });
        }
        let (about, sorted, targets) = (self.about, self.sorted, self.targets);
        let square = self.params.law() == 2;
        let (kernel, shared) = match (self.params.kernel, square) {
            (Kernel::Tiled, true) => (kernels::tiled_square, kernels::PAPER_SHARED),
            (Kernel::Tiled, false) => (kernels::tiled_any, kernels::PAPER_SHARED),
            (_, true) => (kernels::naive_square, 0),
            (_, false) => (kernels::naive_any, 0),
        };
        let arguments = (
            sorted.places.as_ptr(),
            sorted_values,
            about.count as u32,
            targets.places(),
            targets.count,
            targets.width(),
            setup.as_ptr(),
            T::as_f32(values),
            rescued.as_mut_ptr(),
        );
        // SAFETY: passed on to the caller.
        unsafe {
            let blocks = Blocks::for_each(&kernel, targets.count)?;
            Ok(self.gpu.launch(kernel, blocks, shared, arguments)?)
        }
    }
}

/// How a launch splits the data points.
struct Plan {
    /// Tiles of a segment; it follows from the number of points alone, and with it the bits.
    segment: u32,
    segments: u32,
    /// Rows of blocks that share the segments.
    splits: u32,
}

impl Plan {
    fn new(gpu: &Gpu, points: usize, blocks: u32, targets: u64) -> Self {
        let tiles = (points as u32).div_ceil(kernels::TILE);
        let segment = tiles.div_ceil(MOST_SEGMENTS).max(1);
        let segments = tiles.div_ceil(segment);
        let enough = BLOCKS_EACH * gpu.multiprocessors();
        // Where the targets make blocks for every multiprocessor twice over, the sums of segments
        // would take more memory than they save time.
        let few = blocks <= 2 * gpu.multiprocessors() && targets > 0;
        let splits = if few { enough.div_ceil(blocks.max(1)).min(segments) } else { 1 };
        Self { segment, segments, splits }
    }

    /// Rows of sums that the launch leaves: one for each segment, or one where it is not split.
    fn rows(&self) -> u32 {
        if self.splits > 1 { self.segments } else { 1 }
    }

    /// Room for the sums of weights and of `group` values.
    fn partial(&self, gpu: &Gpu, group: u32, targets: u64) -> Result<Column<f64>> {
        let sums = u64::from(self.rows()) * u64::from(1 + group) * targets;
        // SAFETY: every block writes the sums of its segments, and together they have all.
        Ok(unsafe { gpu.uninitialized(sums as usize)? })
    }
}

/// Blocks of the fast kernels, with so many targets a thread.
pub(super) fn blocks_of(targets: &DeviceTargets, per_thread: u32) -> Result<u32> {
    let blocks = match targets.grid {
        Some(grid) => {
            let across = grid.width.div_ceil(kernels::ROW_THREADS * per_thread);
            u64::from(across) * u64::from(grid.height.div_ceil(kernels::PATCH_ROWS))
        }
        None => targets.count.div_ceil(u64::from(kernels::BLOCK * per_thread)),
    };
    let most = i32::MAX as u64;
    if blocks > most {
        return Err(Error::TooMany { what: "targets", count: targets.count, most });
    }
    Ok(blocks as u32)
}

/// Arguments of the fast kernels.
type Fast = (
    *const f64,
    *const f64,
    u32,
    u32,
    *const f64,
    u64,
    u32,
    u32,
    *const f64,
    *const f64,
    *const f32,
    *mut f64,
);

/// The fast kernel for targets, power and number of values.
fn fast_kernel(grid: bool, law: u32, several: bool) -> device_std::host::Kernel<Fast> {
    match (grid, law, several) {
        (false, 1, false) => kernels::scattered_1,
        (false, 2, false) => kernels::scattered_2,
        (false, 3, false) => kernels::scattered_3,
        (false, 4, false) => kernels::scattered_4,
        (false, _, false) => kernels::scattered_any,
        (true, 1, false) => kernels::grid_1,
        (true, 2, false) => kernels::grid_2,
        (true, 3, false) => kernels::grid_3,
        (true, 4, false) => kernels::grid_4,
        (true, _, false) => kernels::grid_any,
        (false, 2, true) => kernels::scattered_2_several,
        (false, _, true) => kernels::scattered_any_several,
        (true, 2, true) => kernels::grid_2_several,
        (true, _, true) => kernels::grid_any_several,
    }
}
