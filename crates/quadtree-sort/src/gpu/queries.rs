//! Searches in a tree on the device: see `kernels_rs::quadtree::queries`.
//!
//! The results are the same as from [`Quadtree`](crate::Quadtree)'s methods, in device memory. The calls do not check
//! places and regions: an invalid one finds nothing.

use device_std::host::Kernel;
use device_std::{In, Out};
use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::scan_in_place;
use gpu_scan::{Scan, Sum};
use kernels_rs::quadtree::Places;
use kernels_rs::quadtree::queries::adjacent::{self, list_adjacent};
use kernels_rs::quadtree::queries::leaf::find_leaves;
use kernels_rs::quadtree::queries::regions::{self, Points, Shapes, search_regions};
use kernels_rs::quadtree::queries::{self as kernels};

use super::{Coordinate, DeviceQuadtree, Workspace};
use crate::queries::{Adjacency, Lists, Neighbours};
use crate::{Polygons, Result};

/// The kernels for a coordinate.
pub trait QueryKernels: find_leaves::Instance + Copy + 'static {
    #[doc(hidden)]
    const REGIONS: [Kernel<search_regions::Args<'static, Self>>; 3];
}

impl<T: find_leaves::Instance + Copy + 'static> QueryKernels for T
where
    regions::Windows: search_regions::Instance<T>,
    regions::Discs: search_regions::Instance<T>,
    regions::Polygons: search_regions::Instance<T>,
{
    const REGIONS: [Kernel<search_regions::Args<'static, T>>; 3] = [
        <regions::Windows as search_regions::Instance<T>>::KERNEL,
        <regions::Discs as search_regions::Instance<T>>::KERNEL,
        <regions::Polygons as search_regions::Instance<T>>::KERNEL,
    ];
}

/// Parts of the plane, in device memory.
///
/// Example: see [the module](crate::gpu#examples).
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

    /// Whether there are no regions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// [`Polygons`] in device memory.
///
/// Example: see [`Polygons`], uploaded and searched in [this form](crate::gpu#examples).
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
///
/// Example: see [the module](crate::gpu#examples).
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
///
/// Example: see [`nearest`](crate::gpu::nearest).
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

/// Counts the points in each region, as [`Quadtree::count_in`](crate::Quadtree::count_in) does. Enqueues and returns.
///
/// Example: see [the module](crate::gpu#examples).
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
    search(&gpu, tree, regions, Found::Counts(&mut counts))?;
    Ok(counts)
}

/// Lists the points in each region, as [`Quadtree::list_in`](crate::Quadtree::list_in) does. **Waits** for the number
/// of all points found, which is the length of the list.
///
/// Example: see [the module](crate::gpu#examples).
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
    search(&gpu, tree, regions, Found::Counts(&mut counts))?;
    let (offsets, mut indices) = room(workspace, counts)?;
    search(&gpu, tree, regions, Found::List(&offsets, &mut indices))?;
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

/// The outputs of a search.
enum Found<'a> {
    Counts(&'a mut Column<u64>),
    List(&'a Column<u64>, &'a mut Column<u32>),
}

impl Found<'_> {
    /// As the kernels take it.
    fn lists(&mut self) -> kernels::Lists<'_> {
        match self {
            Self::Counts(counts) => {
                kernels::Lists { counts: counts.output(), offsets: In::empty(), list: Out::empty() }
            }
            Self::List(offsets, list) => kernels::Lists {
                counts: Out::empty(),
                offsets: offsets.input(),
                list: list.output(),
            },
        }
    }
}

