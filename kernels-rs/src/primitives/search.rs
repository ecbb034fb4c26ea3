//! Lower and upper bounds of many queries in a sorted array: crate `gpu-scan`.
//!
//! Every query takes the same number of steps, which the array's length sets. So a thread takes several queries side by
//! side, with as many loads in flight. In each step a query skips either a fixed number of elements or none, so the
//! first steps of all queries read the same few elements, the *pivots*. A block has them in shared memory, as a tree in
//! which the children of node n are 2 n and 2 n + 1. Only the later steps read global memory.
//!
//! In global memory a step of a binary search reads a whole sector for one element. If queries are many, the array is
//! sampled first. Level 1 has the last element of each group of `2^lowest`, and level 2 the last of each group of
//! [`group_bits`] of level 1. The levels go on up to one that consists of a block's pivots alone. The samples of a
//! level follow each other in memory, so a query reads one group of 64 bytes of each level, and the upper levels stay
//! in the caches. The number of a level's samples that come before a query is the number of the group, in the level
//! below, that has the query's bound.
//!
//! These steps leave out the last element of the array, and each query compares it by itself. So an array of 2^k
//! elements takes no more steps than one of 2^k - 1.

use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{In, Out, arguments, kernel, thread};

use super::operators::{Bits, Order};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Queries of a thread.
const ITEMS: usize = 2;

/// Queries of a tile, which blocks take in turn.
pub const TILE: u64 = (BLOCK * ITEMS) as u64;

/// Blocks of a multiprocessor that share the tiles.
pub const RESIDENT: u32 = 8;

/// Bytes of shared memory that pivots may take.
const PIVOT_BYTES: u32 = 16 << 10;

/// Bytes of a group of samples: two sectors, which memory gives at once.
const GROUP_BYTES: u32 = 64;

/// The steps that a search among `len` elements takes: each skips half of the rest, until the rest is empty.
const fn steps_of(len: u64) -> u32 {
    if len == 0 { 0 } else { len.ilog2() + 1 }
}

/// How many steps may read pivots.
const fn most_pivot_steps(element_size: usize) -> u32 {
    (PIVOT_BYTES / element_size as u32).ilog2()
}

/// How many steps read pivots, in an array of `len` elements, where each block has `tiles` tiles. With more tiles, more
/// pivots are worth their loads.
pub const fn pivot_steps(len: u64, tiles: u64, element_size: usize) -> u32 {
    let most = most_pivot_steps(element_size);
    let steps = steps_of(len);
    let worth = (BLOCK as u64 * if tiles == 0 { 1 } else { tiles }).ilog2() + 1;
    let steps = if steps < worth { steps } else { worth };
    if steps < most { steps } else { most }
}

/// Samples of a group, as a power of two.
const fn group_bits(element_size: usize) -> u32 {
    (GROUP_BYTES / element_size as u32).ilog2()
}

/// The levels of samples above an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Elements of the array that are searched: all but the last.
    pub len: u64,
    /// The size of a group of the array's elements, as a power of two; level 1 has the last of each group.
    pub lowest: u32,
    /// How many levels there are, beside the array itself, which is level 0.
    pub count: u32,
    /// Samples of a group, as a power of two.
    bits: u32,
}

impl Levels {
    /// `count` levels above an array of `len` elements, without the last element.
    pub const fn new(len: u64, lowest: u32, count: u32, element_size: usize) -> Self {
        Self { len: len.saturating_sub(1), lowest, count, bits: group_bits(element_size) }
    }

    /// The levels that are worth their reads where there are `queries` queries.
    pub const fn worthwhile(len: u64, queries: u64, element_size: usize) -> Self {
        let none = Self::new(len, 0, 0, element_size);
        let mut levels = Self::new(len, none.bits, 1, element_size);
        // At most half as many samples as queries.
        while levels.of(1) > queries / 2 {
            levels.lowest += 1;
        }
        while steps_of(levels.of(levels.count)) > most_pivot_steps(element_size) {
            levels.count += 1;
        }
        // One level would be the array's own pivots.
        if queries < FEWEST || levels.count < 2 { none } else { levels }
    }

    /// The number of elements of a level.
    pub const fn of(&self, level: u32) -> u64 {
        self.len >> self.shift(level)
    }

