//! All pairs: the choice of the kernel, the division of its launch, and the steps after it.

use gpu_core::{Blocks, Column, Gpu, SliceMut};
use kernels_rs::idw::index::scatter_values;
use kernels_rs::idw::pairs::Segmented;
use kernels_rs::idw::pairs::combine::{Sums, combine};
use kernels_rs::idw::pairs::direct::{TARGETS, sum_tiles};
use kernels_rs::idw::pairs::general::sum_in_f64;
use kernels_rs::idw::pairs::rescue::rescue;
use kernels_rs::idw::{SEVERAL, Summing, TILE};

use super::f64_tree::Double;
use super::globe::Globe;
use super::group::{Group, instance};
use super::targets::OnDevice;
use super::tree::Tree;
use super::{Call, Workspace, sort};
use crate::{Error, Method, Number, Result, expansion};

/// The most segments that sums are divided into.
const MAX_SEGMENTS: u32 = 128;

/// Blocks that a launch should have for each multiprocessor, where the targets alone do not give them.
const BLOCKS_EACH: u32 = 8;

/// Targets in an order in which those near each other follow one another, and what goes with them.
struct Along<'a> {
    targets: OnDevice<'a>,
    order: Order<'a>,
    exponents: Option<Column<f64>>,
    /// Where each leaves itself out: the numbers of the points.
    left_out: Option<Column<u32>>,
}

/// The order of the targets.
enum Order<'a> {
    OfCurve(Column<u32>),
    /// The points'.
    OfPoints(&'a Column<u32>),
}

impl std::ops::Deref for Order<'_> {
    type Target = Column<u32>;

    fn deref(&self) -> &Column<u32> {
        match self {
            Self::OfCurve(order) => order,
            Self::OfPoints(order) => order,
        }
    }
}

impl Call<'_> {
    /// The values of all targets from all points, and, if they are wanted, how much these weigh: powers of two, then sums
    /// beside them. Enqueues and returns.
    pub(super) fn all_pairs<T: Number>(
        &self,
        workspace: &mut Workspace,
        exponents: Option<&Column<f64>>,
        weighs: bool,
    ) -> Result<(Column<T>, Option<Column<f64>>)> {
        let &Self { gpu, index, params, .. } = self;
        let tiled = index.tiled()?;
        let single = T::IS_SINGLE || self.leave_out;
        expansion::check(params, single)?;
        let (points, count) = (index.len(), self.targets.count);
        let least_pairs = self.least_pairs(T::IS_SINGLE);
        let expanded = expansion::is_used(params, single, points, count, least_pairs);
        let along = if expanded { self.along_curve(workspace, exponents)? } else { None };
        let targets = along.as_ref().map_or(self.targets, |along| &along.targets);
        let exponents = along.as_ref().map_or(exponents, |along| along.exponents.as_ref());
        let own = along.as_ref().and_then(|along| along.left_out.as_ref()).unwrap_or(&tiled.order);
        let left_out = self.leave_out.then_some(own);
        let columns = index.about.padded();
        // SAFETY: every value of every target is written below; what fills up nobody reads.
        let mut values = unsafe { gpu.uninitialized::<T>(columns * count as usize)? };
        let mut weights = match weighs {
            // SAFETY: so is every weight.
            true => Some(unsafe { gpu.uninitialized::<f64>(2 * count as usize)? }),
            false => None,
        };
        // In f64, on the sphere, and where targets have powers of their own, one value at a time.
        let one_by_one = expanded && (!single || params.geographic || exponents.is_some());
        let (columns, each) = match one_by_one {
            true => (index.about.ranges.len(), 1),
            false => (columns, columns.min(SEVERAL as usize)),
        };
        for first in (0..columns).step_by(each) {
            let of_group = first * count as usize..(first + each) * count as usize;
            // Weights are the same for all values.
            let weights = weights.as_mut().filter(|_| first == 0);
            let results = Results { values: values.slice_mut(of_group)?, weights };
            let values = each as u32;
            let group = Group { call: self, tiled, targets, exponents, left_out, first, values };
            group.interpolate(expanded.then_some(single), results)?;
        }
        match along {
            Some(along) => {
                let weights = weights.map(|weights| scatter(gpu, &along.order, 2, weights));
                Ok((scatter(gpu, &along.order, columns, values)?, weights.transpose()?))
            }
            None => Ok((values, weights)),
        }
    }

    /// The values of all targets from a part of the points, and how much these weigh. Enqueues and returns.
    pub(super) fn sum_part<T: Number>(
        &self,
        workspace: &mut Workspace,
    ) -> Result<(Column<T>, Column<f64>)> {
        let (values, weights) = self.all_pairs(workspace, None, true)?;
        weights.map(|weights| (values, weights)).ok_or(Error::NoValues)
    }

    /// From how many pairs on the expansion is faster.
    fn least_pairs(&self, single: bool) -> f64 {
        let in_f64 = self.leave_out || self.params.geographic || !single;
        match in_f64 {
            true => expansion::least_pairs_in_f64(self.index.len()),
            false => expansion::LEAST_PAIRS_GPU,
        }
    }

    /// The targets along a curve: where they are the points, in the order of these. `None` for a grid, whose blocks
    /// are compact.
    fn along_curve(
        &self,
        workspace: &mut Workspace,
        exponents: Option<&Column<f64>>,
    ) -> Result<Option<Along<'_>>> {
        let (gpu, targets) = (self.gpu, self.targets);
        if targets.grid.is_some() {
            return Ok(None);
        }
        let order = match self.leave_out {
            true => Order::OfPoints(&self.index.tiled()?.order),
            false => match targets.order_along_curve(workspace)? {
                Some(order) => Order::OfCurve(order),
                None => return Ok(None),
            },
        };
        let exponents = match exponents {
            Some(exponents) => Some(sort::in_order(gpu, &order, &[exponents.into()])?),
            None => None,
        };
        let left_out = match self.leave_out {
            true => {
                // SAFETY: every number is written.
                let mut numbers = unsafe { gpu.uninitialized::<u32>(order.len())? };
                gpu_scan::gpu::sequence(workspace, 0, 1, &mut numbers)?;
                Some(numbers)
            }
            false => None,
        };
        let targets = targets.in_order(gpu, &order)?;
        Ok(Some(Along { targets, order, exponents, left_out }))
    }
}

