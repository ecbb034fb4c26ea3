//! The index of points by cells, or along a curve, built on the device.

use gpu_core::{Blocks, Column, Gpu, Reading};
use gpu_scan::gpu::Workspace;
use gpu_scan::{Scan, Sum};
use kernels_rs::idw as pairs;
use kernels_rs::idw_index as kernels;

use super::{About, DevicePoints};
use crate::curve::Curve;
use crate::{Params, Result};

/// Points on the device, sorted by cells for what the parameters ask for: all pairs, neighbours, or
/// both.
#[derive(Debug)]
pub struct Index {
    pub(super) points: DevicePoints,
    pub(super) to_tile: Option<Sorted>,
    pub(super) to_search: Option<Sorted>,
}

/// What keeps the points' stream and the index's in order.
type Orders<'a> = (Reading<'a, f64>, Option<Reading<'a, u32>>);

/// Points in the order of their cells, or along a curve.
#[derive(Debug)]
pub(super) struct Sorted {
    /// Where each cell's points begin in the sorted order, and where the last one's end; empty for
    /// tiles.
    pub starts: Column<u32>,
    /// The index of each sorted point.
    pub order: Column<u32>,
    /// Places in that order.
    pub places: Column<f64>,
    /// Values in that order, for tiles; empty for a search, which has the points' own.
    pub values: Column<f64>,
    /// How far the points of each tile are from its origin; empty for a search and on the sphere.
    pub reaches: Column<f32>,
}

/// Bits of a digit of the sort.
const DIGIT_BITS: u32 = kernels::DIGITS.trailing_zeros();

impl Index {
    /// Sorts points by cells, or along a curve, for interpolations with such parameters. Enqueues and returns.
    ///
    /// Reads and writes each point about ten times, and a counter for each half point.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn new(gpu: &Gpu, points: DevicePoints, params: &Params) -> Result<Self> {
        let order = gpu.admit(&points.places)?;
        let all = params.is_all_pairs();
        let search = !all || params.statistics || params.adaptive.is_some();
        let when = |wanted: bool, sorted: fn(&Gpu, &DevicePoints) -> Result<Sorted>| match wanted {
            true => sorted(gpu, &points).map(Some),
            false => Ok(None),
        };
        let to_tile = when(all, Sorted::along_curve)?;
        let to_search = when(search, Sorted::by_cells)?;
        drop(order);
        Ok(Self { points, to_tile, to_search })
    }

    /// Puts the work that is enqueued on the handle while the result lives in order with the streams of
    /// the points and of the index.
    pub(super) fn admit(&self, gpu: &Gpu) -> Result<Orders<'_>> {
        let part = self.to_tile.as_ref().or(self.to_search.as_ref());
        let part = part.map(|part| gpu.admit(&part.order)).transpose()?;
        Ok((gpu.admit(&self.points.places)?, part))
    }

    /// The part that an interpolation needs.
    pub(super) fn part(&self, all_pairs: bool) -> Result<&Sorted> {
        let part = if all_pairs { &self.to_tile } else { &self.to_search };
        let why = if all_pairs { "all pairs" } else { "neighbours, statistics or adaptive power" };
        let with = "an index that was made for other parameters";
        part.as_ref().ok_or(crate::Error::Conflict { option: why, with })
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.points.about.count
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points alone, to index them again.
    pub fn into_points(self) -> DevicePoints {
        self.points
    }
}

impl Sorted {
    /// Sorted for a search: by cells, without values.
    fn by_cells(gpu: &Gpu, points: &DevicePoints) -> Result<Self> {
        let (n, cells) = (points.about.count, points.about.to_search);
        let mut workspace = Workspace::new(gpu)?;
        let mut starts = gpu.zeroed::<u32>(cells.len() + 1)?;
        let positions = points.positions.as_ref().unwrap_or(&points.places).as_ptr();
        // SAFETY: columns have the lengths that the kernels ask for, and are written before they are
        // read; what is dropped here is released on the stream, after the launches.
        unsafe {
            let mut keys = gpu.uninitialized::<u32>(n)?;
            gpu.launch(
                kernels::number_cells,
                Blocks::for_each(&kernels::number_cells, n as u64)?,
                0,
                (
                    positions,
                    positions.wrapping_add(n),
                    n as u32,
                    cells.west,
                    cells.south,
                    cells.per_unit(),
                    cells.columns,
                    cells.rows,
                    keys.as_mut_ptr(),
                    starts.as_mut_ptr(),
                ),
            )?;
            gpu_scan::gpu::scan_in_place(&mut workspace, Sum, Scan::exclusive(0), &mut starts)?;
            let bits = usize::BITS - (cells.len() - 1).leading_zeros();
            let order = sort(gpu, &mut workspace, keys, bits)?;
            let places = gather(gpu, &order, &points.places, points.about.dimensions())?;
            Ok(Self { starts, order, places, values: gpu.zeroed(0)?, reaches: gpu.zeroed(0)? })
        }
    }

