//! Counters: the result's in global memory, a block's copies in shared memory, and a thread's own.

use device_std::lookback::Ticket;
use device_std::shared::SharedArray;
use device_std::{Out, arguments, atomic, thread};

use super::{BLOCK, COPIES_OF_BYTES, OUTSIDE};

/// Where the counts go.
#[arguments]
pub struct Counted<'a> {
    /// One for each bin, if there are no `long_words`.
    pub words: Out<'a, u32>,
    /// One for each bin.
    pub long_words: Option<Out<'a, u64>>,
    /// [`OUTSIDE`] counters, for elements in no bin.
    pub outside: Out<'a, u64>,
}

/// The counters of the bins and of the others.
#[derive(Clone, Copy)]
pub(super) struct Counts<'a> {
    pub(super) counted: Counted<'a>,
    pub(super) bins: u64,
}

impl Counts<'_> {
    /// Adds to a slot.
    #[inline(always)]
    pub(super) fn add(&self, slot: u32, count: u64) {
        let Counted { words, long_words, outside } = self.counted;
        let (bins, bin) = (self.bins as u32, slot.wrapping_sub(1));
        if bin < bins {
            match long_words {
                None => words.fetch_add(bin, count as u32) as u64,
                Some(long_words) => long_words.fetch_add(bin, count),
            };
        } else {
            let which = if slot == 0 { 0 } else { slot - bins };
            outside.fetch_add(which, count);
        }
    }

    /// Sets counter `i` of the bins and of the others to zero.
    #[inline(always)]
    pub(super) fn clear(&self, i: u64) {
        let Counted { words, long_words, outside } = self.counted;
        if i < self.bins {
            match long_words {
                None => words.set(i, 0),
                Some(long_words) => long_words.set(i, 0),
            }
        }
        if i < OUTSIDE {
            outside.set(i, 0);
        }
    }
}

/// Sets the counts to zero, by the block with the first ticket. That block runs before any that could wait for it.
#[derive(Clone, Copy)]
pub(super) struct Clearing<'a> {
    /// The epoch of the last launch whose counts are zero.
    pub(super) cleared: Out<'a, u64>,
    pub(super) ticket: Ticket,
}

impl Clearing<'_> {
    /// Sets the counts to zero, if this block has the first ticket; a barrier comes next.
    #[inline(always)]
    pub(super) fn begin(&self, counts: &Counts) {
        let mut i = thread::thread_idx_x() as u64;
        while self.ticket.tile == 0 && i < u64::max(counts.bins, OUTSIDE) {
            counts.clear(i);
            i += BLOCK as u64;
        }
    }

    /// Tells the other blocks; after [`begin`](Self::begin) and a barrier.
    #[inline(always)]
    pub(super) fn announce(&self) {
        if self.ticket.tile == 0 && thread::thread_idx_x() == 0 {
            atomic::fence();
            // SAFETY: the word is in the slice, and touched by atomics alone.
            unsafe { atomic::store_u64(self.cleared.address(0u32, 1), self.ticket.epoch) };
        }
    }

    /// Waits until the counts are zero, and for the block. One barrier.
    #[inline(always)]
    pub(super) unsafe fn wait(&self) {
        // SAFETY: as for `announce`; the whole block comes to the barrier, by the caller's promise.
        unsafe {
            if thread::thread_idx_x() == 0 {
                while atomic::load_u64(self.cleared.address(0u32, 1)) != self.ticket.epoch {
                    thread::pause();
                }
            }
            thread::sync_threads();
        }
        atomic::fence();
    }
}

/// Counts a slot that comes again and again.
pub(super) struct Run {
    slot: u32,
    count: u32,
}

impl Run {
    const NO_SLOT: u32 = u32::MAX;

    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { slot: Self::NO_SLOT, count: 0 }
    }

    /// Counts `slot`. If the run was of another slot, first adds that slot's count to its counter.
    #[inline(always)]
    pub(super) fn count(&mut self, slot: u32, add: &impl Fn(u32, u32)) {
        if slot != self.slot {
            self.flush(add);
            *self = Self { slot, count: 0 };
        }
        self.count += 1;
    }

    #[inline(always)]
    pub(super) fn flush(&self, add: &impl Fn(u32, u32)) {
        if self.slot != Self::NO_SLOT {
            add(self.slot, self.count);
        }
    }
}

/// Sets some counters in shared memory to zero.
#[inline(always)]
pub(super) unsafe fn clear(counters: SharedArray<u32>, len: u32) {
    let mut i = thread::thread_idx_x();
    while i < len {
        // SAFETY: guarded by the length; the caller's barrier comes before any other access.
        unsafe { counters.store(i, 0) };
        i += BLOCK as u32;
    }
}

/// The sum of a counter's copies.
#[inline(always)]
pub(super) unsafe fn total(
    counters: SharedArray<u32>,
    counter: u32,
    (copies, of_copy): (u32, u32),
) -> u64 {
    let mut sum = 0;
    let mut copy = 0;
    while copy < copies {
        // SAFETY: the caller's array has these copies; a barrier came after the last addition.
        sum += unsafe { counters.load(copy * of_copy + counter) } as u64;
        copy += 1;
    }
    sum
}

/// The sum of the lanes' counters of a byte's value, which follow each other. Each lane begins with its own,
/// so that they read from different banks.
#[inline(always)]
pub(super) unsafe fn total_of_lanes(counters: SharedArray<u32>, value: u32) -> u64 {
    let mut sum = 0;
    let mut step = 0;
    while step < COPIES_OF_BYTES {
        let copy = (value + step) % COPIES_OF_BYTES;
        // SAFETY: as above.
        sum += unsafe { counters.load(value * COPIES_OF_BYTES + copy) } as u64;
        step += 1;
    }
    sum
}
