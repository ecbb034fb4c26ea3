//! Totals of runs within one tile, in the order of stretches: what the kernels that reduce runs and
//! segments share.
//!
//! A tile lies in shared memory. Each of the block's threads has a stretch: elements that follow each other. A warp's
//! stretches are its part of the tile. Only the warp touches its part, so the block needs no barrier before its warps
//! exchange their sums. A head begins a run. Each head has a slot, in the order of heads within the warp. The slot
//! receives the total of the run *before* the head:
//!
//! 1. [`Exchange::count_heads`]: how many heads there are. The warp that counts last knows.
//! 2. [`Stash::walk`]: a thread adds up its stretch from head to head. The sum before its first head stays in that
//!    head's slot, and lacks the part of earlier threads.
//! 3. [`Ends::scan_warp`]: what comes before each thread in its warp, by shuffles.
//! 4. [`Exchange::take`]: what comes before each warp in its tile, and how many heads do.
//! 5. [`Stash::complete`]: the thread adds what comes before it in the tile to its first slot.
//!
//! Then only the tile's first slot is incomplete: it lacks the end of the tiles before. The warp with that slot looks
//! back for it, and no other warp waits.
//!
//! A stretch is an odd number of vectors if possible, so that the threads of a warp read from different banks.

use core::marker::PhantomData;

use device_std::scalar::Scalar;
use device_std::shared::{Carver, Plain, SharedArray};
use device_std::slice::Bytes;
use device_std::vector::{self, Vector};
use device_std::{In, thread, warp};

use crate::primitives::operators::{Operator, Partial};

/// Threads of a block.
pub const BLOCK: usize = 256;
pub(super) const WARPS: u32 = BLOCK as u32 / 32;

/// Elements that a thread reads from shared memory at once.
const CHUNK: usize = 4;

/// A tile of an array in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Stash<T, const STRETCH: usize> {
    vectors: SharedArray<Vector>,
    element: PhantomData<T>,
}

impl<T: Plain, const STRETCH: usize> Stash<T, STRETCH> {
    /// Elements of a warp's part, and of a tile.
    pub(super) const PART: u32 = 32 * STRETCH as u32;
    pub(super) const TILE: u64 = (BLOCK * STRETCH) as u64;
    /// Vectors of a warp's part.
    const VECTORS: u32 = Self::PART * size_of::<T>() as u32 / vector::BYTES as u32;

    #[inline(always)]
    pub(super) const fn new(carver: &mut Carver) -> Self {
        Self { vectors: carver.array(Self::VECTORS * WARPS), element: PhantomData }
    }
}

impl<T: Scalar, const STRETCH: usize> Stash<T, STRETCH> {
    /// The element of the tile with which the thread's warp's part begins.
    #[inline(always)]
    pub(super) fn part() -> u32 {
        warp::warp_id() * Self::PART
    }

    /// Begins to copy the warp's part of a tile; what lies beyond the array is `fill`. After
    /// [`wait_for_copies`](device_std::shared::wait_for_copies) and a barrier of the warp it is
    /// there.
    ///
    /// # Safety
    /// The whole warp comes here, and nobody touches its part of the stash before that.
    #[inline(always)]
    pub(super) unsafe fn fill(&self, array: In<T>, tile: u64, len: u64, fill: T) {
        let start = tile * Self::TILE + Self::part() as u64;
        let lane = warp::lane_id();
        // The condition is the same in the whole block.
        if (tile + 1) * Self::TILE <= len && vector::is_aligned(array.start()) {
            let from = array.from(start);
            let mut i = 0;
            while i < Self::VECTORS.div_ceil(32) {
                let v = i * 32 + lane;
                if Self::VECTORS.is_multiple_of(32) || v < Self::VECTORS {
                    let to = warp::warp_id() * Self::VECTORS + v;
                    let from = from.address(Bytes(v as usize * vector::BYTES), T::LANES);
                    // SAFETY: the tile is whole, and its parts begin at multiples of 16 bytes.
                    unsafe { self.vectors.copy_from(to, from.cast()) };
                }
                i += 1;
            }
            return;
        }
        let mut i = 0;
        while i < vector::unknown(STRETCH as u32) {
            let at = i * 32 + lane;
            let index = start + at as u64;
            let element = if index < len { array.get(index) } else { fill };
            // SAFETY: the element of the stash is the thread's own.
            unsafe { self.store(Self::part() + at, element) };
            i += 1;
        }
    }

