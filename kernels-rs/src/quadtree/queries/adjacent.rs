//! The leaves around a leaf.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread};

use super::super::node::Node;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::ground::Cell;
use super::walk::{Path, SharedPath, Visit, Visitor, walk};
use crate::spatial::morton;

/// Threads of a block.
pub const BLOCK: usize = 128;

/// Whoever takes what is found.
pub trait Sink {
    /// Takes the next.
    ///
    /// # Safety
    /// There is room.
    unsafe fn take(&mut self, value: u32);
}

/// Looks for the leaves whose cells touch one.
struct Around<'a, S> {
    leaf: u32,
    deepest: u32,
    /// The leaf's columns and rows of the deepest level.
    own: [u32; 4],
    corners: bool,
    sink: &'a mut S,
}

impl<S: Sink> Visitor for Around<'_, S> {
    #[inline(always)]
    fn wants(&self, cell: Cell) -> bool {
        let [west, south, east, north] = cell.span(self.deepest);
        let [own_west, own_south, own_east, own_north] = self.own;
        // Columns are below 2^31, so one more fits.
        let columns_touch = west <= own_east + 1 && own_west <= east + 1;
        let rows_touch = south <= own_north + 1 && own_south <= north + 1;
        let columns_meet = west <= own_east && own_west <= east;
        let rows_meet = south <= own_north && own_south <= north;
        columns_touch && rows_touch && (self.corners || columns_meet || rows_meet)
    }

    #[inline(always)]
    unsafe fn visit(&mut self, node: &Visit) -> bool {
        if node.is_leaf && node.index != self.leaf {
            // SAFETY: passed on to the caller.
            unsafe { self.sink.take(node.index) };
        }
        true
    }
}

/// Gives the leaves whose cells share an edge, or with `corners` also only a corner, with a leaf's, in the order
/// of codes. Of a node with children, or none at all, there are none.
///
/// # Safety
/// `nodes` are those of a tree with `count` nodes, and the path is as for [`walk`].
#[inline(always)]
pub unsafe fn visit_adjacent(
    (nodes, count): (*const u64, u64),
    deepest: u32,
    leaf: u32,
    corners: bool,
    path: &mut impl Path,
    sink: &mut impl Sink,
) {
    if leaf as u64 >= count {
        return;
    }
    // SAFETY: the leaf is a node; the rest is passed on to the caller.
    unsafe {
        let node = Node::load(nodes, leaf as u64);
        if node.quadrants != 0 {
            return;
        }
        let (column, row) = morton::decode(node.code);
        let own = Cell { column, row, level: node.level }.span(deepest);
        walk(nodes, path, &mut Around { leaf, deepest, own, corners, sink });
    }
}

/// Counts, or writes where there is room.
struct Listed {
    list: *mut u32,
    count: u64,
}

impl Sink for Listed {
    #[inline(always)]
    unsafe fn take(&mut self, value: u32) {
        if !self.list.is_null() {
            // SAFETY: the caller has room for as many as were counted.
            unsafe { *self.list.add(self.count as usize) = value };
        }
        self.count += 1;
    }
}

/// The leaves around each leaf of a list: see [`visit_adjacent`]. Without `list` their number goes into `counts`;
/// else they go there, from `offsets` on. Grid: a thread for each.
///
/// # Safety
/// `nodes` are those of a tree with `node_count` nodes, `leaves` has `count` elements, and so has `counts`, or
/// `offsets`; `list` has room for what was counted.
#[kernel(block = BLOCK, shared = |args| args.deepest.max(1) * BLOCK as u32 * 4)]
pub unsafe fn list_adjacent(
    nodes: *const u64,
    node_count: u64,
    deepest: u32,
    corners: u32,
    leaves: *const u32,
    count: u64,
    counts: *mut u64,
    offsets: *const u64,
    list: *mut u32,
) {
    let firsts: SharedArray<u32> = Carver::new().array(deepest.max(1) * BLOCK as u32);
    let i = thread::index_1d() as usize;
    if i as u64 >= count {
        return;
    }
    let mut path = SharedPath::new(firsts, thread::thread_idx_x(), BLOCK as u32);
    // SAFETY: guarded; the rest is the caller's.
    unsafe {
        let list = if list.is_null() { list } else { list.add(*offsets.add(i) as usize) };
        let mut listed = Listed { list, count: 0 };
        let leaf = *leaves.add(i);
        let tree = (nodes, node_count);
        visit_adjacent(tree, deepest, leaf, corners != 0, &mut path, &mut listed);
        if list.is_null() {
            *counts.add(i) = listed.count;
        }
    }
}