/// Enqueues a search.
fn search<T: Coordinate>(
    gpu: &Gpu,
    tree: &DeviceQuadtree<T>,
    regions: DeviceRegions<'_>,
    mut found: Found<'_>,
) -> Result<()> {
    let count = regions.len() as u64;
    if count == 0 || tree.is_empty() || matches!(&found, Found::List(_, list) if list.is_empty()) {
        return Ok(());
    }
    let [windows, discs, polygons] = T::REGIONS;
    let without_edges = |numbers| Shapes { numbers, edges: In::empty(), offsets: In::empty() };
    // SAFETY: any bits are numbers, several of which lie side by side for each region.
    let (kernel, shapes) = unsafe {
        match regions {
            DeviceRegions::Windows(shapes) => (windows, without_edges(shapes.input().cast())),
            DeviceRegions::Discs(shapes) => (discs, without_edges(shapes.input().cast())),
            DeviceRegions::Polygons(shapes) => {
                let (edges, offsets) = (shapes.edges.input(), shapes.offsets.input());
                (polygons, Shapes { numbers: shapes.bounds.input().cast(), edges, offsets })
            }
        }
    };
    let arguments = search_regions::Args {
        nodes: tree.words(),
        frame: tree.frame,
        points: Points { x: tree.x.input(), y: tree.y.input(), order: tree.order.input() },
        shapes,
        count,
        lists: found.lists(),
    };
    let blocks = Blocks::for_each(&kernel, 32 * count)?;
    // SAFETY: the arrays are the tree's and the regions'; a list has room for what the same search has counted.
    unsafe { gpu.enqueue(kernel, blocks, arguments)? };
    Ok(())
}

/// Two columns of as many places.
pub(super) fn places<'a, T: Coordinate>(
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
) -> Result<(Slice<'a, T>, Slice<'a, T>)> {
    let (x, y) = (x.into(), y.into());
    let (expected, found) = (x.len() as u64, y.len() as u64);
    if expected != found {
        let what = "column of places' y";
        return Err(gpu_core::Error::Length { what, expected, found }.into());
    }
    Ok((x, y))
}

/// Finds the leaf of each place, as [`Quadtree::leaves_of`](crate::Quadtree::leaves_of) does. Enqueues and returns.
///
/// Example: see [`leaves_of`](crate::leaves_of()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
pub fn leaves_of<'a, T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'a, T>>,
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let (x, y) = places(x, y)?;
    let mut leaves = gpu.filled_with_byte::<u32>(0xff, x.len())?;
    if tree.is_empty() || x.is_empty() {
        return Ok(leaves);
    }
    let Bounds { min_x, min_y, max_x, max_y } = tree.bounds;
    let count = x.len() as u64;
    let arguments = find_leaves::Args {
        nodes: tree.words(),
        frame: tree.frame,
        bounds: [min_x, min_y, max_x, max_y],
        places: Places { x: x.input(), y: y.input(), count },
        leaves: leaves.output(),
    };
    let kernel = <T as find_leaves::Instance>::KERNEL;
    // SAFETY: the arrays are the tree's, and as long as stated.
    unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, count)?, arguments)? };
    Ok(leaves)
}

/// Lists the leaves around each leaf of a list, as [`Quadtree::adjacent_leaves`](crate::Quadtree::adjacent_leaves)
/// does. **Waits** for the number of all points found, which is the length of the list.
///
/// Example: see [`adjacent_leaves`](crate::adjacent_leaves()), called in [this form](crate::gpu#examples).
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
    let leaves = leaves.into();
    let mut counts = gpu.zeroed::<u64>(leaves.len() + 1)?;
    let search = |mut found: Found<'_>| -> Result<()> {
        if tree.is_empty() || leaves.is_empty() {
            return Ok(());
        }
        let arguments = list_adjacent::Args {
            nodes: tree.words(),
            node_count: tree.node_count as u64,
            deepest: tree.frame.level,
            corners: u32::from(adjacency == Adjacency::EdgesAndCorners),
            leaves: leaves.input(),
            count: leaves.len() as u64,
            lists: found.lists(),
        };
        let blocks = Blocks::x(leaves.len().div_ceil(adjacent::BLOCK) as u32);
        // SAFETY: the nodes are the tree's; a list has room for what the same search has counted.
        unsafe { gpu.enqueue(list_adjacent, blocks, arguments)? };
        Ok(())
    };
    search(Found::Counts(&mut counts))?;
    let (offsets, mut indices) = room(workspace, counts)?;
    if !indices.is_empty() {
        search(Found::List(&offsets, &mut indices))?;
    }
    Ok(DeviceLists { offsets, indices })
}
