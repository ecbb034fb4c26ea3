//! Natural neighbour interpolation on a GPU, over device buffers.
//!
//! The kernels, with the plan of the algorithm, are in `kernels_rs::nni` and
//! `kernels_rs::voronoi`. A call takes about 25 bytes of scratch for each pixel of the Voronoi
//! raster at its peak.

mod query;
mod rasterise;
mod whole;

use gpu_core::{Column, DeviceGrid, Gpu};
use kernels_rs::nni as kernels;

use crate::{Params, Points, QueryLimits, Result, Summary, ValueScale};
use query::{Cells, Queries, Sites};
use rasterise::{Part, Pixels, Tallies};

pub use whole::{interpolate, interpolate_into};

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

    fn all(&self) -> Part<'_> {
        Part { x: (&self.x).into(), y: (&self.y).into(), z: (&self.z).into(), first: 0 }
    }
}

/// A DEM in device memory.
#[derive(Debug)]
pub struct DeviceDem {
    /// Elevations; NaN is NODATA.
    pub values: DeviceGrid<f32>,
    /// Pixels that went into each cell, if they were asked for.
    pub counts: Option<DeviceGrid<u32>>,
    tallies: Tallies,
    points: u64,
}

impl DeviceDem {
    /// What was read and skipped. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn summary(&self) -> Result<Summary> {
        let tallies = self.tallies.counts.to_host()?;
        Ok(summary(&tallies, self.points, self.values.column().len() as u64))
    }
}

/// The summary from the kernels' tallies.
fn summary(tallies: &[u64], points: u64, cells: u64) -> Summary {
    let (outside, sites) = (tallies[kernels::OUTSIDE], tallies[kernels::SITES]);
    // Without sites the queries count nothing.
    let nodata = if sites == 0 { cells } else { tallies[kernels::NODATA] };
    Summary { points, outside, sites, merged: points - outside - sites, nodata }
}

/// Checks points and copies them to the device. Waits for the copies.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the points, [`Error::Core`](crate::Error::Core) for
/// the device.
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
/// As [`interpolate`](crate::interpolate) for the parameters, [`Error::Core`](crate::Error::Core)
/// for the device.
pub fn interpolate_resident(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
) -> Result<DeviceDem> {
    let (limits, grid) = (QueryLimits::of(params)?, params.grid);
    let mut tallies = Tallies::new(gpu)?;
    let mut pixels = Pixels::new(gpu, params)?;
    pixels.merge(gpu, points.all(), points.scale, &mut tallies)?;
    let mut sites = diagram(gpu, pixels, points.all(), points.scale, tallies)?;
    // SAFETY: the queries write every cell.
    let mut cells = unsafe { Cells::new(gpu, &grid, params.counts)? };
    Queries::new(gpu, &limits, params, 1)?.enqueue(&mut sites, &mut cells, |_, _| Ok(()))?;
    let in_grid = |counts| DeviceGrid::new(counts, grid.width, grid.height);
    Ok(DeviceDem {
        values: DeviceGrid::new(cells.dem, grid.width, grid.height)?,
        counts: cells.counts.map(in_grid).transpose()?,
        tallies: sites.tallies,
        points: points.len() as u64,
    })
}

/// The Voronoi diagram of the points that were merged into pixels.
fn diagram(
    gpu: &Gpu,
    pixels: Pixels,
    points: Part,
    scale: ValueScale,
    mut tallies: Tallies,
) -> Result<Sites> {
    let (mask, values) = pixels.resolve(gpu, points, scale, &mut tallies)?;
    let nearest = pba_voronoi::gpu::nearest_sites(gpu, &mask)?;
    Ok(Sites { nearest, values, tallies, scale })
}
