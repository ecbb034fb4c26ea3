//! Queries of a triangulation in device memory.

use gpu_core::{Blocks, Column, Gpu, Slice};
use gpu_scan::gpu::{Workspace, extent, gather};
use kernels_rs::stars::predicates::Predicates;
use kernels_rs::stars::queries as kernels;
use kernels_rs::stars::scale_places;
use quadtree_sort::gpu::nearest;

use super::{DeviceTriangulation, span_of};
use crate::range::Scale;
use crate::{Location, Result};

/// Where places lie, in device memory.
///
/// Example: see [`locate`].
#[derive(Debug)]
pub struct DeviceLocations {
    kinds: Column<u32>,
    corners: Column<u32>,
}

/// The Voronoi cells of all sites, in device memory and in the order of the sites.
///
/// Example: see [`cells`].
#[derive(Debug)]
pub struct DeviceCells {
    /// The area of each cell; infinite where it is unbounded.
    pub areas: Column<f64>,
    /// x of each centre of gravity; NaN where the cell is unbounded.
    pub centroid_x: Column<f64>,
    /// y of each centre of gravity.
    pub centroid_y: Column<f64>,
    /// For each element of [`neighbours`](DeviceTriangulation::neighbours), x of the cell's corner between that neighbour and the
    /// next one in the star. NaN for the last neighbour of a site on the hull, and where all sites are in line.
    pub corner_x: Column<f64>,
    /// y of that corner.
    pub corner_y: Column<f64>,
}

/// Finds exactly where places lie, for many places at once. [`Walk::locate`](crate::Walk::locate) gives the same
/// results, with one exception. A place outside the hull may be beyond several sides, and the two functions may name
/// different ones. **Waits** for the places' bits.
///
/// Cost: for each place a search in the index for the nearest site, and the triangles on the way from there.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use delaunay_stars::Location;
/// use delaunay_stars::gpu::{Workspace, locate, triangulate};
/// use gpu_core::{DeviceChoice, Gpu};
/// use quadtree_sort::gpu::index;
///
/// let gpu = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
/// let mut workspace = Workspace::new(&gpu)?;
/// let (x, y) = (gpu.upload(&[0.0, 4.0, 0.0])?, gpu.upload(&[0.0, 0.0, 4.0])?);
/// let points = index(&mut workspace, &x, &y, None)?;
/// let triangulation = triangulate(&mut workspace, &points)?;
/// let (x, y) = (gpu.upload(&[1.0, 3.0])?, gpu.upload(&[1.0, 2.0])?);
/// let found = locate(&mut workspace, &triangulation, &x, &y)?.to_host()?;
/// assert_eq!(found, [Location::Triangle([0, 1, 2]), Location::Outside([1, 2])]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`gpu_core::Error::Length`]: the columns differ in length.
/// - [`gpu_core::Error::NotFinite`], with the index: a coordinate is NaN or infinite.
/// - [`Error::Range`](crate::Error::Range): the bits of the places and of the sites are too far apart for exact
///   decisions.
/// - [`Error::Index`](crate::Error::Index): there are more than 2^32 - 1 places.
/// - [`gpu_core::Error::Captured`]: the stream is being captured.
/// - [`Error::Core`](crate::Error::Core): memory or the device failed.
pub fn locate<'a>(
    workspace: &mut Workspace,
    triangulation: &DeviceTriangulation,
    x: impl Into<Slice<'a, f64>>,
    y: impl Into<Slice<'a, f64>>,
) -> Result<DeviceLocations> {
    let gpu = workspace.gpu().clone();
    let targets = Targets::new(workspace, triangulation, x.into(), y.into())?;
    let len = targets.len();
    if triangulation.sites().is_empty() {
        let kinds = gpu.upload(&vec![kernels::NOWHERE; len])?;
        return Ok(DeviceLocations { kinds, corners: gpu.filled_with_byte(u8::MAX, 3 * len)? });
    }
    // SAFETY: lengths are as the kernel needs them; both columns are written whole.
    unsafe {
        let (mut kinds, mut corners) = (gpu.uninitialized(len)?, gpu.uninitialized(3 * len)?);
        let arguments = kernels::locate_places::Args {
            sites: triangulation.columns(),
            targets: targets.argument(),
            kinds: kinds.output(),
            corners: corners.output(),
        };
        let blocks = Blocks::for_each(&kernels::locate_places, len as u64)?;
        gpu.enqueue(kernels::locate_places, blocks, arguments)?;
        Ok(DeviceLocations { kinds, corners })
    }
}

