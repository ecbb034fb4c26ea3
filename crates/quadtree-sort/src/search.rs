//! Indexing and searches from host to host, on any device.

use gpu_core::{Bounds, On, Points};

use crate::queries::{Adjacency, Lists, Neighbours, Regions};
use crate::{Index, Quadtree, Result};

/// The number of points in each region: [`Quadtree::count_in`] on a device.
///
/// A GPU gets a copy of the tree for each call; who asks often keeps one there
/// ([`gpu::DeviceQuadtree::from_host`](crate::gpu::DeviceQuadtree::from_host)).
///
/// # Errors
/// As [`Quadtree::count_in`]; [`Error::Cancelled`](crate::Error::Cancelled) where its progress ends the call,
/// [`Error::Core`](crate::Error::Core) where memory or the device fails.
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

/// The points in each region: [`Quadtree::list_in`] on a device, as [`count_in()`].
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

/// The `k` nearest points of each place: [`Quadtree::nearest`] on a device, as [`count_in()`].
///
/// # Errors
/// As [`Quadtree::nearest`] and [`count_in()`].
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

/// The leaf of each place: [`Quadtree::leaves_of`] on a device, as [`count_in()`].
///
/// # Errors
/// As [`Quadtree::leaves_of`] and [`count_in()`].
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

/// The leaves around each leaf of a list: [`Quadtree::adjacent_leaves`] on a device, as [`count_in()`].
///
/// # Errors
/// As [`Quadtree::adjacent_leaves`] and [`count_in()`].
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

/// Indexes points, within given bounds or their own. Values of points are ignored.
///
/// Cost: a sort of the points; 21 bytes a point for the index.
///
/// # Errors
/// - [`Error::Bounds`](crate::Error::Bounds) for bounds that are no rectangle.
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
