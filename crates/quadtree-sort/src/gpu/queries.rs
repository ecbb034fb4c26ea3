//! Searches in a tree on the device: see `kernels_rs::quadtree::queries`.
//!
//! The same answers as those of [`Quadtree`](crate::Quadtree)'s methods, in device memory. What lies there is not
//! looked at beforehand: a place or a region that is none finds nothing.

use device_std::host::Kernel;
use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::scan_in_place;
use gpu_scan::{Scan, Sum};
use kernels_rs::quadtree::queries::adjacent::{self, list_adjacent};
use kernels_rs::quadtree::queries::leaf::find_leaves;
use kernels_rs::quadtree::queries::regions::search_regions;
use kernels_rs::spatial::frame::Frame;

use super::{Coordinate, DeviceQuadtree, Workspace};
use crate::queries::{Adjacency, Lists, Neighbours};
use crate::{Polygons, Result};

/// The kernels for a coordinate.
pub trait QueryKernels: Copy {
    #[doc(hidden)]
    const LEAVES: Kernel<find_leaves::Args<Self>>;
    #[doc(hidden)]
    const REGIONS: [Kernel<search_regions::Args<Self>>; 3];
}

impl QueryKernels for f32 {
    const LEAVES: Kernel<find_leaves::Args<f32>> = find_leaves::f32;
    const REGIONS: [Kernel<search_regions::Args<f32>>; 3] =
        [search_regions::windows_f32, search_regions::discs_f32, search_regions::polygons_f32];
}

impl QueryKernels for f64 {
    const LEAVES: Kernel<find_leaves::Args<f64>> = find_leaves::f64;
    const REGIONS: [Kernel<search_regions::Args<f64>>; 3] =
        [search_regions::windows_f64, search_regions::discs_f64, search_regions::polygons_f64];
}

/// Parts of the plane, in device memory.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum DeviceRegions<'a> {
    /// Rectangles: min_x, min_y, max_x, max_y of each.
    Windows(Slice<'a, [f64; 4]>),
    /// Discs: x, y and radius of each.
    Discs(Slice<'a, [f64; 3]>),
    /// Polygons.
    Polygons(&'a DevicePolygons),
}

impl DeviceRegions<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.len(),
            Self::Discs(discs) => discs.len(),
            Self::Polygons(polygons) => polygons.bounds.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// [`Polygons`] in device memory.
#[derive(Debug)]
pub struct DevicePolygons {
    bounds: Column<[f64; 4]>,
    edges: Column<[f64; 4]>,
    offsets: Column<u64>,
}

impl DevicePolygons {
    /// Copies polygons to a device. Waits for the copies.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn upload(gpu: &Gpu, polygons: &Polygons) -> Result<Self> {
        let sides = |b: &Bounds| [b.min_x, b.min_y, b.max_x, b.max_y];
        let bounds: Vec<[f64; 4]> = polygons.bounds.iter().map(sides).collect();
        Ok(Self {
            bounds: gpu.upload(&bounds)?,
            edges: gpu.upload(&polygons.edges)?,
            offsets: gpu.upload(&polygons.offsets)?,
        })
    }
}

/// [`Lists`] in device memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct DeviceLists {
    /// As [`Lists::offsets`].
    pub offsets: Column<u64>,
    /// As [`Lists::indices`].
    pub indices: Column<u32>,
}

impl DeviceLists {
    /// Copies the lists to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Lists> {
        Ok(Lists { offsets: self.offsets.to_host()?, indices: self.indices.to_host()? })
    }
}

/// [`Neighbours`] in device memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct DeviceNeighbours {
    /// Neighbours of a place.
    pub k: usize,
    /// As [`Neighbours::indices`].
    pub indices: Column<u32>,
    /// As [`Neighbours::distances`].
    pub distances: Column<f64>,
}

impl DeviceNeighbours {
    /// Copies the neighbours to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Neighbours> {
        let (indices, distances) = (self.indices.to_host()?, self.distances.to_host()?);
        Ok(Neighbours { k: self.k, indices, distances })
    }
}

