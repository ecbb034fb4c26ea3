//! The points of leaves, back into the order in which they were given.
//!
//! Leaves of the last level that was sorted are so already: as far as the sort looked their codes are equal, and it is
//! stable.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::node::{Node, Words};

/// Threads of a block.
const BLOCK: usize = 256;

/// Warps of a block.
const WARPS: u64 = BLOCK as u64 / 32;

/// The nodes of a tree over as many points as the other arrays of a kernel have.
#[arguments]
pub struct Nodes<'a> {
    /// Room for nodes, of which `count` are there.
    pub nodes: In<'a, Words>,
    /// How many there are: one element.
    pub count: In<'a, u64>,
}

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
/// The nodes are as [`Nodes`] says, for `indices`. No leaf of a level without a bit in `in_order` has more than 32 points.
#[kernel(block = BLOCK)]
pub unsafe fn order_small_leaves(nodes: Nodes<'_>, in_order: u32, indices: Out<'_, u32>) {
    let Nodes { nodes, count } = nodes;
    let lane = warp::lane_id();
    // SAFETY: a warp's lanes take the same way.
    unsafe {
        let (step, count) = (thread::grid_dim_x() as u64 * BLOCK as u64, count.get(0u32));
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
                // Quadrants may happen to follow each other as given.
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

/// How many of the first `count` lanes have a smaller value. (A leaf has some ten points, so this takes fewer
/// steps than a sorting network over the whole warp.)
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

/// Values of a thread of the block that orders a large leaf.
const LARGE: usize = 16;

/// The most points of a leaf that a block orders.
pub const MAX_SHARED: u32 = (BLOCK * LARGE) as u32;

/// The node that each lane of a warp looks at: where its points start and how many they are, 0 unless they are from
/// `least` to `most` and to be ordered.
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

/// Orders the leaves of at most [`MAX_OF_WARP`] points, larger ones not at all. A warp looks at 32 nodes, and orders the
/// leaves among them one after the other, in registers. Grid: any number of blocks.
///
/// # Safety
/// The nodes are as [`Nodes`] says, for `indices`.
#[kernel(block = BLOCK)]
pub unsafe fn order_leaves(nodes: Nodes<'_>, in_order: u32, indices: Out<'_, u32>) {
    let Nodes { nodes, count } = nodes;
    let lane = warp::lane_id();
    // SAFETY: a warp's lanes take the same way.
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
        let mut mine = load_any::<N>(values, len, warp::lane_id(), 32);
        sort_in_warp(&mut mine);
        store_in_order(values, len, warp::lane_id() * N as u32, &mine);
    }
}

/// The values of a thread, in whatever order: those from `first` on, `step` apart; behind the last what is above all.
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

/// Writes the values of a thread, which belong from `first` on.
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

/// Sorts `32 * N` values of a warp, of which lane l has those from `l * N` on: a bitonic network (Batcher 1968,
/// DOI 10.1145/1468075.1468121) whose comparisons all go the same way, since the second of two runs is turned around
/// when they are merged.
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

/// Compares each value of a run of `SIZE` with the one as far from the run's other end.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn turn_in_warp<const N: usize, const SIZE: usize>(values: &mut [u32; N]) {
    let old = *values;
    let mut j = 0;
    while j < N {
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

/// Compares each value with that at a distance, a power of two.
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

/// Values of a block, thread by thread, that change hands.
#[derive(Clone, Copy)]
struct Exchange(SharedArray<u32>);

impl Exchange {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        Self(carver.array((BLOCK * LARGE) as u32))
    }

    /// Puts a thread's values where others find them.
    ///
    /// # Safety
    /// The whole block comes here.
    #[inline(always)]
    unsafe fn give<const N: usize>(self, me: u32, values: &[u32; N]) {
        // SAFETY: each element is one thread's.
        unsafe {
            thread::sync_threads();
            let mut j = 0;
            while j < N {
                // Those of threads side by side lie side by side.
                self.0.store(j as u32 * BLOCK as u32 + me, values[j]);
                j += 1;
            }
            thread::sync_threads();
        }
    }

    /// Value `j` of another thread.
    ///
    /// # Safety
    /// All have given theirs.
    #[inline(always)]
    unsafe fn of(self, thread: u32, j: usize) -> u32 {
        // SAFETY: each element is one thread's, and all are there, by the caller's promise.
        unsafe { self.0.load(j as u32 * BLOCK as u32 + thread) }
    }
}

/// Orders the leaves of more than [`MAX_OF_WARP`] points and at most [`MAX_SHARED`], others not at all. A block looks at
/// 32 nodes, and orders the leaves among them one after the other. Grid: any number of blocks.
///
/// # Safety
/// As for [`order_leaves`](const@order_leaves).
#[kernel(block = BLOCK, carve = |carver| Exchange::new(carver))]
pub unsafe fn order_large_leaves(nodes: Nodes<'_>, in_order: u32, indices: Out<'_, u32>) {
    let Nodes { nodes, count } = nodes;
    let exchange = Exchange::new(&mut Carver::new());
    let lane = warp::lane_id() as u64;
    // SAFETY: every warp sees the same nodes, and takes the same way.
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

/// Orders at most `BLOCK * N` values by one block: each warp sorts its own, and then the network goes on with runs of
/// several warps, whose values change hands in shared memory.
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
        // In threads.
        let mut size = 64;
        while size <= BLOCK as u32 {
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
        // Nobody writes what another has not read yet: all have read before the first exchange.
        store_in_order(values, len, me * N as u32, &mine);
    }
}

/// Sorts the `32 * N` values of a warp that are a bitonic run; `N` is at least 2.
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

/// Notes at each point, in the order of the tree, where its leaf's points start, for leaves too large for shared
/// memory. Grid: any number of blocks.
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

/// The points' indices of all leaves from the array that holds those of their level, of which those of even
/// and odd levels are in turn. Grid: any number of blocks; a warp for each leaf.
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
