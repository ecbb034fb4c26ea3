//! The stable merge of two sorted arrays: crate `gpu-scan`. After Green, McColl and Bader, "GPU
//! merge path: a GPU merging algorithm", 2012, DOI 10.1145/2304576.2304621.
//!
//! Merging walks a path over the grid of pairs (elements of a, elements of b). After `d` steps the path crosses the
//! grid's diagonal `d`. A binary search finds the crossing without walking. The plan:
//!
//! 1. A tile's split is where the path crosses the diagonal of the tile's first output. With few tiles each block
//!    searches its own: a warp tests 32 places at a time, as in the paper. With many tiles a first kernel runs
//!    thousands of searches side by side, so that no block waits for one.
//! 2. A block loads its part of a and its part of b into shared memory, one after the other.
//! 3. Each thread finds its own split by the same search in shared memory and merges
//!    `ITEMS` elements in registers.
//! 4. Through shared memory the outputs are put in order and written.
//!
//! With values, shared memory also holds, for each output, the place that it comes from in the shared arrays. The
//! values then replace the keys in shared memory, and each output picks its value by that place.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, global, kernel, thread, vector, warp};

use super::operators::{Bits, Order};
use super::value::Value;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Outputs of a thread. Odd, so that threads that write theirs in a row hit different banks.
const ITEMS: usize = 15;

/// Outputs of a block.
pub const TILE: u64 = (BLOCK * ITEMS) as u64;

/// The shared memory of a block. `splits` is there if the block finds them, `places` (where each output comes from) if
/// there are values. One array holds first the ranks of the keys, then the values.
#[derive(Clone, Copy)]
struct Shared<B, V> {
    splits: SharedArray<u64>,
    places: SharedArray<u16>,
    ranks: SharedArray<B>,
    values: SharedArray<V>,
}

impl<B: Bits, V: Value> Shared<B, V> {
    #[inline(always)]
    const fn new(carver: &mut Carver) -> Self {
        let splits = carver.array(2);
        let places = carver.array(if V::IS_THERE { TILE as u32 } else { 0 });
        // A thread reads the next input even if there is none, and for outputs beyond the end too.
        let (ranks, values) = carver.overlay(TILE as u32 + ITEMS as u32 + 1);
        Self { splits, places, ranks, values }
    }
}

/// Two sorted arrays.
#[arguments]
pub struct Arrays<'a, B> {
    /// `a_len` elements, which come before equal ones of `b`.
    pub a: In<'a, B>,
    /// How many there are.
    pub a_len: u64,
    /// `b_len` of them.
    pub b: In<'a, B>,
    /// How many there are.
    pub b_len: u64,
    /// The parameters of the [`Order`] that sorts both arrays.
    pub parameters: [u64; 4],
}

/// The values of the elements.
#[arguments]
pub struct Values<'a, V> {
    /// `a_len` elements.
    pub a: In<'a, V>,
    /// `b_len` elements.
    pub b: In<'a, V>,
    /// The merged values: `a_len + b_len` elements.
    pub output: Out<'a, V>,
}

/// Two sorted arrays, and their order.
#[derive(Clone, Copy)]
struct Inputs<'a, B> {
    a: In<'a, B>,
    a_len: u64,
    b: In<'a, B>,
    b_len: u64,
    order: Order<B>,
}

impl<'a, B: Bits> Inputs<'a, B> {
    #[inline(always)]
    fn new(Arrays { a, a_len, b, b_len, parameters }: Arrays<'a, B>) -> Self {
        Self { a, a_len, b, b_len, order: Order::<B>::new(parameters) }
    }

    /// The range of possible splits of a diagonal.
    #[inline(always)]
    fn range(&self, diagonal: u64) -> (u64, u64) {
        (diagonal.saturating_sub(self.b_len), u64::min(diagonal, self.a_len))
    }

    /// Whether element `i` of a is among the first `diagonal` outputs. Of equal elements, those of a come first. `i` is
    /// in the range of the diagonal, and not its end.
    #[inline(always)]
    fn takes(&self, diagonal: u64, i: u64) -> bool {
        let of_a = self.order.rank(self.a.get(i));
        of_a <= self.order.rank(self.b.get(diagonal - 1 - i))
    }

