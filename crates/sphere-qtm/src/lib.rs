//! The Quaternary Triangular Mesh, and Voronoi diagrams on the sphere.
//!
//! The mesh (Dutton 1989) divides the globe into the eight faces of the octahedron, and each triangle into four by
//! the midpoints of its edges, down to level 29, whose triangles are 19 mm wide. A [`Cell`] is named by 64
//! bits; it knows its place, its neighbours and its family, and covers areas ([`cover_circle`] and others).
//!
//! [`voronoi`] finds the nearest site of every cell of a level by great-circle distance: whose is each piece of
//! the Earth? From that follow the areas of the regions, which regions touch, and their outlines. [`voronoi_of_shapes`] does the
//! same of sites that are arcs of great circles and polygons.
//!
//! ```
//! use gpu_core::{Device, DeviceChoice, Points};
//! use sphere_qtm::{Cell, Level, LonLat, Params, region_areas, voronoi};
//!
//! # fn main() -> Result<(), sphere_qtm::Error> {
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let level = Level::new(5)?;
//! let cell = Cell::containing(LonLat::new(116.4, 39.9)?, level);
//! assert_eq!((cell.to_string().as_str(), cell.edge_neighbours().len()), ("203032", 3));
//!
//! // Peking, London, Quito.
//! let sites = Points::new(&[116.4, -0.1, -78.5], &[39.9, 51.5, -0.2]);
//! let diagram = voronoi(&device, &sites, &Params::new(level))?;
//! assert_eq!(diagram.site_of(LonLat::new(2.3, 48.9)?), 1);
//! let areas = region_areas(&diagram, 3)?;
//! assert!((areas.iter().sum::<f64>() - 4.0 * std::f64::consts::PI).abs() < 1e-12);
//! # Ok(())
//! # }
//! ```
//!
//! # Units
//!
//! Longitudes and latitudes are in degrees, distances and areas on the sphere of radius 1: radians and
//! steradians. [`LonLat`] and [`UnitVector`] are two types. Points that come as columns ([`gpu_core::Points`])
//! have longitudes in x and latitudes in y. [`Latitude`] has what to do with geodetic latitudes.
//!
//! # Method
//!
//! The nearest site is the one with the smallest squared chord in f64, and among equals the one with the lowest
//! index. By default ([`Method::Pruned`]) candidates are handed down from triangle to triangle, each of
//! which leaves out those that another site beats at all three of its vertices, and so everywhere in it. Beside it
//! stand the kernels ([`Baseline`]) of Wang, Wang, Zhao and Lu, *Optimization of spherical Voronoi diagram generating algorithm
//! based on graphic processing unit* (Journal of Computer Applications 2015,
//! DOI 10.11772/j.issn.1001-9081.2015.06.1564), which compare every cell with every site. All give the same bits
//! on all devices.
#![deny(missing_docs)]

mod cell;
mod cover;
mod cpu;
mod diagram;
mod error;
#[cfg(feature = "geo")]
mod geo;
#[cfg(feature = "cuda")]
pub mod gpu;
mod locate;
mod nearest;
mod neighbours;
mod params;
mod place;
mod regions;
mod shapes;
mod sites;

use gpu_core::{On, Points};

pub use cell::{Cell, Level};
pub use cover::{compact, cover_box, cover_circle, cover_polygon, uncompact};
pub use diagram::Diagram;
pub use error::{Error, Result};
pub use kernels_rs::sphere_qtm::MAX_LEVEL;
pub use nearest::{Nearest, nearest_sites};
pub use params::{Baseline, MAX_SITES, Method, NONE, Params};
pub use place::{Latitude, LonLat, UnitVector};
pub use regions::{Polygon, adjacency, outlines, region_areas};
pub use shapes::{Shape, Shapes};

/// The nearest site of each cell of a level, from host arrays to host arrays. Sites are points with longitudes in x
/// and latitudes in y, in degrees; their values are not looked at.
///
/// A cell counts as its centre. Work: O(sites + cells) where sites are spread, for a triangle meets few of them;
/// O(sites x cells) with the kernels of all pairs. Memory beside the outputs: some 200 bytes a site.
///
/// # Errors
/// [`Error::NoSites`], [`gpu_core::Error::TooMany`], [`gpu_core::Error::Length`] and [`Error::Row`] for the sites,
/// [`Error::Memory`] for a level that does not fit, [`Error::Cancelled`] where its progress ends the call, and
/// [`Error::Core`] where memory or the device fails.
pub fn voronoi<'on>(
    on: impl Into<On<'on>>,
    sites: &Points<'_>,
    params: &Params,
) -> Result<Diagram> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::voronoi(sites, params, progress),
        gpu => gpu::voronoi_host(gpu, sites, params, progress),
    )
}

/// [`voronoi`] of sites that are points, arcs and polygons: the distance to a site is that to the nearest of its arcs, and 0
/// inside of a polygon.
///
/// A cell counts as its centre. The CPU and all devices give the same bits; of sites as near, as f64 rounds squared chords,
/// the one with the lowest index is taken. Of the kernels, [`Method::Pruned`] hands lists of arcs down from triangle to triangle,
/// and all others compare each cell with all arcs.
///
/// # Errors
/// [`Error::Memory`] for a level that does not fit, [`Error::Cancelled`] where its progress ends the call, and [`Error::Core`] where
/// memory or the device fails.
pub fn voronoi_of_shapes<'on>(
    on: impl Into<On<'on>>,
    shapes: &Shapes,
    params: &Params,
) -> Result<Diagram> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::voronoi_of_shapes(shapes, params, progress),
        gpu => gpu::voronoi_of_shapes_host(gpu, shapes, params, progress),
    )
}

/// The cell of a level that each point lies in, as its id. Longitudes are in x and latitudes in y, in degrees.
///
/// # Errors
/// [`gpu_core::Error::Length`] and [`Error::Row`] for the points, [`Error::Cancelled`], and [`Error::Core`] where
/// memory or the device fails.
pub fn cells_of_points<'on>(
    on: impl Into<On<'on>>,
    points: &Points<'_>,
    level: Level,
) -> Result<Vec<Cell>> {
    let On { device, progress } = on.into();
    sites::check_rows("point", points)?;
    gpu_core::on_device!(
        device,
        cpu => cpu::cells_of_points(points, level, progress),
        gpu => gpu::cells_of_points_host(gpu, points, level, progress),
    )
}
