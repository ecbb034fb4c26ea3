//! Inverse distance weighting: the value at a place is the mean of the points' values, each weighted by
//! `1 / d^power` of its distance d.
//!
//! Use it for surfaces from scattered measurements where an interpolation must stay between the measured values. All
//! points may count for every target ([`Params::default`]), or the nearest ([`Params::nearest`]). A search can also
//! take the points within a radius or an ellipse, or some points of each quadrant. The names of the options are as in
//! `gdal_grid`.
//!
//! Coordinates are in ground units, or degrees on a sphere, where distances are metres. In place of powers, weights
//! may be a kernel function of the distance ([`Params::kernel`]).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gpu_core::{Device, DeviceChoice, GridSpec, Points};
//! use idw::{Input, Params, interpolate};
//!
//! let (x, y) = ([0.5, 9.5, 0.5, 9.5], [0.5, 0.5, 9.5, 9.5]);
//! let points = Points { x: &x, y: &y, values: &[&[1.0, 2.0, 3.0, 4.0]] };
//! let grid = GridSpec::new(0.0, 10.0, 1.0, 10, 10)?;
//! let device = Device::open(DeviceChoice::Cpu)?; // or Auto: a GPU where there is one
//! let params = Params::default().power(2.0);
//! let surface = interpolate::<f32>(&device, Input::new(points, grid), &params)?;
//! assert_eq!(surface.values[0][0], 3.0); // the cell's centre is the point (0.5, 9.5)
//! assert!(surface.values[0].iter().all(|value| (1.0..=4.0).contains(value)));
//! let raster = &surface.into_grids().unwrap()[0];
//! assert_eq!(raster.get(9, 0), Some(&4.0));
//! # Ok(())
//! # }
//! ```
//!
//! If points are on the device already, use [`gpu::interpolate`]. It copies nothing from or to the host and can be
//! captured into a graph. If memory does not hold all points, sum them in parts: [`part()`] and [`Total`].
//!
//! # Method
//!
//! The method is Shepard's, *A two-dimensional interpolation function for irregularly-spaced data* (1968,
//! doi:10.1145/800186.810616). The kernels for all pairs grew out of Mei, *Evaluating the Power of GPU Acceleration
//! for IDW Interpolation Algorithm* (2014, doi:10.1155/2014/171574). Mei's naive and tiled kernels remain
//! selectable ([`Baseline`]).
//!
//! For many points and targets, groups of points far from the targets are expanded in nodes, after Wang, Krasny and
//! Tlupova (2020, doi:10.4208/cicp.OA-2019-0177). [`Method::Direct`] turns that off. `docs/internals/idw.md` has
//! the definition and the differences from the papers and from `gdal_grid`; `docs/notes/idw.md` has measurements.
//!
//! # Accuracy
//!
//! Errors are relative to the definition in f64. Where values are of one sign, the error is at most:
//!
//! - in f32, 1e-5 of the value up to power 4, and above that in proportion to the power;
//! - in f64, 1e-12 of the value.
//!
//! Values of both signs may cancel in their sum. Then the bound holds relative to the weighted mean of their
//! magnitudes.
//!
//! The bounds hold for coordinates of any size, for clusters within metres in an extent of a thousand kilometres, and
//! for targets at any distance from points. They also hold where a few values are ten thousand times the others. Three
//! measures make it so:
//!
//! - Places become relative to near points before they are rounded.
//! - A bound finds the sums for which rounding is still too large, and f64 computes these again.
//! - Values become relative to an offset. Every value is at least as near to the offset as to 0.
//!
//! The kernels of the paper, [`Baseline::Naive`] and [`Baseline::Tiled`], are exceptions. On the sphere, chords of unit
//! vectors resolve places only to 1e-9 m.
//!
//! Without smoothing, a target on a point gets exactly the point's value; on several points, it gets their mean.
//! Searches compare distances in f64; among equal distances, the lower index comes first. Weights are relative to the
//! nearest point's weight, so that no power overflows or underflows. Lengths in the plane are squared in f64:
//! coordinates and the smoothing must be 0 or between 1e-130 and 1e150 ([`Error::Place`]).
#![deny(missing_docs)]

mod cpu;
mod error;
mod expansion;
#[cfg(feature = "cuda")]
pub mod gpu;
mod ground;
mod kernel;
mod number;
mod params;
mod part;
mod points;
mod search;
mod statistics;
mod validation;

use gpu_core::{Device, Grid, GridSpec, On, Progress};
use points::Data;

pub use error::{Error, Result};
pub use gpu_core::{Points, Targets, ValueRange};
pub use ground::RADIUS;
pub use kernel::{Kernel, KernelShape};
pub use kernels_rs::idw::part::Weight;
pub use number::Number;
pub use params::{Adaptive, Baseline, Method, NonFinite, Params, TooFewPoints};
pub use part::{Part, Total};
pub use points::{Input, MAX_POINTS};
pub use statistics::Statistics;
pub use validation::{Comparison, PowerParams, Validation, best_power, cross_validate};

/// How many points were read and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Points given.
    pub points: u64,
    /// Points left out since they were not finite.
    pub skipped: u64,
    /// Targets without a value.
    pub nodata: u64,
}

