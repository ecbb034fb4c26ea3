//! Interpolates from host columns to a host array, and copies while it computes.
//!
//! Two streams: one copies, one computes. All copies to the device begin at once and arrive in order. The values go
//! first, so that their range, which sets the fixed-point scale, is known while coordinates are under way. Points merge
//! into pixels part by part as they arrive, and bands of the DEM go back while the device interpolates the next. Only
//! the Voronoi diagram does not overlap with copies.

use std::ops::Range;

use gpu_core::{Column, Copying, Gpu, Points, Progress, ValueRange};
use gpu_scan::gpu::{Workspace, reduce};
use gpu_scan::{Max, Min};
use kernels_rs::nni::pixels::values::MAX_VALUES;
use kernels_rs::nni::tallies;

use super::group::Group;
use super::query::{Cells, Queries, Sites};
use super::rasterise::Pixels;
use super::tie_balance::{self, Turned};
use crate::gpu::dem::{Counted, Tallies, summary};
use crate::gpu::points::Part;
use crate::input::check_point;
use crate::params::OnGrid;
use crate::pixels::limits::QueryLimits;
use crate::{Error, Input, Method, Params, Result, Summary, ValueScale, Weights};

/// Points of a part: large enough that a copy runs at full speed.
const PART: usize = 1 << 20;

/// Bands of the DEM.
const BANDS: u32 = 8;

/// Names an option or property of points that [`interpolate_into`] cannot serve, if there is one.
pub(crate) fn beyond_streaming(input: &Input, params: &Params) -> Option<&'static str> {
    let wants = [
        (params.method != Method::Pixels, "exact weights"),
        (input.points.values.len() != 1, "any number of values but one"),
        (params.weights != Weights::Sibson, "other weights than Sibson's"),
        (params.deviations, "deviations"),
        (input.mask.is_some(), "a mask"),
        (params.needs_finish(false), "distances, fills and limits to NODATA"),
    ];
    wants.into_iter().find(|(wanted, _)| *wanted).map(|(_, what)| what)
}

