//! Natural neighbour interpolation on a GPU, over device buffers.
//!
//! The kernels, with the plan of the algorithm, are in `kernels_rs::nni` and
//! `kernels_rs::voronoi`. A call takes about 37 bytes of scratch for each pixel of the Voronoi
//! raster at its peak.

use std::ops::ControlFlow;

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, Progress};
use kernels_rs::nni as kernels;

use crate::limits::QueryLimits;
use crate::{Dem, Duplicates, Error, Params, Points, Result, Summary, ValueScale};

/// Points in device memory, checked.
#[derive(Debug)]
pub struct DevicePoints {
    x: Column<f64>,
    y: Column<f64>,
    z: Column<f64>,
    scale: ValueScale,
}

impl DevicePoints {
    /// Points.
    pub fn len(&self) -> usize {
        self.z.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.z.is_empty()
    }
}

/// A DEM in device memory.
#[derive(Debug)]
pub struct DeviceDem {
    /// Elevations; NaN is NODATA.
    pub values: DeviceGrid<f32>,
    /// Pixels that went into each cell, if they were asked for.
    pub counts: Option<DeviceGrid<u32>>,
    /// Points outside the grid, then sites: see [`DeviceDem::summary`].
    tallies: Column<u32>,
    points: u64,
}

impl DeviceDem {
    /// What was read and skipped; `nodata` is left at 0. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn summary(&self) -> Result<Summary> {
        let tallies = self.tallies.to_host()?;
        let (outside, sites) = (u64::from(tallies[0]), u64::from(tallies[1]));
        let merged = self.points - outside - sites;
        Ok(Summary { points: self.points, outside, sites, merged, nodata: 0 })
    }
}

/// Checks points and copies them to the device. Waits for the copies.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the points, [`Error::Core`] for the device.
pub fn upload(gpu: &Gpu, points: Points) -> Result<DevicePoints> {
    points.check()?;
    Ok(DevicePoints {
        x: gpu.upload(points.x)?,
        y: gpu.upload(points.y)?,
        z: gpu.upload(points.z)?,
        scale: ValueScale::of(points.z),
    })
}

/// The DEM of points that are in device memory. Enqueues and returns.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the parameters, [`Error::Core`] for the device.
pub fn interpolate_resident(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
) -> Result<DeviceDem> {
    let limits = QueryLimits::of(params)?;
    let mut tallies = gpu.zeroed::<u32>(2)?;
    let (mask, values) = rasterise(gpu, points, params, &mut tallies)?;
    let nearest = pba_voronoi::gpu::nearest_sites(gpu, &mask)?;
    drop(mask);
    let records = gather(gpu, &nearest, &values)?;
    drop((nearest, values));
    query(gpu, &records, &limits, params, points, tallies)
}

/// The mask of the occupied pixels of the Voronoi raster, and their values.
fn rasterise(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
    tallies: &mut Column<u32>,
) -> Result<(DeviceGrid<u8>, Column<i32>)> {
    let raster = params.grid.refined(params.supersample)?;
    let pixels = raster.cells();
    let policy = policy_of(params.duplicates);
    let reciprocal_step = 1.0 / points.scale.step;
    let mut counts = gpu.zeroed::<u32>(pixels as usize)?;
    let mut accumulators =
        gpu.filled_with_byte::<i64>(kernels::neutral_byte(policy), pixels as usize)?;
    let (outside, sites) = (tallies.as_mut_ptr(), tallies.as_mut_ptr().wrapping_add(1));

    // SAFETY: lengths are as the kernels ask; `mask` and `values` are written whole; what is
    // dropped here is released on the stream, after the launches.
    unsafe {
        gpu.launch(
            kernels::accumulate_points,
            Blocks::for_each(&kernels::accumulate_points, points.len() as u64)?,
            0,
            (
                points.x.as_ptr(),
                points.y.as_ptr(),
                points.z.as_ptr(),
                points.len() as u64,
                raster.origin_x,
                raster.origin_y,
                raster.cell_size,
                raster.width,
                raster.height,
                points.scale.offset,
                reciprocal_step,
                policy,
                counts.as_mut_ptr(),
                accumulators.as_mut_ptr(),
                outside,
            ),
        )?;
        let mut mask = gpu.uninitialized::<u8>(pixels as usize)?;
        let mut values = gpu.uninitialized::<i32>(pixels as usize)?;
        gpu.launch(
            kernels::resolve_sites,
            Blocks::for_each(&kernels::resolve_sites, pixels)?,
            0,
            (
                counts.as_ptr(),
                accumulators.as_ptr(),
                points.z.as_ptr(),
                points.scale.offset,
                reciprocal_step,
                policy,
                pixels as u32,
                mask.as_mut_ptr(),
                values.as_mut_ptr(),
                sites,
            ),
        )?;
        Ok((DeviceGrid::new(mask, raster.width, raster.height)?, values))
    }
}

