//! Triangulation on a GPU, from an index in device memory to stars in device memory, and queries of the stars:
//! [`locate`], [`interpolate_linear`], [`cells`].
//!
//! Kernels and their plan are in `kernels_rs::stars`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use delaunay_stars::gpu::{Workspace, triangulate};
//! use gpu_core::{DeviceChoice, Gpu};
//! use quadtree_sort::gpu::index;
//!
//! let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let mut workspace = Workspace::new(&gpu)?;
//! // A square's corners and a place within it, twice.
//! let x = gpu.upload(&[0.0, 4.0, 4.0, 0.0, 1.0, 1.0])?;
//! let y = gpu.upload(&[0.0, 0.0, 4.0, 4.0, 2.0, 2.0])?;
//! let points = index(&mut workspace, &x, &y, None)?;
//! let found = triangulate(&mut workspace, &points)?;
//! assert_eq!(found.sites().len(), 5);
//! // Eight edges, each in the stars of both ends.
//! assert_eq!(found.neighbours().len(), 16);
//! let found = found.to_host()?;
//! assert_eq!(found.hull(), [0, 1, 2, 3]);
//! assert_eq!(found.star(4), [0, 1, 2, 3]);
//! # Ok(())
//! # }
//! ```

pub(crate) mod host;
mod part;
mod queries;
mod sample;
mod stars;

pub use gpu_scan::gpu::Workspace;
pub use queries::{DeviceCells, DeviceLocations, cells, interpolate_linear, locate};

use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::{reduce, scan};
use gpu_scan::{Max, Scan, Sum};
use kernels_rs::stars::predicates::Predicates;
use kernels_rs::stars::{
    GREATEST, LEAST, LOWEST, SPAN, find_firsts, find_span, gather_sites, scale_places,
};
use quadtree_sort::gpu::DeviceIndex;

use crate::range::{Scale, Span};
use crate::{Error, MAX_POINTS, Result};

/// The most threads that look for the bits of coordinates. A warp ends with three atomic operations on the same numbers.
const SPAN_THREADS: u64 = 1 << 18;

/// The Delaunay triangulation of points in device memory: the stars of their sites.
///
/// Points at one place are one *site*. Sites have numbers of their own, in the order of an index
/// ([`sites`](Self::sites)), so that neighbours lie near each other in memory.
///
/// Example: see [the module](self).
#[derive(Debug)]
pub struct DeviceTriangulation {
    index: DeviceIndex<f64>,
    site_of: Column<u32>,
    starts: Column<u32>,
    neighbours: Column<u32>,
    scale: Scale,
    span: Span,
    predicates: Predicates,
}

/// Stars in the order of their sites; see [`DeviceTriangulation`].
struct Stars {
    starts: Column<u32>,
    neighbours: Column<u32>,
}

/// Triangulates the points of an index in device memory. **Waits** for the device twice: for the number of sites, and
/// for the number of their neighbours. So a graph cannot hold this call.
///
/// [`triangulate`](crate::triangulate()) gives the same triangulation, whatever the order of work.
///
/// Cost: one pass over the tree for points at one place, then a star for each site. Most stars need only a window of 32
/// sites and the sites around it. Other stars need searches in the tree. If searches are many or long, as along lines,
/// a random sample of the sites replaces them. A star of very many neighbours follows from its neighbours' stars.
/// Device memory in addition to the index: 86 bytes a point while it runs, about 170 with a sample, and 54 for the
/// result. An index of the sites has 26 of each.
///
/// Example: see [the module](self).
///
/// # Errors
/// [`gpu_core::Error::TooMany`], [`Error::Range`] as [`triangulate`](crate::triangulate()); [`Error::NotAllPoints`] for an index of some
/// points of a larger set; [`Error::Core`] where memory or the device fails, [`gpu_core::Error::Captured`].
pub fn triangulate(
    workspace: &mut Workspace,
    index: &DeviceIndex<f64>,
) -> Result<DeviceTriangulation> {
    triangulate_for(workspace, index, Span::EMPTY)
}

