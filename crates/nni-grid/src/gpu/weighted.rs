//! The queries by other weights than Sibson's areas.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni as kernels;
use kernels_rs::nni::geometry::Width;

use super::query::{Cells, Sites};
use crate::{Params, QueryLimits, Result, Weights};

/// Enqueues the queries of Laplace's weights, or of Sibson's smooth interpolant.
pub(super) fn query(
    gpu: &Gpu,
    sites: &mut Sites,
    cells: &mut Cells,
    limits: &QueryLimits,
    params: &Params,
) -> Result<()> {
    let (grid, count) = (params.grid, cells.dem.len());
    if count == 0 {
        return Ok(());
    }
    let gradients = match params.weights {
        Weights::SibsonC1 => Some(gradients(gpu, sites)?),
        _ => None,
    };
    // SAFETY: lengths are as the kernel asks, which writes every cell.
    unsafe {
        gpu.launch(
            kernels::query_weighted,
            Blocks::for_each(&kernels::query_weighted, count as u64)?,
            0,
            (
                sites.tallies.counts.as_mut_ptr(),
                sites.nearest.column().as_ptr(),
                sites.values.as_ptr(),
                gradients.as_ref().map_or(std::ptr::null(), Column::as_ptr),
                limits.site_limit,
                grid.width,
                grid.height,
                Width::reciprocal(sites.nearest.width()),
                params.supersample,
                sites.scale.offset,
                sites.scale.step,
                cells.dem.as_mut_ptr(),
            ),
        )?;
    }
    Ok(())
}

/// The gradient of each site, at its pixel; other pixels have none.
fn gradients(gpu: &Gpu, sites: &Sites) -> Result<Column<f32>> {
    let pixels = sites.nearest.column().len();
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    // SAFETY: the kernel writes the elements of sites, and the queries read no others; lengths are as
    // it asks.
    unsafe {
        let mut gradients = gpu.uninitialized::<f32>(2 * pixels)?;
        gpu.launch(
            kernels::estimate_gradients,
            Blocks::for_each(&kernels::estimate_gradients, pixels as u64)?,
            0,
            (
                sites.tallies.counts.as_ptr(),
                sites.nearest.column().as_ptr(),
                sites.values.as_ptr(),
                width,
                height,
                Width::reciprocal(width),
                gradients.as_mut_ptr(),
            ),
        )?;
        Ok(gradients)
    }
}
