//! The raster turned by half a circle, for ties without a lean.
//!
//! On a raster many pixels are equally far from several sites, and the diagram gives them all to the
//! lowest index: to the northern site, then the western. Sums over what a query steals would lean that way.
//! In the turned raster the lowest index is the highest of the other, so ties go the opposite way, and
//! the mean of both leans nowhere.

#[cfg(feature = "nni")]
use device_std::{kernel, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
#[cfg(feature = "nni")]
use super::rasterise::{UNITED, count_flags};

/// The mean of what two queries give; of one, where only that gives anything.
#[inline(always)]
pub fn united(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else {
        ((a as f64 + b as f64) * 0.5) as f32
    }
}

/// Turns a mask, and the values of its sites. Grid: a thread a pixel.
///
/// # Safety
/// `mask` and `turned_mask` have `pixels` elements, `values` and `turned_values` `value_count` for each.
#[cfg(feature = "nni")]
#[kernel(named, block = 256)]
pub unsafe fn turn_sites(
    mask: *const u8,
    values: *const i32,
    value_count: u32,
    pixels: u64,
    turned_mask: *mut u8,
    turned_values: *mut i32,
) {
    let pixel = thread::index_1d();
    if pixel >= pixels {
        return;
    }
    let (from, to) = (pixel as usize, (pixels - 1 - pixel) as usize);
    // SAFETY: both pixels are in the raster.
    unsafe {
        let is_site = *mask.add(from);
        *turned_mask.add(to) = is_site;
        if is_site != 0 {
            let mut k = 0;
            while k < value_count as usize {
                *turned_values.add(value_count as usize * to + k) =
                    *values.add(value_count as usize * from + k);
                k += 1;
            }
        }
    }
}

/// Makes of cells from `first` on, `len` in number, the means with those of the turned raster; of the
/// counts, the greater; and counts the cells without a value. Grid: a thread a cell.
///
/// # Safety
/// `dem` and `turned_dem` have `value_count` times `cells` elements, `counts` and `deviations` with their
/// turned ones as many as there are cells, or are null.
#[cfg(feature = "nni")]
#[kernel(named, block = 256)]
pub unsafe fn unite_turned(
    tallies: *mut u64,
    value_count: u32,
    cells: u64,
    first: u64,
    len: u64,
    dem: *mut f32,
    turned_dem: *const f32,
    counts: *mut u32,
    turned_counts: *const u32,
    deviations: *mut f32,
    turned_deviations: *const f32,
) {
    let mut is_empty = false;
    if thread::index_1d() < len {
        let cell = (first + thread::index_1d()) as usize;
        let turned = cells as usize - 1 - cell;
        // SAFETY: both cells are in the DEM.
        unsafe {
            let mut k = 0;
            while k < value_count as usize {
                let plane = k * cells as usize;
                let value = united(*dem.add(plane + cell), *turned_dem.add(plane + turned));
                *dem.add(plane + cell) = value;
                is_empty = value.is_nan();
                k += 1;
            }
            if !counts.is_null() {
                *counts.add(cell) = u32::max(*counts.add(cell), *turned_counts.add(turned));
            }
            if !deviations.is_null() {
                *deviations.add(cell) =
                    united(*deviations.add(cell), *turned_deviations.add(turned));
            }
        }
    }
    // SAFETY: all threads of the block come here.
    unsafe { count_flags(is_empty, tallies.add(UNITED)) };
}
