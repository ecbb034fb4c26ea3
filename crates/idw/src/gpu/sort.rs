//! Places brought into the order of a curve.

use device_std::In;
use gpu_core::{Blocks, Column, Gpu, Slice, SliceMut};
use gpu_scan::Sort;
use kernels_rs::idw::index::{find_bulk, gather_column, make_curve, number_on_curve};
use kernels_rs::idw::plan::Curve;

use super::Workspace;
use crate::Result;

/// x and y of each of some places: two columns as long as each other.
pub(super) type Places<'a> = (Slice<'a, f64>, Slice<'a, f64>);

/// A curve in device memory.
struct DeviceCurve(Column<u64>);

impl DeviceCurve {
    fn input(&self) -> In<'_, Curve> {
        // SAFETY: the words are those of one curve.
        unsafe { self.0.input().cast() }
    }
}

const _: () = assert!(size_of::<Curve>().is_multiple_of(8) && align_of::<Curve>() <= 8);

/// The curve over the bulk of places, within an extent: the least x, the greatest, and likewise of y.
fn curve(gpu: &Gpu, (x, y): Places<'_>, extent: [f64; 4]) -> Result<DeviceCurve> {
    let (count, words) = (x.len() as u64, size_of::<Curve>() / 8);
    if count == 0 {
        return Ok(DeviceCurve(gpu.zeroed(words)?));
    }
    // SAFETY: x and y are as long as each other; what is read was written before; the words are those of one curve.
    unsafe {
        let mut bulk = gpu.uninitialized::<f64>(4)?;
        let mut curve = gpu.uninitialized::<u64>(words)?;
        let (x, y) = (x.input(), y.input());
        let arguments = find_bulk::Args { x, y, count, extent, bulk: bulk.output() };
        gpu.enqueue(find_bulk, Blocks::x(2), arguments)?;
        let arguments = make_curve::Args { bulk: bulk.input(), curve: curve.output().cast() };
        gpu.enqueue(make_curve, Blocks::x(1), arguments)?;
        Ok(DeviceCurve(curve))
    }
}

/// The order of places along a curve over their bulk within an extent (the least x, the greatest, and likewise of y).
/// Stable.
pub(super) fn along_curve(
    workspace: &mut Workspace,
    (x, y): Places<'_>,
    extent: [f64; 4],
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let (curve, places) = (curve(&gpu, (x, y), extent)?, x.len() as u64);
    // SAFETY: x and y are as long as each other, and every key is written.
    let keys = unsafe {
        let mut keys = gpu.uninitialized::<u32>(x.len())?;
        let (x, y, curve) = (x.input(), y.input(), curve.input());
        let arguments = number_on_curve::Args { x, y, places, curve, keys: keys.output() };
        gpu.enqueue(number_on_curve, Blocks::for_each(&number_on_curve, places)?, arguments)?;
        keys
    };
    // SAFETY: every index is written.
    let mut order = unsafe { gpu.uninitialized::<u32>(x.len())? };
    gpu_scan::gpu::argsort(workspace, Sort::ascending(), &keys, &mut order)?;
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
