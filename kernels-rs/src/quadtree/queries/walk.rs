//! A walk through a tree, depth first.

use device_std::shared::SharedArray;
use device_std::{In, warp};

use super::super::node::{Node, Words};
use super::ground::Cell;
use crate::spatial::morton::MAX_LEVEL;

/// A walk's memory for each level: where the children of the present node's ancestor are, and which there are.
pub trait Path {
    /// Stores the children of the node on a level.
    ///
    /// # Safety
    /// The level is below the deepest.
    unsafe fn set(&mut self, level: u32, first_child: u32, quadrants: u32);

    /// Returns what was stored.
    ///
    /// # Safety
    /// A value was stored for this level.
    unsafe fn get(&self, level: u32) -> (u32, u32);
}

/// A path on the host.
pub struct HostPath([(u32, u32); MAX_LEVEL as usize]);

impl HostPath {
    /// An empty path.
    pub fn new() -> Self {
        Self([(0, 0); MAX_LEVEL as usize])
    }
}

impl Default for HostPath {
    fn default() -> Self {
        Self::new()
    }
}

impl Path for HostPath {
    unsafe fn set(&mut self, level: u32, first_child: u32, quadrants: u32) {
        self.0[level as usize] = (first_child, quadrants);
    }

    unsafe fn get(&self, level: u32) -> (u32, u32) {
        self.0[level as usize]
    }
}

/// A path of a thread in shared memory; the quadrants, of 4 bits, are in registers.
pub struct SharedPath {
    firsts: SharedArray<u32>,
    /// The offset of the first element.
    offset: u32,
    /// The distance from one level's element to the next.
    step: u32,
    quadrants: [u64; 2],
}

impl SharedPath {
    /// Path `number` of `paths` in an array that has `paths` elements for each level.
    #[inline(always)]
    pub fn new(firsts: SharedArray<u32>, number: u32, paths: u32) -> Self {
        Self { firsts, offset: number, step: paths, quadrants: [0; 2] }
    }
}

impl Path for SharedPath {
    #[inline(always)]
    unsafe fn set(&mut self, level: u32, first_child: u32, quadrants: u32) {
        // SAFETY: the level is below the deepest, by the caller's promise; the path is the thread's own.
        unsafe { self.firsts.store(self.offset + level * self.step, first_child) };
        let shift = 4 * (level & 15);
        let [shallow, deep] = &mut self.quadrants;
        let word = if level < 16 { shallow } else { deep };
        *word = *word & !(15 << shift) | (quadrants as u64) << shift;
    }

    #[inline(always)]
    unsafe fn get(&self, level: u32) -> (u32, u32) {
        let word = if level < 16 { self.quadrants[0] } else { self.quadrants[1] };
        // SAFETY: as for `set`.
        let first = unsafe { self.firsts.load(self.offset + level * self.step) };
        (first, (word >> (4 * (level & 15))) as u32 & 15)
    }
}

/// A path of a warp whose lanes walk together, in registers: each lane keeps one level.
pub struct WarpPath {
    first_child: u32,
    quadrants: u32,
}

impl WarpPath {
    /// An empty path.
    #[inline(always)]
    pub fn new() -> Self {
        Self { first_child: 0, quadrants: 0 }
    }
}

impl Default for WarpPath {
    fn default() -> Self {
        Self::new()
    }
}

impl Path for WarpPath {
    #[inline(always)]
    unsafe fn set(&mut self, level: u32, first_child: u32, quadrants: u32) {
        if warp::lane_id() == level {
            *self = Self { first_child, quadrants };
        }
    }

    #[inline(always)]
    unsafe fn get(&self, level: u32) -> (u32, u32) {
        // SAFETY: the whole warp walks together, and levels are below 32.
        unsafe {
            (
                warp::shuffle(warp::FULL, self.first_child, level),
                warp::shuffle(warp::FULL, self.quadrants, level),
            )
        }
    }
}

/// A node that the walk visits.
pub struct Visit {
    /// Its index among the nodes.
    pub index: u32,
    /// Its cell.
    pub cell: Cell,
    /// The first of its points.
    pub start: u64,
    /// The number of its points.
    pub count: u64,
    /// Whether it has no children.
    pub is_leaf: bool,
}

/// A search that walks through a tree.
pub trait Visitor {
    /// Whether a cell may have results.
    fn wants(&self, cell: Cell) -> bool;

