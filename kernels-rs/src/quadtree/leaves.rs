//! The points of leaves, back into the order in which they were given.
//!
//! Leaves of the last level that was sorted are so already: as far as the sort looked their codes are equal, and it is
//! stable.

use device_std::block::BlockScan;
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

/// Whether a node's points are to be ordered: those of a leaf of several points. Leaves of a level that a round of
/// sorting ended at are in order already; `in_order` has a bit for each such level.
#[inline(always)]
fn is_to_order(node: &Node, in_order: u32) -> bool {
    node.quadrants == 0 && node.count > 1 && in_order >> node.level & 1 == 0
}

/// Orders the leaves of at most 32 points. A warp looks at 32 nodes, and orders the leaves among them one after
/// the other. Grid: any number of blocks.
///
/// # Safety
/// `nodes` are those of a tree over `indices`; `node_count` points to their number. No leaf of a level without a
/// bit in `in_order` has more than 32 points.
#[kernel(block = BLOCK)]
pub unsafe fn order_small_leaves(
    nodes: *const u64,
    node_count: *const u64,
    in_order: u32,
    indices: *mut u32,
) {
    let lane = warp::lane_id();
    // SAFETY: the caller's arrays are as said; a warp's lanes take the same way.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * BLOCK as u64, *node_count);
        let mut first = thread::index_1d() - lane as u64;
        while first < count {
            let (mut start, mut points) = (0, 0);
            if first + (lane as u64) < count {
                let node = Node::load(nodes, first + lane as u64);
                if is_to_order(&node, in_order) {
                    (start, points) = (node.start, node.count as u32);
                }
            }
            let mut leaves = warp::ballot(warp::FULL, points > 0);
            while leaves != 0 {
                let owner = leaves.trailing_zeros();
                leaves &= leaves - 1;
                let start = warp::shuffle(warp::FULL, start, owner);
                let points = warp::shuffle(warp::FULL, points, owner);
                let has = lane < points;
                let value = if has { *indices.add((start + lane as u64) as usize) } else { 0 };
                let before = warp::shuffle_up(warp::FULL, value, 1);
                // Quadrants may happen to follow each other as given.
                if warp::any(warp::FULL, has && lane > 0 && before > value) {
                    let place = rank_among(value, points);
                    if has {
                        *indices.add((start + place as u64) as usize) = value;
                    }
                }
            }
            first += step;
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

/// A block's shared memory for leaves of at most a number of points.
#[derive(Clone, Copy)]
struct Shared {
    scan: BlockScan<u32>,
    /// Which of a block's nodes are to be ordered.
    leaves: SharedArray<u32>,
    values: [SharedArray<u32>; 2],
    /// Where runs begin, and at last the end.
    starts: SharedArray<u16>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver, room: u32) -> Self {
        Self {
            scan: BlockScan::new(carver),
            leaves: carver.array(BLOCK as u32),
            values: [carver.array(room), carver.array(room)],
            starts: carver.array(room + 1),
        }
    }
}

/// Bytes of shared memory for leaves of at most `room` points.
const fn shared_bytes(room: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::new(&mut carver, room);
    carver.bytes()
}

/// Orders the leaves of at most `room` points, up to [`MOST_SHARED`]. A block looks at a node a thread, and orders
/// the leaves among them one after the other. Grid: any number of blocks.
///
/// # Safety
/// As for [`order_small_leaves`](const@order_small_leaves), with `room` in place of 32.
#[kernel(block = BLOCK, shared = |args| shared_bytes(args.room))]
pub unsafe fn order_leaves(
    nodes: *const u64,
    node_count: *const u64,
    in_order: u32,
    room: u32,
    indices: *mut u32,
) {
    let shared = Shared::new(&mut Carver::new(), room);
    let me = thread::thread_idx_x();
    // SAFETY: the caller's arrays are as said; all conditions that hold a barrier are the block's own.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * BLOCK as u64, *node_count);
        let mut first = thread::block_idx_x() as u64 * BLOCK as u64;
        while first < count {
            let index = first + me as u64;
            let is_mine = index < count && is_to_order(&Node::load(nodes, index), in_order);
            let (before, leaves) = shared.scan.exclusive_count(is_mine);
            if is_mine {
                shared.leaves.store(before, me);
            }
            thread::sync_threads();
            let mut leaf = 0;
            while leaf < leaves {
                let node = Node::load(nodes, first + shared.leaves.load(leaf) as u64);
                merge_runs(shared, indices.add(node.start as usize), node.count as u32, me);
                leaf += 1;
            }
            thread::sync_threads();
            first += step;
        }
    }
}

