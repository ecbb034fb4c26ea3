//! Brings the points of each leaf back into the order in which they were given, in place.
//!
//! In: the nodes of a tree, and the indices of its points, sorted by codes of more levels than some leaves have. Out:
//! the same indices, ascending within each leaf. The order of leaves does not change.
//!
//! # Idea
//!
//! A round of sorting ends at one level for all points. A leaf of a higher level was sorted too far: its points stand
//! in the order of cells that the tree does not have.
//!
//! ```text
//! sorted by 3 levels, leaf of level 2:   | SW  SW  SE  NW  NW  NE |      cells of level 3, which are no nodes
//! indices                                |  7   9   2   4   8   1 |
//! as given                               |  1   2   4   7   8   9 |
//! ```
//!
//! Indices are the order as given, and no two are equal. So a leaf is sorted by index: one u32 a point, no codes, no
//! values. What differs is where the values lie during the sort:
//!
//! ```text
//! up to 32 points    counting: a value's place is the number of smaller ones     if the threshold is at most 32
//! up to 256          bitonic network in registers of a warp, 1, 2, 4 or 8 values a lane
//! up to 4096         the same in registers of a block, 2 to 16 values a thread
//! more               two stable sorts of all points: by index, then by where the leaf starts
//! ```
//!
//! A network's steps are the same whatever the values are. Comparisons within a thread are two instructions. Moves
//! between lanes add a shuffle; moves between warps add a pass through shared memory and two barriers.
//!
//! # Why it is right
//!
//! - A leaf on the last level of a round needs nothing: its codes are equal as far as the sort went, and the sort is
//!   stable.
//! - A merge of two sorted runs compares each value with its mirror image, then at halved distances. That is Batcher's
//!   merge, and sorts whatever comes in. Places beyond the last point hold `u32::MAX`, which no index is, so they stay
//!   last.
//! - A leaf above the level of a round's end is within the threshold. So the host knows which kernels to launch.
//! - Leaves do not overlap. A leaf is loaded whole before it is stored, so the sort may be in place.
//!
//! # What it costs
//!
//! Reads and writes 4 bytes a point of such leaves, and reads the nodes. A network has 36 steps for 256 values, and 78
//! for 4096. With 256 threads and 16 values, 6 of these 78 go through shared memory; the rest are shuffles or
//! registers.
//!
//! # Rejected
//!
//! - Merging run by run, with a block and some twenty barriers a leaf: leaves of 33 to 4096 points lie at all levels,
//!   and each cost a block (docs/guide/performance.md).
//! - A network for leaves of ten points: 15 steps of the whole warp, where counting takes ten.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::node::{Node, Words};

/// Threads of a block.
const BLOCK: usize = 256;

/// Warps of a block.
const WARPS: u64 = BLOCK as u64 / 32;

/// The nodes of a tree. The other arrays of a kernel have an element for each of its points.
#[arguments]
pub struct Nodes<'a> {
    /// The nodes; only the first `count` are written.
    pub nodes: In<'a, Words>,
    /// The number of nodes: one element, which the device knows alone.
    pub count: In<'a, u64>,
}

/// Whether a node's points are to be ordered: it is a leaf of several points, of a level that no round of sorting ended
/// at. `in_order` has a bit for each level that a round ended at.
#[inline(always)]
fn is_to_order(node: &Node, in_order: u32) -> bool {
    node.quadrants == 0 && node.count > 1 && in_order >> node.level & 1 == 0
}

/// Orders the leaves of at most 32 points. A warp reads 32 nodes, and orders the leaves among them one after the other.
/// Grid: any number of blocks.
///
/// # Safety
/// The nodes are as [`Nodes`] says, for `indices`. No leaf of a level without a bit in `in_order` has more than 32
/// points.
#[kernel(block = BLOCK)]
pub unsafe fn order_small_leaves(nodes: Nodes<'_>, in_order: u32, indices: Out<'_, u32>) {
    let Nodes { nodes, count } = nodes;
    let lane = warp::lane_id();
    // SAFETY: a warp's lanes take the same branches.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * BLOCK as u64, count.get(0u32));
        // The first node of the warp, the same in all lanes: they leave the loop together.
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
                let value = if has { indices.get(start + lane as u64) } else { 0 };
                let before = warp::shuffle_up(warp::FULL, value, 1);
                // Often the quadrants follow each other as given: one vote saves the ranking.
                if warp::any(warp::FULL, has && lane > 0 && before > value) {
                    let place = rank_among(value, points);
                    if has {
                        indices.set(start + place as u64, value);
                    }
                }
            }
            first += step;
        }
    }
}

