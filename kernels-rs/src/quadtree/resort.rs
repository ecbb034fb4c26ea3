//! Takes out the points of nodes that a round of sorting left above the threshold, for the next round, and puts them
//! back.
//!
//! The nodes of a level lie in the order of codes, and so do their points. The points of the nodes above the threshold
//! are moved together, and sorted by more bits of their codes. Each node's codes lie between its neighbours' codes, so
//! its points come back to its own places.

use device_std::{In, Out, arguments, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Code;
use super::node::{Node, Words};
use super::rule::Rule;

/// Threads of a block.
const BLOCK: usize = 256;

/// The nodes of a level, which follow each other.
#[arguments]
pub struct Level<'a> {
    /// All nodes.
    pub nodes: In<'a, Words>,
    /// The first of the level.
    pub first: u64,
    /// How many it has.
    pub count: u64,
}

/// Points whose codes and indices are moved; the two pairs of arrays do not overlap.
#[arguments]
pub struct Moved<'a, K> {
    /// The codes.
    pub codes: In<'a, K>,
    /// As many.
    pub indices: In<'a, u32>,
    /// Where the codes go.
    pub to_codes: Out<'a, K>,
    /// As many.
    pub to_indices: Out<'a, u32>,
}

impl<K: Code> Moved<'_, K> {
    /// Moves a point, whose code is known.
    #[inline(always)]
    pub(super) fn put(&self, code: K, from: u64, to: u64) {
        self.to_codes.set(to, code);
        self.to_indices.set(to, self.indices.get(from));
    }
}

/// Writes the number of points of each node of a level, 0 for nodes that are not divided. Grid: a thread for each.
///
/// # Safety
/// The nodes are there, and `counts` has an element for each of the level.
#[kernel(block = BLOCK)]
pub unsafe fn count_unsettled(level: Level<'_>, rule: Rule, counts: Out<'_, u32>) {
    let i = thread::index_1d();
    if i < level.count {
        let node = Node::load(level.nodes, level.first + i);
        let Rule { threshold, cut } = rule;
        let is_divided = node.count > threshold || cut.divides(node.code, node.level);
        counts.set(i, if is_divided { node.count as u32 } else { 0 });
    }
}

/// Takes out the points that [`count_unsettled`](const@count_unsettled) counted, side by side, and writes to `places`
/// where they were. `offsets` has the sum of the counts before each node. Grid: a thread for each of the `total`
/// points.
///
/// # Safety
/// The nodes are those of a tree over the points. `offsets` has an element for each node of the level; the first is 0.
/// `places` and the outputs have `total` elements.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn take_unsettled<K: Code>(
    level: Level<'_>,
    offsets: In<'_, u32>,
    total: u64,
    places: Out<'_, u32>,
    points: Moved<'_, K>,
) {
    let i = thread::index_1d();
    if i >= total {
        return;
    }
    // The last node whose offset is not above a point's number has the point, since nodes without points have the
    // offset of the node after.
    let (mut node, mut length) = (0, level.count);
    while length > 1 {
        let half = length / 2;
        let is_past = offsets.get(node + half) as u64 <= i;
        node += if is_past { half } else { 0 };
        length -= half;
    }
    let within = i - offsets.get(node) as u64;
    let place = Node::load(level.nodes, level.first + node).start + within;
    places.set(i, place as u32);
    points.put(points.codes.get(place), place, i);
}

/// Puts codes and indices back to their places. Grid: a thread for each of the `total` points.
///
/// # Safety
/// There are `total` places, codes and indices; the places are distinct, and below the length of `to_codes` and
/// `to_indices`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn put_back<K: Code>(places: In<'_, u32>, total: u64, points: Moved<'_, K>) {
    let i = thread::index_1d();
    if i < total {
        points.put(points.codes.get(i), i, places.get(i) as u64);
    }
}
