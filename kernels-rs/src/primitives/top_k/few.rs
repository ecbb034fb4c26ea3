//! The first k of elements that one block goes over, in order.
//!
//! ```text
//! cut(wanted, most):                       a rank, and an index among equal ranks, up to which there are at least
//!     bits that all ranks share            `wanted` elements, and at most `most`
//!     while more than `most` are up to the known bits:
//!         count the next digit of the elements that have just these bits: of the rank, from its highest bit that is
//!         not shared; when all its bits are known, of the index
//!         append the digit with which the count reaches `wanted`
//! sort: the elements up to the cut go to shared memory in any order; a bitonic network orders them by rank and index
//! ```
//!
//! The network is Batcher's (1968, doi:10.1145/1468075.1468121), over the next power of two; what lies beyond comes last.

use device_std::block::{BlockReduce, BlockScan};
use device_std::shared::{Carver, SharedArray};
use device_std::{thread, warp};

use super::cut::Cut;
use super::elements::{Elements, Entry};

/// The most elements that a block sorts.
pub const FEW: u64 = 1024;

/// The shared memory of a block of `THREADS`.
#[derive(Clone, Copy)]
pub(super) struct Few<E, const THREADS: usize> {
    counts: SharedArray<u32>,
    /// The digit that was found, the elements before it, and those with it; later how many elements were gathered.
    found: SharedArray<u32>,
    scan: BlockScan<u32>,
    reduce: BlockReduce<(u64, u64)>,
    entries: SharedArray<E>,
}

impl<E: Entry, const THREADS: usize> Few<E, THREADS> {
    /// Digits: two a thread.
    const DIGITS: u32 = 2 * THREADS as u32;

    #[inline(always)]
    pub(super) const fn new(carver: &mut Carver) -> Self {
        Self {
            counts: carver.array(Self::DIGITS),
            found: carver.array(3),
            scan: BlockScan::new(carver),
            reduce: BlockReduce::new(carver, THREADS),
            entries: carver.array(FEW as u32),
        }
    }

