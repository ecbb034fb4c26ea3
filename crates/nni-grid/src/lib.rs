//! Natural neighbour interpolation of scattered points onto a grid: LiDAR points in, a DEM out.
//!
//! A natural neighbour estimate at a query point is the mean of the sites' values, each weighted by
//! the area that the query point's Voronoi cell, inserted among theirs, would steal from its own
//! (Sibson 1980, 1981). It needs no search radius or power to tune, passes through the data, and stays
//! within their range. This crate computes it exactly, from the cells themselves, or as published on a
//! raster of pixels ([`Method`]). Radii are in DEM cells; values keep the unit of `z`.
//!
//! ```
//! use gpu_core::{Bounds, Device, DeviceChoice, GridSpec};
//! use nni_grid::{Params, Points, interpolate};
//!
//! # fn main() -> Result<(), nni_grid::Error> {
//! let (x, y) = ([0.5, 9.5, 0.5, 9.5, 5.0], [0.5, 0.5, 9.5, 9.5, 5.0]);
//! let z = [1.0, 2.0, 3.0, 4.0, 2.5];
//! let grid = GridSpec::covering(Bounds::of(&x, &y).unwrap(), 1.0)?;
//! let params = Params::new(grid);
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let dem = interpolate(&device, Points { x: &x, y: &y, z: &z }, &params, &())?;
//! assert_eq!(dem.values[0], 3.0); // row 0 is the north: the point (0.5, 9.5)
//! assert!(dem.values.iter().all(|value| (1.0..=4.0).contains(value)));
//! # Ok(())
//! # }
//! ```
//!
//! # Method
//!
//! [`Method::Exact`], the default: a query cuts its own Voronoi cell by the bisectors of the sites around
//! it, until none farther out can matter (Ray, Sokolov, Lefebvre and Levy 2018,
//! doi:10.1145/3272127.3275092), and shares it among its neighbours.
//!
//! [`Method::Pixels`], after Simin You and Jianting Zhang, *Constructing Natural Neighbor Interpolation
//! Based Grid DEM Using CUDA* (COM.Geo 2012): points become sites of a raster, the raster's exact
//! Voronoi diagram is made (crate `pba-voronoi`), and every DEM cell sums over the pixels in a circle
//! around it. Where we differ from the paper: the Voronoi raster may be finer than the DEM
//! (`supersample`), several points in a pixel merge by a stated policy, a query on a site gives that
//! site's value, and pixels as far from one site as from another count for both sides.
//!
//! By either, a site counts only within its region of influence, so gaps in the data, a lake, stay NODATA
//! without any pass before or after (Beutel, Mølhave and Agarwal 2010, doi:10.1145/1869790.1869817); and
//! CPU and GPU give the same bits. `docs/nni-grid.md` has the definitions.
//!
//! # Accuracy
//!
//! The exact method is off by the rounding of results to f32. On pixels, sites move to the centres of
//! their pixels: by half a pixel's diagonal at most, which a finer raster shrinks. Values are resolved to
//! their range / 2^31 or better ([`ValueScale`]).
#![deny(missing_docs)]

pub mod cpu;
mod error;
mod exact;
#[cfg(feature = "cuda")]
pub mod gpu;
mod hull;
mod limits;
mod params;
mod value_scale;

use gpu_core::{Device, GridSpec, Progress};

pub use error::{Error, Result};
pub use limits::{Circle, QueryLimits};
pub use params::{
    Duplicates, Fill, MAX_SIDE, MAX_SUPERSAMPLE, Method, Params, Points, Request, Weights,
};
pub use value_scale::ValueScale;

/// What was read, merged and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Points given.
    pub points: u64,
    /// Points outside the grid. The method on pixels skips them; the exact one uses them.
    pub outside: u64,
    /// Sites: places with points, or with the method on pixels occupied pixels.
    pub sites: u64,
    /// Points that share their place, or their pixel, with the one that made the site.
    pub merged: u64,
    /// Cells without a value.
    pub nodata: u64,
}

/// A DEM on the host.
#[derive(Clone, Debug)]
pub struct Dem {
    /// Where its cells lie.
    pub grid: GridSpec,
    /// Row-major, row 0 in the north; NaN is NODATA.
    pub values: Vec<f32>,
    /// The number of natural neighbours that went into each cell, or with the method on pixels of pixels,
    /// if it was asked for.
    pub counts: Option<Vec<u32>>,
    /// The distance of each cell to the nearest site, in cells, if it was asked for; infinite where
    /// there is none. With the method on pixels and an even supersampling: to the nearest of the sites of
    /// the four pixels that touch the cell's centre.
    pub distances: Option<Vec<f32>>,
    /// The local-coordinates deviation of each cell, in cells, if it was asked for.
    pub deviations: Option<Vec<f32>>,
    /// What was read, merged and left out.
    pub summary: Summary,
}

/// Interpolates points onto a grid.
///
/// No points give a DEM of NODATA. Work is proportional to the points and the cells; in a void a cell costs
/// the square of its natural neighbours. With the method on pixels it is proportional to the pixels of
/// the Voronoi raster plus, for each cell, those of the query circle.
///
/// # Errors
/// [`Error::Columns`], [`Error::NotFinite`] for the points; [`Error::Supersample`],
/// [`Error::QueryRadius`], [`Error::SiteRadius`], [`Error::MaxDistance`], [`Error::FillValue`],
/// [`Error::WeightsRadius`], [`Error::WeightsLayers`], [`Error::TooLarge`] for the parameters;
/// [`Error::TooManyPoints`];
/// [`Error::Cancelled`] where `progress` breaks; [`Error::Core`] where memory or the device fails.
pub fn interpolate(
    device: &Device,
    points: Points,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Dem> {
    match device {
        Device::Cpu => cpu::interpolate(points, params, progress),
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => gpu::interpolate(gpu, points, params, progress),
        // Another crate of the program may switch gpu-core's `cuda` on, but not ours.
        #[allow(unreachable_patterns)]
        other => Err(gpu_core::Error::without_cuda(other).into()),
    }
}

/// Interpolates several values of the same points: one DEM for each column of values, as of that alone.
/// The Voronoi diagram is made once, and a query finds what it steals once for each four values. Cells
/// may be left out by a mask.
///
/// # Errors
/// As [`interpolate`], and [`Error::Core`] unless the mask has an element for each cell.
pub fn interpolate_all(
    device: &Device,
    request: &Request,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Vec<Dem>> {
    match device {
        Device::Cpu => cpu::interpolate_all(request, params, progress),
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => gpu::interpolate_all(gpu, request, params, progress),
        #[allow(unreachable_patterns)]
        other => Err(gpu_core::Error::without_cuda(other).into()),
    }
}
