//! Natural neighbour interpolation on a GPU, over device buffers.
//!
//! The kernels, with the plan of the algorithm, are in `kernels_rs::nni` and
//! `kernels_rs::voronoi`. A call takes about 25 bytes of scratch for each pixel of the Voronoi
//! raster at its peak.

use std::ops::ControlFlow;

use gpu_core::{Blocks, Column, DeviceGrid, Gpu, GridSpec, Progress};
use kernels_rs::nni as kernels;
use kernels_rs::nni::geometry::Width;

use crate::{
    Circle, Dem, Duplicates, Error, Params, Points, QueryLimits, Result, Summary, ValueScale,
};

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
    /// The kernels' tallies: see [`DeviceDem::summary`].
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
        let of = |tally: usize| u64::from(tallies[tally]);
        let (outside, sites) = (of(kernels::OUTSIDE), of(kernels::SITES));
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
    let mut tallies = gpu.zeroed::<u32>(kernels::TALLIES)?;
    let (mask, values) = rasterise(gpu, points, params, &mut tallies)?;
    let nearest = pba_voronoi::gpu::nearest_sites(gpu, &mask)?;
    drop(mask);
    let sites = Sites { nearest, values, tallies, scale: points.scale };
    let (values, counts) = query(gpu, &sites, &limits, params)?;
    Ok(DeviceDem { values, counts, tallies: sites.tallies, points: points.len() as u64 })
}

/// The Voronoi diagram of the points, and the values of its sites.
struct Sites {
    nearest: DeviceGrid<u32>,
    values: Column<i32>,
    tallies: Column<u32>,
    scale: ValueScale,
}

/// The mask of the occupied pixels of the Voronoi raster, and their values.
fn rasterise(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
    tallies: &mut Column<u32>,
) -> Result<(DeviceGrid<u8>, Column<i32>)> {
    let raster = params.raster()?;
    let pixels = raster.cells();
    let policy = policy_of(params.duplicates);
    let mut words = gpu.filled_with_byte::<i64>(kernels::neutral_byte(policy), pixels as usize)?;
    accumulate(gpu, points, &raster, policy, &mut words, tallies)?;
    let crowd = match policy {
        kernels::MEAN if points.len() as u64 > kernels::UNCROWDED => {
            Some(Crowd::count(gpu, points, &raster, tallies)?)
        }
        _ => None,
    };
    // SAFETY: lengths are as the kernel asks; `mask` and `values` are written whole; where there is
    // no crowd no word has wrapped, so the kernel does not look at it; what is dropped here is
    // released on the stream, after the launch.
    unsafe {
        let mut mask = gpu.uninitialized::<u8>(pixels as usize)?;
        let mut values = gpu.uninitialized::<i32>(pixels as usize)?;
        gpu.launch(
            kernels::resolve_sites,
            Blocks::for_each(&kernels::resolve_sites, pixels.div_ceil(kernels::RESOLVED))?,
            0,
            (
                words.as_ptr(),
                crowd.as_ref().map_or(std::ptr::null(), |crowd| crowd.counts.as_ptr()),
                crowd.as_ref().map_or(std::ptr::null(), |crowd| crowd.sums.as_ptr()),
                points.z.as_ptr(),
                points.scale.offset,
                1.0 / points.scale.step,
                policy,
                pixels,
                mask.as_mut_ptr(),
                values.as_mut_ptr(),
                tallies.as_mut_ptr(),
            ),
        )?;
        Ok((DeviceGrid::new(mask, raster.width, raster.height)?, values))
    }
}

/// Merges the points into the words of their pixels.
fn accumulate(
    gpu: &Gpu,
    points: &DevicePoints,
    raster: &GridSpec,
    policy: u32,
    words: &mut Column<i64>,
    tallies: &mut Column<u32>,
) -> Result<()> {
    // SAFETY: lengths are as the kernel asks, and the scale is that of the values.
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
                0,
                raster.origin_x,
                raster.origin_y,
                raster.cell_size,
                raster.width,
                raster.height,
                points.scale.offset,
                1.0 / points.scale.step,
                policy,
                words.as_mut_ptr(),
                tallies.as_mut_ptr(),
            ),
        )?;
    }
    Ok(())
}

/// Counts and sums for pixels with very many points; without meaning where no word wrapped.
struct Crowd {
    counts: Column<u32>,
    sums: Column<i64>,
}

impl Crowd {
    /// Blocks for each multiprocessor: the kernels mostly return at once.
    const RESIDENT: u32 = 4;

