//! The queries by other weights than Sibson's areas.

use gpu_core::{Blocks, Column, Gpu};
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
    let (grid, count) = (params.grid, params.grid.cells());
    if count == 0 {
        return Ok(());
    }
    let gradients = match params.weights {
        Weights::SibsonC1 => Some(gradients(gpu, sites)?),
        _ => None,
    };
    let kernel = sites.group.kernels.query_weighted;
    // SAFETY: lengths are as the kernel asks, which writes every cell.
    unsafe {
        gpu.launch(
            kernel,
            Blocks::for_each(&kernel, count)?,
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
                sites.group.scales.as_ptr(),
                cells.dem.as_mut_ptr(),
            ),
        )?;
    }
    Ok(())
}

/// The gradients of each site, at its pixel; other pixels have none.
fn gradients(gpu: &Gpu, sites: &mut Sites) -> Result<Column<f32>> {
    let pixels = sites.nearest.column().len();
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    let kernel = sites.group.kernels.estimate_gradients;
    // SAFETY: the kernel writes the elements of sites, and the queries read no others; lengths are as
    // it asks.
    unsafe {
        let mut gradients = gpu.uninitialized::<f32>(2 * sites.values.len())?;
        gpu.launch(
            kernel,
            Blocks::for_each(&kernel, pixels as u64)?,
            0,
            (
                sites.tallies.counts.as_mut_ptr(),
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
