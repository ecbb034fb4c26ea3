//! Lower and upper bounds of many queries in a sorted array: crate `gpu-scan`.
//!
//! Every query takes the same number of steps, which the array's length sets, so a thread takes
//! several queries through them side by side: as many loads are in flight. And in each step all queries
//! skip as many elements or none, so that the first steps look at few elements: a block has these, the
//! pivots, in shared memory, as a tree in which the children of node n are 2 n and 2 n + 1. Only the
//! steps after them go to global memory.

use device_std::shared::{Carver, Plain, SharedArray};
use device_std::{kernel, thread};

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

/// How many steps look at pivots, in an array of `len` elements, where each block has `tiles` tiles: the more
/// it has, the more pivots are worth their loads.
pub const fn pivot_steps(len: u64, tiles: u64, element_size: usize) -> u32 {
    let most = (PIVOT_BYTES / element_size as u32).ilog2();
    // The steps that there are: half of the rest is skipped until there is none.
    let steps = if len == 0 { 0 } else { len.ilog2() + 1 };
    let worth = (BLOCK as u64 * if tiles == 0 { 1 } else { tiles }).ilog2() + 1;
    let steps = if steps < worth { steps } else { worth };
    if steps < most { steps } else { most }
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

/// The element that a search looks at when it comes to a node.
#[inline(always)]
fn element_of(node: u32, len: u64) -> u64 {
    let (mut found, mut rest) = (0, len);
    // The bits after the highest say which way the search went.
    let mut step = 31 - (node | 1).leading_zeros();
    while step > 0 {
        step -= 1;
        let half = rest.div_ceil(2);
        found += if node >> step & 1 == 1 { half } else { 0 };
        rest -= half;
    }
    found + rest.div_ceil(2) - 1
}

/// The number of elements of a sorted array that come before each query (`upper` 0) or do not come
/// after it. Grid: any number of blocks.
///
/// # Safety
/// `sorted` has `len` elements, `queries` and `output` `count`, not 0; the output is apart from the
/// others. `steps` are at most [`pivot_steps`].
#[kernel(
    block = BLOCK,
    resident = RESIDENT,
    shared = |args| shared_bytes::<B>(args.steps),
    instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>)
)]
pub unsafe fn bounds<B: Bits>(
    sorted: *const B,
    len: u64,
    queries: *const B,
    count: u64,
    parameters: [u64; 4],
    upper: u32,
    steps: u32,
    output: *mut u64,
) {
    let (order, upper) = (Order::<B>::new(parameters), upper != 0);
    let pivots = pivots::<B>(&mut Carver::new(), steps);
    let me = thread::thread_idx_x();
    // SAFETY: nodes are below 2^steps, and each names an element; the barrier stands between writes and
    // reads.
    unsafe {
        let mut node = me;
        while node < 1 << steps {
            if node > 0 {
                pivots.store(node, order.rank(*sorted.add(element_of(node, len) as usize)));
            }
            node += BLOCK as u32;
        }
        thread::sync_threads();
    }
    let is_before = |probe: B, rank: B| probe < rank || (upper && probe == rank);
    let mut first = thread::block_idx_x() as u64 * TILE + me as u64;
    // SAFETY: indices are held within the arrays: a step looks at no element beyond `rest` ones
    // from `found` on.
    unsafe {
        while first - (me as u64) < count {
            let mut ranks = [B::ONES; ITEMS];
            let mut item = 0;
            while item < ITEMS {
                let at = u64::min(first + (item * BLOCK) as u64, count - 1);
                ranks[item] = order.rank(*queries.add(at as usize));
                item += 1;
            }
            // Elements known to come before the query; the bound is among the `rest` after them.
            let mut found = [0; ITEMS];
            let mut rest = len;
            let mut nodes = [1; ITEMS];
            let mut step = 0;
            while step < steps {
                let half = rest.div_ceil(2);
                let mut item = 0;
                while item < ITEMS {
                    let before = is_before(pivots.load(nodes[item]), ranks[item]);
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
                    probes[item] = *sorted.add((found[item] + half - 1) as usize);
                    item += 1;
                }
                let mut item = 0;
                while item < ITEMS {
                    let before = is_before(order.rank(probes[item]), ranks[item]);
                    found[item] += if before { half } else { 0 };
                    item += 1;
                }
                // Whichever way a query went, at most this many elements are undecided; where it went
                // down they are one less, and one that is known to come after is looked at again.
                rest -= half;
            }
            let mut item = 0;
            while item < ITEMS {
                let at = first + (item * BLOCK) as u64;
                if at < count {
                    *output.add(at as usize) = found[item];
                }
                item += 1;
            }
            first += thread::grid_dim_x() as u64 * TILE;
        }
    }
}

device_std::ptx_module! { "search" }
