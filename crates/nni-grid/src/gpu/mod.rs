//! Natural neighbour interpolation on a GPU, over device buffers.
//!
//! The kernels, with the plan of the algorithm, are in `kernels_rs::nni` and
//! `kernels_rs::voronoi`. A call takes about 25 bytes of scratch for each pixel of the Voronoi
//! raster at its peak.

mod finish;
mod group;
mod query;
mod rasterise;
mod turned;
mod weighted;
mod whole;

use std::ops::Range;

use gpu_core::{Bounds, Column, DeviceGrid, Gpu, GridSpec, Slice};
use kernels_rs::nni as kernels;

use crate::{
    Method, Params, Points, QueryLimits, Request, Result, Summary, ValueScale, Weights, exact,
};
use group::Group;
use query::{Cells, Queries, Sites};
use rasterise::{Part, Pixels, Tallies};
use turned::Turned;

pub use whole::{interpolate, interpolate_all, interpolate_into};

/// Points in device memory, checked, with any number of values each.
#[derive(Debug)]
pub struct DevicePoints {
    x: Column<f64>,
    y: Column<f64>,
    /// The points' first value, then their second, and so on; as many as [`group::padded`] says.
    z: Column<f64>,
    scales: Vec<ValueScale>,
    bounds: Option<Bounds>,
}

impl DevicePoints {
    /// Points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Values of each point.
    pub fn values(&self) -> usize {
        self.scales.len()
    }

    /// All points with some of their values.
    fn with_values(&self, values: Range<usize>) -> Result<Part<'_>> {
        let z = self.z.slice(values.start * self.len()..self.z.len())?;
        let plane = self.len() as u64;
        Ok(Part { x: (&self.x).into(), y: (&self.y).into(), z, plane, first: 0 })
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
    counted: Counted,
}

impl DeviceDem {
    /// What was read and skipped. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn summary(&self) -> Result<Summary> {
        let tallies = self.tallies.counts.to_host()?;
        Ok(summary(&tallies, self.points, self.counted))
    }
}

/// The DEMs of several values in device memory. What is asked for beyond the values is the same for
/// all of them.
#[derive(Debug)]
pub struct DeviceDems {
    /// Where the cells lie.
    pub grid: GridSpec,
    /// As [`DeviceDem::counts`].
    pub counts: Option<Column<u32>>,
    /// As [`DeviceDem::distances`].
    pub distances: Option<Column<f32>>,
    /// As [`DeviceDem::deviations`].
    pub deviations: Option<Column<f32>>,
    /// The rasters of the groups in which the values were interpolated, each with its number of values.
    rasters: Vec<(Column<f32>, usize)>,
    tallies: Tallies,
    points: u64,
    counted: Counted,
}

impl DeviceDems {
    /// Values.
    pub fn len(&self) -> usize {
        self.rasters.iter().map(|(_, values)| values).sum()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.rasters.is_empty()
    }

    /// The raster of a value, row-major; NaN is NODATA.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where there is no such value.
    pub fn values(&self, mut value: usize) -> Result<Slice<'_, f32>> {
        let (cells, len) = (self.grid.cells() as usize, self.len());
        for (raster, values) in &self.rasters {
            if value < *values {
                return Ok(raster.slice(value * cells..(value + 1) * cells)?);
            }
            value -= values;
        }
        let (what, expected, found) = ("values of a point", len as u64, (len + value) as u64 + 1);
        Err(gpu_core::Error::Length { what, expected, found }.into())
    }

    /// What was read and skipped, of each value. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn summary(&self) -> Result<Summary> {
        let tallies = self.tallies.counts.to_host()?;
        Ok(summary(&tallies, self.points, self.counted))
    }
}

/// What the kernels' tallies mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// The method on pixels.
    Queried,
    /// The method on pixels, where cells were looked at again after the queries.
    Finished,
    /// The exact method, which uses points outside the grid too.
    Exactly,
}

/// The summary from the kernels' tallies.
fn summary(tallies: &[u64], points: u64, counted: Counted) -> Summary {
    let (outside, sites) = (tallies[kernels::OUTSIDE], tallies[kernels::SITES]);
    let nodata = match counted {
        Counted::Queried => tallies[kernels::UNITED],
        Counted::Finished | Counted::Exactly => tallies[kernels::LEFT],
    };
    let skipped = if counted == Counted::Exactly { 0 } else { outside };
    Summary { points, outside, sites, merged: points - skipped - sites, nodata }
}

