//! Inverse distance weighting on a GPU, over device buffers.
//!
//! [`upload`] brings points to the device, [`Index::new`] sorts them by cells, [`interpolate_resident`]
//! enqueues the interpolation at [`DeviceTargets`]. The kernels, with the plan of the algorithm, are in
//! `kernels_rs::idw`, `kernels_rs::idw_index` and `kernels_rs::idw_neighbours`.

mod index;
mod number;
mod pairs;
mod search;
mod tree;

use std::ops::ControlFlow;

use gpu_core::{Column, Gpu, GridSpec, Progress, Reading};
use kernels_rs::idw_neighbours::statistic;

use crate::points::{Data, Range};
use crate::{Error, Params, Points, Result, Statistics, Summary, Surface, Targets};
use crate::{adaptive, cells::CellGrid, curve::Curve, sphere};

pub use index::Index;
pub use number::DeviceNumber;

/// Points in device memory, checked.
#[derive(Debug)]
pub struct DevicePoints {
    /// x of each, then y; on the sphere the unit vectors' x, y and z.
    places: Column<f64>,
    /// What cells are numbered by: x and y, or longitude and latitude; `None` where it is `places`.
    positions: Option<Column<f64>>,
    /// Values, column after column; several columns are filled up to a multiple of four.
    values: Column<f64>,
    about: About,
}

/// What is known of the points on the host.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub count: usize,
    pub ranges: Vec<Range>,
    pub geographic: bool,
    pub to_search: CellGrid,
    pub curve: Curve,
    pub unit: f64,
    pub centre: [f64; 3],
    /// Half the sides of the bounding box.
    pub extent: [f64; 2],
    /// Mean, and standard deviation, of the first value, for statistics over all points.
    pub moments: [f64; 2],
    pub area: f64,
}

impl About {
    fn dimensions(&self) -> u32 {
        if self.geographic { 3 } else { 2 }
    }
}

/// Checks points and copies them to the device. Waits for the copies.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the points, [`Error::Core`] for the device.
pub fn upload(gpu: &Gpu, points: Points, params: &Params) -> Result<DevicePoints> {
    upload_data(gpu, &Data::of(points, params)?, params)
}

pub(crate) fn upload_data(gpu: &Gpu, data: &Data, params: &Params) -> Result<DevicePoints> {
    let geographic = params.geographic;
    let positions = [&data.x[..], &data.y[..]].concat();
    let centre = match data.bounds {
        Some(b) => [b.min_x / 2.0 + b.max_x / 2.0, b.min_y / 2.0 + b.max_y / 2.0, 0.0],
        None => [0.0; 3],
    };
    let extent = data.bounds.map_or([0.0; 2], |b| [b.max_x - centre[0], b.max_y - centre[1]]);
    let mut values = data.values.concat();
    values.resize(padded(data.values.len()) * data.len(), 0.0);
    let about = About {
        count: data.len(),
        ranges: data.ranges.clone(),
        geographic,
        to_search: CellGrid::to_search(data, geographic),
        curve: Curve::of(&data.x, &data.y),
        unit: data.unit(geographic),
        centre,
        extent,
        moments: crate::statistics::moments(&data.values[0], data.ranges[0].offset),
        area: data.area(geographic),
    };
    let (places, positions) = match &data.vectors {
        Some(vectors) => (gpu.upload(&vectors.concat())?, Some(gpu.upload(&positions)?)),
        None => (gpu.upload(&positions)?, None),
    };
    Ok(DevicePoints { places, positions, values: gpu.upload(&values)?, about })
}

/// Columns of values that the kernels see: one, or a multiple of four.
fn padded(columns: usize) -> usize {
    if columns == 1 { 1 } else { columns.next_multiple_of(4) }
}

/// Targets on the device: places, or a grid.
#[derive(Debug)]
pub struct DeviceTargets {
    places: Option<Column<f64>>,
    positions: Option<Column<f64>>,
    grid: Option<GridSpec>,
    count: u64,
    /// Whether `places` has three columns, of unit vectors, instead of none.
    geographic: bool,
    /// What brings them into an order in which those near each other follow each other.
    curve: Curve,
}

impl DeviceTargets {
    /// Checks targets and brings them to the device. The cells of a grid stay numbers, unless
    /// `geographic`. Waits for the copies.
    ///
    /// # Errors
    /// [`Error::Target`], [`Error::TooMany`], [`Error::Core`].
    pub fn new(gpu: &Gpu, targets: Targets, geographic: bool) -> Result<Self> {
        targets.check(geographic)?;
        let count = targets.len();
        if let (Targets::Grid(grid), false) = (targets, geographic) {
            let curve = Curve::default();
            let (places, positions, grid) = (None, None, Some(grid));
            return Ok(Self { places, positions, grid, count, geographic, curve });
        }
        let all = (0..count as usize).map(|i| targets.place(i));
        let (mut x, y): (Vec<f64>, Vec<f64>) = all.unzip();
        if geographic {
            x.iter_mut().for_each(|lon| *lon = sphere::normalised(*lon));
        }
        let positions = Some(gpu.upload(&[&x[..], &y[..]].concat())?);
        let places = match geographic {
            true => Some(gpu.upload(&sphere::unit_vectors(&x, &y).concat())?),
            false => None,
        };
        Ok(Self { places, positions, grid: None, count, geographic, curve: Curve::of(&x, &y) })
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Puts the work that is enqueued on the handle while the result lives in order with the targets'
    /// own stream, which all their columns share.
    fn admit(&self, gpu: &Gpu) -> Result<Option<Reading<'_, f64>>> {
        let column = self.places.as_ref().or(self.positions.as_ref());
        Ok(column.map(|column| gpu.admit(column)).transpose()?)
    }

