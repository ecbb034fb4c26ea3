//! Inverse distance weighting of points that lie on the device.
//!
//! [`interpolate`] sorts the points and interpolates; where the same points serve several calls, an [`Index`] is sorted
//! once. Both enqueue their work and return, except that an index for neighbours waits once for one number
//! ([`Index::new`]). After a first call both can be captured into a graph, where nothing waits. The kernels, with the
//! plan of each algorithm, are in `kernels_rs::idw`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gpu_core::{Bounds, DeviceChoice, DevicePoints, Extent, Gpu, GridSpec, ValueRange};
//! use idw::Params;
//! use idw::gpu::{Input, Workspace, interpolate};
//!
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let mut workspace = Workspace::new(&gpu)?;
//! let (x, y) = (gpu.upload(&[0.5, 9.5])?, gpu.upload(&[0.5, 9.5])?);
//! let z = gpu.upload(&[1.0, 2.0])?;
//! let extent = Extent {
//!     bounds: Some(Bounds { min_x: 0.5, min_y: 0.5, max_x: 9.5, max_y: 9.5 }),
//!     ranges: vec![ValueRange { min: 1.0, max: 2.0 }],
//! };
//! let points = DevicePoints::new(&x, &y, [(&z).into()], extent)?;
//! let input = Input::new(points, GridSpec::new(0.0, 10.0, 1.0, 10, 10)?);
//! let surface = interpolate::<f32>(&mut workspace, &input, &Params::default())?;
//! assert_eq!(surface.values.to_host()?[0], 1.5); // as far from the one as from the other
//! # Ok(())
//! # }
//! ```

mod baselines;
mod f64_tree;
mod globe;
mod group;
mod index;
pub(crate) mod number;
mod pairs;
mod part;
mod search;
mod sort;
mod surface;
mod targets;
mod tree;

use gpu_core::{Column, DevicePoints, Extent, Gpu, Points, Progress, UploadedPoints, ValueRange};
use kernels_rs::idw::neighbours::powers::adapt_powers;
use kernels_rs::idw::statistic;

use crate::points::{self, Data, check_count, check_grid, require_type};
use crate::{Error, Number, Params, Part, Result, Statistics, Surface, Targets};
use targets::OnDevice;

pub use gpu_core::DeviceTargets;
pub use gpu_scan::gpu::Workspace;
pub use index::Index;
pub use part::{DevicePart, DeviceTotal, part};
pub use surface::DeviceSurface;

/// Checks what is known of targets without a look at the columns.
fn check_targets(targets: DeviceTargets, geographic: bool) -> Result<()> {
    match targets {
        DeviceTargets::Points { .. } => {
            check_count("targets", targets.len())?;
            Ok(targets.check_lengths()?)
        }
        DeviceTargets::Grid(grid) => check_grid(grid, geographic),
    }
}

/// Points on the device, and where to interpolate them.
///
/// Example: see [the module](crate::gpu).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points, with one or more columns of values.
    pub points: DevicePoints<'a>,
    /// Where to interpolate.
    pub targets: DeviceTargets<'a>,
}

impl<'a> Input<'a> {
    /// Returns an input of points, and targets: a [`GridSpec`](gpu_core::GridSpec) or [`DeviceTargets::points`].
    pub fn new(points: DevicePoints<'a>, targets: impl Into<DeviceTargets<'a>>) -> Self {
        Self { points, targets: targets.into() }
    }
}

/// Interpolates points on the device. Enqueues and returns, with the exception that [`Index::new`] states.
///
/// This function does not check the contents of columns. The results have no meaning, but the call does no other harm,
/// if:
///
/// - a point is not finite, or lies outside of the given extent;
/// - the square of a coordinate overflows or underflows ([`Error::Place`]);
/// - a latitude is beyond a pole.
///
/// [`Params::non_finite`] does not apply here.
///
/// Cost: as [`Index::new`] and [`Index::interpolate`].
///
/// Example: see [the module](crate::gpu).
///
/// # Errors
/// The errors of [`Index::new`] and [`Index::interpolate`].
pub fn interpolate<T: Number>(
    workspace: &mut Workspace,
    input: &Input<'_>,
    params: &Params,
) -> Result<DeviceSurface<T>> {
    Index::new(workspace, &input.points, params)?.interpolate(workspace, input.targets, params)
}

