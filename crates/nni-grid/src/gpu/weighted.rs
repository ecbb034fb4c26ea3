//! The queries by other weights than Sibson's areas.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni as kernels;
use kernels_rs::nni::geometry::Width;

use super::query::{Cells, Sites};
use crate::limits::QueryLimits;
use crate::{Params, Result, Weights};

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
    use kernels::query_weighted as query;
    let kernel = sites.group.instances.of([query::one, query::two, query::four]);
    let arguments = query::Args {
        tallies: sites.tallies.counts.as_mut_ptr(),
        nearest: sites.nearest.column().as_ptr(),
        values: sites.values.as_ptr(),
        turned: sites.turned(),
        gradients: gradients.as_ref().map_or(std::ptr::null(), Column::as_ptr),
        site_limit: limits.site_limit,
        cell_columns: grid.width,
        cell_rows: grid.height,
        reciprocal: Width::reciprocal(sites.nearest.width()),
        supersample: params.supersample,
        scales: sites.group.scales.as_ptr(),
        dem: cells.dem.as_mut_ptr(),
    };
    // SAFETY: lengths are as the kernel asks, which writes every cell.
    unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, count)?, arguments)? };
    Ok(())
}

/// The gradients of each site, at its pixel; other pixels have none.
fn gradients(gpu: &Gpu, sites: &mut Sites) -> Result<Column<f32>> {
    let pixels = sites.nearest.column().len();
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    use kernels::estimate_gradients as estimate;
    let kernel = sites.group.instances.of([estimate::one, estimate::two, estimate::four]);
    // SAFETY: the kernel writes the elements of sites, and the queries read no others; lengths are as
    // it asks.
    unsafe {
        let mut gradients = gpu.uninitialized::<f32>(2 * sites.values.len())?;
        let arguments = estimate::Args {
            tallies: sites.tallies.counts.as_mut_ptr(),
            nearest: sites.nearest.column().as_ptr(),
            values: sites.values.as_ptr(),
            turned: sites.turned(),
            width,
            height,
            reciprocal: Width::reciprocal(width),
            gradients: gradients.as_mut_ptr(),
        };
        gpu.enqueue(kernel, Blocks::for_each(&kernel, pixels as u64)?, arguments)?;
        Ok(gradients)
    }
}
