//! Searches from host to host: the tree and the queries go to the device, and results come back. The errors are the
//! same as on the CPU.

use gpu_core::{Bounds, Gpu, Points};

use super::queries::{self, DevicePolygons, DeviceRegions};
use super::{DeviceIndex, DeviceQuadtree, Workspace};
use crate::queries::{Adjacency, Disk, Lists, Neighbours, Regions, check_lengths, check_places};
use crate::{Quadtree, Result};

/// A copy of what searches need of a tree, and a workspace to search it with.
fn copied(gpu: &Gpu, tree: &Quadtree) -> Result<(Workspace, DeviceQuadtree<f64>)> {
    Ok((Workspace::new(gpu)?, DeviceQuadtree::without_values(gpu, tree)?))
}

/// See [`crate::count_in`].
pub(crate) fn count_in(gpu: &Gpu, tree: &Quadtree, regions: Regions<'_>) -> Result<Vec<u64>> {
    let (mut workspace, tree) = copied(gpu, tree)?;
    with(gpu, regions, |regions| Ok(queries::count_in(&mut workspace, &tree, regions)?.to_host()?))
}

/// See [`crate::list_in`].
pub(crate) fn list_in(gpu: &Gpu, tree: &Quadtree, regions: Regions<'_>) -> Result<Lists> {
    let (mut workspace, tree) = copied(gpu, tree)?;
    with(gpu, regions, |regions| queries::list_in(&mut workspace, &tree, regions)?.to_host())
}

/// Copies regions to the device for some work.
fn with<R>(
    gpu: &Gpu,
    regions: Regions<'_>,
    work: impl FnOnce(DeviceRegions<'_>) -> Result<R>,
) -> Result<R> {
    regions.check()?;
    match regions {
        Regions::Windows(windows) => {
            let sides = |b: &Bounds| [b.min_x, b.min_y, b.max_x, b.max_y];
            let windows: Vec<[f64; 4]> = windows.iter().map(sides).collect();
            work(DeviceRegions::Windows((&gpu.upload(&windows)?).into()))
        }
        Regions::Discs(discs) => {
            let discs = gpu.upload(bytemuck::cast_slice::<Disk, [f64; 3]>(discs))?;
            work(DeviceRegions::Discs((&discs).into()))
        }
        Regions::Polygons(polygons) => {
            work(DeviceRegions::Polygons(&DevicePolygons::upload(gpu, polygons)?))
        }
    }
}

/// See [`crate::nearest`].
pub(crate) fn nearest(
    gpu: &Gpu,
    tree: &Quadtree,
    places: Points<'_>,
    k: usize,
) -> Result<Neighbours> {
    check_places(places.x, places.y)?;
    let (mut workspace, tree) = copied(gpu, tree)?;
    let index = DeviceIndex::of_tree(&mut workspace, &tree)?;
    let (x, y) = (gpu.upload(places.x)?, gpu.upload(places.y)?);
    super::nearest(&mut workspace, &index, &x, &y, k)?.to_host()
}

/// See [`crate::leaves_of`].
pub(crate) fn leaves_of(gpu: &Gpu, tree: &Quadtree, places: Points<'_>) -> Result<Vec<u32>> {
    check_lengths(places.x, places.y)?;
    let (mut workspace, tree) = copied(gpu, tree)?;
    let (x, y) = (gpu.upload(places.x)?, gpu.upload(places.y)?);
    Ok(queries::leaves_of(&mut workspace, &tree, &x, &y)?.to_host()?)
}

/// See [`crate::adjacent_leaves`].
pub(crate) fn adjacent_leaves(
    gpu: &Gpu,
    tree: &Quadtree,
    leaves: &[u32],
    adjacency: Adjacency,
) -> Result<Lists> {
    let (mut workspace, tree) = copied(gpu, tree)?;
    let leaves = gpu.upload(leaves)?;
    queries::adjacent_leaves(&mut workspace, &tree, &leaves, adjacency)?.to_host()
}
