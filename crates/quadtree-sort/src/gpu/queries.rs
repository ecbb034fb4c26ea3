//! Searches in a tree on the device: see `kernels_rs::quadtree::queries`.
//!
//! The same answers as those of [`Quadtree`](crate::Quadtree)'s methods, in device memory. What lies there is not
//! looked at beforehand: a place or a region that is none finds nothing.

use device_std::host::Kernel;
use device_std::warp::SIZE;
use gpu_core::{Blocks, Bounds, Column, Gpu, Slice};
use gpu_scan::gpu::{argsort, fill, scan_in_place};
use gpu_scan::{Scan, Sort, Sum};
use kernels_rs::quadtree::encode;
use kernels_rs::quadtree::queries::adjacent::{self, list_adjacent};
use kernels_rs::quadtree::queries::leaf::find_leaves;
use kernels_rs::quadtree::queries::nearest::find_nearest;
use kernels_rs::quadtree::queries::regions::search_regions;
use kernels_rs::quadtree::queries::together::{TEAM, find_nearest_together};
use kernels_rs::spatial::frame::Frame;

use super::{Coordinate, DeviceQuadtree, Workspace};
use crate::queries::{Adjacency, Lists, NONE, Neighbours, check_k};
use crate::{Error, Polygons, Result};

/// The kernels for a coordinate.
pub trait QueryKernels: Copy {
    #[doc(hidden)]
    const LEAVES: Kernel<find_leaves::Args<Self>>;
    #[doc(hidden)]
    const NEAREST: [Kernel<find_nearest::Args<Self>>; 3];
    #[doc(hidden)]
    const TOGETHER: [Kernel<find_nearest_together::Args<Self>>; 3];
    #[doc(hidden)]
    const REGIONS: [Kernel<search_regions::Args<Self>>; 3];
}

impl QueryKernels for f32 {
    const LEAVES: Kernel<find_leaves::Args<f32>> = find_leaves::f32;
    const NEAREST: [Kernel<find_nearest::Args<f32>>; 3] =
        [find_nearest::f32_8, find_nearest::f32_32, find_nearest::f32_many];
    const TOGETHER: [Kernel<find_nearest_together::Args<f32>>; 3] = [
        find_nearest_together::f32_8,
        find_nearest_together::f32_16,
        find_nearest_together::f32_32,
    ];
    const REGIONS: [Kernel<search_regions::Args<f32>>; 3] =
        [search_regions::windows_f32, search_regions::discs_f32, search_regions::polygons_f32];
}

impl QueryKernels for f64 {
    const LEAVES: Kernel<find_leaves::Args<f64>> = find_leaves::f64;
    const NEAREST: [Kernel<find_nearest::Args<f64>>; 3] =
        [find_nearest::f64_8, find_nearest::f64_32, find_nearest::f64_many];
    const TOGETHER: [Kernel<find_nearest_together::Args<f64>>; 3] = [
        find_nearest_together::f64_8,
        find_nearest_together::f64_16,
        find_nearest_together::f64_32,
    ];
    const REGIONS: [Kernel<search_regions::Args<f64>>; 3] =
        [search_regions::windows_f64, search_regions::discs_f64, search_regions::polygons_f64];
}

/// The deepest level of the codes that places are sorted by. Cells of it tell neighbours from others where points
/// are crowded, too; of 16 levels the codes have 32 bits.
const CODE_LEVEL: u32 = 16;

/// Points of a place, on average, up to which places side by side are searched together.
const POINTS_OF_PLACE: u64 = 8;

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
    /// [`Error::Core`].
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
    /// [`Error::Core`].
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
    /// [`Error::Core`].
    pub fn to_host(&self) -> Result<Neighbours> {
        let (indices, distances) = (self.indices.to_host()?, self.distances.to_host()?);
        Ok(Neighbours { k: self.k, indices, distances })
    }
}

/// The number of points in each region, as [`Quadtree::count_in`](crate::Quadtree::count_in). Enqueues and returns.
///
/// # Errors
/// [`Error::Core`].
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
/// [`Error::Core`].
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

/// The `k` nearest points of each place, as [`Quadtree::nearest`](crate::Quadtree::nearest). Enqueues and returns.
///
/// Places are searched in the order of their Morton codes, so that those side by side have nearly the same neighbours: one
/// sort of 32-bit codes. Up to 32 neighbours are searched for 32 places at a time where there are places enough; for more
/// than 32 the lists are in memory.
///
/// # Errors
/// [`Error::Core`], [`Error::NoNeighbours`] for k = 0.
pub fn nearest<'a, 'b, T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    x: impl Into<Slice<'a, T>>,
    y: impl Into<Slice<'b, T>>,
    k: usize,
) -> Result<DeviceNeighbours> {
    let (x, y) = places(x, y)?;
    let gpu = workspace.gpu().clone();
    let (x, y) = (gpu.admit(x)?, gpu.admit(y)?);
    let order = match x.is_empty() {
        true => None,
        false => Some(by_code(workspace, tree, *x, *y)?),
    };
    search_nearest(workspace, tree, (*x, *y), order.as_ref(), k)
}

