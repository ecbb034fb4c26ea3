//! The ways to count: each finds the slots of elements, and says where they are counted.

use device_std::tile::Tile;
use device_std::{shared::Carver, thread, warp};

use super::counters::{Counts, Run, clear, total};
use super::slots::{Places, search};
use super::{BLOCK, BYTES, OUTSIDE, ROWS, Shared, tile_len};
use crate::primitives::operators::{Bits, Order};

/// What a block counts, and how.
#[derive(Clone, Copy)]
pub struct Call<B> {
    pub(super) input: *const B,
    pub(super) len: u64,
    pub(super) ranks: *const B,
    pub(super) copies: u32,
    pub(super) order: Order<B>,
    pub(super) lower: u64,
    pub(super) scale: f32,
    pub(super) counts: Counts,
}

/// A way to count. A thread looks for the slots of `SIDE` elements of a vector side by side.
pub trait Method<B> {
    /// Counts the tiles of the block.
    ///
    /// # Safety
    /// As the kernel says.
    unsafe fn count<const SIDE: usize>(call: &Call<B>);
}

/// Bytes by value; then the counts are brought to bins.
#[derive(Clone, Copy)]
pub struct Bytes;
/// By a search, in shared memory.
#[derive(Clone, Copy)]
pub struct Search;
/// Integers in equal bins, in shared memory.
#[derive(Clone, Copy)]
pub struct EvenIntegers;
/// Floats in equal bins, in shared memory.
#[derive(Clone, Copy)]
pub struct EvenFloats;
/// By a search, in global memory.
#[derive(Clone, Copy)]
pub struct Global;

impl Method<u8> for Bytes {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<u8>) {
        let Call { ranks, copies, order, counts, .. } = *call;
        let bins = counts.bins as u32;
        let counters = Shared::<u8>::new(&mut Carver::new(), bins, copies).counters;
        // SAFETY: indices stay below the arrays' lengths; barriers stand between the phases.
        unsafe {
            clear(counters, copies * BYTES);
            thread::sync_threads();
            let mine = (warp::warp_id() & (copies - 1)) * BYTES;
            call.for_each_slot::<SIDE>(
                |elements| elements.map(u32::from),
                |value| counters.count(mine + value),
            );
            thread::sync_threads();
            // A thread for each value.
            let value = thread::thread_idx_x();
            let sum = total(counters, value, (copies, BYTES));
            let [slot] = search(order, [value as u8], |i| *ranks.add(i as usize), bins);
            if sum != 0 {
                counts.add(slot, sum);
            }
        }
    }
}

impl<B: Bits> Method<B> for Search {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<B>) {
        let (order, bins) = (call.order, call.counts.bins as u32);
        // SAFETY: passed on to the caller; the search stays among the bounds.
        unsafe {
            call.in_shared::<SIDE>(|elements, shared| {
                search(order, elements, |i| shared.ranks.load(i), bins)
            })
        }
    }
}

impl<B: Bits> Method<B> for EvenIntegers {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<B>) {
        let Call { order, scale, .. } = *call;
        let lower = order.rank(B::from_bits64(call.lower));
        let place = |element: B| {
            let rank = order.rank(element);
            let above = rank.minus(lower).to_bits64() as f32 * scale;
            if rank < lower { -1.0 } else { above }
        };
        // Bounds are rounded up to integers.
        // SAFETY: passed on to the caller.
        unsafe { call.in_even_bins::<SIDE>(place, 2.0 * scale) }
    }
}

/// How far bounds may be off, in bins: they are rounded to floats, by 2^-24 of the greater end, which
/// is at most all bins from the lower one and that from zero.
#[inline(always)]
fn error_of_bounds(lower: f32, scale: f32) -> f32 {
    f32::max(lower, -lower) * scale / (1 << 21) as f32
}

impl Method<u32> for EvenFloats {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<u32>) {
        let (lower, scale) = (f32::from_bits(call.lower as u32), call.scale);
        let place = |bits| (f32::from_bits(bits) - lower) * scale;
        // SAFETY: passed on to the caller.
        unsafe { call.in_even_bins::<SIDE>(place, error_of_bounds(lower, scale)) }
    }
}