/// Counts the first `count` lanes that have a smaller value: the value's place, since no two are equal. A leaf has some
/// ten points, so this takes fewer steps than a sorting network over the whole warp, which has 15.
///
/// # Safety
/// The whole warp comes here, with one count.
#[inline(always)]
unsafe fn rank_among(value: u32, count: u32) -> u32 {
    let (mut rank, mut lane) = (0, 0);
    while lane < count {
        // SAFETY: the whole warp is here, by the caller's promise.
        rank += (unsafe { warp::shuffle(warp::FULL, value, lane) } < value) as u32;
        lane += 1;
    }
    rank
}

/// The most points of a leaf that a warp orders by itself.
pub const MAX_OF_WARP: u32 = 32 * 8;

/// The most values of a thread of the block that orders a large leaf: the block's exchange takes 16 KiB.
const LARGE: usize = 16;

/// The most points of a leaf that a block orders.
pub const MAX_SHARED: u32 = (BLOCK * LARGE) as u32;

/// Reads the lane's node. Returns the first of its points and their number; 0 points unless the node is a leaf to be
/// ordered, of `least` to `most` points.
#[inline(always)]
fn leaf_of_lane(
    nodes: In<Words>,
    index: u64,
    count: u64,
    in_order: u32,
    [least, most]: [u32; 2],
) -> (u64, u32) {
    if index < count {
        let node = Node::load(nodes, index);
        let is_in_range = least as u64 <= node.count && node.count <= most as u64;
        if is_in_range && is_to_order(&node, in_order) {
            return (node.start, node.count as u32);
        }
    }
    (0, 0)
}

/// Orders the leaves of at most [`MAX_OF_WARP`] points, and no larger ones. A warp reads 32 nodes, and orders the
/// leaves among them one after the other, in registers. Grid: any number of blocks.
///
/// # Safety
/// The nodes are as [`Nodes`] says, for `indices`.
#[kernel(block = BLOCK)]
pub unsafe fn order_leaves(nodes: Nodes<'_>, in_order: u32, indices: Out<'_, u32>) {
    let Nodes { nodes, count } = nodes;
    let lane = warp::lane_id();
    // SAFETY: a warp's lanes take the same branches.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * BLOCK as u64, count.get(0u32));
        let mut first = thread::index_1d() - lane as u64;
        while first < count {
            let (start, points) =
                leaf_of_lane(nodes, first + lane as u64, count, in_order, [2, MAX_OF_WARP]);
            let mut leaves = warp::ballot(warp::FULL, points > 0);
            while leaves != 0 {
                let owner = leaves.trailing_zeros();
                leaves &= leaves - 1;
                let start = warp::shuffle(warp::FULL, start, owner);
                let points = warp::shuffle(warp::FULL, points, owner);
                let values = indices.from(start);
                // All lanes take one branch. Each instance has its values in registers, by constant indices.
                if points <= 32 {
                    order_in_warp::<1>(values, points);
                } else if points <= 64 {
                    order_in_warp::<2>(values, points);
                } else if points <= 128 {
                    order_in_warp::<4>(values, points);
                } else {
                    order_in_warp::<8>(values, points);
                }
            }
            first += step;
        }
    }
}

/// Orders at most `32 * N` values by one warp.
///
/// # Safety
/// The whole warp comes here, with one array of as many values.
#[inline(always)]
unsafe fn order_in_warp<const N: usize>(values: Out<u32>, len: u32) {
    // SAFETY: the whole warp is here, by the caller's promise.
    unsafe {
        // Loaded 32 apart, so that neighbouring lanes read neighbouring values: the network sorts them in any order.
        let mut mine = load_any::<N>(values, len, warp::lane_id(), 32);
        sort_in_warp(&mut mine);
        store_in_order(values, len, warp::lane_id() * N as u32, &mine);
    }
}

