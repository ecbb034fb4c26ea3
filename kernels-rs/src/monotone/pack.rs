//! Sites as bits.

use device_std::{thread, vector, warp};

/// Words that a warp packs together: it stores one each.
const WORDS: u32 = warp::SIZE;

/// By ballots, for rows that begin anywhere: a warp reads 32 neighbouring bytes at a time, and
/// eight times as many before it votes.
///
/// # Safety
/// As [`pack_bytes`](super::pack_bytes).
#[inline(always)]
pub unsafe fn by_ballots(mask: *const u8, bits: *mut u32, width: u32, words: u32, rows: u32) {
    let lane = warp::lane_id();
    let warps = thread::block_dim_x() / warp::SIZE;
    let first = (thread::block_idx_x() * warps + warp::warp_id()) * WORDS;
    if first >= words {
        return;
    }
    let mut row = thread::block_idx_y();
    while row < rows {
        // SAFETY: `x < width` and `word < words` guard the rows; a warp's lanes have the same
        // `first` and `row`, so they come here together.
        unsafe {
            let pixels = mask.add((row as u64 * width as u64) as usize);
            let mut own = 0;
            let mut k = 0;
            while k < vector::unknown(WORDS) {
                let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| {
                    let x = (first + k + i) as u64 * 32 + lane as u64;
                    if x < width as u64 { *pixels.add(x as usize) } else { 0 }
                });
                let mut i = 0;
                while i < bytes.len() {
                    let word = warp::ballot(warp::FULL, bytes[i] != 0);
                    if k + i as u32 == lane {
                        own = word;
                    }
                    i += 1;
                }
                k += bytes.len() as u32;
            }
            let word = first + lane;
            if word < words {
                *bits.add((row as u64 * words as u64 + word as u64) as usize) = own;
            }
        }
        row += thread::grid_dim_y();
    }
}

/// By vectors of 16 bytes: a thread makes its word of two.
///
/// # Safety
/// As [`pack_vectors`](super::pack_vectors).
#[inline(always)]
pub unsafe fn by_vectors(mask: *const u8, bits: *mut u32, width: u32, words: u32, rows: u32) {
    let at = thread::index_1d();
    if at >= words as u64 * rows as u64 {
        return;
    }
    let half = width / 16 % 2;
    let row = at / words.max(1) as u64;
    let word = (at - row * words as u64) as u32;
    let is_half = half == 1 && word == words - 1;
    // SAFETY: a row has `width` bytes: two vectors for every word, one for the last if it is half.
    unsafe {
        let pixels = mask.add((row * width as u64 + word as u64 * 32) as usize);
        let low = vector::load(pixels);
        let high = if is_half { [0; 4] } else { vector::load(pixels.add(vector::BYTES)) };
        *bits.add(at as usize) = packed_vector(low) | packed_vector(high) << 16;
    }
}

/// One bit for each of 16 bytes.
#[inline(always)]
fn packed_vector([a, b, c, d]: vector::Vector) -> u32 {
    packed_bytes(a) | packed_bytes(b) << 4 | packed_bytes(c) << 8 | packed_bytes(d) << 12
}

/// One bit for each of 4 bytes, set where it is not zero.
#[inline(always)]
fn packed_bytes(bytes: u32) -> u32 {
    const LOW_7: u32 = 0x7f7f_7f7f;
    // The top bit of each byte: of the low seven carried into it, or its own.
    let tops = (((bytes & LOW_7) + LOW_7) | bytes) & !LOW_7;
    // The four top bits, moved side by side into the top four of the product.
    (tops >> 7).wrapping_mul(0x1020_4080) >> 28
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_four_bytes_is_packed() {
        for pattern in 0..16u32 {
            for value in [1u32, 2, 0x7f, 0x80, 0xff] {
                let set = |i: u32| if pattern >> i & 1 == 1 { value << (8 * i) } else { 0 };
                assert_eq!(packed_bytes(set(0) | set(1) | set(2) | set(3)), pattern);
            }
        }
    }
}