/// Interpolated values.
///
/// Example: see the [crate] and of [`interpolate`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Surface<T> {
    /// For each column of the points' values, the values of the targets.
    pub values: Vec<Vec<T>>,
    /// Where the values lie, if the targets are a grid.
    pub grid: Option<GridSpec>,
    /// Statistics of each target's points, with [`Params::statistics`].
    pub statistics: Option<Statistics<T>>,
    /// How many points were read and left out.
    pub summary: Summary,
}

impl<T> Surface<T> {
    /// A raster for each column of values, if the targets are a grid.
    pub fn into_grids(self) -> Option<Vec<Grid<T>>> {
        let grid = self.grid?;
        self.values.into_iter().map(|values| Grid::new(values, grid).ok()).collect()
    }
}

/// Interpolates points at targets, in f32 or f64.
///
/// Without points, every target is NODATA.
///
/// Work:
///
/// - Where all points count: points times targets.
/// - With the expansion ([`Method`]): 10,000 to 60,000 pairs for each target.
/// - With a search: for each target, a few times the points that it takes.
///
/// ```
/// use gpu_core::{Device, Points, Targets};
/// use idw::{Input, Params, interpolate};
///
/// let points = Points { x: &[0.0, 4.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
/// let targets = Targets::Points { x: &[2.0, 4.0, 1.0], y: &[0.0; 3] };
/// let surface = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &Params::default())?;
/// assert_eq!(surface.values[0][1], 20.0); // on a point
/// assert!((surface.values[0][0] - 15.0).abs() < 1e-9); // halfway
/// // At distances 1 and 3 with power 2 the points weigh 9 to 1.
/// assert!((surface.values[0][2] - 11.0).abs() < 1e-9);
/// # Ok::<(), idw::Error>(())
/// ```
///
/// # Errors
/// - [`gpu_core::Error::Length`]: the columns of the points or of the targets differ in length.
/// - [`gpu_core::Error::TooMany`]: there are too many points or targets.
/// - [`Error::NoValues`], [`Error::NotFinite`], [`Error::Latitude`] and [`Error::Place`]: the points are wrong.
/// - [`Error::Target`] and [`Error::Place`]: a target is wrong.
/// - [`Error::Value`], [`Error::ValueRange`], [`Error::Nodata`] and [`Error::Distance`]: an f32 cannot hold a
///   number.
/// - [`gpu_core::Error::Parameter`], [`gpu_core::Error::TooMany`], [`Error::Radius`], [`Error::MinAboveMax`] and
///   [`Error::Conflict`]: a parameter is wrong.
/// - [`Error::Cancelled`]: the caller's progress ended the call.
/// - [`Error::Core`]: memory or the device failed.
pub fn interpolate<'on, T: Number>(
    on: impl Into<On<'on>>,
    input: Input,
    params: &Params,
) -> Result<Surface<T>> {
    let On { device, progress } = on.into();
    params.check()?;
    gpu_core::on_device!(
        device,
        cpu => cpu::interpolate(input, params, progress),
        gpu => gpu::from_host(gpu, input, params, progress),
    )
}

/// Computes the values of targets from a part of the points. Use it for points that do not fit in memory.
///
/// All points count, as in [`interpolate`] without a search; the parts are added up by [`Total`]:
///
/// ```
/// # fn main() -> Result<(), idw::Error> {
/// use gpu_core::{Device, GridSpec, Points};
/// use idw::{Input, Params, Total};
///
/// let parts = [([0.5, 9.5], [1.0, 2.0]), ([0.5, 4.5], [3.0, 4.0])]; // as they are read, one after the other
/// let (grid, params) = (GridSpec::new(0.0, 10.0, 1.0, 10, 10)?, Params::default());
/// let mut total = Total::new();
/// for (x, z) in &parts {
///     let points = Points { x, y: &[0.5, 9.5], values: &[z] };
///     total.add(&idw::part::<f32>(&Device::Cpu, Input::new(points, grid), &params)?)?;
/// }
/// let surface = total.surface::<f32>(&params)?;
/// assert_eq!(surface.values[0][90], 2.0); // two points lie there, one of each part: 1 and 3
/// # Ok(())
/// # }
/// ```
///
/// A part has at most [`MAX_POINTS`] points; all parts together may have any number. [`Total::surface`] applies
/// [`Params::min_points`]. A part needs no [`Params::value_range`]: its means lie between its own values.
///
/// Cost: as [`interpolate`], and 16 bytes a target more.
///
/// # Errors
/// - The errors of [`interpolate`].
/// - [`Error::Conflict`]: these parameters allow no parts. They are a search, the adaptive power, statistics, the
///   kernels of the paper, and powers above 1e300.
pub fn part<'on, T: Number>(
    on: impl Into<On<'on>>,
    input: Input,
    params: &Params,
) -> Result<Part<T>> {
    let On { device, progress } = on.into();
    params.check_part()?;
    gpu_core::on_device!(
        device,
        cpu => cpu::part(input, params, progress),
        gpu => gpu::part_from_host(gpu, input, params, progress),
    )
}

/// Predicts the first value of each point from all others.
fn leave_one_out(
    device: &Device,
    data: &Data,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    gpu_core::on_device!(
        device,
        cpu => cpu::leave_one_out(data, params, progress),
        gpu => gpu::leave_one_out(gpu, data, params),
    )
}
