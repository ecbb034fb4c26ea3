//! The products on a GPU, over device buffers. The kernels are in `kernels_rs::terrain`.

mod contours;

use gpu_core::{Blocks, DeviceGrid, Gpu, GridSpec};
use kernels_rs::terrain as kernels;

use crate::contours::Contour;
use crate::params::{check, check_grid};
use crate::{Edges, Levels, Light, Result, Slope, SlopeUnit};

pub use contours::contours;

/// The slope of every cell of a DEM in device memory. Enqueues and returns.
///
/// # Errors
/// As [`slope`](crate::slope).
pub fn slope(
    gpu: &Gpu,
    dem: &DeviceGrid<f32>,
    cell_size: f64,
    how: &Slope,
) -> Result<DeviceGrid<f32>> {
    let kernel = match (how.unit, how.edges) {
        (SlopeUnit::Degrees, Edges::Nodata) => kernels::slope_degrees,
        (SlopeUnit::Degrees, Edges::Level) => kernels::slope_degrees_level,
        (SlopeUnit::Percent, Edges::Nodata) => kernels::slope_percent,
        (SlopeUnit::Percent, Edges::Level) => kernels::slope_percent_level,
    };
    let factor_squared = how.factor_squared(cell_size)?;
    let launch = |Sides { dem, width, height, blocks, out }: Sides| {
        // SAFETY: lengths are as the kernel asks.
        unsafe { gpu.launch(kernel, blocks, 0, (dem, width, height, factor_squared, out)) }
    };
    // SAFETY: the kernel writes every cell.
    unsafe { product(gpu, dem, cell_size, how.edges, launch) }
}

/// The brightness of every cell of a DEM in device memory. Enqueues and returns.
///
/// # Errors
/// As [`hillshade`](crate::hillshade).
pub fn hillshade(
    gpu: &Gpu,
    dem: &DeviceGrid<f32>,
    cell_size: f64,
    light: &Light,
) -> Result<DeviceGrid<f32>> {
    let kernel = match light.edges {
        Edges::Nodata => kernels::hillshade,
        Edges::Level => kernels::hillshade_level,
    };
    let kernels::Shade { factor_squared, light: [east, south, up] } = light.shade(cell_size)?;
    let launch = |Sides { dem, width, height, blocks, out }: Sides| {
        let arguments = (dem, width, height, factor_squared, east, south, up, out);
        // SAFETY: lengths are as the kernel asks.
        unsafe { gpu.launch(kernel, blocks, 0, arguments) }
    };
    // SAFETY: the kernel writes every cell.
    unsafe { product(gpu, dem, cell_size, light.edges, launch) }
}

/// What the kernels of all products take.
struct Sides {
    dem: *const f32,
    width: u32,
    height: u32,
    blocks: Blocks,
    out: *mut f32,
}

/// A raster beside a DEM, which `launch` writes.
///
/// # Safety
/// `launch` enqueues writing every cell, or gives an error.
unsafe fn product(
    gpu: &Gpu,
    dem: &DeviceGrid<f32>,
    cell_size: f64,
    edges: Edges,
    launch: impl FnOnce(Sides) -> gpu_core::Result<()>,
) -> Result<DeviceGrid<f32>> {
    let (width, height) = (dem.width(), dem.height());
    check_grid(&GridSpec { origin_x: 0.0, origin_y: 0.0, cell_size, width, height })?;
    // SAFETY: passed on to the caller.
    let mut out = unsafe { gpu.uninitialized::<f32>(dem.column().len())? };
    let dem = gpu.admit(dem.column())?;
    let columns = kernels::columns_of_thread(width, edges == Edges::Level);
    let blocks = width.div_ceil(kernels::THREADS * columns) * height.div_ceil(kernels::ROWS);
    launch(Sides {
        dem: dem.as_ptr(),
        width,
        height,
        blocks: Blocks::x(blocks),
        out: out.as_mut_ptr(),
    })?;
    Ok(DeviceGrid::new(out, width, height)?)
}

/// [`slope`](crate::slope) on a GPU, from host to host. Waits for the result.
///
/// # Errors
/// As [`slope`](crate::slope).
pub fn slope_of_host(gpu: &Gpu, dem: &[f32], grid: &GridSpec, how: &Slope) -> Result<Vec<f32>> {
    let resident = upload(gpu, dem, grid)?;
    Ok(slope(gpu, &resident, grid.cell_size, how)?.into_column().to_host()?)
}

/// [`hillshade`](crate::hillshade) on a GPU, from host to host. Waits for the result.
///
/// # Errors
/// As [`hillshade`](crate::hillshade).
pub fn hillshade_of_host(
    gpu: &Gpu,
    dem: &[f32],
    grid: &GridSpec,
    light: &Light,
) -> Result<Vec<f32>> {
    let resident = upload(gpu, dem, grid)?;
    Ok(hillshade(gpu, &resident, grid.cell_size, light)?.into_column().to_host()?)
}

/// [`contours`](fn@crate::contours) on a GPU, from host to host. Waits for the result.
///
/// # Errors
/// As [`contours`](fn@crate::contours).
pub fn contours_of_host(
    gpu: &Gpu,
    dem: &[f32],
    grid: &GridSpec,
    levels: &Levels,
) -> Result<Vec<Contour>> {
    contours(gpu, &upload(gpu, dem, grid)?, grid, levels)
}

fn upload(gpu: &Gpu, dem: &[f32], grid: &GridSpec) -> Result<DeviceGrid<f32>> {
    check(dem, grid)?;
    Ok(gpu.upload_grid(dem, grid.width, grid.height)?)
}