    /// Visits a node. Returns whether to visit its children, if it has any.
    ///
    /// # Safety
    /// The node is one of the tree whose points the visitor has.
    unsafe fn visit(&mut self, node: &Visit) -> bool;

    /// Which quadrant of a cell comes first; exclusive or with 1, 2 and 3 gives the quadrants after it.
    fn first_quadrant(&self, _: Cell) -> u32 {
        0
    }
}

/// Walks through the tree whose root is `nodes[0]`.
///
/// # Safety
/// `nodes` are those of a tree, at least one, and the path has a place for each level with children.
#[inline(always)]
pub unsafe fn walk(nodes: In<Words>, path: &mut impl Path, visitor: &mut impl Visitor) {
    let (mut cell, mut index) = (Cell::ROOT, 0u32);
    if !visitor.wants(cell) {
        return;
    }
    // SAFETY: the nodes are a tree's; every level of the path was stored when its node was visited.
    unsafe {
        loop {
            let (node, first_child) = Node::load_with_child(nodes, index as u64);
            let is_leaf = node.quadrants == 0;
            let visit = Visit { index, cell, start: node.start, count: node.count, is_leaf };
            let mut rank = 0;
            if visitor.visit(&visit) && !is_leaf {
                path.set(cell.level, first_child, node.quadrants);
            } else if !up(&mut cell, &mut rank, visitor) {
                return;
            }
            // The next child of this node's parent, or of the nearest ancestor that has one.
            loop {
                let (first_child, quadrants) = path.get(cell.level);
                let first = visitor.first_quadrant(cell);
                while rank < 4 {
                    let quadrant = rank ^ first;
                    if quadrants >> quadrant & 1 == 1 && visitor.wants(cell.child(quadrant)) {
                        break;
                    }
                    rank += 1;
                }
                if rank < 4 {
                    let quadrant = rank ^ first;
                    let before = quadrants & ((1 << quadrant) - 1);
                    index = first_child + before.count_ones();
                    cell = cell.child(quadrant);
                    break;
                }
                if !up(&mut cell, &mut rank, visitor) {
                    return;
                }
            }
        }
    }
}

/// Moves to the parent; `rank` becomes that of the next child. Returns false at the root.
#[inline(always)]
fn up(cell: &mut Cell, rank: &mut u32, visitor: &impl Visitor) -> bool {
    if cell.level == 0 {
        return false;
    }
    let quadrant = cell.quadrant();
    *cell = cell.parent();
    *rank = (quadrant ^ visitor.first_quadrant(*cell)) + 1;
    true
}

/// The threads that visit a node together: the lanes of a warp, or one alone.
pub trait Team {
    /// How many threads.
    const SIZE: u32;

    /// Which of them this thread is.
    fn lane(&self) -> u32;

    /// Whether the condition holds in any thread.
    ///
    /// # Safety
    /// The whole team comes here.
    unsafe fn any(&self, condition: bool) -> bool;

    /// In how many lower threads the condition holds, and in how many of all.
    ///
    /// # Safety
    /// The whole team comes here.
    unsafe fn count(&self, condition: bool) -> (u32, u32);
}

/// A single thread.
pub struct Alone;

impl Team for Alone {
    const SIZE: u32 = 1;

    #[inline(always)]
    fn lane(&self) -> u32 {
        0
    }

    #[inline(always)]
    unsafe fn any(&self, condition: bool) -> bool {
        condition
    }

    #[inline(always)]
    unsafe fn count(&self, condition: bool) -> (u32, u32) {
        (0, condition as u32)
    }
}

/// The lanes of a warp.
pub struct Warp;

impl Team for Warp {
    const SIZE: u32 = 32;

    #[inline(always)]
    fn lane(&self) -> u32 {
        warp::lane_id()
    }

    #[inline(always)]
    unsafe fn any(&self, condition: bool) -> bool {
        // SAFETY: the whole warp is here, by the caller's promise.
        unsafe { warp::any(warp::FULL, condition) }
    }

    #[inline(always)]
    unsafe fn count(&self, condition: bool) -> (u32, u32) {
        // SAFETY: the whole warp is here, by the caller's promise.
        let lanes = unsafe { warp::ballot(warp::FULL, condition) };
        ((lanes & warp::lanes_below()).count_ones(), lanes.count_ones())
    }
}