    fn count(
        gpu: &Gpu,
        points: &DevicePoints,
        raster: &GridSpec,
        tallies: &Column<u32>,
    ) -> Result<Self> {
        let pixels = raster.cells();
        let blocks = Blocks::x(gpu.multiprocessors() * Self::RESIDENT);
        // SAFETY: lengths are as the kernels ask; the arrays are cleared before they are counted in,
        // both only where a word wrapped, and are not read where none did.
        unsafe {
            let mut counts = gpu.uninitialized::<u32>(pixels as usize)?;
            let mut sums = gpu.uninitialized::<i64>(pixels as usize)?;
            let (flags, count, sum) = (tallies.as_ptr(), counts.as_mut_ptr(), sums.as_mut_ptr());
            gpu.launch(kernels::clear_crowded, blocks, 0, (flags, count, sum, pixels))?;
            gpu.launch(
                kernels::accumulate_crowded,
                blocks,
                0,
                (
                    flags,
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
                    1.0 / points.scale.step,
                    count,
                    sum,
                ),
            )?;
            Ok(Self { counts, sums })
        }
    }
}

/// The value of every cell and, if asked for, its pixels.
fn query(
    gpu: &Gpu,
    sites: &Sites,
    limits: &QueryLimits,
    params: &Params,
) -> Result<(DeviceGrid<f32>, Option<DeviceGrid<u32>>)> {
    let grid = params.grid;
    let cells = grid.cells() as usize;
    // SAFETY: the kernels write every cell.
    unsafe {
        let mut values = gpu.uninitialized::<f32>(cells)?;
        let mut counts = match params.counts {
            true => Some(gpu.uninitialized::<u32>(cells)?),
            false => None,
        };
        if cells > 0 {
            let dem = values.as_mut_ptr();
            let counts = counts.as_mut().map_or(std::ptr::null_mut(), Column::as_mut_ptr);
            match limits.small_circle() {
                Some(circle) => query_tiles(gpu, sites, limits, circle, params, dem, counts)?,
                None => query_spans(gpu, sites, limits, params, dem, counts)?,
            }
        }
        let in_grid = |counts| DeviceGrid::new(counts, grid.width, grid.height);
        let counts = counts.map(in_grid).transpose()?;
        Ok((DeviceGrid::new(values, grid.width, grid.height)?, counts))
    }
}

/// The query of a small circle.
///
/// # Safety
/// `dem` and, unless null, `counts` have an element for each cell of the grid, which has some.
unsafe fn query_tiles(
    gpu: &Gpu,
    sites: &Sites,
    limits: &QueryLimits,
    circle: &Circle,
    params: &Params,
    dem: *mut f32,
    counts: *mut u32,
) -> Result<()> {
    let (grid, supersample) = (params.grid, params.supersample);
    let spans = gpu.enqueue_upload(&circle.spans)?;
    let reach = (circle.spans.len() / 2) as u32;
    let shape = kernels::TileShape::of(supersample, reach);
    let tiles = |side: u32, log2: u32| u64::from(side.div_ceil(1 << log2));
    let tiles = tiles(grid.width, shape.columns_log2) * tiles(grid.height, shape.rows_log2);
    // SAFETY: the lengths are as the kernel asks.
    unsafe {
        gpu.launch(
            kernels::query_tiles,
            Blocks::x(tiles as u32),
            shape.shared_bytes(supersample, reach),
            (
                sites.tallies.as_ptr(),
                sites.nearest.column().as_ptr(),
                sites.values.as_ptr(),
                spans.as_ptr(),
                spans.len() as u32,
                circle.limit as u32,
                limits.site_limit,
                grid.width,
                grid.height,
                Width::reciprocal(sites.nearest.width()),
                supersample,
                shape.columns_log2,
                shape.rows_log2,
                0,
                sites.scale.offset,
                sites.scale.step,
                dem,
                counts,
            ),
        )?;
    }
    Ok(())
}

/// The query of any circle.
///
/// # Safety
/// As [`query_tiles`].
unsafe fn query_spans(
    gpu: &Gpu,
    sites: &Sites,
    limits: &QueryLimits,
    params: &Params,
    dem: *mut f32,
    counts: *mut u32,
) -> Result<()> {
    let (grid, supersample) = (params.grid, params.supersample);
    let spans = match &limits.circle {
        Some(circle) => Some(gpu.enqueue_upload(&circle.spans)?),
        None => None,
    };
    let blocks = |side: u32, cells: u32| u64::from(side.div_ceil(cells));
    let blocks = blocks(grid.width, kernels::COLUMNS) * blocks(grid.height, kernels::ROWS);
    // SAFETY: the lengths are as the kernel asks.
    unsafe {
        gpu.launch(
            kernels::query_spans,
            Blocks::x(blocks as u32),
            0,
            (
                sites.tallies.as_ptr(),
                sites.nearest.column().as_ptr(),
                sites.values.as_ptr(),
                spans.as_ref().map_or(std::ptr::null(), Column::as_ptr),
                spans.as_ref().map_or(i32::MAX as u32, |spans| spans.len() as u32),
                limits.site_limit,
                grid.width,
                grid.height,
                Width::reciprocal(sites.nearest.width()),
                supersample,
                sites.scale.offset,
                sites.scale.step,
                dem,
                counts,
            ),
        )?;
    }
    Ok(())
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
