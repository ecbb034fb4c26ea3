//! The products on a GPU, over device memory. The kernels are in `kernels_rs::terrain`.

mod contours;

use device_std::Out;
use gpu_core::{Blocks, DeviceGrid, Gpu, Grid, GridSlice, GridSpec, GridView, Progress};
use kernels_rs::terrain as kernels;

pub use contours::contours;
pub use gpu_scan::gpu::Workspace;

use crate::contour::Contour;
use crate::params::check_grid;
use crate::{ContourParams, Edges, HillshadeParams, Result, SlopeParams, SlopeUnit};

/// The [slope](crate::slope) of every cell of a DEM in device memory. Enqueues and returns; after one call it
/// can be captured.
///
/// A DEM whose elements begin at a multiple of 16 bytes, and whose width is a multiple of 4, is read faster.
///
/// # Errors
/// As [`slope`](crate::slope).
pub fn slope<'a>(
    gpu: &Gpu,
    dem: impl Into<GridSlice<'a, f32>>,
    params: &SlopeParams,
) -> Result<DeviceGrid<f32>> {
    let dem = dem.into();
    let key = (params.unit == SlopeUnit::Percent, params.edges == Edges::Level);
    let kernel = kernels::slope::find(|&of| of == key).expect("an instance for each");
    let factor_squared = params.factor_squared(dem.grid().cell_size)?;
    product(gpu, dem, params.edges, |blocks, dem, out| {
        let arguments = kernels::slope::Args { dem, factor_squared, out };
        // SAFETY: `product` gives what the kernel asks for.
        unsafe { gpu.enqueue(kernel, blocks, arguments) }
    })
}

/// The [brightness](crate::hillshade) of every cell of a DEM in device memory. Enqueues and returns; after one
/// call it can be captured. Speed is as that of [`slope`].
///
/// # Errors
/// As [`hillshade`](crate::hillshade).
pub fn hillshade<'a>(
    gpu: &Gpu,
    dem: impl Into<GridSlice<'a, f32>>,
    params: &HillshadeParams,
) -> Result<DeviceGrid<f32>> {
    let dem = dem.into();
    let is_level = params.edges == Edges::Level;
    let kernel = kernels::hillshade::find(|&of| of == is_level).expect("an instance for each");
    let shade = params.shade(dem.grid().cell_size)?;
    product(gpu, dem, params.edges, |blocks, dem, out| {
        // SAFETY: `product` gives what the kernel asks for.
        unsafe { gpu.enqueue(kernel, blocks, kernels::hillshade::Args { dem, shade, out }) }
    })
}

/// A raster beside a DEM, which `enqueue` writes whole: its blocks go over the DEM in strips.
fn product(
    gpu: &Gpu,
    dem: GridSlice<'_, f32>,
    edges: Edges,
    enqueue: impl FnOnce(Blocks, kernels::Dem<'_>, Out<'_, f32>) -> gpu_core::Result<()>,
) -> Result<DeviceGrid<f32>> {
    let grid = *dem.grid();
    check_grid(&grid)?;
    // SAFETY: written whole by the work that is enqueued next. It starts at a multiple of 256 bytes.
    let mut out = unsafe { gpu.uninitialized::<f32>(dem.values().len())? };
    let GridSpec { width, height, .. } = grid;
    let dem = kernels::Dem { heights: dem.values().input(), width, height };
    let columns = kernels::columns_of_thread(dem, edges == Edges::Level);
    let blocks = width.div_ceil(kernels::BLOCK * columns) * height.div_ceil(kernels::ROWS);
    enqueue(Blocks::x(blocks), dem, out.output())?;
    Ok(DeviceGrid::from_column(out, grid)?)
}

/// [`slope`](crate::slope) on a GPU. Waits for the result.
pub(crate) fn slope_host(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    params: &SlopeParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    through(gpu, dem, progress, "slope", |dem| Ok(slope(gpu, dem, params)?.to_host()?))
}

/// [`hillshade`](crate::hillshade) on a GPU. Waits for the result.
pub(crate) fn hillshade_host(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    params: &HillshadeParams,
    progress: &dyn Progress,
) -> Result<Grid<f32>> {
    through(gpu, dem, progress, "hillshade", |dem| Ok(hillshade(gpu, dem, params)?.to_host()?))
}

/// [`contours`](fn@crate::contours) on a GPU. Waits for the result.
pub(crate) fn contours_host(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    params: &ContourParams,
    progress: &dyn Progress,
) -> Result<Vec<Contour>> {
    through(gpu, dem, progress, "contours", |dem| contours(&mut Workspace::new(gpu)?, dem, params))
}

/// Copies a DEM to the device, lets `work` make something of it, and tells the caller of both.
fn through<T>(
    gpu: &Gpu,
    dem: GridView<'_, f32>,
    progress: &dyn Progress,
    stage: &'static str,
    work: impl FnOnce(GridSlice<'_, f32>) -> Result<T>,
) -> Result<T> {
    check_grid(dem.grid())?;
    progress.at("to the device", 0.0)?;
    let resident = DeviceGrid::upload(gpu, dem)?;
    progress.during(stage, || work((&resident).into()))
}
