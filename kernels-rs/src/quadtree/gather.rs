//! Coordinates, brought into the order of the tree.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use crate::spatial::place::Place;

/// Threads of a block.
const BLOCK: usize = 256;

/// Points of a thread, all of which are in flight at once.
const ITEMS: usize = 4;

/// Points that a block of [`mod@gather_places`] moves.
pub const GATHERED: u64 = (BLOCK * ITEMS) as u64;

/// Gathers x and y of the points in an order, from pairs: memory gives 32 bytes or more at once, so both cost as much
/// as one. Does nothing if nodes did not fit, since then some leaves were not collected. Grid: blocks of [`GATHERED`]
/// points.
///
/// # Safety
/// `order`, `x` and `y` have `len` elements; `order` names pairs unless `overflow`, one number, is other than 0.
#[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
pub unsafe fn gather_places<T: Place>(
    order: In<'_, u32>,
    len: u64,
    pairs: In<'_, u64>,
    overflow: In<'_, u32>,
    x: Out<'_, T>,
    y: Out<'_, T>,
) {
    let first = thread::block_idx_x() as u64 * GATHERED + thread::thread_idx_x() as u64;
    if first >= len || overflow.get(0u32) != 0 {
        return;
    }
    // A point beyond the length is read as the last one, and not written.
    let mut from = [0; ITEMS];
    let mut item = 0;
    while item < ITEMS {
        let i = u64::min(first + (item * BLOCK) as u64, len - 1);
        from[item] = order.get(i) as u64;
        item += 1;
    }
    let mut places = [T::load_pair(pairs, from[0]); ITEMS];
    let mut item = 1;
    while item < ITEMS {
        places[item] = T::load_pair(pairs, from[item]);
        item += 1;
    }
    let mut item = 0;
    while item < ITEMS {
        let i = first + (item * BLOCK) as u64;
        if i < len {
            x.set(i, places[item][0]);
            y.set(i, places[item][1]);
        }
        item += 1;
    }
}