/// Interpolates linearly in each triangle (a TIN), from one value a point; NaN outside the hull. The bits are the same
/// as from [`Triangulation::interpolate_linear`](crate::Triangulation::interpolate_linear). **Waits** for the places'
/// bits.
///
/// Cost: as [`locate`].
///
/// ```
/// use delaunay_stars::gpu::{Workspace, interpolate_linear, triangulate};
/// use gpu_core::{DeviceChoice, Gpu};
/// use quadtree_sort::gpu::index;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// // The surface 1 + x + 2 y.
/// let (x, y) = (gpu.upload(&[0.0, 4.0, 0.0])?, gpu.upload(&[0.0, 0.0, 4.0])?);
/// let heights = gpu.upload(&[1.0, 5.0, 9.0])?;
/// let points = index(&mut workspace, &x, &y, None)?;
/// let triangulation = triangulate(&mut workspace, &points)?;
/// let (x, y) = (gpu.upload(&[1.0, 9.0])?, gpu.upload(&[2.0, 9.0])?);
/// let found = interpolate_linear(&mut workspace, &triangulation, &heights, &x, &y)?.to_host()?;
/// assert_eq!(found[0], 6.0);
/// assert!(found[1].is_nan()); // outside the hull
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`locate`]; [`gpu_core::Error::Length`] where there are not as many values as points.
pub fn interpolate_linear<'a>(
    workspace: &mut Workspace,
    triangulation: &DeviceTriangulation,
    values: impl Into<Slice<'a, f64>>,
    x: impl Into<Slice<'a, f64>>,
    y: impl Into<Slice<'a, f64>>,
) -> Result<Column<f64>> {
    let (gpu, values) = (workspace.gpu().clone(), values.into());
    let (expected, found) = (triangulation.len() as u64, values.len() as u64);
    if found != expected {
        let what = "column of values";
        return Err(gpu_core::Error::Length { what, expected, found }.into());
    }
    let targets = Targets::new(workspace, triangulation, x.into(), y.into())?;
    if triangulation.sites().is_empty() {
        return Ok(gpu.upload(&vec![f64::NAN; targets.len()])?);
    }
    // SAFETY: lengths are as the kernel needs them; the results are written whole.
    unsafe {
        let mut results = gpu.uninitialized(targets.len())?;
        let arguments = kernels::interpolate_places::Args {
            sites: triangulation.columns(),
            targets: targets.argument(),
            values: values.input(),
            results: results.output(),
        };
        let blocks = Blocks::for_each(&kernels::interpolate_places, targets.len() as u64)?;
        gpu.enqueue(kernels::interpolate_places, blocks, arguments)?;
        Ok(results)
    }
}

/// Returns the Voronoi cells of all sites. Areas above 2^-1022 have the bits of
/// [`Triangulation::cell`](crate::Triangulation::cell). Does not wait.
///
/// Cost: one read of the stars.
///
/// ```
/// use delaunay_stars::gpu::{Workspace, cells, triangulate};
/// use gpu_core::{DeviceChoice, Gpu};
/// use quadtree_sort::gpu::index;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// // The middle of a diamond, and its corners.
/// let x = gpu.upload(&[0.0, 2.0, 0.0, -2.0, 0.0])?;
/// let y = gpu.upload(&[0.0, 0.0, 2.0, 0.0, -2.0])?;
/// let points = index(&mut workspace, &x, &y, None)?;
/// let triangulation = triangulate(&mut workspace, &points)?;
/// let areas = cells(&mut workspace, &triangulation)?.areas.to_host()?;
/// let site = triangulation.site_of().to_host()?[0];
/// assert_eq!(areas[site as usize], 4.0);
/// assert_eq!(areas.iter().filter(|area| area.is_infinite()).count(), 4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Core`](crate::Error::Core) for the device or memory.
pub fn cells(
    workspace: &mut Workspace,
    triangulation: &DeviceTriangulation,
) -> Result<DeviceCells> {
    let gpu = workspace.gpu();
    let (sites, neighbours) = (triangulation.sites().len(), triangulation.neighbours().len());
    // SAFETY: lengths are as the kernel needs them; the columns are written whole.
    unsafe {
        let mut cells = DeviceCells {
            areas: gpu.uninitialized(sites)?,
            centroid_x: gpu.uninitialized(sites)?,
            centroid_y: gpu.uninitialized(sites)?,
            corner_x: gpu.uninitialized(neighbours)?,
            corner_y: gpu.uninitialized(neighbours)?,
        };
        let arguments = kernels::find_cells::Args {
            sites: triangulation.columns(),
            unit: triangulation.predicates().unit(),
            factors: triangulation.scale.inverse().factors(),
            cells: kernels::CellColumns {
                areas: cells.areas.output(),
                centroid_x: cells.centroid_x.output(),
                centroid_y: cells.centroid_y.output(),
                corner_x: cells.corner_x.output(),
                corner_y: cells.corner_y.output(),
            },
        };
        let blocks = Blocks::for_each(&kernels::find_cells, sites as u64)?;
        gpu.enqueue(kernels::find_cells, blocks, arguments)?;
        Ok(cells)
    }
}

