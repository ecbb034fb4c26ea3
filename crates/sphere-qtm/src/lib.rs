//! The Quaternary Triangular Mesh, and Voronoi diagrams on the sphere.
//!
//! The mesh (Dutton 1989) divides the globe into the eight faces of the octahedron. The midpoints of its edges divide
//! each triangle into four, down to level 29, whose triangles are 19 mm wide. A [`Cell`] has an id of 64 bits. From it
//! follow its place, its neighbours, its parent and its children; cells cover areas ([`cover_circle`] and others).
//!
//! [`voronoi`] finds the nearest site of every cell of a level by great-circle distance. From the result follow the
//! areas of the regions, the pairs of regions that touch, and their outlines. [`voronoi_of_shapes`] does the same for
//! sites that are arcs of great circles and polygons.
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
//! Longitudes and latitudes are in degrees. Distances and areas are on the sphere of radius 1, in radians and
//! steradians. [`LonLat`] and [`UnitVector`] are two types. Points that come as columns ([`gpu_core::Points`]) have
//! longitudes in x and latitudes in y. [`Latitude`] converts geodetic latitudes.
//!
//! # Method
//!
//! The nearest site has the smallest squared chord in f64; among equal chords, the lowest index counts.
//!
//! [`Method::Pruned`], the default, hands candidates down from triangle to triangle. A triangle drops a candidate
//! if another site beats it at all three vertices, and so everywhere in the triangle.
//!
//! [`Baseline`] has the published kernels, which compare every cell with every site. They are by Wang, Wang, Zhao
//! and Lu, *Optimization of spherical Voronoi diagram generating algorithm based on graphic processing unit*
//! (Journal of Computer Applications 2015, DOI 10.11772/j.issn.1001-9081.2015.06.1564).
//!
//! All methods give the same bits on all devices.
#![deny(missing_docs)]

mod balls;
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

/// Finds the nearest site of each cell of a level, from host arrays to host arrays. Sites are points with longitudes in
/// x and latitudes in y, in degrees; the call ignores their values.
///
/// A cell is represented by its centre. Work: O(sites + cells) if sites are spread, since few sites matter to a
/// triangle; O(sites x cells) with the kernels of all pairs. Memory in addition to the outputs: some 200 bytes a site.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Level, LonLat, Params, voronoi};
///
/// let poles = Points::new(&[0.0, 0.0], &[90.0, -90.0]);
/// let diagram = voronoi(&Device::Cpu, &poles, &Params::new(Level::new(3)?))?;
/// assert_eq!(diagram.site_of(LonLat::new(116.4, 39.9)?), 0); // Peking is in the north
/// assert_eq!(diagram.site_of(LonLat::new(151.2, -33.9)?), 1); // Sydney is in the south
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// - For the sites: [`Error::NoSites`], [`gpu_core::Error::TooMany`], [`gpu_core::Error::Length`] and
///   [`Error::Row`].
/// - [`Error::Memory`] for a level that does not fit.
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
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

/// Finds the nearest site of each cell, as [`voronoi`] does, for sites that are points, arcs and polygons. The
/// distance to a site is the distance to the nearest of its arcs, and 0 inside a polygon.
///
/// A cell is represented by its centre. The CPU and all devices give the same bits. If several sites have the same
/// squared chord in f64, the lowest index counts. [`Method::Pruned`] hands lists of arcs down from triangle to
/// triangle; all other kernels compare each cell with all arcs.
///
/// ```
/// use gpu_core::Device;
/// use sphere_qtm::{Level, LonLat, Params, Shape, Shapes, voronoi_of_shapes};
///
/// let place = |longitude, latitude| LonLat::new(longitude, latitude);
/// let equator = Shape::Line(vec![place(-60.0, 0.0)?, place(60.0, 0.0)?]);
/// let shapes = Shapes::new(&[equator, Shape::Point(place(0.0, 90.0)?)])?;
/// let diagram = voronoi_of_shapes(&Device::Cpu, &shapes, &Params::new(Level::new(4)?))?;
/// assert_eq!(diagram.site_of(place(50.0, 20.0)?), 0); // 20 degrees from the line, 70 from the pole
/// assert_eq!(diagram.site_of(place(50.0, 70.0)?), 1);
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Memory`] for a level that does not fit.
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
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

/// Returns the id of the cell of a level that holds each point. Longitudes are in x and latitudes in y, in degrees.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Level, cells_of_points};
///
/// let points = Points::new(&[45.0, 135.0, 45.0], &[30.0, 30.0, -30.0]);
/// let cells = cells_of_points(&Device::Cpu, &points, Level::ZERO)?;
/// assert_eq!(cells, ["1".parse()?, "2".parse()?, "5".parse()?]); // octants
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
///
/// # Errors
/// - For the points: [`gpu_core::Error::Length`] and [`Error::Row`].
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
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
