//! Searches in a tree on the host. The device runs the same functions to decide which cells and points are near, or in
//! a region: `kernels_rs::quadtree::queries`.

#[cfg(feature = "arrow")]
mod arrow;
mod globe;
mod list;
mod nearest;
mod ranges;

use device_std::In;
use gpu_core::{Bounds, host_memory, parallel};
use kernels_rs::quadtree::Words;
use kernels_rs::quadtree::queries::adjacent::{Sink, visit_adjacent};
use kernels_rs::quadtree::queries::leaf::find;
use kernels_rs::quadtree::queries::walk::HostPath;

pub use kernels_rs::quadtree::queries::leaf::NONE;

pub(crate) use list::NearestList;

use crate::array::take;
use crate::{Error, Polygons, Quadtree, Result};

/// Places or leaves that are worth a task.
const PLACES: usize = 32;

/// The most places or regions of a search on the host.
const MOST: u64 = 1 << 32;

/// Regions of the plane in which to search for points.
///
/// Example: see [`count_in`](crate::count_in()).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Regions<'a> {
    /// Rectangles with their edges: `min_x <= x <= max_x`, `min_y <= y <= max_y`.
    Windows(&'a [Bounds]),
    /// Discs with their edge: `dx * dx + dy * dy <= radius * radius`, each operation rounded to f64. The
    /// [crate](crate#what-it-finds) names the range of coordinates whose squares do not overflow.
    Discs(&'a [Disk]),
    /// Polygons.
    Polygons(&'a Polygons),
}

/// A centre and a radius.
///
/// Example: see [`list_in`](crate::list_in()).
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Disk {
    /// x of the centre.
    pub x: f64,
    /// y of the centre.
    pub y: f64,
    /// The radius; not negative.
    pub radius: f64,
}

impl Regions<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.len(),
            Self::Discs(discs) => discs.len(),
            Self::Polygons(polygons) => polygons.len(),
        }
    }

    /// Whether there are no regions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fails for an invalid region.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Windows(windows) => {
                let is_bad = |w: &Bounds| !(w.min_x <= w.max_x && w.min_y <= w.max_y);
                match windows.iter().position(is_bad) {
                    Some(index) => {
                        Err(Error::Window { index: index as u64, window: windows[index] })
                    }
                    None => Ok(()),
                }
            }
            Self::Discs(discs) => {
                let is_bad = |d: &Disk| !(d.x.is_finite() && d.y.is_finite() && d.radius >= 0.0);
                match discs.iter().position(is_bad) {
                    Some(index) => {
                        let Disk { x, y, radius } = discs[index];
                        Err(Error::Disc { index: index as u64, x, y, radius })
                    }
                    None => Ok(()),
                }
            }
            Self::Polygons(_) => Ok(()),
        }
    }
}

/// A list for each query.
///
/// Example: see [`list_in`](crate::list_in()).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lists {
    /// Where each list begins in `indices`, and at last where the last one ends.
    pub offsets: Vec<u64>,
    /// The lists, one after the other.
    pub indices: Vec<u32>,
}

impl Lists {
    /// The list of a query.
    ///
    /// # Panics
    /// Panics if there is no such query.
    pub fn of(&self, query: usize) -> &[u32] {
        &self.indices[self.offsets[query] as usize..self.offsets[query + 1] as usize]
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there was no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The nearest points of each place.
///
/// Example: see [`nearest`](crate::nearest()).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Neighbours {
    /// Neighbours of a place.
    pub k: usize,
    /// The indices of the points as given, nearest first, `k` for each place; [`NONE`] if there are fewer points.
    pub indices: Vec<u32>,
    /// The distances; infinite if there are fewer points.
    pub distances: Vec<f64>,
}

impl Neighbours {
    /// Returns the indices and distances of a place's neighbours.
    ///
    /// # Panics
    /// Panics if there is no such place.
    pub fn of(&self, place: usize) -> (&[u32], &[f64]) {
        let range = place * self.k..(place + 1) * self.k;
        (&self.indices[range.clone()], &self.distances[range])
    }

    /// Lists without points.
    pub(crate) fn none(places: usize, k: usize) -> Result<Self> {
        let len = places.saturating_mul(k);
        let indices = host_memory::filled(NONE, len)?;
        Ok(Self { k, indices, distances: host_memory::filled(f64::INFINITY, len)? })
    }

