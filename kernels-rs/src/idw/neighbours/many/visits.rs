//! What walks down the tree see: the nearest leaf, how many points are near, and which.

use device_std::warp;

use super::{LISTS, Walks, of_list};
use crate::idw::neighbours::warp_search::Part;
use crate::rtree::density::Density;
use crate::rtree::descent::{Tree, Visitor};
use crate::rtree::group::Group;
use crate::spatial::place::Bounds;

/// Finds the leaf nearest to the group. The first leaf of a walk is not always it: boxes along the curve overlap.
pub struct NearestLeaf<const D: usize> {
    /// Its points, once it is found.
    pub density: Option<Density<D>>,
    /// The bits of its squared distance.
    pub reach: u32,
}

impl<const D: usize> Visitor<f64, D> for NearestLeaf<D> {
    const NEAREST_FIRST: bool = true;
    const SKIPS_REPEATED: bool = true;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.reach
    }

    #[inline(always)]
    fn wants(&self, _: &Group<D>, _: Bounds<f32, D>) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, f64, D>, group: &Group<D>, leaf: u32) {
        let (is_there, point) = tree.point(group, leaf);
        // SAFETY: passed on to the caller.
        let leaf = unsafe { Density::of(is_there, point) };
        self.reach = group.gap(leaf.bounds).to_bits();
        self.density = Some(leaf);
    }
}

/// The greatest f32 squares that points of each list may have.
pub struct Limit {
    /// One above the bits of the square; 0 for a list without points.
    pub below: [u32; LISTS],
    /// The greatest of these.
    pub most: u32,
    /// The greatest of all lanes.
    pub reach: u32,
}

/// Counts points in f32.
pub struct Rough<'a, P, const D: usize> {
    pub walks: &'a Walks<'a, P, D>,
    pub limit: Limit,
    /// The points of each list so far.
    pub counts: [u32; LISTS],
}

impl<P: Part<D>, const D: usize> Rough<'_, P, D> {
    /// Counts some points of a list.
    #[inline(always)]
    fn add(&mut self, list: u32, points: u32) {
        let mut i = 0;
        while i < LISTS {
            self.counts[i] += if list == i as u32 { points } else { 0 };
            i += 1;
        }
    }
}

impl<P: Part<D>, const D: usize> Visitor<f64, D> for Rough<'_, P, D> {
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = false;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.limit.reach
    }

    #[inline(always)]
    fn wants(&self, _: &Group<D>, bounds: Bounds<f32, D>) -> bool {
        self.walks.wants(bounds, &self.limit)
    }

    #[inline(always)]
    unsafe fn take(&mut self, group: &Group<D>, bounds: Bounds<f32, D>, points: u32) -> bool {
        let list = self.walks.choice.list_of_box(group, bounds, self.walks.by_quadrants);
        let far = group.far_of_lane(bounds).to_bits();
        let is_whole = list < LISTS as u32 && far < of_list(self.limit.below, list);
        let wants = self.walks.wants(bounds, &self.limit);
        // SAFETY: passed on to the caller.
        if unsafe { warp::any(warp::FULL, wants && !is_whole) } {
            return false;
        }
        self.add(list, if wants { points } else { 0 });
        true
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, f64, D>, group: &Group<D>, leaf: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            tree.each_near(group, leaf, self.limit.reach, |position, point| {
                let bits = group.squared(point).to_bits();
                if bits < self.limit.most {
                    let list = self.walks.list(position);
                    let is_within = list < LISTS as u32 && bits < of_list(self.limit.below, list);
                    self.add(list, u32::from(is_within));
                }
            });
        }
    }
}

/// Shows the points within a distance.
pub struct Within<'a, P, const D: usize, S> {
    pub walks: &'a Walks<'a, P, D>,
    /// The greatest f64 square of each list; negative for none.
    pub squared: [f64; LISTS],
    pub limit: Limit,
    /// Gets the list of each point, its square, and its position.
    pub see: S,
}

impl<P: Part<D>, const D: usize, S: FnMut(u32, f64, u32)> Visitor<f64, D> for Within<'_, P, D, S> {
    const NEAREST_FIRST: bool = false;
    const SKIPS_REPEATED: bool = false;

    #[inline(always)]
    fn reach(&self) -> u32 {
        self.limit.reach
    }

    #[inline(always)]
    fn wants(&self, _: &Group<D>, bounds: Bounds<f32, D>) -> bool {
        self.walks.wants(bounds, &self.limit)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, tree: &Tree<'_, f64, D>, group: &Group<D>, leaf: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            tree.each_near(group, leaf, self.limit.reach, |position, point| {
                if group.squared(point).to_bits() >= self.limit.most {
                    return;
                }
                let squared = tree.squared(position, self.walks.place);
                let list = self.walks.list(position);
                if list < LISTS as u32 && squared <= of_list(self.squared, list) {
                    (self.see)(list, squared, position);
                }
            });
        }
    }
}
