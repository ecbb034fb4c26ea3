//! Queries with weights other than Sibson's areas.

use gpu_core::{Blocks, Column, Gpu};
use kernels_rs::nni::pixels as kernels;
use kernels_rs::nni::pixels::geometry::Width;

use super::boxed::Left;
use super::query::{Cells, Sites};
use crate::params::OnGrid;
use crate::pixels::limits::QueryLimits;
use crate::{Result, Weights};

/// Enqueues the queries of Laplace's weights, or of Sibson's smooth interpolant.
pub(super) fn query(
    gpu: &Gpu,
    sites: &mut Sites,
    cells: &mut Cells,
    limits: &QueryLimits,
    params: &OnGrid,
) -> Result<()> {
    let (grid, count) = (params.grid, params.grid.cells());
    if count == 0 {
        return Ok(());
    }
    let gradients = match params.weights {
        Weights::SibsonC1 => Some(gradients(gpu, sites)?),
        _ => None,
    };
    let (boxes, instances) = (sites.boxes(), sites.group.instances);
    let mut left = Left::new(gpu, count as usize)?;
    use kernels::{weighted_boxed, weighted_left};
    let key = boxes.key(instances.values());
    let in_boxes = weighted_boxed::find(|of| *of == key).expect("an instance for each");
    let by_rows = instances.of([weighted_left::one, weighted_left::two, weighted_left::four]);
    let tiles = boxes.tiles([grid.width, grid.height], params.supersample);
    let (lattice, scales) = (sites.lattice(params), &sites.group.scales);
    let weights = kernels::Weights {
        gradients: gradients.as_ref().map(Column::input),
        site_limit: limits.site_limit,
        scales: scales.input(),
        dem: cells.dem.output(),
    };
    // SAFETY: lengths are as the kernels demand, and the kernels write every cell; the list holds all cells.
    unsafe {
        let (sites, left) = (sites.input(), left.output());
        let arguments = weighted_boxed::Args { sites, lattice, weights, left };
        gpu.enqueue(in_boxes, Blocks::x(tiles), arguments)?;
        let arguments = weighted_left::Args { sites, lattice, weights, left };
        gpu.enqueue(by_rows, Left::blocks(gpu), arguments)?;
    }
    Ok(())
}

/// The gradients of each site, at its pixel; other pixels have none.
fn gradients(gpu: &Gpu, sites: &mut Sites) -> Result<Column<f32>> {
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    let (boxes, instances) = (sites.boxes(), sites.group.instances);
    let most = sites.points.min(sites.nearest.column().len());
    let mut left = Left::new(gpu, most)?;
    // SAFETY: the kernels write the elements of sites, and the queries read no others.
    let mut gradients = unsafe { gpu.uninitialized::<f32>(2 * sites.values.len())? };
    use kernels::{gradients_boxed, gradients_left};
    let key = boxes.key(instances.values());
    let in_boxes = gradients_boxed::find(|of| *of == key).expect("an instance for each");
    let by_rows = instances.of([gradients_left::one, gradients_left::two, gradients_left::four]);
    let (extent, reciprocal) = ([width as i32, height as i32], Width::reciprocal(width));
    // SAFETY: lengths are as the kernels demand; the list holds all sites.
    unsafe {
        let (sites, left) = (sites.input(), left.output());
        let to = gradients.output();
        let arguments = gradients_boxed::Args { sites, extent, reciprocal, gradients: to, left };
        gpu.enqueue(in_boxes, Blocks::x(boxes.tiles([width, height], 1)), arguments)?;
        let arguments = gradients_left::Args { sites, extent, reciprocal, gradients: to, left };
        gpu.enqueue(by_rows, Left::blocks(gpu), arguments)?;
    }
    Ok(gradients)
}
