//! Builds of rasters in host memory on a GPU.
//!
//! A raster goes to the device through two page-locked buffers: while one is copied to the device, the other is filled.
//! Where the device has not the memory for the whole, strips of tiles are built one after the other, the next one
//! on its way meanwhile, and their trees merged on the host.

use gpu_core::{Column, DeviceGrid, Gpu, GridSlice, GridSpec, GridView, PageLocked, Progress};
use gpu_scan::gpu::Workspace;
use rayon::prelude::*;

use super::build::build_of_bits;
use super::{DeviceCell, build, build_forest};
use crate::forest::{Forest, Tiling};
use crate::{Params, Result, Tree};

/// Bytes of a page-locked buffer.
const BUFFER: usize = 32 << 20;

/// Cells on a side of the tiles that a raster is cut into where it does not fit the device.
const TILE_SIDE: u32 = 4096;

/// Cells that are built at once, at most: positions have 32 bits.
const MOST_CELLS: u64 = 3 << 30;

/// [`build`](crate::build()) on a GPU. Waits for the result.
pub(crate) fn build_host<T: DeviceCell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Tree<T>> {
    params.check()?;
    Tiling::whole(*raster.grid())?;
    if needs::<T>(raster.grid()) > gpu.free_memory()? || raster.grid().cells() > MOST_CELLS {
        return build_in_strips(gpu, raster, TILE_SIDE, params, progress)?.merge();
    }
    let resident = to_device(gpu, raster, progress)?;
    progress.at("build", 0.6)?;
    let tree = build(&mut Workspace::new(gpu)?, &resident, params)?;
    drop(resident);
    progress.at("from the device", 0.8)?;
    let tree = tree.to_host()?;
    progress.at("from the device", 1.0)?;
    Ok(tree)
}

/// [`build_forest`](crate::build_forest()) on a GPU. Waits for the result.
pub(crate) fn build_forest_host<T: DeviceCell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    tile_side: u32,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Forest<T>> {
    params.check()?;
    Tiling::new(*raster.grid(), tile_side)?;
    if needs::<T>(raster.grid()) > gpu.free_memory()? || raster.grid().cells() > MOST_CELLS {
        return build_in_strips(gpu, raster, tile_side, params, progress);
    }
    let resident = to_device(gpu, raster, progress)?;
    progress.at("build", 0.6)?;
    let forest = build_forest(&mut Workspace::new(gpu)?, &resident, tile_side, params)?;
    progress.at("from the device", 0.8)?;
    let forest = forest.to_host()?;
    progress.at("from the device", 1.0)?;
    Ok(forest)
}

/// Bytes that a raster and the largest tree of it would take on the device.
fn needs<T: DeviceCell>(grid: &GridSpec) -> u64 {
    let node = size_of::<crate::Node<T>>() as u64 + 1;
    // What is kept of a square's patches, elements and counts is less than a byte a cell.
    grid.cells() * (size_of::<T>() as u64 + node + 1) + grid.cells() / 3 * node + (64 << 20)
}

/// Copies a raster to the device.
fn to_device<T: DeviceCell>(
    gpu: &Gpu,
    raster: GridView<'_, T>,
    progress: &dyn Progress,
) -> Result<DeviceGrid<T>> {
    progress.at("to the device", 0.0)?;
    let mut staging = Staging::new(gpu, raster.values().len())?;
    let column = staging.enqueue(gpu, raster.values(), progress)?;
    staging.wait()?;
    Ok(DeviceGrid::from_column(column, *raster.grid())?)
}

/// Two page-locked buffers, each with a stream that empties it.
struct Staging<T: DeviceCell> {
    /// Before the buffers: a stream is waited for before its buffer goes.
    streams: [Gpu; 2],
    buffers: [PageLocked<T>; 2],
}

impl<T: DeviceCell> Staging<T> {
    fn new(gpu: &Gpu, longest: usize) -> Result<Self> {
        let length = (BUFFER / size_of::<T>()).min(longest);
        Ok(Self {
            streams: [gpu.fork()?, gpu.fork()?],
            buffers: [gpu.page_locked(length)?, gpu.page_locked(length)?],
        })
    }

