//! From points to the words of pixels.
//!
//! Each pixel has one 64-bit word for each value, into which its points merge by one atomic that does
//! not depend on order. The words of a pixel lie together. For the mean the word holds the number of
//! points in its upper 16 bits and the sum of their values, shifted to be unsigned, in the lower 48. From
//! 65,536 points on a word's count is short of the truth: [`crowded`](super::crowded) then counts again.

#[cfg(feature = "nni")]
use device_std::kernel;
use device_std::{atomic, math, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::values::{MOST_VALUES, Scales};
use crate::nni::policies::{FIRST, MAX, MEAN, MIN};
use crate::nni::tallies::{BAD, OUTSIDE, count_flags};

/// The byte that fills the words at first: with [`MEAN`] no points, with [`MIN`] and [`FIRST`] more
/// than any value or index, with [`MAX`] and [`LAST`](crate::nni::policies::LAST) less than any.
pub const fn neutral_byte(policy: u32) -> u8 {
    match policy {
        MEAN => 0x00,
        MIN | FIRST => 0x7f,
        _ => 0x80,
    }
}

/// The word of a pixel without points.
#[inline(always)]
pub(super) fn neutral_word(policy: u32) -> i64 {
    (neutral_byte(policy) as u64 * 0x0101_0101_0101_0101) as i64
}

/// Up to this many points no word can wrap, and [`crowded`](super::crowded) is not needed.
pub const UNCROWDED: u64 = 0xffff;

/// One point, in the upper bits of a word.
pub(super) const ONE_POINT: u64 = 1 << 48;

/// What makes a value unsigned: fixed-point values are within 2^30 of 0.
pub(super) const SHIFT: i64 = 1 << 30;

/// The most steps of a value from 0 that its part of a word has room for.
const MOST_STEPS: f64 = (SHIFT - 1) as f64;

/// The value of a point in fixed point: `(z - offset) / step`, where the step is a power of two. A value
/// beyond the range that the scale was made for is brought to what a word has room for.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
pub(super) fn quantise(z: f64, [offset, reciprocal_step]: [f64; 2]) -> i32 {
    let steps = math::round_ties_even((z - offset) * reciprocal_step);
    f64::max(-MOST_STEPS, f64::min(MOST_STEPS, steps)) as i32
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
    pub(super) fn pixel_of(&self, x: f64, y: f64) -> (usize, bool) {
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
    /// The columns of values.
    pub z: [*const f64; MOST_VALUES],
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
                    z[k] = *self.z[k & (MOST_VALUES - 1)].add(i);
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

/// Merges every point into the words of its pixel, and counts the points outside the raster.
///
/// `words` starts filled with [`neutral_byte`]; `first` is the index of the first of these points among
/// all. A point that is not finite or has a value beyond f32 is counted as bad, and the index of the first
/// of them put into `first_bad`. Grid: one thread a point.
///
/// # Safety
/// `x`, `y` and the first `N` of `z` have `points` elements, `words` `width * height` for each value,
/// `tallies` [`TALLIES`](crate::nni::tallies::TALLIES), `scales` one for each value ([`Scales`]).
#[cfg(feature = "nni")]
#[kernel(block = 256, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn accumulate_points<const N: usize>(
    x: *const f64,
    y: *const f64,
    z: [*const f64; 4],
    points: u64,
    first: u64,
    origin_x: f64,
    origin_y: f64,
    pixel_size: f64,
    width: u32,
    height: u32,
    scales: *const f64,
    policy: u32,
    words: *mut i64,
    tallies: *mut u64,
    first_bad: *mut i64,
) {
    let raster = Raster { origin_x, origin_y, pixel_size, width, height };
    let all = Points { x, y, z, points, first, scales: Scales(scales), policy };
    // SAFETY: passed on to the caller.
    unsafe { all.merge::<N>(&raster, words, tallies, first_bad) };
}