/// [`nearest`] of the tree's own points, each of which is its own nearest: a row for each point in the order of the
/// tree, which is a good order already.
///
/// # Errors
/// As [`nearest`].
pub fn nearest_of_own<T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    k: usize,
) -> Result<DeviceNeighbours> {
    search_nearest(workspace, tree, ((&tree.x).into(), (&tree.y).into()), None, k)
}

/// Two columns of as many places.
fn places<'a, 'b, T: Coordinate>(
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

/// The places in the order of their codes of a level that fits 32 bits.
fn by_code<T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let len = x.len();
    let level = tree.frame.level.min(CODE_LEVEL);
    let coarser = f64::from(1u32 << (tree.frame.level - level));
    let (corner, [columns, rows]) = numbers(&tree.frame);
    // SAFETY: all are written before they are read.
    let (mut codes, mut order) =
        unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized(len)?) };
    let mut bad = gpu.filled_with_byte::<i64>(0x7f, 3)?;
    let arguments = encode::Args {
        x: x.as_ptr(),
        y: y.as_ptr(),
        len: len as u64,
        corner,
        per_unit: [columns / coarser, rows / coarser],
        level,
        bounds: [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY],
        codes: codes.as_mut_ptr(),
        indices: std::ptr::null_mut(),
        pairs: std::ptr::null_mut(),
        inside: std::ptr::null_mut(),
        bad: bad.as_mut_ptr(),
    };
    // SAFETY: the columns are as long as said, and admitted by whoever calls.
    unsafe { gpu.enqueue(T::SHORT, Blocks::for_each(&T::SHORT, len as u64)?, arguments)? };
    let sort = Sort::ascending().by_bits(0..(2 * level).max(1));
    argsort(workspace, sort, &codes, &mut order)?;
    Ok(order)
}

/// Enqueues the search, in an order of the places.
fn search_nearest<T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    (x, y): (Slice<'_, T>, Slice<'_, T>),
    queries: Option<&Column<u32>>,
    k: usize,
) -> Result<DeviceNeighbours> {
    check_k(k)?;
    let gpu = workspace.gpu().clone();
    let count = x.len();
    let len = count.saturating_mul(k);
    // SAFETY: the kernel writes `k` of each place; without points they are filled.
    let (mut indices, mut distances) =
        unsafe { (gpu.uninitialized::<u32>(len)?, gpu.uninitialized::<f64>(len)?) };
    if tree.is_empty() || count == 0 {
        fill(workspace, NONE, &mut indices)?;
        fill(workspace, f64::INFINITY, &mut distances)?;
        return Ok(DeviceNeighbours { k, indices, distances });
    }
    let _order = tree.admit(&gpu)?;
    let (x, y) = (gpu.admit(x)?, gpu.admit(y)?);
    let search = NearestSearch {
        gpu: &gpu,
        tree,
        x: x.as_ptr(),
        y: y.as_ptr(),
        queries: queries.map_or(std::ptr::null(), Column::as_ptr),
        count: count as u64,
        k: u32::try_from(k).map_err(|_| Error::TooManyNeighbours { k: k as u64 })?,
        indices: indices.as_mut_ptr(),
        distances: distances.as_mut_ptr(),
    };
    // SAFETY: the arrays are as long as said, and admitted; the order is a permutation.
    unsafe {
        let left = search.together()?;
        search.one_way(left.as_ref())?;
    }
    Ok(DeviceNeighbours { k, indices, distances })
}

/// A search for nearest points.
struct NearestSearch<'a, T: Coordinate> {
    gpu: &'a Gpu,
    tree: &'a DeviceQuadtree<T>,
    x: *const T,
    y: *const T,
    /// The order of the places, or null.
    queries: *const u32,
    count: u64,
    k: u32,
    indices: *mut u32,
    distances: *mut f64,
}

