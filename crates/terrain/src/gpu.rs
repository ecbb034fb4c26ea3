//! The products on a GPU, over device buffers. The kernels are in `kernels_rs::terrain`.

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec};
use gpu_scan::gpu::{Workspace, reduce, scan_in_place};
use gpu_scan::{Max, Min, Scan, Sum};
use kernels_rs::terrain as kernels;

use crate::contours::{self, Contour, Segments};
use crate::params::{check, check_grid};
use crate::{Error, Levels, Light, Result, Slope};

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
    let (width, height) = check_device(dem, cell_size)?;
    let factor = how.factor(cell_size)?;
    let cells = dem.column().len();
    // SAFETY: the kernel writes every cell; lengths are as it asks.
    unsafe {
        let mut out = gpu.uninitialized::<f32>(cells)?;
        gpu.launch(
            kernels::slope,
            Blocks::for_each(&kernels::slope, cells as u64)?,
            0,
            (
                dem.column().as_ptr(),
                width,
                height,
                factor,
                u32::from(how.edges.is_level()),
                how.unit(),
                out.as_mut_ptr(),
            ),
        )?;
        Ok(DeviceGrid::new(out, width, height)?)
    }
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
    let (width, height) = check_device(dem, cell_size)?;
    let (factor, [east, south, up]) = light.direction(cell_size)?;
    let cells = dem.column().len();
    // SAFETY: the kernel writes every cell; lengths are as it asks.
    unsafe {
        let mut out = gpu.uninitialized::<f32>(cells)?;
        gpu.launch(
            kernels::hillshade,
            Blocks::for_each(&kernels::hillshade, cells as u64)?,
            0,
            (
                dem.column().as_ptr(),
                width,
                height,
                factor,
                u32::from(light.edges.is_level()),
                east,
                south,
                up,
                out.as_mut_ptr(),
            ),
        )?;
        Ok(DeviceGrid::new(out, width, height)?)
    }
}

/// Checks a DEM and gives its sides.
fn check_device(dem: &DeviceGrid<f32>, cell_size: f64) -> Result<(u32, u32)> {
    let (width, height) = (dem.width(), dem.height());
    check_grid(&GridSpec { origin_x: 0.0, origin_y: 0.0, cell_size, width, height })?;
    Ok((width, height))
}

/// The contour lines of a DEM in device memory. The device finds their pieces, the host joins them.
/// Waits for the stream.
///
/// # Errors
/// As [`contours`](fn@crate::contours); [`Error::Shape`] unless the DEM has the grid's sides.
pub fn contours(
    gpu: &Gpu,
    dem: &DeviceGrid<f32>,
    grid: &GridSpec,
    levels: &Levels,
) -> Result<Vec<Contour>> {
    check_grid(grid)?;
    levels.check()?;
    if (dem.width(), dem.height()) != (grid.width, grid.height) {
        let found = dem.column().len() as u64;
        return Err(Error::Shape { expected: grid.cells(), found });
    }
    let mut workspace = Workspace::new(gpu)?;
    let (low, high) = match levels.needs_range() {
        true => range(&mut workspace, dem.column())?,
        false => (0.0, 0.0),
    };
    let levels = levels.within(low, high)?;
    let segments = segments(&mut workspace, dem, &levels)?;
    let host = dem.column().to_host()?;
    Ok(contours::join(&host, grid, &levels, &segments))
}

/// The lowest and the highest value; the wrong way round where there is none.
fn range(workspace: &mut Workspace, dem: &Column<f32>) -> Result<(f64, f64)> {
    let mut range = workspace.gpu().zeroed::<f32>(2)?;
    reduce(workspace, Min, dem, range.slice_mut(0..1)?)?;
    reduce(workspace, Max, dem, range.slice_mut(1..2)?)?;
    let range = range.to_host()?;
    Ok((range[0].into(), range[1].into()))
}

/// The pieces of all lines, square by square.
fn segments(workspace: &mut Workspace, dem: &DeviceGrid<f32>, levels: &[f64]) -> Result<Segments> {
    let (width, height) = (dem.width(), dem.height());
    if width < 2 || height < 2 || levels.is_empty() {
        return Ok(Segments::default());
    }
    let gpu = workspace.gpu().clone();
    let squares = (width as usize - 1) * (height as usize - 1);
    let level_count = levels.len() as u32;
    let levels = gpu.upload(levels)?;
    let blocks = Blocks::for_each(&kernels::count_segments, squares as u64)?;
    // SAFETY: lengths are as the kernels ask; counts are written whole, and one after them.
    unsafe {
        let mut places = gpu.uninitialized::<u64>(squares + 1)?;
        let end = places.as_mut_ptr().wrapping_add(squares);
        gpu.fill_with_byte(end, 0, 1)?;
        gpu.launch(
            kernels::count_segments,
            blocks,
            0,
            (
                dem.column().as_ptr(),
                width,
                height,
                levels.as_ptr(),
                level_count,
                places.as_mut_ptr(),
            ),
        )?;
        scan_in_place(workspace, Sum, Scan::exclusive(0), &mut places)?;
        let mut total = gpu.zeroed::<u64>(1)?;
        reduce(workspace, Max, places.slice(squares..squares + 1)?, total.slice_mut(0..1)?)?;
        let pieces = total.to_host()?[0] as usize;
        let mut level_of = gpu.uninitialized::<u32>(pieces)?;
        let mut from = gpu.uninitialized::<u64>(pieces)?;
        let mut to = gpu.uninitialized::<u64>(pieces)?;
        gpu.launch(
            kernels::write_segments,
            blocks,
            0,
            (
                dem.column().as_ptr(),
                width,
                height,
                levels.as_ptr(),
                level_count,
                places.as_ptr(),
                level_of.as_mut_ptr(),
                from.as_mut_ptr(),
                to.as_mut_ptr(),
            ),
        )?;
        Ok(Segments { level: level_of.to_host()?, from: from.to_host()?, to: to.to_host()? })
    }
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
