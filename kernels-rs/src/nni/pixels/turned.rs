//! The raster turned by half a circle, for ties without a lean.
//!
//! On a raster many pixels are equally far from several sites, and the diagram gives them all to the
//! lowest index: to the northern site, then the western. Sums over what a query steals would lean that way.
//! In the turned raster the lowest index is the highest of the other, so ties go the opposite way, and
//! the mean of both leans nowhere. The mask of sites alone is turned: their values are found where they lie
//! ([`Values`](super::values::Values)).

#[cfg(feature = "nni")]
use device_std::vector::{self, Vector};
#[cfg(feature = "nni")]
use device_std::{kernel, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
#[cfg(feature = "nni")]
use crate::nni::tallies::{UNITED, count_flags};

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

/// Cells that a thread takes: four that follow each other where these are one value each and begin at multiples of four, in
/// vectors; else four that are a quarter of all apart, so that a warp's lie together.
pub const TURNED: u64 = 4;

/// Pixels of a mask that a thread takes.
pub const TURNED_PIXELS: u64 = 16;

/// The words of a vector from the last to the first.
#[cfg(feature = "nni")]
#[inline(always)]
fn turned([a, b, c, d]: Vector) -> Vector {
    [d, c, b, a]
}

/// Turns a mask. Grid: a thread for [`TURNED_PIXELS`] pixels.
///
/// # Safety
/// `mask` and `turned_mask` have `pixels` elements and start at multiples of 16 bytes.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn turn_mask(mask: *const u8, pixels: u64, turned_mask: *mut u8) {
    let first = thread::index_1d() * TURNED_PIXELS;
    if first >= pixels {
        return;
    }
    // SAFETY: the pixels are in the raster, and those of vectors begin at multiples of 16.
    unsafe {
        if pixels.is_multiple_of(TURNED_PIXELS) {
            let four = vector::load(mask.add(first as usize).cast());
            let to = (pixels - TURNED_PIXELS - first) as usize;
            vector::store(turned_mask.add(to).cast(), turned(four.map(u32::swap_bytes)));
            return;
        }
        let mut pixel = first;
        while pixel < u64::min(first + TURNED_PIXELS, pixels) {
            *turned_mask.add((pixels - 1 - pixel) as usize) = *mask.add(pixel as usize);
            pixel += 1;
        }
    }
}

/// Cells of the DEM, with those of the turned raster.
#[cfg(feature = "nni")]
#[derive(Clone, Copy)]
struct Both {
    value_count: u32,
    cells: u64,
    dem: *mut f32,
    turned_dem: *const f32,
    counts: *mut u32,
    turned_counts: *const u32,
    deviations: *mut f32,
    turned_deviations: *const f32,
}

#[cfg(feature = "nni")]
impl Both {
    /// Unites a cell; whether it has no value.
    ///
    /// # Safety
    /// As for [`const@unite_turned`]; the cell is in the DEM.
    #[inline(always)]
    unsafe fn unite(&self, cell: usize) -> bool {
        let turned = self.cells as usize - 1 - cell;
        let (mut is_empty, mut k) = (false, 0);
        // SAFETY: both cells are in the DEM.
        unsafe {
            while k < self.value_count as usize {
                let plane = k * self.cells as usize;
                let value =
                    united(*self.dem.add(plane + cell), *self.turned_dem.add(plane + turned));
                *self.dem.add(plane + cell) = value;
                is_empty = value.is_nan();
                k += 1;
            }
            if !self.counts.is_null() {
                *self.counts.add(cell) =
                    u32::max(*self.counts.add(cell), *self.turned_counts.add(turned));
            }
            if !self.deviations.is_null() {
                *self.deviations.add(cell) =
                    united(*self.deviations.add(cell), *self.turned_deviations.add(turned));
            }
        }
        is_empty
    }

    /// Unites the only value of four cells; bit i: whether the cell that is `i` behind the first has none.
    ///
    /// # Safety
    /// As for [`const@unite_turned`]; the cells are in the DEM, whose number and the first are multiples of four.
    #[inline(always)]
    unsafe fn unite_four(&self, first: usize) -> u32 {
        let turned_first = self.cells as usize - TURNED as usize - first;
        // SAFETY: passed on to the caller.
        unsafe {
            let ours = vector::load(self.dem.add(first).cast_const().cast());
            let others = turned(vector::load(self.turned_dem.add(turned_first).cast()));
            let (mut empty, mut all, mut i) = (0, ours, 0);
            while i < 4 {
                let value = united(f32::from_bits(ours[i]), f32::from_bits(others[i]));
                all[i] = value.to_bits();
                empty |= (value.is_nan() as u32) << i;
                i += 1;
            }
            vector::store(self.dem.add(first).cast(), all);
            empty
        }
    }
}

/// Makes of cells from `first` on, `len` in number, the means with those of the turned raster; of the
/// counts, the greater; and counts the cells without a value. Grid: a thread for [`TURNED`] cells.
///
/// # Safety
/// `dem` and `turned_dem` have `value_count` times `cells` elements and start at multiples of 16 bytes, `counts` and
/// `deviations` with their turned ones have as many as there are cells, or are null.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
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
    let both = Both {
        value_count,
        cells,
        dem,
        turned_dem,
        counts,
        turned_counts,
        deviations,
        turned_deviations,
    };
    let (thread, quarter) = (thread::index_1d(), len.div_ceil(TURNED));
    let are_fours = (cells | first | len).is_multiple_of(TURNED);
    let mut empty = 0;
    if value_count == 1 && are_fours && counts.is_null() && deviations.is_null() {
        if thread < quarter {
            // SAFETY: the cells are in the DEM, as far as the caller says.
            empty = unsafe { both.unite_four((first + thread * TURNED) as usize) };
        }
    } else if thread < quarter {
        let (mut at, mut bit) = (thread, 1);
        while at < len {
            // SAFETY: as above.
            if unsafe { both.unite((first + at) as usize) } {
                empty |= bit;
            }
            at += quarter;
            bit <<= 1;
        }
    }
    let mut i = 0;
    while i < TURNED {
        // SAFETY: all threads of the block come here.
        unsafe { count_flags(empty >> i & 1 != 0, tallies.add(UNITED)) };
        i += 1;
    }
}