impl<T: Coordinate> NearestSearch<'_, T> {
    /// Searches for 32 places at a time, by the points that are near to all of them, and gives which it left: a bit for
    /// each thread. `None` where it does nothing, since places side by side have few points in common, or too many are
    /// wanted.
    ///
    /// # Safety
    /// All arrays are as long as the search says, and admitted.
    unsafe fn together(&self) -> Result<Option<Column<u32>>> {
        let &Self { gpu, tree, x, y, queries, count, k, indices, distances } = self;
        let [eight, sixteen, more] = T::TOGETHER;
        let kernel = match k {
            0..=8 => eight,
            9..=16 => sixteen,
            17..=32 => more,
            _ => return Ok(None),
        };
        if count * POINTS_OF_PLACE < tree.len() as u64 {
            return Ok(None);
        }
        let (corner, per_unit) = numbers(&tree.frame);
        // SAFETY: the kernel writes a word for each of its warps; the rest is passed on to the caller.
        unsafe {
            let words = count.next_multiple_of(TEAM.into()) / u64::from(SIZE);
            let mut left = gpu.uninitialized::<u32>(words as usize)?;
            let arguments = find_nearest_together::Args {
                nodes: tree.words(),
                corner,
                per_unit,
                level: tree.frame.level,
                px: tree.x.as_ptr(),
                py: tree.y.as_ptr(),
                order: tree.order.as_ptr(),
                x,
                y,
                queries,
                count,
                k,
                indices,
                distances,
                left: left.as_mut_ptr(),
            };
            gpu.enqueue(kernel, Blocks::for_each(&kernel, count)?, arguments)?;
            Ok(Some(left))
        }
    }

    /// Searches for the places that are left, or for all: a warp goes one way for 32 of them.
    ///
    /// # Safety
    /// As for [`together`](Self::together).
    unsafe fn one_way(&self, left: Option<&Column<u32>>) -> Result<()> {
        let &Self { gpu, tree, x, y, queries, count, k, indices, distances } = self;
        let [few, more, many] = T::NEAREST;
        let kernel = match k {
            0..=8 => few,
            9..=32 => more,
            _ => many,
        };
        let (corner, per_unit) = numbers(&tree.frame);
        let arguments = find_nearest::Args {
            nodes: tree.words(),
            corner,
            per_unit,
            level: tree.frame.level,
            px: tree.x.as_ptr(),
            py: tree.y.as_ptr(),
            order: tree.order.as_ptr(),
            x,
            y,
            queries,
            left: left.map_or(std::ptr::null(), Column::as_ptr),
            count,
            k,
            indices,
            distances,
        };
        // SAFETY: passed on to the caller; the tree's arrays are its own.
        unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, count)?, arguments)? };
        Ok(())
    }
}

/// The leaf of each place, as [`Quadtree::leaves_of`](crate::Quadtree::leaves_of). Enqueues and returns.
///
/// # Errors
/// [`Error::Core`].
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
/// [`Error::Core`].
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

#[cfg(test)]
mod tests {
    use testing::Random;

    use super::*;
    use crate::Params;
    use crate::gpu::build;

    /// How many of the tree's own points a search for 32 at a time leaves, of each thousand.
    fn left_of_thousand(x: &[f32], y: &[f32], k: usize) -> usize {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let (x, y) = (gpu.upload(x).unwrap(), gpu.upload(y).unwrap());
        let tree = build(&mut workspace, &x, &y, &Params::new()).unwrap();
        let mut indices = gpu.zeroed::<u32>(k * x.len()).unwrap();
        let mut distances = gpu.zeroed::<f64>(k * x.len()).unwrap();
        let search = NearestSearch {
            gpu: &gpu,
            tree: &tree,
            x: tree.x.as_ptr(),
            y: tree.y.as_ptr(),
            queries: std::ptr::null(),
            count: tree.len() as u64,
            k: k as u32,
            indices: indices.as_mut_ptr(),
            distances: distances.as_mut_ptr(),
        };
        // SAFETY: the columns have `k` elements for each of the tree's points.
        let left = unsafe { search.together() }.unwrap().unwrap().to_host().unwrap();
        let left: u32 = left.iter().map(|word| word.count_ones()).sum();
        1000 * left as usize / x.len()
    }

    #[test]
    fn nearly_all_places_are_searched_together() {
        let mut random = Random::new(1);
        let uniform: [Vec<f32>; 2] =
            [(); 2].map(|()| (0..20_000).map(|_| random.unit() as f32).collect());
        // Nine heaps, the denser the nearer to their middles.
        let heaps = [3, 9].map(|divisor: usize| -> Vec<f32> {
            let along = |i: usize| {
                let offset = random.between(-1.0, 1.0);
                (i % 9 / (divisor / 3) % 3) as f64 + 0.3 * offset * offset * offset
            };
            (0..20_000).map(along).map(|v| v as f32).collect()
        });
        for k in [1, 8, 16, 32] {
            let [x, y] = &uniform;
            assert!(left_of_thousand(x, y, k) <= 5, "uniform points, {k} nearest");
            let [x, y] = &heaps;
            let left = left_of_thousand(x, y, k);
            assert!(left <= 150, "{left} of 1000 points in heaps, {k} nearest");
        }
    }
}
