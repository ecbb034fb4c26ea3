//! Sites as bits: bit i of word w of a row is pixel 32 w + i, and every row begins with a word of its own.
//! Bits beyond the width are 0.
//!
//! The kernels that follow read only bits, so every kind of input is packed here.

use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{BLOCK, WORD};

/// Words that a warp packs together: it stores one each.
const WORDS: u32 = warp::SIZE;

/// A byte mask, and its bits: a site is where the mask is not zero.
#[arguments]
pub struct Packing<'a> {
    /// `width * rows` of them.
    pub mask: In<'a, u8>,
    /// `words * rows` of them.
    pub bits: Out<'a, u32>,
    /// Bytes of a row.
    pub width: u32,
    /// Words of a row: the width over 32, rounded up.
    pub words: u32,
    /// Rows.
    pub rows: u32,
}

/// Packs a byte mask.
///
/// Rows may begin anywhere: a warp reads 32 neighbouring bytes at a time, and eight times as many before it
/// votes. Grid: a warp for every 32 words of a row; x covers a row, y the rows, striding.
///
/// # Safety
/// The lengths are as `Packing` says.
#[kernel(block = BLOCK)]
pub unsafe fn pack_bytes(packing: Packing<'_>) {
    let Packing { mask, bits, width, words, rows } = packing;
    let lane = warp::lane_id();
    let warps = thread::block_dim_x() / warp::SIZE;
    let first = (thread::block_idx_x() * warps + warp::warp_id()) * WORDS;
    if first >= words {
        return;
    }
    let mut row = thread::block_idx_y();
    while row < rows {
        let pixels = mask.from(row as u64 * width as u64);
        let mut own = 0;
        let mut k = 0;
        while k < vector::unknown(WORDS) {
            let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| {
                let x = (first + k + i) as u64 * 32 + lane as u64;
                if x < width as u64 { pixels.get(x) } else { 0 }
            });
            let mut i = 0;
            while i < bytes.len() {
                // SAFETY: a warp's lanes have the same `first` and `row`, so they come here together.
                let word = unsafe { warp::ballot(warp::FULL, bytes[i] != 0) };
                if k + i as u32 == lane {
                    own = word;
                }
                i += 1;
            }
            k += bytes.len() as u32;
        }
        let word = first + lane;
        if word < words {
            bits.set(row as u64 * words as u64 + word as u64, own);
        }
        row += thread::grid_dim_y();
    }
}

/// [`pack_bytes`](const@pack_bytes) where `width` is a multiple of 16 and `mask` is aligned to 16: a thread
/// makes its word of two vectors. Grid: a thread for every word.
///
/// # Safety
/// As [`pack_bytes`](const@pack_bytes).
#[kernel(block = BLOCK)]
pub unsafe fn pack_vectors(packing: Packing<'_>) {
    let Packing { mask, bits, width, words, rows } = packing;
    let at = thread::index_1d();
    if at >= words as u64 * rows as u64 {
        return;
    }
    let half = width / 16 % 2;
    let row = at / words.max(1) as u64;
    let word = (at - row * words as u64) as u32;
    let is_half = half == 1 && word == words - 1;
    // A row has `width` bytes: two vectors for every word, one for the last if it is half.
    let pixels = mask.from(row * width as u64 + word as u64 * 32);
    let low = pixels.get_vector(0);
    let high = if is_half { [0; 4] } else { pixels.get_vector(vector::BYTES) };
    bits.set(at, sixteen_bits(low) | sixteen_bits(high) << 16);
}

/// [`pack_bytes`](const@pack_bytes) where `width` is a multiple of 4 and `mask` is aligned to 4: a thread makes its
/// word of eight words of bytes. Grid: a thread for every word.
///
/// # Safety
/// As [`pack_bytes`](const@pack_bytes).
#[kernel(block = BLOCK)]
pub unsafe fn pack_fours(packing: Packing<'_>) {
    let Packing { mask, bits, width, words, rows } = packing;
    let at = thread::index_1d();
    if at >= words as u64 * rows as u64 {
        return;
    }
    let row = at / words.max(1) as u64;
    let word = (at - row * words as u64) as u32;
    let fours = u32::min(8, (width - word * WORD) / 4);
    // SAFETY: a row's first byte lies at a multiple of 4.
    let pixels = unsafe { mask.from(row * width as u64 + word as u64 * 32).cast::<u32>() };
    let all = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| if i < fours { pixels.get(i) } else { 0 });
    let mut own = 0;
    for (i, four) in all.into_iter().enumerate() {
        own |= four_bits(four) << (4 * i);
    }
    bits.set(at, own);
}

/// One bit for each of 16 bytes.
#[inline(always)]
fn sixteen_bits([a, b, c, d]: vector::Vector) -> u32 {
    four_bits(a) | four_bits(b) << 4 | four_bits(c) << 8 | four_bits(d) << 12
}

/// One bit for each of 4 bytes, set where it is not zero.
#[inline(always)]
fn four_bits(bytes: u32) -> u32 {
    const LOW_7: u32 = 0x7f7f_7f7f;
    // The top bit of each byte, if it is set, or if the low seven bits carry into it.
    let tops = (((bytes & LOW_7) + LOW_7) | bytes) & !LOW_7;
    // The four top bits, moved side by side into the top four of the product.
    (tops >> 7).wrapping_mul(0x1020_4080) >> 28
}

