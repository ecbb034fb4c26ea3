//! The leaves around a leaf.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, kernel, thread};

use super::super::node::{Node, Words};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::ground::Cell;
use super::lists::Lists;
use super::walk::{Path, SharedPath, Visit, Visitor, walk};
use crate::spatial::morton;

/// Threads of a block.
pub const BLOCK: usize = 128;

/// Takes the results of a search.
pub trait Sink {
    /// Takes the next result.
    fn take(&mut self, value: u32);
}

/// A search for the leaves whose cells touch a leaf's cell.
struct Around<'a, S> {
    leaf: u32,
    deepest: u32,
    /// The leaf's columns and rows on the deepest level.
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
            self.sink.take(node.index);
        }
        true
    }
}

/// Gives the leaves whose cells share an edge with a leaf's cell, in the order of codes; with `corners` also those that
/// share only a corner. A node with children, or a number that is not a node's, has none.
///
/// # Safety
/// `nodes` are those of a tree with `count` nodes, and the path is as for [`walk`].
#[inline(always)]
pub unsafe fn visit_adjacent(
    (nodes, count): (In<Words>, u64),
    deepest: u32,
    leaf: u32,
    corners: bool,
    path: &mut impl Path,
    sink: &mut impl Sink,
) {
    if leaf as u64 >= count {
        return;
    }
    let node = Node::load(nodes, leaf as u64);
    if node.quadrants != 0 {
        return;
    }
    let (column, row) = morton::decode(node.code);
    let own = Cell { column, row, level: node.level }.span(deepest);
    // SAFETY: the nodes are a tree's, and the path has a place for each level, by the caller's promise.
    unsafe { walk(nodes, path, &mut Around { leaf, deepest, own, corners, sink }) };
}

/// Counts the results, or writes them if there is a list.
struct Listed<'a> {
    list: Out<'a, u32>,
    count: u64,
}

impl Sink for Listed<'_> {
    #[inline(always)]
    fn take(&mut self, value: u32) {
        if !self.list.is_missing() {
            self.list.set(self.count, value);
        }
        self.count += 1;
    }
}

/// Lists the leaves around each leaf of a list: see [`visit_adjacent`]. Grid: a thread for each.
///
/// # Safety
/// `nodes` are those of a tree with `node_count` nodes, `leaves` has `count` elements; the lists are as [`Lists`] says,
/// for as many searches.
#[kernel(block = BLOCK, shared = |args| args.deepest.max(1) * BLOCK as u32 * 4)]
pub unsafe fn list_adjacent(
    nodes: In<'_, Words>,
    node_count: u64,
    deepest: u32,
    corners: u32,
    leaves: In<'_, u32>,
    count: u64,
    lists: Lists<'_>,
) {
    let firsts: SharedArray<u32> = Carver::new().array(deepest.max(1) * BLOCK as u32);
    let i = thread::index_1d();
    if i >= count {
        return;
    }
    let mut path = SharedPath::new(firsts, thread::thread_idx_x(), BLOCK as u32);
    let mut listed = Listed { list: lists.of(i), count: 0 };
    let (leaf, tree) = (leaves.get(i), (nodes, node_count));
    // SAFETY: the nodes are a tree's, and the path has a place for each level.
    unsafe { visit_adjacent(tree, deepest, leaf, corners != 0, &mut path, &mut listed) };
    if listed.list.is_missing() {
        lists.counts.set(i, listed.count);
    }
}
