//! Nodes, level by level.

use device_std::atomic::{self, Pair};
use device_std::block::BlockScan;
use device_std::lookback::{Lookback, Tickets};
use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Code;
use super::node::Node;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// A block's shared memory.
#[derive(Clone, Copy)]
struct Shared {
    tickets: Tickets,
    scan: BlockScan<u32>,
    /// Children of all blocks before.
    before: SharedArray<u64>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            before: carver.array(1),
            tickets: Tickets::new(carver),
            scan: BlockScan::new(carver),
        }
    }
}

const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = Shared::new(&mut carver);
    carver.bytes()
};

/// The root of a tree over `count` points, and the first nodes of levels 0 and 1. Grid: one thread.
///
/// # Safety
/// `nodes` has room for a node, `starts` two elements.
#[kernel(block = 32)]
pub unsafe fn plant(nodes: *mut u64, starts: *mut u64, count: u64) {
    if thread::index_1d() == 0 {
        let root = Node { code: 0, start: 0, count, level: 0, quadrants: 0 };
        // SAFETY: one thread writes what the caller gave.
        unsafe {
            root.store(nodes, 0, 0);
            *starts = 0;
            *starts.add(1) = 1;
        }
    }
}

/// The places among a node's points where its quadrants begin, and its end. The three bisections go side by
/// side, so that a thread waits for memory once for all of them.
#[inline(always)]
unsafe fn quadrant_starts<K: Code>(codes: *const K, node: &Node, shift: u32) -> [u64; 5] {
    // Before each quadrant's place lie only ones before it.
    let mut places = [node.start; 3];
    let mut length = node.count;
    while length > 0 {
        let half = length.div_ceil(2);
        let mut quadrant = 0;
        while quadrant < 3 {
            let middle = places[quadrant] + half - 1;
            // SAFETY: the middle lies among the node's points.
            let found = unsafe { (*codes.add(middle as usize)).quadrant(shift) };
            // Where the half is done, what follows it is; what was left of it is not longer.
            places[quadrant] += if found <= quadrant as u32 { half } else { 0 };
            quadrant += 1;
        }
        length -= half;
    }
    [node.start, places[0], places[1], places[2], node.start + node.count]
}

/// Which quadrants have points.
#[inline(always)]
fn occupied(starts: [u64; 5]) -> u32 {
    let mut quadrants = 0;
    let mut quadrant = 0;
    while quadrant < 4 {
        quadrants |= u32::from(starts[quadrant + 1] > starts[quadrant]) << quadrant;
        quadrant += 1;
    }
    quadrants
}

/// The children of the nodes of a level, behind them. The first nodes of this level and of the next lie in
/// `starts[level]` and `starts[level + 1]`, that of the one after goes into `starts[level + 2]`. Where
/// they do not fit, `overflow` becomes 1 and the level gets none. Grid: any number of blocks; each takes a
/// part of the level.
///
/// # Safety
/// `codes` are sorted, `nodes` has room for `capacity` nodes and those of the level hold ranges of the
/// codes, `starts` has `level + 3` elements. `control` and `status` are as
/// [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(block = BLOCK, shared = SHARED, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn divide<K: Code>(
    codes: *const K,
    nodes: *mut u64,
    capacity: u64,
    starts: *mut u64,
    level: u32,
    max_level: u32,
    threshold: u64,
    overflow: *mut u32,
    control: *mut u64,
    status: *mut Pair,
) {
    let shared = Shared::new(&mut Carver::new());
    let shift = 2 * (max_level - level - 1);
    // SAFETY: the caller's arrays are as said; all loops turn equally often in all threads of the block.
    unsafe {
        let ticket = shared.tickets.take(control);
        let (level_start, level_end) =
            (*starts.add(level as usize), *starts.add(level as usize + 1));
        let blocks = thread::grid_dim_x() as u64;
        let part = (level_end - level_start).div_ceil(blocks);
        let first = u64::min(level_start + ticket.tile * part, level_end);
        let end = u64::min(first + part, level_end);
        let me = thread::thread_idx_x() as u64;
        let children_of = |index: u64| {
            if index >= end {
                return (Node { code: 0, start: 0, count: 0, level: 0, quadrants: 0 }, [0; 5]);
            }
            let node = Node::load(nodes, index);
            match node.count > threshold {
                true => (node, quadrant_starts(codes, &node, shift)),
                false => (node, [0; 5]),
            }
        };

        let mut mine = 0;
        let mut index = first;
        while index < end {
            let (_, found) = children_of(index + me);
            mine += occupied(found).count_ones();
            index += BLOCK as u64;
        }
        let (_, all) = shared.scan.inclusive(mine, 0, |a, b| a + b);
        if warp::warp_id() == 0 {
            let lookback = Lookback::new(status, ticket);
            let before =
                lookback.exclusive_prefix(all as u64, false, 0, true, |a: u64, b: u64| a + b);
            if warp::lane_id() == 0 {
                shared.before.store(0, before);
            }
        }
        thread::sync_threads();
        let mut place = level_end + shared.before.load(0);
        let fits = place + all as u64 <= capacity;
        if me == 0 {
            if !fits {
                atomic::store_u32(overflow, 1);
            }
            if ticket.tile + 1 == blocks {
                let next = if fits { place + all as u64 } else { level_end };
                *starts.add(level as usize + 2) = next;
            }
        }
        if !fits {
            return;
        }
        let mut index = first;
        while index < end {
            let (node, found) = children_of(index + me);
            let quadrants = occupied(found);
            let children = quadrants.count_ones();
            let (up_to, of_round) = shared.scan.inclusive(children, 0, |a, b| a + b);
            if children > 0 {
                let first_child = place + (up_to - children) as u64;
                append(nodes, first_child, &node, found, quadrants);
                let parent = Node { quadrants, ..node };
                parent.store(nodes, index + me, first_child as u32);
            }
            place += of_round as u64;
            index += BLOCK as u64;
        }
    }
}

/// Writes a node's children from `place` on.
#[inline(always)]
unsafe fn append(nodes: *mut u64, mut place: u64, node: &Node, starts: [u64; 5], quadrants: u32) {
    let mut quadrant = 0;
    while quadrant < 4 {
        if quadrants >> quadrant & 1 == 1 {
            let start = starts[quadrant];
            let child = Node {
                code: node.code << 2 | quadrant as u64,
                start,
                count: starts[quadrant + 1] - start,
                level: node.level + 1,
                quadrants: 0,
            };
            // SAFETY: the caller has room for the children.
            unsafe { child.store(nodes, place, 0) };
            place += 1;
        }
        quadrant += 1;
    }
}
