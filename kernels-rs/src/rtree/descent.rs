//! The walk of a warp down the tree, for the places of its lanes: a depth-first visit, the nearest box first.
//!
//! ```text
//! descend(node):
//!     each lane: gap of its child's box to the box around all 32 places, as bits
//!     loop:
//!         next = the child with the least gap
//!         return if gap(next) >= reach          reach shrinks while lists fill
//!         if any lane wants the child's box for its own place: descend(next), or visit the leaf
//! ```
//!
//! Squares of f32 are compared by their bits, which have the order of the numbers if these are not negative. A warp
//! reduces integers in one instruction.

use core::marker::PhantomData;

use device_std::{In, arguments, vector, warp};

use super::group::Group;
use super::layout::{FANOUT, MAX_LEVELS, is_repeated};
use crate::spatial::place::Place;

/// A tree as kernels take it.
#[arguments]
pub struct Tree<'a, T> {
    /// x of the points, in the order of the tree.
    pub x: In<'a, T>,
    /// y of the points.
    pub y: In<'a, T>,
    /// Their indices as given.
    pub order: In<'a, u32>,
    /// The number of points.
    pub points: u32,
    /// The boxes: see [`Layout`](super::layout::Layout).
    pub boxes: In<'a, [T; 4]>,
    /// Boxes of each level.
    pub counts: [u32; MAX_LEVELS],
    /// The first box of each level.
    pub starts: [u32; MAX_LEVELS],
    /// The level of the root's children.
    pub top: u32,
    /// Groups of 32 boxes of that level.
    pub roots: u32,
    /// The bounds of the points.
    pub extent: [f64; 4],
}

impl<T: Place> Tree<'_, T> {
    /// The lane's point of a leaf, relative to the group's origin, and whether there is one.
    #[inline(always)]
    pub fn point(&self, group: &Group, leaf: u32) -> (bool, f32, f32) {
        let i = leaf * FANOUT + warp::lane_id();
        if i >= self.points {
            return (false, 0.0, 0.0);
        }
        let [x, y] = [self.x.get(i), self.y.get(i)].map(Place::widened);
        (true, group.origin.x(x), group.origin.y(y))
    }

    /// Calls `see` for each point of a leaf within reach of the group: with its position, x and y relative to the group's
    /// origin. All lanes get the same points in the same order.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the leaf is one of the tree.
    #[inline(always)]
    pub unsafe fn each_near(
        &self,
        group: &Group,
        leaf: u32,
        reach: u32,
        mut see: impl FnMut(u32, f32, f32),
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (is_there, x, y) = self.point(group, leaf);
            // A point is a box without extent: tested once for the group, before 32 lanes measure it.
            let is_near = is_there && group.gap([x, y, x, y]).to_bits() < reach;
            let mut near = warp::ballot(warp::FULL, is_near);
            while near != 0 {
                let lane = near.trailing_zeros();
                near &= near - 1;
                let [x, y] = [x, y].map(|along| warp::shuffle(warp::FULL, along, lane));
                see(leaf * FANOUT + lane, x, y);
            }
        }
    }

    /// The square of the distance of a point from a place, in f64, and the point's index. Results are in the order of
    /// these pairs.
    #[inline(always)]
    pub fn exact(&self, point: u32, place: [f64; 2]) -> (f64, u32) {
        (self.squared(point, place), self.order.get(point))
    }

    /// The square of the distance of a point from a place, in f64.
    #[inline(always)]
    pub fn squared(&self, point: u32, [x, y]: [f64; 2]) -> f64 {
        let dx = self.x.get(point).widened() - x;
        let dy = self.y.get(point).widened() - y;
        dx * dx + dy * dy
    }

    /// The number of boxes of a level.
    #[inline(always)]
    pub fn boxes_of(&self, level: u32) -> u32 {
        self.of_level(self.counts, level)
    }

    /// A box of a level.
    #[inline(always)]
    pub fn box_of(&self, level: u32, of: u32) -> [T; 4] {
        // SAFETY: the address is that of a box, which nobody writes while kernels search.
        unsafe { T::load_box(self.boxes.address(self.of_level(self.starts, level) + of, 1)) }
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

    /// A box of a level.
    #[inline(always)]
    fn bounds<const LEVEL: usize>(&self, of: u32) -> [T; 4] {
        // SAFETY: the address is that of a box, which nobody writes while kernels search.
        unsafe { T::load_box(self.boxes.address(self.starts[LEVEL] + of, 1)) }
    }
}

/// What varies between walks: what a lane wants, and what it keeps.
pub trait Visitor<T> {
    /// Whether the nearest child is visited first, rather than the children in their order.
    const NEAREST_FIRST: bool;

