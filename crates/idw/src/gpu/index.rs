//! The index of points: copies of them, sorted by cells, along a curve, or both.

use gpu_core::{Blocks, Bounds, Column, DevicePoints, Gpu, Reading};
use gpu_scan::{Scan, Sum};
use kernels_rs::idw::TILE;
use kernels_rs::idw::crowd::{most_boxes, most_crowds};
use kernels_rs::idw::index::crowds::{self, LIST_HEAD, order_crowds};
use kernels_rs::idw::index::pyramid::{self, sum_cells, sum_nodes};
use kernels_rs::idw::index::{number_cells, square_deviations, take_off, write_ranges};
use kernels_rs::idw::pairs::measure::measure_tiles;
use kernels_rs::idw::plan::most_cells;
use kernels_rs::spatial::pyramid::most_nodes;

use super::Workspace;
use super::queries::on_sphere;
use super::sort::{self, DevicePlan};
use crate::ground::Ground;
use crate::points::{Range, check_count};
use crate::{Error, Params, Result};

/// Points on the device, sorted for what some parameters search: all pairs, neighbours, or both.
///
/// It holds copies: the points may change or go.
#[derive(Debug)]
pub struct Index {
    pub(super) about: About,
    /// Offset, lowest and highest of each value; zeros for those that fill up.
    pub(super) ranges: Column<f64>,
    /// What the sorts went by.
    pub(super) plan: DevicePlan,
    to_tile: Option<Tiled>,
    to_search: Option<Searched>,
}

/// What the host knows of the points.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub ground: Ground,
    pub ranges: Vec<Range>,
    /// The middle of the bounds, and half of their sides.
    pub centre: [f64; 2],
    pub extent: [f64; 2],
}

/// Points along a curve.
#[derive(Debug)]
pub(super) struct Tiled {
    /// The index of each sorted point.
    pub order: Column<u32>,
    /// Places: x of each, then y; on the sphere the unit vectors' x, y and z.
    pub places: Column<f64>,
    /// Values, column after column.
    pub values: Column<f64>,
    /// How far the points of each tile are from its origin; empty on the sphere.
    pub reaches: Column<f32>,
}

/// Points in the order of their cells.
#[derive(Debug)]
pub(super) struct Searched {
    /// Where each cell's points begin in the sorted order, and where the last one's end.
    pub starts: Column<u32>,
    /// How many points larger squares of cells have; empty on the sphere.
    pub sums: Column<u32>,
    /// Of crowded cells the boxes of the runs of their points; likewise.
    pub boxes: Column<f64>,
    /// The index of each sorted point.
    pub order: Column<u32>,
    /// Places as those of [`Tiled`].
    pub places: Column<f64>,
    /// Values in the points' own order, column after column.
    pub values: Column<f64>,
}

impl About {
    fn new(points: &DevicePoints, geographic: bool) -> Self {
        let (count, extent) = (points.len(), points.extent());
        let bounds = extent.bounds.filter(|_| count > 0);
        let around = |b: Bounds| match geographic && (b.min_x < -180.0 || b.max_x > 180.0) {
            true => Bounds { min_x: -180.0, max_x: 180.0, ..b },
            false => b,
        };
        let ground = Ground { count, bounds: bounds.map(around), geographic };
        let ranges = extent.ranges.iter().map(|range| Range::between(range.min, range.max));
        let mut ranges: Vec<Range> = ranges.collect();
        ranges.resize(points.values().len(), Range::NONE);
        let (mut centre, mut half) = ([0.0; 2], [0.0; 2]);
        if let Some(b) = ground.bounds {
            centre = [b.min_x / 2.0 + b.max_x / 2.0, b.min_y / 2.0 + b.max_y / 2.0];
            half = [b.max_x - centre[0], b.max_y - centre[1]];
        }
        Self { ground, ranges, centre, extent: half }
    }

    /// Columns of values that the kernels see: one, or a multiple of four.
    pub fn padded(&self) -> usize {
        match self.ranges.len() {
            1 => 1,
            columns => columns.next_multiple_of(4),
        }
    }

    /// The range of a column, or of one that fills up.
    pub fn range(&self, column: usize) -> Range {
        self.ranges.get(column).copied().unwrap_or(Range::NONE)
    }

    fn dimensions(&self) -> usize {
        if self.ground.geographic { 3 } else { 2 }
    }
}

/// What keeps the index's stream in order with another.
pub(super) type Order<'a> = Reading<'a, f64>;

