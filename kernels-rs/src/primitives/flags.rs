//! Head bits: where runs of equal keys begin, one bit an element, in words of 32. Crate `gpu-scan`.
//!
//! With `tails` set, a bit marks a run's last element instead: the head of a backward scan.

use device_std::scalar::Scalar;
use device_std::{In, Out, kernel, thread, warp};

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Elements of a thread.
const ITEMS: u32 = 4;

/// Elements of a block.
pub const TILE: u32 = BLOCK * ITEMS;

/// Marks where keys change, compared by their bits. Grid: blocks of [`TILE`] elements.
///
/// # Safety
/// `keys` has `len` elements, `bits` a bit for each, in whole words.
#[kernel(block = BLOCK, instances(u8: <u8>; u16: <u16>; u32: <u32>; u64: <u64>))]
pub unsafe fn key_bits<T: Scalar>(keys: In<'_, T>, len: u64, tails: u32, bits: Out<'_, u32>) {
    let first = thread::block_idx_x() as u64 * TILE as u64;
    let lane = warp::lane_id() as u64;
    let mut item = 0;
    while item < ITEMS {
        let word = first / 32 + (item * BLOCK / 32 + warp::warp_id()) as u64;
        let i = word * 32 + lane;
        let is_bit = if i >= len {
            false
        } else if tails != 0 {
            i + 1 == len || differ(keys, i, i + 1)
        } else {
            i == 0 || differ(keys, i - 1, i)
        };
        // SAFETY: the whole warp turns.
        let all = unsafe { warp::ballot(warp::FULL, is_bit) };
        if lane == 0 && i < len {
            bits.set(word, all);
        }
        item += 1;
    }
}

/// Whether two keys have different bits.
#[inline(always)]
fn differ<T: Scalar>(keys: In<T>, i: u64, j: u64) -> bool {
    keys.get(i).to_bits64() != keys.get(j).to_bits64()
}

device_std::ptx_module! { "flags" }
