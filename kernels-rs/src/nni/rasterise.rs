//! From points to sites.
//!
//! Each pixel has one 64-bit word for each value, into which its points merge by one atomic that does
//! not depend on order. The words of a pixel lie together. For the mean the word holds the number of points in its upper 16 bits and the sum of
//! their values, shifted to be unsigned, in the lower 48. From 65,536 points on a word's count is
//! short of the truth, and then so is the sum of the counts, which `resolve_sites` takes. Where
//! that is not the number of points inside, the kernels with `crowded` in their names count
//! again in two arrays. They are launched in any case and return at once where nothing is wrong, so
//! that the host need not look.

#[cfg(feature = "nni")]
use device_std::kernel;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{atomic, math, thread, warp};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::values::Scales;

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
/// Where the tallies are: points counted in words, with [`MEAN`].
pub const COUNTED: usize = 2;
/// Where the tallies are: points that are not finite, or have a value beyond f32.
pub const BAD: usize = 3;
/// Where the tallies are: cells without a value in one diagram.
pub const NODATA: usize = 4;
/// Where the tallies are: cells without a value after all.
pub const LEFT: usize = 5;
/// Where the tallies are: cells without a value in either diagram.
pub const UNITED: usize = 6;
/// Tallies, which start at 0.
pub const TALLIES: usize = 7;

/// Up to so many points no word can wrap, and [`accumulate_crowded`] is not needed.
pub const UNCROWDED: u64 = 0xffff;

/// Warps of a block.
const WARPS: u32 = 256 / warp::SIZE;

/// One point, in the upper bits of a word.
const ONE_POINT: u64 = 1 << 48;

/// What makes a value unsigned: fixed-point values are within 2^30 of 0.
const SHIFT: i64 = 1 << 30;

/// Words that a thread of `resolve_sites` takes.
pub const RESOLVED: u64 = 4;

/// The value of a point in fixed point: `(z - offset) / step`, where the step is a power of two.
#[inline(always)]
fn quantise(z: f64, [offset, reciprocal_step]: [f64; 2]) -> i32 {
    math::round_ties_even((z - offset) * reciprocal_step) as i32
}

/// Where the pixels of the Voronoi raster lie.
#[derive(Clone, Copy)]
pub(crate) struct Raster {
    pub origin_x: f64,
    pub origin_y: f64,
    pub pixel_size: f64,
    pub width: u32,
    pub height: u32,
}

impl Raster {
    /// The index of the pixel under a point, and whether there is one.
    #[inline(always)]
    fn pixel_of(&self, x: f64, y: f64) -> (usize, bool) {
        let column = math::floor((x - self.origin_x) / self.pixel_size);
        let row = math::floor((self.origin_y - y) / self.pixel_size);
        let is_inside =
            column >= 0.0 && row >= 0.0 && column < self.width as f64 && row < self.height as f64;
        // Far outside a row saturates, and its index would overflow.
        let pixel =
            if is_inside { row as usize * self.width as usize + column as usize } else { 0 };
        (pixel, is_inside)
    }
}

/// What [`merge`](Points::merge) merges.
#[derive(Clone, Copy)]
pub(crate) struct Points {
    pub x: *const f64,
    pub y: *const f64,
    /// The values: all points' first, then all points' second.
    pub z: *const f64,
    /// From a point's value to its next.
    pub plane: u64,
    pub points: u64,
    /// The index of the first point among all.
    pub first: u64,
    pub scales: Scales,
    pub policy: u32,
}