/// Triangulates like [`triangulate`], with a scale that also suits later queries at coordinates within `queries`.
///
/// # Errors
/// The errors of [`triangulate`].
#[doc(hidden)]
pub fn triangulate_for(
    workspace: &mut Workspace,
    index: &DeviceIndex<f64>,
    queries: Span,
) -> Result<DeviceTriangulation> {
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("a triangulation, whose size the host waits for,")?;
    let points = index.len() as u64;
    gpu_core::require_at_most("points", points, MAX_POINTS)?;
    let own = span_of(&gpu, index.x().into(), index.y().into())?;
    let span = own.joined(queries);
    refuse_some_points(workspace, index)?;
    let (scale, predicates) = span.scale()?;
    let (sites, site_of) = sites_of(workspace, index, scale)?;
    // The points' own unit: on a lattice f64 decides by it, but not by the finer unit of the queries.
    let stars = stars::of(workspace, &sites, own.predicates(scale)?, stars::most_visits)?;
    let Stars { starts, neighbours } = stars;
    Ok(DeviceTriangulation { index: sites, site_of, starts, neighbours, scale, span, predicates })
}

impl DeviceTriangulation {
    /// The sites: an index of their places, in the order of their numbers. Its `order` names the point that stands for
    /// each site: of the points at one place, the point with the lowest index.
    ///
    /// Coordinates beyond 2^250, or with bits below 2^-250, are multiplied by a power of two: see
    /// [`scale_exponent`](Self::scale_exponent).
    pub fn sites(&self) -> &DeviceIndex<f64> {
        &self.index
    }

    /// The site of each point, as given.
    pub fn site_of(&self) -> &Column<u32> {
        &self.site_of
    }

    /// Where the star of each site begins in [`neighbours`](Self::neighbours), and at last where the last star ends.
    pub fn starts(&self) -> &Column<u32> {
        &self.starts
    }

    /// Returns the stars of all sites, one after the other: for each site the numbers of its neighbours,
    /// counter-clockwise.
    ///
    /// A star that goes all around its site begins with the lowest neighbour. The star of a site on the hull begins
    /// with the next site of the hull counter-clockwise. Its last neighbour has
    /// [`OPEN`](kernels_rs::stars::neighbours::OPEN), bit 31, set: no triangle lies behind it.
    pub fn neighbours(&self) -> &Column<u32> {
        &self.neighbours
    }

    /// Returns [`starts`](Self::starts) and [`neighbours`](Self::neighbours), and frees all other memory of the
    /// triangulation.
    pub fn into_stars(self) -> (Column<u32>, Column<u32>) {
        (self.starts, self.neighbours)
    }

    /// Returns the factor of the coordinates.
    #[doc(hidden)]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns the exact predicates for these coordinates.
    #[doc(hidden)]
    pub fn predicates(&self) -> Predicates {
        self.predicates
    }

    /// Returns e, where the triangulation multiplied all coordinates by 2^e. It is 0 unless coordinates are extremely
    /// large or small.
    pub fn scale_exponent(&self) -> i32 {
        self.scale.exponent()
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.site_of.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.site_of.is_empty()
    }
}

/// Refuses an index that names a point beyond its number of points: kernels find what belongs to a point by its index. Waits.
fn refuse_some_points(workspace: &mut Workspace, index: &DeviceIndex<f64>) -> Result<()> {
    if index.is_empty() {
        return Ok(());
    }
    let mut highest = workspace.gpu().zeroed::<u32>(1)?;
    reduce(workspace, Max, index.order(), &mut highest)?;
    let (highest, points) = (highest.to_host()?[0], index.len() as u64);
    if u64::from(highest) >= points {
        return Err(Error::NotAllPoints { highest, points });
    }
    Ok(())
}

