//! Builds of rasters in host memory on a GPU.
//!
//! A raster goes to the device, and its tree comes back, by gpu-core's copies, near the rate of the bus. The build
//! between them is a small part of the time. If the whole does not fit the device's memory, the GPU builds strips of
//! tiles one after the other, and the host merges them. The next strip goes to the device while the previous one comes
//! back.

use gpu_core::{Column, DeviceGrid, Gpu, GridSlice, GridSpec, GridView, Progress};
use gpu_scan::gpu::Workspace;

use super::build::build_of_bits;
use super::{build, build_forest};
use crate::forest::{Forest, Tiling};
use crate::{Cell, Params, Result, Tree};

/// Bytes that are copied between two reports.
const PIECE: usize = 256 << 20;

/// Cells on a side of the tiles that a raster is cut into where it does not fit the device.
const TILE_SIDE: u32 = 4096;

/// Cells that are built at once, at most: positions have 32 bits.
const MAX_CELLS: u64 = 3 << 30;

/// [`build`](crate::build()) on a GPU. Waits for the result.
pub(crate) fn build_host<T: Cell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Tree<T>> {
    params.check()?;
    Tiling::whole(*raster.grid())?;
    if needs::<T>(raster.grid()) > gpu.free_memory()? || raster.grid().cells() > MAX_CELLS {
        return build_in_strips(gpu, raster, TILE_SIDE, params, progress)?.merge();
    }
    let resident = to_device(gpu, raster, progress)?;
    let mut workspace = Workspace::new(gpu)?;
    let tree = progress.during("build", || build(&mut workspace, &resident, params))?;
    drop(resident);
    progress.during("to the host", || tree.to_host())
}

/// [`build_forest`](crate::build_forest()) on a GPU. Waits for the result.
pub(crate) fn build_forest_host<T: Cell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Forest<T>> {
    params.check()?;
    Tiling::new(*raster.grid(), tile_side)?;
    if needs::<T>(raster.grid()) > gpu.free_memory()? || raster.grid().cells() > MAX_CELLS {
        return build_in_strips(gpu, raster, tile_side, params, progress);
    }
    let resident = to_device(gpu, raster, progress)?;
    let mut workspace = Workspace::new(gpu)?;
    let build = || build_forest(&mut workspace, &resident, tile_side, params);
    let forest = progress.during("build", build)?;
    progress.during("to the host", || forest.to_host())
}

/// [`build_tile`](crate::build_tile()) on a GPU; the sides of the tile are checked. Waits for the result.
pub(crate) fn build_tile_host<T: Cell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    bits: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Tree<T>> {
    params.check()?;
    let resident = to_device(gpu, raster, progress)?;
    let mut workspace = Workspace::new(gpu)?;
    let slice = GridSlice::from(&resident);
    let build = || build_of_bits(&mut workspace, slice, bits, params);
    let forest = progress.during("build", build)?;
    drop(resident);
    progress.during("to the host", || forest.to_host())?.into_single()
}

/// Bytes that a raster and the largest tree of it would take on the device.
fn needs<T: Cell>(grid: &GridSpec) -> u64 {
    let node = size_of::<crate::Node<T>>() as u64 + 1;
    // What is kept of a square's patches, elements and counts is less than a byte a cell.
    grid.cells() * (size_of::<T>() as u64 + node + 1) + grid.cells() / 3 * node + (64 << 20)
}

/// Copies a raster to the device.
fn to_device<T: Cell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    progress: &dyn Progress,
) -> Result<DeviceGrid<T>> {
    progress.at("to the device", 0.0)?;
    let column = to_column(gpu, raster.values(), PIECE / size_of::<T>(), progress)?;
    Ok(DeviceGrid::from_column(column, *raster.grid())?)
}

