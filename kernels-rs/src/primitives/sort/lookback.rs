//! The look-back of a sort: for each digit, how many keys the tiles before have.
//!
//! A tile's status for one digit is a word: state, epoch and count, from the highest bit down.

use device_std::lookback::{Ticket, next_epoch};
use device_std::{Out, atomic, thread};

use super::digits::{DIGITS, MAX_PASSES};

const COUNT_BITS: u32 = 40;
const EPOCH_BITS: u32 = 22;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The tile's own count is there.
const AGGREGATE: u64 = 1 << 62;
/// The count of the tiles up to and with this one is there.
const PREFIX: u64 = 2 << 62;
const STATE: u64 = 3 << 62;

/// The look-back of one tile; thread d has digit d.
#[derive(Clone, Copy)]
pub(super) struct DigitLookback<'a> {
    status: Out<'a, u64>,
    tile: u64,
    tag: u64,
}

impl<'a> DigitLookback<'a> {
    /// Over a status array with an element for each tile and digit.
    #[inline(always)]
    pub(super) fn new(status: Out<'a, u64>, ticket: Ticket) -> Self {
        let epoch = ticket.epoch & ((1 << EPOCH_BITS) - 1);
        Self { status, tile: ticket.tile, tag: epoch << COUNT_BITS }
    }

    /// The status of a tile for this thread's digit.
    #[inline(always)]
    fn status(&self, tile: u64) -> *mut u64 {
        let word = tile * DIGITS as u64 + thread::thread_idx_x() as u64;
        self.status.address(word, 1)
    }

    #[inline(always)]
    fn publish(&self, state: u64, count: u64) {
        // SAFETY: the status is in the slice, and touched by atomics alone.
        unsafe { atomic::store_u64(self.status(self.tile), state | self.tag | count) };
    }

    /// Publishes the tile's count, for tile 0 together with all that comes before digit d in the
    /// output.
    #[inline(always)]
    pub(super) fn announce(&self, count: u32, before_digit: u64) {
        match self.tile {
            0 => self.publish(PREFIX, before_digit + count as u64),
            _ => self.publish(AGGREGATE, count as u64),
        }
    }

    /// Where the tile's keys with digit d begin in the output. `WINDOW` statuses are read at once. The status array was
    /// zero at first or cleared by [`clear_stale`], and this tile was announced.
    #[inline(always)]
    pub(super) fn begin<const WINDOW: usize>(&self, count: u32, before_digit: u64) -> u64 {
        if self.tile == 0 {
            return before_digit;
        }
        let mut end = self.tile;
        let mut sum = 0;
        'look: loop {
            let mut words = [0; WINDOW];
            let mut i = 0;
            while i < WINDOW {
                // Tile 0 has a prefix, so the loop never goes beyond it.
                let tile = end.saturating_sub(1 + i as u64);
                // SAFETY: as for `publish`.
                words[i] = unsafe { atomic::load_u64(self.status(tile)) };
                i += 1;
            }
            let mut i = 0;
            while i < WINDOW {
                let word = words[i];
                let is_current = word & !(STATE | COUNT) == self.tag;
                if !is_current || word & STATE == 0 {
                    break;
                }
                sum += word & COUNT;
                end -= 1;
                if word & PREFIX != 0 {
                    break 'look;
                }
                i += 1;
            }
            if i < WINDOW {
                thread::pause();
            }
        }
        self.publish(PREFIX, sum + count as u64);
        sum
    }
}

/// Clears the statuses when epochs are about to repeat: `status[len]` is the number of the round of
/// epochs in which that was done. Called by one block before the passes of a sort.
///
/// The round changes with the first sort that might reach the end of a round of 2^[`EPOCH_BITS`] epochs. Let e be the
/// epoch of the first pass of a sort that does not clear. Then e is less than 2^22 epochs after the first pass of the
/// sort that did clear. So no status that this first pass reads has an old epoch whose bits equal e. A later pass may
/// find such an epoch, but only in statuses that the pass before it wrote, which has the same tiles.
///
/// # Safety
/// Every thread of the block comes here; `status` has `len + 1` words; no pass runs.
#[inline(always)]
pub(super) unsafe fn clear_stale(control: Out<u64>, status: Out<u64>, len: u64) {
    let round = (next_epoch(control) + MAX_PASSES as u64) >> EPOCH_BITS;
    let cleared = status.get(len);
    // SAFETY: the whole block comes here, by the caller's promise. The barrier orders the reads before the write.
    unsafe { thread::sync_threads() };
    if round == cleared {
        return;
    }
    let mut word = thread::thread_idx_x() as u64;
    while word < len {
        status.set(word, 0);
        word += thread::block_dim_x() as u64;
    }
    if thread::thread_idx_x() == 0 {
        status.set(len, round);
    }
}