/// What a query asks of each pixel, in one record.
fn gather(
    gpu: &Gpu,
    nearest: &DeviceGrid<u32>,
    values: &Column<i32>,
) -> Result<DeviceGrid<[u32; 4]>> {
    let pixels = nearest.column().len();
    // SAFETY: all have one element per pixel; a record is four words.
    unsafe {
        let mut records = gpu.uninitialized::<[u32; 4]>(pixels)?;
        gpu.launch(
            kernels::gather_sites,
            Blocks::for_each(&kernels::gather_sites, pixels as u64)?,
            0,
            (
                nearest.column().as_ptr(),
                values.as_ptr(),
                records.as_mut_ptr().cast(),
                nearest.width(),
                pixels as u32,
            ),
        )?;
        Ok(DeviceGrid::new(records, nearest.width(), nearest.height())?)
    }
}

/// The grid query.
fn query(
    gpu: &Gpu,
    records: &DeviceGrid<[u32; 4]>,
    limits: &QueryLimits,
    params: &Params,
    points: &DevicePoints,
    tallies: Column<u32>,
) -> Result<DeviceDem> {
    let grid = params.grid;
    let cells = grid.cells();
    let spans = gpu.enqueue_upload(&limits.spans)?;
    // SAFETY: the kernel writes every cell; lengths are as it asks.
    unsafe {
        let mut values = gpu.uninitialized::<f32>(cells as usize)?;
        let mut counts = match params.counts {
            true => Some(gpu.uninitialized::<u32>(cells as usize)?),
            false => None,
        };
        gpu.launch(
            kernels::query_cells,
            Blocks::for_each(&kernels::query_cells, cells)?,
            0,
            (
                tallies.as_ptr().wrapping_add(1),
                records.column().as_ptr().cast(),
                spans.as_ptr(),
                spans.len() as u32,
                grid.width,
                cells as u32,
                params.supersample,
                records.height(),
                limits.site_limit,
                points.scale.offset,
                points.scale.step,
                values.as_mut_ptr(),
                counts.as_mut().map_or(std::ptr::null_mut(), Column::as_mut_ptr),
            ),
        )?;
        let in_grid = |counts| DeviceGrid::new(counts, grid.width, grid.height);
        Ok(DeviceDem {
            values: DeviceGrid::new(values, grid.width, grid.height)?,
            counts: counts.map(in_grid).transpose()?,
            tallies,
            points: points.len() as u64,
        })
    }
}

fn policy_of(duplicates: Duplicates) -> u32 {
    match duplicates {
        Duplicates::Mean => kernels::MEAN,
        Duplicates::Min => kernels::MIN,
        Duplicates::Max => kernels::MAX,
        Duplicates::First => kernels::FIRST,
        Duplicates::Last => kernels::LAST,
    }
}

/// [`interpolate`](crate::interpolate) on a GPU, from host columns to a host array. Waits for the
/// result.
///
/// # Errors
/// As [`interpolate`](crate::interpolate).
pub fn interpolate(
    gpu: &Gpu,
    points: Points,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Dem> {
    let report = |stage, fraction| match progress.report(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    };
    QueryLimits::of(params)?;
    report("to the device", 0.0)?;
    let resident = upload(gpu, points)?;
    report("to the device", 1.0)?;
    report("interpolate", 0.0)?;
    let dem = interpolate_resident(gpu, &resident, params)?;
    gpu.synchronize()?;
    report("interpolate", 1.0)?;
    report("to the host", 0.0)?;
    let mut summary = dem.summary()?;
    let counts = dem.counts.map(|counts| counts.into_column().to_host()).transpose()?;
    let values = dem.values.into_column().to_host()?;
    summary.nodata = values.iter().filter(|value| value.is_nan()).count() as u64;
    report("to the host", 1.0)?;
    Ok(Dem { grid: params.grid, values, counts, summary })
}
