//! Places brought into the order of cells or of a curve.

use device_std::In;
use gpu_core::{Blocks, Column, Gpu, Slice, SliceMut};
use gpu_scan::Sort;
use kernels_rs::idw::index::{find_bulk, gather_column, make_plan, number_on_curve};
use kernels_rs::idw::plan::Plan;

use super::Workspace;
use crate::Result;

/// x and y of each of some places: two columns as long as each other.
pub(super) type Places<'a> = (Slice<'a, f64>, Slice<'a, f64>);

/// A plan in device memory.
#[derive(Debug)]
pub(super) struct DevicePlan(Column<u64>);

impl DevicePlan {
    pub fn input(&self) -> In<'_, Plan> {
        // SAFETY: the words are those of one plan.
        unsafe { self.0.input().cast() }
    }
}

const _: () = assert!(size_of::<Plan>().is_multiple_of(8) && align_of::<Plan>() <= 8);

/// The plan for places.
pub(super) fn plan(
    gpu: &Gpu,
    (x, y): Places<'_>,
    extent: [f64; 4],
    geographic: bool,
) -> Result<DevicePlan> {
    let (count, words) = (x.len() as u64, size_of::<Plan>() / 8);
    if count == 0 {
        return Ok(DevicePlan(gpu.zeroed(words)?));
    }
    // SAFETY: x and y are as long as each other; what is read was written before; the words are those of one plan.
    unsafe {
        let mut bulk = gpu.uninitialized::<f64>(4)?;
        let mut plan = gpu.uninitialized::<u64>(words)?;
        let (x, y) = (x.input(), y.input());
        let arguments = find_bulk::Args { x, y, count, extent, bulk: bulk.output() };
        gpu.enqueue(find_bulk, Blocks::x(2), arguments)?;
        let arguments = make_plan::Args {
            bulk: bulk.input(),
            points: count,
            geographic: u32::from(geographic),
            plan: plan.output().cast(),
        };
        gpu.enqueue(make_plan, Blocks::x(1), arguments)?;
        Ok(DevicePlan(plan))
    }
}

/// The order of places along the plan's curve, stable.
pub(super) fn along_curve(
    workspace: &mut Workspace,
    (x, y): Places<'_>,
    plan: &DevicePlan,
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let places = x.len() as u64;
    // SAFETY: x and y are as long as each other, and every key is written.
    let keys = unsafe {
        let mut keys = gpu.uninitialized::<u32>(x.len())?;
        let (x, y, plan) = (x.input(), y.input(), plan.input());
        let arguments = number_on_curve::Args { x, y, places, plan, keys: keys.output() };
        gpu.enqueue(number_on_curve, Blocks::for_each(&number_on_curve, places)?, arguments)?;
        keys
    };
    by_keys(workspace, &keys, u32::BITS)
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

/// Splits a column that holds `count` columns one after the other.
pub(super) fn columns(all: &Column<f64>, count: usize) -> Result<Vec<Slice<'_, f64>>> {
    let len = all.len() / count;
    (0..count).map(|i| Ok(all.slice(i * len..(i + 1) * len)?)).collect()
}

/// Columns one after the other, in an order, which names each of their elements once.
pub(super) fn in_order(
    gpu: &Gpu,
    order: &Column<u32>,
    columns: &[Slice<'_, f64>],
) -> Result<Column<f64>> {
    let len = order.len();
    // SAFETY: every element is written; orders name elements of as long columns.
    unsafe {
        let mut sorted = gpu.uninitialized(columns.len() * len)?;
        for (i, &from) in columns.iter().enumerate() {
            gather(gpu, Some(order), from, sorted.slice_mut(i * len..(i + 1) * len)?)?;
        }
        Ok(sorted)
    }
}

/// Gathers a column in an order, or copies it.
///
/// # Safety
/// The order has an element for each of `to`, and names elements of `from`. Without an order `from` is as long as `to`.
pub(super) unsafe fn gather(
    gpu: &Gpu,
    order: Option<&Column<u32>>,
    from: Slice<'_, f64>,
    to: SliceMut<'_, f64>,
) -> Result<()> {
    let len = to.len() as u64;
    let (order, from, to) = (order.map(Column::input), from.input(), to.output());
    let blocks = Blocks::for_each(&gather_column, len)?;
    // SAFETY: the caller answers for the lengths and the order.
    unsafe { Ok(gpu.enqueue(gather_column, blocks, gather_column::Args { order, len, from, to })?) }
}