/// The values of targets along a curve, in the targets' own order.
fn scatter<T: Number>(
    gpu: &Gpu,
    order: &Column<u32>,
    columns: usize,
    values: Column<T>,
) -> Result<Column<T>> {
    let len = order.len() as u64;
    // SAFETY: the order names every target once, so that every value is written.
    unsafe {
        let mut scattered = gpu.uninitialized::<T>(values.len())?;
        let arguments = scatter_values::Args {
            order: order.input(),
            len,
            columns: columns as u32,
            from: values.input(),
            to: scattered.output(),
        };
        gpu.enqueue(T::SCATTER, Blocks::for_each(&T::SCATTER, len)?, arguments)?;
        Ok(scattered)
    }
}

/// Where the results of a group go.
struct Results<'a, T: Number> {
    /// The values of all targets, column after column.
    values: SliceMut<'a, T>,
    /// The powers of two of all targets, then the sums of weights beside them.
    weights: Option<&'a mut Column<f64>>,
}

impl Group<'_> {
    /// Interpolates the group's values; where far points are expanded, `expanded` tells whether in f32.
    fn interpolate<T: Number>(&self, expanded: Option<bool>, mut to: Results<'_, T>) -> Result<()> {
        let Call { gpu, params, .. } = self.call;
        // SAFETY: the count is zeroed below, and the kernels write indices before they read them.
        let mut rescued = unsafe {
            let mut rescued = gpu.uninitialized::<u32>(1 + self.targets.count as usize)?;
            gpu.fill_with_byte(rescued.as_mut_ptr(), 0, 1)?;
            rescued
        };
        if let Some(single) = expanded {
            let (rows, partial) = match single {
                true if params.geographic => Globe::new(self)?.sum(self)?,
                true => Tree::new(self)?.sum(self)?,
                false => Double::new(self)?.sum(self)?,
            };
            let (on_sphere, sums) = (params.geographic, (rows, &partial));
            self.combine(sums, (single && !on_sphere, on_sphere), &mut to, &mut rescued)?;
        } else if let Method::Baseline(baseline) = params.method {
            self.sum_by_paper(baseline, &mut to.values, &mut rescued)?;
        } else if T::IS_SINGLE && !params.geographic && !self.call.leave_out {
            let (rows, partial) = self.sum_tiles()?;
            self.combine((rows, &partial), (true, false), &mut to, &mut rescued)?;
        } else {
            let (rows, partial) = self.sum_in_f64()?;
            self.combine((rows, &partial), (false, false), &mut to, &mut rescued)?;
        }
        self.rescue(&mut to, &rescued)
    }

    /// The direct sums in f32, and in how many rows they are.
    fn sum_tiles(&self) -> Result<(u32, Column<f64>)> {
        let several = self.is_several();
        let (index, targets) = (self.call.index, self.targets);
        let blocks = self.blocks(TARGETS[usize::from(several)])?;
        let split = Split::new(self.call.gpu, index.len(), blocks);
        // The same kernels take powers of the targets' own.
        let summing = Summing { has_each: false, ..self.summing() };
        let kernel = instance(summing, |wanted| sum_tiles::find(|of| of == wanted));
        let mut partial = self.partial(&split)?;
        let arguments = sum_tiles::Args {
            points: Segmented { points: self.points()?, segment: split.segment },
            targets: targets.argument()?,
            frame: self.frame(),
            extent: self.extent(),
            weighting: self.weighting(self.smoothing()),
            reaches: self.tiled.reaches.input(),
            partial: partial.output(),
        };
        // SAFETY: the columns have the lengths that the kernel needs.
        unsafe { self.call.gpu.enqueue(kernel, split.blocks(blocks), arguments)? };
        Ok((split.rows(), partial))
    }

    /// The sums in f64, and in how many rows they are.
    fn sum_in_f64(&self) -> Result<(u32, Column<f64>)> {
        let (index, targets) = (self.call.index, self.targets);
        let kernel = if self.is_several() { sum_in_f64::several } else { sum_in_f64::one };
        let blocks = Blocks::for_each(&kernel, targets.count)?.x;
        let split = Split::new(self.call.gpu, index.len(), blocks);
        let mut partial = self.partial(&split)?;
        let arguments = sum_in_f64::Args {
            points: Segmented { points: self.points()?, segment: split.segment },
            targets: targets.argument()?,
            vectors: targets.vectors(),
            law: self.law(),
            scale: self.scale(),
            weighting: self.weighting(self.smoothing()),
            left_out: self.left_out.map(Column::input),
            partial: partial.output(),
        };
        // SAFETY: as above.
        unsafe { self.call.gpu.enqueue(kernel, split.blocks(blocks), arguments)? };
        Ok((split.rows(), partial))
    }

    /// Room for the sums of weights and of values.
    fn partial(&self, split: &Split) -> Result<Column<f64>> {
        let sums = u64::from(split.rows()) * u64::from(1 + self.values) * self.targets.count;
        // SAFETY: every block writes the sums of its segments, and together they have all.
        Ok(unsafe { self.call.gpu.uninitialized(sums as usize)? })
    }

    /// Makes results of the sums in rows.
    fn combine<T: Number>(
        &self,
        (rows, partial): (u32, &Column<f64>),
        (in_f32, in_radians): (bool, bool),
        to: &mut Results<'_, T>,
        rescued: &mut Column<u32>,
    ) -> Result<()> {
        let targets = self.targets;
        let Results { values, weights } = to;
        let arguments = combine::Args {
            sums: Sums {
                segments: rows,
                values: self.values,
                in_f32: u32::from(in_f32),
                partial: partial.input(),
            },
            targets: targets.argument()?,
            frame: self.frame(),
            smoothing: self.smoothing(),
            ranges: self.ranges()?,
            results: values.reborrow().output(),
            at_one: self.weight_at_one(in_radians),
            weights: weights.as_mut().map(|weights| weights.output()),
            rescued: rescued.output(),
        };
        // SAFETY: the sums are those of as many rows; the rest has an element for each target.
        unsafe {
            let blocks = Blocks::for_each(&T::COMBINE, targets.count)?;
            Ok(self.call.gpu.enqueue(T::COMBINE, blocks, arguments)?)
        }
    }

    /// Computes anew what is on the list.
    fn rescue<T: Number>(&self, to: &mut Results<'_, T>, rescued: &Column<u32>) -> Result<()> {
        let (call, targets) = (self.call, self.targets);
        let Results { values, weights } = to;
        let arguments = rescue::Args {
            points: self.points()?,
            value_count: self.values,
            targets: targets.argument()?,
            vectors: targets.vectors(),
            scale: self.ground_scale(),
            weighting: self.weighting(call.params.smoothing * call.params.smoothing),
            left_out: self.left_out.map(Column::input),
            results: values.reborrow().output(),
            weights: weights.as_mut().map(|weights| weights.output()),
            rescued: rescued.input(),
        };
        let blocks = u64::min(targets.count, 4 * u64::from(call.gpu.multiprocessors()));
        // SAFETY: the list has targets that a kernel before put there.
        unsafe { Ok(call.gpu.enqueue(T::RESCUE, Blocks::x(blocks as u32), arguments)?) }
    }
}

/// How a launch splits the data points.
struct Split {
    /// Tiles of a segment; it follows from the number of points alone, and with it the bits.
    segment: u32,
    segments: u32,
    /// Rows of blocks that share the segments.
    splits: u32,
}

impl Split {
    fn new(gpu: &Gpu, points: usize, blocks: u32) -> Self {
        let tiles = (points as u32).div_ceil(TILE);
        let segment = tiles.div_ceil(MAX_SEGMENTS).max(1);
        let segments = tiles.div_ceil(segment);
        let enough = BLOCKS_EACH * gpu.multiprocessors();
        // Where the targets make blocks for every multiprocessor twice over, the sums of segments
        // would take more memory than they save time.
        let few = blocks <= 2 * gpu.multiprocessors();
        let splits = if few { enough.div_ceil(blocks.max(1)).min(segments) } else { 1 };
        Self { segment, segments, splits }
    }

    /// Rows of sums that the launch leaves: one for each segment, or one where it is not split.
    fn rows(&self) -> u32 {
        if self.splits > 1 { self.segments } else { 1 }
    }

    /// The launch, with `x` blocks in a row.
    fn blocks(&self, x: u32) -> Blocks {
        Blocks { x, y: self.splits }
    }
}
