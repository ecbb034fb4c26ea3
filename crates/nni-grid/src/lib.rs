//! Natural neighbour interpolation of scattered points onto a grid, such as from LiDAR points to a DEM.
//!
//! A natural neighbour estimate at a query point is a weighted mean of the sites' values. The query point's Voronoi
//! cell, inserted among the cells of the sites, would take an area from each of its neighbours. That area is the
//! neighbour's weight (Sibson 1980, 1981). The estimate needs no search radius or power to tune, passes through the
//! data, and stays within their range.
//!
//! This crate computes it exactly, from the cells themselves, or as published on a raster of pixels ([`Method`]).
//! Radii are in DEM cells; values keep the unit of `z`.
//!
//! ```
//! use gpu_core::{Bounds, Device, DeviceChoice, GridSpec, Points};
//! use nni_grid::{Input, Params, interpolate};
//!
//! # fn main() -> Result<(), nni_grid::Error> {
//! let (x, y) = ([0.5, 9.5, 0.5, 9.5, 5.0], [0.5, 0.5, 9.5, 9.5, 5.0]);
//! let z = [1.0, 2.0, 3.0, 4.0, 2.5];
//! let grid = GridSpec::covering(Bounds::of(&x, &y).unwrap(), 1.0)?;
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let points = Points { x: &x, y: &y, values: &[&z] };
//! let dem = interpolate(&device, Input::new(points, grid), &Params::new())?;
//! let z = &dem.values[0]; // one raster for each column of values
//! assert_eq!(z.get(0, 0), Some(&3.0)); // row 0 is the north: the point (0.5, 9.5)
//! assert!(z.values().iter().all(|value| (1.0..=4.0).contains(value)));
//! # Ok(())
//! # }
//! ```
//!
//! # Method
//!
//! [`Method::Exact`], the default, walks over the Delaunay triangulation of the points. The walk finds a query's
//! natural neighbours, and the area that its cell would take from each (Green and Sibson 1978,
//! doi:10.1093/comjnl/21.2.168). Every decision about neighbours is exact. A cell outside the convex hull of the
//! points has the value at the nearest place of the hull. [`Weights::Linear`] takes the plane of the triangle that
//! holds the cell instead: the surface of a TIN.
//!
//! [`Method::Pixels`] follows Simin You and Jianting Zhang, *Constructing Natural Neighbor Interpolation Based Grid
//! DEM Using CUDA* (COM.Geo 2012). Points become sites of a raster. The crate `pba-voronoi` makes the raster's
//! exact Voronoi diagram, and every DEM cell sums over the pixels in a circle around it. It differs from the paper:
//!
//! - The Voronoi raster may be finer than the DEM (`supersample`).
//! - Several points in a pixel merge by a stated policy.
//! - A query on a site gives that site's value.
//! - A pixel that is equally far from two sites counts for both.
//!
//! By either method, cells farther than [`Params::max_distance`] from the nearest point have no value, so that a
//! lake stays NODATA. The exact method gives every other cell the weights of all its natural neighbours, however
//! far away they are. On pixels a site may have a region of influence, as published, beyond which no cell uses it
//! ([`Params::region_of_influence`]; Beutel, Mølhave and Agarwal 2010, doi:10.1145/1869790.1869817).
//!
//! CPU and GPU give the same bits. `docs/internals/nni-grid.md` has the definitions.
//!
//! # Accuracy
//!
//! The error of the exact method is the rounding of results to f32, but in triangles whose height is some ulps of the
//! coordinates ([`delaunay_stars::NaturalNeighbours`]). On pixels, sites move to the centres of their
//! pixels: by half a pixel's diagonal at most, which a finer raster shrinks. Values are resolved to their range /
//! 2^31 or better ([`ValueScale`]).
//!
//! # On the device
//!
//! `gpu::interpolate` takes points in device memory and returns a `gpu::DeviceDem` there, without a copy from or to
//! the host. `gpu::interpolate_into` streams from the caller's arrays into the caller's arrays, and copies while it
//! computes.
#![deny(missing_docs)]

mod error;
mod exact;
#[cfg(feature = "cuda")]
pub mod gpu;
mod input;
mod params;
mod pixels;
mod value_scale;

use gpu_core::{Grid, GridSpec, On};

pub use error::{Error, Result};
pub use exact::dependence::{Dependence, Wanted};
pub use input::Input;
pub use params::{Duplicates, Fill, MAX_SIDE, MAX_SUPERSAMPLE, Method, Params, Weights};
pub use value_scale::ValueScale;

