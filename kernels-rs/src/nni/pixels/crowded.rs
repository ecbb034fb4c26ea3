//! Pixels with more points than a word can count: [`MEAN`](crate::nni::policies::MEAN) of 65,536 points and more.
//!
//! If a pixel has that many, the sum of the words' counts, which `resolve_sites` takes, is less than the number of
//! points inside. Then these kernels count again in two arrays. They are always launched, and return at once if no word
//! overflowed, so that the host need not wait to know.

use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::rasterise::{Points, Raster, quantise};
use super::values::{MAX_VALUES, Scales};
use crate::nni::policies::rounded_mean;
use crate::nni::tallies::{COUNTED, OUTSIDE, SITES};

/// Whether a word has overflowed, once all points have been merged and the words resolved.
#[inline(always)]
fn is_crowded(tallies: In<'_, u64>, points: u64) -> bool {
    tallies.get(COUNTED) != points - tallies.get(OUTSIDE)
}

/// Sets the arrays of [`const@accumulate_crowded`] to zero, if a word has overflowed.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// `tallies` has [`TALLIES`](crate::nni::tallies::TALLIES) elements, as `resolve_sites` leaves them; `counts` has
/// `pixels` elements, `sums` `value_count` times as many.
#[kernel(block = 256)]
pub unsafe fn clear_crowded(
    tallies: In<'_, u64>,
    points: u64,
    counts: Out<'_, u32>,
    sums: Out<'_, i64>,
    value_count: u32,
    pixels: u64,
) {
    if !is_crowded(tallies, points) {
        return;
    }
    let mut pixel = thread::index_1d();
    while pixel < pixels {
        counts.set(pixel, 0);
        let mut k = 0;
        while k < value_count as usize {
            sums.set(value_count as usize * pixel as usize + k, 0);
            k += 1;
        }
        pixel += threads();
    }
}

/// Counts and sums the points of each pixel in arrays of their own, if a word has overflowed.
///
/// Grid: any; each thread takes points in turn.
///
/// # Safety
/// As for `accumulate_points` with `value_count` values and all points at once, and as for [`const@clear_crowded`].
/// `counts` has an element for each pixel, `sums` `value_count` of them.
#[kernel(block = 256)]
pub unsafe fn accumulate_crowded(
    tallies: In<'_, u64>,
    points: Points<'_>,
    raster: Raster,
    scales: In<'_, f64>,
    value_count: u32,
    counts: Out<'_, u32>,
    sums: Out<'_, i64>,
) {
    if !is_crowded(tallies, points.count) {
        return;
    }
    let z = points.z.all();
    let mut point = thread::index_1d();
    while point < points.count {
        let (pixel, is_inside) = raster.pixel_of(points.x.get(point), points.y.get(point));
        if is_inside {
            counts.fetch_add(pixel, 1);
            // The loop runs to a constant number, so that the columns' addresses stay in registers.
            let mut k = 0;
            while k < MAX_VALUES {
                if k < value_count as usize {
                    let value = quantise(z[k].get(point), Scales(scales).inverse_of(k));
                    sums.fetch_add(value_count as usize * pixel + k, value as i64);
                }
                k += 1;
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

/// Writes the values of occupied pixels from the sums of [`const@accumulate_crowded`], if a word has overflowed.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// As for [`const@clear_crowded`]. `counts` and `mask` have `pixels` elements, `sums` and `values` have `value_count`
/// times as many.
#[kernel(block = 256)]
pub unsafe fn resolve_crowded(
    tallies: Out<'_, u64>,
    points: u64,
    counts: In<'_, u32>,
    sums: In<'_, i64>,
    value_count: u32,
    pixels: u64,
    mask: Out<'_, u8>,
    values: Out<'_, i32>,
) {
    if tallies.get(COUNTED) == points - tallies.get(OUTSIDE) {
        return;
    }
    let mut pixel = thread::index_1d();
    while pixel < pixels {
        let p = pixel as usize;
        let count = counts.get(p);
        if count > 0 {
            // A count that wrapped to 0 had left no site.
            if mask.get(p) == 0 {
                mask.set(p, 1);
                tallies.fetch_add(SITES, 1);
            }
            let mut k = value_count as usize * p;
            while k < value_count as usize * (p + 1) {
                values.set(k, rounded_mean(sums.get(k), count));
                k += 1;
            }
        }
        pixel += threads();
    }
}
