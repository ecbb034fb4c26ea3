//! The walk of a warp down the tree, for the places of its lanes: a depth-first visit, the nearest box first.
//!
//! ```text
//! loop:
//!     each lane: gap of its child's box to the box around all 32 places, as bits
//!     if the walk comes back to the node: only children count that come after the one it left
//!     loop:
//!         next = the child with the least gap
//!         go up if gap(next) >= reach           reach shrinks while lists fill
//!         if any lane wants the child's box for its own place: go down to it, or visit the leaf
//! ```
//!
//! The walk needs no stack. Children are visited in the order of (gap, lane), so the child that the walk comes back from
//! tells which ones are left. To compute the gaps of a node again costs less than a loop for each level: the levels'
//! loops did not fit into the cache for instructions (docs/notes/neighbours.md).
//!
//! Squares of f32 are compared by their bits, which have the order of the numbers if these are not negative. A warp
//! reduces integers in one instruction.

use core::array;

use device_std::{In, arguments, vector, warp};

use super::group::Group;
use super::layout::{FANOUT, MAX_LEVELS, NONE, is_repeated};
use super::turned::TurnedBox;
use crate::spatial::place::{Bounds, Place};

/// A tree as kernels take it, of points with `D` coordinates.
#[arguments]
pub struct Tree<'a, T, const D: usize = 2> {
    /// x of the points, in the order of the tree.
    pub x: In<'a, T>,
    /// y of the points.
    pub y: In<'a, T>,
    /// z of the points, where they have one.
    pub z: Option<In<'a, T>>,
    /// Their indices as given.
    pub order: In<'a, u32>,
    /// The number of points.
    pub points: u32,
    /// The boxes: see [`Layout`](super::layout::Layout).
    pub boxes: In<'a, [[T; D]; 2]>,
    /// As many boxes that are [turned](super::turned) along their points.
    pub turned: In<'a, [[f64; D]; 3]>,
    /// The first box of each level.
    pub starts: [u32; MAX_LEVELS],
    /// The level of the root's children.
    pub top: u32,
    /// Groups of 32 boxes of that level.
    pub roots: u32,
    /// The bounds of the points.
    pub extent: [[f64; D]; 2],
}

