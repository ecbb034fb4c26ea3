//! The exact Delaunay triangulation and Voronoi diagram of points in the plane, on all cores of the CPU or on a
//! GPU.
//!
//! ```
//! # fn main() -> delaunay_stars::Result<()> {
//! use delaunay_stars::Location;
//! use gpu_core::Points;
//!
//! let (x, y) = ([0.0, 4.0, 4.0, 0.0, 1.0], [0.0, 0.0, 4.0, 4.0, 2.0]);
//! let triangulation = delaunay_stars::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
//! assert_eq!(triangulation.star(4), [0, 1, 2, 3]); // neighbours, counter-clockwise
//! assert_eq!(triangulation.hull(), [0, 1, 2, 3]);
//! let area = triangulation.cell(4).area; // of its Voronoi cell
//! assert!((area - 49.0 / 6.0).abs() < 1e-12);
//! let mut walk = triangulation.walk();
//! assert_eq!(walk.locate(3.0, 2.0)?, Location::Triangle([1, 2, 4]));
//! let near = walk.natural_neighbours(3.0, 2.0)?; // and their shares
//! assert!(near.sites.contains(&4));
//! # Ok(())
//! # }
//! ```
//!
//! # Which triangulation
//!
//! Three sites are a triangle of the triangulation if no other site lies inside their circle. Where four or more sites
//! lie on an empty circle, several triangulations are possible. This crate's rule divides their polygon into a fan
//! around the corner with the least x, and among these the least y. This is a symbolic perturbation (Devillers and
//! Teillaud 2011, "Perturbations for Delaunay and weighted Delaunay 3D triangulations",
//! doi:10.1016/j.comgeo.2010.09.010). So the triangles always cover the hull and do not overlap.
//!
//! So any points have exactly one triangulation. It depends neither on the order of the points nor on the number of
//! threads. Each star can be computed by itself, and the stars agree: if site a is in the star of site b, then b is in
//! the star of a.
//!
//! # Exactness
//!
//! Every decision about orientation and circles is exact for the coordinates as given. f64 with an error bound comes
//! first (Shewchuk 1997, doi:10.1007/PL00009321). Where the bound leaves the sign open, integers of 256 or 2048 bits
//! decide (`kernels_rs::stars`).
//!
//! Coordinates may have any exponent. But at most 500 bits may lie between the highest bit of the largest coordinate
//! and the lowest bit of any coordinate. So 1e300 may stand beside 1e200, and subnormal numbers beside each other; 1
//! may not stand beside 1e300. For other points the call returns [`Error::Range`].
//!
//! Cells and shares are computed from exact neighbours in f64, and rounded.
//!
//! # Special points
//!
//! | points | result |
//! |---|---|
//! | none | no sites, an empty hull |
//! | one, or all at one place | one site, without neighbours, which is the hull |
//! | two, or all in line | no triangles; neighbours are those next on the line; the hull is the line |
//! | several at one place | one site, that the lowest index stands for: [`Triangulation::duplicates`] |
//! | NaN or infinite | an error with the first index |
//!
//! # Method
//!
//! Divide and conquer (Guibas and Stolfi 1985, doi:10.1145/282918.282923) along Morton's curve. Its time is O(n log n)
//! where points lie at few scales: along lines, on one circle, in clusters. Each further scale, at which a few points lie far from
//! all others, takes at most O(n) more; there are at most 500. On a GPU (module `gpu`), a thread or a warp makes each star alone,
//! from an index of the points.
#![deny(missing_docs)]

mod cell;
mod divide;
mod error;
#[cfg(feature = "geo")]
mod geo;
#[cfg(feature = "cuda")]
pub mod gpu;
mod lines;
mod natural;
mod range;
mod sites;
mod stars;
mod triangulation;
mod walk;

use gpu_core::{On, Points};
use stars::Rings;

pub use cell::Cell;
pub use error::{Error, Result};
pub use lines::{LineSites, OnLine, Splitting, split_lines};
pub use natural::NaturalNeighbours;
#[doc(hidden)]
pub use range::{Scale, Span};
pub use stars::MAX_POINTS;
#[doc(hidden)]
pub use stars::SiteStars;
pub use triangulation::Triangulation;
pub use walk::{Location, Walk};

/// Triangulates points, on any device. Values of points are ignored.
///
/// The result is the Delaunay triangulation as the [crate] defines it: it depends on the places of the points alone,
/// not on their order.
///
/// Cost: on the CPU O(n log n) time on all threads where points lie at few scales (see [the crate](crate#method)), and 120
/// bytes a point while it runs. On a GPU
/// the cost of [`gpu::triangulate`], of the copies, and of [`gpu::DeviceTriangulation::to_host`] by one thread of the
/// host.
///
/// ```
/// # fn main() -> delaunay_stars::Result<()> {
/// use gpu_core::{Device, Points};
///
/// let (x, y) = ([0.0, 4.0, 4.0, 0.0, 1.0], [0.0, 0.0, 4.0, 4.0, 2.0]);
/// let triangulation = delaunay_stars::triangulate(&Device::Cpu, Points::new(&x, &y))?;
/// assert_eq!(triangulation.star(4), [0, 1, 2, 3]);
/// assert_eq!(triangulation.hull(), [0, 1, 2, 3]);
/// assert_eq!(triangulation.triangles().count(), 4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`gpu_core::Error::Length`]: the columns differ in length.
/// - [`gpu_core::Error::NotFinite`], with the index: a coordinate is NaN or infinite.
/// - [`gpu_core::Error::TooMany`]: there are more than [`MAX_POINTS`] points.
/// - [`Error::Range`]: the coordinates have too many bits for exact decisions.
/// - [`Error::Cancelled`]: the caller's progress ended the call.
/// - [`Error::Core`]: memory or the device failed.
pub fn triangulate<'on>(on: impl Into<On<'on>>, points: Points<'_>) -> Result<Triangulation> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => Triangulation::of_rings(Rings::of(points, Span::EMPTY, progress)?),
        gpu => gpu::host::triangulate(gpu, points, progress),
    )
}
