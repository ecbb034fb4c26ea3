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

/// The most points of a leaf that [`order_leaves`] can order.
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
#[kernel(named, block = BLOCK)]
pub unsafe fn order_small_leaves(
    nodes: *const u64,
    node_count: *const u64,
    max_level: u32,
    indices: *mut u32,
) {
    let lane = warp::lane_id();
    // SAFETY: the caller's arrays are as said; a warp's lanes take the same way.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * (BLOCK as u64 / 32), *node_count);
        let mut index = thread::index_1d() / 32;
        while index < count {
            let node = Node::load(nodes, index);
            if is_to_order(&node, max_level) {
                let mine = indices.add((node.start + lane as u64) as usize);
                let has = (lane as u64) < node.count;
                let value = if has { *mine } else { u32::MAX };
                let value = sorted(value, lane);
                if has {
                    *mine = value;
                }
            }
            index += step;
        }
    }
}

/// The values of a warp's lanes in order (Batcher 1968, doi:10.1145/1468075.1468121).
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn sorted(mut value: u32, lane: u32) -> u32 {
    let mut size = 2;
    while size <= 32 {
        let mut distance = size / 2;
        while distance > 0 {
            // SAFETY: passed on to the caller.
            let other = unsafe { warp::shuffle(warp::FULL, value, lane ^ distance) };
            let is_lower = lane & distance == 0;
            let rises = lane & size == 0;
            value = if is_lower == rises { value.min(other) } else { value.max(other) };
            distance /= 2;
        }
        size *= 2;
    }
    value
}

/// Bytes of shared memory for leaves of at most `room` points, a power of two.
const fn shared_bytes(room: u32) -> u32 {
    room * size_of::<u32>() as u32
}

/// Orders the leaves of at most `room` points, a power of two up to [`MOST_SHARED`], a block each. Grid: any
/// number of blocks.
///
/// # Safety
/// As for [`order_small_leaves`], with `room` in place of 32.
#[kernel(named, block = BLOCK, shared = |args| shared_bytes(args.room))]
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

/// Sorts `len` values in shared memory, a power of two, as [`sorted`] does.
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

/// Notes at each point, by its index as given, where its leaf's points start, for leaves too large for shared
/// memory: a stable sort by it puts the points in order. Grid: any number of blocks.
///
/// # Safety
/// `nodes` are those of a tree over `indices`, which are below the length of `leaf_starts`.
#[kernel(named, block = BLOCK)]
pub unsafe fn mark_leaves(
    nodes: *const u64,
    node_count: *const u64,
    indices: *const u32,
    leaf_starts: *mut u32,
) {
    // SAFETY: every point lies in one leaf.
    unsafe {
        let count = *node_count;
        let mut index = thread::block_idx_x() as u64;
        while index < count {
            let node = Node::load(nodes, index);
            let mut i = thread::thread_idx_x() as u64;
            while node.quadrants == 0 && i < node.count {
                let given = *indices.add((node.start + i) as usize);
                *leaf_starts.add(given as usize) = node.start as u32;
                i += BLOCK as u64;
            }
            index += thread::grid_dim_x() as u64;
        }
    }
}
