//! The combination of one value of each thread of a block: what the kernels of `reduce` and
//! `segment_totals` share.

use device_std::scalar::Scalar;
use device_std::shared::SharedArray;
use device_std::{thread, warp};

/// Threads of a block.
pub const BLOCK: usize = 256;
pub(crate) const WARPS: usize = BLOCK / 32;

/// The combination of the block's values in the order of the threads, valid in warp 0.
#[inline(always)]
pub(crate) unsafe fn reduce_block<T: Scalar>(
    values: SharedArray<T>,
    value: T,
    identity: T,
    combine: impl Fn(T, T) -> T,
) -> T {
    // SAFETY: the whole block is here; barriers stand between writes and reads, before and after.
    unsafe {
        let of_warp = warp::reduce(value, &combine);
        thread::sync_threads();
        if warp::lane_id() == 0 {
            values.store(warp::warp_id(), of_warp);
        }
        thread::sync_threads();
        let lane = warp::lane_id();
        let value = if lane < WARPS as u32 { values.load(lane) } else { identity };
        warp::reduce(value, combine)
    }
}
