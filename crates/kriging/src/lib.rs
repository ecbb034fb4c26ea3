//! Ordinary kriging: the value at a place is a weighted mean of the nearest points' values. The weights make it unbiased, with the
//! least variance of its error under a variogram. That variance is a result, too.
//!
//! Use it for surfaces from scattered measurements if the error of the surface matters. Give a [`Variogram`], or fit
//! one ([`Variogram::fit`]) to the points' empirical variogram ([`Empirical::of`]). Coordinates are in any plane unit.
//! Degrees of longitude and latitude are not plane: project them first.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gpu_core::{Device, DeviceChoice, GridSpec, Points};
//! use kriging::{Input, Model, Params, Variogram, interpolate};
//!
//! let (x, y) = ([0.5, 9.5, 0.5, 9.5], [0.5, 0.5, 9.5, 9.5]);
//! let points = Points { x: &x, y: &y, values: &[&[1.0, 2.0, 3.0, 4.0]] };
//! let grid = GridSpec::new(0.0, 10.0, 1.0, 10, 10)?;
//! let device = Device::open(DeviceChoice::Cpu)?; // or Auto: a GPU where there is one
//! let variogram = Variogram::new(0.0).structure(Model::Spherical, 1.5, 12.0);
//! let params = Params::new(variogram).max_points(12);
//! let surface = interpolate(&device, Input::new(points, grid), &params)?;
//! assert_eq!(surface.values[0][0], 3.0); // the cell's centre is the point (0.5, 9.5)
//! assert_eq!(surface.variances[0], 0.0); // so its value is known
//! let (values, variance) = surface.into_grids().unwrap();
//! assert!(values[0].get(5, 5).is_some() && *variance.get(5, 5).unwrap() > 0.5);
//! # Ok(())
//! # }
//! ```
//!
//! Points that lie on the device already go into [`gpu::interpolate`], which copies nothing from or to the host and can be
//! captured into a graph.
//!
//! # Method
//!
//! Matheron, *Principles of geostatistics* (1963, doi:10.2113/gsecongeo.58.8.1246); Cressie, *Statistics for Spatial
//! Data* (1993). Names and parameters are as in gstat: Pebesma, *Multivariable geostatistics in S* (2004,
//! doi:10.1016/j.cageo.2004.03.012), whose values this crate gives. The neighbours come from quadtree-sort's R-tree.
//! Each system is solved in f64 by Cholesky's method on correlations, since covariances make a positive definite matrix
//! where semivariances do not. `docs/internals/kriging.md` has the definition, what is different from gstat, limits and
//! cost.
//!
//! # Conventions
//!
//! - The nugget is a property of the values, not an error of measurement. So a target on a point has exactly the
//!   point's value, and the variance 0.
//! - Points at one place count as one point with their mean value, also for [`Params::max_points`] and
//!   [`Params::min_points`]. A point does not count if nearer points determine it up to rounding (`LEAST_PIVOT` in
//!   `kernels_rs::kriging::system`). So no system is singular.
//! - A target with fewer points than [`Params::min_points`] has no value. With one point, a target has that point's
//!   value.
//! - CPU and GPU give the same bits. A target's bits depend on its neighbours alone, not on other targets.
#![deny(missing_docs)]

mod cpu;
mod empirical;
mod error;
mod fit;
#[cfg(feature = "cuda")]
pub mod gpu;
mod input;
mod params;
mod places;
mod validation;
mod variogram;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Device, Grid, GridSpec, On, Progress};

use places::Places;

pub use empirical::{Empirical, EmpiricalParams, Lag, Sample};
pub use error::{Error, Result};
pub use fit::Fitted;
pub use gpu_core::{Points, Targets};
pub use input::{Input, MAX_POINTS};
pub use params::{MAX_NEIGHBOURS, Params};
pub use validation::{Validation, cross_validate};
pub use variogram::{Anisotropy, MAX_STRUCTURES, Model, Structure, Variogram};

/// How many points were read, and how many targets have no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Points given.
    pub points: u64,
    /// Targets without a value.
    pub nodata: u64,
}

/// Interpolated values, and their variances.
///
/// Example: see the [crate].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Surface {
    /// For each column of the points' values the values of the targets.
    pub values: Vec<Vec<f64>>,
    /// The kriging variance of each target, in squared units of the values. It depends on places and variogram alone, so it is the
    /// same for all columns.
    pub variances: Vec<f64>,
    /// Where the values lie, if the targets are a grid.
    pub grid: Option<GridSpec>,
    /// How many points were read, and how many targets have no value.
    pub summary: Summary,
}