/// Interpolates by the method on pixels, like [`interpolate`](crate::interpolate), from points with one value into
/// arrays of the caller. Copies while it computes. Waits for the result.
///
/// From and to [`PageLocked`](gpu_core::PageLocked) memory it takes little longer than the copies alone.
/// [`Gpu::begin_write`] and its threads copy pageable memory. It writes `counts` if the caller gives it, whatever
/// [`Params::counts`] says.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu, GridSpec, Points, Silent};
/// use nni_grid::gpu::{Workspace, interpolate_into};
/// use nni_grid::{Input, Method, Params};
///
/// # fn main() -> Result<(), nni_grid::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let points = Points { x: &[0.5, 2.5], y: &[0.5, 0.5], values: &[&[1.0, 3.0]] };
/// let input = Input::new(points, GridSpec::new(0.0, 1.0, 1.0, 3, 1)?);
/// let params = Params::new().method(Method::Pixels).max_distance(f64::INFINITY);
/// let mut values = [0.0; 3];
/// interpolate_into(&mut workspace, input, &params, &mut values, None, &Silent)?;
/// assert_eq!(values, [1.0, 2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// After an error, the contents of the arrays are undefined. Returns the errors of [`interpolate`](crate::interpolate),
/// and:
///
/// - [`Error::NotPlain`] for parameters that ask for more than Sibson's values and their counts.
/// - [`Error::NotPlain`] for points with another number of values, or for a mask.
/// - [`Error::Core`] unless `values` and `counts` have an element for each cell.
pub fn interpolate_into(
    workspace: &mut Workspace,
    input: Input<'_>,
    params: &Params,
    values: &mut [f32],
    counts: Option<&mut [u32]>,
    progress: &dyn Progress,
) -> Result<Summary> {
    if let Some(what) = beyond_streaming(&input, params) {
        return Err(Error::NotPlain { what });
    }
    let params = &OnGrid::new(input.grid, params)?;
    let (limits, grid, points) = (QueryLimits::of(params)?, params.grid, input.points);
    points.check_lengths()?;
    for found in std::iter::once(values.len()).chain(counts.as_ref().map(|c| c.len())) {
        let (expected, found) = (grid.cells(), found as u64);
        if found != expected {
            return Err(gpu_core::Error::Length { what: "host array", expected, found }.into());
        }
    }
    let gpu = &workspace.gpu().clone();
    // What the copies write and read on the device comes before them here, so that it is dropped after
    // they have been waited for, whatever happens.
    let mut resident = Resident::new(gpu, points.len())?;
    // SAFETY: the queries write every cell before one is copied.
    let mut cells = unsafe { Cells::new(gpu, &grid, 1, counts.is_some(), false)? };
    let copies = Copies(gpu.fork()?, *params);
    progress.at("to the device", 0.0)?;
    let mut tallies = Tallies::new(gpu)?;
    let mut pixels = Pixels::new(gpu, params, 1)?;
    let merge = copies.merge(workspace, points, &mut resident, &mut pixels, &mut tallies, progress);
    let group = merge?;
    progress.at("to the device", 1.0)?;

    progress.at("interpolate", 0.0)?;
    let (mut sites, mut turned) = resident.sites(workspace, pixels, group, tallies)?;
    let other = turned.instead(&mut sites, |sites| {
        // SAFETY: the queries write every cell.
        let mut cells = unsafe { Cells::new(gpu, &grid, 1, counts.is_some(), false)? };
        let queries = Queries::new(gpu, &limits, params, &sites.group, 1)?;
        queries.enqueue(workspace, sites, &mut cells, |_, _, _| Ok(()))?;
        Ok(cells)
    })?;
    let queries = Queries::new(gpu, &limits, params, &sites.group, BANDS)?;
    let mut host = Bands { copies: &copies, gpu, values, counts, under_way: Vec::new() };
    queries.enqueue(workspace, &mut sites, &mut cells, |sites, cells, rows| {
        let [first, len] =
            [rows.start, rows.len() as u32].map(|rows| u64::from(rows) * u64::from(grid.width));
        tie_balance::unite(gpu, &mut sites.tallies.counts, cells, &other, &grid, [first, len])?;
        host.begin(cells, first as usize, len as usize)?;
        Ok(())
    })?;
    host.finish(progress)?;
    progress.at("interpolate", 1.0)?;
    let counted = sites.tallies.counts.to_host()?;
    if counted[tallies::BAD] > 0 {
        let index = sites.tallies.first_bad.to_host()?[0] as usize;
        check_point(&points, index)?;
    }
    copies.0.synchronize()?;
    Ok(summary(&counted, points.len() as u64, Counted::Queried))
}

/// Points with one value in columns on the device.
struct Resident {
    x: Column<f64>,
    y: Column<f64>,
    z: Column<f64>,
}

impl Resident {
    /// Columns to be written before they are read.
    fn new(gpu: &Gpu, points: usize) -> Result<Self> {
        // SAFETY: every element is written before it is read: the streams wait for each other.
        let column = || unsafe { gpu.uninitialized::<f64>(points) };
        Ok(Self { x: column()?, y: column()?, z: column()? })
    }

    /// Some of the points.
    fn part(&self, range: Range<usize>) -> Result<Part<'_>> {
        Ok(Part {
            x: self.x.slice(range.clone())?,
            y: self.y.slice(range.clone())?,
            z: [self.z.slice(range.clone())?; MAX_VALUES],
            first: range.start as u64,
        })
    }

    /// The sites of points that were merged into pixels, and their diagrams.
    fn sites(
        &self,
        workspace: &mut Workspace,
        pixels: Pixels,
        group: Group,
        mut tallies: Tallies,
    ) -> Result<(Sites, Turned)> {
        let gpu = &workspace.gpu().clone();
        let all = self.part(0..self.x.len())?;
        let (mask, values) = pixels.resolve(gpu, all, &group, &mut tallies)?;
        let turned_mask = tie_balance::mask(gpu, &mask)?;
        let nearest = super::nearest_sites(workspace, &mask)?;
        let turned = Turned(super::nearest_sites(workspace, &turned_mask)?);
        Ok((
            Sites { nearest, values, is_turned: false, tallies, group, points: self.x.len() },
            turned,
        ))
    }
}

