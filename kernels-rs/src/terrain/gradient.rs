//! Products of the gradient over a cell's 3 x 3 neighbourhood (Horn 1981): slope and hillshade.
//!
//! The functions of a cell are the host's too: f32 operations in a stated order, each correctly
//! rounded, so host and device give the same bits. Differences of heights come before all else, so that
//! nothing is lost where the ground is high. Sums of differences whose square leaves the range of f32,
//! beyond 1e19, count as vertical.
//!
//! A thread goes down four columns, or one. It keeps three rows of their cells and of those beside them
//! in registers, and loads the next rows some at a time, while it works on those before; its neighbours
//! have the columns beside, so what two threads load comes from the cache.

use device_std::{kernel, math, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// Threads of a block, beside each other.
pub const THREADS: u32 = 256;
/// Cells of a thread, one below the other.
pub const ROWS: u32 = 16;
/// Rows that are loaded together.
const BATCH: usize = 2;

/// What is made of a gradient.
pub trait Product: Copy {
    /// From Horn's sums of the differences of heights, to the east and to the south.
    fn of(self, east: f32, south: f32) -> f32;
}

/// The slope as an angle in degrees, within 1e-6 of itself.
#[derive(Clone, Copy)]
pub struct Degrees {
    /// The square of what makes rises over unit lengths of the sums.
    pub factor_squared: f32,
}

/// The slope as rise over run, in percent.
#[derive(Clone, Copy)]
pub struct Percent {
    /// As [`Degrees::factor_squared`].
    pub factor_squared: f32,
}

/// Lambert's brightness, from 0 to 1, within 1e-6.
#[derive(Clone, Copy)]
pub struct Shade {
    /// As [`Degrees::factor_squared`].
    pub factor_squared: f32,
    /// The direction to the light: east and south, times the factor; and up.
    pub light: [f32; 3],
}

impl Product for Degrees {
    #[inline(always)]
    fn of(self, east: f32, south: f32) -> f32 {
        degrees_of_squared((east * east + south * south) * self.factor_squared)
    }
}

impl Product for Percent {
    #[inline(always)]
    fn of(self, east: f32, south: f32) -> f32 {
        100.0 * math::sqrt_f32((east * east + south * south) * self.factor_squared)
    }
}

impl Product for Shade {
    #[inline(always)]
    #[allow(clippy::manual_clamp)] // `clamp` may panic, which device code must not
    fn of(self, east: f32, south: f32) -> f32 {
        let [x, y, up] = self.light;
        let towards = up - (east * x + south * y);
        let squared = 1.0 + (east * east + south * south) * self.factor_squared;
        let brightness = (0.5 * towards) * twice_reciprocal_sqrt(squared);
        f32::min(1.0, f32::max(0.0, brightness))
    }
}

/// Twice the reciprocal of the square root, within 8e-7 of itself, and exact of 1; of a number beyond
/// 1e38 that of 1e38.
///
/// The GPU has an instruction for it, which the host has not. This is the same on both: half the
/// exponent by a shift, and two steps of Newton's method. The constants of the first step are those
/// of J. Kadlec, which leave an error of 7e-4.
#[inline(always)]
fn twice_reciprocal_sqrt(x: f32) -> f32 {
    let x = f32::min(x, 1e38);
    let y = f32::from_bits(0x5f1f_fff9_u32.wrapping_sub(x.to_bits() >> 1));
    let y = (y * 0.703_952_25) * (2.389_244_6 - (x * y) * y);
    y * (3.0 - (x * y) * y)
}

/// The angle whose tangent has this square, in degrees.
///
/// A polynomial in the square of the tangent, or beyond 45 degrees of the cotangent, by Remez' method:
/// its relative error is below 1e-7.
#[inline(always)]
pub fn degrees_of_squared(squared: f32) -> f32 {
    /// Of the arc tangent over the tangent, lowest power first.
    const ARC_TANGENT: [f64; 8] = [
        0.9999999009903499,
        -0.33331990746481266,
        0.19969723900164751,
        -0.1401948092241485,
        0.09914292856776338,
        -0.05948639345657555,
        0.024252403279073104,
        -0.00469327605784631,
    ];
    /// The same in degrees, for twice the tangent.
    const OF_TWICE: [f32; 8] = {
        let mut scaled = [0.0; 8];
        let mut scale = 90.0 / core::f64::consts::PI;
        let mut k = 0;
        while k < 8 {
            scaled[k] = (ARC_TANGENT[k] * scale) as f32;
            scale /= 4.0;
            k += 1;
        }
        scaled
    };
    let twice_cotangent = twice_reciprocal_sqrt(squared);
    let is_steep = squared > 1.0;
    let t = if is_steep { twice_cotangent } else { squared * twice_cotangent };
    let square = t * t;
    let mut sum = OF_TWICE[7];
    let mut k = 7;
    while k > 0 {
        k -= 1;
        sum = sum * square + OF_TWICE[k];
    }
    let angle = sum * t;
    if is_steep { 90.0 - angle } else { angle }
}

/// The product of a cell with this neighbourhood, row-major from the north-west, where a NaN is no
/// neighbour; and whether it has one, which it has not where the cell is NaN nor, unless `IS_LEVEL`,
/// where a neighbour is; else such a neighbour is as high as the cell.
#[inline(always)]
fn product_with_known<P: Product, const IS_LEVEL: bool>(
    mut n: [f32; 9],
    product: P,
) -> (f32, bool) {
    if IS_LEVEL {
        let mut i = 0;
        while i < 9 {
            n[i] = if n[i].is_nan() { n[4] } else { n[i] };
            i += 1;
        }
    }
    let twice = |a: f32| a + a;
    let east = ((n[2] - n[0]) + (n[8] - n[6])) + twice(n[5] - n[3]);
    let south = ((n[6] - n[0]) + (n[8] - n[2])) + twice(n[7] - n[1]);
    (product.of(east, south), !(east + south + n[4]).is_nan())
}

/// The product of a cell with this neighbourhood, row-major from the north-west, where a NaN is no
/// neighbour. NaN where the cell is and, unless `IS_LEVEL`, where a neighbour is; else such a
/// neighbour is as high as the cell.
#[inline(always)]
pub fn product_of<P: Product, const IS_LEVEL: bool>(n: [f32; 9], product: P) -> f32 {
    let (value, is_known) = product_with_known::<P, IS_LEVEL>(n, product);
    if is_known { value } else { f32::NAN }
}

/// The most columns of a thread: those of 16 bytes.
const MOST: usize = 4;

/// Columns of a thread, side by side: four where rows start at multiples of 16 bytes and what lies beyond
/// the raster need not be known, else one.
#[inline(always)]
pub fn columns_of_thread(width: u32, is_level: bool) -> u32 {
    if !is_level && width.is_multiple_of(MOST as u32) { MOST as u32 } else { 1 }
}

/// Whether the rows of a strip that begins in row `first` of the raster, and those beside them, are rows
/// of the raster, and neither the first nor the last of them is the raster's.
#[inline(always)]
pub fn is_inner(first: u32, height: u32) -> bool {
    // `first` is a row: a sum might pass 2^32 where the difference does not.
    first > 0 && height - first > ROWS + 1
}

/// The cells of a row: those of a thread's columns, and one on either side.
type Row = [f32; MOST + 2];

/// A raster, and the columns and the rows of it that are this thread's.
#[derive(Clone, Copy)]
struct Strip<const COUNT: usize> {
    dem: *const f32,
    width: u32,
    height: u32,
    column: u32,
    first: u32,
}

impl<const COUNT: usize> Strip<COUNT> {
    /// This thread's.
    #[inline(always)]
    fn own(dem: *const f32, width: u32, height: u32) -> Self {
        let columns = THREADS * COUNT as u32;
        let blocks_x = width.div_ceil(columns);
        let block = thread::block_idx_x();
        let block_row = block.checked_div(blocks_x).unwrap_or(0);
        let column =
            (block - block_row * blocks_x) * columns + thread::thread_idx_x() * COUNT as u32;
        Self { dem, width, height, column, first: block_row * ROWS }
    }

    /// Writes the products of the thread's cells.
    ///
    /// # Safety
    /// As for the kernels; `COUNT` is [`columns_of_thread`].
    #[inline(always)]
    unsafe fn write<P: Product, const IS_LEVEL: bool>(&self, product: P, out: *mut f32) {
        if self.column >= self.width {
            return;
        }
        let is_inner = is_inner(self.first, self.height);
        // SAFETY: the column is in the raster.
        unsafe {
            if is_inner {
                self.sweep::<P, IS_LEVEL, true>(product, out);
            } else {
                self.sweep::<P, IS_LEVEL, false>(product, out);
            }
        }
    }

    /// The same, where `IS_INNER` says that all rows of the cells and beside them are in the raster, and
    /// neither the first nor the last of them is the raster's.
    ///
    /// # Safety
    /// As [`write`](Self::write).
    #[inline(always)]
    unsafe fn sweep<P: Product, const IS_LEVEL: bool, const IS_INNER: bool>(
        &self,
        product: P,
        out: *mut f32,
    ) {
        let has_west = IS_LEVEL || self.column > 0;
        let has_east = IS_LEVEL || self.column + (COUNT as u32) < self.width;
        // SAFETY: the columns are in the raster, and so are the rows of the cells that are written.
        unsafe {
            let mut above = self.row::<IS_LEVEL, IS_INNER>(self.first.wrapping_sub(1));
            let mut own = self.row::<IS_LEVEL, IS_INNER>(self.first);
            let mut below = self.rows::<IS_LEVEL, IS_INNER>(self.first.wrapping_add(1));
            // A loop: unrolled it would not fit the cache for instructions.
            let rows = vector::unknown(ROWS);
            let mut done = 0;
            while done < rows {
                let first = self.first + done;
                done += BATCH as u32;
                // The next rows are on their way while these are worked on.
                let mut next = below;
                if done < rows {
                    next = self.rows::<IS_LEVEL, IS_INNER>(first.wrapping_add(BATCH as u32 + 1));
                }
                let mut i = 0;
                while i < BATCH {
                    let row = first + i as u32;
                    let has_rows =
                        IS_LEVEL || IS_INNER || row.wrapping_sub(1) < self.height.wrapping_sub(2);
                    let mut values = [f32::NAN; MOST];
                    let mut j = 0;
                    while j < COUNT {
                        let three =
                            |row: &Row| [row[j % MOST], row[j % MOST + 1], row[j % MOST + 2]];
                        let ([a, b, c], [d, e, f]) = (three(&above), three(&own));
                        let [g, h, k] = three(&below[i]);
                        let n = [a, b, c, d, e, f, g, h, k];
                        let (value, is_known) = product_with_known::<P, IS_LEVEL>(n, product);
                        let has_sides = (j > 0 || has_west) && (j + 1 < COUNT || has_east);
                        if is_known && has_sides && has_rows {
                            values[j % MOST] = value;
                        }
                        j += 1;
                    }
                    if IS_INNER || row < self.height {
                        let cell = out.add((row * self.width + self.column) as usize);
                        if COUNT == MOST {
                            vector::store(cell.cast(), values.map(f32::to_bits));
                        } else {
                            *cell = values[0];
                        }
                    }
                    (above, own) = (own, below[i]);
                    i += 1;
                }
                below = next;
            }
        }
    }

    /// Some rows.
    ///
    /// # Safety
    /// As [`row`](Self::row).
    #[inline(always)]
    unsafe fn rows<const IS_LEVEL: bool, const IS_INNER: bool>(&self, first: u32) -> [Row; BATCH] {
        let mut rows = [[0.0; MOST + 2]; BATCH];
        let mut i = 0;
        while i < BATCH {
            // SAFETY: passed on to the caller.
            rows[i] = unsafe { self.row::<IS_LEVEL, IS_INNER>(first.wrapping_add(i as u32)) };
            i += 1;
        }
        rows
    }

    /// The cells of a row. Beyond the raster there is NaN if `IS_LEVEL`, else anything.
    ///
    /// # Safety
    /// The columns are in the raster, and if `IS_INNER` the row, which is neither the first nor the last.
    #[inline(always)]
    unsafe fn row<const IS_LEVEL: bool, const IS_INNER: bool>(&self, row: u32) -> Row {
        let is_row = IS_INNER || row < self.height;
        let row = if is_row { row } else { self.height - 1 };
        let (is_first, is_last) = (self.column == 0, self.column + COUNT as u32 == self.width);
        let mut cells = [0.0; MOST + 2];
        // SAFETY: cells of the raster: those beside the columns are left out at its border, or are of
        // the rows before and after, which are there.
        unsafe {
            let own = self.dem.add((row * self.width + self.column) as usize);
            let is_free = IS_INNER && !IS_LEVEL;
            cells[0] = *own.sub((is_free || !is_first) as usize);
            cells[COUNT + 1] = *own.add(COUNT - 1 + (is_free || !is_last) as usize);
            if COUNT == MOST {
                let four = vector::load(own.cast());
                let mut j = 0;
                while j < MOST {
                    cells[1 + j] = f32::from_bits(four[j]);
                    j += 1;
                }
            } else {
                cells[1] = *own;
            }
        }
        if IS_LEVEL {
            let beyond = [is_first || !is_row, !is_row, is_last || !is_row];
            let mut j = 0;
            while j < 3 {
                cells[j] = if beyond[j] { f32::NAN } else { cells[j] };
                j += 1;
            }
        }
        cells
    }
}

/// The kernels: each by its product.
macro_rules! products {
    ($($name:ident, $is_level:literal, $product:expr, $what:literal, ($($light:ident)*);)+) => {$(
        #[doc = $what]
        ///
        /// See [`product_of`]. Grid: one block for every [`THREADS`] times [`columns_of_thread`] by
        /// [`ROWS`] cells, row by row.
        ///
        /// # Safety
        /// `dem` and `out` have `width * height` elements, less than 2^32, and start at multiples of 16
        /// bytes.
        #[kernel(block = 256)]
        pub unsafe fn $name(
            dem: *const f32,
            width: u32,
            height: u32,
            factor_squared: f32,
            $($light: f32,)*
            out: *mut f32,
        ) {
            // SAFETY: passed on to the caller.
            unsafe {
                if !$is_level && columns_of_thread(width, $is_level) == MOST as u32 {
                    let strip = Strip::<MOST>::own(dem, width, height);
                    strip.write::<_, $is_level>($product, out);
                } else {
                    let strip = Strip::<1>::own(dem, width, height);
                    strip.write::<_, $is_level>($product, out);
                }
            }
        }
    )+};
}

products! {
    slope_degrees, false, Degrees { factor_squared }, "The slope of every cell, in degrees.", ();
    slope_degrees_level, true, Degrees { factor_squared },
        "The slope of every cell, in degrees; level beyond.", ();
    slope_percent, false, Percent { factor_squared }, "The slope of every cell, in percent.", ();
    slope_percent_level, true, Percent { factor_squared },
        "The slope of every cell, in percent; level beyond.", ();
    hillshade, false, Shade { factor_squared, light: [east, south, up] },
        "The brightness of every cell; the light as in [`Shade`].", (east south up);
    hillshade_level, true, Shade { factor_squared, light: [east, south, up] },
        "The brightness of every cell likewise; level beyond.", (east south up);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_arc_tangent() {
        let mut worst = 0.0f64;
        for i in 0..400_000 {
            let tangent = (f64::from(i) * 1e-4).powi(3);
            let squared = (tangent * tangent) as f32;
            let expected = f64::from(squared).sqrt().atan().to_degrees();
            let error = (f64::from(degrees_of_squared(squared)) - expected).abs();
            worst = worst.max(error / expected.max(1e-15));
        }
        assert!(worst <= 1e-6, "{worst}");
        assert_eq!(degrees_of_squared(0.0), 0.0);
        assert_eq!(degrees_of_squared(f32::INFINITY), 90.0);
    }

    #[test]
    fn reciprocal_roots_are_close() {
        let mut worst = 0.0f64;
        for i in 0..1_000_000 {
            let x = (f64::from(i) * 2e-5 - 4.0).exp2() as f32;
            let error = f64::from(twice_reciprocal_sqrt(x)) / 2.0 * f64::from(x).sqrt() - 1.0;
            worst = worst.max(error.abs());
        }
        assert!(worst <= 8e-7, "{worst}");
        assert_eq!(twice_reciprocal_sqrt(1.0), 2.0);
    }

    #[test]
    fn strips_at_the_end_of_the_tallest_rasters_are_not_inner() {
        for height in [1, 16, 17, 33, 34, 1000, u32::MAX - 15, u32::MAX - 1, u32::MAX] {
            let last = (height - 1) / ROWS * ROWS;
            for first in [0, 16, 32, last.saturating_sub(32), last.saturating_sub(16), last] {
                if first < height {
                    let end = u64::from(first) + u64::from(ROWS) + 1;
                    let expected = first > 0 && end < u64::from(height);
                    assert_eq!(is_inner(first, height), expected, "row {first} of {height}");
                }
            }
        }
    }
}
