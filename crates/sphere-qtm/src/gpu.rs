//! Diagrams on a GPU, over device memory. The kernels are in `kernels_rs::sphere_qtm`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gpu_core::{Bounds, DeviceChoice, DevicePoints, Extent, Gpu};
//! use sphere_qtm::gpu::voronoi;
//! use sphere_qtm::{Level, Params};
//!
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let (longitudes, latitudes) = (gpu.upload(&[116.4, -78.5])?, gpu.upload(&[39.9, -0.2])?);
//! let bounds = Bounds { min_x: -78.5, min_y: -0.2, max_x: 116.4, max_y: 39.9 };
//! let extent = Extent { bounds: Some(bounds), ranges: vec![] };
//! let sites = DevicePoints::new(&longitudes, &latitudes, [], extent)?;
//! let diagram = voronoi(&gpu, &sites, &Params::new(Level::new(3)?))?;
//! assert_eq!(diagram.nearest.len(), 512);
//! # Ok(())
//! # }
//! ```

mod baselines;
mod diagram;
mod points;
mod prune;
mod shapes;

use device_std::In;
use device_std::vector::Vector;
use gpu_core::{Column, DevicePoints, Extent, Gpu, Points, Progress, UploadedPoints};
use kernels_rs::sphere_qtm::baselines::TILE;
use kernels_rs::sphere_qtm::nearest::{Place, Sites};
use kernels_rs::sphere_qtm::places as kernels;

pub use diagram::DeviceDiagram;
pub(crate) use points::cells_of_points_host;
pub use points::{Coordinate, cells_of_points, cells_of_vectors};
pub(crate) use shapes::voronoi_of_shapes_host;
pub use shapes::{DeviceShapes, voronoi_of_shapes};

use crate::params::check_count;
use crate::{Diagram, Params, Result, sites};

/// Computes the [diagram](crate::voronoi) of sites in device memory, with the same bits as on the CPU. Sites are points
/// with longitudes in x and latitudes in y, in degrees; the call ignores their extent and values.
///
/// It enqueues on the handle and returns; after one call it can be captured. Scratch is 48 bytes a site.
/// [`Method::Pruned`](crate::Method::Pruned) takes 192 bytes a site more, 3 bytes a cell and up to 2.4 MB. The
/// kernels of all pairs take 8 bytes a cell.
///
/// A site that is not on the globe is nearest to no cell: the call cannot refuse it, since the host does not see
/// it. If there is no other site, cells have [`NONE`](crate::NONE).
///
/// With [`Params::second`] or [`Params::tie`], one kernel in f64 replaces the kernels of all pairs.
///
/// Example: see [the module](self).
///
/// # Errors
/// - For the sites: [`Error::NoSites`](crate::Error::NoSites) and [`gpu_core::Error::TooMany`].
/// - [`Error::Memory`](crate::Error::Memory) for a level that the device could not hold if it were empty.
/// - [`Error::Core`](crate::Error::Core) where memory or the device fails.
pub fn voronoi(gpu: &Gpu, sites: &DevicePoints<'_>, params: &Params) -> Result<DeviceDiagram> {
    check_count(sites.len() as u64)?;
    let cells = params.level.cell_count();
    let scratch = if params.is_pruned() { 3 } else { 8 };
    let asked = cells.saturating_mul(params.bytes_of_cell() + scratch);
    params.check_memory(asked, gpu.total_memory())?;
    let places = Places::new(gpu, sites)?;
    // SAFETY: all cells are written below.
    let mut diagram = unsafe { DeviceDiagram::uninitialized(gpu, params)? };
    if params.is_pruned() {
        prune::voronoi(gpu, &places, params, &mut diagram)?;
    } else {
        baselines::voronoi(gpu, &places, params, &mut diagram)?;
    }
    Ok(diagram)
}

/// The unit vectors of sites in device memory.
struct Places {
    column: Column<[f64; 4]>,
    /// The same in f32, as bits; and zeros up to a multiple of a tile.
    narrow: Column<Vector>,
}

impl Places {
    fn new(gpu: &Gpu, sites: &DevicePoints<'_>) -> Result<Self> {
        let padded = sites.len().next_multiple_of(TILE as usize);
        // SAFETY: the kernel writes all.
        let (mut column, mut narrow) = unsafe {
            (gpu.uninitialized::<[f64; 4]>(sites.len())?, gpu.uninitialized::<Vector>(padded)?)
        };
        let arguments = kernels::place_sites::Args {
            longitudes: sites.x().input(),
            latitudes: sites.y().input(),
            count: sites.len() as u32,
            padded: padded as u32,
            // SAFETY: a place is four such numbers, and columns begin at multiples of 256 bytes.
            places: unsafe { column.output().cast::<Place>() },
            narrow: narrow.output(),
        };
        let blocks = gpu_core::Blocks::for_each(&kernels::place_sites, padded as u64)?;
        // SAFETY: all columns have an element for each site, and columns begin at multiples of 256 bytes.
        unsafe { gpu.enqueue(kernels::place_sites, blocks, arguments)? };
        Ok(Self { column, narrow })
    }

    /// The unit vector of each site.
    fn input(&self) -> In<'_, Place> {
        // SAFETY: a place is four such numbers, and columns begin at multiples of 256 bytes.
        unsafe { self.column.input().cast() }
    }

    fn sites(&self) -> Sites<'_> {
        Sites { places: self.input(), count: self.count() }
    }

    fn count(&self) -> u32 {
        self.column.len() as u32
    }
}

/// [`voronoi`](crate::voronoi) on a GPU. Waits for the result.
pub(crate) fn voronoi_host(
    gpu: &Gpu,
    points: &Points<'_>,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    check_count(points.len() as u64)?;
    sites::check_rows("site", points)?;
    params.check_host()?;
    let places = Points::new(points.x, points.y);
    let extent = Extent::of(&places)?;
    progress.at("to the device", 0.0)?;
    let there = UploadedPoints::new(gpu, &places)?;
    progress.during("voronoi", || voronoi(gpu, &there.points(extent)?, params)?.to_host())
}
