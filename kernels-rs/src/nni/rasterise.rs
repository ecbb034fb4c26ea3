//! From points to sites.
//!
//! Each pixel has one 64-bit word, into which its points merge by one atomic that does not depend on
//! order. For the mean the word holds the number of points in its upper 16 bits and the sum of
//! their values, shifted to be unsigned, in the lower 48. A word in which the count would pass
//! 65,535 is found by the thread that makes it wrap; then [`accumulate_crowded`] counts all
//! points again in two arrays. It is launched in any case and returns at once where nothing wrapped,
//! so that the host need not look.

use device_std::vector::{self, Vector};
use device_std::{atomic, kernel, math, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// How points in one pixel merge: their mean.
pub const MEAN: u32 = 0;
/// How points in one pixel merge: the lowest value.
pub const MIN: u32 = 1;
/// How points in one pixel merge: the highest value.
pub const MAX: u32 = 2;
/// How points in one pixel merge: the value of the first point.
pub const FIRST: u32 = 3;
/// How points in one pixel merge: the value of the last point.
pub const LAST: u32 = 4;

/// The byte that fills the words at first: with [`MEAN`] no points, with [`MIN`] and [`FIRST`] more
/// than any value or index, with [`MAX`] and [`LAST`] less than any.
pub const fn neutral_byte(policy: u32) -> u8 {
    match policy {
        MEAN => 0x00,
        MIN | FIRST => 0x7f,
        _ => 0x80,
    }
}

/// The word of a pixel without points.
#[inline(always)]
fn neutral_word(policy: u32) -> i64 {
    (neutral_byte(policy) as u64 * 0x0101_0101_0101_0101) as i64
}

/// Where the tallies are: points outside the raster.
pub const OUTSIDE: usize = 0;
/// Where the tallies are: sites.
pub const SITES: usize = 1;
/// Where the tallies are: not 0 if a pixel has more points than its word can count.
pub const CROWDED: usize = 2;
/// Tallies, which start at 0.
pub const TALLIES: usize = 3;

/// Up to so many points no word can wrap, and [`accumulate_crowded`] is not needed.
pub const UNCROWDED: u64 = 0xffff;

/// One point, in the upper bits of a word.
const ONE_POINT: u64 = 1 << 48;

/// What makes a value unsigned: fixed-point values are within 2^30 of 0.
const SHIFT: i64 = 1 << 30;

/// Pixels that a thread of [`resolve_sites`] makes.
pub const RESOLVED: u64 = 4;

/// The value of a point in fixed point: `(z - offset) / step`, where the step is a power of two.
#[inline(always)]
fn quantise(z: f64, offset: f64, reciprocal_step: f64) -> i32 {
    math::round_ties_even((z - offset) * reciprocal_step) as i32
}

/// Where the pixels of the Voronoi raster lie.
#[derive(Clone, Copy)]
struct Raster {
    origin_x: f64,
    origin_y: f64,
    pixel_size: f64,
    width: u32,
    height: u32,
}

impl Raster {
    /// The index of the pixel under a point, and whether there is one.
    #[inline(always)]
    fn pixel_of(&self, x: f64, y: f64) -> (usize, bool) {
        let column = math::floor((x - self.origin_x) / self.pixel_size);
        let row = math::floor((self.origin_y - y) / self.pixel_size);
        let is_inside =
            column >= 0.0 && row >= 0.0 && column < self.width as f64 && row < self.height as f64;
        (row as usize * self.width as usize + column as usize, is_inside)
    }
}

/// Merges every point into its pixel's word, and counts the points outside the raster.
///
/// `words` starts filled with [`neutral_byte`]; `first` is the index of the first of these points
/// among all. Grid: one thread a point.
///
/// # Safety
/// `x`, `y`, `z` have `points` elements, `words` `width * height`, `tallies` [`TALLIES`]; values are
/// within 2^30 steps of `offset`.
#[kernel(block = 256)]
pub unsafe fn accumulate_points(
    x: *const f64,
    y: *const f64,
    z: *const f64,
    points: u64,
    first: u64,
    origin_x: f64,
    origin_y: f64,
    pixel_size: f64,
    width: u32,
    height: u32,
    offset: f64,
    reciprocal_step: f64,
    policy: u32,
    words: *mut i64,
    tallies: *mut u32,
) {
    let raster = Raster { origin_x, origin_y, pixel_size, width, height };
    let point = thread::index_1d();
    let mut is_outside = false;
    if point < points {
        let i = point as usize;
        // SAFETY: `point < points`; the pixel is checked against the raster.
        unsafe {
            let (x, y, z) = (*x.add(i), *y.add(i), *z.add(i));
            let (pixel, is_inside) = raster.pixel_of(x, y);
            is_outside = !is_inside;
            if is_inside {
                let word = words.add(pixel);
                let value = quantise(z, offset, reciprocal_step) as i64;
                match policy {
                    MEAN => {
                        let added = ONE_POINT + (value + SHIFT) as u64;
                        let before = atomic::add_u64(word.cast(), added);
                        if before.wrapping_add(added) < before {
                            *tallies.add(CROWDED) = 1;
                        }
                    }
                    MIN => _ = atomic::min_i64(word, value),
                    MAX => _ = atomic::max_i64(word, value),
                    FIRST => _ = atomic::min_i64(word, (first + point) as i64),
                    _ => _ = atomic::max_i64(word, (first + point) as i64),
                };
            }
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count(is_outside as u32, tallies.add(OUTSIDE)) };
}

/// Sets the arrays of [`accumulate_crowded`] to zero, if they are needed.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// `tallies` has [`TALLIES`] elements, `counts` and `sums` have `pixels`.
#[kernel(block = 256)]
pub unsafe fn clear_crowded(tallies: *const u32, counts: *mut u32, sums: *mut i64, pixels: u64) {
    // SAFETY: the tallies have this element.
    if unsafe { *tallies.add(CROWDED) } == 0 {
        return;
    }
    let mut pixel = thread::index_1d();
    while pixel < pixels {
        // SAFETY: `pixel < pixels`.
        unsafe {
            *counts.add(pixel as usize) = 0;
            *sums.add(pixel as usize) = 0;
        }
        pixel += threads();
    }
}

/// Counts and sums the points of each pixel in arrays of their own, if a word wrapped.
///
/// Grid: any; each thread takes points in turn.
///
/// # Safety
/// As for [`accumulate_points`]; `counts` and `sums` have an element for each pixel.
#[kernel(block = 256)]
pub unsafe fn accumulate_crowded(
    tallies: *const u32,
    x: *const f64,
    y: *const f64,
    z: *const f64,
    points: u64,
    origin_x: f64,
    origin_y: f64,
    pixel_size: f64,
    width: u32,
    height: u32,
    offset: f64,
    reciprocal_step: f64,
    counts: *mut u32,
    sums: *mut i64,
) {
    // SAFETY: the tallies have this element.
    if unsafe { *tallies.add(CROWDED) } == 0 {
        return;
    }
    let raster = Raster { origin_x, origin_y, pixel_size, width, height };
    let mut point = thread::index_1d();
    while point < points {
        let i = point as usize;
        // SAFETY: `point < points`; the pixel is checked against the raster.
        unsafe {
            let (pixel, is_inside) = raster.pixel_of(*x.add(i), *y.add(i));
            if is_inside {
                let value = quantise(*z.add(i), offset, reciprocal_step);
                atomic::add_u32(counts.add(pixel), 1);
                atomic::add_i64(sums.add(pixel), value as i64);
            }
        }
        point += threads();
    }
}

/// Threads of the grid.
#[inline(always)]
fn threads() -> u64 {
    thread::grid_dim_x() as u64 * thread::block_dim_x() as u64
}

/// Writes the site mask and the value of every site, and counts the sites.
///
/// `counts` and `sums` are looked at only where a word wrapped. Grid: one thread for every
/// [`RESOLVED`] pixels.
///
/// # Safety
/// `words`, `counts`, `sums`, `mask`, `values` have `pixels` elements and start at multiples of 16
/// bytes; with [`FIRST`] and [`LAST`] the words of occupied pixels are indices into `z`.
#[kernel(block = 256)]
pub unsafe fn resolve_sites(
    words: *const i64,
    counts: *const u32,
    sums: *const i64,
    z: *const f64,
    offset: f64,
    reciprocal_step: f64,
    policy: u32,
    pixels: u64,
    mask: *mut u8,
    values: *mut i32,
    tallies: *mut u32,
) {
    let first = thread::index_1d() * RESOLVED;
    let mut sites = 0;
    if first < pixels {
        // SAFETY: the elements from `first` on are guarded by `pixels`.
        unsafe {
            let crowded = policy == MEAN && *tallies.add(CROWDED) != 0;
            let resolve = |pixel: u64, word: i64| {
                let p = pixel as usize;
                if crowded {
                    let count = *counts.add(p);
                    return (count > 0, rounded_mean(*sums.add(p), count));
                }
                let value = match policy {
                    MEAN => mean_of_word(word as u64),
                    MIN | MAX => word as i32,
                    _ if word == neutral_word(policy) => 0,
                    _ => quantise(*z.add(word as usize), offset, reciprocal_step),
                };
                (word != neutral_word(policy), value)
            };
            if first + RESOLVED <= pixels {
                let word = words.add(first as usize);
                let (low, high) = (vector::load(word.cast()), vector::load(word.add(2).cast()));
                let words = [
                    join(low[0], low[1]),
                    join(low[2], low[3]),
                    join(high[0], high[1]),
                    join(high[2], high[3]),
                ];
                let mut flags = 0;
                let mut vector: Vector = [0; 4];
                let mut i = 0;
                while i < 4 {
                    let (is_site, value) = resolve(first + i as u64, words[i]);
                    flags |= (is_site as u32) << (8 * i);
                    vector[i] = if is_site { value as u32 } else { 0 };
                    i += 1;
                }
                *mask.add(first as usize).cast::<u32>() = flags;
                vector::store(values.add(first as usize).cast(), vector);
                sites = flags.count_ones();
            } else {
                let mut pixel = first;
                while pixel < pixels {
                    let p = pixel as usize;
                    let (is_site, value) = resolve(pixel, *words.add(p));
                    *mask.add(p) = is_site as u8;
                    *values.add(p) = if is_site { value } else { 0 };
                    sites += is_site as u32;
                    pixel += 1;
                }
            }
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count(sites, tallies.add(SITES)) };
}

#[inline(always)]
fn join(low: u32, high: u32) -> i64 {
    (low as u64 | (high as u64) << 32) as i64
}

/// The mean value of the points in a word of [`MEAN`], rounded; of no points anything.
#[inline(always)]
fn mean_of_word(word: u64) -> i32 {
    let count = (word >> 48) as u32;
    let sum = (word & (ONE_POINT - 1)) as i64 - count as i64 * SHIFT;
    // Most pixels have one point.
    if count <= 1 { sum as i32 } else { rounded_mean(sum, count) }
}

/// `sum / count` to the nearest integer, halves upward: `floor((2 sum + count) / (2 count))`.
///
/// The quotient is taken in f64, where it is off by one at most, and corrected.
#[inline(always)]
fn rounded_mean(sum: i64, count: u32) -> i32 {
    let numerator = 2 * sum + count as i64;
    let denominator = 2 * count as i64;
    let mut quotient = math::floor(numerator as f64 / denominator as f64) as i64;
    let rest = numerator - quotient * denominator;
    if rest < 0 {
        quotient -= 1;
    } else if rest >= denominator {
        quotient += 1;
    }
    quotient as i32
}

/// Adds what the threads of a warp counted, at most 15 each, to `total`, with one atomic a warp.
///
/// # Safety
/// All threads of the block come to the same call.
#[inline(always)]
unsafe fn count(number: u32, total: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sum = 0;
        let mut bit = 0;
        while bit < 3 {
            sum += warp::ballot(warp::FULL, number >> bit & 1 != 0).count_ones() << bit;
            bit += 1;
        }
        if sum != 0 && warp::lane_id() == 0 {
            atomic::add_u32(total, sum);
        }
    }
}