    /// How many of the first `diagonal` outputs come from a.
    #[inline(always)]
    fn split(&self, diagonal: u64) -> u64 {
        let (mut low, mut high) = self.range(diagonal);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.takes(diagonal, middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The same by a whole warp, whose lanes test the ends of 32 equal parts of the remaining range.
    #[inline(always)]
    unsafe fn split_by_warp(&self, diagonal: u64) -> u64 {
        let (mut low, mut high) = self.range(diagonal);
        while low < high {
            let part_end = |part: u64| low + (((high - low) * part) >> 5);
            let end = part_end(warp::lane_id() as u64 + 1);
            // SAFETY: the whole warp is here, by the caller's promise, and the range is the same in all lanes.
            let taken = unsafe {
                // An empty part decides nothing.
                warp::ballot(warp::FULL, end == low || self.takes(diagonal, end - 1))
            };
            // If arrays are not sorted, the first part that is not taken counts.
            let parts = taken.trailing_ones() as u64;
            let from = part_end(parts);
            high = if parts == 32 { high } else { part_end(parts + 1) - 1 };
            low = from;
        }
        low
    }
}

/// How many of the outputs before each tile come from `a`. Grid: a thread for each tile of [`TILE`]
/// outputs, and one for the end.
///
/// # Safety
/// The arrays are as [`Arrays`] says; `splits` has an element for each tile and one more.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn find_splits<B: Bits>(arrays: Arrays<'_, B>, splits: Out<'_, u64>) {
    let inputs = Inputs::new(arrays);
    let tile = thread::index_1d();
    let len = inputs.a_len + inputs.b_len;
    if tile > len.div_ceil(TILE) {
        return;
    }
    splits.set(tile, inputs.split(u64::min(tile * TILE, len)));
}

/// A block's tile: `count` outputs. The first `from_a` inputs in shared memory are those of a.
#[derive(Clone, Copy)]
struct MergeTile {
    /// The first output.
    first: u64,
    a_first: u64,
    b_first: u64,
    from_a: u32,
    count: u32,
}

impl MergeTile {
    /// The tile of this block. One barrier, unless there are splits.
    #[inline(always)]
    unsafe fn new<B: Bits, V: Value>(
        inputs: &Inputs<B>,
        splits: Option<In<u64>>,
        shared: Shared<B, V>,
    ) -> Self {
        let tile = thread::block_idx_x() as u64;
        let first = tile * TILE;
        let count = u64::min(TILE, inputs.a_len + inputs.b_len - first) as u32;
        let (a_first, a_end) = if splits.is_none() {
            // SAFETY: the whole block comes to the barrier, which stands between the warps that find the splits and
            // those that read them.
            unsafe {
                let warp = warp::warp_id();
                if warp < 2 {
                    let diagonal = first + if warp == 0 { 0 } else { count as u64 };
                    let split = inputs.split_by_warp(diagonal);
                    if warp::lane_id() == 0 {
                        shared.splits.store(warp, split);
                    }
                }
                thread::sync_threads();
                (shared.splits.load(0), shared.splits.load(1))
            }
        } else {
            splits.map_or((0, 0), |splits| (splits.get(tile), splits.get(tile + 1)))
        };
        // If arrays are not sorted, splits may fall; clamp them, so that reads stay in the arrays.
        let from_a = u64::min(a_end.saturating_sub(a_first), count as u64) as u32;
        Self { first, a_first, b_first: first - a_first, from_a, count }
    }

    /// The same part, made opaque to the compiler. What was derived from it for the keys is then derived again for the
    /// values; otherwise the compiler would keep it in registers.
    #[inline(always)]
    fn forgotten(self) -> Self {
        let (from_a, count) = (vector::unknown(self.from_a), vector::unknown(self.count));
        let a_first = vector::unknown_64(self.a_first);
        Self { from_a, count, a_first, b_first: self.first - a_first, ..self }
    }

    /// Whether the block has a whole tile. The same in all its threads.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.count == TILE as u32
    }

