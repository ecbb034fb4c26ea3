//! Pixels with more points than a word counts: [`MEAN`](crate::nni::policies::MEAN) of 65,536 points and more.
//!
//! Then the sum of the words' counts, which `resolve_sites` takes, is not the number of points inside, and
//! these kernels count again in two arrays. They are launched in any case and return at once where nothing
//! is wrong, so that the host need not look.

use device_std::{atomic, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::rasterise::{Raster, quantise};
use super::values::{MOST_VALUES, Scales};
use crate::nni::policies::rounded_mean;
use crate::nni::tallies::{COUNTED, OUTSIDE, SITES};

/// Whether a word is short of points.
///
/// # Safety
/// `tallies` has [`TALLIES`](super::TALLIES) elements; all points have been merged, and the words resolved.
#[inline(always)]
unsafe fn is_crowded(tallies: *const u64, points: u64) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { *tallies.add(COUNTED) != points - *tallies.add(OUTSIDE) }
}

/// Sets the arrays of [`const@accumulate_crowded`] to zero, if they are needed.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// As for [`is_crowded`]; `counts` has `pixels` elements, `sums` `value_count` times as many.
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
/// As for `accumulate_points` with `value_count` values, all points at once, and [`is_crowded`]; `counts`
/// has an element for each pixel, `sums` `value_count`.
#[kernel(block = 256)]
pub unsafe fn accumulate_crowded(
    tallies: *const u64,
    x: *const f64,
    y: *const f64,
    z: [*const f64; 4],
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
                // To a constant number, for which the columns' addresses stay in registers.
                let mut k = 0;
                while k < MOST_VALUES {
                    if k < value_count as usize {
                        let value = quantise(*z[k].add(i), Scales(scales).inverse_of(k));
                        atomic::add_i64(sums.add(value_count as usize * pixel + k), value as i64);
                    }
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

/// The values of occupied pixels by [`const@accumulate_crowded`], if a word is short of points.
///
/// Grid: any; each thread takes pixels in turn.
///
/// # Safety
/// As for [`is_crowded`]; `counts` and `mask` have `pixels` elements, `sums` and `values`
/// `value_count` times as many.
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