    /// The thread's stretch.
    ///
    /// # Safety
    /// The warp's part is there, and no thread of the warp writes it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn stretch(&self) -> [T; STRETCH]
    where
        T: Default,
    {
        let mut stretch = [T::default(); STRETCH];
        let first = thread::thread_idx_x() * (STRETCH / CHUNK) as u32;
        let mut chunk = 0;
        while chunk < STRETCH / CHUNK {
            // SAFETY: the warp's part is there, by the caller's promise.
            let elements = unsafe { self.chunk(first + chunk as u32) };
            let mut i = 0;
            while i < CHUNK {
                stretch[chunk * CHUNK + i] = elements[i];
                i += 1;
            }
            chunk += 1;
        }
        stretch
    }

    /// Four elements that follow each other.
    #[inline(always)]
    unsafe fn chunk(&self, index: u32) -> [T; CHUNK] {
        // SAFETY: the chunk is in the stash.
        unsafe {
            let (low, high) = match size_of::<T>() {
                1 => ([self.vectors.as_elements::<u32>().load(index), 0, 0, 0], [0; 4]),
                2 => {
                    let bits = self.vectors.as_elements::<u64>().load(index);
                    ([bits as u32, (bits >> 32) as u32, 0, 0], [0; 4])
                }
                4 => (self.vectors.load(index), [0; 4]),
                _ => (self.vectors.load(2 * index), self.vectors.load(2 * index + 1)),
            };
            match size_of::<T>() {
                8 => [T::lane(low, 0), T::lane(low, 1), T::lane(high, 0), T::lane(high, 1)],
                _ => [T::lane(low, 0), T::lane(low, 1), T::lane(low, 2), T::lane(low, 3)],
            }
        }
    }

    /// Element `at` of the tile.
    ///
    /// # Safety
    /// As for [`SharedArray::load`].
    #[inline(always)]
    pub(super) unsafe fn load(&self, at: u32) -> T {
        // SAFETY: the place and the order of accesses are the caller's promise.
        unsafe { self.vectors.as_elements::<T>().load(at) }
    }

    /// Sets element `at` of the tile.
    ///
    /// # Safety
    /// As for [`SharedArray::store`].
    #[inline(always)]
    pub(super) unsafe fn store(&self, at: u32, element: T) {
        // SAFETY: as for `load`.
        unsafe { self.vectors.as_elements::<T>().store(at, element) }
    }

    /// Adds up the thread's stretch from head to head. Writes the sum before each head to the slots from `slot` on, and
    /// returns the sum after the last head.
    ///
    /// If the stretch begins with a head, there is no sum before it, and the slot is left as it is.
    ///
    /// # Safety
    /// The whole warp comes here, and its part is there; the slots are the thread's own.
    #[inline(always)]
    pub(super) unsafe fn walk<O: Operator<T>>(&self, operator: O, heads: u32, slot: u32) -> T
    where
        T: Default,
    {
        // SAFETY: the warp has read its part before totals are put there.
        unsafe {
            let stretch = self.stretch();
            warp::sync_warp(warp::FULL);
            let mut to = slot + (heads & 1);
            let mut sum = operator.lift(stretch[0]);
            let mut i = 1;
            while i < STRETCH {
                let element = operator.lift(stretch[i]);
                let with = operator.combine(sum, element);
                let bit = heads >> i & 1;
                let is_head = bit == 1;
                if is_head {
                    self.store(to, sum);
                }
                to += bit;
                sum = if is_head { element } else { with };
                i += 1;
            }
            sum
        }
    }

    /// Adds the thread's prefix in its tile to the total in its first head's slot.
    ///
    /// # Safety
    /// After [`walk`](Self::walk) with the same heads and slot.
    #[inline(always)]
    pub(super) unsafe fn complete<O: Operator<T>>(
        &self,
        operator: O,
        heads: u32,
        slot: u32,
        before: T,
    ) {
        // Nothing comes before the tile's first thread.
        if heads != 0 && thread::thread_idx_x() != 0 {
            // SAFETY: the slot is the thread's own.
            unsafe {
                let stands = self.load(slot);
                let with = operator.combine(before, stands);
                self.store(slot, if heads & 1 == 1 { before } else { with });
            }
        }
    }
}

/// The prefix of a thread in its warp, and the end of the warp.
#[derive(Clone, Copy)]
pub(super) struct Ends<T> {
    below: Partial<T>,
    of_warp: T,
}

impl<T: Scalar> Ends<T> {
    /// Scans the ends of the stretches of a warp; `has_head` says whether a stretch has a head.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    pub(super) unsafe fn scan_warp<O: Operator<T>>(operator: O, end: T, has_head: bool) -> Self {
        // SAFETY: the whole warp is here, by the caller's promise.
        unsafe {
            let with_head = warp::ballot(warp::FULL, has_head);
            let start = warp::segment_start(with_head);
            let combine = |a, b| operator.combine(a, b);
            let inclusive = warp::inclusive_scan_from(start, end, combine);
            let value = warp::shuffle_up(warp::FULL, inclusive, 1);
            let closed = with_head & warp::lanes_below() != 0;
            let of_warp = warp::shuffle(warp::FULL, inclusive, 31);
            Self { below: Partial { value, closed }, of_warp }
        }
    }
}

