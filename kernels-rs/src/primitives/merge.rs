//! The stable merge of two sorted arrays: crate `gpu-scan`. After Green, McColl and Bader, "GPU
//! merge path: a GPU merging algorithm", 2012, DOI 10.1145/2304576.2304621.
//!
//! Merging walks a path over the grid of pairs (elements of a, elements of b); after `d` steps it
//! crosses the grid's diagonal `d`, and where it does so a binary search finds without walking.
//! The plan:
//!
//! 1. A first kernel finds where the path crosses the diagonal of each tile's first output: the
//!    tile's split. (In the paper each block searches its own; here thousands of searches run side
//!    by side, so that no block waits for one.)
//! 2. A block loads its part of a and its part of b into shared memory, one after the other.
//! 3. Each thread finds its own split by the same search in shared memory and merges
//!    `ITEMS` elements in registers.
//! 4. Through shared memory the outputs are put in order and written.
//!
//! With values, the place in the shared arrays that each output comes from is kept in shared memory
//! too; then the values take the keys' place there, and are picked by it.

use device_std::shared::{Carver, SharedArray};
use device_std::{kernel, thread, vector};

use super::operators::{Bits, Order};
use super::value::Value;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Outputs of a thread. Odd, so that threads that write theirs in a row hit different banks.
const ITEMS: usize = 15;

/// Outputs of a block.
pub const TILE: u64 = (BLOCK * ITEMS) as u64;

/// What a block keeps in shared memory: the places that outputs come from, if there are values; then
/// the ranks of the keys and, in the same place, the values.
#[derive(Clone, Copy)]
struct Shared<B, V> {
    places: SharedArray<u16>,
    ranks: SharedArray<B>,
    values: SharedArray<V>,
}

impl<B: Bits, V: Value> Shared<B, V> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        let places = carver.array(if V::IS_THERE { TILE as u32 } else { 0 });
        let (ranks, values) = carver.overlay(TILE as u32);
        Self { places, ranks, values }
    }
}

