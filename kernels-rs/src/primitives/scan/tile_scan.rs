//! The scan of one tile by a block, and its place among the tiles. The plan is in `scan`.

use device_std::atomic::Pair;
use device_std::lookback::{Lookback, Ticket, Tickets};
use device_std::scalar::Scalar;
use device_std::shared::{Carver, SharedArray, wait_for_copies};
use device_std::tile::Tile;
use device_std::vector::Vector;
use device_std::{Out, thread, warp};

use super::Arrays;
use super::heads::{Borders, Heads, Sought, words_of_warp};
use crate::primitives::operators::{Operator, Partial};

/// Threads of a block.
pub const BLOCK: usize = 256;
const WARPS: usize = BLOCK / 32;

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct Shared<T> {
    /// The threads' rows, while they wait for the tiles before: registers are few.
    pub(super) stash: SharedArray<Vector>,
    /// Lies before the tickets, which fill its word, and not beside the arrays. Threads read the arrays by up to 16
    /// bytes, and would read this word too, while another thread writes it.
    prefix: SharedArray<T>,
    pub(super) tickets: Tickets,
    values: SharedArray<T>,
    closed: SharedArray<u32>,
    heads: SharedArray<u32>,
}

impl<T: Scalar> Shared<T> {
    /// With room for the heads, if there are `cuts`.
    #[inline(always)]
    pub(super) const fn new(carver: &mut Carver, rows: usize, cuts: bool) -> Self {
        let words = if cuts { words_of_warp::<T>(rows) * WARPS as u32 } else { 0 };
        Self {
            stash: carver.array((rows * BLOCK) as u32),
            prefix: carver.array(1),
            tickets: Tickets::new(carver),
            values: carver.array(WARPS as u32),
            closed: carver.array(WARPS as u32),
            heads: carver.array(words),
        }
    }
}

/// The prefixes of a thread's vectors within its warp.
#[derive(Clone, Copy)]
pub(super) struct Before<T, const ROWS: usize> {
    values: [T; ROWS],
    /// A bit for each row: whether the value begins at a head, so that nothing comes before it.
    closed: u32,
}

/// Everything a scan over one tile needs to know.
#[derive(Clone, Copy)]
pub(super) struct Scan<T, O, const ROWS: usize, const SEGMENTED: bool> {
    pub(super) operator: O,
    pub(super) exclusive: bool,
    pub(super) initial: T,
    pub(super) shared: Shared<T>,
}