impl Surface {
    fn new(
        values: Vec<Vec<f64>>,
        variances: Vec<f64>,
        grid: Option<GridSpec>,
        points: usize,
        params: &Params,
    ) -> Self {
        Self::with_nodata(values, variances, grid, points, params.nodata)
    }

    /// A value stands for NaN.
    fn with_nodata(
        mut values: Vec<Vec<f64>>,
        mut variances: Vec<f64>,
        grid: Option<GridSpec>,
        points: usize,
        nodata: f64,
    ) -> Self {
        let missing = parallel::count(variances.len(), FINE, |i| variances[i].is_nan());
        if !nodata.is_nan() && missing > 0 {
            let all = values.iter_mut().chain([&mut variances]).flatten();
            all.filter(|value| value.is_nan()).for_each(|value| *value = nodata);
        }
        let summary = Summary { points: points as u64, nodata: missing };
        Self { values, variances, grid, summary }
    }

    /// Returns a raster for each column of values, and the raster of the variances, if the targets are a grid.
    pub fn into_grids(self) -> Option<(Vec<Grid<f64>>, Grid<f64>)> {
        let grid = self.grid?;
        let raster = |values| Grid::new(values, grid).ok();
        let values = self.values.into_iter().map(raster).collect::<Option<_>>()?;
        Some((values, raster(self.variances)?))
    }
}

/// Interpolates points at targets, and computes the kriging variance of each target.
///
/// Without points, every target is NODATA.
///
/// Cost: a sort of the points. A target with n neighbours takes a search, n^2 / 2 values of the variogram, and
/// n^3 / 6 + 1.5 n^2 products and differences.
///
/// ```
/// use gpu_core::{Device, Points, Targets};
/// use kriging::{Input, Model, Params, Variogram, interpolate};
///
/// let points = Points { x: &[0.0, 4.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
/// let targets = Targets::Points { x: &[0.0, 2.0], y: &[0.0; 2] };
/// let params = Params::new(Variogram::new(0.0).structure(Model::Spherical, 1.0, 4.0));
/// let surface = interpolate(&Device::Cpu, Input::new(points, targets), &params)?;
/// assert_eq!((surface.values[0][0], surface.variances[0]), (10.0, 0.0)); // on a point
/// assert!((surface.values[0][1] - 15.0).abs() < 1e-9); // halfway
/// assert!(surface.variances[1] > 0.0);
/// # Ok::<(), kriging::Error>(())
/// ```
///
/// # Errors
/// - [`gpu_core::Error::Length`]: the columns of the points or of the targets differ in length.
/// - [`Error::NoValues`]: the points have no column of values.
/// - [`gpu_core::Error::NotFinite`]: a coordinate or a value is NaN or infinite.
/// - [`Error::Place`]: a point or a target has a coordinate beyond 1e150.
/// - [`Error::Value`]: a value is beyond 1e150.
/// - [`gpu_core::Error::TooMany`]: there are more than [`MAX_POINTS`] points or targets.
/// - The errors of [`Variogram::check`].
/// - [`gpu_core::Error::Parameter`], [`gpu_core::Error::TooMany`] and [`Error::MinAboveMax`]: a parameter is wrong.
/// - [`Error::Cancelled`]: the caller's progress ended the call.
/// - [`Error::Core`]: memory or the device failed.
pub fn interpolate<'on>(on: impl Into<On<'on>>, input: Input, params: &Params) -> Result<Surface> {
    let On { device, progress } = on.into();
    params.check()?;
    input.check()?;
    let of_points = |points: Points| {
        let input = Input { points, ..input };
        gpu_core::on_device!(
            device,
            cpu => cpu::interpolate(input, params, progress),
            gpu => gpu::from_host(gpu, input, params, progress),
        )
    };
    let mut surface = match Places::of(&input.points)? {
        Some(places) => places.with(of_points),
        None => of_points(input.points),
    }?;
    surface.summary.points = input.points.len() as u64;
    Ok(surface)
}

/// Predicts the first value of each point from all others. Returns the predictions and their variances.
fn leave_one_out(
    device: &Device,
    points: Points,
    params: &Params,
    progress: &dyn Progress,
) -> Result<[Vec<f64>; 2]> {
    gpu_core::on_device!(
        device,
        cpu => cpu::leave_one_out(points, params, progress),
        gpu => gpu::leave_one_out(gpu, points, params),
    )
}
