//! The queries by other weights than Sibson's areas.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni::pixels as kernels;
use kernels_rs::nni::pixels::geometry::Width;

use super::boxed::{Boxes, Left};
use super::query::{Cells, Sites};
use crate::pixels::limits::QueryLimits;
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
    let mut gradients = match params.weights {
        Weights::SibsonC1 => Some(gradients(gpu, sites)?),
        _ => None,
    };
    let gradients = gradients.as_mut().map_or(std::ptr::null_mut(), Column::as_mut_ptr);
    let boxes = Boxes::of(sites);
    let reciprocal = Width::reciprocal(sites.nearest.width());
    let mut left = Left::new(gpu, count as usize)?;
    let (left_counts, left) = (left.counts.as_mut_ptr(), left.entries.as_mut_ptr());
    use kernels::{weighted_boxed, weighted_left};
    let in_boxes = weighted_boxed::Args {
        tallies: sites.tallies.counts.as_ptr(),
        nearest: sites.nearest.column().as_ptr(),
        values: sites.values.as_ptr(),
        turned: sites.turned(),
        gradients,
        site_limit: limits.site_limit,
        cell_columns: grid.width,
        cell_rows: grid.height,
        reciprocal,
        supersample: params.supersample,
        scales: sites.group.scales.as_ptr(),
        dem: cells.dem.as_mut_ptr(),
        left_counts,
        left,
    };
    let by_rows = weighted_left::Args {
        tallies: sites.tallies.counts.as_ptr(),
        nearest: sites.nearest.column().as_ptr(),
        values: sites.values.as_ptr(),
        turned: sites.turned(),
        gradients,
        site_limit: limits.site_limit,
        cell_columns: grid.width,
        cell_rows: grid.height,
        reciprocal,
        supersample: params.supersample,
        scales: sites.group.scales.as_ptr(),
        dem: cells.dem.as_mut_ptr(),
        left_counts,
        left,
    };
    let instances = sites.group.instances;
    let kernel = boxes.kernel(instances.of([
        [weighted_boxed::one_small, weighted_boxed::one_medium, weighted_boxed::one_large],
        [weighted_boxed::two_small, weighted_boxed::two_medium, weighted_boxed::two_large],
        [weighted_boxed::four_small, weighted_boxed::four_medium, weighted_boxed::four_large],
    ]));
    let of_left = instances.of([weighted_left::one, weighted_left::two, weighted_left::four]);
    let tiles = boxes.tiles([grid.width, grid.height], params.supersample);
    // SAFETY: lengths are as the kernels ask, which write every cell; the list has room for all.
    unsafe {
        gpu.enqueue(kernel, Blocks::x(tiles), in_boxes)?;
        gpu.enqueue(of_left, Left::blocks(gpu), by_rows)?;
    }
    Ok(())
}

/// The gradients of each site, at its pixel; other pixels have none.
fn gradients(gpu: &Gpu, sites: &mut Sites) -> Result<Column<f32>> {
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    let (boxes, instances) = (Boxes::of(sites), sites.group.instances);
    let most = sites.points.min(sites.nearest.column().len());
    let mut left = Left::new(gpu, most)?;
    let (left_counts, left) = (left.counts.as_mut_ptr(), left.entries.as_mut_ptr());
    // SAFETY: the kernels write the elements of sites, and the queries read no others.
    let mut gradients = unsafe { gpu.uninitialized::<f32>(2 * sites.values.len())? };
    use kernels::{gradients_boxed, gradients_left};
    let in_boxes = gradients_boxed::Args {
        tallies: sites.tallies.counts.as_ptr(),
        nearest: sites.nearest.column().as_ptr(),
        values: sites.values.as_ptr(),
        turned: sites.turned(),
        width,
        height,
        reciprocal: Width::reciprocal(width),
        gradients: gradients.as_mut_ptr(),
        left_counts,
        left,
    };
    let by_rows = gradients_left::Args {
        tallies: sites.tallies.counts.as_ptr(),
        nearest: sites.nearest.column().as_ptr(),
        values: sites.values.as_ptr(),
        turned: sites.turned(),
        width,
        height,
        reciprocal: Width::reciprocal(width),
        gradients: gradients.as_mut_ptr(),
        left_counts,
        left,
    };
    let kernel = boxes.kernel(instances.of([
        [gradients_boxed::one_small, gradients_boxed::one_medium, gradients_boxed::one_large],
        [gradients_boxed::two_small, gradients_boxed::two_medium, gradients_boxed::two_large],
        [gradients_boxed::four_small, gradients_boxed::four_medium, gradients_boxed::four_large],
    ]));
    let of_left = instances.of([gradients_left::one, gradients_left::two, gradients_left::four]);
    // SAFETY: lengths are as the kernels ask; the list has room for all sites.
    unsafe {
        gpu.enqueue(kernel, Blocks::x(boxes.tiles([width, height], 1)), in_boxes)?;
        gpu.enqueue(of_left, Left::blocks(gpu), by_rows)?;
    }
    Ok(gradients)
}
