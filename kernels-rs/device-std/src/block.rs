//! Operations of the threads of a block together.
//!
//! All threads of the block call every function; the block's size is a multiple of 32.
//!
//! | function | valid in | barriers |
//! |---|---|---|
//! | [`BlockScan::inclusive`] | every thread; the total in every thread | 2 |
//! | [`BlockScan::exclusive_count`] | every thread; the total in every thread | 2 |
//! | [`BlockReduce::reduce`] | every thread | 2 |
//! | [`LastBlock::is_this`] | every thread | 1 |

use crate::shared::{Carver, Plain, SharedArray};
use crate::slice::Out;
use crate::warp::{self, Word};
use crate::{atomic, thread, warp::SIZE};

/// Warps of the largest block.
const MAX_WARPS: u32 = 1024 / SIZE;

/// Scans over one value per thread, in the order of the threads.
///
/// A warp scans by shuffles and leaves its total in shared memory. Then every warp scans the totals, which takes one
/// barrier less than one warp scanning them for all.
#[derive(Clone, Copy)]
pub struct BlockScan<T> {
    totals: SharedArray<T>,
}

impl<T: Plain + Word> BlockScan<T> {
    /// Takes its temporary storage from `carver`.
    #[inline(always)]
    pub const fn new(carver: &mut Carver) -> Self {
        Self { totals: carver.array(MAX_WARPS) }
    }

    /// The combination of the values of the threads up to and with this one, and of all threads.
    ///
    /// `combine` is associative; it need not commute: its left argument comes from the lower
    /// threads. `identity` leaves what it is combined with unchanged.
    ///
    /// # Safety
    /// Every thread of the block comes to the same call.
    #[inline(always)]
    pub unsafe fn inclusive(&self, value: T, identity: T, combine: impl Fn(T, T) -> T) -> (T, T) {
        let lane = warp::lane_id();
        let warps = thread::block_dim_x() / SIZE;
        // SAFETY: the whole block is here, so each warp is whole. Each warp stores its own total, and the barriers
        // separate these stores from the loads of this call and of the next.
        unsafe {
            let in_warp = warp::inclusive_scan(value, &combine);
            if lane == SIZE - 1 {
                self.totals.store(warp::warp_id(), in_warp);
            }
            thread::sync_threads();
            let total = if lane < warps { self.totals.load(lane) } else { identity };
            let totals = warp::inclusive_scan(total, &combine);
            let below = warp::shuffle(warp::FULL, totals, warp::warp_id().wrapping_sub(1));
            let below = if warp::warp_id() == 0 { identity } else { below };
            let all = warp::shuffle(warp::FULL, totals, warps - 1);
            thread::sync_threads();
            (combine(below, in_warp), all)
        }
    }
}

impl BlockScan<u32> {
    /// How many lower threads have the flag set, and how many of all: where a compaction writes.
    ///
    /// # Safety
    /// Every thread of the block comes to the same call.
    #[inline(always)]
    pub unsafe fn exclusive_count(&self, flag: bool) -> (u32, u32) {
        let flag = u32::from(flag);
        // SAFETY: passed on to the caller.
        let (inclusive, all) = unsafe { self.inclusive(flag, 0, |a, b| a + b) };
        (inclusive - flag, all)
    }
}

/// Combines one value of each thread.
#[derive(Clone, Copy)]
pub struct BlockReduce<T> {
    of_warps: SharedArray<T>,
    warps: u32,
}

impl<T: Plain + Word> BlockReduce<T> {
    /// For blocks of `threads`. Takes its temporary storage from `carver`: a value for each warp.
    #[inline(always)]
    pub const fn new(carver: &mut Carver, threads: usize) -> Self {
        let warps = threads as u32 / SIZE;
        Self { of_warps: carver.array(warps), warps }
    }

    /// Combines all threads' values in the order of the threads. A warp combines pairs, then pairs of pairs, and so on;
    /// then the warps' results are combined in the same way.
    ///
    /// `combine` is associative, as far as the caller cares; it need not commute. `identity` leaves what it is combined
    /// with unchanged.
    ///
    /// # Safety
    /// Every thread of the block comes to the same call.
    #[inline(always)]
    pub unsafe fn reduce(&self, value: T, identity: T, combine: impl Fn(T, T) -> T) -> T {
        // SAFETY: the whole block is here; barriers stand between writes and reads, before and after.
        unsafe {
            let of_warp = warp::reduce(value, &combine);
            thread::sync_threads();
            if warp::lane_id() == 0 {
                self.of_warps.store(warp::warp_id(), of_warp);
            }
            thread::sync_threads();
            let lane = warp::lane_id();
            let value = if lane < self.warps { self.of_warps.load(lane) } else { identity };
            warp::reduce(value, combine)
        }
    }
}

/// Tells which block finishes last: that block can combine what all blocks have written.
#[derive(Clone, Copy)]
pub struct LastBlock {
    is_last: SharedArray<u32>,
}

impl LastBlock {
    /// Takes its temporary storage from `carver`.
    #[inline(always)]
    pub const fn new(carver: &mut Carver) -> Self {
        Self { is_last: carver.array(1) }
    }

    /// Whether all other blocks of a grid of `blocks` have come here before. If so, the block sees what their threads 0
    /// wrote, and what their other threads wrote before a barrier. `done` is then zero again for the next launch.
    ///
    /// # Safety
    /// Every thread of the block comes here, once in the launch, or again after a barrier (then `blocks`
    /// counts these visits). `done` is one element, zero at the launch, and touched by nothing else meanwhile.
    #[inline(always)]
    pub unsafe fn is_this(&self, done: Out<u32>, blocks: u32) -> bool {
        // SAFETY: the whole block comes to the barrier, which stands between the flag's write and its reads; `done` is
        // touched by atomics alone.
        unsafe {
            if thread::thread_idx_x() == 0 {
                atomic::fence();
                let last = done.fetch_add(0u32, 1) + 1 == blocks;
                if last {
                    done.store(0u32, 0);
                }
                self.is_last.store(0, last as u32);
            }
            thread::sync_threads();
            let last = self.is_last.load(0) != 0;
            atomic::fence();
            last
        }
    }
}