/// Loads the values of a thread: from `first` on, `step` apart. [`u32::MAX`] stands for values beyond the last. It is
/// above every index, since a tree has fewer than 2^32 points, so it stays at the end.
#[inline(always)]
fn load_any<const N: usize>(values: Out<u32>, len: u32, first: u32, step: u32) -> [u32; N] {
    let mut mine = [u32::MAX; N];
    let mut j = 0;
    while j < N {
        let i = first + j as u32 * step;
        if i < len {
            mine[j] = values.get(i);
        }
        j += 1;
    }
    mine
}

/// Writes the values of a thread from `first` on; those beyond the last are dropped.
#[inline(always)]
fn store_in_order<const N: usize>(values: Out<u32>, len: u32, first: u32, mine: &[u32; N]) {
    let mut j = 0;
    while j < N {
        let i = first + j as u32;
        if i < len {
            values.set(i, mine[j]);
        }
        j += 1;
    }
}

/// Sorts `32 * N` values of a warp; lane l has those from `l * N` on. A bitonic network (Batcher 1968, DOI
/// 10.1145/1468075.1468121) whose comparisons all put the lesser value first: a merge begins by reversing the second of
/// its two runs.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn sort_in_warp<const N: usize>(values: &mut [u32; N]) {
    // SAFETY: the whole warp is here, by the caller's promise.
    unsafe {
        merge_in_warp::<N, 2>(values);
        merge_in_warp::<N, 4>(values);
        merge_in_warp::<N, 8>(values);
        merge_in_warp::<N, 16>(values);
        merge_in_warp::<N, 32>(values);
        merge_in_warp::<N, 64>(values);
        merge_in_warp::<N, 128>(values);
        merge_in_warp::<N, 256>(values);
        merge_in_warp::<N, 512>(values);
    }
}

/// Merges pairs of sorted runs into runs of `SIZE`, if there are as many values.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn merge_in_warp<const N: usize, const SIZE: usize>(values: &mut [u32; N]) {
    if SIZE > 32 * N {
        return;
    }
    // SAFETY: the whole warp is here, by the caller's promise.
    unsafe {
        turn_in_warp::<N, SIZE>(values);
        if SIZE >= 512 {
            halve_in_warp::<N, 128>(values);
        }
        if SIZE >= 256 {
            halve_in_warp::<N, 64>(values);
        }
        if SIZE >= 128 {
            halve_in_warp::<N, 32>(values);
        }
        if SIZE >= 64 {
            halve_in_warp::<N, 16>(values);
        }
        if SIZE >= 32 {
            halve_in_warp::<N, 8>(values);
        }
        if SIZE >= 16 {
            halve_in_warp::<N, 4>(values);
        }
        if SIZE >= 8 {
            halve_in_warp::<N, 2>(values);
        }
        if SIZE >= 4 {
            halve_in_warp::<N, 1>(values);
        }
    }
}

/// Compares each value of a run of `SIZE` with its mirror image: the value as far from the run's other end. Two sorted
/// halves become two bitonic halves, and no value of the first is above one of the second.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn turn_in_warp<const N: usize, const SIZE: usize>(values: &mut [u32; N]) {
    let old = *values;
    let mut j = 0;
    while j < N {
        // A run within a thread needs no exchange. A longer one has its mirror image in another lane, at the mirrored
        // place.
        if SIZE <= N {
            let other = j ^ (SIZE - 1);
            values[j] = keep(j < other, old[j], old[other]);
        } else {
            let lanes = (SIZE / N) as u32;
            // SAFETY: the whole warp is here, by the caller's promise.
            let other =
                unsafe { warp::shuffle(warp::FULL, old[N - 1 - j], warp::lane_id() ^ (lanes - 1)) };
            values[j] = keep(warp::lane_id() & (lanes / 2) == 0, old[j], other);
        }
        j += 1;
    }
}

