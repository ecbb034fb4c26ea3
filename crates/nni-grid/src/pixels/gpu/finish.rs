//! What is done to cells after the queries.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni::pixels as kernels;
use kernels_rs::nni::pixels::geometry::Width;
use kernels_rs::nni::policies;

use super::query::{Cells, Sites};
use crate::pixels::hull;
use crate::{Fill, Params, Result};

/// Applies the control of NODATA and makes the distances, as the parameters say. Waits for the stream if they
/// want the hull.
pub(super) fn finish(
    gpu: &Gpu,
    sites: &mut Sites,
    cells: &mut Cells,
    params: &Params,
    mask: *const u8,
) -> Result<()> {
    let (grid, count) = (params.grid, params.grid.cells() as usize);
    if count == 0 || !params.needs_finish(!mask.is_null()) {
        return Ok(());
    }
    let hull = if params.hull { Some(hull_bounds(gpu, sites, params)?) } else { None };
    let (fill, fill_value) = match params.fill {
        Fill::Nodata => (policies::FILL_NOT, 0.0),
        Fill::Nearest => (policies::FILL_NEAREST, 0.0),
        Fill::Value(value) => (policies::FILL_VALUE, value),
    };
    // SAFETY: lengths are as the kernel asks, which writes every distance.
    unsafe {
        if params.distances {
            cells.distances = Some(gpu.uninitialized(count)?);
        }
        gpu.enqueue(
            kernels::finish_cells,
            Blocks::for_each(&kernels::finish_cells, count as u64)?,
            kernels::finish_cells::Args {
                tallies: sites.tallies.counts.as_mut_ptr(),
                nearest: sites.nearest.column().as_ptr(),
                values: sites.values.as_ptr(),
                value_count: sites.group.instances.values() as u32,
                cell_columns: grid.width,
                cell_rows: grid.height,
                reciprocal: Width::reciprocal(sites.nearest.width()),
                supersample: params.supersample,
                hull: hull.as_ref().map_or(std::ptr::null(), Column::as_ptr),
                max_squared: params.max_squared(),
                mask,
                fill,
                fill_value,
                scales: sites.group.scales.as_ptr(),
                dem: cells.dem.as_mut_ptr(),
                distances: cells
                    .distances
                    .as_mut()
                    .map_or(std::ptr::null_mut(), Column::as_mut_ptr),
            },
        )?;
    }
    Ok(())
}

/// The bounds of the sites' hull in each row of cells.
fn hull_bounds(gpu: &Gpu, sites: &Sites, params: &Params) -> Result<Column<i32>> {
    gpu.refuse_in_capture("the hull of the sites")?;
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    // SAFETY: the kernel writes every element; lengths are as it asks.
    let extremes = unsafe {
        let mut extremes = gpu.uninitialized::<[i32; 2]>(height as usize)?;
        gpu.enqueue(
            kernels::row_extremes,
            Blocks::x(height),
            kernels::row_extremes::Args {
                tallies: sites.tallies.counts.as_ptr(),
                nearest: sites.nearest.column().as_ptr(),
                width,
                extremes: extremes.as_mut_ptr().cast(),
            },
        )?;
        extremes.to_host()?
    };
    Ok(gpu.enqueue_upload(&hull::bounds(&extremes, params.grid.height, params.supersample))?)
}