impl Index {
    /// Interpolates the points at targets. Enqueues and returns.
    ///
    /// The [`Params`] of a call may differ from the parameters of the index, if the index serves the search that the
    /// call needs. An index serves all pairs, or neighbours, or both.
    ///
    /// Cost: as [`crate::interpolate`] without the sorting.
    ///
    /// # Errors
    /// The errors of [`crate::interpolate`] for the parameters and a grid, [`Error::Conflict`] where the index was made
    /// for others, [`Error::Core`] for the device and columns of other lengths.
    pub fn interpolate<T: Number>(
        &self,
        workspace: &mut Workspace,
        targets: DeviceTargets,
        params: &Params,
    ) -> Result<DeviceSurface<T>> {
        params.check()?;
        check_targets(targets, params.geographic)?;
        self.check(params)?;
        require_type::<T>(&self.about.ranges, params)?;
        let gpu = workspace.gpu().clone();
        let constant = params.is_all_pairs();
        let too_few = params.min_points as usize > self.len();
        if targets.is_empty() || self.is_empty() || (constant && too_few) {
            return DeviceSurface::nothing(&gpu, self, targets, params);
        }
        let checked = OnDevice::new(&gpu, targets, params.geographic)?;
        let call = Call { gpu: &gpu, index: self, targets: &checked, params, leave_out: false };
        let (values, statistics) = call.run(workspace)?;
        let sums =
            if constant && params.statistics { Some(self.moments(workspace)?) } else { None };
        DeviceSurface::new(self, targets, params, values, statistics, sums)
    }
}

/// An interpolation, checked.
struct Call<'a> {
    gpu: &'a Gpu,
    index: &'a Index,
    targets: &'a OnDevice<'a>,
    params: &'a Params,
    /// Whether target `i` leaves point `i` out.
    leave_out: bool,
}

impl Call<'_> {
    /// The values of each target, and statistics.
    fn run<T: Number>(&self, workspace: &mut Workspace) -> Result<(Column<T>, Option<Column<T>>)> {
        let exponents = self.exponents(workspace)?;
        if !self.params.is_all_pairs() {
            return self.search(workspace, exponents.as_ref());
        }
        let (values, _) = self.all_pairs(workspace, exponents.as_ref(), false)?;
        if !self.params.statistics {
            return Ok((values, None));
        }
        // All but the nearest distance is the same everywhere.
        let nearest = self.params.of_nearest();
        let (_, statistics) = Call { params: &nearest, ..*self }.search(workspace, None)?;
        Ok((values, statistics))
    }

    /// Minus half the power of each target, where that is adaptive.
    fn exponents(&self, workspace: &mut Workspace) -> Result<Option<Column<f64>>> {
        let Some(how) = self.params.adaptive else { return Ok(None) };
        let search = self.params.of_pattern(how).statistics(true);
        let (_, statistics) = Call { params: &search, ..*self }.search::<f64>(workspace, None)?;
        let Some(statistics) = statistics else { return Ok(None) };
        let pattern = self.index.about.ground.pattern(how, self.leave_out);
        let count = self.targets.count;
        let distances = statistics.slice(
            statistic::DISTANCE * count as usize..(statistic::DISTANCE + 1) * count as usize,
        )?;
        // SAFETY: both columns have an element for each target, and every exponent is written.
        unsafe {
            let mut exponents = self.gpu.uninitialized(count as usize)?;
            let blocks = gpu_core::Blocks::for_each(&adapt_powers, count)?;
            let arguments = adapt_powers::Args {
                distances: distances.input(),
                count,
                expected: pattern.expected,
                levels: pattern.levels,
                bounds: pattern.bounds,
                exponents: exponents.output(),
            };
            self.gpu.enqueue(adapt_powers, blocks, arguments)?;
            Ok(Some(exponents))
        }
    }
}

/// Points of the host, checked, on the device.
struct Uploaded(UploadedPoints);