    fn positions(&self) -> *const f64 {
        self.positions.as_ref().map_or(std::ptr::null(), Column::as_ptr)
    }

    /// The places as the kernels measure distances; null for a grid in the plane.
    fn places(&self) -> *const f64 {
        self.places.as_ref().map_or(self.positions(), Column::as_ptr)
    }

    fn width(&self) -> u32 {
        self.grid.map_or(1, |grid| grid.width)
    }

    fn height(&self) -> u32 {
        self.grid.map_or(1, |grid| grid.height)
    }

    /// West and north edge and cell size of a grid, else zeros.
    fn grid_numbers(&self) -> [f64; 3] {
        self.grid.map_or([0.0; 3], |g| [g.origin_x, g.origin_y, g.cell_size])
    }
}

/// Results on the device.
#[derive(Debug)]
pub struct DeviceSurface<T: DeviceNumber> {
    /// The values of each target, column after column; NaN where a target has none. Beyond the columns
    /// of the points there may be some to fill up.
    pub values: Column<T>,
    statistics: Option<Column<T>>,
    about: About,
    count: u64,
    constant: bool,
}

impl DeviceTargets {
    /// The targets along their curve, and the order; `None` for a grid, whose blocks are compact.
    fn along_curve(&self, gpu: &Gpu) -> Result<Option<(Self, Column<u32>)>> {
        let Some(positions) = &self.positions else { return Ok(None) };
        let order = index::curve_order(gpu, positions, self.count as usize, self.curve)?;
        // SAFETY: the order is that of the positions, which are two columns.
        let positions = Some(unsafe { index::gather(gpu, &order, positions, 2)? });
        Ok(Some((Self { places: None, positions, grid: None, ..*self }, order)))
    }
}

/// Enqueues the interpolation, and returns; with an adaptive power it waits for the search that the powers
/// follow from.
///
/// It cannot be part of a graph: the parameters of a call are copied from the host, so inside
/// [`Gpu::capture`] it gives [`gpu_core::Error::Captured`], and so do [`upload`] and
/// [`DeviceTargets::new`], which wait.
///
/// # Errors
/// As [`interpolate`](crate::interpolate) for the parameters, [`Error::Conflict`] where points, targets
/// or index were made for others, [`Error::Core`] for the device.
pub fn interpolate_resident<T: DeviceNumber>(
    gpu: &Gpu,
    index: &Index,
    targets: &DeviceTargets,
    params: &Params,
) -> Result<DeviceSurface<T>> {
    params.check()?;
    let about = &index.points.about;
    // How many columns a place has follows from it, so what differs would be read out of bounds.
    for (geographic, with) in [
        (about.geographic, "points that were brought to the device otherwise"),
        (targets.geographic, "targets that were brought to the device otherwise"),
    ] {
        if geographic != params.geographic {
            return Err(Error::Conflict { option: "geographic", with });
        }
    }
    let columns = padded(about.ranges.len()) as u64;
    let constant = params.is_all_pairs();
    let too_few = params.min_points as usize > about.count;
    if targets.is_empty() || about.count == 0 || (constant && too_few) {
        let values = all_nodata(gpu, (targets.count * columns) as usize)?;
        let statistics = match params.statistics {
            true => Some(all_nodata(gpu, targets.count as usize * statistic::ALL)?),
            false => None,
        };
        let (about, count) = (about.clone(), targets.count);
        return Ok(DeviceSurface { values, statistics, about, count, constant: false });
    }
    let _order = (index.admit(gpu)?, targets.admit(gpu)?);
    let exponents = exponents(gpu, index, targets, params, false)?;
    let (values, statistics) = if constant {
        let values = pairs::interpolate(gpu, index, targets, params, false, exponents.as_ref())?;
        let statistics = match params.statistics {
            // All but the nearest distance is the same everywhere.
            true => {
                let nearest = Params { max_points: 1, adaptive: None, ..*params };
                search::interpolate(gpu, index, targets, &nearest, false, None)?.1
            }
            false => None,
        };
        (values, statistics)
    } else {
        search::interpolate(gpu, index, targets, params, false, exponents.as_ref())?
    };
    let (about, count) = (about.clone(), targets.count);
    Ok(DeviceSurface { values, statistics, about, count, constant })
}

/// A column of NaN: every byte of it is set.
fn all_nodata<T: DeviceNumber>(gpu: &Gpu, len: usize) -> Result<Column<T>> {
    Ok(gpu.filled_with_byte(0xff, len)?)
}