/// Orders values by merging the runs that rise, two by two (Knuth, The Art of Computer Programming 3, 5.2.4, natural
/// merging). The points of a leaf that is k levels above the last one sorted are at most 4^k runs.
///
/// # Safety
/// The whole block comes here, with one array of at most as many values as there is room for.
#[inline(always)]
unsafe fn merge_runs(shared: Shared, values: *mut u32, len: u32, me: u32) {
    let [mut from, mut to] = shared.values;
    // SAFETY: every loop with a barrier turns equally often in all threads; each element is one thread's.
    unsafe {
        let mut i = me;
        while i < len {
            from.store(i, *values.add(i as usize));
            i += BLOCK as u32;
        }
        thread::sync_threads();
        let (mut runs, mut chunk) = (0, 0);
        while chunk < len {
            let i = chunk + me;
            let begins = i < len && (i == 0 || from.load(i - 1) > from.load(i));
            let (before, all) = shared.scan.exclusive_count(begins);
            if begins {
                shared.starts.store(runs + before, i as u16);
            }
            runs += all;
            chunk += BLOCK as u32;
        }
        if me == 0 {
            shared.starts.store(runs, len as u16);
        }
        thread::sync_threads();
        let is_in_order = runs == 1;
        while runs > 1 {
            let mut i = me;
            while i < len {
                let value = from.load(i);
                to.store(merged_place(shared.starts, runs, from, i, value), value);
                i += BLOCK as u32;
            }
            thread::sync_threads();
            let merged = runs.div_ceil(2);
            let mut chunk = 0;
            while chunk <= merged {
                let run = chunk + me;
                let start = shared.starts.load(u32::min(2 * run, runs));
                thread::sync_threads();
                if run <= merged {
                    shared.starts.store(run, start);
                }
                thread::sync_threads();
                chunk += BLOCK as u32;
            }
            runs = merged;
            (from, to) = (to, from);
        }
        let mut i = me;
        while i < len && !is_in_order {
            *values.add(i as usize) = from.load(i);
            i += BLOCK as u32;
        }
        thread::sync_threads();
    }
}

/// Where element `i` goes when its run is merged with the one beside it.
///
/// # Safety
/// `starts` are those of `runs` runs, and their end.
#[inline(always)]
unsafe fn merged_place(
    starts: SharedArray<u16>,
    runs: u32,
    values: SharedArray<u32>,
    i: u32,
    value: u32,
) -> u32 {
    // SAFETY: all places lie in the runs.
    unsafe {
        let (mut run, mut length) = (0, runs);
        while length > 1 {
            let half = length / 2;
            run += if starts.load(run + half) as u32 <= i { half } else { 0 };
            length -= half;
        }
        let other = run ^ 1;
        if other >= runs {
            return i;
        }
        let (start, end) = (starts.load(other) as u32, starts.load(other + 1) as u32);
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = (low + high) / 2;
            let is_less = values.load(middle) < value;
            low = if is_less { middle + 1 } else { low };
            high = if is_less { high } else { middle };
        }
        // The run before moves others of the pair up, the run after goes down among them.
        let less = low - start;
        if run & 1 == 0 { i + less } else { start + (i - end) + less }
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