/// Checks points and copies them to the device. Waits for the copies.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the points, [`Error::Core`](crate::Error::Core) for
/// the device.
pub fn upload(gpu: &Gpu, points: Points) -> Result<DevicePoints> {
    points.check_lengths()?;
    upload_all(gpu, points.x, points.y, &[points.z])
}

/// As [`upload`], for points with any number of values: one column for each.
///
/// # Errors
/// As [`upload`].
pub fn upload_all(gpu: &Gpu, x: &[f64], y: &[f64], values: &[&[f64]]) -> Result<DevicePoints> {
    Request { x, y, values, mask: None }.check_points()?;
    let columns = (0..group::padded(values.len())).map(|k| values[k.min(values.len() - 1)]);
    let scales = values.iter().map(|z| ValueScale::of(z)).collect();
    let (points, bounds) = (x.len(), Bounds::of(x, y));
    let (x, y) = (gpu.upload(x)?, gpu.upload(y)?);
    // SAFETY: every element is written before it is read.
    let mut z = unsafe { gpu.uninitialized::<f64>(points * columns.len())? };
    let write = |(k, column): (usize, &[f64])| {
        let part = z.slice_mut(k * points..(k + 1) * points)?;
        // SAFETY: the host's columns stay until the stream has been waited for below.
        unsafe { gpu.enqueue_write(part, column) }
    };
    let written = columns.enumerate().try_for_each(write);
    gpu.synchronize()?;
    written?;
    Ok(DevicePoints { x, y, z, scales, bounds })
}

/// The DEM of the first value of points that are in device memory. Enqueues and returns, but where the
/// hull is asked for: then it waits for the sites.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the parameters, [`Error::Core`](crate::Error::Core)
/// for the device.
pub fn interpolate_resident(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
) -> Result<DeviceDem> {
    let mut dems = interpolate_values(gpu, points, 1.min(points.values()), params, None)?;
    let (width, height) = (params.grid.width, params.grid.height);
    let values = match dems.rasters.pop() {
        Some((values, _)) => values,
        None => gpu.upload(&vec![f32::NAN; params.grid.cells() as usize])?,
    };
    let in_grid = |layer| DeviceGrid::new(layer, width, height);
    Ok(DeviceDem {
        values: in_grid(values)?,
        counts: dems.counts.map(|c| DeviceGrid::new(c, width, height)).transpose()?,
        distances: dems.distances.map(in_grid).transpose()?,
        deviations: dems.deviations.map(in_grid).transpose()?,
        tallies: dems.tallies,
        points: dems.points,
        counted: dems.counted,
    })
}

/// The DEMs of all values of points that are in device memory, in one pass for each four values, which
/// takes up to about twice the time of one. As [`interpolate_resident`].
///
/// # Errors
/// As [`interpolate_resident`].
pub fn interpolate_resident_all(
    gpu: &Gpu,
    points: &DevicePoints,
    params: &Params,
) -> Result<DeviceDems> {
    interpolate_values(gpu, points, points.values(), params, None)
}

