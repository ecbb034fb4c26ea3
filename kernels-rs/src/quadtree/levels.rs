//! Nodes, level by level.

use device_std::atomic::Pair;
use device_std::block::BlockScan;
use device_std::lookback::{Lookback, Tickets};
use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, atomic, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Code;
use super::node::{Node, Words};
use super::rule::{Cut, Rule};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Nodes of a thread whose quadrants are searched once, and kept.
const KEPT: u32 = 4;

/// A block's shared memory.
#[derive(Clone, Copy)]
struct Shared {
    tickets: Tickets,
    scan: BlockScan<u32>,
    /// Where the quadrants of the first nodes begin.
    found: SharedArray<u32>,
    /// Children of all blocks before.
    before: SharedArray<u64>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self {
            before: carver.array(1),
            found: carver.array(3 * KEPT * BLOCK as u32),
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
pub unsafe fn plant(nodes: Out<'_, Words>, starts: Out<'_, u64>, count: u64) {
    if thread::index_1d() == 0 {
        let root = Node { code: 0, start: 0, count, level: 0, quadrants: 0 };
        root.store(nodes, 0, 0);
        starts.set(0u32, 0);
        starts.set(1u32, 1);
    }
}

/// Where a node's quadrants begin among its points, and its end. The three bisections go side by side, so that a
/// thread waits for memory once for all of them.
#[inline(always)]
fn quadrant_starts<K: Code>(codes: In<K>, node: &Node, shift: u32) -> [u32; 5] {
    let codes = codes.from(node.start);
    // Before each quadrant's place lie only ones before it.
    let mut places = [0; 3];
    let mut length = node.count as u32;
    while length > 0 {
        let half = length - length / 2;
        let mut quadrant = 0;
        while quadrant < 3 {
            let middle = places[quadrant] + (half - 1);
            let found = codes.get(middle).quadrant(shift);
            // Where the half is done, what follows it is; what was left of it is not longer.
            places[quadrant] += if found <= quadrant as u32 { half } else { 0 };
            quadrant += 1;
        }
        length -= half;
    }
    [0, places[0], places[1], places[2], node.count as u32]
}

/// Which quadrants have points.
#[inline(always)]
fn occupied(starts: [u32; 5]) -> u32 {
    let mut quadrants = 0;
    let mut quadrant = 0;
    while quadrant < 4 {
        quadrants |= u32::from(starts[quadrant + 1] > starts[quadrant]) << quadrant;
        quadrant += 1;
    }
    quadrants
}

/// What the host wants to know of the children of a level.
#[derive(Clone, Copy)]
struct Tally {
    threshold: u64,
    cut: Cut,
    /// Points of children above the threshold.
    unsettled: u32,
    /// Whether a child within the threshold has several points.
    has_leaves: bool,
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, node: &Node, starts: [u32; 5]) {
        let mut quadrant = 0;
        while quadrant < 4 {
            let count = starts[quadrant + 1] - starts[quadrant];
            let is_cut = self.cut.divides(node.code << 2 | quadrant as u64, node.level + 1);
            let is_settled = count as u64 <= self.threshold && !is_cut;
            self.unsettled += if is_settled { 0 } else { count };
            self.has_leaves |= is_settled && count > 1;
            quadrant += 1;
        }
    }
}

/// What the host is told of a division.
#[arguments]
pub struct Notes<'a> {
    /// Becomes 1 where the children do not fit: one element.
    pub overflow: Out<'a, u32>,
    /// The number of points in children above the threshold is added to it: one element.
    pub unsettled: Option<Out<'a, u64>>,
    /// Becomes 1 where there are leaves of several points among the children: one element.
    pub has_leaves: Option<Out<'a, u32>>,
}

