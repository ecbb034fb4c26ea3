//! The ways to count in shared memory: each finds the slots of elements, and says where they are counted.

use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{In, arguments, thread, warp};

use super::bounds::Bounds;
use super::counters::{Clearing, Counts, clear, total, total_of_lanes};
use super::slots::{Places, search};
use super::{BLOCK, BOUNDS_OF_BYTES, BYTES, COPIES_OF_BYTES, OUTSIDE, ROWS, Shared, tile_len};
use crate::primitives::operators::{Bits, Order};

/// The line that gives an element's place among equal bins: see [`Places`].
#[arguments]
pub struct Line {
    /// The bits of the lowest bound.
    pub lower: u64,
    /// The slope.
    pub scale: f32,
    /// The place of 0.
    pub shift: f32,
}

/// The input of a block, its bounds and its counters.
#[derive(Clone, Copy)]
pub struct Call<'a, B> {
    pub(super) tiles: Tiles<'a, B>,
    /// The thread's vectors of the block's first tile.
    pub(super) first: [Vector; ROWS],
    pub(super) bounds: Bounds<'a, B>,
    pub(super) copies: u32,
    pub(super) order: Order<B>,
    pub(super) line: Line,
    pub(super) counts: Counts<'a>,
    pub(super) clearing: Clearing<'a>,
    pub(super) shared: Shared<B>,
}

/// A method of counting. A thread finds the slots of `SIDE` elements of a vector side by side.
pub trait Method<B> {
    /// Counts the tiles of the block.
    ///
    /// # Safety
    /// As the kernel says.
    unsafe fn count<const SIDE: usize>(call: &Call<B>);
}

/// Counts bytes by value, and then assigns the counts to bins.
#[derive(Clone, Copy)]
pub struct Bytes;
/// Finds slots by a search.
#[derive(Clone, Copy)]
pub struct Search;
/// Computes the slots of integers in equal bins.
#[derive(Clone, Copy)]
pub struct EvenIntegers;
/// Computes the slots of floats in equal bins.
#[derive(Clone, Copy)]
pub struct EvenFloats;

impl Method<u8> for Bytes {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<u8>) {
        let Call { bounds, order, counts, clearing, shared, .. } = *call;
        let Shared { ranks, counters, .. } = shared;
        let bins = counts.bins as u32;
        let is_few = bins < BOUNDS_OF_BYTES;
        // SAFETY: indices stay below the arrays' lengths; barriers stand between the phases.
        unsafe {
            if is_few {
                call.make_bounds();
            }
            clear(counters, COPIES_OF_BYTES * BYTES);
            thread::sync_threads();
            clearing.announce();
            let mine = counters.skip(warp::lane_id());
            call.tiles.for_each_slot::<SIDE>(
                call.first,
                |elements| elements.map(u32::from),
                |value| mine.count(value * COPIES_OF_BYTES),
            );
            clearing.wait();
            // A thread for each value.
            let value = thread::thread_idx_x();
            if value >= BYTES {
                return;
            }
            let sum = total_of_lanes(counters, value);
            let [slot] = match is_few {
                true => search(order, [value as u8], |i| ranks.load(i), bins),
                false => search(order, [value as u8], |i| bounds.rank(order, i as u64), bins),
            };
            if sum != 0 {
                counts.add(slot, sum);
            }
        }
    }
}

impl<B: Bits> Method<B> for Search {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<B>) {
        let (order, bins, ranks) = (call.order, call.counts.bins as u32, call.shared.ranks);
        // SAFETY: the whole block is here, by the caller's promise; the search stays among the bounds.
        unsafe {
            call.in_shared::<SIDE>(|elements| search(order, elements, |i| ranks.load(i), bins))
        }
    }
}

impl<B: Bits> Method<B> for EvenIntegers {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<B>) {
        let order = call.order;
        let lower = order.rank(B::from_bits64(call.line.lower));
        let value = |element: B| {
            let rank = order.rank(element);
            let above = rank.minus(lower).to_bits64() as f32;
            if rank < lower { f32::NEG_INFINITY } else { above }
        };
        // Bounds are rounded up to integers.
        // SAFETY: the whole block is here, by the caller's promise.
        unsafe { call.in_even_bins::<SIDE>(value, 2.0) }
    }
}

/// The error of bounds and places, in units. Bounds, the scale and the shift are rounded to floats, each by 2^-24 of
/// the end with the greater magnitude. That end is at most all bins from the lower end, and the lower end is `lower`
/// from zero.
#[inline(always)]
fn error_of_bounds(lower: f32) -> f32 {
    lower.abs() / (1 << 21) as f32
}

impl Method<u32> for EvenFloats {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<u32>) {
        let lower = f32::from_bits(call.line.lower as u32);
        // SAFETY: the whole block is here, by the caller's promise.
        unsafe { call.in_even_bins::<SIDE>(f32::from_bits, error_of_bounds(lower)) }
    }
}

impl Method<u64> for EvenFloats {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<u64>) {
        let lower = f64::from_bits(call.line.lower);
        let value = |bits| (f64::from_bits(bits) - lower) as f32;
        // SAFETY: the whole block is here, by the caller's promise.
        unsafe { call.in_even_bins::<SIDE>(value, error_of_bounds(lower as f32)) }
    }
}

