//! The bounds of points in device memory, and the errors for points without a place in them.

use gpu_core::{Blocks, Bounds, Element, Gpu, Slice};
use kernels_rs::quadtree::{FOUND, Place, Places, find_bounds, of_rank};

use super::MAX_BLOCKS;
use crate::{Error, Result};

/// Returns the bounds of points that are finite. Waits for them.
pub(super) fn bounds<T: Element + Place + find_bounds::Instance>(
    gpu: &Gpu,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<Bounds> {
    let mut found = gpu.enqueue_upload(&[i64::MAX; FOUND])?;
    let kernel = <T as find_bounds::Instance>::KERNEL;
    let count = x.len() as u64;
    let blocks = Blocks::for_each(&kernel, count)?;
    let places = Places { x: x.input(), y: y.input(), count };
    let arguments = find_bounds::Args { places, found: found.output() };
    // SAFETY: both columns have as many elements.
    unsafe { gpu.enqueue(kernel, Blocks::x(blocks.x.min(MAX_BLOCKS)), arguments)? };
    let found = found.to_host()?;
    refuse_not_finite(gpu, [found[4], found[5]], x, y)?;
    let least = |which: usize| of_rank(found[which]);
    let greatest = |which: usize| of_rank(!found[2 + which]);
    Ok(Bounds { min_x: least(0), min_y: least(1), max_x: greatest(0), max_y: greatest(1) })
}

/// An error where there is an index of an x or a y that is not finite.
pub(super) fn refuse_not_finite<T: Element + Place>(
    gpu: &Gpu,
    indices: [i64; 2],
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<()> {
    for ((what, column), index) in [("x", x), ("y", y)].into_iter().zip(indices) {
        let index = index as u64;
        if index < column.len() as u64 {
            let value = element(gpu, column, index)?;
            return Err(gpu_core::Error::NotFinite { what, index, value }.into());
        }
    }
    Ok(())
}

/// The error for a point outside the bounds. Waits for the point.
pub(super) fn outside<T: Element + Place>(
    gpu: &Gpu,
    index: u64,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<Error> {
    Ok(Error::Outside { index, x: element(gpu, x, index)?, y: element(gpu, y, index)? })
}

/// One element. Waits for it.
fn element<T: Element + Place>(gpu: &Gpu, column: Slice<'_, T>, index: u64) -> Result<f64> {
    let mut one = gpu.zeroed(1)?;
    one.copy_from(column.slice(index as usize..index as usize + 1)?)?;
    Ok(Place::widened(one.to_host()?[0]))
}
