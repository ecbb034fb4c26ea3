//! Indexing and searches from host to host, on any device.

use gpu_core::{Bounds, On, Points};

use crate::queries::{Adjacency, Lists, Neighbours, Regions};
use crate::{Index, Quadtree, Result};

/// Counts the points in each region: [`Quadtree::count_in`] on a device.
///
/// A GPU gets a copy of the tree for each call; a program that asks often keeps one there
/// ([`gpu::DeviceQuadtree::from_host`](crate::gpu::DeviceQuadtree::from_host)).
///
/// ```
/// use gpu_core::{Bounds, Device, Points};
/// use quadtree_sort::{Params, Regions, build, count_in};
///
/// let tree = build(&Device::Cpu, Points::new(&[1.0, 2.0, 8.0], &[1.0, 2.0, 8.0]), &Params::new())?;
/// let windows = [
///     Bounds { min_x: 0.0, min_y: 0.0, max_x: 2.0, max_y: 2.0 },
///     Bounds { min_x: 3.0, min_y: 3.0, max_x: 9.0, max_y: 9.0 },
/// ];
/// assert_eq!(count_in(&Device::Cpu, &tree, Regions::Windows(&windows))?, [2, 1]); // edges belong to it
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// The errors of [`Quadtree::count_in`]; [`Error::Cancelled`](crate::Error::Cancelled) where its progress ends the
/// call, [`Error::Core`](crate::Error::Core) where memory or the device fails.
pub fn count_in<'on>(
    on: impl Into<On<'on>>,
    tree: &Quadtree,
    regions: Regions<'_>,
) -> Result<Vec<u64>> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => tree.count_in(regions),
            gpu => crate::gpu::host::count_in(gpu, tree, regions),
        )
    })
}

/// Lists the points in each region: [`Quadtree::list_in`] on a device. Copies the tree like [`count_in()`].
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Disk, Params, Regions, build, list_in};
///
/// let tree = build(&Device::Cpu, Points::new(&[0.0, 3.0, 9.0], &[0.0, 4.0, 9.0]), &Params::new())?;
/// let discs = [Disk { x: 0.0, y: 0.0, radius: 5.0 }, Disk { x: 9.0, y: 9.0, radius: 1.0 }];
/// let found = list_in(&Device::Cpu, &tree, Regions::Discs(&discs))?;
/// assert_eq!(found.of(0), [0, 1]); // point 1 is 5 away, on the edge
/// assert_eq!(found.of(1), [2]);
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// The errors of [`count_in()`].
pub fn list_in<'on>(
    on: impl Into<On<'on>>,
    tree: &Quadtree,
    regions: Regions<'_>,
) -> Result<Lists> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => tree.list_in(regions),
            gpu => crate::gpu::host::list_in(gpu, tree, regions),
        )
    })
}

/// Finds the `k` nearest points of each place: [`Quadtree::nearest`] on a device. Copies the tree like [`count_in()`].
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Params, build, nearest};
///
/// let tree = build(&Device::Cpu, Points::new(&[0.0, 3.0, 9.0], &[0.0, 4.0, 9.0]), &Params::new())?;
/// let near = nearest(&Device::Cpu, &tree, Points::new(&[0.0], &[0.0]), 2)?;
/// let (indices, distances) = near.of(0);
/// assert_eq!(indices, [0, 1]);
/// assert_eq!(distances, [0.0, 5.0]);
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// The errors of [`Quadtree::nearest`] and [`count_in()`].
pub fn nearest<'on>(
    on: impl Into<On<'on>>,
    tree: &Quadtree,
    places: Points<'_>,
    k: usize,
) -> Result<Neighbours> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => tree.nearest(places.x, places.y, k),
            gpu => crate::gpu::host::nearest(gpu, tree, places, k),
        )
    })
}