/// The number of points in each region, as [`Quadtree::count_in`](crate::Quadtree::count_in). Enqueues and returns.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
pub fn count_in<T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    regions: DeviceRegions<'_>,
) -> Result<Column<u64>> {
    let gpu = workspace.gpu().clone();
    let mut counts = gpu.zeroed::<u64>(regions.len())?;
    search(&gpu, tree, regions, Out::Counts(&mut counts))?;
    Ok(counts)
}

/// The points in each region, as [`Quadtree::list_in`](crate::Quadtree::list_in). **Waits** for the number of all,
/// since that is how long the list is.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
pub fn list_in<T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    regions: DeviceRegions<'_>,
) -> Result<DeviceLists> {
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("a list of points, whose length the host waits for,")?;
    let mut counts = gpu.zeroed::<u64>(regions.len() + 1)?;
    search(&gpu, tree, regions, Out::Counts(&mut counts))?;
    let (offsets, mut indices) = room(workspace, counts)?;
    search(&gpu, tree, regions, Out::List(&offsets, &mut indices))?;
    Ok(DeviceLists { offsets, indices })
}

/// Where lists begin, and room for them. Waits for their length.
fn room(workspace: &mut Workspace, mut counts: Column<u64>) -> Result<(Column<u64>, Column<u32>)> {
    let gpu = workspace.gpu().clone();
    let last = counts.len() - 1;
    scan_in_place(workspace, Sum, Scan::exclusive(0), &mut counts)?;
    let mut total = gpu.zeroed::<u64>(1)?;
    total.copy_from(counts.slice(last..last + 1)?)?;
    let total = total.to_host()?[0] as usize;
    // SAFETY: what was counted is written by the same search.
    Ok((counts, unsafe { gpu.uninitialized(total)? }))
}

/// What a search writes.
enum Out<'a> {
    Counts(&'a mut Column<u64>),
    List(&'a Column<u64>, &'a mut Column<u32>),
}

impl Out<'_> {
    /// Counts, offsets and list; null where there is none.
    fn pointers(&mut self) -> (*mut u64, *const u64, *mut u32) {
        let (null, null_mut) = (std::ptr::null(), std::ptr::null_mut());
        match self {
            Self::Counts(counts) => (counts.as_mut_ptr(), null, std::ptr::null_mut()),
            Self::List(offsets, list) => (null_mut, offsets.as_ptr(), list.as_mut_ptr()),
        }
    }
}

/// Enqueues a search.
fn search<T: Coordinate>(
    gpu: &Gpu,
    tree: &DeviceQuadtree<T>,
    regions: DeviceRegions<'_>,
    mut out: Out<'_>,
) -> Result<()> {
    let count = regions.len() as u64;
    if count == 0 || tree.is_empty() || matches!(&out, Out::List(_, list) if list.is_empty()) {
        return Ok(());
    }
    let _order = tree.admit(gpu)?;
    let (counts, offsets, list) = out.pointers();
    let [windows, discs, polygons] = T::REGIONS;
    let null = std::ptr::null();
    let arguments = |shapes: *const f64, edges: *const f64, edge_offsets: *const u64| {
        let (corner, per_unit) = numbers(&tree.frame);
        search_regions::Args {
            nodes: tree.words(),
            corner,
            per_unit,
            level: tree.frame.level,
            px: tree.x.as_ptr(),
            py: tree.y.as_ptr(),
            order: tree.order.as_ptr(),
            shapes,
            edges,
            edge_offsets,
            count,
            counts,
            offsets,
            list,
        }
    };
    let enqueue = |kernel: Kernel<search_regions::Args<T>>, arguments| -> Result<()> {
        let blocks = Blocks::for_each(&kernel, 32 * count)?;
        // SAFETY: the arrays are the tree's and the regions', which are admitted until the work is enqueued;
        // a list has room for what the same search has counted.
        unsafe { gpu.enqueue(kernel, blocks, arguments)? };
        Ok(())
    };
    match regions {
        DeviceRegions::Windows(shapes) => {
            let shapes = gpu.admit(shapes)?;
            enqueue(windows, arguments(shapes.as_ptr().cast(), null, std::ptr::null()))
        }
        DeviceRegions::Discs(shapes) => {
            let shapes = gpu.admit(shapes)?;
            enqueue(discs, arguments(shapes.as_ptr().cast(), null, std::ptr::null()))
        }
        DeviceRegions::Polygons(shapes) => {
            let (bounds, edges) = (gpu.admit(&shapes.bounds)?, gpu.admit(&shapes.edges)?);
            let edge_offsets = gpu.admit(&shapes.offsets)?;
            let (bounds, edges) = (bounds.as_ptr().cast(), edges.as_ptr().cast());
            enqueue(polygons, arguments(bounds, edges, edge_offsets.as_ptr()))
        }
    }
}