impl Index {
    /// Sorts points for interpolations with such parameters. Enqueues and returns.
    ///
    /// Reads and writes each point about ten times, for each of all pairs and neighbours, and has a counter
    /// for each cell, of which there are no more than points.
    ///
    /// # Errors
    /// As [`crate::interpolate`] for the parameters, [`Error::NoValues`], [`Error::TooMany`],
    /// [`Error::Core`] for the device.
    pub fn new(workspace: &mut Workspace, points: &DevicePoints, params: &Params) -> Result<Self> {
        params.check()?;
        check_count("points", points.len() as u64)?;
        if points.values().is_empty() {
            return Err(Error::NoValues);
        }
        let gpu = workspace.gpu().clone();
        let slices = [points.x(), points.y()].into_iter().chain(points.values().iter().copied());
        let _order = slices.map(|slice| gpu.admit(slice)).collect::<gpu_core::Result<Vec<_>>>()?;
        let about = About::new(points, params.geographic);
        let ranges = ranges_of(&gpu, &about)?;
        let source = Source::new(&gpu, &about, points)?;
        let all = params.is_all_pairs();
        let searches = !all || params.statistics || params.adaptive.is_some();
        let to_tile = if all { Some(source.along_curve(workspace)?) } else { None };
        let to_search = if searches { Some(source.by_cells(workspace)?) } else { None };
        let plan = source.plan;
        Ok(Self { about, ranges, plan, to_tile, to_search })
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.about.ground.count
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that the index is one for such parameters.
    pub(super) fn check(&self, params: &Params) -> Result<()> {
        let with = "an index that was made for other parameters";
        if self.about.ground.geographic != params.geographic {
            return Err(Error::Conflict { option: "geographic", with });
        }
        let all = params.is_all_pairs();
        let searches = !all || params.statistics || params.adaptive.is_some();
        if (all && self.to_tile.is_none()) || (searches && self.to_search.is_none()) {
            let option = if all && self.to_tile.is_none() {
                "all pairs"
            } else {
                "neighbours, statistics or adaptive power"
            };
            return Err(Error::Conflict { option, with });
        }
        Ok(())
    }

    /// Puts the work that is enqueued on the handle while the result lives in order with the index's own
    /// stream, which all its columns share.
    pub(super) fn admit(&self, gpu: &Gpu) -> Result<Order<'_>> {
        Ok(gpu.admit(&self.ranges)?)
    }

    /// The part for all pairs, which a checked call has.
    pub(super) fn tiled(&self) -> Result<&Tiled> {
        let missing = Error::Conflict { option: "all pairs", with: "this index" };
        self.to_tile.as_ref().ok_or(missing)
    }

    /// The part for neighbours, which a checked call has.
    pub(super) fn searched(&self) -> Result<&Searched> {
        let missing = Error::Conflict { option: "neighbours", with: "this index" };
        self.to_search.as_ref().ok_or(missing)
    }

    /// The sum of the first value less its offset, and that of the squares of what the mean leaves.
    pub(super) fn moments(&self, workspace: &mut Workspace) -> Result<Column<f64>> {
        let gpu = workspace.gpu().clone();
        let (n, len) = (self.len(), self.len() as u64);
        let (values, offset) = (self.searched()?.values.as_ptr(), self.about.range(0).offset);
        // SAFETY: all columns have an element for each point, and are written before they are read.
        unsafe {
            let mut rest = gpu.uninitialized::<f64>(n)?;
            let mut sums = gpu.uninitialized::<f64>(2)?;
            let to = rest.as_mut_ptr();
            let blocks = Blocks::for_each(&take_off, len)?;
            gpu.enqueue(take_off, blocks, take_off::Args { values, len, offset, to })?;
            gpu_scan::gpu::reduce(workspace, Sum, &rest, sums.slice_mut(0..1)?)?;
            let (numbers, sum) = (rest.as_ptr(), sums.as_ptr());
            let arguments = square_deviations::Args { numbers, len, sum, to };
            gpu.enqueue(square_deviations, blocks, arguments)?;
            gpu_scan::gpu::reduce(workspace, Sum, &rest, sums.slice_mut(1..2)?)?;
            Ok(sums)
        }
    }
}

/// The ranges of all values, in device memory: they come as arguments of launches.
fn ranges_of(gpu: &Gpu, about: &About) -> Result<Column<f64>> {
    let columns = about.padded();
    // SAFETY: each launch writes three numbers for each of up to four columns.
    unsafe {
        let mut all = gpu.uninitialized::<f64>(3 * columns)?;
        for first in (0..columns).step_by(4) {
            let values = u32::min(4, (columns - first) as u32);
            let mut ranges = [0.0; 12];
            for (three, column) in ranges.chunks_exact_mut(3).zip(first..) {
                let Range { offset, low, high } = about.range(column);
                three.copy_from_slice(&[offset, low, high]);
            }
            let to = all.as_mut_ptr().wrapping_add(3 * first);
            gpu.enqueue(write_ranges, Blocks::x(1), write_ranges::Args { ranges, values, to })?;
        }
        Ok(all)
    }
}

