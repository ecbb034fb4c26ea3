//! From points to the words of pixels.
//!
//! Each pixel has one 64-bit word for each value. Points merge into the word by one atomic that does not depend on
//! order. The words of a pixel lie together. For the mean the word holds the number of points in its upper 16 bits, and
//! in the lower 48 the sum of their values, shifted to be unsigned. With 65,536 points or more in a pixel that number
//! overflows, and [`crowded`](super::crowded) counts again.

#[cfg(feature = "nni")]
use device_std::kernel;
use device_std::{In, Out, arguments, math, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
use super::values::{Columns, MAX_VALUES, Scales};
use crate::nni::policies::{FIRST, MAX, MEAN, MIN};
use crate::nni::tallies::{BAD, OUTSIDE, count_flags};

/// The byte that fills the words at first. With [`MEAN`] it means no points; with [`MIN`] and [`FIRST`] more than any
/// value or index; with [`MAX`] and [`LAST`](crate::nni::policies::LAST) less than any.
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

/// With at most this many points no word can overflow, and [`crowded`](super::crowded) is not needed.
pub const UNCROWDED: u64 = 0xffff;

/// One point, in the upper bits of a word.
pub(super) const ONE_POINT: u64 = 1 << 48;

/// Added to a value to make it unsigned: fixed-point values are within 2^30 of 0.
pub(super) const SHIFT: i64 = 1 << 30;

/// The most steps from 0 of a value that fits its part of a word.
const MAX_STEPS: f64 = (SHIFT - 1) as f64;

/// The value of a point in fixed point: `(z - offset) / step`, where the step is a power of two. A value beyond the
/// range of the scale is clamped to what fits a word.
#[inline(always)]
#[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
pub(super) fn quantise(z: f64, [offset, reciprocal_step]: [f64; 2]) -> i32 {
    let steps = math::round_ties_even((z - offset) * reciprocal_step);
    f64::max(-MAX_STEPS, f64::min(MAX_STEPS, steps)) as i32
}

/// Where the pixels of the Voronoi raster lie.
#[arguments]
pub struct Raster {
    /// x of the western edge.
    pub origin_x: f64,
    /// y of the northern edge.
    pub origin_y: f64,
    /// The side of a pixel.
    pub pixel_size: f64,
    /// Columns.
    pub width: u32,
    /// Rows.
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

/// Points in device memory.
#[arguments]
pub struct Points<'a> {
    /// `count` eastings.
    pub x: In<'a, f64>,
    /// `count` northings.
    pub y: In<'a, f64>,
    /// Their values.
    pub z: Columns<'a>,
    /// How many points there are.
    pub count: u64,
}

/// Merges every point into the words of its pixel, and counts the points outside the raster.
///
/// `words` starts filled with [`neutral_byte`]. `first` is the index, among all points, of the first of these points. A
/// point that is not finite or has a value beyond f32 is counted as bad; `first_bad` gets the least index of a bad
/// point. Grid: one thread a point.
///
/// # Safety
/// The points have at least `N` columns of values. `words` has an element for each value of each pixel, and `scales` a
/// scale for each value ([`Scales`]). `tallies` has [`TALLIES`](crate::nni::tallies::TALLIES) elements, and `first_bad`
/// has one.
#[cfg(feature = "nni")]
#[kernel(block = 256, instances(one: <1>; two: <2>; four: <4>))]
pub unsafe fn accumulate_points<const N: usize>(
    points: Points<'_>,
    first: u64,
    raster: Raster,
    scales: In<'_, f64>,
    policy: u32,
    words: Out<'_, i64>,
    tallies: Out<'_, u64>,
    first_bad: Out<'_, i64>,
) {
    let point = thread::index_1d();
    let (mut is_outside, mut is_bad) = (false, false);
    if point < points.count {
        let (x, y, columns) = (points.x.get(point), points.y.get(point), points.z.all());
        let mut z = [0.0; N];
        let mut k = 0;
        while k < N {
            z[k] = columns[k & (MAX_VALUES - 1)].get(point);
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
        let index = (first + point) as i64;
        if is_bad {
            first_bad.fetch_min(0u32, index);
        } else if is_inside {
            let mut k = 0;
            while k < N {
                let word = words.from(N * pixel + k);
                let value = quantise(z[k], Scales(scales).inverse_of(k)) as i64;
                match policy {
                    MEAN => _ = word.fetch_add(0u32, (ONE_POINT as i64) + value + SHIFT),
                    MIN => _ = word.fetch_min(0u32, value),
                    MAX => _ = word.fetch_max(0u32, value),
                    FIRST => _ = word.fetch_min(0u32, index),
                    _ => _ = word.fetch_max(0u32, index),
                };
                k += 1;
            }
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe {
        count_flags(is_outside, tallies, OUTSIDE);
        count_flags(is_bad, tallies, BAD);
    }
}
