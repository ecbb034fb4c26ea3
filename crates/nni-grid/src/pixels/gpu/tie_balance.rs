//! Repeats the queries on the raster turned by 180 degrees: see `kernels_rs::nni::pixels::tie_balance`.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec};
use kernels_rs::nni::pixels as kernels;

use super::query::{Cells, Sites};
use crate::Result;

/// A mask of sites, turned.
pub(super) fn mask(gpu: &Gpu, mask: &DeviceGrid<u8>) -> Result<DeviceGrid<u8>> {
    let pixels = mask.column().len();
    // SAFETY: lengths are as the kernel asks, which writes every pixel.
    unsafe {
        let mut turned = gpu.uninitialized::<u8>(pixels)?;
        gpu.enqueue(
            kernels::turn_mask,
            Blocks::for_each(
                &kernels::turn_mask,
                (pixels as u64).div_ceil(kernels::TURNED_PIXELS),
            )?,
            kernels::turn_mask::Args {
                mask: mask.column().input(),
                pixels: pixels as u64,
                turned_mask: turned.output(),
            },
        )?;
        Ok(DeviceGrid::from_column(turned, *mask.grid())?)
    }
}

/// The diagram of the turned raster.
pub(super) struct Turned(pub DeviceGrid<u32>);

impl Turned {
    /// Calls `query` with the turned diagram.
    pub fn instead<T>(
        &mut self,
        sites: &mut Sites,
        query: impl FnOnce(&mut Sites) -> Result<T>,
    ) -> Result<T> {
        std::mem::swap(&mut self.0, &mut sites.nearest);
        sites.is_turned = true;
        let done = query(sites);
        std::mem::swap(&mut self.0, &mut sites.nearest);
        sites.is_turned = false;
        done
    }
}

/// Replaces `len` cells from `first` on by their means with the turned raster's cells.
pub(super) fn unite(
    gpu: &Gpu,
    tallies: &mut Column<u64>,
    cells: &mut Cells,
    turned: &Cells,
    grid: &GridSpec,
    [first, len]: [u64; 2],
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let values = cells.dem.len() as u64 / grid.cells();
    // SAFETY: both have the cells of the grid, and the same layers.
    unsafe {
        gpu.enqueue(
            kernels::unite_turned,
            Blocks::for_each(&kernels::unite_turned, len.div_ceil(kernels::TURNED))?,
            kernels::unite_turned::Args {
                tallies: tallies.output(),
                both: kernels::Both {
                    value_count: values as u32,
                    cells: grid.cells(),
                    dem: cells.dem.output(),
                    turned_dem: turned.dem.input(),
                    counts: cells.counts.as_mut().map(Column::output),
                    turned_counts: turned.counts.as_ref().map(Column::input),
                    deviations: cells.deviations.as_mut().map(Column::output),
                    turned_deviations: turned.deviations.as_ref().map(Column::input),
                },
                first,
                len,
            },
        )?;
    }
    Ok(())
}
