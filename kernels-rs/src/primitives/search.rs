//! Lower and upper bounds of many queries in a sorted array: crate `gpu-scan`.
//!
//! Every query takes the same number of steps, which the array's length sets, so a thread takes
//! several queries through them side by side: as many loads are in flight.

use device_std::{kernel, thread};

use super::operators::{Bits, Order};

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Queries of a thread.
const ITEMS: usize = 4;

/// Queries of a block.
pub const TILE: u64 = (BLOCK * ITEMS) as u64;

/// The number of elements of a sorted array that come before each query (`upper` 0) or do not come
/// after it. Grid: blocks of [`TILE`] queries.
///
/// # Safety
/// `sorted` has `len` elements, `queries` and `output` `count`, not 0; the output is apart from the
/// others.
#[kernel(named, block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn bounds<B: Bits>(
    sorted: *const B,
    len: u64,
    queries: *const B,
    count: u64,
    parameters: [u64; 4],
    upper: u32,
    output: *mut u64,
) {
    let (order, upper) = (Order::<B>::new(parameters), upper != 0);
    let first = thread::block_idx_x() as u64 * TILE + thread::thread_idx_x() as u64;
    // SAFETY: indices are held within the arrays: a step looks at no element beyond `rest` ones
    // from `found` on.
    unsafe {
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
                let probe = order.rank(probes[item]);
                let before = probe < ranks[item] || (upper && probe == ranks[item]);
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
    }
}

device_std::ptx_module! { "search" }