    /// Calls `search` with each place and its list. A thread takes places that follow each other in `order`.
    pub(crate) fn fill(
        &mut self,
        order: impl Iterator<Item = usize>,
        search: impl Fn(usize, &mut [u32], &mut [f64]) + Sync,
    ) {
        let lists = self.indices.chunks_mut(self.k).zip(self.distances.chunks_mut(self.k));
        let mut lists: Vec<(&mut [u32], &mut [f64])> = lists.collect();
        let mut lists: Vec<_> = order.map(|i| (i, std::mem::take(&mut lists[i]))).collect();
        parallel::for_each(&mut lists, PLACES, |_, (place, (indices, distances))| {
            search(*place, indices, distances);
        });
    }
}

/// Which leaves count as neighbours.
///
/// Example: see [`adjacent_leaves`](crate::adjacent_leaves()).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adjacency {
    /// Leaves that share part of an edge.
    #[default]
    Edges,
    /// Leaves that share part of an edge, or a corner.
    EdgesAndCorners,
}

impl Quadtree {
    /// Returns the number of points in each region, counted on all cores.
    ///
    /// Work, by the kind of region:
    ///
    /// - A window: in proportion to the nodes that its edges cross.
    /// - A disc: in proportion to the nodes that its edge crosses, and to the points in it.
    /// - A polygon: in proportion to its edges times the nodes that they cross.
    ///
    /// # Errors
    /// [`Error::Window`], [`Error::Disc`], [`Error::TooMany`].
    pub fn count_in(&self, regions: Regions<'_>) -> Result<Vec<u64>> {
        regions.check()?;
        ranges::count(self, regions)
    }

    /// Lists the points in each region, by their indices as given, in the order of the tree.
    ///
    /// # Errors
    /// The errors of [`count_in`](Self::count_in), and [`Error::Core`] where the lists are larger than memory.
    pub fn list_in(&self, regions: Regions<'_>) -> Result<Lists> {
        regions.check()?;
        ranges::list(self, regions)
    }

    /// The `k` nearest points of each place, searched on all cores. The search compares squared distances, each
    /// operation rounded to f64. Among equally near points, the lower index comes first. Squares that overflow are
    /// infinite and equal: the [crate](crate#what-it-finds) names the range of coordinates without them.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`], [`gpu_core::Error::NotFinite`], [`Error::NoNeighbours`] for k = 0,
    /// [`Error::TooMany`], [`Error::Core`] where the result is larger than memory.
    pub fn nearest(&self, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
        check_places(x, y)?;
        check_k(k)?;
        nearest::nearest(self, x, y, k)
    }

    /// The `k` nearest points of each place by great-circle distance, where x are longitudes and y latitudes in
    /// degrees: across the antimeridian and the poles. Distances are angles in radians; among points with equal squared
    /// chords in f64, the lower index comes first.
    ///
    /// It searches on all cores, by bounds on the distance to the cells, after one pass over the points that checks
    /// them.
    ///
    /// ```
    /// use gpu_core::{Device, Points};
    /// use quadtree_sort::{Params, build};
    ///
    /// let tree = build(&Device::Cpu, Points::new(&[170.0, -179.0], &[0.0, 0.0]), &Params::new())?;
    /// let near = tree.nearest_on_globe(&[179.0], &[0.0], 1)?;
    /// assert_eq!(near.of(0).0, [1]); // two degrees away, across the antimeridian
    /// assert!((near.of(0).1[0] - 2f64.to_radians()).abs() < 1e-12);
    /// # Ok::<(), quadtree_sort::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`nearest`](Self::nearest), and [`Error::Globe`] for a place or a point whose latitude is not from
    /// -90 to 90, or whose longitude is not from -360 to 360.
    pub fn nearest_on_globe(
        &self,
        longitudes: &[f64],
        latitudes: &[f64],
        k: usize,
    ) -> Result<Neighbours> {
        check_places(longitudes, latitudes)?;
        check_k(k)?;
        globe::nearest(self, longitudes, latitudes, k)
    }

    /// Returns the leaf whose cell holds each place, as an index into the nodes. A place gets [`NONE`] if it lies
    /// outside the bounds, or in a cell without points, which is not a leaf.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`].
    pub fn leaves_of(&self, x: &[f64], y: &[f64]) -> Result<Vec<u32>> {
        check_lengths(x, y)?;
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        let bounds = [min_x, min_y, max_x, max_y];
        let leaf = |i: usize| match self.nodes.is_empty() {
            true => NONE,
            false => find(self.words(), &self.frame, bounds, [x[i], y[i]]),
        };
        Ok(parallel::map(x.len(), PLACES, leaf))
    }

