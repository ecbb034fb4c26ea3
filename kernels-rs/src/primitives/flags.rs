//! Head bits: where segments begin, one bit an element, in words of 32. Crate `gpu-scan`.
//!
//! Segments are given as runs of equal keys, as offsets, or as the rows of a grid. All become the same bits: a kernel
//! reads a bit for each element. With `tails` set, a bit marks a segment's last element instead: the head of a backward
//! scan.

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

/// Marks the first (or last) element of each segment `offsets[s]..offsets[s + 1]` that has one.
/// Grid: one thread a segment.
///
/// # Safety
/// `offsets` has `segments + 1` elements, `bits` a bit for each of `len` elements, all zero.
#[kernel(block = BLOCK)]
pub unsafe fn offset_bits(
    offsets: In<'_, u64>,
    segments: u64,
    len: u64,
    tails: u32,
    bits: Out<'_, u32>,
) {
    let segment = thread::index_1d();
    if segment >= segments {
        return;
    }
    let (begin, end) = (offsets.get(segment), offsets.get(segment + 1));
    let at = if tails != 0 { end.wrapping_sub(1) } else { begin };
    if begin < end && at < len {
        bits.fetch_or(at / 32, 1 << (at % 32) as u32);
    }
}

/// Marks the first (or last) element of each row of a grid. Grid: one thread a word of bits.
///
/// # Safety
/// `bits` has a bit for each of `len` elements, in whole words; `width` is not 0.
#[kernel(block = BLOCK)]
pub unsafe fn row_bits(width: u64, len: u64, tails: u32, bits: Out<'_, u32>) {
    let word = thread::index_1d();
    if word >= len.div_ceil(32) {
        return;
    }
    // The first marked element at or after the word's first.
    let first = word * 32;
    let offset = if tails != 0 { width - 1 } else { 0 };
    let column = first.checked_rem(width).unwrap_or(0);
    let mut at = (offset + width - column).checked_rem(width).unwrap_or(32);
    let mut all = 0;
    while at < 32 {
        all |= 1 << at as u32;
        at += width;
    }
    bits.set(word, all);
}

device_std::ptx_module! { "flags" }