/// The points, and what both sorts need of them.
struct Source<'a> {
    about: &'a About,
    points: &'a DevicePoints<'a>,
    plan: DevicePlan,
    /// On the sphere longitudes and latitudes, and the unit vectors.
    on_sphere: Option<[Column<f64>; 2]>,
}

impl<'a> Source<'a> {
    fn new(gpu: &Gpu, about: &'a About, points: &'a DevicePoints<'a>) -> Result<Self> {
        let (count, geographic) = (points.len() as u64, about.ground.geographic);
        let mut places = (points.x().as_ptr(), points.y().as_ptr());
        // SAFETY: both columns have an element for each point.
        unsafe {
            let on_sphere = match geographic {
                true => Some(on_sphere(gpu, places, count, (1, [0.0; 3]))?),
                false => None,
            };
            if let Some([degrees, _]) = &on_sphere {
                places = (degrees.as_ptr(), degrees.as_ptr().wrapping_add(points.len()));
            }
            let extent = about.ground.bounds.map_or([0.0; 4], |b| {
                let Bounds { min_x, min_y, max_x, max_y } = b;
                [min_x, max_x, min_y, max_y]
            });
            let plan = sort::plan(gpu, places, count, extent, geographic)?;
            Ok(Self { about, points, plan, on_sphere })
        }
    }

    /// What cells are numbered by: x and y, or longitude and latitude.
    fn positions(&self) -> (*const f64, *const f64) {
        match &self.on_sphere {
            Some([degrees, _]) => {
                (degrees.as_ptr(), degrees.as_ptr().wrapping_add(self.points.len()))
            }
            None => (self.points.x().as_ptr(), self.points.y().as_ptr()),
        }
    }

    /// The places in an order.
    fn places(&self, gpu: &Gpu, order: &Column<u32>) -> Result<Column<f64>> {
        let n = self.points.len();
        let (x, y) = self.positions();
        let columns: Vec<*const f64> = match &self.on_sphere {
            Some([_, vectors]) => {
                (0..3).map(|axis| vectors.as_ptr().wrapping_add(axis * n)).collect()
            }
            None => vec![x, y],
        };
        // SAFETY: the order is one of the points, of which each column has an element for each.
        unsafe {
            let mut places = gpu.uninitialized::<f64>(self.about.dimensions() * n)?;
            for (axis, from) in columns.into_iter().enumerate() {
                let to = places.as_mut_ptr().wrapping_add(axis * n);
                sort::gather(gpu, Some(order), n, from, to)?;
            }
            Ok(places)
        }
    }

    /// The values in an order, or their own, with columns of zeros that fill up.
    fn values(&self, gpu: &Gpu, order: Option<&Column<u32>>) -> Result<Column<f64>> {
        let (n, columns) = (self.points.len(), self.points.values());
        let all = self.about.padded() * n;
        // SAFETY: as above; what is not gathered is filled.
        unsafe {
            let mut values = gpu.uninitialized::<f64>(all)?;
            for (v, column) in columns.iter().enumerate() {
                let to = values.as_mut_ptr().wrapping_add(v * n);
                sort::gather(gpu, order, n, column.as_ptr(), to)?;
            }
            let given = columns.len() * n;
            if given < all {
                let rest = values.as_mut_ptr().wrapping_add(given);
                gpu.fill_with_byte(rest, 0, all - given)?;
            }
            Ok(values)
        }
    }

    fn along_curve(&self, workspace: &mut Workspace) -> Result<Tiled> {
        let gpu = workspace.gpu().clone();
        // SAFETY: both columns have an element for each point.
        let order = unsafe {
            sort::along_curve(workspace, self.positions(), self.points.len(), &self.plan)?
        };
        let (places, values) = (self.places(&gpu, &order)?, self.values(&gpu, Some(&order))?);
        let reaches = match self.on_sphere {
            Some(_) => gpu.zeroed(0)?,
            None => measure(&gpu, self.about, &places)?,
        };
        Ok(Tiled { order, places, values, reaches })
    }

