//! The number that the last of the least `wanted` ones is, by counting: 32 steps between two numbers, then 32 steps of
//! the one where it lies.

use device_std::shared::{Carver, SharedArray};
use device_std::{vector, warp};

use crate::rtree::list::BLOCK;

/// Steps between two distances.
const STEPS: u32 = 32;

/// Bits of the number of a step.
const STEP_BITS: u32 = STEPS.ilog2();

/// The counters of all warps: one for each lane and step.
#[inline(always)]
const fn room(carver: &mut Carver) -> SharedArray<u32> {
    carver.array(BLOCK * STEPS)
}

/// Bytes of shared memory of a block.
pub const SHARED: u32 = {
    let mut carver = Carver::new();
    let _ = room(&mut carver);
    carver.bytes()
};

/// Between which two numbers the last of the least `wanted` ones lies.
pub struct Steps {
    first: u64,
    /// No number above it is wanted.
    pub last: u64,
    wanted: u32,
    /// How many numbers are below `first`.
    before: u32,
    /// Whether all numbers up to `last` are wanted.
    pub is_whole: bool,
    /// Whether the last one is known.
    pub is_done: bool,
    counters: SharedArray<u32>,
}

impl Steps {
    /// Before anything is counted of the numbers from the first to the last.
    #[inline(always)]
    pub fn new([first, last]: [u64; 2], wanted: u32) -> Self {
        let counters = room(&mut Carver::new()).skip(warp::warp_id() * warp::SIZE * STEPS);
        Self { first, last, wanted, before: 0, is_whole: false, is_done: wanted == 0, counters }
    }

    /// The binary logarithm of the numbers in a step.
    #[inline(always)]
    fn shift(&self) -> u32 {
        (u64::BITS - (self.last - self.first).leading_zeros()).saturating_sub(STEP_BITS)
    }

    /// The lane's counter of a step.
    #[inline(always)]
    fn counter(step: u32) -> u32 {
        step * warp::SIZE + warp::lane_id()
    }

    /// Before numbers are counted.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.before = 0;
        let mut step = 0;
        while step < vector::unknown(STEPS) {
            // SAFETY: the lane's own.
            unsafe { self.counters.store(Self::counter(step), 0) };
            step += 1;
        }
    }

    /// Counts a number.
    #[inline(always)]
    pub fn count(&mut self, number: u64) {
        if number > self.last {
            return;
        }
        if number < self.first {
            self.before += 1;
            return;
        }
        let counter = Self::counter(((number - self.first) >> self.shift()) as u32);
        // SAFETY: the lane's own; a step is below their number.
        unsafe { self.counters.store(counter, self.counters.load(counter) + 1) };
    }

    /// Goes on with the step of the last wanted number.
    #[inline(always)]
    pub fn narrow(&mut self) {
        if self.is_done {
            return;
        }
        if self.before >= self.wanted {
            (self.first, self.last) = (0, self.first - 1);
            self.is_whole = self.before == self.wanted;
            self.is_done = self.is_whole || self.last == 0;
            return;
        }
        let (shift, mut count, mut step) = (self.shift(), self.before, 0);
        while step < vector::unknown(STEPS) {
            // SAFETY: the lane's own.
            count += unsafe { self.counters.load(Self::counter(step)) };
            if count >= self.wanted {
                break;
            }
            step += 1;
        }
        self.first += (step as u64) << shift;
        self.last = u64::min(self.last, self.first + ((1 << shift) - 1));
        self.is_whole = count == self.wanted;
        self.is_done = self.is_whole || self.first == self.last;
    }
}