impl<T: Place, const D: usize> Tree<'_, T, D> {
    /// The lane's point of a leaf, relative to the group's origin, and whether there is one.
    #[inline(always)]
    pub fn point(&self, group: &Group<D>, leaf: u32) -> (bool, [f32; D]) {
        let i = leaf * FANOUT + warp::lane_id();
        if i >= self.points {
            return (false, [0.0; D]);
        }
        (true, group.origin.place(self.place(i)))
    }

    /// Calls `see` for each point of a leaf within reach of the group: with its position, and its place relative to the
    /// group's origin. All lanes get the same points in the same order.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the leaf is one of the tree.
    #[inline(always)]
    pub unsafe fn each_near(
        &self,
        group: &Group<D>,
        leaf: u32,
        reach: u32,
        mut see: impl FnMut(u32, [f32; D]),
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (is_there, point) = self.point(group, leaf);
            // A point is a box without extent: tested once for the group, before 32 lanes measure it.
            let is_near = is_there && group.gap([point; 2]).to_bits() < reach;
            let mut near = warp::ballot(warp::FULL, is_near);
            while near != 0 {
                let lane = near.trailing_zeros();
                near &= near - 1;
                let point = point.map(|along| warp::shuffle(warp::FULL, along, lane));
                see(leaf * FANOUT + lane, point);
            }
        }
    }

    /// The square of the distance of a point from a place, in f64, and the point's index. Results are in the order of
    /// these pairs.
    #[inline(always)]
    pub fn exact(&self, point: u32, place: [f64; D]) -> (f64, u32) {
        (self.squared(point, place), self.order.get(point))
    }

    /// Whether one point, given as its f64 square and its position, comes before another: nearer, or as near with a lower
    /// index. Indices are loaded only if squares are equal, which is rare.
    #[inline(always)]
    pub fn is_before(&self, a: (f64, u32), b: (f64, u32)) -> bool {
        a.0 < b.0 || a.0 == b.0 && self.order.get(a.1) < self.order.get(b.1)
    }

    /// The square of the distance of a point from a place, in f64.
    #[inline(always)]
    pub fn squared(&self, point: u32, place: [f64; D]) -> f64 {
        squared(self.place(point), place)
    }

    /// The place of a point.
    #[inline(always)]
    pub fn place(&self, point: u32) -> [f64; D] {
        array::from_fn(|axis| {
            let column = match (axis, self.z) {
                (0, _) => self.x,
                (2, Some(z)) => z,
                _ => self.y,
            };
            column.get(point).widened()
        })
    }

    /// The number of boxes of a level.
    #[inline(always)]
    pub fn boxes_of(&self, level: u32) -> u32 {
        // Of points that are there: a box for each 32^(level + 1) of them.
        ((self.points - 1) >> (5 * (level + 1))) + 1
    }

    /// The number of points in a box of a level.
    #[inline(always)]
    pub fn points_of(&self, level: u32, of: u32) -> u32 {
        let shift = 5 * (level + 1);
        let first = of << shift;
        if shift >= u32::BITS { self.points } else { u32::min(self.points - first, 1 << shift) }
    }

    /// A box of a level.
    #[inline(always)]
    pub fn box_of(&self, level: u32, of: u32) -> Bounds<T, D> {
        // SAFETY: the address is that of a box, which nobody writes while kernels search.
        unsafe { T::load_box(self.boxes.address(self.of_level(self.starts, level) + of, 1)) }
    }

    /// A turned box of a level.
    #[inline(always)]
    pub fn turned_box(&self, level: u32, of: u32) -> TurnedBox<D> {
        TurnedBox::of(self.turned.get(self.of_level(self.starts, level) + of))
    }

    /// Returns the element of a level by comparisons: an index at run time would force the array from registers into
    /// local memory.
    #[inline(always)]
    fn of_level(&self, all: [u32; MAX_LEVELS], level: u32) -> u32 {
        let (mut found, mut i) = (all[0], 1);
        while i < MAX_LEVELS {
            found = if level == i as u32 { all[i] } else { found };
            i += 1;
        }
        found
    }
}

/// The square of the distance between two places, in f64.
#[inline(always)]
pub fn squared<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    let square = |axis: usize| (a[axis] - b[axis]) * (a[axis] - b[axis]);
    let (mut squared, mut axis) = (square(0), 1);
    while axis < D {
        squared += square(axis);
        axis += 1;
    }
    squared
}

/// What varies between walks: what a lane wants, and what it keeps.
pub trait Visitor<T, const D: usize = 2> {
    /// Whether the nearest child is visited first, rather than the children in their order.
    const NEAREST_FIRST: bool;

    /// Whether the first [`MAX_REPEATED`](super::layout::MAX_REPEATED) points at one place suffice. Then the walk skips
    /// the leaves that `bound_points` marked as repeating a place.
    const SKIPS_REPEATED: bool;

    /// The bits of a squared distance from the group's box: no lane wants anything at this distance or beyond. The same
    /// for all lanes.
    fn reach(&self) -> u32;

    /// Whether this lane wants what a box, in the group's f32 coordinates, may hold.
    fn wants(&self, group: &Group<D>, bounds: Bounds<f32, D>) -> bool;

    /// Takes a box of some points as a whole, in the group's f32 coordinates. Returns whether no lane needs to look into it.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn take(&mut self, _: &Group<D>, _: Bounds<f32, D>, _points: u32) -> bool {
        false
    }

    /// Tests the points of a leaf, and keeps those that the lane wants.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the leaf is one of the tree.
    unsafe fn visit(&mut self, tree: &Tree<'_, T, D>, group: &Group<D>, leaf: u32);
}