/// Packs a raster of labels: a site is where the label is not zero. A warp makes a word, by ballots. Grid: a warp for
/// each of the `total` words.
///
/// # Safety
/// `bits` has `total` elements, `words` a row, `labels` `width` a row.
#[kernel(block = BLOCK)]
pub unsafe fn pack_labels(
    labels: In<'_, u32>,
    bits: Out<'_, u32>,
    width: u32,
    words: u32,
    total: u64,
) {
    let at = thread::index_1d() / warp::SIZE as u64;
    if at >= total {
        return;
    }
    let row = at / words.max(1) as u64;
    let x = (at - row * words as u64) * WORD as u64 + warp::lane_id() as u64;
    let is_site = x < width as u64 && labels.get(row * width as u64 + x) != 0;
    // SAFETY: a warp's lanes have the same word, so they come here together.
    let word = unsafe { warp::ballot(warp::FULL, is_site) };
    if warp::lane_id() == 0 {
        bits.set(at, word);
    }
}

/// Sites as a list, in any order.
#[arguments]
pub struct List<'a> {
    /// The column of each site.
    pub columns: In<'a, u32>,
    /// The row of each site.
    pub rows: In<'a, u32>,
}

impl List<'_> {
    /// Column and row of a site, if it lies in a raster of these sides.
    #[inline(always)]
    fn within(self, i: u64, [width, height]: [u32; 2]) -> Option<(u32, u32)> {
        let (x, y) = (self.columns.get(i), self.rows.get(i));
        (x < width && y < height).then_some((x, y))
    }
}

/// Sets the bits of listed sites; leaves out sites outside the raster. Grid: one thread a site.
///
/// # Safety
/// The list has `count` sites; `bits` are those of a raster of these sides, columns and rows.
#[kernel(block = BLOCK)]
pub unsafe fn scatter_sites(sites: List<'_>, bits: Out<'_, u32>, sides: [u32; 2], count: u64) {
    let i = thread::index_1d();
    if i < count
        && let Some((x, y)) = sites.within(i, sides)
    {
        let words = sides[0].div_ceil(WORD);
        bits.fetch_or(y as u64 * words as u64 + (x / WORD) as u64, 1 << (x % WORD));
    }
}

/// Copies bits; bits beyond the width become 0. Grid: one thread a word.
///
/// # Safety
/// `from` and `to` have `total` elements, `words` a row.
#[kernel(block = BLOCK)]
pub unsafe fn trim_bits(from: In<'_, u32>, to: Out<'_, u32>, width: u32, words: u32, total: u64) {
    let at = thread::index_1d();
    if at < total {
        to.set(at, from.get(at) & inside(at, width, words));
    }
}

/// Unpacks bits into bytes of 0 and 1. Grid: one thread a pixel.
///
/// # Safety
/// `bits` has `words` elements a row, `mask` `width` a row and `pixels` in all.
#[kernel(block = BLOCK)]
pub unsafe fn unpack_bits(
    bits: In<'_, u32>,
    mask: Out<'_, u8>,
    width: u32,
    words: u32,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        let row = p / width.max(1) as u64;
        let x = (p - row * width as u64) as u32;
        let word = bits.get(row * words as u64 + (x / WORD) as u64);
        mask.set(p, (word >> (x % WORD) & 1) as u8);
    }
}

/// Writes the complement of the sites; bits beyond the width stay 0. Grid: one thread a word.
///
/// # Safety
/// `from` and `to` have `total` elements, `words` a row.
#[kernel(block = BLOCK)]
pub unsafe fn flip_bits(from: In<'_, u32>, to: Out<'_, u32>, width: u32, words: u32, total: u64) {
    let at = thread::index_1d();
    if at < total {
        to.set(at, !from.get(at) & inside(at, width, words));
    }
}

/// The bits of a word that lie within the width.
#[inline(always)]
fn inside(at: u64, width: u32, words: u32) -> u32 {
    let word = (at % words.max(1) as u64) as u32;
    let used = width - word * WORD;
    if used >= WORD { u32::MAX } else { (1 << used) - 1 }
}

/// Writes to each listed pixel's element of `first` the place in the list of the first site that names the pixel.
/// Elements of `first` held numbers beyond the list. Grid: one thread a site.
///
/// # Safety
/// The list has `count` sites, `first` an element for each pixel of a raster of these sides, columns and rows.
#[kernel(block = BLOCK)]
pub unsafe fn find_first_sites(sites: List<'_>, first: Out<'_, i64>, sides: [u32; 2], count: u64) {
    let i = thread::index_1d();
    if i < count
        && let Some((x, y)) = sites.within(i, sides)
    {
        first.fetch_min(y as u64 * sides[0] as u64 + x as u64, i as i64);
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_four_bytes_is_packed() {
        for pattern in 0..16u32 {
            for value in [1u32, 2, 0x7f, 0x80, 0xff] {
                let set = |i: u32| if pattern >> i & 1 == 1 { value << (8 * i) } else { 0 };
                assert_eq!(four_bits(set(0) | set(1) | set(2) | set(3)), pattern);
            }
        }
    }
}