/// The DEMs of the first values of points.
fn interpolate_values(
    gpu: &Gpu,
    points: &DevicePoints,
    values: usize,
    params: &Params,
    mask: Option<&Column<u8>>,
) -> Result<DeviceDems> {
    // The points' columns are all of one stream.
    let _order = gpu.admit(&points.x)?;
    if params.method == Method::Exact {
        return interpolate_exactly(gpu, points, values, params, mask);
    }
    let limits = QueryLimits::of(params)?;
    let is_finished = params.needs_finish(mask.is_some());
    let mut dems = DeviceDems {
        grid: params.grid,
        counts: None,
        distances: None,
        deviations: None,
        rasters: Vec::new(),
        tallies: Tallies::new(gpu)?,
        points: points.len() as u64,
        counted: if is_finished { Counted::Finished } else { Counted::Queried },
    };
    let mut diagram = None;
    for group in group::groups(values, &limits, params) {
        // The layers beside the values are those of the first group.
        let is_first = group.start == 0;
        let params = if is_first { *params } else { params.values_alone() };
        let all = points.with_values(group.clone())?;
        let group = Group::new(gpu, &points.scales[group])?;
        let mut tallies = Tallies::new(gpu)?;
        let (occupied, of_sites) = sites_of(gpu, all, &group, &params, &mut tallies)?;
        let (turned_mask, turned_values) =
            turned::sites(gpu, &occupied, &of_sites, group.kernels.values)?;
        let [nearest, turned_nearest] = match diagram.take() {
            Some(nearest) => nearest,
            None => [
                pba_voronoi::gpu::nearest_sites(gpu, &occupied)?,
                pba_voronoi::gpu::nearest_sites(gpu, &turned_mask)?,
            ],
        };
        drop((occupied, turned_mask));
        let mut sites = Sites { nearest, values: of_sites, tallies, group };
        let mut turned = Turned { nearest: turned_nearest, values: turned_values };
        let cells = cells_of(gpu, &mut sites, &mut turned, &limits, &params, mask)?;
        dems.rasters.push((cells.dem, sites.group.len));
        if is_first {
            dems.tallies = sites.tallies;
            // An empty DEM has empty layers.
            dems.distances = match cells.distances {
                None if params.distances => Some(gpu.zeroed(0)?),
                distances => distances,
            };
            (dems.counts, dems.deviations) = (cells.counts, cells.deviations);
        }
        diagram = Some([sites.nearest, turned.nearest]);
    }
    Ok(dems)
}

/// The same by the exact method.
fn interpolate_exactly(
    gpu: &Gpu,
    points: &DevicePoints,
    values: usize,
    params: &Params,
    mask: Option<&Column<u8>>,
) -> Result<DeviceDems> {
    params.check()?;
    let mut dems = DeviceDems {
        grid: params.grid,
        counts: None,
        distances: None,
        deviations: None,
        rasters: Vec::new(),
        tallies: Tallies::new(gpu)?,
        points: points.len() as u64,
        counted: Counted::Exactly,
    };
    if values == 0 {
        return Ok(dems);
    }
    let (scales, bounds) = (&points.scales[..values], points.bounds);
    let z = (&points.z).into();
    let points = exact::gpu::Points { x: &points.x, y: &points.y, z, scales, bounds };
    let layers = exact::gpu::interpolate(gpu, points, params, mask)?;
    dems.rasters.push((layers.dem, values));
    (dems.counts, dems.distances) = (layers.counts, layers.distances);
    (dems.deviations, dems.tallies.counts) = (layers.deviations, layers.tallies);
    Ok(dems)
}

/// The mask of the sites and their values.
fn sites_of(
    gpu: &Gpu,
    points: Part,
    group: &Group,
    params: &Params,
    tallies: &mut Tallies,
) -> Result<(DeviceGrid<u8>, Column<i32>)> {
    let mut pixels = Pixels::new(gpu, params, group.kernels.values)?;
    pixels.merge(gpu, points, group, tallies)?;
    pixels.resolve(gpu, points, group, tallies)
}

/// The cells of a diagram and the turned one, with all that is asked for.
fn cells_of(
    gpu: &Gpu,
    sites: &mut Sites,
    turned: &mut Turned,
    limits: &QueryLimits,
    params: &Params,
    mask: Option<&Column<u8>>,
) -> Result<Cells> {
    let other = turned.instead(sites, |sites| query(gpu, sites, limits, params))?;
    let mut cells = query(gpu, sites, limits, params)?;
    let all = [0, params.grid.cells()];
    let tallies = &mut sites.tallies.counts;
    turned::unite(gpu, tallies, &mut cells, &other, &params.grid, all)?;
    finish::finish(gpu, sites, &mut cells, params, mask)?;
    Ok(cells)
}

/// The cells of a diagram, queried.
fn query(gpu: &Gpu, sites: &mut Sites, limits: &QueryLimits, params: &Params) -> Result<Cells> {
    let values = sites.group.kernels.values;
    // SAFETY: the queries write every cell.
    let mut cells =
        unsafe { Cells::new(gpu, &params.grid, values, params.counts, params.deviations)? };
    match params.weights {
        Weights::Sibson => {
            let queries = Queries::new(gpu, limits, params, &sites.group, 1)?;
            queries.enqueue(sites, &mut cells, |_, _, _| Ok(()))?;
        }
        _ => weighted::query(gpu, sites, &mut cells, limits, params)?,
    }
    Ok(cells)
}