/// How many points were read, merged and left out.
///
/// Example: see [`interpolate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Points given.
    pub points: u64,
    /// Points outside the grid. The method on pixels skips them; the exact method uses them.
    pub outside: u64,
    /// Sites: places with points, or with the method on pixels occupied pixels.
    pub sites: u64,
    /// Points that share the place or the pixel of a site with an earlier point.
    pub merged: u64,
    /// Cells without a value, of each raster of values.
    pub nodata: u64,
}

/// A DEM on the host: a raster for each column of values, and the layers that belong to all columns.
///
/// Example: see [`interpolate`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dem {
    /// Where the cells lie.
    pub grid: GridSpec,
    /// The interpolated values, a raster for each column; NaN is NODATA.
    pub values: Vec<Grid<f32>>,
    /// The number of natural neighbours that went into each cell, with [`Params::counts`]. The exact method gives 2
    /// outside the hull, or 1 at a corner of it. The method on pixels gives the number of pixels.
    pub counts: Option<Grid<u32>>,
    /// The distance of each cell to the nearest site, in cells, with [`Params::distances`]; infinite where there is
    /// none. With the method on pixels and an even supersampling it is the distance to the nearest of the sites of
    /// the four pixels that touch the cell's centre.
    pub distances: Option<Grid<f32>>,
    /// The local-coordinates deviation of each cell, in cells, with [`Params::deviations`].
    pub deviations: Option<Grid<f32>>,
    /// How many points were read, merged and left out. If points have no values, the call reads none.
    pub summary: Summary,
}

impl Dem {
    /// The DEM of points without values.
    fn without_values(grid: GridSpec) -> Self {
        let (counts, distances, deviations) = (None, None, None);
        let summary = Summary::default();
        Self { grid, values: Vec::new(), counts, distances, deviations, summary }
    }
}

/// Interpolates points onto a grid: a raster for each column of values, with the bits that the column would have
/// alone.
///
/// The exact method computes the geometry once for all columns of values, the method on pixels once for every four.
/// No points give a DEM of NODATA.
///
/// Work of the exact method: the triangulation, O(n log n) for n points, and a part proportional to the natural
/// neighbours of all cells. Work of the method on pixels: proportional to the pixels of the Voronoi raster plus,
/// for each cell, the pixels of the query circle.
///
/// ```
/// use gpu_core::{Device, GridSpec, Points};
/// use nni_grid::{Input, Params, interpolate};
///
/// // The corners of a square of side 2, and a cell with its centre in the middle.
/// let (x, y) = ([0.0, 2.0, 0.0, 2.0], [0.0, 0.0, 2.0, 2.0]);
/// let points = Points { x: &x, y: &y, values: &[&[1.0, 2.0, 3.0, 4.0]] };
/// let cell = GridSpec::new(0.5, 1.5, 1.0, 1, 1)?;
/// let dem = interpolate(&Device::Cpu, Input::new(points, cell), &Params::new())?;
/// assert_eq!(dem.values[0].values(), [2.5]); // each corner weighs as much
/// assert_eq!(dem.summary.sites, 4);
/// # Ok::<(), nni_grid::Error>(())
/// ```
///
/// # Errors
/// - For the points: [`Error::Core`] with [`Length`](gpu_core::Error::Length) or
///   [`NotFinite`](gpu_core::Error::NotFinite), [`Error::Value`] and [`TooMany`](gpu_core::Error::TooMany); with
///   the exact method [`Error::Range`].
/// - For a mask with other sides than the grid: [`Error::Core`] with [`Shape`](gpu_core::Error::Shape).
/// - For the parameters: [`Parameter`](gpu_core::Error::Parameter), [`Error::ExactRegionOfInfluence`],
///   [`Error::ExactQueryRadius`], [`Error::WeightsRadius`], [`Error::WeightsLayers`], [`Error::LinearOnPixels`] and
///   [`Error::TooLarge`].
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
pub fn interpolate<'on>(on: impl Into<On<'on>>, input: Input<'_>, params: &Params) -> Result<Dem> {
    let On { device, progress } = on.into();
    let call = params::OnGrid::new(input.grid, params)?;
    gpu_core::on_device!(
        device,
        cpu => match params.method {
            Method::Exact => exact::cpu::interpolate(&input, &call, progress),
            Method::Pixels => pixels::cpu::interpolate(&input, &call, progress),
        },
        gpu => gpu::from_host(gpu, &input, &call, progress),
    )
}