    /// Reads this thread's inputs, a block's width apart; `read` loads one from an address. Inputs beyond the last
    /// repeat the last. `none` only fills the array before.
    /// `none`. What is beyond the last is the last.
    #[inline(always)]
    fn load<T: Copy>(
        &self,
        (a, b): (In<T>, In<T>),
        none: T,
        read: impl Fn(u64) -> T,
    ) -> [T; ITEMS] {
        let mut inputs = [none; ITEMS];
        // Both starts are shifted so that an input's index in the tile is its offset.
        let a_start = a.wrapping_from(self.a_first).start() as u64;
        let b_start =
            b.wrapping_from(self.b_first).wrapping_from(-(self.from_a as i64)).start() as u64;
        let size = size_of::<T>() as u64;
        let me = thread::thread_idx_x();
        let is_whole = self.is_whole();
        let mut item = 0;
        while item < ITEMS {
            let place = me + (item * BLOCK) as u32;
            let place = if is_whole { place } else { u32::min(place, self.count - 1) };
            let is_of_a = place < self.from_a;
            let start = if is_of_a { a_start } else { b_start };
            // A tile has as many inputs as outputs, and there is one.
            let address = start + place as u64 * size;
            inputs[item] = read(if is_of_a { a.held(address) } else { b.held(address) });
            item += 1;
        }
        inputs
    }

    /// Writes outputs, a block's width apart, each given by its place in the tile.
    #[inline(always)]
    fn store<T: Copy>(&self, output: Out<T>, of_place: impl Fn(u32) -> T) {
        let me = thread::thread_idx_x();
        let output = output.wrapping_from(self.first).wrapping_from(me);
        let is_whole = self.is_whole();
        let mut item = 0;
        while item < ITEMS {
            let place = me + (item * BLOCK) as u32;
            if is_whole || place < self.count {
                output.set(item * BLOCK, of_place(place));
            }
            item += 1;
        }
    }

