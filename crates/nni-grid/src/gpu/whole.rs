//! From host columns to a host array, with the copies beside the work.
//!
//! Two streams: one copies, one computes. The values go first, so that their range, from which the
//! fixed point follows, is known while coordinates are under way; points merge into pixels part by
//! part as they arrive; and bands of the DEM go back while the next are interpolated. What is left
//! between the copies is the Voronoi diagram.

use std::ops::{ControlFlow, Range};

use gpu_core::{Column, Gpu, Progress, host_memory};
use gpu_scan::gpu::{Workspace, reduce};
use gpu_scan::{Max, Min};
use kernels_rs::nni as kernels;

use super::group::Group;
use super::query::{Cells, Queries, Sites};
use super::rasterise::{Part, Pixels, Tallies};
use super::turned::{self, Turned};
use super::{Counted, DevicePoints, interpolate_values, summary, upload_all};
use crate::{
    Dem, Error, Method, Params, Points, QueryLimits, Request, Result, Summary, ValueScale, Weights,
};

/// Points of a part: large enough that a copy runs at full speed.
const PART: usize = 1 << 20;

/// Bands of the DEM.
const BANDS: u32 = 8;

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
    params.check()?;
    if !is_plain(params) {
        points.check_lengths()?;
        let request = Request { x: points.x, y: points.y, values: &[points.z], mask: None };
        return Ok(interpolate_all(gpu, &request, params, progress)?.swap_remove(0));
    }
    let cells = params.grid.cells() as usize;
    let mut values = host_memory::filled(f32::NAN, cells)?;
    let mut counts = match params.counts {
        true => Some(host_memory::filled(0, cells)?),
        false => None,
    };
    let summary =
        interpolate_into(gpu, points, params, &mut values, counts.as_deref_mut(), progress)?;
    let grid = params.grid;
    Ok(Dem { grid, values, counts, distances: None, deviations: None, summary })
}

/// Whether the queries alone give all that is asked for.
fn is_plain(params: &Params) -> bool {
    let is_plain = params.weights == Weights::Sibson && !params.deviations;
    is_plain && params.method == Method::Pixels && !params.needs_finish(false)
}

