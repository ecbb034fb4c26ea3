//! Searches in a tree on the host, by the functions that the device runs too: `kernels_rs::quadtree::queries`.

use std::ptr;

use gpu_core::{Bounds, host_memory};
use kernels_rs::quadtree::queries::adjacent::{Sink, visit_adjacent};
use kernels_rs::quadtree::queries::ground::Origin;
use kernels_rs::quadtree::queries::leaf::find;
use kernels_rs::quadtree::queries::nearest::{Memory, Nearest, Points};
use kernels_rs::quadtree::queries::regions::{Disc, Polygon, Region, Window, search};
use kernels_rs::quadtree::queries::walk::{Alone, HostPath, walk};
use rayon::prelude::*;

pub use kernels_rs::quadtree::queries::leaf::NONE;

use crate::{Error, Polygons, Quadtree, Result};

/// Parts of the plane to look for points in.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Regions<'a> {
    /// Rectangles with their edges: `min_x <= x <= max_x`, `min_y <= y <= max_y`.
    Windows(&'a [Bounds]),
    /// Discs with their edge: `dx * dx + dy * dy <= radius * radius`, each operation rounded to f64.
    Discs(&'a [Disk]),
    /// Polygons.
    Polygons(&'a Polygons),
}

/// A centre and a radius.
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An error for one that is none.
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
    /// Where there is no such query.
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
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Neighbours {
    /// Neighbours of a place.
    pub k: usize,
    /// Their indices as given, nearest first, `k` for each place; [`NONE`] where there are fewer points.
    pub indices: Vec<u32>,
    /// Their distances; infinite where there are fewer points.
    pub distances: Vec<f64>,
}

impl Neighbours {
    /// Indices and distances of a place's.
    ///
    /// # Panics
    /// Where there is no such place.
    pub fn of(&self, place: usize) -> (&[u32], &[f64]) {
        let range = place * self.k..(place + 1) * self.k;
        (&self.indices[range.clone()], &self.distances[range])
    }
}

/// Which leaves count as neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adjacency {
    /// Those that share part of an edge.
    #[default]
    Edges,
    /// Those that share a corner, too.
    EdgesAndCorners,
}

impl Quadtree {
    /// The number of points in each region, counted on all cores.
    ///
    /// Work of a window: in proportion to the nodes that its edges pass through; of a disc to the points in it,
    /// too; of a polygon to its edges times the nodes that they pass through.
    ///
    /// # Errors
    /// [`Error::Window`], [`Error::Disc`].
    pub fn count_in(&self, regions: Regions<'_>) -> Result<Vec<u64>> {
        regions.check()?;
        let all = (0..regions.len()).into_par_iter();
        Ok(all.map(|i| self.search_region(regions, i, ptr::null_mut())).collect())
    }

    /// The points in each region, by their indices as given, in the order of the tree.
    ///
    /// # Errors
    /// As [`count_in`](Self::count_in), and [`Error::Core`] where the lists are larger than memory.
    pub fn list_in(&self, regions: Regions<'_>) -> Result<Lists> {
        let counts = self.count_in(regions)?;
        lists(&counts, |i, room| {
            self.search_region(regions, i, room.as_mut_ptr());
        })
    }

    /// Searches region `which`; the list, unless null, has room for what was counted.
    fn search_region(&self, regions: Regions<'_>, which: usize, list: *mut u32) -> u64 {
        let frame = &self.frame;
        match regions {
            Regions::Windows(windows) => {
                let Bounds { min_x, min_y, max_x, max_y } = windows[which];
                self.search_one(&Window::new(frame, [min_x, min_y, max_x, max_y]), list)
            }
            Regions::Discs(discs) => {
                let Disk { x, y, radius } = discs[which];
                self.search_one(&Disc::new(frame, [x, y], radius), list)
            }
            Regions::Polygons(polygons) => {
                let Bounds { min_x, min_y, max_x, max_y } = polygons.bounds[which];
                let edges = polygons.offsets[which] as usize..polygons.offsets[which + 1] as usize;
                let edges = &polygons.edges[edges];
                // SAFETY: the edges outlive the search.
                let polygon = unsafe {
                    let edges = (edges.as_ptr().cast(), edges.len() as u64);
                    Polygon::new(frame, [min_x, min_y, max_x, max_y], edges.0, edges.1)
                };
                self.search_one(&polygon, list)
            }
        }
    }

    fn search_one(&self, region: &impl Region, list: *mut u32) -> u64 {
        if self.nodes.is_empty() {
            return 0;
        }
        // SAFETY: nodes and points are a tree's; one alone is the whole team.
        unsafe { search(self.words(), &mut HostPath::new(), self.points(), region, Alone, list) }
    }

    /// The `k` nearest points of each place, searched on all cores. Distances are compared as squares, each
    /// operation rounded to f64; of points as near the lower index comes first.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`], [`gpu_core::Error::NotFinite`], [`Error::NoNeighbours`] for k = 0,
    /// [`Error::Core`] where the result is larger than memory.
    pub fn nearest(&self, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
        check_places(x, y)?;
        check_k(k)?;
        let len = x.len().saturating_mul(k);
        let mut indices = host_memory::filled(NONE, len)?;
        let mut distances = host_memory::filled(f64::INFINITY, len)?;
        if !self.nodes.is_empty() {
            let results = indices.par_chunks_mut(k).zip(distances.par_chunks_mut(k));
            results.zip(x.par_iter().zip(y)).for_each(|((indices, distances), (&x, &y))| {
                self.nearest_of([x, y], indices, distances);
            });
        }
        Ok(Neighbours { k, indices, distances })
    }

    /// The nearest points of a place, as many as there is room for.
    fn nearest_of(&self, place: [f64; 2], indices: &mut [u32], distances: &mut [f64]) {
        let (origin, deepest) = (Origin::new(&self.frame, place), self.frame.level);
        // SAFETY: both have as many elements, at least one; nodes and points are a tree's.
        unsafe {
            let k = indices.len() as u32;
            let mut best = Memory::new(distances.as_mut_ptr(), indices.as_mut_ptr(), k);
            let points = self.points();
            let mut search = Nearest { points, place, origin, deepest, best: &mut best };
            walk(self.words(), &mut HostPath::new(), &mut search);
        }
        distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
    }

    /// The leaf whose cell holds each place, by its place among the nodes; [`NONE`] for places outside of the
    /// bounds, and for those in cells without points, which are no leaves.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`].
    pub fn leaves_of(&self, x: &[f64], y: &[f64]) -> Result<Vec<u32>> {
        check_lengths(x, y)?;
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        let bounds = [min_x, min_y, max_x, max_y];
        let leaf = |(&x, &y): (&f64, &f64)| match self.nodes.is_empty() {
            true => NONE,
            // SAFETY: the nodes are a tree's.
            false => unsafe { find(self.words(), &self.frame, bounds, [x, y]) },
        };
        Ok(x.par_iter().zip(y).map(leaf).collect())
    }

    /// The leaves around each leaf of a list, whatever their levels, by their places among the nodes, in the order
    /// of codes. Around a node that is no leaf, or none at all, there are none. Cells without points are no
    /// leaves, and no neighbours.
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
        let count = |&leaf: &u32| {
            let mut sink = Listed { list: None, count: 0 };
            around(leaf, &mut sink);
            sink.count
        };
        let counts: Vec<u64> = leaves.par_iter().map(count).collect();
        lists(&counts, |i, room| around(leaves[i], &mut Listed { list: Some(room), count: 0 }))
    }

    /// The nodes, as the kernels see them.
    fn words(&self) -> *const u64 {
        self.nodes.as_ptr().cast()
    }

    fn points(&self) -> Points<f64> {
        Points { x: self.x.as_ptr(), y: self.y.as_ptr(), order: self.order.as_ptr() }
    }
}

/// Leaves that are counted, or written where there is a list.
struct Listed<'a> {
    list: Option<&'a mut [u32]>,
    count: u64,
}

impl Sink for Listed<'_> {
    unsafe fn take(&mut self, value: u32) {
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
    let mut rest = &mut indices[..];
    let rooms: Vec<&mut [u32]> = counts
        .iter()
        .map(|&count| {
            let (room, after) = std::mem::take(&mut rest).split_at_mut(count as usize);
            rest = after;
            room
        })
        .collect();
    rooms.into_par_iter().enumerate().for_each(|(i, room)| fill(i, room));
    Ok(Lists { offsets, indices })
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