    /// Enqueues copies to a new column of `gpu`, whose stream waits for them. Returns when the last has been handed over.
    fn enqueue(&mut self, gpu: &Gpu, host: &[T], progress: &dyn Progress) -> Result<Column<T>> {
        // SAFETY: all of it is written by the copies, which `gpu`'s stream waits for.
        let mut column = unsafe { gpu.uninitialized::<T>(host.len())? };
        for stream in &self.streams {
            stream.wait_for(gpu)?;
        }
        let copied = self.copy(&mut column, host, progress);
        // Also where something failed: what is under way comes before the column's release.
        for stream in &self.streams {
            gpu.wait_for(stream)?;
        }
        copied.map(|()| column)
    }

    /// Enqueues the copies, through the one buffer and the other.
    fn copy(&mut self, column: &mut Column<T>, host: &[T], progress: &dyn Progress) -> Result<()> {
        let step = self.buffers[0].len().max(1);
        for (i, part) in host.chunks(step).enumerate() {
            progress.at("to the device", 0.6 * (i * step) as f64 / host.len() as f64)?;
            let (stream, buffer) = (&self.streams[i % 2], &mut self.buffers[i % 2]);
            // What the buffer held is on the device.
            stream.synchronize()?;
            let buffer = &mut buffer[..part.len()];
            let pieces = buffer.par_chunks_mut(1 << 20).zip(part.par_chunks(1 << 20));
            pieces.for_each(|(to, from)| to.copy_from_slice(from));
            let to = column.slice_mut(i * step..i * step + part.len())?;
            // SAFETY: the buffer is left alone until its stream is waited for, above or when this is dropped; the
            // column's stream was waited for.
            unsafe { stream.enqueue_write(to, buffer)? };
        }
        Ok(())
    }

    /// Waits until all copies are done.
    fn wait(&self) -> Result<()> {
        for stream in &self.streams {
            stream.synchronize()?;
        }
        Ok(())
    }
}

impl<T: DeviceCell> Drop for Staging<T> {
    fn drop(&mut self) {
        // The buffers go after this; an error is an earlier one's, which the next wait on the device reports.
        let _ = self.wait();
    }
}

/// Builds the trees of one row of tiles after the other, so that the device holds two strips at a time, one that is built
/// and one that comes.
pub(crate) fn build_in_strips<T: DeviceCell>(
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
    let longest = if strips.is_empty() { 0 } else { cells(0).len() };
    // A stream for each of the two strips, and buffers that both use.
    let handles = [gpu.fork()?, gpu.fork()?];
    let mut staging = Staging::new(gpu, longest)?;
    let mut workspaces = [Workspace::new(&handles[0])?, Workspace::new(&handles[1])?];
    let mut trees = Vec::new();
    let mut coming = match strips.first() {
        Some(_) => Some(staging.enqueue(&handles[0], cells(0), progress)?),
        None => None,
    };
    for (row, strip) in strips.iter().enumerate() {
        progress.at("build", row as f64 / strips.len() as f64)?;
        let Some(column) = coming.take() else { break };
        let slice = GridSlice::new(&column, *strip)?;
        // Also of a strip that a smaller square holds the trees are of the forest's size.
        let forest = build_of_bits(&mut workspaces[row % 2], slice, tiling.bits, params)?;
        // The next one comes while this one's nodes are written and fetched.
        if row + 1 < strips.len() {
            coming = Some(staging.enqueue(&handles[(row + 1) % 2], cells(row + 1), &())?);
        }
        trees.extend(forest.to_host()?.trees);
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
            let expected = cpu::build(raster.view(), &params, &()).unwrap();
            for side in [64, 128] {
                let forest = build_in_strips(&gpu, raster.view(), side, &params, &()).unwrap();
                assert!(forest == cpu::build_forest(raster.view(), side, &params, &()).unwrap());
                assert!(forest.merge().unwrap() == expected, "{width} x {height}, {side}");
            }
        }
    }

    #[test]
    fn a_raster_longer_than_the_buffers_arrives_whole() {
        let gpu = testing::gpu();
        let values: Vec<u8> = (0..1000u32).map(|i| (i % 251) as u8).collect();
        let mut staging = Staging::<u8>::new(&gpu, 96).unwrap();
        let column = staging.enqueue(&gpu, &values, &()).unwrap();
        staging.wait().unwrap();
        assert_eq!(column.to_host().unwrap(), values);
    }
}