/// Copies cells to a new column of a handle, this many at a time. Waits for the copies.
fn to_column<T: Cell>(
    gpu: &Gpu,
    host: &[T],
    piece: usize,
    progress: &dyn Progress,
) -> Result<Column<T>> {
    // SAFETY: all of it is written below, on the same stream.
    let mut column = unsafe { gpu.uninitialized::<T>(host.len())? };
    let mut copy = || -> Result<()> {
        for (i, part) in host.chunks(piece).enumerate() {
            progress.at("to the device", (i * piece) as f64 / host.len() as f64)?;
            let to = column.slice_mut(i * piece..i * piece + part.len())?;
            // SAFETY: the stream is waited for below, before anybody can change the cells.
            unsafe { gpu.enqueue_write(to, part)? };
        }
        Ok(())
    };
    let copied = copy();
    let waited = gpu.synchronize();
    copied.and(waited.map_err(Into::into)).map(|()| column)
}

/// Builds the trees of one row of tiles after the other, so that the device holds two strips at a time, one that is built
/// and one that comes.
pub(crate) fn build_in_strips<T: Cell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Forest<T>> {
    params.check()?;
    let tiling = Tiling::new(*raster.grid(), tile_side)?;
    let GridSpec { width, height, .. } = tiling.grid;
    let strips: Vec<GridSpec> =
        (0..tiling.rows).map(|row| GridSpec { width, ..tiling.tile(0, row) }).collect();
    let side = 1usize << tiling.bits;
    let cells = |row: usize| {
        let [from, to] = [row, row + 1].map(|r| (r * side).min(height as usize) * width as usize);
        &raster.values()[from..to]
    };
    // A stream for each of the two strips that the device has at a time.
    let handles = [gpu.fork()?, gpu.fork()?];
    let mut workspaces = [Workspace::new(&handles[0])?, Workspace::new(&handles[1])?];
    let bring = |row: usize, progress: &dyn Progress| {
        let handle = &handles[row % 2];
        match row < strips.len() {
            true => to_column(handle, cells(row), PIECE / size_of::<T>(), progress).map(Some),
            false => Ok(None),
        }
    };
    let mut trees = Vec::new();
    let mut coming = bring(0, progress)?;
    for (row, strip) in strips.iter().enumerate() {
        progress.at("build", row as f64 / strips.len() as f64)?;
        let Some(column) = coming.take() else { break };
        let slice = GridSlice::new(&column, *strip)?;
        // Also of a strip that a smaller square holds the trees are of the forest's size.
        let forest = build_of_bits(&mut workspaces[row % 2], slice, tiling.bits, params)?;
        // The next one comes while this one's nodes are written and fetched.
        let (fetched, next) =
            rayon::join(|| forest.to_host(), || bring(row + 1, &gpu_core::Silent));
        trees.extend(fetched?.trees);
        coming = next?;
    }
    for (i, tree) in trees.iter_mut().enumerate() {
        tree.grid = tiling.tile(i as u32 % tiling.columns, i as u32 / tiling.columns);
    }
    progress.at("build", 1.0)?;
    Ok(Forest { tiling, params: params.clone(), trees })
}

#[cfg(test)]
mod tests {
    use gpu_core::{Grid, GridSpec};

    use super::*;
    use crate::cpu;

    #[test]
    fn strips_merge_into_the_bytes_of_one_build() {
        let gpu = testing::gpu();
        let params = Params::new().nodata(2.0).bins([1.0, 4.0]);
        for (width, height) in [(200, 300), (40, 300), (300, 40), (65, 65)] {
            let mut random = testing::Random::new(5);
            let noise = (0..width * height).map(|i| (random.below(3) + i / 9000) as i16).collect();
            let raster =
                Grid::new(noise, GridSpec::of_pixels(width as u32, height as u32)).unwrap();
            let expected = cpu::build(raster.view(), &params, &gpu_core::Silent).unwrap();
            for side in [64, 128] {
                let forest =
                    build_in_strips(&gpu, raster.view(), side, &params, &gpu_core::Silent).unwrap();
                assert!(
                    forest
                        == cpu::build_forest(raster.view(), side, &params, &gpu_core::Silent)
                            .unwrap()
                );
                assert!(forest.merge().unwrap() == expected, "{width} x {height}, {side}");
            }
        }
    }

    #[test]
    fn a_raster_of_many_pieces_arrives_whole() {
        let gpu = testing::gpu();
        let values: Vec<u8> = (0..1000u32).map(|i| (i % 251) as u8).collect();
        let column = to_column(&gpu, &values, 96, &gpu_core::Silent).unwrap();
        assert_eq!(column.to_host().unwrap(), values);
    }
}