    /// How many elements of the array one of a level stands for, as a power of two.
    const fn shift(&self, level: u32) -> u32 {
        if level == 0 { 0 } else { self.lowest + (level - 1) * self.bits }
    }

    /// The elements that memory for a level has: rounded up so that groups begin at the memory's sectors.
    const fn room(&self, level: u32) -> u64 {
        let mask = (1 << self.bits) - 1;
        (self.of(level) + mask) & !mask
    }

    /// The elements that memory for all levels has, the highest level first.
    pub const fn samples(&self) -> u64 {
        let (mut level, mut all) = (1, 0);
        while level <= self.count {
            all += self.room(level);
            level += 1;
        }
        all
    }
}

/// With fewer queries one more launch is not worth its time.
const FEWEST: u64 = 1 << 20;

/// A sorted array, and the samples of the levels above it.
#[arguments]
pub struct Sorted<'a, B> {
    /// `len` of them.
    pub elements: In<'a, B>,
    /// How many there are.
    pub len: u64,
    /// The ranks of the samples, by [`mod@sample`]; none where there are no levels.
    pub samples: In<'a, B>,
    /// As in [`Levels`].
    pub lowest: u32,
    /// How many levels there are.
    pub levels: u32,
}

/// The pivots, from node 1 on.
const fn pivots<B: Plain>(carver: &mut Carver, steps: u32) -> SharedArray<B> {
    carver.array(1 << steps)
}

/// Bytes of shared memory.
const fn shared_bytes<B: Plain>(steps: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = pivots::<B>(&mut carver, steps);
    carver.bytes()
}

/// The element that a search compares at a node.
#[inline(always)]
fn element_of(node: u32, len: u64) -> u64 {
    let (mut found, mut rest) = (0, len);
    // The bits after the highest say which branches the search took.
    let mut step = 31 - (node | 1).leading_zeros();
    while step > 0 {
        step -= 1;
        let half = rest.div_ceil(2);
        found += if node >> step & 1 == 1 { half } else { 0 };
        rest -= half;
    }
    found + rest.div_ceil(2) - 1
}

/// The ranks of the samples of all levels. Grid: a thread for each of [`Levels::samples`].
///
/// # Safety
/// `sorted` has `len` elements, not 0, and `samples` has [`Levels::samples`] elements.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn sample<B: Bits>(
    sorted: In<'_, B>,
    len: u64,
    parameters: [u64; 4],
    lowest: u32,
    count: u32,
    samples: Out<'_, B>,
) {
    let levels = Levels::new(len, lowest, count, size_of::<B>());
    let at = thread::block_idx_x() as u64 * BLOCK as u64 + thread::thread_idx_x() as u64;
    let (mut level, mut place) = (count, at);
    while level > 0 && place >= levels.room(level) {
        place -= levels.room(level);
        level -= 1;
    }
    if level > 0 && place < levels.of(level) {
        let element = ((place + 1) << levels.shift(level)) - 1;
        samples.set(at, Order::<B>::new(parameters).rank(sorted.get(element)));
    }
}

/// Goes on to the level below: `found` of its groups come before each query, and the rest of the search stays in the
/// next group. The level has `len` elements, at least a group of `2^bits` without its last.
#[inline(always)]
fn descend<B: Bits>(
    elements: In<B>,
    len: u64,
    bits: u32,
    found: &mut [u64; ITEMS],
    is_before: impl Fn(B, usize) -> bool,
) {
    let mut half = 1u64 << bits >> 1;
    // The last group may be shorter; its window begins earlier, so that it ends with the level.
    let last = len - (2 * half - 1);
    let mut item = 0;
    while item < ITEMS {
        found[item] = u64::min(found[item] << bits, last);
        item += 1;
    }
    while half > 0 {
        let mut probes = [B::ONES; ITEMS];
        let mut item = 0;
        while item < ITEMS {
            // The middle of those from `found` on that are undecided, which are fewer than twice `half`.
            probes[item] = elements.get(found[item] + half - 1);
            item += 1;
        }
        let mut item = 0;
        while item < ITEMS {
            found[item] += if is_before(probes[item], item) { half } else { 0 };
            item += 1;
        }
        half /= 2;
    }
}