    /// Sorted for tiles: along a curve, without cells.
    fn along_curve(gpu: &Gpu, points: &DevicePoints) -> Result<Self> {
        let about = &points.about;
        let positions = points.positions.as_ref().unwrap_or(&points.places);
        let order = curve_order(gpu, positions, about.count, about.curve)?;
        // SAFETY: the order is that of the points.
        let (places, values) = unsafe {
            let columns = super::padded(about.ranges.len()) as u32;
            (
                gather(gpu, &order, &points.places, about.dimensions())?,
                gather(gpu, &order, &points.values, columns)?,
            )
        };
        let reaches = match about.geographic {
            true => gpu.zeroed(0)?,
            false => measure(gpu, about, &places)?,
        };
        Ok(Self { starts: gpu.zeroed(0)?, order, places, values, reaches })
    }
}

/// How far the points of each tile are from its origin.
fn measure(gpu: &Gpu, about: &About, places: &Column<f64>) -> Result<Column<f32>> {
    let tiles = about.count.div_ceil(pairs::TILE as usize);
    // SAFETY: every element is written; the places are two columns of points.
    unsafe {
        let mut reaches = gpu.uninitialized::<f32>(tiles)?;
        if tiles > 0 {
            let [x, y, _] = about.centre;
            gpu.launch(
                pairs::measure_tiles,
                Blocks::x(tiles as u32),
                pairs::MEASURE_SHARED,
                (places.as_ptr(), about.count as u32, x, y, 1.0 / about.unit, reaches.as_mut_ptr()),
            )?;
        }
        Ok(reaches)
    }
}

/// The order of places along a curve, stable; `positions` has x of each, then y.
pub(super) fn curve_order(
    gpu: &Gpu,
    positions: &Column<f64>,
    count: usize,
    curve: Curve,
) -> Result<Column<u32>> {
    // SAFETY: the positions are two columns; the keys are written before they are sorted.
    unsafe {
        let mut keys = gpu.uninitialized::<u32>(count)?;
        gpu.launch(
            kernels::number_on_curve,
            Blocks::for_each(&kernels::number_on_curve, count as u64)?,
            0,
            (
                positions.as_ptr(),
                positions.as_ptr().wrapping_add(count),
                count as u64,
                curve.west,
                curve.south,
                curve.per_unit,
                keys.as_mut_ptr(),
            ),
        )?;
        sort(gpu, &mut Workspace::new(gpu)?, keys, u32::BITS)
    }
}

/// Columns of as many elements as the order has, in that order.
///
/// # Safety
/// The order names elements below its length, and `from` has so many columns.
pub(super) unsafe fn gather(
    gpu: &Gpu,
    order: &Column<u32>,
    from: &Column<f64>,
    columns: u32,
) -> Result<Column<f64>> {
    let n = order.len();
    // SAFETY: every element is written; the rest is passed on to the caller.
    unsafe {
        let mut to = gpu.uninitialized::<f64>(from.len())?;
        gpu.launch(
            kernels::gather_columns,
            Blocks::for_each(&kernels::gather_columns, n as u64)?,
            0,
            (order.as_ptr(), n as u32, columns, from.as_ptr(), to.as_mut_ptr()),
        )?;
        Ok(to)
    }
}

/// The order that sorts keys of so many bits, stable; the keys are used up.
///
/// # Safety
/// The keys are written by work enqueued before.
unsafe fn sort(
    gpu: &Gpu,
    workspace: &mut Workspace,
    keys: Column<u32>,
    bits: u32,
) -> Result<Column<u32>> {
    let n = keys.len();
    let blocks = n.div_ceil(kernels::TILE as usize);
    let mut keys = keys;
    let mut order: Option<Column<u32>> = None;
    // A single cell still takes a pass, which numbers the points.
    for digit in 0..bits.div_ceil(DIGIT_BITS).max(1) {
        let shift = digit * DIGIT_BITS;
        // SAFETY: as the caller says; columns have the lengths that the kernels ask for.
        unsafe {
            let mut counts = gpu.uninitialized::<u32>(blocks * kernels::DIGITS as usize)?;
            gpu.launch(
                kernels::count_digits,
                Blocks::x(blocks as u32),
                kernels::COUNT_SHARED,
                (keys.as_ptr(), n as u32, shift, counts.as_mut_ptr()),
            )?;
            gpu_scan::gpu::scan_in_place(workspace, Sum, Scan::exclusive(0), &mut counts)?;
            let mut keys_out = gpu.uninitialized::<u32>(n)?;
            let mut order_out = gpu.uninitialized::<u32>(n)?;
            gpu.launch(
                kernels::scatter_digits,
                Blocks::x(blocks as u32),
                kernels::SCATTER_SHARED,
                (
                    keys.as_ptr(),
                    order.as_ref().map_or(std::ptr::null(), Column::as_ptr),
                    n as u32,
                    shift,
                    counts.as_ptr(),
                    keys_out.as_mut_ptr(),
                    order_out.as_mut_ptr(),
                ),
            )?;
            keys = keys_out;
            order = Some(order_out);
        }
    }
    match order {
        Some(order) => Ok(order),
        None => Ok(gpu.zeroed(0)?),
    }
}