    /// How many of the tile's first `diagonal` outputs come from a.
    #[inline(always)]
    unsafe fn split<B: Bits>(&self, ranks: SharedArray<B>, diagonal: u32) -> u32 {
        let Self { from_a, count, .. } = *self;
        let mut low = diagonal.saturating_sub(count - from_a);
        let mut high = u32::min(diagonal, from_a);
        let b_end = (from_a + diagonal).wrapping_sub(1);
        while low < high {
            let middle = (low + high) / 2;
            // SAFETY: both places are among the tile's inputs.
            if unsafe { ranks.load(middle) <= ranks.load(b_end.wrapping_sub(middle)) } {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Merges this thread's outputs, and writes the places that they come from.
    #[inline(always)]
    unsafe fn merge<B: Bits, V: Value>(&self, shared: Shared<B, V>) -> [B; ITEMS] {
        let Shared { places, ranks, .. } = shared;
        let me = thread::thread_idx_x() * ITEMS as u32;
        let Self { from_a, count, .. } = *self;
        let diagonal = u32::min(me, count);
        // SAFETY: nobody writes the ranks meanwhile; there is room for those that would come next.
        unsafe {
            let mut at_a = self.split(ranks, diagonal);
            let mut at_b = from_a + diagonal - at_a;
            let (mut next_a, mut next_b) = (ranks.load(at_a), ranks.load(at_b));
            let mut merged = [B::ONES; ITEMS];
            let mut item = 0;
            while item < ITEMS {
                let a_wins = (next_a <= next_b) | (at_b >= count);
                let a_wins = a_wins & (at_a < from_a);
                merged[item] = if a_wins { next_a } else { next_b };
                if V::IS_THERE {
                    places.store(me + item as u32, if a_wins { at_a } else { at_b } as u16);
                }
                at_a += a_wins as u32;
                at_b += !a_wins as u32;
                let next = ranks.load(if a_wins { at_a } else { at_b });
                next_a = if a_wins { next } else { next_a };
                next_b = if a_wins { next_b } else { next };
                item += 1;
            }
            merged
        }
    }
}

/// Merges the keys of one tile. Other threads may still be reading shared memory when it returns.
/// `PLAIN`: the order is that of the bits, so that keys are their ranks.
#[inline(always)]
unsafe fn merge_keys<B: Bits, V: Value, const PLAIN: bool>(
    part: &MergeTile,
    shared: Shared<B, V>,
    inputs: &Inputs<B>,
    output: Out<B>,
) {
    let (ranks, order) = (shared.ranks, inputs.order);
    let me = thread::thread_idx_x();
    // SAFETY: barriers stand between what threads write and others read.
    unsafe {
        let none = B::from_bits64(0);
        let keys = part.load((inputs.a, inputs.b), none, |address| global::load(address));
        let mut item = 0;
        while item < ITEMS {
            let rank = if PLAIN { keys[item] } else { order.rank(keys[item]) };
            ranks.store(me + (item * BLOCK) as u32, rank);
            item += 1;
        }
        if me <= ITEMS as u32 {
            ranks.store(TILE as u32 + me, B::ONES);
        }
        thread::sync_threads();
        let merged = part.merge(shared);
        thread::sync_threads();
        let mut item = 0;
        while item < ITEMS {
            let key = if PLAIN { merged[item] } else { order.element(merged[item]) };
            ranks.store(me * ITEMS as u32 + item as u32, key);
            item += 1;
        }
        thread::sync_threads();
        part.store(output, |place| ranks.load(place));
    }
}

/// Writes the values of one tile to the places of their keys.
#[inline(always)]
unsafe fn merge_values<B: Bits, V: Value>(
    part: &MergeTile,
    shared: Shared<B, V>,
    Values { a, b, output }: Values<V>,
) {
    let Shared { places, values, .. } = shared;
    let me = thread::thread_idx_x();
    // SAFETY: barriers stand between what threads write and others read.
    unsafe {
        let inputs = part.load((a, b), V::of_index(0), |address| V::load_at(address));
        // The keys have been read; the values take their place in shared memory.
        thread::sync_threads();
        let mut item = 0;
        while item < ITEMS {
            values.store(me + (item * BLOCK) as u32, inputs[item]);
            item += 1;
        }
        thread::sync_threads();
        part.store(output, |place| values.load(places.load(place) as u32));
    }
}

/// Merges keys and, if there are any, their values with them. Grid: one block a tile of [`TILE`]
/// outputs.
///
/// # Safety
/// The arrays are as [`Arrays`] says, the output is as long as both together, and apart. `splits`, if there are any,
/// are those of the arrays. The values, if there are any, are as [`Values`] says.
#[kernel(block = BLOCK, carve = |carver| Shared::<B, V>::new(carver), instances(
    keys_u8: <(), u8>, resident = 8;
    keys_u16: <(), u16>, resident = 8;
    keys_u32: <(), u32>, resident = 8;
    keys_u64: <(), u64>, resident = 5;
    pairs_u8_u32: <u32, u8>, resident = 5;
    pairs_u16_u32: <u32, u16>, resident = 6;
    pairs_u32_u32: <u32, u32>, resident = 6;
    pairs_u64_u32: <u32, u64>, resident = 5;
    pairs_u8_u64: <u64, u8>, resident = 4;
    pairs_u16_u64: <u64, u16>, resident = 4;
    pairs_u32_u64: <u64, u32>, resident = 6;
    pairs_u64_u64: <u64, u64>, resident = 5;
))]
pub unsafe fn merge<V: Value, B: Bits>(
    arrays: Arrays<'_, B>,
    splits: Option<In<'_, u64>>,
    output: Out<'_, B>,
    values: Values<'_, V>,
) {
    let inputs = Inputs::new(arrays);
    let shared = Shared::<B, V>::new(&mut Carver::new());
    // SAFETY: the whole block comes here and takes the same branches.
    unsafe {
        let part = MergeTile::new(&inputs, splits, shared);
        match inputs.order.is_plain() {
            true => merge_keys::<B, V, true>(&part, shared, &inputs, output),
            false => merge_keys::<B, V, false>(&part, shared, &inputs, output),
        }
        if V::IS_THERE {
            merge_values(&part.forgotten(), shared, values);
        }
    }
}

device_std::ptx_module! { "merge" }