impl<T: Scalar, O: Operator<T>, const ROWS: usize, const SEGMENTED: bool>
    Scan<T, O, ROWS, SEGMENTED>
{
    #[inline(always)]
    pub(super) fn is_head(heads: u32, i: usize) -> bool {
        SEGMENTED && heads >> i & 1 == 1
    }

    /// The scan of one tile.
    #[inline(always)]
    pub(super) unsafe fn tile(
        &self,
        Arrays { input, output, len }: Arrays<T>,
        borders: Borders<T>,
        backward: bool,
        status: Out<Pair>,
        ticket: Ticket,
    ) {
        let operator = self.operator;
        let stash = self.shared.stash;
        let tile = Tile::<T, ROWS>::new::<BLOCK>(ticket.tile, len, backward);
        // SAFETY: the whole block comes here, by the caller's promise, so each warp is whole; a thread reads and writes
        // its own vectors of the stash.
        unsafe {
            tile.stash(input, operator.lower(operator.identity()), stash);
            let sought = Sought { tile: &tile, backward, words: self.shared.heads };
            let heads = sought.heads(borders);
            wait_for_copies();
            let (before, of_warp) = self.scan_warp(self.sums(&tile, heads), heads);
            let lookback = Lookback::new(status, ticket);
            let (before_warp, of_tile) = self.scan_warps(of_warp);
            if warp::warp_id() == 0 {
                lookback.announce(of_tile.value, of_tile.closed);
            }
            self.look_back(of_tile, lookback);
            thread::sync_threads();
            let outer = self.outer(before_warp);
            let mut row = 0;
            while row < ROWS {
                let before = self.before(outer, &before, row);
                let result = self.finish(tile.stashed(stash, row), heads.of_row::<T>(row), before);
                tile.write(output, row, result, stash);
                row += 1;
            }
            tile.write_stashed(output, stash);
        }
    }

    /// The prefix of the thread's vector in a row, from the array's start or the last head.
    #[inline(always)]
    pub(super) fn before(&self, outer: Partial<T>, before: &Before<T, ROWS>, row: usize) -> T {
        let closed = SEGMENTED && before.closed >> row & 1 == 1;
        outer.then(self.operator, Partial { value: before.values[row], closed }).value
    }

    /// The sum of a thread's vector.
    #[inline(always)]
    fn sum(&self, vector: Vector, heads: u32) -> T {
        let mut sum = self.operator.lift(T::lane(vector, 0));
        let mut i = 1;
        while i < T::LANES {
            let element = self.operator.lift(T::lane(vector, i));
            sum = match Self::is_head(heads, i) {
                true => element,
                false => self.operator.combine(sum, element),
            };
            i += 1;
        }
        sum
    }

    /// The sums of a thread's vectors.
    #[inline(always)]
    pub(super) unsafe fn sums(&self, tile: &Tile<T, ROWS>, heads: Heads) -> [T; ROWS] {
        let mut sums = [self.operator.identity(); ROWS];
        let mut row = 0;
        while row < ROWS {
            // SAFETY: the tile is stashed.
            let vector = unsafe { tile.stashed(self.shared.stash, row) };
            sums[row] = self.sum(vector, heads.of_row::<T>(row));
            row += 1;
        }
        sums
    }

    /// For each row what comes before the thread's vector within the warp, and for the warp its
    /// sum.
    #[inline(always)]
    pub(super) unsafe fn scan_warp(
        &self,
        sums: [T; ROWS],
        heads: Heads,
    ) -> (Before<T, ROWS>, Partial<T>) {
        let operator = self.operator;
        let mut carry = Partial { value: operator.identity(), closed: false };
        let mut before = Before { values: sums, closed: 0 };
        let mut row = 0;
        while row < ROWS {
            // SAFETY: the whole warp is here.
            unsafe {
                let has_head = SEGMENTED && heads.of_row::<T>(row) != 0;
                let with_head = if SEGMENTED { warp::ballot(warp::FULL, has_head) } else { 0 };
                let start = if SEGMENTED { warp::segment_start(with_head) } else { 0 };
                let combine = |a, b| operator.combine(a, b);
                let inclusive = warp::inclusive_scan_from(start, sums[row], combine);
                let below = warp::shuffle_up(warp::FULL, inclusive, 1);
                let in_row = Partial { value: below, closed: with_head & warp::lanes_below() != 0 };
                let own = if warp::lane_id() == 0 { carry } else { carry.then(operator, in_row) };
                before.values[row] = own.value;
                before.closed |= (own.closed as u32) << row;
                let all = warp::shuffle(warp::FULL, inclusive, 31);
                carry = carry.then(operator, Partial { value: all, closed: with_head != 0 });
            }
            row += 1;
        }
        (before, carry)
    }

    /// The sum of the warps before the thread's, from the tile's start or the last head, and that
    /// of the tile. One barrier.
    #[inline(always)]
    pub(super) unsafe fn scan_warps(&self, of_warp: Partial<T>) -> (Partial<T>, Partial<T>) {
        let Shared { values, closed, .. } = self.shared;
        let operator = self.operator;
        // SAFETY: each warp writes its own elements; the barrier stands between writes and reads.
        unsafe {
            if warp::lane_id() == 0 {
                values.store(warp::warp_id(), of_warp.value);
                if SEGMENTED {
                    closed.store(warp::warp_id(), of_warp.closed as u32);
                }
            }
            thread::sync_threads();
            let mut sum = Partial { value: operator.identity(), closed: false };
            let mut before = sum;
            let mut warp = 0;
            while warp < WARPS as u32 {
                if warp == warp::warp_id() {
                    before = sum;
                }
                let closed = SEGMENTED && closed.load(warp) != 0;
                sum = sum.then(operator, Partial { value: values.load(warp), closed });
                warp += 1;
            }
            (before, sum)
        }
    }

    /// Warp 0 looks for the sum of the tiles before, once it has announced that of this one.
    #[inline(always)]
    pub(super) unsafe fn look_back(&self, of_tile: Partial<T>, lookback: Lookback) {
        let operator = self.operator;
        if warp::warp_id() == 0 {
            // SAFETY: the whole warp is here.
            unsafe {
                let before_tile = lookback.announced_prefix(
                    of_tile.value,
                    of_tile.closed,
                    operator.identity(),
                    |a, b| operator.combine(a, b),
                );
                if warp::lane_id() == 0 {
                    self.shared.prefix.store(0, before_tile);
                }
            }
        }
    }

    /// The prefix of the thread's warp, from the array's start or the last head; after [`look_back`](Self::look_back)
    /// and a barrier.
    #[inline(always)]
    pub(super) unsafe fn outer(&self, before_warp: Partial<T>) -> Partial<T> {
        // SAFETY: the prefix was stored before a barrier, by the caller's promise.
        let value = unsafe { self.shared.prefix.load(0) };
        Partial { value, closed: false }.then(self.operator, before_warp)
    }

    /// The results for a thread's vector, after what comes before it.
    #[inline(always)]
    fn finish(&self, vector: Vector, heads: u32, before: T) -> Vector {
        let operator = self.operator;
        let mut result = [0; 4];
        let mut sum = before;
        let mut i = 0;
        while i < T::LANES {
            let element = operator.lift(T::lane(vector, i));
            if Self::is_head(heads, i) {
                sum = operator.identity();
            }
            let until = operator.combine(self.initial, sum);
            sum = match Self::is_head(heads, i) {
                true => element,
                false => operator.combine(sum, element),
            };
            let value = if self.exclusive { until } else { sum };
            operator.lower(value).put(&mut result, i);
            i += 1;
        }
        result
    }
}
