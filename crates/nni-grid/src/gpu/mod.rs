//! Natural neighbour interpolation on a GPU, over device buffers.
//!
//! The kernels, with the plan of the algorithm, are in `kernels_rs::nni` and
//! `kernels_rs::voronoi`. A call takes about 25 bytes of scratch for each pixel of the Voronoi
//! raster at its peak.

mod finish;
mod query;
mod rasterise;
mod weighted;
mod whole;

use gpu_core::{Column, DeviceGrid, Gpu};
use kernels_rs::nni as kernels;

use crate::{Params, Points, QueryLimits, Result, Summary, ValueScale, Weights};
use query::{Cells, Queries, Sites};
use rasterise::{Part, Pixels, Tallies};

pub use whole::{interpolate, interpolate_all, interpolate_into};

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
    /// As [`Dem::distances`](crate::Dem::distances).
    pub distances: Option<DeviceGrid<f32>>,
    /// As [`Dem::deviations`](crate::Dem::deviations).
    pub deviations: Option<DeviceGrid<f32>>,
    tallies: Tallies,
    points: u64,
    is_finished: bool,
}

impl DeviceDem {
    /// What was read and skipped. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn summary(&self) -> Result<Summary> {
        let tallies = self.tallies.counts.to_host()?;
        let cells = self.values.column().len() as u64;
        Ok(summary(&tallies, self.points, cells, self.is_finished))
    }
}

/// The summary from the kernels' tallies. Cells were counted again where they were finished.
fn summary(tallies: &[u64], points: u64, cells: u64, is_finished: bool) -> Summary {
    let (outside, sites) = (tallies[kernels::OUTSIDE], tallies[kernels::SITES]);
    let nodata = match sites {
        _ if is_finished => tallies[kernels::LEFT],
        // Without sites the queries count nothing.
        0 => cells,
        _ => tallies[kernels::NODATA],
    };
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

/// The DEM of points that are in device memory. Enqueues and returns, but where the hull is asked for:
/// then it waits for the sites.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the parameters, [`Error::Core`](crate::Error::Core)
/// for the device.
pub fn interpolate_resident(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
) -> Result<DeviceDem> {
    let limits = QueryLimits::of(params)?;
    let mut tallies = Tallies::new(gpu)?;
    let (mask, values) = sites_of(gpu, points.all(), points.scale, params, &mut tallies)?;
    let nearest = pba_voronoi::gpu::nearest_sites(gpu, &mask)?;
    drop(mask);
    let mut sites = Sites { nearest, values, tallies, scale: points.scale };
    let cells = cells_of(gpu, &mut sites, &limits, params, None)?;
    device_dem(cells, sites.tallies, points.len() as u64, params)
}

/// The mask of the sites and their values.
fn sites_of(
    gpu: &Gpu,
    points: Part,
    scale: ValueScale,
    params: &Params,
    tallies: &mut Tallies,
) -> Result<(DeviceGrid<u8>, Column<i32>)> {
    let mut pixels = Pixels::new(gpu, params)?;
    pixels.merge(gpu, points, scale, tallies)?;
    pixels.resolve(gpu, points, scale, tallies)
}

/// The cells of a diagram, with all that is asked for.
fn cells_of(
    gpu: &Gpu,
    sites: &mut Sites,
    limits: &QueryLimits,
    params: &Params,
    mask: Option<&Column<u8>>,
) -> Result<Cells> {
    // SAFETY: the queries write every cell.
    let mut cells = unsafe { Cells::new(gpu, &params.grid, params.counts, params.deviations)? };
    match params.weights {
        Weights::Sibson => {
            Queries::new(gpu, limits, params, 1)?.enqueue(sites, &mut cells, |_, _| Ok(()))?;
        }
        _ => weighted::query(gpu, sites, &mut cells, limits, params)?,
    }
    finish::finish(gpu, sites, &mut cells, params, mask)?;
    Ok(cells)
}

fn device_dem(cells: Cells, tallies: Tallies, points: u64, params: &Params) -> Result<DeviceDem> {
    let (width, height) = (params.grid.width, params.grid.height);
    let in_grid = |layer| DeviceGrid::new(layer, width, height);
    // An empty DEM has empty layers.
    let distances = match cells.distances {
        None if params.distances => Some(cells.dem.gpu().zeroed(0)?),
        distances => distances,
    };
    Ok(DeviceDem {
        values: in_grid(cells.dem)?,
        counts: cells.counts.map(|c| DeviceGrid::new(c, width, height)).transpose()?,
        distances: distances.map(in_grid).transpose()?,
        deviations: cells.deviations.map(in_grid).transpose()?,
        tallies,
        points,
        is_finished: params.needs_finish(false),
    })
}