/// [`interpolate_all`](crate::interpolate_all) on a GPU. Waits for the result.
///
/// # Errors
/// As [`interpolate_all`](crate::interpolate_all).
pub fn interpolate_all(
    gpu: &Gpu,
    request: &Request,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Vec<Dem>> {
    let report = |stage, fraction| match progress.report(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    };
    params.check()?;
    request.check(params)?;
    report("to the device", 0.0)?;
    let points = upload_all(gpu, request.x, request.y, request.values)?;
    let mask = request.mask.map(|mask| gpu.upload(mask)).transpose()?;
    report("interpolate", 0.0)?;
    let values = points.values();
    let dems = interpolate_values(gpu, &points, values, params, mask.as_ref())?;
    drop(points);
    let summary = if values == 0 { Summary::default() } else { dems.summary()? };
    let (counts, floats) = (|c: &Column<u32>| c.to_host(), |c: &Column<f32>| c.to_host());
    let counts = dems.counts.as_ref().map(counts).transpose()?;
    let distances = dems.distances.as_ref().map(floats).transpose()?;
    let deviations = dems.deviations.as_ref().map(floats).transpose()?;
    let mut all = Vec::new();
    for value in 0..values {
        report("interpolate", value as f64 / values as f64)?;
        let mut on_host = host_memory::filled(f32::NAN, params.grid.cells() as usize)?;
        // SAFETY: the host's array stays until the stream has been waited for.
        unsafe { gpu.enqueue_read(dems.values(value)?, &mut on_host)? };
        gpu.synchronize()?;
        all.push(Dem {
            grid: params.grid,
            values: on_host,
            counts: counts.clone(),
            distances: distances.clone(),
            deviations: deviations.clone(),
            summary,
        });
    }
    report("interpolate", 1.0)?;
    Ok(all)
}

/// [`interpolate`](crate::interpolate) on a GPU, into arrays of the caller's. Waits for the result.
///
/// From and to [`PageLocked`](gpu_core::PageLocked) memory it takes little longer than the copies
/// alone; pageable memory is copied several times more slowly. `counts` is written if it is there,
/// whatever [`Params::counts`] says.
///
/// # Errors
/// As [`interpolate`](crate::interpolate); then the arrays hold anything. [`Error::NotPlain`] for
/// parameters that ask for more than Sibson's values and their counts, [`Error::Core`] unless `values`
/// and `counts` have an element for each cell.
pub fn interpolate_into(
    gpu: &Gpu,
    points: Points,
    params: &Params,
    values: &mut [f32],
    mut counts: Option<&mut [u32]>,
    progress: &dyn Progress,
) -> Result<Summary> {
    let report = |stage, fraction| match progress.report(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    };
    if !is_plain(params) {
        return Err(Error::NotPlain);
    }
    let (limits, grid) = (QueryLimits::of(params)?, params.grid);
    points.check_lengths()?;
    for found in std::iter::once(values.len()).chain(counts.as_ref().map(|c| c.len())) {
        let (expected, found) = (grid.cells(), found as u64);
        if found != expected {
            return Err(gpu_core::Error::Length { what: "host array", expected, found }.into());
        }
    }
    // What the copies write and read on the device comes before them here, so that it is dropped after
    // they have been waited for, whatever happens.
    let mut resident = resident_for(gpu, points.z.len())?;
    // SAFETY: the queries write every cell before one is copied.
    let mut cells = unsafe { Cells::new(gpu, &grid, 1, counts.is_some(), false)? };
    let copies = Copies(gpu.fork()?);
    report("to the device", 0.0)?;
    let mut tallies = Tallies::new(gpu)?;
    let mut pixels = Pixels::new(gpu, params, 1)?;
    let group = copies.merge(gpu, points, &mut resident, &mut pixels, &mut tallies, &report)?;
    report("to the device", 1.0)?;

    report("interpolate", 0.0)?;
    let all = resident.with_values(0..1)?;
    let (mask, site_values) = pixels.resolve(gpu, all, &group, &mut tallies)?;
    let (turned_mask, turned_values) =
        turned::sites(gpu, &mask, &site_values, group.kernels.values)?;
    let nearest = pba_voronoi::gpu::nearest_sites(gpu, &mask)?;
    let turned_nearest = pba_voronoi::gpu::nearest_sites(gpu, &turned_mask)?;
    drop((mask, turned_mask));
    let mut sites = Sites { nearest, values: site_values, tallies, group };
    let mut turned = Turned { nearest: turned_nearest, values: turned_values };
    let other = turned.instead(&mut sites, |sites| {
        // SAFETY: the queries write every cell.
        let mut cells = unsafe { Cells::new(gpu, &grid, 1, counts.is_some(), false)? };
        let queries = Queries::new(gpu, &limits, params, &sites.group, 1)?;
        queries.enqueue(sites, &mut cells, |_, _, _| Ok(()))?;
        Ok(cells)
    })?;
    let queries = Queries::new(gpu, &limits, params, &sites.group, BANDS)?;
    queries.enqueue(&mut sites, &mut cells, |sites, cells, rows| {
        let [first, len] =
            [rows.start, rows.len() as u32].map(|rows| u64::from(rows) * u64::from(grid.width));
        turned::unite(gpu, &mut sites.tallies.counts, cells, &other, &grid, [first, len])?;
        copies.0.wait_for(gpu)?;
        let width = grid.width as usize;
        let range = rows.start as usize * width..rows.end as usize * width;
        copies.back(cells, range, values, counts.as_deref_mut())?;
        report("interpolate", f64::from(rows.end) / f64::from(grid.height))
    })?;
    let counted = sites.tallies.counts.to_host()?;
    if counted[kernels::BAD] > 0 {
        let index = sites.tallies.first_bad.to_host()?[0] as usize;
        let (x, y, z) = (points.x[index], points.y[index], points.z[index]);
        return Err(Error::NotFinite { index, x, y, z });
    }
    copies.0.synchronize()?;
    Ok(summary(&counted, points.z.len() as u64, Counted::Queried))
}

/// The stream of the copies. Dropped, it waits for them: they read and write borrowed memory.
struct Copies(Gpu);

impl Drop for Copies {
    fn drop(&mut self) {
        // An error here was one of a copy, and has been reported.
        let _ = self.0.synchronize();
    }
}

impl Copies {
    /// Copies the points to the device and merges them into pixels; gives what the kernels are told of
    /// their values.
    fn merge(
        &self,
        gpu: &Gpu,
        points: Points,
        resident: &mut DevicePoints,
        pixels: &mut Pixels,
        tallies: &mut Tallies,
        report: &dyn Fn(&'static str, f64) -> Result<()>,
    ) -> Result<Group> {
        let count = points.z.len();
        self.0.wait_for(gpu)?;
        // SAFETY: the points are borrowed until this stream has been waited for, which dropping
        // it does at the latest; nothing else works on the column.
        unsafe { self.0.enqueue_write((&mut resident.z).into(), points.z)? };
        gpu.wait_for(&self.0)?;
        let range = value_range(gpu, &resident.z)?;
        let part = |first: usize| first..count.min(first + PART);
        self.coordinates(points, part(0), resident)?;
        // Waits for the values, while the first coordinates are on their way.
        let range = range.to_host()?;
        let group = Group::new(gpu, &[ValueScale::of_range(range[0], range[1])])?;
        for first in (0..count).step_by(PART) {
            gpu.wait_for(&self.0)?;
            if first + PART < count {
                self.coordinates(points, part(first + PART), resident)?;
            }
            let merged = Part {
                x: resident.x.slice(part(first))?,
                y: resident.y.slice(part(first))?,
                z: resident.z.slice(part(first))?,
                plane: 0,
                first: first as u64,
            };
            pixels.merge(gpu, merged, &group, tallies)?;
            report("to the device", first as f64 / count as f64)?;
        }
        Ok(group)
    }

    /// Copies the coordinates of some points.
    fn coordinates(
        &self,
        points: Points,
        part: Range<usize>,
        resident: &mut DevicePoints,
    ) -> Result<()> {
        // SAFETY: as for the values; kernels read other parts of the columns meanwhile.
        unsafe {
            let to = resident.x.slice_mut(part.clone())?;
            self.0.enqueue_write(to, &points.x[part.clone()])?;
            let to = resident.y.slice_mut(part.clone())?;
            self.0.enqueue_write(to, &points.y[part])?;
        }
        Ok(())
    }

    /// Copies cells to the host.
    fn back(
        &self,
        cells: &Cells,
        range: Range<usize>,
        values: &mut [f32],
        counts: Option<&mut [u32]>,
    ) -> Result<()> {
        // SAFETY: the arrays are borrowed until this stream has been waited for; nobody touches
        // them before.
        unsafe {
            self.0.enqueue_read(cells.dem.slice(range.clone())?, &mut values[range.clone()])?;
            if let (Some(from), Some(to)) = (&cells.counts, counts) {
                self.0.enqueue_read(from.slice(range.clone())?, &mut to[range])?;
            }
        }
        Ok(())
    }
}

/// Columns for so many points with one value, to be written before they are read.
fn resident_for(gpu: &Gpu, points: usize) -> Result<DevicePoints> {
    // SAFETY: every element is written before it is read: the streams wait for each other.
    let column = || unsafe { gpu.uninitialized::<f64>(points) };
    Ok(DevicePoints { x: column()?, y: column()?, z: column()?, scales: Vec::new(), bounds: None })
}

/// The least and the greatest value, on the device.
fn value_range(gpu: &Gpu, values: &Column<f64>) -> Result<Column<f64>> {
    let mut range = gpu.zeroed::<f64>(2)?;
    let mut workspace = Workspace::new(gpu)?;
    reduce(&mut workspace, Min, values, range.slice_mut(0..1)?)?;
    reduce(&mut workspace, Max, values, range.slice_mut(1..2)?)?;
    Ok(range)
}