impl DeviceLocations {
    /// Copies them to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) for the device or memory.
    pub fn to_host(&self) -> Result<Vec<Location>> {
        let (kinds, corners) = (self.kinds.to_host()?, self.corners.to_host()?);
        let of = |(&kind, corners): (&u32, &[u32])| {
            let (a, b, c) = (corners[0], corners[1], corners[2]);
            match kind {
                kernels::ON_SITE => Location::Site(a),
                kernels::ON_EDGE => Location::Edge([a, b]),
                kernels::INSIDE => Location::Triangle([a, b, c]),
                kernels::OUTSIDE => Location::Outside([a, b]),
                _ => Location::Nowhere,
            }
        };
        Ok(kinds.iter().zip(corners.chunks(3)).map(of).collect())
    }

    /// Returns the kind of each place, from [`ON_SITE`](kernels::ON_SITE) to [`NOWHERE`](kernels::NOWHERE): on a site,
    /// on an edge, in a triangle, or outside.
    pub fn kinds(&self) -> &Column<u32> {
        &self.kinds
    }

    /// Returns three points for each place: the corners of the triangle, edge or site on which it lies. Corners that
    /// are not there are `u32::MAX`.
    pub fn corners(&self) -> &Column<u32> {
        &self.corners
    }

    /// How many places.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are no places.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }
}

impl DeviceTriangulation {
    fn columns(&self) -> kernels::SiteColumns<'_> {
        kernels::SiteColumns {
            x: self.index.x().input(),
            y: self.index.y().input(),
            points: self.index.order().input(),
            starts: self.starts.input(),
            neighbours: self.neighbours.input(),
            sites: self.index.len() as u32,
        }
    }
}

/// The places of a query, a site near each, and the predicates for both.
struct Targets<'a> {
    x: Slice<'a, f64>,
    y: Slice<'a, f64>,
    /// The places times the triangulation's scale, if that is not 1.
    scaled: Option<[Column<f64>; 2]>,
    hints: Column<u32>,
    predicates: Predicates,
}

impl<'a> Targets<'a> {
    /// Waits for the device.
    fn new(
        workspace: &mut Workspace,
        triangulation: &DeviceTriangulation,
        x: Slice<'a, f64>,
        y: Slice<'a, f64>,
    ) -> Result<Self> {
        let gpu = workspace.gpu().clone();
        extent(workspace, x, y, &[])?;
        let span = triangulation.span.joined(span_of(&gpu, x, y)?);
        let predicates = span.predicates(triangulation.scale)?;
        let scaled = scaled(&gpu, [x, y], triangulation.scale)?;
        let hints = gpu.zeroed(x.len())?;
        let mut targets = Self { x, y, scaled, hints, predicates };
        if !triangulation.sites().is_empty() {
            let [x, y] = targets.places();
            let near = nearest(workspace, triangulation.sites(), x, y, 1)?;
            gather(workspace, &near.indices, triangulation.site_of(), &mut targets.hints)?;
        }
        Ok(targets)
    }

    fn len(&self) -> usize {
        self.x.len()
    }

    fn places(&self) -> [Slice<'_, f64>; 2] {
        match &self.scaled {
            Some([x, y]) => [x.into(), y.into()],
            None => [self.x, self.y],
        }
    }

    fn argument(&self) -> kernels::Targets<'_> {
        let [x, y] = self.places();
        kernels::Targets {
            x: x.input(),
            y: y.input(),
            hints: self.hints.input(),
            len: self.len() as u32,
            unit: self.predicates.unit(),
        }
    }
}

/// Places times a scale, if that is not 1.
fn scaled(
    gpu: &Gpu,
    places: [Slice<'_, f64>; 2],
    scale: Scale,
) -> Result<Option<[Column<f64>; 2]>> {
    let len = places[0].len();
    if scale.exponent() == 0 || len == 0 {
        return Ok(None);
    }
    // SAFETY: both columns are written whole, and as long as the kernel is told.
    unsafe {
        let (mut x, mut y) = (gpu.uninitialized(len)?, gpu.uninitialized(len)?);
        x.copy_from(places[0])?;
        y.copy_from(places[1])?;
        let (len, factors) = (len as u32, scale.factors());
        let arguments = scale_places::Args { x: x.output(), y: y.output(), len, factors };
        gpu.enqueue(scale_places, Blocks::for_each(&scale_places, u64::from(len))?, arguments)?;
        Ok(Some([x, y]))
    }
}