/// Walks down a tree.
///
/// # Safety
/// The whole warp comes to the same call; the tree is whole, and has points.
#[inline(always)]
pub unsafe fn walk<T: Place, V: Visitor<T, D>, const D: usize>(
    tree: &Tree<'_, T, D>,
    group: &Group<D>,
    visitor: &mut V,
) {
    // The node's children are boxes of `level`. `left` is the child that the walk comes back from.
    let (mut level, mut node, mut left) = (tree.top, 0, NONE);
    // The gaps of the last node that the walk went down from. Most ways up lead back to it.
    let (mut kept, mut kept_level) = (NONE, NONE);
    // SAFETY: passed on to the caller; children are below the level's count.
    unsafe {
        while node < vector::unknown(tree.roots) || level < tree.top {
            let mut gap = kept;
            let mut bounds = [[0.0; D]; 2];
            if level != kept_level || left == NONE {
                (gap, bounds) = child_of_lane::<T, V, D>(tree, group, level, node);
                if left != NONE {
                    gap = if is_next::<T, V, D>(gap, left) { gap } else { NONE };
                }
            }
            // Visits leaves, until a node is to be entered or no child is left.
            let below = loop {
                let candidates = candidates(visitor, gap);
                if candidates == 0 {
                    break NONE;
                }
                let lane = candidates.trailing_zeros();
                // Each child is visited once.
                if warp::lane_id() == lane {
                    gap = NONE;
                }
                let child = node * FANOUT + lane;
                // Most tests are of leaves, whose boxes lie in registers.
                let of_child = match level {
                    0 => bounds
                        .map(|corner| corner.map(|along| warp::shuffle(warp::FULL, along, lane))),
                    _ => group.origin.bounds(tree.box_of(level, child)),
                };
                // The group's box may reach the child though no place does.
                if !warp::any(warp::FULL, visitor.wants(group, of_child))
                    || visitor.take(group, of_child, tree.points_of(level, child))
                {
                    continue;
                }
                if level > 0 {
                    break child;
                }
                visitor.visit(tree, group, child);
            };
            if below != NONE {
                (kept, kept_level) = (gap, level);
                (level, node, left) = (level - 1, below, NONE);
            } else if level < tree.top {
                (level, node, left) = (level + 1, node / FANOUT, node % FANOUT);
            } else {
                (node, left) = (node + 1, NONE);
            }
        }
    }
}

/// The bits of the gap of the lane's child, and its box. The gap of a child that is missing, or that the walk skips, is
/// [`NONE`], above every reach.
#[inline(always)]
fn child_of_lane<T: Place, V: Visitor<T, D>, const D: usize>(
    tree: &Tree<'_, T, D>,
    group: &Group<D>,
    level: u32,
    node: u32,
) -> (u32, Bounds<f32, D>) {
    let child = node * FANOUT + warp::lane_id();
    let is_there = child < tree.boxes_of(level);
    // Box 0 stands in for a child that is missing: every lane may load.
    let bounds = tree.box_of(level, if is_there { child } else { 0 });
    let is_hidden = V::SKIPS_REPEATED && is_repeated(bounds);
    let bounds = group.origin.bounds(bounds);
    (if is_there && !is_hidden { group.gap(bounds).to_bits() } else { NONE }, bounds)
}

/// Whether the lane's child comes after the child `left`. Children are visited by their gaps, of equal ones by their
/// lanes; or by their lanes alone.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn is_next<T, V: Visitor<T, D>, const D: usize>(gap: u32, left: u32) -> bool {
    // SAFETY: passed on to the caller.
    let of_left = unsafe { warp::shuffle(warp::FULL, gap, left) };
    let is_after = warp::lane_id() > left;
    if V::NEAREST_FIRST { gap > of_left || gap == of_left && is_after } else { is_after }
}

/// Returns the lanes whose child may come next; the caller visits the first one. None if no child is within reach.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn candidates<T, V: Visitor<T, D>, const D: usize>(visitor: &V, squared: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe {
        if !V::NEAREST_FIRST {
            return warp::ballot(warp::FULL, squared < visitor.reach());
        }
        let nearest = warp::min(squared);
        // All other children are at least as far: the node is done.
        if nearest >= visitor.reach() {
            return 0;
        }
        warp::ballot(warp::FULL, squared == nearest)
    }
}