/// Compares each value with the one `DISTANCE` away, a power of two.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn halve_in_warp<const N: usize, const DISTANCE: usize>(values: &mut [u32; N]) {
    let old = *values;
    let mut j = 0;
    while j < N {
        if DISTANCE < N {
            let other = j ^ DISTANCE;
            values[j] = keep(j < other, old[j], old[other]);
        } else {
            let lanes = (DISTANCE / N) as u32;
            // SAFETY: the whole warp is here, by the caller's promise.
            let other = unsafe { warp::shuffle(warp::FULL, old[j], warp::lane_id() ^ lanes) };
            values[j] = keep(warp::lane_id() & lanes == 0, old[j], other);
        }
        j += 1;
    }
}

/// The lesser or the greater of two.
#[inline(always)]
fn keep(is_lesser: bool, a: u32, b: u32) -> u32 {
    if is_lesser { u32::min(a, b) } else { u32::max(a, b) }
}

/// Shared memory through which the threads of a block read each other's values.
#[derive(Clone, Copy)]
struct Exchange(SharedArray<u32>);

impl Exchange {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self(carver.array((BLOCK * LARGE) as u32))
    }

    /// Stores a thread's values for the others to read.
    ///
    /// # Safety
    /// The whole block comes here.
    #[inline(always)]
    unsafe fn give<const N: usize>(self, me: u32, values: &[u32; N]) {
        // SAFETY: each element is one thread's.
        unsafe {
            // All have read the values of the exchange before.
            thread::sync_threads();
            let mut j = 0;
            while j < N {
                // Neighbouring threads store to neighbouring banks.
                self.0.store(j as u32 * BLOCK as u32 + me, values[j]);
                j += 1;
            }
            thread::sync_threads();
        }
    }

    /// Value `j` of another thread.
    ///
    /// # Safety
    /// All threads have given their values.
    #[inline(always)]
    unsafe fn of(self, thread: u32, j: usize) -> u32 {
        // SAFETY: each element is one thread's, and all are there, by the caller's promise.
        unsafe { self.0.load(j as u32 * BLOCK as u32 + thread) }
    }
}

/// Orders the leaves of more than [`MAX_OF_WARP`] and at most [`MAX_SHARED`] points, and no others. A block reads 32
/// nodes, and orders the leaves among them one after the other. Grid: any number of blocks.
///
/// # Safety
/// As for [`order_leaves`](const@order_leaves).
#[kernel(block = BLOCK, carve = |carver| Exchange::new(carver))]
pub unsafe fn order_large_leaves(nodes: Nodes<'_>, in_order: u32, indices: Out<'_, u32>) {
    let Nodes { nodes, count } = nodes;
    let exchange = Exchange::new(&mut Carver::new());
    let lane = warp::lane_id() as u64;
    // SAFETY: every warp reads the same nodes, and so takes the same branches: barriers are met by the whole block.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * 32, count.get(0u32));
        let mut first = thread::block_idx_x() as u64 * 32;
        while first < count {
            let range = [MAX_OF_WARP + 1, MAX_SHARED];
            let (start, points) = leaf_of_lane(nodes, first + lane, count, in_order, range);
            let mut leaves = warp::ballot(warp::FULL, points > 0);
            while leaves != 0 {
                let owner = leaves.trailing_zeros();
                leaves &= leaves - 1;
                let start = warp::shuffle(warp::FULL, start, owner);
                let points = warp::shuffle(warp::FULL, points, owner);
                let values = indices.from(start);
                if points <= 512 {
                    order_in_block::<2>(exchange, values, points);
                } else if points <= 1024 {
                    order_in_block::<4>(exchange, values, points);
                } else if points <= 2048 {
                    order_in_block::<8>(exchange, values, points);
                } else {
                    order_in_block::<LARGE>(exchange, values, points);
                }
            }
            first += step;
        }
    }
}