/// How many of the first `diagonal` outputs come from a. `a` and `b` give ranks.
#[inline(always)]
fn split<B: Bits>(
    (a, a_len): (impl Fn(u64) -> B, u64),
    (b, b_len): (impl Fn(u64) -> B, u64),
    diagonal: u64,
) -> u64 {
    let mut low = diagonal.saturating_sub(b_len);
    let mut high = u64::min(diagonal, a_len);
    while low < high {
        let middle = low + (high - low) / 2;
        // Equal elements come from a first.
        if b(diagonal - 1 - middle) < a(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// How many of the outputs before each tile come from `a`. Grid: a thread for each tile of [`TILE`]
/// outputs, and one for the end.
///
/// # Safety
/// The arrays are as long as said, `splits` has an element for each tile and one more.
#[kernel(named, block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn find_splits<B: Bits>(
    a: *const B,
    a_len: u64,
    b: *const B,
    b_len: u64,
    parameters: [u64; 4],
    splits: *mut u64,
) {
    let order = Order::<B>::new(parameters);
    let tile = thread::index_1d();
    let len = a_len + b_len;
    if tile > len.div_ceil(TILE) {
        return;
    }
    let diagonal = u64::min(tile * TILE, len);
    // SAFETY: the search asks for elements that exist; there is a split for each tile and the end.
    unsafe {
        let of_a = |i: u64| order.rank(*a.add(i as usize));
        let of_b = |i: u64| order.rank(*b.add(i as usize));
        *splits.add(tile as usize) = split((of_a, a_len), (of_b, b_len), diagonal);
    }
}

/// A block's tile: `count` outputs, of which the first `from_a` inputs in shared memory are a's.
#[derive(Clone, Copy)]
struct Part {
    /// The first output.
    first: u64,
    a_first: u64,
    b_first: u64,
    from_a: u32,
    count: u32,
}

impl Part {
    /// The tile of this block.
    #[inline(always)]
    unsafe fn new(len: u64, splits: *const u64) -> Self {
        let tile = thread::block_idx_x() as u64;
        let first = tile * TILE;
        let count = u64::min(TILE, len - first) as u32;
        // SAFETY: there is a split for each tile and the end.
        let (a_first, a_end) =
            unsafe { (*splits.add(tile as usize), *splits.add(tile as usize + 1)) };
        // Of arrays that are not sorted the splits may fall: what is read stays in the arrays.
        let from_a = u64::min(a_end.saturating_sub(a_first), count as u64) as u32;
        Self { first, a_first, b_first: first - a_first, from_a, count }
    }

    /// The same part, of which the compiler knows nothing: what it derived from it for the keys is
    /// derived anew for the values, instead of being kept in registers all the while.
    #[inline(always)]
    fn forgotten(self) -> Self {
        let (from_a, count) = (vector::unknown(self.from_a), vector::unknown(self.count));
        let low = vector::unknown(self.a_first as u32) as u64;
        let high = vector::unknown((self.a_first >> 32) as u32) as u64;
        let a_first = low | high << 32;
        Self { from_a, count, a_first, b_first: self.first - a_first, ..self }
    }

    /// Reads this thread's inputs, a block's width apart, in the place of `none`. What is beyond the
    /// last is the last.
    #[inline(always)]
    unsafe fn load<T: Copy>(&self, a: *const T, b: *const T, none: T) -> [T; ITEMS] {
        let mut inputs = [none; ITEMS];
        let mut item = 0;
        while item < ITEMS {
            let place = u32::min(thread::thread_idx_x() + (item * BLOCK) as u32, self.count - 1);
            // SAFETY: a tile has an output, and as many inputs as outputs.
            inputs[item] = unsafe {
                let array = if place < self.from_a { a } else { b };
                let before = if place < self.from_a { 0 } else { self.from_a };
                let start = if place < self.from_a { self.a_first } else { self.b_first };
                *array.add((start + (place - before) as u64) as usize)
            };
            item += 1;
        }
        inputs
    }

    /// Merges this thread's outputs, and writes the places that they come from.
    #[inline(always)]
    unsafe fn merge<B: Bits, V: Value>(&self, shared: Shared<B, V>) -> [B; ITEMS] {
        let Shared { places, ranks, .. } = shared;
        let me = thread::thread_idx_x() * ITEMS as u32;
        let Self { from_a, count, .. } = *self;
        let diagonal = u32::min(me, count);
        // SAFETY: places are held below the count; nobody else writes to the arrays meanwhile.
        unsafe {
            let rank = |place: u32| ranks.load(u32::min(place, count - 1));
            let mut at_a = split(
                (|i| rank(i as u32), from_a as u64),
                (|i| rank(from_a + i as u32), (count - from_a) as u64),
                diagonal as u64,
            ) as u32;
            let mut at_b = from_a + diagonal - at_a;
            let (mut next_a, mut next_b) = (rank(at_a), rank(at_b));
            let mut merged = [B::ONES; ITEMS];
            let mut item = 0;
            while item < ITEMS {
                let a_wins = at_a < from_a && (at_b >= count || next_a <= next_b);
                merged[item] = if a_wins { next_a } else { next_b };
                if V::IS_THERE {
                    places.store(me + item as u32, if a_wins { at_a } else { at_b } as u16);
                }
                at_a += a_wins as u32;
                at_b += !a_wins as u32;
                let next = rank(if a_wins { at_a } else { at_b });
                next_a = if a_wins { next } else { next_a };
                next_b = if a_wins { next_b } else { next };
                item += 1;
            }
            merged
        }
    }
}

/// Merges the keys of one tile. Other threads may still be reading shared memory when it returns.
#[inline(always)]
unsafe fn merge_keys<B: Bits, V: Value>(
    part: &Part,
    shared: Shared<B, V>,
    (a, b): (*const B, *const B),
    order: Order<B>,
    output: *mut B,
) {
    let ranks = shared.ranks;
    let me = thread::thread_idx_x();
    // SAFETY: barriers stand between what threads write and others read.
    unsafe {
        let inputs = part.load(a, b, B::from_bits64(0));
        let mut item = 0;
        while item < ITEMS {
            ranks.store(me + (item * BLOCK) as u32, order.rank(inputs[item]));
            item += 1;
        }
        thread::sync_threads();
        let merged = part.merge(shared);
        thread::sync_threads();
        let mut item = 0;
        while item < ITEMS {
            ranks.store(me * ITEMS as u32 + item as u32, merged[item]);
            item += 1;
        }
        thread::sync_threads();
        let mut item = 0;
        while item < ITEMS {
            let at = me + (item * BLOCK) as u32;
            if at < part.count {
                let to = (part.first + at as u64) as usize;
                *output.add(to) = order.element(ranks.load(at));
            }
            item += 1;
        }
    }
}

/// Puts the values of one tile where their keys went.
#[inline(always)]
unsafe fn merge_values<B: Bits, V: Value>(
    part: &Part,
    shared: Shared<B, V>,
    (a, b): (*const V, *const V),
    output: *mut V,
) {
    let Shared { places, values, .. } = shared;
    let me = thread::thread_idx_x();
    // SAFETY: barriers stand between what threads write and others read.
    unsafe {
        let inputs = part.load(a, b, V::of_index(0));
        // The keys, in whose place the values come, have been read.
        thread::sync_threads();
        let mut item = 0;
        while item < ITEMS {
            values.store(me + (item * BLOCK) as u32, inputs[item]);
            item += 1;
        }
        thread::sync_threads();
        let mut item = 0;
        while item < ITEMS {
            let at = me + (item * BLOCK) as u32;
            if at < part.count {
                let to = (part.first + at as u64) as usize;
                *output.add(to) = values.load(places.load(at) as u32);
            }
            item += 1;
        }
    }
}

/// Merges keys and, if there are any, their values with them. Grid: one block a tile of [`TILE`]
/// outputs.
///
/// # Safety
/// `splits` are those of `a` and `b`, which have `len` elements together, as the output has, which is
/// apart. The arrays of values, if there are any, are as long as those of their keys.
#[kernel(named, block = BLOCK, carve = |carver| Shared::<B, V>::new(carver), instances(
    keys_u8: <(), u8>, resident = 2;
    keys_u16: <(), u16>, resident = 3;
    keys_u32: <(), u32>, resident = 3;
    keys_u64: <(), u64>, resident = 2;
    pairs_u8_u32: <u32, u8>, resident = 2;
    pairs_u16_u32: <u32, u16>, resident = 3;
    pairs_u32_u32: <u32, u32>, resident = 3;
    pairs_u64_u32: <u32, u64>, resident = 2;
    pairs_u8_u64: <u64, u8>, resident = 2;
    pairs_u16_u64: <u64, u16>, resident = 3;
    pairs_u32_u64: <u64, u32>, resident = 3;
    pairs_u64_u64: <u64, u64>, resident = 2;
))]
pub unsafe fn merge<V: Value, B: Bits>(
    a: *const B,
    b: *const B,
    len: u64,
    parameters: [u64; 4],
    splits: *const u64,
    output: *mut B,
    a_values: *const V,
    b_values: *const V,
    output_values: *mut V,
) {
    let order = Order::<B>::new(parameters);
    let shared = Shared::<B, V>::new(&mut Carver::new());
    // SAFETY: passed on to the caller.
    unsafe {
        let part = Part::new(len, splits);
        merge_keys(&part, shared, (a, b), order, output);
        if V::IS_THERE {
            merge_values(&part.forgotten(), shared, (a_values, b_values), output_values);
        }
    }
}

device_std::ptx_module! { "merge" }
