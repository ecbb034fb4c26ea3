//! The Voronoi diagram on a GPU, over device buffers.
//!
//! The kernels, with the plan of the algorithm, are in `kernels_rs::voronoi`. A diagram takes 12
//! bytes of scratch a pixel beside its 4-byte result, and three launches.

mod monotone;
mod outputs;
mod transform;

use gpu_core::{Blocks, DeviceGrid, Gpu, Progress};
use kernels_rs::voronoi as kernels;

pub use monotone::{Bits, Winners};
pub use outputs::DeviceIntegers;
pub(crate) use transform::transform;

use crate::metric::Metric;
use crate::params::{Algorithm, check_raster, check_size};
use crate::{Error, Outputs, Result, Voronoi};

/// Most blocks of a grid in y; the kernels stride over the rest.
const MAX_BLOCKS_Y: u32 = 65_535;

/// The nearest site's linear index (row * width + column) for each pixel of a device mask, or
/// [`NONE`](crate::NONE): the same bits as the CPU's. Enqueues and returns.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::Core`].
pub fn nearest_sites(gpu: &Gpu, sites: &DeviceGrid<u8>) -> Result<DeviceGrid<u32>> {
    nearest_sites_by(gpu, sites, Algorithm::Auto)
}

/// [`nearest_sites`] by an algorithm of the caller's choice: the same bits by each.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::Core`].
pub fn nearest_sites_by(
    gpu: &Gpu,
    sites: &DeviceGrid<u8>,
    algorithm: Algorithm,
) -> Result<DeviceGrid<u32>> {
    let (width, height) = (sites.width(), sites.height());
    check_size(width, height)?;
    match algorithm {
        Algorithm::ScanPrune => scan_prune(gpu, sites),
        Algorithm::Auto | Algorithm::Monotone => {
            let bits = monotone::Bits::from_mask(gpu, sites)?;
            let metric = Metric::pixels(width, height);
            match monotone::Winners::find(gpu, &bits, metric)?.indices(gpu)? {
                DeviceIntegers::U32(nearest) => Ok(nearest),
                DeviceIntegers::U64(_) => Err(Error::TooLarge { width, height }),
            }
        }
    }
}

/// The paper's method; see `kernels_rs::voronoi`.
fn scan_prune(gpu: &Gpu, sites: &DeviceGrid<u8>) -> Result<DeviceGrid<u32>> {
    let (width, height) = (sites.width(), sites.height());
    let pixels = check_size(width, height)? as usize;
    let sites = gpu.admit(sites.column())?;

    // SAFETY: each column is written by one kernel before the next reads it: `in_row` whole,
    // `candidates` up to `counts`, `nearest` whole. Sizes are as the kernels' safety sections ask;
    // the columns are released on this stream, after the launches.
    unsafe {
        let mut in_row = gpu.uninitialized::<i32>(pixels)?;
        gpu.launch(
            kernels::row_nearest,
            Blocks::x(if width > 0 { height } else { 0 }),
            kernels::ROW_SHARED,
            (sites.as_ptr(), in_row.as_mut_ptr(), width),
        )?;

        let mut candidates = gpu.uninitialized::<[i32; 2]>(pixels)?;
        let mut counts = gpu.uninitialized::<u32>(width as usize)?;
        gpu.launch(
            kernels::column_envelope,
            Blocks::x(if height > 0 { width } else { 0 }),
            kernels::COLUMN_SHARED,
            (in_row.as_ptr(), candidates.as_mut_ptr().cast(), counts.as_mut_ptr(), height),
        )?;
        drop(in_row);

        let mut nearest = gpu.uninitialized::<u32>(pixels)?;
        let tiles = Blocks {
            x: width.div_ceil(kernels::ASSIGN_COLUMNS),
            y: height.div_ceil(kernels::ASSIGN_ROWS).min(MAX_BLOCKS_Y),
        };
        gpu.launch(
            kernels::assign_intervals,
            tiles,
            0,
            (candidates.as_ptr().cast(), counts.as_ptr(), nearest.as_mut_ptr(), width, height),
        )?;
        Ok(DeviceGrid::new(nearest, width, height)?)
    }
}

/// The exact squared distance, in pixels, to the sites of a diagram; `u64::MAX` where there is
/// none, or an index that is no pixel's. Enqueues and returns.
///
/// # Errors
/// [`Error::Core`].
pub fn squared_distances(gpu: &Gpu, nearest: &DeviceGrid<u32>) -> Result<DeviceGrid<u64>> {
    let (width, height) = (nearest.width(), nearest.height());
    let pixels = check_size(width, height)?;
    let nearest = gpu.admit(nearest.column())?;
    // SAFETY: the kernel writes every element; both columns have `pixels` elements.
    unsafe {
        let mut squared = gpu.uninitialized(pixels as usize)?;
        gpu.launch(
            kernels::squared_distances,
            Blocks::for_each(&kernels::squared_distances, pixels)?,
            0,
            (nearest.as_ptr(), squared.as_mut_ptr(), width, pixels as u32),
        )?;
        Ok(DeviceGrid::new(squared, width, height)?)
    }
}

/// The distance, in pixels, to the sites of a diagram; infinite where there is none, or an index that
/// is no pixel's. Enqueues and returns.
///
/// # Errors
/// [`Error::Core`].
pub fn distances(gpu: &Gpu, nearest: &DeviceGrid<u32>) -> Result<DeviceGrid<f32>> {
    let (width, height) = (nearest.width(), nearest.height());
    let pixels = check_size(width, height)?;
    let nearest = gpu.admit(nearest.column())?;
    // SAFETY: the kernel writes every element; both columns have `pixels` elements.
    unsafe {
        let mut distance = gpu.uninitialized(pixels as usize)?;
        gpu.launch(
            kernels::distances,
            Blocks::for_each(&kernels::distances, pixels)?,
            0,
            (nearest.as_ptr(), distance.as_mut_ptr(), width, pixels as u32),
        )?;
        Ok(DeviceGrid::new(distance, width, height)?)
    }
}

/// [`voronoi`](crate::voronoi) on a GPU, from a host mask to host arrays. Waits for the result.
///
/// # Errors
/// As [`voronoi`](crate::voronoi).
pub fn voronoi(
    gpu: &Gpu,
    sites: &[u8],
    width: u32,
    height: u32,
    outputs: Outputs,
    progress: &dyn Progress,
) -> Result<Voronoi> {
    check_raster(sites, width, height)?;
    let report = |fraction| match progress.report("voronoi", fraction) {
        std::ops::ControlFlow::Continue(()) => Ok(()),
        std::ops::ControlFlow::Break(()) => Err(Error::Cancelled),
    };
    report(0.0)?;
    let sites = gpu.upload_grid(sites, width, height)?;
    let nearest = nearest_sites(gpu, &sites)?;
    let squared_distance = match outputs.squared_distance {
        true => Some(squared_distances(gpu, &nearest)?.into_column().to_host()?),
        false => None,
    };
    let distance = match outputs.distance {
        true => Some(distances(gpu, &nearest)?.into_column().to_host()?),
        false => None,
    };
    let nearest = nearest.into_column().to_host()?;
    report(1.0)?;
    Ok(Voronoi { width, height, nearest, squared_distance, distance })
}