/// Finds the leaf of each place: [`Quadtree::leaves_of`] on a device. Copies the tree like [`count_in()`].
///
/// ```
/// use gpu_core::{Bounds, Device, Points};
/// use quadtree_sort::{NONE, Params, build, leaves_of};
///
/// let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 };
/// let params = Params::new().threshold(1).bounds(bounds);
/// let tree = build(&Device::Cpu, Points::new(&[1.0, 7.0], &[1.0, 7.0]), &params)?;
/// let leaves = leaves_of(&Device::Cpu, &tree, Points::new(&[3.0, 5.0, 3.0], &[3.0, 5.0, 5.0]))?;
/// assert_eq!(leaves, [1, 2, NONE]); // node 0 is the root; the north-west has no point
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// The errors of [`Quadtree::leaves_of`] and [`count_in()`].
pub fn leaves_of<'on>(
    on: impl Into<On<'on>>,
    tree: &Quadtree,
    places: Points<'_>,
) -> Result<Vec<u32>> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => tree.leaves_of(places.x, places.y),
            gpu => crate::gpu::host::leaves_of(gpu, tree, places),
        )
    })
}

/// Lists the leaves around each leaf of a list: [`Quadtree::adjacent_leaves`] on a device. Copies the tree like
/// [`count_in()`].
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Adjacency, Params, adjacent_leaves, build};
///
/// let points = Points::new(&[0.0, 8.0, 0.0, 8.0], &[0.0, 0.0, 8.0, 8.0]);
/// let tree = build(&Device::Cpu, points, &Params::new().threshold(1))?; // a root and its four quadrants
/// let beside = adjacent_leaves(&Device::Cpu, &tree, &[1], Adjacency::Edges)?;
/// assert_eq!(beside.of(0), [2, 3]); // south-east and north-west of node 1
/// let around = adjacent_leaves(&Device::Cpu, &tree, &[1], Adjacency::EdgesAndCorners)?;
/// assert_eq!(around.of(0), [2, 3, 4]);
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// The errors of [`Quadtree::adjacent_leaves`] and [`count_in()`].
pub fn adjacent_leaves<'on>(
    on: impl Into<On<'on>>,
    tree: &Quadtree,
    leaves: &[u32],
    adjacency: Adjacency,
) -> Result<Lists> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => tree.adjacent_leaves(leaves, adjacency),
            gpu => crate::gpu::host::adjacent_leaves(gpu, tree, leaves, adjacency),
        )
    })
}

/// Indexes points, within the given bounds or the bounds of the points. Values of points are ignored.
///
/// Cost: one sort of the points. The index takes 21 bytes a point.
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::index;
///
/// let index = index(&Device::Cpu, Points::new(&[1.0, 5.0], &[0.0, 0.0]), None)?;
/// let near = index.nearest(&[4.0], &[0.0], 2)?;
/// assert_eq!(near.of(0), (&[1, 0][..], &[1.0, 3.0][..]));
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Bounds`](crate::Error::Bounds) for bounds that are not a rectangle.
/// - [`gpu_core::Error::Length`] for columns of different lengths.
/// - [`gpu_core::Error::NotFinite`] with the index of the point.
/// - [`Error::Outside`](crate::Error::Outside) for a point beyond given bounds.
/// - [`gpu_core::Error::TooMany`] for more than 2^32 - 1 points.
/// - [`Error::Cancelled`](crate::Error::Cancelled) where the caller's progress ends the call.
/// - [`Error::Core`](crate::Error::Core) where memory or the device fails.
pub fn index<'on>(
    on: impl Into<On<'on>>,
    points: Points<'_>,
    bounds: Option<Bounds>,
) -> Result<Index> {
    let On { device, progress } = on.into();
    points.check_lengths()?;
    crate::index::check_bounds(bounds)?;
    progress.during("index", || {
        gpu_core::on_device!(
            device,
            cpu => crate::index::build::index(points, bounds),
            gpu => {
                let mut workspace = crate::gpu::Workspace::new(gpu)?;
                let (x, y) = (gpu.upload(points.x)?, gpu.upload(points.y)?);
                crate::gpu::index(&mut workspace, &x, &y, bounds)?.to_host()
            },
        )
    })
}