impl Method<u64> for EvenFloats {
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<u64>) {
        let (lower, scale) = (f64::from_bits(call.lower), call.scale);
        let place = |bits| (f64::from_bits(bits) - lower) as f32 * scale;
        // SAFETY: passed on to the caller.
        unsafe { call.in_even_bins::<SIDE>(place, error_of_bounds(lower as f32, scale)) }
    }
}

impl<B: Bits> Method<B> for Global {
    /// A thread that finds a slot several times in a row counts first and adds once.
    #[inline(always)]
    unsafe fn count<const SIDE: usize>(call: &Call<B>) {
        let Call { ranks, order, counts, .. } = *call;
        let mut run = Run::new();
        // SAFETY: indices of bounds stay at most at the number of bins, and slots are counters.
        unsafe {
            let add = |slot, count| counts.add(slot, count as u64);
            call.for_each_slot::<SIDE>(
                |elements| search(order, elements, |i| *ranks.add(i as usize), counts.bins as u32),
                |slot| run.count(slot, &add),
            );
            run.flush(&add);
        }
    }
}

impl<B: Bits> Call<B> {
    /// Counts in shared memory, in equal bins: the place of an element in bins from the lowest bound on
    /// is known up to `error`.
    #[inline(always)]
    unsafe fn in_even_bins<const SIDE: usize>(&self, place: impl Fn(B) -> f32, error: f32) {
        let order = self.order;
        let places = Places::new(place, self.counts.bins as u32, error);
        // SAFETY: passed on to the caller; bounds are looked up by the slots beside them.
        unsafe {
            self.in_shared::<SIDE>(|elements, shared| {
                places.slots(order, elements, |i| shared.ranks.load(i))
            })
        }
    }

    /// Counts in shared memory; `slots_of` finds slots among the bounds there.
    #[inline(always)]
    unsafe fn in_shared<const SIDE: usize>(
        &self,
        slots_of: impl Fn([B; SIDE], Shared<B>) -> [u32; SIDE],
    ) {
        let Self { copies, counts, .. } = *self;
        let bins = counts.bins as u32;
        let slots = bins + OUTSIDE as u32;
        let shared = Shared::<B>::new(&mut Carver::new(), bins, copies);
        let Shared { ranks, counters } = shared;
        // SAFETY: indices stay below the arrays' lengths; barriers stand between the phases.
        unsafe {
            let mut i = thread::thread_idx_x();
            while i < bins + 1 {
                ranks.store(i, *self.ranks.add(i as usize));
                i += BLOCK as u32;
            }
            clear(counters, copies * slots);
            thread::sync_threads();
            // Copies are a power of two.
            let mine = (warp::warp_id() & (copies - 1)) * slots;
            self.for_each_slot::<SIDE>(
                |elements| slots_of(elements, shared),
                |slot| counters.count(mine + slot),
            );
            thread::sync_threads();
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

    /// Calls `count` with the slot of each element in the tiles of this block: `slots_of` gives the
    /// slots of some of a vector's elements.
    #[inline(always)]
    unsafe fn for_each_slot<const SIDE: usize>(
        &self,
        slots_of: impl Fn([B; SIDE]) -> [u32; SIDE],
        mut count: impl FnMut(u32),
    ) {
        let Self { input, len, .. } = *self;
        let tiles = len.div_ceil(tile_len(size_of::<B>()));
        let mut index = thread::block_idx_x() as u64;
        while index < tiles {
            let tile = Tile::<B, ROWS>::new::<BLOCK>(index, len, false);
            // SAFETY: passed on to the caller.
            let rows = unsafe { tile.load(input, B::ONES) };
            let mut row = 0;
            while row < ROWS {
                let present = tile.valid(tile.element(row));
                let mut lane = 0;
                while lane < B::LANES {
                    let mut elements = [B::ONES; SIDE];
                    let mut i = 0;
                    while i < SIDE {
                        elements[i] = B::lane(rows[row], lane + i);
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
                row += 1;
            }
            index += thread::grid_dim_x() as u64;
        }
    }
}
