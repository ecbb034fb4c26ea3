//! The points of nodes that a round of sorting left above the threshold, taken out for the next one and put back.
//!
//! The nodes of a level stand in the order of codes, and so do their points. Those of the nodes above the threshold,
//! moved together, are sorted by more bits of their codes; since each node's codes lie between those of its
//! neighbours, the points of each come back to its own places.

use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Code;
use super::cut::Cut;
use super::node::Node;

/// Threads of a block.
const BLOCK: usize = 256;

/// The points of each of `count` nodes from `first` on, 0 for those that are not divided: within the threshold, and
/// not above a cell of the [`Cut`]. Grid: a thread for each.
///
/// # Safety
/// The nodes are there, and `counts` has `count` elements.
#[kernel(block = BLOCK)]
pub unsafe fn count_unsettled(
    nodes: *const u64,
    first: u64,
    count: u64,
    threshold: u64,
    cut_codes: [u64; 2],
    cut_levels: [u32; 2],
    counts: *mut u32,
) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: guarded.
        unsafe {
            let node = Node::load(nodes, first + i);
            let cut = Cut::new(cut_codes, cut_levels);
            let is_divided = node.count > threshold || cut.divides(node.code, node.level);
            *counts.add(i as usize) = if is_divided { node.count as u32 } else { 0 };
        }
    }
}

/// The points counted by [`count_unsettled`](const@count_unsettled), whose sums before each node are `offsets`: where they stand
/// into `places`, their codes and indices side by side. Grid: a thread for each of the `total` points.
///
/// # Safety
/// The nodes are those of a tree over `codes` and `indices`; `offsets` has `count` elements, the first of which is
/// 0, and the other arrays have `total`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn take_unsettled<K: Code>(
    nodes: *const u64,
    first: u64,
    count: u64,
    offsets: *const u32,
    total: u64,
    codes: *const K,
    indices: *const u32,
    places: *mut u32,
    to_codes: *mut K,
    to_indices: *mut u32,
) {
    let i = thread::index_1d();
    if i >= total {
        return;
    }
    // SAFETY: guarded; the last node whose offset is not above a point's number is the one that has it, since
    // those without points have the offset of the node after.
    unsafe {
        let (mut node, mut length) = (0, count);
        while length > 1 {
            let half = length / 2;
            let is_past = *offsets.add((node + half) as usize) as u64 <= i;
            node += if is_past { half } else { 0 };
            length -= half;
        }
        let within = i - *offsets.add(node as usize) as u64;
        let place = (Node::load(nodes, first + node).start + within) as usize;
        *places.add(i as usize) = place as u32;
        *to_codes.add(i as usize) = *codes.add(place);
        *to_indices.add(i as usize) = *indices.add(place);
    }
}

/// Codes and indices back to their places. Grid: a thread for each of the `total` points.
///
/// # Safety
/// `places` are distinct, and below the length of `to_codes` and `to_indices`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn put_back<K: Code>(
    places: *const u32,
    total: u64,
    codes: *const K,
    indices: *const u32,
    to_codes: *mut K,
    to_indices: *mut u32,
) {
    let i = thread::index_1d() as usize;
    if (i as u64) < total {
        // SAFETY: guarded; each place is one thread's.
        unsafe {
            let place = *places.add(i) as usize;
            *to_codes.add(place) = *codes.add(i);
            *to_indices.add(place) = *indices.add(i);
        }
    }
}