/// The children of the nodes of a level, behind them. The first nodes of this level and of the next lie in
/// `starts[level]` and `starts[level + 1]`, that of the one after goes into `starts[level + 2]`. Where
/// they do not fit the level gets none. Grid: any number of blocks; each takes a part of the level.
///
/// # Safety
/// `codes` are sorted, `nodes` has room for `capacity` nodes and those of the level hold ranges of the
/// codes, `starts` has `level + 3` elements, the notes are as [`Notes`] says. `control` and `status` are as
/// [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(block = BLOCK, shared = SHARED, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn divide<K: Code>(
    codes: In<'_, K>,
    nodes: Out<'_, Words>,
    capacity: u64,
    starts: Out<'_, u64>,
    level: u32,
    max_level: u32,
    rule: Rule,
    notes: Notes<'_>,
    control: Out<'_, u64>,
    status: Out<'_, Pair>,
) {
    let shared = Shared::new(&mut Carver::new());
    let shift = 2 * (max_level - level - 1);
    let Rule { threshold, cut } = rule;
    // SAFETY: all loops turn equally often in all threads of the block, which has places of its own in shared memory;
    // flags are touched by atomics alone.
    unsafe {
        let ticket = shared.tickets.take(control);
        let (level_start, level_end) = (starts.get(level), starts.get(level as usize + 1));
        let blocks = thread::grid_dim_x() as u64;
        let part = (level_end - level_start).div_ceil(blocks);
        let first = u64::min(level_start + ticket.tile * part, level_end);
        let end = u64::min(first + part, level_end);
        let me = thread::thread_idx_x() as u64;
        // A node, if it is divided.
        let divided = |index: u64| {
            let is_there = index < end;
            let node = match is_there {
                true => Node::load(nodes.as_input(), index),
                false => Node { code: 0, start: 0, count: 0, level: 0, quadrants: 0 },
            };
            (node, node.count > threshold || is_there && cut.divides(node.code, level))
        };
        // Of each of the first rounds the thread keeps what it found.
        let kept = |round: u32, quadrant: u32| (3 * round + quadrant) * BLOCK as u32 + me as u32;

        let (mut mine, mut round) = (0, 0);
        let mut tally = Tally { threshold, cut, unsettled: 0, has_leaves: false };
        let mut index = first;
        while index < end {
            let (node, is_divided) = divided(index + me);
            if is_divided {
                let found = quadrant_starts(codes, &node, shift);
                if round < KEPT {
                    shared.found.store(kept(round, 0), found[1]);
                    shared.found.store(kept(round, 1), found[2]);
                    shared.found.store(kept(round, 2), found[3]);
                }
                mine += occupied(found).count_ones();
                tally.add(&node, found);
            }
            index += BLOCK as u64;
            round += 1;
        }
        if let Some(unsettled) = notes.unsettled {
            let (_, all) = shared.scan.inclusive(tally.unsettled, 0, |a, b| a + b);
            if me == 0 && all > 0 {
                unsettled.fetch_add(0u32, all as u64);
            }
        }
        if let Some(has_leaves) = notes.has_leaves
            && tally.has_leaves
        {
            atomic::store_u32(has_leaves.address(0u32, 1), 1);
        }
        let (_, all) = shared.scan.inclusive(mine, 0, |a, b| a + b);
        if warp::warp_id() == 0 {
            let lookback = Lookback::new(status, ticket);
            let before = lookback.exclusive_prefix(all as u64, false, 0, |a: u64, b: u64| a + b);
            if warp::lane_id() == 0 {
                shared.before.store(0, before);
            }
        }
        thread::sync_threads();
        let mut place = level_end + shared.before.load(0);
        let fits = place + all as u64 <= capacity;
        if me == 0 {
            if !fits {
                atomic::store_u32(notes.overflow.address(0u32, 1), 1);
            }
            if ticket.tile + 1 == blocks {
                let next = if fits { place + all as u64 } else { level_end };
                starts.set(level as usize + 2, next);
            }
        }
        if !fits {
            return;
        }
        let (mut index, mut round) = (first, 0);
        while index < end {
            let (node, is_divided) = divided(index + me);
            let found = match (is_divided, round < KEPT) {
                (false, _) => [0; 5],
                (true, true) => [
                    0,
                    shared.found.load(kept(round, 0)),
                    shared.found.load(kept(round, 1)),
                    shared.found.load(kept(round, 2)),
                    node.count as u32,
                ],
                (true, false) => quadrant_starts(codes, &node, shift),
            };
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
            round += 1;
        }
    }
}

/// Writes a node's children from `place` on.
#[inline(always)]
fn append(nodes: Out<Words>, mut place: u64, node: &Node, starts: [u32; 5], quadrants: u32) {
    let mut quadrant = 0;
    while quadrant < 4 {
        if quadrants >> quadrant & 1 == 1 {
            let start = starts[quadrant];
            let child = Node {
                code: node.code << 2 | quadrant as u64,
                start: node.start + start as u64,
                count: (starts[quadrant + 1] - start) as u64,
                level: node.level + 1,
                quadrants: 0,
            };
            child.store(nodes, place, 0);
            place += 1;
        }
        quadrant += 1;
    }
}