/// The stream of the copies, and what they are made for. Dropped, it waits for them: they read and write
/// borrowed memory.
struct Copies(Gpu, OnGrid);

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
        workspace: &mut Workspace,
        points: Points,
        resident: &mut Resident,
        pixels: &mut Pixels,
        tallies: &mut Tallies,
        progress: &dyn Progress,
    ) -> Result<Group> {
        let gpu = &workspace.gpu().clone();
        let count = points.len();
        self.0.wait_for(gpu)?;
        let z = (&mut resident.z).into();
        // SAFETY: the points are borrowed until the copies have been waited for, which dropping them does at the
        // latest; kernels read what has arrived.
        let z = unsafe { self.0.begin_write(z, points.values[0])? };
        let part = |first: usize| first..count.min(first + PART);
        let begin = |first| self.coordinates(points, part(first), resident);
        let parts = (0..count).step_by(PART).map(begin).collect::<Result<Vec<_>>>()?;
        z.order_before(gpu)?;
        let range = value_range(workspace, &resident.z)?;
        // Waits for the values, while coordinates are on their way.
        let range = range.to_host()?;
        let range = self.1.widened(ValueRange { min: range[0], max: range[1] });
        let group = Group::new(gpu, &[ValueScale::of_range(range)])?;
        for (i, coordinates) in parts.iter().enumerate() {
            let first = i * PART;
            for copy in coordinates {
                copy.order_before(gpu)?;
            }
            pixels.merge(gpu, resident.part(part(first))?, &group, tallies)?;
            progress.at("to the device", first as f64 / count as f64)?;
        }
        Ok(group)
    }

    /// Begins to copy the coordinates of some points.
    fn coordinates(
        &self,
        points: Points,
        part: Range<usize>,
        resident: &mut Resident,
    ) -> Result<[Copying; 2]> {
        let x = resident.x.slice_mut(part.clone())?;
        let y = resident.y.slice_mut(part.clone())?;
        // SAFETY: as for the values.
        unsafe {
            let x = self.0.begin_write(x, &points.x[part.clone()])?;
            Ok([x, self.0.begin_write(y, &points.y[part])?])
        }
    }
}

/// Where the bands of the DEM go, in their order.
struct Bands<'a> {
    copies: &'a Copies,
    gpu: &'a Gpu,
    /// The cells that no band was copied to yet.
    values: &'a mut [f32],
    counts: Option<&'a mut [u32]>,
    under_way: Vec<Copying>,
}

impl Bands<'_> {
    /// Begins to copy some cells, as they are behind what is enqueued by now.
    fn begin(&mut self, cells: &Cells, first: usize, len: usize) -> Result<()> {
        let (copies, gpu, range) = (&self.copies.0, self.gpu, first..first + len);
        let (values, rest) = std::mem::take(&mut self.values).split_at_mut(len);
        self.values = rest;
        // SAFETY: the arrays are borrowed until the copies have been waited for, at the latest by dropping them. Nobody
        // touches the arrays before, and nothing writes to the cells any more.
        unsafe {
            let copy = copies.begin_read(gpu, cells.dem.slice(range.clone())?, values)?;
            self.under_way.push(copy);
            if let (Some(from), Some(to)) = (&cells.counts, self.counts.take()) {
                let (counts, rest) = to.split_at_mut(len);
                self.counts = Some(rest);
                let copy = copies.begin_read(gpu, from.slice(range)?, counts)?;
                self.under_way.push(copy);
            }
        }
        Ok(())
    }

    /// Waits for the copies.
    fn finish(self, progress: &dyn Progress) -> Result<()> {
        let all = self.under_way.len() as f64;
        for (i, copy) in self.under_way.into_iter().enumerate() {
            copy.wait()?;
            progress.at("interpolate", (i + 1) as f64 / all)?;
        }
        Ok(())
    }
}

/// The least and the greatest value, on the device.
fn value_range(workspace: &mut Workspace, values: &Column<f64>) -> Result<Column<f64>> {
    let mut range = workspace.gpu().zeroed::<f64>(2)?;
    reduce(workspace, Min, values, range.slice_mut(0..1)?)?;
    reduce(workspace, Max, values, range.slice_mut(1..2)?)?;
    Ok(range)
}