impl Points {
    /// Merges this thread's point into the words of its pixel.
    ///
    /// # Safety
    /// As for `accumulate_points`.
    #[inline(always)]
    pub unsafe fn merge<const N: usize>(
        &self,
        raster: &Raster,
        words: *mut i64,
        tallies: *mut u64,
        first_bad: *mut i64,
    ) {
        let point = thread::index_1d();
        let (mut is_outside, mut is_bad) = (false, false);
        if point < self.points {
            let i = point as usize;
            // SAFETY: `point < points`; the pixel is checked against the raster.
            unsafe {
                let (x, y) = (*self.x.add(i), *self.y.add(i));
                let mut z = [0.0; N];
                let mut k = 0;
                while k < N {
                    z[k] = *self.z.add(k * self.plane as usize + i);
                    k += 1;
                }
                let (pixel, is_inside) = raster.pixel_of(x, y);
                is_outside = !is_inside;
                let mut is_good = x.is_finite() && y.is_finite();
                let mut k = 0;
                while k < N {
                    is_good &= z[k].abs() <= f32::MAX as f64;
                    k += 1;
                }
                is_bad = !is_good;
                let index = (self.first + point) as i64;
                if is_bad {
                    atomic::min_i64(first_bad, index);
                } else if is_inside {
                    let mut k = 0;
                    while k < N {
                        let word = words.add(N * pixel + k);
                        let value = quantise(z[k], self.scales.inverse_of(k)) as i64;
                        match self.policy {
                            MEAN => _ = atomic::add_i64(word, (ONE_POINT as i64) + value + SHIFT),
                            MIN => _ = atomic::min_i64(word, value),
                            MAX => _ = atomic::max_i64(word, value),
                            FIRST => _ = atomic::min_i64(word, index),
                            _ => _ = atomic::max_i64(word, index),
                        };
                        k += 1;
                    }
                }
            }
        }
        // SAFETY: all threads of the block come here.
        unsafe {
            count_flags(is_outside, tallies.add(OUTSIDE));
            count_flags(is_bad, tallies.add(BAD));
        }
    }
}

/// Whether a word is short of points.
///
/// # Safety
/// `tallies` has [`TALLIES`] elements; all points have been merged, and the words resolved.
#[inline(always)]
unsafe fn is_crowded(tallies: *const u64, points: u64) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { *tallies.add(COUNTED) != points - *tallies.add(OUTSIDE) }
}

/// Sets the arrays of [`accumulate_crowded`] to zero, if they are needed.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// As for [`is_crowded`]; `counts` has `pixels` elements, `sums` `value_count` times as many.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn clear_crowded(
    tallies: *const u64,
    points: u64,
    counts: *mut u32,
    sums: *mut i64,
    value_count: u32,
    pixels: u64,
) {
    // SAFETY: passed on to the caller.
    if !unsafe { is_crowded(tallies, points) } {
        return;
    }
    let mut pixel = thread::index_1d();
    while pixel < pixels {
        // SAFETY: `pixel < pixels`.
        unsafe {
            *counts.add(pixel as usize) = 0;
            let mut k = 0;
            while k < value_count as usize {
                *sums.add(value_count as usize * pixel as usize + k) = 0;
                k += 1;
            }
        }
        pixel += threads();
    }
}

/// Counts and sums the points of each pixel in arrays of their own, if a word is short of points.
///
/// Grid: any; each thread takes points in turn.
///
/// # Safety
/// As for `accumulate_points` with so many values, all points at once, and [`is_crowded`]; `counts` has
/// an element for each pixel, `sums` `value_count`.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn accumulate_crowded(
    tallies: *const u64,
    x: *const f64,
    y: *const f64,
    z: *const f64,
    points: u64,
    origin_x: f64,
    origin_y: f64,
    pixel_size: f64,
    width: u32,
    height: u32,
    scales: *const f64,
    value_count: u32,
    counts: *mut u32,
    sums: *mut i64,
) {
    // SAFETY: passed on to the caller.
    if !unsafe { is_crowded(tallies, points) } {
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
                atomic::add_u32(counts.add(pixel), 1);
                let mut k = 0;
                while k < value_count as usize {
                    let z = *z.add(k * points as usize + i);
                    let value = quantise(z, Scales(scales).inverse_of(k));
                    atomic::add_i64(sums.add(value_count as usize * pixel + k), value as i64);
                    k += 1;
                }
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

/// The values of occupied pixels by [`accumulate_crowded`], if a word is short of points.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// As for [`is_crowded`]; `counts` and `mask` have `pixels` elements, `sums` and `values`
/// `value_count` times as many.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn resolve_crowded(
    tallies: *mut u64,
    points: u64,
    counts: *const u32,
    sums: *const i64,
    value_count: u32,
    pixels: u64,
    mask: *mut u8,
    values: *mut i32,
) {
    // SAFETY: passed on to the caller.
    if !unsafe { is_crowded(tallies, points) } {
        return;
    }
    let mut pixel = thread::index_1d();
    while pixel < pixels {
        let p = pixel as usize;
        // SAFETY: `pixel < pixels`.
        unsafe {
            let count = *counts.add(p);
            if count > 0 {
                // A count that wrapped to nothing had left no site.
                if *mask.add(p) == 0 {
                    *mask.add(p) = 1;
                    atomic::add_u64(tallies.add(SITES), 1);
                }
                let mut k = value_count as usize * p;
                while k < value_count as usize * (p + 1) {
                    *values.add(k) = rounded_mean(*sums.add(k), count);
                    k += 1;
                }
            }
        }
        pixel += threads();
    }
}

/// What [`resolve`](Words::resolve) resolves: the words of a raster with `pixels` pixels.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub words: *const i64,
    /// The values of all points, as [`Points::z`].
    pub z: *const f64,
    pub plane: u64,
    pub scales: Scales,
    pub policy: u32,
    pub pixels: u64,
}