    /// Whether the first [`MAX_REPEATED`](super::layout::MAX_REPEATED) points at one place suffice. Then the walk skips
    /// the leaves that `bound_points` marked as repeating a place.
    const SKIPS_REPEATED: bool;

    /// The bits of a squared distance from the group's box: no lane wants anything at this distance or beyond. The same
    /// for all lanes.
    fn reach(&self) -> u32;

    /// Whether this lane wants what a box, in the group's f32 coordinates, may hold.
    fn wants(&self, group: &Group, bounds: [f32; 4]) -> bool;

    /// Tests the points of a leaf, and keeps those that the lane wants.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the leaf is one of the tree.
    unsafe fn visit(&mut self, tree: &Tree<'_, T>, group: &Group, leaf: u32);
}

/// Walks down a tree.
///
/// # Safety
/// The whole warp comes to the same call; the tree is whole, and has points.
#[inline(always)]
pub unsafe fn walk<T: Place, V: Visitor<T>>(tree: &Tree<'_, T>, group: &Group, visitor: &mut V) {
    let mut node = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        while node < vector::unknown(tree.roots) {
            Root::descend(tree, group, node, visitor);
            node += 1;
        }
    }
}

/// A type for each level, so that the compiler nests the loops of all levels and keeps their boxes in registers. A stack
/// with an index would lie in local memory.
type Root = Level<4, Level<3, Level<2, Level<1, Level<0, Leaves>>>>>;

trait Descend {
    /// Visits a node of the level above.
    ///
    /// # Safety
    /// As [`walk`]; the node is one of the tree.
    unsafe fn descend<T: Place, V: Visitor<T>>(
        tree: &Tree<'_, T>,
        group: &Group,
        node: u32,
        visitor: &mut V,
    );
}

struct Leaves;

impl Descend for Leaves {
    #[inline(always)]
    unsafe fn descend<T: Place, V: Visitor<T>>(
        tree: &Tree<'_, T>,
        group: &Group,
        leaf: u32,
        visitor: &mut V,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { visitor.visit(tree, group, leaf) }
    }
}

struct Level<const LEVEL: usize, Below>(PhantomData<Below>);

impl<const LEVEL: usize, Below: Descend> Descend for Level<LEVEL, Below> {
    #[inline(always)]
    unsafe fn descend<T: Place, V: Visitor<T>>(
        tree: &Tree<'_, T>,
        group: &Group,
        node: u32,
        visitor: &mut V,
    ) {
        // SAFETY: passed on to the caller; children are below the level's count.
        unsafe {
            // A low tree starts below this level: pass the node on. One call below serves both cases; a call in each
            // branch would double the code with every level.
            let is_above = LEVEL as u32 > tree.top;
            let child = if is_above { 0 } else { node * FANOUT + warp::lane_id() };
            let is_there = child < tree.counts[LEVEL];
            // Box 0 stands in for a child that is missing: every lane may load.
            let bounds = tree.bounds::<LEVEL>(if is_there { child } else { 0 });
            let is_hidden = V::SKIPS_REPEATED && is_repeated(bounds);
            let bounds = group.origin.bounds(bounds);
            // The greatest number is above every reach: such a child is never visited.
            let mut squared =
                if is_there && !is_hidden { group.gap(bounds).to_bits() } else { u32::MAX };
            loop {
                let mut child = node;
                let mut wants = true;
                if !is_above {
                    let candidates = candidates(visitor, squared);
                    if candidates == 0 {
                        return;
                    }
                    let lane = candidates.trailing_zeros();
                    // Each child is visited once.
                    if warp::lane_id() == lane {
                        squared = u32::MAX;
                    }
                    child = node * FANOUT + lane;
                    // The boxes of leaves stay in registers, since most visits are to leaves. Boxes of higher levels are
                    // loaded again, to save registers.
                    let of_child = match LEVEL {
                        0 => bounds.map(|side| warp::shuffle(warp::FULL, side, lane)),
                        _ => group.origin.bounds(tree.bounds::<LEVEL>(child)),
                    };
                    // The group's box may reach the child though no place does.
                    wants = warp::any(warp::FULL, visitor.wants(group, of_child));
                }
                if wants {
                    Below::descend(tree, group, child, visitor);
                }
                if is_above {
                    return;
                }
            }
        }
    }
}

/// Returns the lanes whose child may come next; the caller visits the first one. None if no child is within reach.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn candidates<T, V: Visitor<T>>(visitor: &V, squared: u32) -> u32 {
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