    /// Lists the leaves around each leaf of a list, at all levels: their positions among the nodes, in the order of
    /// codes. A node that is not a leaf, or does not exist, has an empty list. Cells without points are not leaves, and
    /// no neighbours.
    ///
    /// # Errors
    /// [`Error::Core`] where the lists are larger than memory.
    pub fn adjacent_leaves(&self, leaves: &[u32], adjacency: Adjacency) -> Result<Lists> {
        let corners = adjacency == Adjacency::EdgesAndCorners;
        let around = |leaf: u32, sink: &mut Listed<'_>| {
            if !self.nodes.is_empty() {
                let tree = (self.words(), self.nodes.len() as u64);
                let deepest = self.frame.level;
                // SAFETY: the nodes are a tree's.
                unsafe {
                    visit_adjacent(tree, deepest, leaf, corners, &mut HostPath::new(), sink);
                }
            }
        };
        let counts = parallel::map(leaves.len(), PLACES, |i| {
            let mut sink = Listed { list: None, count: 0 };
            around(leaves[i], &mut sink);
            sink.count
        });
        lists(&counts, |i, room| around(leaves[i], &mut Listed { list: Some(room), count: 0 }))
    }

    /// The nodes, as the kernels see them.
    fn words(&self) -> In<'_, Words> {
        let nodes: &[Words] = bytemuck::cast_slice(&self.nodes);
        // SAFETY: the slice lives as long, and nobody writes it.
        unsafe { In::from_raw_parts(nodes.as_ptr(), nodes.len()) }
    }
}

/// Returns the numbers of queries in the order of the codes of their places.
fn in_order_of_codes(
    tree: &Quadtree,
    count: usize,
    what: &'static str,
    place: impl Fn(usize) -> [f64; 2] + Sync,
) -> Result<Vec<u32>> {
    in_order(count, what, |which| {
        let [x, y] = place(which);
        tree.frame.code(x, y)
    })
}

/// Returns the numbers of queries in the order of their codes.
pub(crate) fn in_order(
    count: usize,
    what: &'static str,
    code: impl Fn(usize) -> u64 + Sync,
) -> Result<Vec<u32>> {
    check_count(what, count as u64)?;
    let mut order = parallel::map(count, parallel::FINE, |which| (code(which), which as u32));
    parallel::sort_pairs(&mut order);
    Ok(order.into_iter().map(|(_, which)| which).collect())
}

/// Checks that 32 bits number as many places or regions.
fn check_count(what: &'static str, count: u64) -> Result<()> {
    if count > MOST { Err(Error::TooMany { what, count, most: MOST }) } else { Ok(()) }
}

/// Leaves that are counted, or written where there is a list.
struct Listed<'a> {
    list: Option<&'a mut [u32]>,
    count: u64,
}

impl Sink for Listed<'_> {
    fn take(&mut self, value: u32) {
        if let Some(list) = &mut self.list {
            list[self.count as usize] = value;
        }
        self.count += 1;
    }
}

/// Lists of the given lengths, each filled by `fill`.
fn lists(counts: &[u64], fill: impl Fn(usize, &mut [u32]) + Sync) -> Result<Lists> {
    let mut offsets = host_memory::with_capacity(counts.len() + 1)?;
    let mut total = 0u64;
    offsets.push(0);
    for &count in counts {
        total += count;
        offsets.push(total);
    }
    let mut indices = host_memory::filled(0u32, total as usize)?;
    let mut rooms = rooms(&mut indices, counts.iter().copied());
    parallel::for_each(&mut rooms, PLACES, |i, room| fill(i, room));
    Ok(Lists { offsets, indices })
}

/// The elements of each list, one list after the other.
fn rooms<T>(mut elements: &mut [T], lens: impl Iterator<Item = u64>) -> Vec<&mut [T]> {
    lens.map(|len| take(&mut elements, len as usize)).collect()
}

pub(crate) fn check_k(k: usize) -> Result<()> {
    if k == 0 { Err(Error::NoNeighbours) } else { Ok(()) }
}

pub(crate) fn check_lengths(x: &[f64], y: &[f64]) -> Result<()> {
    let (expected, found) = (x.len() as u64, y.len() as u64);
    if expected != found {
        let what = "column of places' y";
        return Err(gpu_core::Error::Length { what, expected, found }.into());
    }
    Ok(())
}

pub(crate) fn check_places(x: &[f64], y: &[f64]) -> Result<()> {
    check_lengths(x, y)?;
    for (what, column) in [("place's x", x), ("place's y", y)] {
        if let Some(index) = column.iter().position(|value| !value.is_finite()) {
            let value = column[index];
            let index = index as u64;
            return Err(gpu_core::Error::NotFinite { what, index, value }.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_places_than_32_bits_number_are_refused() {
        assert_eq!(check_count("places", 1 << 32), Ok(()));
        let refused = check_count("places", (1 << 32) + 1).unwrap_err();
        let words = "one search takes at most 4294967296 places, not 4294967297";
        assert!(refused.to_string().starts_with(words), "{refused}");
    }
}