/// Minus half the adaptive power of each target, if that is asked for. Waits for the search.
fn exponents(
    gpu: &Gpu,
    index: &Index,
    targets: &DeviceTargets,
    params: &Params,
    leave_out: bool,
) -> Result<Option<Column<f64>>> {
    let Some(how) = params.adaptive else { return Ok(None) };
    let about = &index.points.about;
    let search = Params { statistics: true, ..adaptive::search(how, params) };
    let (_, statistics) =
        search::interpolate::<f64>(gpu, index, targets, &search, leave_out, None)?;
    let all = match statistics {
        Some(column) => column.to_host()?,
        None => Vec::new(),
    };
    let count = targets.count as usize;
    let points = about.count - usize::from(leave_out);
    let pattern = adaptive::Pattern::new(how, points, about.area);
    let distances = all.iter().skip(statistic::DISTANCE * count).take(count);
    let exponents: Vec<f64> = distances.map(|&d| -0.5 * pattern.power(d)).collect();
    Ok(Some(gpu.upload(&exponents)?))
}

impl<T: DeviceNumber> DeviceSurface<T> {
    /// Copies the results to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`].
    pub fn to_host(&self, params: &Params, skipped: u64) -> Result<Surface<T>> {
        let count = self.count as usize;
        let all = self.values.to_host()?;
        let nodata = T::from_f64(params.nodata);
        let take = |v: usize| all.iter().skip(v * count).take(count).copied().collect::<Vec<T>>();
        let mut values: Vec<Vec<T>> = (0..self.about.ranges.len()).map(take).collect();
        let missing = values[0].iter().filter(|v| v.is_missing()).count() as u64;
        let replace = |value: &mut T| {
            if value.is_missing() {
                *value = nodata;
            }
        };
        values.iter_mut().for_each(|column| column.iter_mut().for_each(replace));
        let summary =
            Summary { points: self.about.count as u64 + skipped, skipped, nodata: missing };
        Ok(Surface { values, statistics: self.statistics()?, summary })
    }

    fn statistics(&self) -> Result<Option<Statistics<T>>> {
        let Some(column) = &self.statistics else { return Ok(None) };
        let (all, count) = (column.to_host()?, self.count as usize);
        let take = |i: usize| all.iter().skip(i * count).take(count).copied().collect::<Vec<T>>();
        let nearest_distance = take(statistic::NEAREST);
        if self.constant {
            let about = &self.about;
            let (n, range) = (about.count as u32, about.ranges[0]);
            return Ok(Some(Statistics::constant(n, range, about.moments, nearest_distance)));
        }
        let counts = take(statistic::COUNT).into_iter();
        Ok(Some(Statistics {
            count: counts.map(|n| if n.is_missing() { 0 } else { n.to_f64() as u32 }).collect(),
            min: take(statistic::MIN),
            max: take(statistic::MAX),
            mean: take(statistic::MEAN),
            deviation: take(statistic::DEVIATION),
            nearest_distance,
        }))
    }
}

pub(crate) fn report(progress: &dyn Progress, stage: &'static str, fraction: f64) -> Result<()> {
    match progress.report(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

/// [`interpolate`](crate::interpolate) on a GPU, from host columns to host columns. Waits for the
/// result.
///
/// # Errors
/// As [`interpolate`](crate::interpolate).
pub fn interpolate<T: DeviceNumber>(
    gpu: &Gpu,
    points: Points,
    targets: Targets,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Surface<T>> {
    let data = Data::of(points, params)?;
    targets.check(params.geographic)?;
    report(progress, "to the device", 0.0)?;
    let resident = upload_data(gpu, &data, params)?;
    let targets = DeviceTargets::new(gpu, targets, params.geographic)?;
    report(progress, "to the device", 1.0)?;
    report(progress, "interpolate", 0.0)?;
    let index = Index::new(gpu, resident, params)?;
    let surface = interpolate_resident::<T>(gpu, &index, &targets, params)?;
    gpu.synchronize()?;
    report(progress, "interpolate", 1.0)?;
    report(progress, "to the host", 0.0)?;
    let surface = surface.to_host(params, data.skipped)?;
    report(progress, "to the host", 1.0)?;
    Ok(surface)
}

/// What the first value of each point would be without that point.
pub(crate) fn leave_one_out(gpu: &Gpu, data: &Data, params: &Params) -> Result<Vec<f64>> {
    let resident = upload_data(gpu, data, params)?;
    let targets = DeviceTargets::new(gpu, data.as_targets(), params.geographic)?;
    let index = Index::new(gpu, resident, params)?;
    let exponents = exponents(gpu, &index, &targets, params, true)?;
    let values = if params.is_all_pairs() {
        pairs::interpolate::<f64>(gpu, &index, &targets, params, true, exponents.as_ref())?
    } else {
        search::interpolate::<f64>(gpu, &index, &targets, params, true, exponents.as_ref())?.0
    };
    let mut values = values.to_host()?;
    values.truncate(data.len());
    Ok(values)
}
