//! The queries once more, on the raster turned by half a circle: see `kernels_rs::nni::turned`.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec};
use kernels_rs::nni as kernels;

use super::query::{Cells, Sites};
use crate::Result;

/// The mask and the values of sites, turned.
pub(super) fn sites(
    gpu: &Gpu,
    mask: &DeviceGrid<u8>,
    values: &Column<i32>,
    value_count: usize,
) -> Result<(DeviceGrid<u8>, Column<i32>)> {
    let pixels = mask.column().len();
    // SAFETY: lengths are as the kernel asks, which writes the mask and the values of sites; others are not
    // read.
    unsafe {
        let mut turned_mask = gpu.uninitialized::<u8>(pixels)?;
        let mut turned_values = gpu.uninitialized::<i32>(values.len())?;
        gpu.enqueue(
            kernels::turn_sites,
            Blocks::for_each(&kernels::turn_sites, (pixels as u64).div_ceil(kernels::TURNED))?,
            kernels::turn_sites::Args {
                mask: mask.column().as_ptr(),
                values: values.as_ptr(),
                value_count: value_count as u32,
                pixels: pixels as u64,
                turned_mask: turned_mask.as_mut_ptr(),
                turned_values: turned_values.as_mut_ptr(),
            },
        )?;
        Ok((DeviceGrid::from_column(turned_mask, *mask.grid())?, turned_values))
    }
}

/// The diagram of the turned raster, and the values of its sites.
pub(super) struct Turned {
    pub nearest: DeviceGrid<u32>,
    pub values: Column<i32>,
}

impl Turned {
    /// Calls `query` with the turned sites in place of the others.
    pub fn instead<T>(
        &mut self,
        sites: &mut Sites,
        query: impl FnOnce(&mut Sites) -> Result<T>,
    ) -> Result<T> {
        std::mem::swap(&mut self.nearest, &mut sites.nearest);
        std::mem::swap(&mut self.values, &mut sites.values);
        let done = query(sites);
        std::mem::swap(&mut self.nearest, &mut sites.nearest);
        std::mem::swap(&mut self.values, &mut sites.values);
        done
    }
}

/// Makes of `len` cells from `first` on the means with those of the turned raster.
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
                tallies: tallies.as_mut_ptr(),
                value_count: values as u32,
                cells: grid.cells(),
                first,
                len,
                dem: cells.dem.as_mut_ptr(),
                turned_dem: turned.dem.as_ptr(),
                counts: cells.counts.as_mut().map_or(std::ptr::null_mut(), Column::as_mut_ptr),
                turned_counts: turned.counts.as_ref().map_or(std::ptr::null(), Column::as_ptr),
                deviations: cells
                    .deviations
                    .as_mut()
                    .map_or(std::ptr::null_mut(), Column::as_mut_ptr),
                turned_deviations: turned
                    .deviations
                    .as_ref()
                    .map_or(std::ptr::null(), Column::as_ptr),
            },
        )?;
    }
    Ok(())
}