impl Words {
    /// Writes the mask and the values of the pixels of this thread's [`RESOLVED`] words, and counts
    /// sites and points.
    ///
    /// # Safety
    /// As for `resolve_sites` with `N` values.
    #[inline(always)]
    pub unsafe fn resolve<const N: usize>(
        &self,
        mask: *mut u8,
        values: *mut i32,
        tallies: *mut u64,
    ) {
        let (first, end) = (thread::index_1d() * RESOLVED, self.pixels * N as u64);
        let (mut sites, mut points) = (0, 0);
        if first < end {
            // SAFETY: the words are guarded by `end`.
            unsafe {
                let is_whole = first + RESOLVED <= end;
                let four = self.load(first as usize, end as usize, is_whole);
                let mut flags = 0;
                let mut vector: Vector = [0; 4];
                // Words whose value takes more than themselves.
                let mut rest = 0;
                let mut i = 0;
                while i < 4 {
                    let word = four[i];
                    let is_site = word != neutral_word(self.policy);
                    let count = (word as u64 >> 48) as u32;
                    if i.is_multiple_of(N) {
                        flags |= (is_site as u32) << (8 * (i / N));
                        points += if self.policy == MEAN { count } else { 0 };
                    }
                    let is_easy = match self.policy {
                        MEAN => count <= 1,
                        MIN | MAX => true,
                        _ => false,
                    };
                    let one =
                        if self.policy == MEAN { word - ONE_POINT as i64 - SHIFT } else { word };
                    vector[i] = if is_site { one as u32 } else { 0 };
                    rest |= ((is_site && !is_easy) as u32) << i;
                    i += 1;
                }
                sites = flags.count_ones();
                let of_pixel = mask.add(first as usize / N);
                if is_whole {
                    match N {
                        1 => *of_pixel.cast::<u32>() = flags,
                        2 => *of_pixel.cast::<u16>() = flags as u16,
                        _ => *of_pixel = flags as u8,
                    }
                    // Where a vector is of one pixel or two most have no site, and nobody looks there.
                    if N == 1 || sites > 0 {
                        vector::store(values.add(first as usize).cast(), vector);
                    }
                } else {
                    let mut i = 0;
                    while i < 4 {
                        if first + (i as u64) < end {
                            *of_pixel.add(i / N) = (flags >> (8 * (i / N))) as u8;
                            *values.add(first as usize + i) = vector[i] as i32;
                        }
                        i += 1;
                    }
                }
                // One division in the code, for as many rounds as the warp's fullest thread needs.
                while rest != 0 {
                    let i = first as usize + rest.trailing_zeros() as usize;
                    *values.add(i) = self.value_of::<N>(i);
                    rest &= rest - 1;
                }
            }
        }
        // SAFETY: all threads of the block come here.
        unsafe {
            let sum = BlockSum::new(&mut Carver::new()).of((sites as u64) << 32 | points as u64);
            if sum != 0 && thread::thread_idx_x() == 0 {
                atomic::add_u64(tallies.add(SITES), sum >> 32);
                atomic::add_u64(tallies.add(COUNTED), sum & 0xffff_ffff);
            }
        }
    }