/// Shared memory by which the warps of a block exchange their numbers of heads and their ends.
#[derive(Clone, Copy)]
pub(super) struct Exchange<T> {
    ends: SharedArray<T>,
    heads: SharedArray<u32>,
    /// The heads of the warps that have counted theirs, and from bit [`ARRIVALS`] on how many have.
    counter: SharedArray<u32>,
}

/// A tile has fewer heads than this bit counts.
const ARRIVALS: u32 = 16;

/// A tile, as seen by a warp of it.
#[derive(Clone, Copy)]
pub(super) struct Place<T> {
    /// The end of the warps before; nothing for warp 0.
    before: Partial<T>,
    /// Heads of the warps before.
    pub(super) heads_before: u32,
    /// The end of the tile.
    pub(super) of_tile: Partial<T>,
    /// Heads of the tile.
    pub(super) heads: u32,
    /// The first warp that has a head; 0 where none has.
    pub(super) first_with_head: u32,
}

impl<T: Scalar> Exchange<T> {
    #[inline(always)]
    pub(super) const fn new(carver: &mut Carver) -> Self {
        Self { ends: carver.array(WARPS), heads: carver.array(WARPS), counter: carver.array(1) }
    }

    /// Begins a tile; a barrier comes after.
    ///
    /// # Safety
    /// The whole block comes here, once.
    #[inline(always)]
    pub(super) unsafe fn begin(&self) {
        if thread::thread_idx_x() == 0 {
            // SAFETY: no other thread touches it before the barrier.
            unsafe { self.counter.store(0, 0) };
        }
    }

    /// Publishes the number of the warp's heads. The warp that comes last gets the number of the tile: no warp waits
    /// for another.
    ///
    /// # Safety
    /// The whole warp comes here, once, after [`begin`](Self::begin) and a barrier.
    #[inline(always)]
    pub(super) unsafe fn count_heads(&self, of_warp: u32) -> Option<u32> {
        let mut before = 0;
        // SAFETY: each warp writes its own element; the counter is touched by atomics only.
        let before = unsafe {
            if warp::lane_id() == 0 {
                self.heads.store(warp::warp_id(), of_warp);
                before = self.counter.atomic_add(0, 1 << ARRIVALS | of_warp);
            }
            warp::shuffle(warp::FULL, before, 0)
        };
        let is_last = before >> ARRIVALS == WARPS - 1;
        let of_tile = (before & ((1 << ARRIVALS) - 1)) + of_warp;
        if is_last { Some(of_tile) } else { None }
    }

    /// Publishes the end of the warp, and reads what the other warps published. One barrier.
    ///
    /// # Safety
    /// The whole block comes here, once, after [`count_heads`](Self::count_heads).
    #[inline(always)]
    pub(super) unsafe fn take<O: Operator<T>>(&self, operator: O, ends: &Ends<T>) -> Place<T> {
        // SAFETY: each warp writes its own elements; the barrier stands between writes and reads.
        unsafe {
            if warp::lane_id() == 0 {
                self.ends.store(warp::warp_id(), ends.of_warp);
            }
            thread::sync_threads();
            let first = self.heads.load(0);
            let end = Partial { value: self.ends.load(0), closed: first != 0 };
            let mut place = Place {
                before: end,
                heads_before: 0,
                of_tile: end,
                heads: first,
                first_with_head: 0,
            };
            let mut warp = 1;
            while warp < WARPS {
                if warp == warp::warp_id() {
                    place.before = place.of_tile;
                    place.heads_before = place.heads;
                }
                let heads = self.heads.load(warp);
                if place.heads == 0 && heads != 0 {
                    place.first_with_head = warp;
                }
                let next = Partial { value: self.ends.load(warp), closed: heads != 0 };
                place.of_tile = place.of_tile.then(operator, next);
                place.heads += heads;
                warp += 1;
            }
            place
        }
    }
}

impl<T: Scalar> Place<T> {
    /// The prefix of the thread's stretch in its tile, since the last head; nothing for the first thread.
    #[inline(always)]
    pub(super) fn before_thread<O: Operator<T>>(&self, operator: O, ends: &Ends<T>) -> T {
        let with_lanes = self.before.then(operator, ends.below).value;
        let within = if warp::warp_id() == 0 { ends.below.value } else { with_lanes };
        if warp::lane_id() == 0 { self.before.value } else { within }
    }
}