    /// Finds the first `wanted` elements, and sorts them with some more, at most `most` of all. Ends with a barrier.
    ///
    /// # Safety
    /// As for [`cut`](Self::cut); `most` is at most [`FEW`].
    #[inline(always)]
    pub(super) unsafe fn first(
        &self,
        elements: &impl Elements,
        counts: (u32, u32),
        index_bits: u32,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let cut = self.cut(elements, counts, index_bits);
            self.sort(elements, cut);
        }
    }

    /// The cut after at least `wanted` elements, and at most `most`. Indices are below 2^`index_bits`.
    ///
    /// # Safety
    /// The whole block comes here, with the same numbers; `wanted` is not above `most` or the number of elements, and not 0
    /// if that is above `most`.
    #[inline(always)]
    pub(super) unsafe fn cut(
        &self,
        elements: &impl Elements,
        (wanted, most): (u32, u32),
        index_bits: u32,
    ) -> Cut {
        let mut cut = Cut::all(index_bits);
        if elements.count() <= most {
            return cut;
        }
        let (mut any, mut all) = (0, u64::MAX);
        elements.each(|rank, _| {
            any |= rank;
            all &= rank;
        });
        // SAFETY: the whole block is here, by the caller's promise, and all its threads go the same way.
        unsafe {
            let both = |a: (u64, u64), b: (u64, u64)| (a.0 | b.0, a.1 & b.1);
            (any, all) = self.reduce.reduce((any, all), (0, u64::MAX), both);
            cut.unknown_of_rank = 64 - (any & !all).leading_zeros();
            cut.rank = all;
            let (mut before, mut here) = (0, elements.count());
            while before + here > most && !cut.is_known() {
                let of_rank = cut.unknown_of_rank > 0;
                let unknown = if of_rank { cut.unknown_of_rank } else { cut.unknown_of_index };
                let shift = unknown.saturating_sub(Self::DIGITS.ilog2());
                let digit = self.digit(elements, wanted - before, |rank, of| {
                    let index = || elements.index(of);
                    let number = if of_rank { rank } else { index() };
                    (cut.is_at(rank, index), number >> shift, unknown - shift)
                });
                cut.append(digit.digit, unknown - shift, shift);
                before += digit.before;
                here = digit.here;
            }
        }
        cut
    }

    /// The digit with which the count of some elements reaches `wanted`. `digit_of` says of a rank and an element whether it
    /// counts, and gives a number whose low bits, so many, are its digit.
    #[inline(always)]
    unsafe fn digit(
        &self,
        elements: &impl Elements,
        wanted: u32,
        digit_of: impl Fn(u64, u32) -> (bool, u64, u32),
    ) -> Digit {
        let me = thread::thread_idx_x();
        // SAFETY: barriers stand between what threads write and others read; the whole block comes to each.
        unsafe {
            self.counts.store(me, 0);
            self.counts.store(THREADS as u32 + me, 0);
            thread::sync_threads();
            elements.each(|rank, of| {
                let (counts, number, bits) = digit_of(rank, of);
                if counts {
                    self.counts.count(number as u32 & ((1 << bits) - 1));
                }
            });
            thread::sync_threads();
            let own = [self.counts.load(2 * me), self.counts.load(2 * me + 1)];
            let (up_to, _) = self.scan.inclusive(own[0] + own[1], 0, |a, b| a + b);
            let mut before = up_to - own[0] - own[1];
            let mut i = 0;
            while i < 2 {
                if before < wanted && wanted <= before + own[i] {
                    self.found.store(0, 2 * me + i as u32);
                    self.found.store(1, before);
                    self.found.store(2, own[i]);
                }
                before += own[i];
                i += 1;
            }
            thread::sync_threads();
            let digit = self.found.load(0) as u64;
            Digit { digit, before: self.found.load(1), here: self.found.load(2) }
        }
    }

    /// Brings the elements up to a cut, at most [`FEW`], to shared memory, and sorts them by rank and index. Ends with a
    /// barrier.
    ///
    /// # Safety
    /// The whole block comes here.
    #[inline(always)]
    unsafe fn sort(&self, elements: &impl Elements, cut: Cut) {
        let me = thread::thread_idx_x();
        // SAFETY: each element takes a place of its own. The whole block comes to each barrier.
        unsafe {
            thread::sync_threads();
            if me == 0 {
                self.found.store(0, 0);
            }
            thread::sync_threads();
            elements.each(|rank, of| {
                let index = || elements.index(of);
                if cut.takes(rank, index) {
                    let to = self.found.atomic_add(0, 1);
                    self.entries.store(to, E::new(rank, index()));
                }
            });
            thread::sync_threads();
            let len = self.found.load(0);
            // At least a warp's.
            let all = u32::max(len, warp::SIZE).next_power_of_two();
            let mut place = len + me;
            while place < all {
                self.entries.store(place, E::LAST);
                place += THREADS as u32;
            }
            thread::sync_threads();
            self.network(all);
        }
    }

    /// Sorts a power of two of elements, at least a warp's. Partners that lie apart by a warp or more exchange through
    /// shared memory; for the others each lane holds an element.
    ///
    /// # Safety
    /// The whole block comes here.
    #[inline(always)]
    unsafe fn network(&self, all: u32) {
        let me = thread::thread_idx_x();
        let mut run = warp::SIZE;
        while run <= all {
            let mut step = run / 2;
            while step >= warp::SIZE {
                let mut pair = me;
                while pair < all / 2 {
                    let low = 2 * pair - (pair & (step - 1));
                    // SAFETY: a pair belongs to one thread between two barriers.
                    unsafe { self.exchange(low, low + step, low & run == 0) };
                    pair += THREADS as u32;
                }
                // SAFETY: the whole block is here.
                unsafe { thread::sync_threads() };
                step /= 2;
            }
            // SAFETY: `all` is a multiple of a warp, so the whole warp turns. A place belongs to one lane between two
            // barriers, to which the whole block comes.
            unsafe {
                let mut place = me;
                while place < all {
                    let mut own = self.entries.load(place);
                    if run == warp::SIZE {
                        // Shorter runs first.
                        let mut short = 2;
                        while short < run {
                            own = Self::merged(own, place, short, short / 2);
                            short *= 2;
                        }
                    }
                    own = Self::merged(own, place, run, warp::SIZE / 2);
                    self.entries.store(place, own);
                    place += THREADS as u32;
                }
                thread::sync_threads();
            }
            run *= 2;
        }
    }

    /// The lane's element after the steps of a run from one on.
    ///
    /// # Safety
    /// The whole warp comes here.
    #[inline(always)]
    unsafe fn merged(own: E, place: u32, run: u32, step: u32) -> E {
        let (mut own, mut step) = (own, step);
        let rises = place & run == 0;
        while step > 0 {
            // SAFETY: passed on to the caller.
            let other = unsafe { warp::shuffle(warp::FULL, own, place & 31 ^ step) };
            // The lower of two partners keeps the less if the run rises, and the upper the greater.
            let keeps_less = (place & step == 0) == rises;
            if (other < own) == keeps_less {
                own = other;
            }
            step /= 2;
        }
        own
    }

    /// Puts two elements into an order.
    #[inline(always)]
    unsafe fn exchange(&self, low: u32, high: u32, rises: bool) {
        // SAFETY: both are below FEW, and no other thread has them, by the caller's promise.
        unsafe {
            let (a, b) = (self.entries.load(low), self.entries.load(high));
            if (b < a) == rises {
                self.entries.store(low, b);
                self.entries.store(high, a);
            }
        }
    }

    /// The rank and the index at a place.
    ///
    /// # Safety
    /// It was written before a barrier.
    #[inline(always)]
    pub(super) unsafe fn element(&self, place: u32) -> (u64, u64) {
        // SAFETY: passed on to the caller.
        unsafe { self.entries.load(place).parts() }
    }
}

/// The digit of a cut, and how many elements come before it and have it.
#[derive(Clone, Copy)]
struct Digit {
    digit: u64,
    before: u32,
    here: u32,
}
