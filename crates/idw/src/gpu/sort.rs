//! Places brought into the order of cells or of a curve.

use gpu_core::{Blocks, Column, Gpu};
use gpu_scan::Sort;
use kernels_rs::idw::index::{find_bulk, gather_column, make_plan, number_on_curve};
use kernels_rs::idw::plan::Plan;

use super::Workspace;
use crate::Result;

/// A plan in device memory.
#[derive(Debug)]
pub(super) struct DevicePlan(Column<u64>);

impl DevicePlan {
    pub fn as_ptr(&self) -> *const Plan {
        self.0.as_ptr().cast()
    }
}

const _: () = assert!(size_of::<Plan>().is_multiple_of(8) && align_of::<Plan>() <= 8);

/// The plan for places: x and y of each.
///
/// # Safety
/// Both have `count` elements.
pub(super) unsafe fn plan(
    gpu: &Gpu,
    (x, y): (*const f64, *const f64),
    count: u64,
    extent: [f64; 4],
    geographic: bool,
) -> Result<DevicePlan> {
    // SAFETY: passed on to the caller; what is read was written before.
    unsafe {
        let mut bulk = gpu.uninitialized::<f64>(4)?;
        let mut plan = gpu.uninitialized::<u64>(size_of::<Plan>() / 8)?;
        if count == 0 {
            return Ok(DevicePlan(gpu.zeroed(size_of::<Plan>() / 8)?));
        }
        let arguments = find_bulk::Args { x, y, count, extent, bulk: bulk.as_mut_ptr() };
        gpu.enqueue(find_bulk, Blocks::x(2), arguments)?;
        let arguments = make_plan::Args {
            bulk: bulk.as_ptr(),
            points: count,
            geographic: u32::from(geographic),
            plan: plan.as_mut_ptr().cast(),
        };
        gpu.enqueue(make_plan, Blocks::x(1), arguments)?;
        Ok(DevicePlan(plan))
    }
}

/// The order of places along the plan's curve, stable.
///
/// # Safety
/// As for [`plan`].
pub(super) unsafe fn along_curve(
    workspace: &mut Workspace,
    (x, y): (*const f64, *const f64),
    count: usize,
    plan: &DevicePlan,
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let places = count as u64;
    // SAFETY: passed on to the caller; every key is written.
    unsafe {
        let mut keys = gpu.uninitialized::<u32>(count)?;
        let (plan, to) = (plan.as_ptr(), keys.as_mut_ptr());
        let arguments = number_on_curve::Args { x, y, places, plan, keys: to };
        gpu.enqueue(number_on_curve, Blocks::for_each(&number_on_curve, places)?, arguments)?;
        by_keys(workspace, &keys, u32::BITS)
    }
}

/// The order that sorts keys below `2^bits`, stable.
pub(super) fn by_keys(
    workspace: &mut Workspace,
    keys: &Column<u32>,
    bits: u32,
) -> Result<Column<u32>> {
    // SAFETY: every index is written.
    let mut order = unsafe { workspace.gpu().uninitialized::<u32>(keys.len())? };
    let sort = Sort::ascending().by_bits(0..bits.max(1));
    gpu_scan::gpu::argsort(workspace, sort, keys, &mut order)?;
    Ok(order)
}

/// A column in an order, which names each of its elements once.
pub(super) fn in_order(gpu: &Gpu, order: &Column<u32>, from: &Column<f64>) -> Result<Column<f64>> {
    // SAFETY: the order is as long as the column, of which every element is written.
    unsafe {
        let mut sorted = gpu.uninitialized(order.len())?;
        gather(gpu, Some(order), order.len(), from.as_ptr(), sorted.as_mut_ptr())?;
        Ok(sorted)
    }
}

/// Gathers a column in an order, or copies it.
///
/// # Safety
/// `from` and `to` have `count` elements, and so has the order, which names elements below that.
pub(super) unsafe fn gather(
    gpu: &Gpu,
    order: Option<&Column<u32>>,
    count: usize,
    from: *const f64,
    to: *mut f64,
) -> Result<()> {
    let order = order.map_or(std::ptr::null(), Column::as_ptr);
    let arguments = gather_column::Args { order, len: count as u64, from, to };
    // SAFETY: passed on to the caller.
    unsafe {
        let blocks = Blocks::for_each(&gather_column, count as u64)?;
        Ok(gpu.enqueue(gather_column, blocks, arguments)?)
    }
}
