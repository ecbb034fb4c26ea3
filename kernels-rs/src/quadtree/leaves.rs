//! The points of leaves, back into the order in which they were given.
//!
//! Leaves of the deepest level are so already: their codes are equal, and the sort is stable.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::node::Node;

/// Threads of a block.
const BLOCK: usize = 256;

/// Warps of a block.
const WARPS: u64 = BLOCK as u64 / 32;

/// The most points of a leaf that [`order_leaves`](const@order_leaves) can order.
pub const MOST_SHARED: u32 = 4096;

/// Whether a node's points are to be ordered: those of a leaf above the deepest level, of which there is
/// more than one.
#[inline(always)]
fn is_to_order(node: &Node, max_level: u32) -> bool {
    node.quadrants == 0 && node.count > 1 && node.level < max_level
}

/// Orders the leaves of at most 32 points, a warp each. Grid: any number of blocks.
///
/// # Safety
/// `nodes` are those of a tree over `indices`; `node_count` points to their number. No leaf above the
/// deepest level has more than 32 points.
#[kernel(block = BLOCK)]
pub unsafe fn order_small_leaves(
    nodes: *const u64,
    node_count: *const u64,
    max_level: u32,
    indices: *mut u32,
) {
    let lane = warp::lane_id();
    // SAFETY: the caller's arrays are as said; a warp's lanes take the same way.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * WARPS, *node_count);
        let mut index = thread::index_1d() / 32;
        while index < count {
            let node = Node::load(nodes, index);
            if is_to_order(&node, max_level) {
                let mine = indices.add((node.start + lane as u64) as usize);
                let has = (lane as u64) < node.count;
                let value = if has { *mine } else { 0 };
                let place = rank_among(value, node.count as u32);
                if has {
                    *indices.add((node.start + place as u64) as usize) = value;
                }
            }
            index += step;
        }
    }
}

/// How many of the first `count` lanes have a smaller value. (A leaf has some ten points, so this takes fewer
/// steps than a sorting network over the whole warp.)
///
/// # Safety
/// The whole warp comes here, with one count.
#[inline(always)]
unsafe fn rank_among(value: u32, count: u32) -> u32 {
    let (mut rank, mut lane) = (0, 0);
    while lane < count {
        // SAFETY: passed on to the caller.
        rank += (unsafe { warp::shuffle(warp::FULL, value, lane) } < value) as u32;
        lane += 1;
    }
    rank
}

/// Bytes of shared memory for leaves of at most `room` points, a power of two.
const fn shared_bytes(room: u32) -> u32 {
    room * size_of::<u32>() as u32
}

/// Orders the leaves of at most `room` points, a power of two up to [`MOST_SHARED`], a block each. Grid: any
/// number of blocks.
///
/// # Safety
/// As for [`order_small_leaves`](const@order_small_leaves), with `room` in place of 32.
#[kernel(block = BLOCK, shared = |args| shared_bytes(args.room))]
pub unsafe fn order_leaves(
    nodes: *const u64,
    node_count: *const u64,
    max_level: u32,
    room: u32,
    indices: *mut u32,
) {
    let shared: SharedArray<u32> = Carver::new().array(room);
    let me = thread::thread_idx_x();
    // SAFETY: the caller's arrays are as said; all conditions that hold a barrier are the block's own.
    unsafe {
        let count = *node_count;
        let mut index = thread::block_idx_x() as u64;
        while index < count {
            let node = Node::load(nodes, index);
            if is_to_order(&node, max_level) {
                let points = node.count as u32;
                let room = points.next_power_of_two();
                let first = indices.add(node.start as usize);
                let mut i = me;
                while i < room {
                    shared.store(i, if i < points { *first.add(i as usize) } else { u32::MAX });
                    i += BLOCK as u32;
                }
                thread::sync_threads();
                sort_shared(shared, room, me);
                let mut i = me;
                while i < points {
                    *first.add(i as usize) = shared.load(i);
                    i += BLOCK as u32;
                }
                thread::sync_threads();
            }
            index += thread::grid_dim_x() as u64;
        }
    }
}

/// Sorts `len` values in shared memory, a power of two (Batcher 1968, doi:10.1145/1468075.1468121).
///
/// # Safety
/// The whole block comes here.
#[inline(always)]
unsafe fn sort_shared(values: SharedArray<u32>, len: u32, me: u32) {
    let mut size = 2;
    while size <= len {
        let mut distance = size / 2;
        while distance > 0 {
            let mut pair = me;
            while pair < len / 2 {
                let low = 2 * pair - (pair & (distance - 1));
                let high = low + distance;
                // SAFETY: each pair belongs to one thread, and the barrier ends the round.
                unsafe {
                    let (a, b) = (values.load(low), values.load(high));
                    if (a > b) == (low & size == 0) {
                        values.store(low, b);
                        values.store(high, a);
                    }
                }
                pair += BLOCK as u32;
            }
            // SAFETY: the whole block is here.
            unsafe { thread::sync_threads() };
            distance /= 2;
        }
        size *= 2;
    }
}

/// Notes at each point, in the order of the tree, where its leaf's points start, for leaves too large for shared
/// memory. Grid: any number of blocks.
///
/// # Safety
/// `nodes` are those of a tree over as many points as `leaf_starts` has elements.
#[kernel(block = BLOCK)]
pub unsafe fn mark_leaves(nodes: *const u64, node_count: *const u64, leaf_starts: *mut u32) {
    // SAFETY: every point lies in one leaf.
    unsafe {
        let count = *node_count;
        let mut index = thread::block_idx_x() as u64;
        while index < count {
            let node = Node::load(nodes, index);
            let mut i = thread::thread_idx_x() as u64;
            while node.quadrants == 0 && i < node.count {
                *leaf_starts.add((node.start + i) as usize) = node.start as u32;
                i += BLOCK as u64;
            }
            index += thread::grid_dim_x() as u64;
        }
    }
}

/// The points' indices of all leaves from the array that holds those of their level, of which those of even
/// and odd levels are in turn. Grid: any number of blocks; a warp for each leaf.
///
/// # Safety
/// `nodes` are those of a tree over as many points as the three arrays of indices have.
#[kernel(block = BLOCK)]
pub unsafe fn collect_leaves(
    nodes: *const u64,
    node_count: *const u64,
    even: *const u32,
    odd: *const u32,
    indices: *mut u32,
) {
    let lane = warp::lane_id() as u64;
    // SAFETY: every point lies in one leaf.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * WARPS, *node_count);
        let mut index = thread::index_1d() / 32;
        while index < count {
            let node = Node::load(nodes, index);
            let from = if node.level & 1 == 0 { even } else { odd };
            let mut i = lane;
            while node.quadrants == 0 && i < node.count {
                let place = (node.start + i) as usize;
                *indices.add(place) = *from.add(place);
                i += 32;
            }
            index += step;
        }
    }
}