/// Orders at most `BLOCK * N` values by one block: each warp sorts its own `32 * N`, then runs of several warps are
/// merged through shared memory. A merge leaves shared memory once its comparisons stay within a warp.
///
/// # Safety
/// The whole block comes here, with one array of as many values.
#[inline(always)]
unsafe fn order_in_block<const N: usize>(exchange: Exchange, values: Out<u32>, len: u32) {
    let me = thread::thread_idx_x();
    // SAFETY: every loop with a barrier turns equally often in all threads.
    unsafe {
        let mut mine = load_any::<N>(values, len, me, BLOCK as u32);
        sort_in_warp(&mut mine);
        // The length of the merged runs, in threads.
        let mut size = 64;
        while size <= BLOCK as u32 {
            // The mirror image, as in `turn_in_warp`.
            exchange.give(me, &mine);
            let mut j = 0;
            while j < N {
                let other = exchange.of(me ^ (size - 1), N - 1 - j);
                mine[j] = keep(me & (size / 2) == 0, mine[j], other);
                j += 1;
            }
            let mut distance = size / 4;
            while distance >= 32 {
                exchange.give(me, &mine);
                let mut j = 0;
                while j < N {
                    let other = exchange.of(me ^ distance, j);
                    mine[j] = keep(me & distance == 0, mine[j], other);
                    j += 1;
                }
                distance /= 2;
            }
            finish_in_warp(&mut mine);
            size *= 2;
        }
        // In place: all threads have loaded their values before the barriers of the first exchange.
        store_in_order(values, len, me * N as u32, &mine);
    }
}

/// Sorts a bitonic run of `32 * N` values in a warp, `N` at least 2: the last steps of a merge.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn finish_in_warp<const N: usize>(values: &mut [u32; N]) {
    // SAFETY: the whole warp is here, by the caller's promise.
    unsafe {
        if N >= 16 {
            halve_in_warp::<N, 256>(values);
        }
        if N >= 8 {
            halve_in_warp::<N, 128>(values);
        }
        if N >= 4 {
            halve_in_warp::<N, 64>(values);
        }
        halve_in_warp::<N, 32>(values);
        halve_in_warp::<N, 16>(values);
        halve_in_warp::<N, 8>(values);
        halve_in_warp::<N, 4>(values);
        halve_in_warp::<N, 2>(values);
        halve_in_warp::<N, 1>(values);
    }
}

/// Writes for each point, in the order of the tree, where the points of its leaf start. This is the key of the second
/// sort, for leaves too large for a block. Grid: any number of blocks.
///
/// # Safety
/// The nodes are as [`Nodes`] says, for `leaf_starts`.
#[kernel(block = BLOCK)]
pub unsafe fn mark_leaves(nodes: Nodes<'_>, leaf_starts: Out<'_, u32>) {
    let count = nodes.count.get(0u32);
    let mut index = thread::block_idx_x() as u64;
    while index < count {
        let node = Node::load(nodes.nodes, index);
        let mut i = thread::thread_idx_x() as u64;
        while node.quadrants == 0 && i < node.count {
            leaf_starts.set(node.start + i, node.start as u32);
            i += BLOCK as u64;
        }
        index += thread::grid_dim_x() as u64;
    }
}

/// Collects the points' indices of all leaves. The sort by levels moves points between two arrays: a leaf of an even
/// level has its points in the one, a leaf of an odd level in the other. Grid: any number of blocks; a warp for each
/// leaf.
///
/// # Safety
/// The nodes are as [`Nodes`] says, for the three arrays of indices.
#[kernel(block = BLOCK)]
pub unsafe fn collect_leaves(
    nodes: Nodes<'_>,
    even: In<'_, u32>,
    odd: In<'_, u32>,
    indices: Out<'_, u32>,
) {
    let lane = warp::lane_id() as u64;
    let (step, count) = (thread::grid_dim_x() as u64 * WARPS, nodes.count.get(0u32));
    let mut index = thread::index_1d() / 32;
    while index < count {
        let node = Node::load(nodes.nodes, index);
        let from = if node.level & 1 == 0 { even } else { odd };
        let mut i = lane;
        while node.quadrants == 0 && i < node.count {
            let place = node.start + i;
            indices.set(place, from.get(place));
            i += 32;
        }
        index += step;
    }
}