    /// Four words, neutral ones from `end` on.
    ///
    /// # Safety
    /// There are words up to `end`, which is beyond the four where they are whole.
    #[inline(always)]
    unsafe fn load(&self, first: usize, end: usize, is_whole: bool) -> [i64; 4] {
        let mut four = [neutral_word(self.policy); 4];
        // SAFETY: passed on to the caller.
        unsafe {
            if is_whole {
                let low = vector::load(self.words.add(first).cast());
                let high = vector::load(self.words.add(first + 2).cast());
                four = [
                    join(low[0], low[1]),
                    join(low[2], low[3]),
                    join(high[0], high[1]),
                    join(high[2], high[3]),
                ];
            } else {
                let mut i = 0;
                while i < 4 {
                    if first + i < end {
                        four[i] = *self.words.add(first + i);
                    }
                    i += 1;
                }
            }
        }
        four
    }

    /// The value of a site from its word `i`: the mean of several points, or that of a point by its
    /// index.
    ///
    /// # Safety
    /// As for [`resolve`](Self::resolve).
    #[inline(always)]
    unsafe fn value_of<const N: usize>(&self, i: usize) -> i32 {
        // SAFETY: passed on to the caller.
        unsafe {
            let word = *self.words.add(i);
            if self.policy == MEAN {
                let count = (word as u64 >> 48) as u32;
                let sum = (word as u64 & (ONE_POINT - 1)) as i64;
                return rounded_mean(sum - count as i64 * SHIFT, count);
            }
            let k = i % N;
            let z = *self.z.add(k * self.plane as usize + word as usize);
            quantise(z, self.scales.inverse_of(k))
        }
    }
}

#[inline(always)]
fn join(low: u32, high: u32) -> i64 {
    (low as u64 | (high as u64) << 32) as i64
}

/// `sum / count` to the nearest integer, halves upward: `floor((2 sum + count) / (2 count))`.
///
/// The quotient is taken in f64, where it is off by one at most, and corrected.
#[inline(always)]
pub(crate) fn rounded_mean(sum: i64, count: u32) -> i32 {
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

/// Adds the number of threads whose flag is set to `total`, with one atomic a warp: for flags that are
/// rare.
///
/// # Safety
/// All threads of the block come to the same call.
#[inline(always)]
pub(crate) unsafe fn count_flags(flag: bool, total: *mut u64) {
    // SAFETY: passed on to the caller.
    unsafe {
        let flags = warp::ballot(warp::FULL, flag);
        if flags != 0 && warp::lane_id() == 0 {
            atomic::add_u64(total, flags.count_ones() as u64);
        }
    }
}

/// Shared memory of [`BlockSum`].
pub const SUM_SHARED: u32 = 8 * WARPS;

/// Sums a number of each thread of a block.
pub(super) struct BlockSum(SharedArray<u64>);

impl BlockSum {
    pub(super) const fn new(carver: &mut Carver) -> Self {
        Self(carver.array(WARPS))
    }

    /// The sum, in thread 0; in others anything.
    ///
    /// # Safety
    /// All threads of the block come to the same call, once.
    #[inline(always)]
    pub(super) unsafe fn of(&self, number: u64) -> u64 {
        // SAFETY: passed on to the caller; each warp stores its own element.
        unsafe {
            let sum = warp::reduce(number, |a, b| a + b);
            if warp::lane_id() == 0 {
                self.0.store(warp::warp_id(), sum);
            }
            thread::sync_threads();
            let mut total = 0;
            if thread::thread_idx_x() == 0 {
                let mut warp = 0;
                while warp < WARPS {
                    total += self.0.load(warp);
                    warp += 1;
                }
            }
            total
        }
    }
}
