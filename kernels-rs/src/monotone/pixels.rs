//! What is done pixel by pixel, before and after the search.

use device_std::{atomic, math, thread, warp};

use super::WORD;

/// Sets the bit of every site in a list.
///
/// # Safety
/// As [`scatter_sites`](super::scatter_sites).
#[inline(always)]
pub unsafe fn scatter(
    columns: *const u32,
    rows: *const u32,
    bits: *mut u32,
    (width, height): (u32, u32),
    sites: u64,
) {
    let i = thread::index_1d();
    if i < sites {
        // SAFETY: `i < sites`, and what is written is a pixel of the raster.
        unsafe {
            let (x, y) = (*columns.add(i as usize), *rows.add(i as usize));
            if x < width && y < height {
                let words = width.div_ceil(WORD);
                let word = bits.add((y as u64 * words as u64 + (x / WORD) as u64) as usize);
                atomic::or_u32(word, 1 << (x % WORD));
            }
        }
    }
}

/// Sets the bits beyond the width to 0.
///
/// # Safety
/// As [`trim_bits`](super::trim_bits).
#[inline(always)]
pub unsafe fn trim(bits: *mut u32, width: u32, words: u32, rows: u32) {
    let row = thread::index_1d();
    if row < rows as u64 && words > 0 {
        // SAFETY: the last word of a row.
        unsafe {
            let last = bits.add(((row + 1) * words as u64 - 1) as usize);
            *last &= (1 << (width % WORD)) - 1;
        }
    }
}

/// Packs labels into bits, by ballots: a warp a word.
///
/// # Safety
/// As [`pack_labels`](super::pack_labels).
#[inline(always)]
pub unsafe fn pack_labels(labels: *const u32, bits: *mut u32, width: u32, words: u32, total: u64) {
    let at = thread::index_1d() / warp::SIZE as u64;
    if at >= total {
        return;
    }
    let row = at / words.max(1) as u64;
    let x = (at - row * words as u64) * WORD as u64 + warp::lane_id() as u64;
    // SAFETY: `x < width` guards the row; a warp's lanes have the same word.
    unsafe {
        let is_site = x < width as u64 && *labels.add((row * width as u64 + x) as usize) != 0;
        let word = warp::ballot(warp::FULL, is_site);
        if warp::lane_id() == 0 {
            *bits.add(at as usize) = word;
        }
    }
}

/// Unpacks bits into bytes.
///
/// # Safety
/// As [`unpack_bits`](super::unpack_bits).
#[inline(always)]
pub unsafe fn unpack(bits: *const u32, mask: *mut u8, width: u32, words: u32, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        let row = p / width.max(1) as u64;
        let x = (p - row * width as u64) as u32;
        // SAFETY: `p < pixels`, and `x` lies in the row's words.
        unsafe {
            let word = *bits.add((row * words as u64 + (x / WORD) as u64) as usize);
            *mask.add(p as usize) = (word >> (x % WORD) & 1) as u8;
        }
    }
}

/// Turns sites into others and others into sites, but for the bits beyond the width.
///
/// # Safety
/// As [`flip_bits`](super::flip_bits).
#[inline(always)]
pub unsafe fn flip(from: *const u32, to: *mut u32, width: u32, words: u32, total: u64) {
    let at = thread::index_1d();
    if at < total {
        let word = (at % words.max(1) as u64) as u32;
        let used = width - word * WORD;
        let inside = if used >= WORD { u32::MAX } else { (1 << used) - 1 };
        // SAFETY: `at < total`.
        unsafe { *to.add(at as usize) = !*from.add(at as usize) & inside };
    }
}

/// An unsigned number whose bits are all set where there is none.
pub trait Number: Copy + PartialEq {
    /// All bits set.
    const NONE: Self;
    /// As 64 bits.
    fn wide(self) -> u64;
}

impl Number for u32 {
    const NONE: u32 = u32::MAX;
    #[inline(always)]
    fn wide(self) -> u64 {
        self as u64
    }
}

impl Number for u64 {
    const NONE: u64 = u64::MAX;
    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }
}

/// Column and row of every index.
///
/// # Safety
/// As [`coordinates`](super::coordinates).
#[inline(always)]
pub unsafe fn coordinates<I: Number>(indices: *const I, out: *mut u64, width: u32, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`.
        unsafe {
            let index = *indices.add(p as usize);
            let row = index.wide() / width.max(1) as u64;
            let column = index.wide() - row * width as u64;
            *out.add(p as usize) = if index == I::NONE { u64::MAX } else { column | row << 32 };
        }
    }
}

/// The value at every index; `none` where there is none.
///
/// # Safety
/// As [`gather`](super::gather).
#[inline(always)]
pub unsafe fn gather<I: Number>(
    indices: *const I,
    values: *const u32,
    out: *mut u32,
    none: u32,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`, and so is an index that is followed.
        unsafe {
            let index = (*indices.add(p as usize)).wide();
            *out.add(p as usize) = if index < pixels { *values.add(index as usize) } else { none };
        }
    }
}

/// The root of every square, times `scale`; infinite where there is none.
///
/// # Safety
/// As [`roots`](super::roots).
#[inline(always)]
pub unsafe fn roots<S: Number>(
    squares: *const S,
    out: *mut f32,
    out_f64: *mut f64,
    scale: f64,
    pixels: u64,
) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`; one of the outputs is there, the other null.
        unsafe {
            let square = *squares.add(p as usize);
            let root = if square == S::NONE {
                f64::INFINITY
            } else {
                math::sqrt(square.wide() as f64) * scale
            };
            if out.is_null() {
                *out_f64.add(p as usize) = root;
            } else {
                *out.add(p as usize) = root as f32;
            }
        }
    }
}

/// The distance outside less the distance inside.
///
/// # Safety
/// As [`signed_distances`](super::signed_distances).
#[inline(always)]
pub unsafe fn signed(outside: *mut f32, inside: *const f32, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`.
        unsafe { *outside.add(p as usize) -= *inside.add(p as usize) };
    }
}

/// Writes `value` where the mask is not zero.
///
/// # Safety
/// As [`exclude`](super::exclude).
#[inline(always)]
pub unsafe fn exclude<T: Copy>(mask: *const u8, out: *mut T, value: T, pixels: u64) {
    let p = thread::index_1d();
    if p < pixels {
        // SAFETY: `p < pixels`.
        unsafe {
            if *mask.add(p as usize) != 0 {
                *out.add(p as usize) = value;
            }
        }
    }
}