/// The range of bits that coordinates have. Waits.
fn span_of(gpu: &Gpu, x: Slice<'_, f64>, y: Slice<'_, f64>) -> Result<Span> {
    if x.is_empty() {
        return Ok(Span::EMPTY);
    }
    let mut span = gpu.upload(&[i64::from(i32::MAX), i64::MAX, 0])?;
    let arguments =
        find_span::Args { x: x.input(), y: y.input(), len: x.len() as u32, span: span.output() };
    let blocks = Blocks::for_each(&find_span, u64::min(x.len() as u64, SPAN_THREADS))?;
    // SAFETY: the columns are as long as stated.
    unsafe { gpu.enqueue(find_span, blocks, arguments)? };
    let span: [i64; SPAN] = span.to_host()?.try_into().unwrap_or([0; SPAN]);
    let magnitude = |i: u32| f64::from_bits(span[i as usize] as u64);
    Ok(match span[GREATEST as usize] {
        0 => Span::EMPTY,
        _ => Span::new(magnitude(LEAST), magnitude(GREATEST), span[LOWEST as usize] as i32),
    })
}

/// The last number of a column, which is not empty. Waits.
fn last_of(column: &Column<u32>) -> Result<u32> {
    let mut last = column.gpu().zeroed::<u32>(1)?;
    last.copy_from(column.slice(column.len() - 1..column.len())?)?;
    Ok(last.to_host()?[0])
}

/// The sites of points, multiplied by a scale, and the site of each point. Waits for their number.
fn sites_of(
    workspace: &mut Workspace,
    index: &DeviceIndex<f64>,
    scale: Scale,
) -> Result<(DeviceIndex<f64>, Column<u32>)> {
    let (gpu, points) = (workspace.gpu().clone(), index.len());
    let Bounds { min_x, min_y, max_x, max_y } = index.bounds();
    let [min_x, min_y, max_x, max_y] = [min_x, min_y, max_x, max_y].map(|side| scale.apply(side));
    let bounds = Bounds { min_x, min_y, max_x, max_y };
    let blocks = |points: usize| Blocks::for_each(&gather_sites, points as u64);
    // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
    unsafe {
        if points == 0 {
            let nothing = (gpu.zeroed(0)?, gpu.zeroed(0)?, gpu.zeroed(0)?);
            return Ok((DeviceIndex::over(&gpu, nothing, bounds)?, gpu.zeroed(0)?));
        }
        let mut firsts = gpu.uninitialized(points)?;
        // One more, so that the sums end with the number of sites.
        let mut flags = gpu.zeroed(points + 1)?;
        let arguments = find_firsts::Args {
            tree: index.tree(),
            firsts: firsts.output(),
            flags: flags.output(),
        };
        gpu.enqueue(find_firsts, Blocks::for_each(&find_firsts, points as u64)?, arguments)?;
        let mut before = gpu.uninitialized::<u32>(points + 1)?;
        scan(workspace, Sum, Scan::exclusive(0), &flags, &mut before)?;
        let sites = last_of(&before)? as usize;
        let (mut x, mut y) = (gpu.uninitialized::<f64>(sites)?, gpu.uninitialized::<f64>(sites)?);
        let (mut order, mut site_of) = (gpu.uninitialized(sites)?, gpu.uninitialized(points)?);
        let arguments = gather_sites::Args {
            tree: index.tree(),
            firsts: firsts.input(),
            before: before.input(),
            x: x.output(),
            y: y.output(),
            points: order.output(),
            sites: site_of.output(),
        };
        gpu.enqueue(gather_sites, blocks(points)?, arguments)?;
        if scale.exponent() != 0 {
            let (len, factors) = (sites as u32, scale.factors());
            let arguments = scale_places::Args { x: x.output(), y: y.output(), len, factors };
            gpu.enqueue(scale_places, blocks(sites)?, arguments)?;
        }
        Ok((DeviceIndex::over(&gpu, (x, y, order), bounds)?, site_of))
    }
}