    fn by_cells(&self, workspace: &mut Workspace) -> Result<Searched> {
        let gpu = workspace.gpu().clone();
        let n = self.points.len();
        let most = most_cells(n as u64);
        let mut starts = gpu.zeroed::<u32>(most as usize + 1)?;
        let (x, y) = self.positions();
        // SAFETY: columns have the lengths that the kernel needs, and every key is written.
        let keys = unsafe {
            let mut keys = gpu.uninitialized::<u32>(n)?;
            let arguments = number_cells::Args {
                x,
                y,
                points: n as u32,
                plan: self.plan.as_ptr(),
                keys: keys.as_mut_ptr(),
                counts: starts.as_mut_ptr(),
            };
            let blocks = Blocks::for_each(&number_cells, n as u64)?;
            gpu.enqueue(number_cells, blocks, arguments)?;
            keys
        };
        gpu_scan::gpu::scan_in_place(workspace, Sum, Scan::exclusive(0), &mut starts)?;
        let mut order = sort::by_keys(workspace, &keys, u64::BITS - (most - 1).leading_zeros())?;
        drop(keys);
        let levels = match self.on_sphere {
            Some(_) => Levels::none(&gpu)?,
            None => Levels::new(&gpu, self.points, &self.plan, &starts, &mut order, most)?,
        };
        let Levels { sums, boxes } = levels;
        let places = self.places(&gpu, &order)?;
        Ok(Searched { starts, sums, boxes, order, places, values: self.values(&gpu, None)? })
    }
}

/// What lies above and below the cells.
struct Levels {
    /// How many points larger squares of cells have.
    sums: Column<u32>,
    /// Of crowded cells the boxes of the runs of their points.
    boxes: Column<f64>,
}

impl Levels {
    /// On the sphere there are none.
    fn none(gpu: &Gpu) -> Result<Self> {
        Ok(Self { sums: gpu.zeroed(0)?, boxes: gpu.zeroed(0)? })
    }

    /// Those of the plan's cells, which are `most` at most; brings the points of crowded ones into another order.
    fn new(
        gpu: &Gpu,
        points: &DevicePoints,
        plan: &DevicePlan,
        starts: &Column<u32>,
        order: &mut Column<u32>,
        most: u64,
    ) -> Result<Self> {
        let n = points.len() as u32;
        // SAFETY: the columns have the lengths that the kernels need, and what is read was written before.
        unsafe {
            let mut sums = gpu.uninitialized::<u32>(most_nodes(most) as usize)?;
            let mut boxes = gpu.uninitialized::<f64>(4 * most_boxes(n) as usize)?;
            let mut crowds = gpu.uninitialized::<u32>((LIST_HEAD + most_crowds(n)) as usize)?;
            gpu.fill_with_byte(crowds.as_mut_ptr(), 0, LIST_HEAD as usize)?;
            let (plan, starts, list) = (plan.as_ptr(), starts.as_ptr(), crowds.as_mut_ptr());
            let to = sums.as_mut_ptr();
            // The cells of a row may each begin a block of their own.
            let blocks = Blocks::x(most.min(pyramid::MOST_BLOCKS.into()) as u32);
            gpu.enqueue(
                sum_cells,
                blocks,
                sum_cells::Args { plan, starts, sums: to, crowds: list },
            )?;
            gpu.enqueue(sum_nodes, Blocks::x(1), sum_nodes::Args { plan, sums: to })?;
            let mut keys = [gpu.uninitialized::<u64>(n as usize)?, gpu.uninitialized(n as usize)?];
            let [keys, others] = &mut keys;
            let arguments = order_crowds::Args {
                starts,
                x: points.x().as_ptr(),
                y: points.y().as_ptr(),
                points: n,
                list,
                order: order.as_mut_ptr(),
                keys: keys.as_mut_ptr(),
                others: others.as_mut_ptr(),
                boxes: boxes.as_mut_ptr(),
            };
            let blocks = Blocks::x(most_crowds(n).min(crowds::MOST_BLOCKS));
            gpu.enqueue(order_crowds, blocks, arguments)?;
            Ok(Self { sums, boxes })
        }
    }
}

/// How far the points of each tile are from its origin.
fn measure(gpu: &Gpu, about: &About, places: &Column<f64>) -> Result<Column<f32>> {
    let points = about.ground.count as u32;
    let tiles = points.div_ceil(TILE);
    // SAFETY: every element is written; the places are two columns of points.
    unsafe {
        let mut reaches = gpu.uninitialized::<f32>(tiles as usize)?;
        let arguments = measure_tiles::Args {
            places: places.as_ptr(),
            points,
            centre: about.centre,
            scale: 1.0 / about.ground.unit(),
            reaches: reaches.as_mut_ptr(),
        };
        gpu.enqueue(measure_tiles, Blocks::x(tiles), arguments)?;
        Ok(reaches)
    }
}