/// The number of elements of a sorted array that come before each query (`upper` 0) or do not come
/// after it. Grid: any number of blocks.
///
/// # Safety
/// The array and its samples are as [`Sorted`] says; `queries` and `output` have `count` elements, not 0; the output is
/// apart from the others. `steps` are at most [`pivot_steps`] of the highest level.
#[kernel(
    block = BLOCK,
    resident = RESIDENT,
    shared = |args| shared_bytes::<B>(args.steps),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn bounds<B: Bits>(
    sorted: Sorted<'_, B>,
    queries: In<'_, B>,
    count: u64,
    parameters: [u64; 4],
    upper: u32,
    steps: u32,
    output: Out<'_, u64>,
) {
    let (order, upper) = (Order::<B>::new(parameters), upper != 0);
    let Sorted { elements: sorted, len, samples, lowest, levels } = sorted;
    let levels = Levels::new(len, lowest, levels, size_of::<B>());
    let (top, top_len) = (if levels.count > 0 { samples } else { sorted }, levels.of(levels.count));
    // Samples are ranks already.
    let rank_at_top = |probe: B| if levels.count > 0 { probe } else { order.rank(probe) };
    let pivots = pivots::<B>(&mut Carver::new(), steps);
    let me = thread::thread_idx_x();
    // SAFETY: nodes are below 2^steps, and each names an element; the barrier stands between writes and
    // reads.
    unsafe {
        let mut node = me;
        while node < 1 << steps {
            if node > 0 {
                let element = element_of(node, top_len);
                pivots.store(node, rank_at_top(top.get(element)));
            }
            node += BLOCK as u32;
        }
        thread::sync_threads();
    }
    let is_before = |probe: B, rank: B| probe < rank || (upper && probe == rank);
    let mut first = thread::block_idx_x() as u64 * TILE + me as u64;
    // A step reads no element beyond `rest` ones from `found` on. A level above another has an element for each whole
    // group of it.
    while first - (me as u64) < count {
        let mut ranks = [B::ONES; ITEMS];
        let mut item = 0;
        while item < ITEMS {
            let at = u64::min(first + (item * BLOCK) as u64, count - 1);
            ranks[item] = order.rank(queries.get(at));
            item += 1;
        }
        // Elements of the highest level known to come before the query; its bound there is among the `rest`
        // after them.
        let mut found = [0; ITEMS];
        let mut rest = top_len;
        let mut nodes = [1; ITEMS];
        let mut step = 0;
        while step < steps {
            let half = rest.div_ceil(2);
            let mut item = 0;
            while item < ITEMS {
                // SAFETY: a node is below 2^steps, and the pivots are there.
                let pivot = unsafe { pivots.load(nodes[item]) };
                let before = is_before(pivot, ranks[item]);
                nodes[item] = 2 * nodes[item] + before as u32;
                found[item] += if before { half } else { 0 };
                item += 1;
            }
            rest -= half;
            step += 1;
        }
        while rest > 0 {
            let half = rest.div_ceil(2);
            let mut probes = [B::ONES; ITEMS];
            let mut item = 0;
            while item < ITEMS {
                probes[item] = top.get(found[item] + half - 1);
                item += 1;
            }
            let mut item = 0;
            while item < ITEMS {
                let before = is_before(rank_at_top(probes[item]), ranks[item]);
                found[item] += if before { half } else { 0 };
                item += 1;
            }
            // At most this many elements are undecided, whichever way a query went. A query that went down has one
            // less, and compares again an element that it knows to come after.
            rest -= half;
        }
        if levels.count > 0 {
            let (mut level, mut elements) = (levels.count - 1, samples);
            while level > 0 {
                elements = elements.from(levels.room(level + 1));
                let is_before = |probe, item: usize| is_before(probe, ranks[item]);
                descend(elements, levels.of(level), levels.bits, &mut found, is_before);
                level -= 1;
            }
            let is_before = |probe, item: usize| is_before(order.rank(probe), ranks[item]);
            descend(sorted, levels.len, levels.lowest, &mut found, is_before);
        }
        let mut item = 0;
        while item < ITEMS {
            let at = first + (item * BLOCK) as u64;
            if at < count {
                let is_last = len > 0 && found[item] == len - 1;
                if is_last && is_before(order.rank(sorted.get(len - 1)), ranks[item]) {
                    found[item] = len;
                }
                output.set(at, found[item]);
            }
            item += 1;
        }
        first += thread::grid_dim_x() as u64 * TILE;
    }
}

device_std::ptx_module! { "search" }
