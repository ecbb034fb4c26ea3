//! The launches of `Baseline::ScanPrune`; the kernels and the plan are in `kernels_rs::voronoi::baselines`.

use gpu_core::{Blocks, DeviceGrid, Gpu, GridSpec, Slice};
use kernels_rs::voronoi::baselines as kernels;

use super::MAX_BLOCKS_Y;
use crate::Result;

/// The nearest site's linear index for each pixel. The raster has at most
/// [`MAX_PIXELS`](crate::MAX_PIXELS). Scratch is 12 bytes a pixel.
pub(super) fn scan_prune(
    gpu: &Gpu,
    sites: Slice<'_, u8>,
    grid: GridSpec,
) -> Result<DeviceGrid<u32>> {
    let GridSpec { width, height, .. } = grid;
    let pixels = grid.cells() as usize;
    // SAFETY: each column is written by one kernel before the next reads it: `in_row` whole,
    // `candidates` up to `counts`, `nearest` whole. Sizes are as the kernels' safety sections say;
    // the columns are released on this stream, after the launches.
    unsafe {
        let mut in_row = gpu.uninitialized::<i32>(pixels)?;
        gpu.enqueue(
            kernels::scan_rows,
            Blocks::x(if width > 0 { height } else { 0 }),
            kernels::scan_rows::Args { sites: sites.input(), nearest: in_row.output(), width },
        )?;

        let mut candidates = gpu.uninitialized::<[i32; 2]>(pixels)?;
        let mut counts = gpu.uninitialized::<u32>(width as usize)?;
        gpu.enqueue(
            kernels::prune_columns,
            Blocks::x(if height > 0 { width } else { 0 }),
            kernels::prune_columns::Args {
                nearest: in_row.input(),
                candidates: candidates.output().cast(),
                counts: counts.output(),
                height,
            },
        )?;
        drop(in_row);

        let mut nearest = gpu.uninitialized::<u32>(pixels)?;
        let tiles = Blocks {
            x: width.div_ceil(kernels::ASSIGN_COLUMNS),
            y: height.div_ceil(kernels::ASSIGN_ROWS).min(MAX_BLOCKS_Y),
        };
        gpu.enqueue(
            kernels::assign_intervals,
            tiles,
            kernels::assign_intervals::Args {
                candidates: candidates.input().cast(),
                counts: counts.input(),
                nearest: nearest.output(),
                width,
                height,
            },
        )?;
        Ok(DeviceGrid::from_column(nearest, grid)?)
    }
}