/// A frame's corner, and its columns and rows to a unit.
fn numbers(frame: &Frame) -> ([f64; 2], [f64; 2]) {
    ([frame.west, frame.south], [frame.columns_per_unit, frame.rows_per_unit])
}

/// Two columns of as many places.
pub(super) fn places<'a, 'b, T: Coordinate>(
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'b, T>>,
) -> Result<(Slice<'a, T>, Slice<'b, T>)> {
    let (x, y) = (x.into(), y.into());
    let (expected, found) = (x.len() as u64, y.len() as u64);
    if expected != found {
        let what = "column of places' y";
        return Err(gpu_core::Error::Length { what, expected, found }.into());
    }
    Ok((x, y))
}

/// The leaf of each place, as [`Quadtree::leaves_of`](crate::Quadtree::leaves_of). Enqueues and returns.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
pub fn leaves_of<'a, 'b, T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'b, T>>,
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let (x, y) = places(x, y)?;
    let (x, y) = (gpu.admit(x)?, gpu.admit(y)?);
    let mut leaves = gpu.filled_with_byte::<u32>(0xff, x.len())?;
    if tree.is_empty() || x.is_empty() {
        return Ok(leaves);
    }
    let _order = tree.admit(&gpu)?;
    let (corner, per_unit) = numbers(&tree.frame);
    let Bounds { min_x, min_y, max_x, max_y } = tree.bounds;
    let arguments = find_leaves::Args {
        nodes: tree.words(),
        corner,
        per_unit,
        level: tree.frame.level,
        bounds: [min_x, min_y, max_x, max_y],
        x: x.as_ptr(),
        y: y.as_ptr(),
        count: x.len() as u64,
        leaves: leaves.as_mut_ptr(),
    };
    // SAFETY: the arrays are the tree's, and as long as said.
    unsafe { gpu.enqueue(T::LEAVES, Blocks::for_each(&T::LEAVES, x.len() as u64)?, arguments)? };
    Ok(leaves)
}

/// The leaves around each leaf of a list, as [`Quadtree::adjacent_leaves`](crate::Quadtree::adjacent_leaves).
/// **Waits** for the number of all, since that is how long the list is.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
pub fn adjacent_leaves<'a, T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    leaves: impl Into<Slice<'a, u32>>,
    adjacency: Adjacency,
) -> Result<DeviceLists> {
    let gpu = workspace.gpu().clone();
    gpu.refuse_in_capture("a list of leaves, whose length the host waits for,")?;
    let leaves = gpu.admit(leaves)?;
    let mut counts = gpu.zeroed::<u64>(leaves.len() + 1)?;
    let search = |out: &mut Out<'_>| -> Result<()> {
        if tree.is_empty() || leaves.is_empty() {
            return Ok(());
        }
        let _order = tree.admit(&gpu)?;
        let (counts, offsets, list) = out.pointers();
        let arguments = list_adjacent::Args {
            nodes: tree.words(),
            node_count: tree.node_count as u64,
            deepest: tree.frame.level,
            corners: u32::from(adjacency == Adjacency::EdgesAndCorners),
            leaves: leaves.as_ptr(),
            count: leaves.len() as u64,
            counts,
            offsets,
            list,
        };
        let blocks = Blocks::x(leaves.len().div_ceil(adjacent::BLOCK) as u32);
        // SAFETY: the nodes are the tree's; a list has room for what the same search has counted.
        unsafe { gpu.enqueue(list_adjacent, blocks, arguments)? };
        Ok(())
    };
    search(&mut Out::Counts(&mut counts))?;
    let (offsets, mut indices) = room(workspace, counts)?;
    if !indices.is_empty() {
        search(&mut Out::List(&offsets, &mut indices))?;
    }
    Ok(DeviceLists { offsets, indices })
}
