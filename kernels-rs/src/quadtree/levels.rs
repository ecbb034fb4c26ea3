//! Divides the nodes of a tree, level by level, without the host.
//!
//! In: the sorted codes of the points, and the nodes of a level. Out: the nodes of the next level, behind them by code;
//! in each divided node its first child and which quadrants are children.
//!
//! # Idea
//!
//! Sorted by code, the points of a cell lie side by side, and so do those of its quadrants. Two bits of the code name
//! the quadrant on a level. So three bisections divide a node, and no point is moved.
//!
//! ```text
//! codes of a node's points, two bits of this level   00 00 00 01 01 10 10 10 11
//!                                                    |        |     |        |  |
//! quadrants                                          SW       SE    NW      NE  end
//! nodes    .. | level l: A B C D       | level l + 1: A's, B's, D's children  | starts[l + 2]
//!               ^ starts[l]              ^ starts[l + 1]      C is a leaf
//! ```
//!
//! ```text
//! divide(level):                                   a block takes a part of the level
//!     part = nodes [starts[level], starts[level + 1]) / blocks, by ticket
//!     pass 1: bisect each node above the threshold; count its quadrants with points
//!     place = starts[level + 1] + children of all blocks before          look-back
//!     pass 2: scan the counts of 256 nodes at a time; write children from place on, and the parent's first child
//!     the last block writes starts[level + 2]
//! ```
//!
//! The number of nodes stays on the device: `starts` carries it from launch to launch. So the host enqueues all levels
//! at once with grids of fixed size, and waits for nothing in between.
//!
//! # Why it is right
//!
//! - Children follow each other by code: blocks have parts in the order of tickets, threads in the order of nodes, a
//!   node's quadrants in the order of their two bits. The look-back gives each block the number of children before it.
//!   So nodes have the same bytes whatever block runs when.
//! - A node is written by one thread. Children lie behind the level that is read, and a parent is rewritten by the
//!   thread that read it in both passes.
//! - If the children do not fit, every block whose end is beyond the capacity writes none. `starts[level + 2]` stays at
//!   the end of the level, and `overflow` tells the host to build again with more memory.
//!
//! # What it costs
//!
//! A bisection of n points waits for memory log2 n times and reads one code a step, three in flight. Nodes take 32
//! bytes; at threshold 20 there are about n / 7 of them, 5 bytes a point written.
//!
//! # Rejected
//!
//! - Counts that the host reads between levels: each is a wait.
//! - Children appended by an atomic counter: their order would change from run to run, and null nodes or a sort would
//!   have to mend it.

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

/// Nodes of a thread whose bisections are kept in shared memory from the first pass to the second: 12 KiB a block.
/// Further nodes are searched twice.
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

/// Writes the root of a tree over `count` points, and the indices of the first nodes of levels 0 and 1. Grid: one
/// thread.
///
/// # Safety
/// `nodes` has an element at least, and `starts` has two.
#[kernel(block = 32)]
pub unsafe fn plant(nodes: Out<'_, Words>, starts: Out<'_, u64>, count: u64) {
    if thread::index_1d() == 0 {
        let root = Node { code: 0, start: 0, count, level: 0, quadrants: 0 };
        root.store(nodes, 0, 0);
        starts.set(0u32, 0);
        starts.set(1u32, 1);
    }
}

/// Finds where a node's quadrants begin among its points, and its end. The three bisections take each step together, so
/// that their loads are in flight at once: log2 of the points waits for memory, not three times as many.
#[inline(always)]
fn quadrant_starts<K: Code>(codes: In<K>, node: &Node, shift: u32) -> [u32; 5] {
    let codes = codes.from(node.start);
    // All points before `places[q]` are of quadrants up to q. The end of these quadrants is at most `length` points
    // further.
    let mut places = [0; 3];
    let mut length = node.count as u32;
    while length > 0 {
        let half = length - length / 2;
        let mut quadrant = 0;
        while quadrant < 3 {
            let middle = places[quadrant] + (half - 1);
            let found = codes.get(middle).quadrant(shift);
            // If the last point of the half is of such a quadrant, the half is. Else the end lies in the half, before
            // its last point. Either way at most `length - half` points are left, so the three share one length.
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

/// The host's knowledge of the children of a level.
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

/// The results of a division for the host.
#[arguments]
pub struct Notes<'a> {
    /// Becomes 1 if the children do not fit: one element.
    pub overflow: Out<'a, u32>,
    /// The number of points in children above the threshold is added to it: one element.
    pub unsettled: Option<Out<'a, u64>>,
    /// Becomes 1 if a leaf of several points is among the children: one element.
    pub has_leaves: Option<Out<'a, u32>>,
}

/// Writes the children of the nodes of a level behind these nodes. `starts[level]` and `starts[level + 1]` have the
/// first nodes of this level and of the next one; the first node of the level after goes into `starts[level + 2]`. If
/// the children do not fit, the next level gets none. Grid: any number of blocks; each takes a part of the level.
///
/// Steps: the ticket gives the block's part of the level. Pass 1 counts children, and the look-back gives their
/// positions. Pass 2 writes them; it reads the bisections of the first [`KEPT`] rounds from shared memory.
///
/// # Safety
/// `codes` are sorted. `nodes` has `capacity` elements, and those of the level hold ranges of the codes. `starts` has
/// `level + 3` elements, and the notes are as [`Notes`] says. `control` and `status` are as [`Tickets::take`] and
/// [`Lookback::exclusive_prefix`] ask.
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
    // SAFETY: the bounds of all loops are the block's, so all threads meet each barrier. Each thread has elements of
    // its own in shared memory. Flags are touched by atomics alone.
    unsafe {
        let ticket = shared.tickets.take(control);
        let (level_start, level_end) = (starts.get(level), starts.get(level as usize + 1));
        let blocks = thread::grid_dim_x() as u64;
        let part = (level_end - level_start).div_ceil(blocks);
        let first = u64::min(level_start + ticket.tile * part, level_end);
        let end = u64::min(first + part, level_end);
        let me = thread::thread_idx_x() as u64;
        // A node, and whether it is divided. Threads without one get an empty node, since they meet all barriers.
        let divided = |index: u64| {
            let is_there = index < end;
            let node = match is_there {
                true => Node::load(nodes.as_input(), index),
                false => Node { code: 0, start: 0, count: 0, level: 0, quadrants: 0 },
            };
            (node, node.count > threshold || is_there && cut.divides(node.code, level))
        };
        // Thread by thread within a quadrant and round: no bank conflicts.
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

/// Writes a node's children from `place` on, those with points, south-west first: by code.
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
