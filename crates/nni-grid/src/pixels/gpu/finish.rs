//! The steps after the queries of cells.

use gpu_core::{Blocks, Column, Gpu, Slice};
use kernels_rs::nni::pixels as kernels;
use kernels_rs::nni::policies;

use super::query::{Cells, Sites};
use crate::params::OnGrid;
use crate::pixels::hull;
use crate::{Fill, Result};

/// Applies the control of NODATA and makes the distances, as the parameters say. Waits for the stream if they
/// want the hull.
pub(super) fn finish(
    gpu: &Gpu,
    sites: &mut Sites,
    cells: &mut Cells,
    params: &OnGrid,
    mask: Option<Slice<'_, u8>>,
) -> Result<()> {
    let count = params.grid.cells() as usize;
    if count == 0 || !params.needs_finish(mask.is_some()) {
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
                lattice: sites.lattice(params),
                tallies: sites.tallies.counts.output(),
                nearest: sites.nearest.column().input(),
                values: sites.values.input(),
                value_count: sites.group.instances.values() as u32,
                hull: hull.as_ref().map(Column::input),
                max_squared: params.max_squared(),
                mask: mask.map(Slice::input),
                fill,
                fill_value,
                scales: sites.group.scales.input(),
                dem: cells.dem.output(),
                distances: cells.distances.as_mut().map(Column::output),
            },
        )?;
    }
    Ok(())
}

/// The bounds of the sites' hull in each row of cells.
fn hull_bounds(gpu: &Gpu, sites: &Sites, params: &OnGrid) -> Result<Column<i32>> {
    gpu.refuse_in_capture("the hull of the sites")?;
    let (width, height) = (sites.nearest.width(), sites.nearest.height());
    // SAFETY: the kernel writes every element; lengths are as it asks.
    let extremes = unsafe {
        let mut extremes = gpu.uninitialized::<[i32; 2]>(height as usize)?;
        gpu.enqueue(
            kernels::row_extremes,
            Blocks::x(height),
            kernels::row_extremes::Args {
                tallies: sites.tallies.counts.input(),
                nearest: sites.nearest.column().input(),
                width,
                extremes: extremes.output(),
            },
        )?;
        extremes.to_host()?
    };
    Ok(gpu.enqueue_upload(&hull::bounds(&extremes, params.grid.height, params.supersample))?)
}