impl Uploaded {
    fn new(gpu: &Gpu, data: &Data) -> Result<Self> {
        let values: Vec<&[f64]> = data.values.iter().map(|column| &column[..]).collect();
        let points = Points { x: &data.x, y: &data.y, values: &values };
        Ok(Self(UploadedPoints::new(gpu, &points)?))
    }

    fn points(&self, data: &Data) -> Result<DevicePoints<'_>> {
        let ranges = data.ranges.iter().map(|r| ValueRange { min: r.low, max: r.high }).collect();
        Ok(self.0.points(Extent { bounds: data.ground.bounds, ranges })?)
    }
}

/// [`interpolate`](crate::interpolate) with all columns on the host. Waits for the result.
pub(crate) fn from_host<T: Number>(
    gpu: &Gpu,
    input: crate::Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Surface<T>> {
    let (mut surface, skipped) = on_device::<T, _, _>(
        gpu,
        input,
        params,
        progress,
        |workspace, input| interpolate::<T>(workspace, input, params),
        DeviceSurface::to_host,
    )?;
    surface.statistics.iter().try_for_each(Statistics::require_finite)?;
    surface.summary.points += skipped;
    surface.summary.skipped = skipped;
    Ok(surface)
}

/// [`part`](crate::part()) with all columns on the host. Waits for the result.
pub(crate) fn part_from_host<T: Number>(
    gpu: &Gpu,
    input: crate::Input,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Part<T>> {
    let (mut found, skipped) = on_device::<T, _, _>(
        gpu,
        input,
        params,
        progress,
        |workspace, input| part::<T>(workspace, input, params),
        DevicePart::to_host,
    )?;
    found.summary.points += skipped;
    found.summary.skipped = skipped;
    Ok(found)
}

/// Runs a call on points and targets of the host. Returns its result on the host, and how many points were left out.
fn on_device<T: Number, D, H>(
    gpu: &Gpu,
    input: crate::Input,
    params: &Params,
    progress: &dyn Progress,
    call: impl FnOnce(&mut Workspace, &Input) -> Result<D>,
    to_host: impl FnOnce(&D) -> Result<H>,
) -> Result<(H, u64)> {
    let data = Data::of(input.points, params)?;
    data.require_type::<T>(params)?;
    points::check_targets(input.targets, params.geographic)?;
    let mut workspace = Workspace::new(gpu)?;
    let (uploaded, places) = progress.during("to the device", || -> Result<_> {
        let places = match input.targets {
            Targets::Points { x, y } => Some((gpu.upload(x)?, gpu.upload(y)?)),
            Targets::Grid(_) => None,
        };
        Ok((Uploaded::new(gpu, &data)?, places))
    })?;
    let targets = match (&places, input.targets) {
        (Some((x, y)), _) => DeviceTargets::points(x, y),
        (None, targets) => targets.grid().ok_or(Error::NoValues)?.into(),
    };
    let made = progress.during("interpolate", || {
        let made = call(&mut workspace, &Input::new(uploaded.points(&data)?, targets))?;
        gpu.synchronize()?;
        Ok::<_, Error>(made)
    })?;
    Ok((progress.during("to the host", || to_host(&made))?, data.skipped))
}

/// Predicts the first value of each point from all others. Waits for the result.
pub(crate) fn leave_one_out(gpu: &Gpu, data: &Data, params: &Params) -> Result<Vec<f64>> {
    let params = &params.statistics(false);
    let mut workspace = Workspace::new(gpu)?;
    // Uses only the first of several values.
    let data = &data.with_first_value();
    let uploaded = Uploaded::new(gpu, data)?;
    let index = Index::new(&mut workspace, &uploaded.points(data)?, params)?;
    let targets = DeviceTargets::points(uploaded.0.x(), uploaded.0.y());
    let targets = OnDevice::new(gpu, targets, params.geographic)?;
    let call = Call { gpu, index: &index, targets: &targets, params, leave_out: true };
    let (values, _) = call.run::<f64>(&mut workspace)?;
    Ok(values.first_to_host(data.len())?)
}
