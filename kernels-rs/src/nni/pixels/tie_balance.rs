//! The raster turned by 180 degrees, so that ties favour no side.
//!
//! On a raster many pixels are equally far from several sites, and the diagram gives them all to the lowest index: to
//! the northern site, then the western. Sums over stolen pixels would be biased that way. In the turned raster the
//! order of indices is reversed, so ties go the opposite way, and the mean of both is unbiased. Only the mask of sites
//! is turned: the sites' values are read where they lie ([`Values`](super::values::Values)).

#[cfg(feature = "nni")]
use device_std::vector::Vector;
#[cfg(feature = "nni")]
use device_std::{In, Out, arguments, kernel, thread};

#[cfg(all(feature = "nni", not(target_arch = "nvptx64")))]
use super::MODULE;
#[cfg(feature = "nni")]
use crate::nni::tallies::{UNITED, count_flags};

/// The mean of the values of two queries; if only one has a value, that value.
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

/// Cells that a thread takes. If cells have one value and no other layer, and begin at multiples of four, these are
/// four that follow each other, in vectors. Otherwise they lie a quarter of all cells apart, so that a warp's cells lie
/// together.
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
pub unsafe fn turn_mask(mask: In<'_, u8>, pixels: u64, turned_mask: Out<'_, u8>) {
    let first = thread::index_1d() * TURNED_PIXELS;
    if first >= pixels {
        return;
    }
    if pixels.is_multiple_of(TURNED_PIXELS) {
        let four = mask.get_vector(first);
        turned_mask.set_vector(pixels - TURNED_PIXELS - first, turned(four.map(u32::swap_bytes)));
        return;
    }
    let mut pixel = first;
    while pixel < u64::min(first + TURNED_PIXELS, pixels) {
        turned_mask.set(pixels - 1 - pixel, mask.get(pixel));
        pixel += 1;
    }
}

/// Cells of the DEM, with those of the turned raster.
#[cfg(feature = "nni")]
#[arguments]
pub struct Both<'a> {
    /// How many values a cell has.
    pub value_count: u32,
    /// How many cells the DEM has.
    pub cells: u64,
    /// The values of all cells, one value after the other. They begin at a multiple of 16 bytes.
    pub dem: Out<'a, f32>,
    /// The same for the turned raster.
    pub turned_dem: In<'a, f32>,
    /// How many pixels each cell stole.
    pub counts: Option<Out<'a, u32>>,
    /// The same for the turned raster; there if `counts` is.
    pub turned_counts: Option<In<'a, u32>>,
    /// How far the mean of the sites' places is from each cell.
    pub deviations: Option<Out<'a, f32>>,
    /// The same for the turned raster; there if `deviations` is.
    pub turned_deviations: Option<In<'a, f32>>,
}

#[cfg(feature = "nni")]
impl Both<'_> {
    /// Unites a cell; returns whether it has no value.
    #[inline(always)]
    fn unite(&self, cell: usize) -> bool {
        let turned = self.cells as usize - 1 - cell;
        let (mut is_empty, mut k) = (false, 0);
        while k < self.value_count as usize {
            let plane = k * self.cells as usize;
            let value = united(self.dem.get(plane + cell), self.turned_dem.get(plane + turned));
            self.dem.set(plane + cell, value);
            is_empty = value.is_nan();
            k += 1;
        }
        if let Some(counts) = self.counts {
            // SAFETY: a launch gives both layers or neither.
            let others = unsafe { self.turned_counts.unwrap_unchecked() };
            counts.set(cell, u32::max(counts.get(cell), others.get(turned)));
        }
        if let Some(deviations) = self.deviations {
            // SAFETY: as above.
            let others = unsafe { self.turned_deviations.unwrap_unchecked() };
            deviations.set(cell, united(deviations.get(cell), others.get(turned)));
        }
        is_empty
    }

    /// Unites four cells with one value each; `first` and the number of all cells are multiples of four. Returns bit i
    /// set if cell `first + i` has no value.
    #[inline(always)]
    fn unite_four(&self, first: usize) -> u32 {
        let ours = self.dem.get_vector(first);
        let others =
            turned(self.turned_dem.get_vector(self.cells as usize - TURNED as usize - first));
        let (mut empty, mut all, mut i) = (0, ours, 0);
        while i < 4 {
            let value = united(f32::from_bits(ours[i]), f32::from_bits(others[i]));
            all[i] = value.to_bits();
            empty |= (value.is_nan() as u32) << i;
            i += 1;
        }
        self.dem.set_vector(first, all);
        empty
    }
}

/// Replaces `len` cells from `first` on by their means with the turned raster's cells, and counts by the greater of
/// both. Counts the cells without a value. Grid: a thread for [`TURNED`] cells.
///
/// # Safety
/// The slices have what [`Both`] says; `tallies` has [`TALLIES`](crate::nni::tallies::TALLIES) elements.
#[cfg(feature = "nni")]
#[kernel(block = 256)]
pub unsafe fn unite_turned(tallies: Out<'_, u64>, both: Both<'_>, first: u64, len: u64) {
    let (thread, quarter) = (thread::index_1d(), len.div_ceil(TURNED));
    let are_fours = (both.cells | first | len).is_multiple_of(TURNED);
    let is_alone = both.value_count == 1 && both.counts.is_none() && both.deviations.is_none();
    let mut empty = 0;
    if is_alone && are_fours {
        if thread < quarter {
            empty = both.unite_four((first + thread * TURNED) as usize);
        }
    } else if thread < quarter {
        let (mut at, mut bit) = (thread, 1);
        while at < len {
            if both.unite((first + at) as usize) {
                empty |= bit;
            }
            at += quarter;
            bit <<= 1;
        }
    }
    let mut i = 0;
    while i < TURNED {
        // SAFETY: all threads of the block come here.
        unsafe { count_flags(empty >> i & 1 != 0, tallies, UNITED) };
        i += 1;
    }
}
