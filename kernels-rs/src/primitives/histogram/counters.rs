//! Counters: the result's in global memory, a block's copies in shared memory, and a thread's own.

use device_std::shared::SharedArray;
use device_std::{atomic, thread};

use super::{BLOCK, OUTSIDE};

/// Where the counts go: of the two arrays for the bins one is null.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) words: *mut u32,
    pub(super) long_words: *mut u64,
    pub(super) outside: *mut u64,
    pub(super) bins: u64,
}

impl Counts {
    /// Adds to a slot.
    #[inline(always)]
    pub(super) unsafe fn add(&self, slot: u32, count: u64) {
        let (bins, bin) = (self.bins as u32, slot.wrapping_sub(1));
        // SAFETY: the caller's arrays have a counter for each slot, and are added to only.
        unsafe {
            if bin < bins {
                if self.long_words.is_null() {
                    atomic::add_u32(self.words.add(bin as usize), count as u32);
                } else {
                    atomic::add_u64(self.long_words.add(bin as usize), count);
                }
            } else {
                let which = if slot == 0 { 0 } else { slot - bins };
                atomic::add_u64(self.outside.add(which as usize), count);
            }
        }
    }

    /// Sets counter `i` of the bins and of the others to zero.
    #[inline(always)]
    pub(super) unsafe fn clear(&self, i: u64) {
        // SAFETY: guarded by the lengths.
        unsafe {
            if i < self.bins && self.long_words.is_null() {
                *self.words.add(i as usize) = 0;
            } else if i < self.bins {
                *self.long_words.add(i as usize) = 0;
            }
            if i < OUTSIDE {
                *self.outside.add(i as usize) = 0;
            }
        }
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

    /// One more for `slot`; another's count is added to its counter first.
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