impl<B: Bits> Call<'_, B> {
    /// Makes the bounds in shared memory; a barrier comes next.
    #[inline(always)]
    unsafe fn make_bounds(&self) {
        let mut i = thread::thread_idx_x();
        while i < self.counts.bins as u32 + 1 {
            // SAFETY: guarded by the length.
            unsafe { self.shared.ranks.store(i, self.bounds.rank(self.order, i as u64)) };
            i += BLOCK as u32;
        }
    }

    /// Counts in equal bins: the bounds are as `value` gives them up to `error`.
    #[inline(always)]
    unsafe fn in_even_bins<const SIDE: usize>(&self, value: impl Fn(B) -> f32, error: f32) {
        let (order, Line { scale, shift, .. }) = (self.order, self.line);
        let (bins, ranks) = (self.counts.bins as u32, self.shared.ranks);
        let error = error * scale * (bins + 1) as f32;
        let places = Places::new(value, (scale, shift), bins, error);
        // SAFETY: the whole block is here, by the caller's promise; bounds are looked up by the slots beside them.
        unsafe {
            self.in_shared::<SIDE>(|elements| places.slots(order, elements, |i| ranks.load(i)))
        }
    }

    /// Counts by slots that `slots_of` finds among the bounds in shared memory.
    #[inline(always)]
    unsafe fn in_shared<const SIDE: usize>(&self, slots_of: impl Fn([B; SIDE]) -> [u32; SIDE]) {
        let Self { copies, counts, clearing, .. } = *self;
        let counters = self.shared.counters;
        let slots = counts.bins as u32 + OUTSIDE as u32;
        // SAFETY: indices stay below the arrays' lengths; barriers stand between the phases.
        unsafe {
            self.make_bounds();
            clear(counters, copies * slots);
            thread::sync_threads();
            clearing.announce();
            // Copies are a power of two.
            let mine = counters.skip((warp::warp_id() & (copies - 1)) * slots);
            self.tiles.for_each_slot::<SIDE>(self.first, slots_of, |slot| mine.count(slot));
            clearing.wait();
            let mut slot = thread::thread_idx_x();
            while slot < slots {
                let sum = total(counters, slot, (copies, slots));
                if sum != 0 {
                    counts.add(slot, sum);
                }
                slot += BLOCK as u32;
            }
        }
    }
}

/// An array in tiles, which blocks take in turn.
#[arguments]
pub struct Tiles<'a, B> {
    /// `len` of them.
    pub input: In<'a, B>,
    /// How many there are.
    pub len: u64,
}

impl<B: Bits> Tiles<'_, B> {
    #[inline(always)]
    fn tile(&self, index: u64) -> Tile<B, ROWS> {
        Tile::new::<BLOCK>(index, self.len, false)
    }

    /// The thread's vectors of a tile, whether the tile exists or not.
    #[inline(always)]
    pub(super) fn load(&self, index: u64) -> [Vector; ROWS] {
        self.tile(index).load(self.input, B::ONES)
    }

    /// Calls `count` with the slot of each element in the tiles of this block; the first of these tiles is loaded in
    /// `first`. `slots_of` gives the slots of some of a vector's elements.
    #[inline(always)]
    pub(super) fn for_each_slot<const SIDE: usize>(
        &self,
        first: [Vector; ROWS],
        slots_of: impl Fn([B; SIDE]) -> [u32; SIDE],
        mut count: impl FnMut(u32),
    ) {
        let tiles = self.len.div_ceil(tile_len(size_of::<B>()));
        let mut index = thread::block_idx_x() as u64;
        let mut rows = first;
        while index < tiles {
            let tile = self.tile(index);
            let mut row = 0;
            // The condition is the same in the whole block, and saves a test for each element.
            if tile.is_whole() {
                while row < ROWS {
                    count_vector(rows[row], B::LANES as u32, &slots_of, &mut count);
                    row += 1;
                }
            } else {
                while row < ROWS {
                    let present = tile.valid(tile.element(row));
                    count_vector(rows[row], present, &slots_of, &mut count);
                    row += 1;
                }
            }
            index += thread::grid_dim_x() as u64;
            if index < tiles {
                rows = self.load(index);
            }
        }
    }
}

/// Counts the first `present` elements of a vector.
#[inline(always)]
fn count_vector<B: Bits, const SIDE: usize>(
    vector: Vector,
    present: u32,
    slots_of: &impl Fn([B; SIDE]) -> [u32; SIDE],
    count: &mut impl FnMut(u32),
) {
    let mut lane = 0;
    while lane < B::LANES {
        let mut elements = [B::ONES; SIDE];
        let mut i = 0;
        while i < SIDE {
            elements[i] = B::lane(vector, lane + i);
            i += 1;
        }
        let slots = slots_of(elements);
        let mut i = 0;
        while i < SIDE {
            if ((lane + i) as u32) < present {
                count(slots[i]);
            }
            i += 1;
        }
        lane += SIDE;
    }
}
