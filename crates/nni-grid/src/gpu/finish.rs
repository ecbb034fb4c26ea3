//! What is done to cells after the queries.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni as kernels;
use kernels_rs::nni::geometry::Width;

use super::query::{Cells, Sites};
use crate::{Fill, Params, Result, hull};

/// Applies the control of NODATA and makes the distances, if they are asked for. Waits for the stream
/// where the hull is asked for.
pub(super) fn finish(
    gpu: &Gpu,
    sites: &mut Sites,
    cells: &mut Cells,
    params: &Params,
    mask: Option<&Column<u8>>,
) -> Result<()> {
    let (grid, count) = (params.grid, params.grid.cells() as usize);
    if count == 0 || !params.needs_finish(mask.is_some()) {
        return Ok(());
    }
    let hull = if params.hull { Some(hull_bounds(gpu, sites, params)?) } else { None };
    let (fill, fill_value) = match params.fill {
        Fill::Nodata => (kernels::FILL_NOT, 0.0),
        Fill::Nearest => (kernels::FILL_NEAREST, 0.0),
        Fill::Value(value) => (kernels::FILL_VALUE, value),
    };
    // SAFETY: lengths are as the kernel asks, which writes every distance.
    unsafe {
        if params.distances {
            cells.distances = Some(gpu.uninitialized(count)?);
        }
        gpu.launch(
            kernels::finish_cells,
            Blocks::for_each(&kernels::finish_cells, count as u64)?,
            0,
            (
                sites.tallies.counts.as_mut_ptr(),
                sites.nearest.column().as_ptr(),
                sites.values.as_ptr(),
                sites.group.kernels.values as u32,
                grid.width,
                grid.height,
                Width::reciprocal(sites.nearest.width()),
                params.supersample,
                hull.as_ref().map_or(std::ptr::null(), Column::as_ptr),
                params.max_squared(),
                mask.map_or(std::ptr::null(), Column::as_ptr),
                fill,
                fill_value,
                sites.group.scales.as_ptr(),
                cells.dem.as_mut_ptr(),
                cells.distances.as_mut().map_or(std::ptr::null_mut(), Column::as_mut_ptr),
            ),
        )?;
    }
    Ok(())
}

/// The bounds of the sites' hull in each row of cells.
fn hull_bounds(gpu: &Gpu, sites: &Sites, params: &Params) -> Result<Column<i32>> {
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    // SAFETY: the kernel writes every element; lengths are as it asks.
    let extremes = unsafe {
        let mut extremes = gpu.uninitialized::<[i32; 2]>(height as usize)?;
        gpu.launch(
            kernels::row_extremes,
            Blocks::x(height),
            0,
            (
                sites.tallies.counts.as_ptr(),
                sites.nearest.column().as_ptr(),
                width,
                extremes.as_mut_ptr().cast(),
            ),
        )?;
        extremes.to_host()?
    };
    Ok(gpu.enqueue_upload(&hull::bounds(&extremes, params.grid.height, params.supersample))?)
}
