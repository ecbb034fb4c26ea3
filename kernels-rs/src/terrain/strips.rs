//! The product of every cell of a raster, in strips.
//!
//! A thread walks down four columns, or one. It keeps three rows in registers: its own cells and one on each side. It
//! loads the next rows, some at a time, while it works on the rows before. Its neighbours have the columns beside, so
//! cells that two threads load come from the cache.

use device_std::{In, Out, kernel, thread, vector};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::gradient::{
    Azimuth, Combined, Degrees, Horn, Igor, Multidirectional, Of, Percent, Shade, Trigonometric,
    ZevenbergenThorne, is_beyond,
};
use super::kind::{Kind, Product};
use super::products::{Edge, Level, Nodata, filled, product_of};
use super::scales::Scale;
use super::shape::{Plan, Position, Profile, Riley, Roughness, Wilson};
use super::squares::Dem;

/// Cells of a thread, one below the other.
pub const ROWS: u32 = 16;
/// Rows that are loaded together.
const BATCH: usize = 2;

/// The most columns of a thread: 16 bytes.
const MOST: usize = 4;

/// Columns of a thread, side by side: four if rows start at multiples of 16 bytes and values beyond the raster need not
/// be known, else one.
#[inline(always)]
pub fn columns_of_thread(dem: Dem, is_level: bool) -> u32 {
    let is_aligned =
        dem.width.is_multiple_of(MOST as u32) && vector::is_aligned(dem.heights.start());
    if !is_level && is_aligned { MOST as u32 } else { 1 }
}

/// Whether the rows of a strip that begins in row `first`, and the rows beside them, are rows of the raster, and do not
/// include its first or last row.
#[inline(always)]
pub fn is_inner(first: u32, height: u32) -> bool {
    // `first` is a row: a sum might pass 2^32 where the difference does not.
    first > 0 && height - first > ROWS + 1
}

/// The cells of a row: the cells of a thread's columns, and one on either side.
type Row = [f32; MOST + 2];

/// A raster, and the columns and rows of it that this thread has.
#[derive(Clone, Copy)]
struct Strip<'a, const COUNT: usize> {
    dem: Dem<'a>,
    column: u32,
    first: u32,
}

impl<'a, const COUNT: usize> Strip<'a, COUNT> {
    /// This thread's strip.
    #[inline(always)]
    fn own(dem: Dem<'a>) -> Self {
        let columns = BLOCK * COUNT as u32;
        let blocks_x = dem.width.div_ceil(columns);
        let block = thread::block_idx_x();
        let block_row = block.checked_div(blocks_x).unwrap_or(0);
        let column =
            (block - block_row * blocks_x) * columns + thread::thread_idx_x() * COUNT as u32;
        Self { dem, column, first: block_row * ROWS }
    }

    /// Writes the products of the thread's cells. `COUNT` is [`columns_of_thread`].
    #[inline(always)]
    fn write<P: Product, E: Edge>(&self, scales: Scales<'_>, out: Out<f32>) {
        if self.column >= self.dem.width {
            return;
        }
        let is_beyond = match is_inner(self.first, self.dem.height) {
            // Most strips of square cells of a plane. The compiler knows here that no row has a scale of its own, and that
            // the ratio is 1. That saves a branch for each row and a product for each cell.
            true if COUNT == MOST && scales.0.ratio == 1.0 && scales.1.is_none() => {
                let scale = Scale { ratio: 1.0, ..scales.0 };
                self.sweep::<P, E, true>((scale, None), out)
            }
            true => self.sweep::<P, E, true>(scales, out),
            false => self.sweep::<P, E, false>(scales, out),
        };
        if is_beyond {
            self.write_any::<P, E>(scales, out);
        }
    }

    /// Writes the products of any heights, a cell after the other. It is rare, and here it takes no registers from what
    /// is not.
    #[inline(always)]
    fn write_any<P: Product, E: Edge>(&self, (scale, table): Scales<'_>, out: Out<f32>) {
        let (width, height) = (self.dem.width, self.dem.height);
        let cells = vector::unknown(ROWS * COUNT as u32);
        let mut done = 0;
        while done < cells {
            let row = self.first + done / COUNT as u32;
            let column = self.column + done % COUNT as u32;
            done += 1;
            if row >= height {
                return;
            }
            let mut n = [f32::NAN; 9];
            let mut i = 0;
            while i < 9 {
                // Offsets 0, 1, 2 stand for -1, 0, 1.
                let x = (column + i % 3).wrapping_sub(1);
                let y = (row + i / 3).wrapping_sub(1);
                if x < width && y < height {
                    n[i as usize] = self.dem.heights.get(y * width + x);
                }
                i += 1;
            }
            let scale = scale.of_row(table, row);
            out.set(row * width + column, product_of::<P, E, false>(n, &scale));
        }
    }

    /// Writes the products as [`write`](Self::write) does, and returns whether [`write_any`](Self::write_any) must write
    /// them again. With `IS_INNER` all rows of the cells and beside them are in the raster, and do not include its first
    /// or last row.
    #[inline(always)]
    fn sweep<P: Product, E: Edge, const IS_INNER: bool>(
        &self,
        (scale, table): Scales<'_>,
        out: Out<f32>,
    ) -> bool {
        let has_west = E::IS_LEVEL || self.column > 0;
        let has_east = E::IS_LEVEL || self.column + (COUNT as u32) < self.dem.width;
        let mut above = self.row::<E, IS_INNER>(self.first.wrapping_sub(1));
        let mut own = self.row::<E, IS_INNER>(self.first);
        let mut below = self.rows::<E, IS_INNER>(self.first.wrapping_add(1));
        // A loop: unrolled it would not fit the instruction cache.
        let rows = vector::unknown(ROWS);
        let (mut done, mut any_beyond) = (0, false);
        while done < rows {
            let first = self.first + done;
            done += BATCH as u32;
            // The next rows are in flight while these are worked on.
            let mut next = below;
            if done < rows {
                next = self.rows::<E, IS_INNER>(first.wrapping_add(BATCH as u32 + 1));
            }
            let mut i = 0;
            while i < BATCH {
                let row = first + i as u32;
                let has_rows = E::IS_LEVEL
                    || IS_INNER
                    || row.wrapping_sub(1) < self.dem.height.wrapping_sub(2);
                let known_row =
                    if IS_INNER || row < self.dem.height { row } else { self.dem.height - 1 };
                let scale = scale.of_row(table, known_row);
                let mut values = [f32::NAN; MOST];
                let (mut size, mut j) = (0.0, 0);
                while j < COUNT {
                    let three = |row: &Row| [row[j % MOST], row[j % MOST + 1], row[j % MOST + 2]];
                    let ([a, b, c], [d, e, f]) = (three(&above), three(&own));
                    let [g, h, k] = three(&below[i]);
                    let n = filled::<E>([a, b, c, d, e, f, g, h, k]);
                    let (value, is_known) = P::of(&n, &scale);
                    size = f32::max(size, P::size(&n, &scale));
                    let has_sides = (j > 0 || has_west) && (j + 1 < COUNT || has_east);
                    if is_known && has_sides && has_rows {
                        values[j % MOST] = value;
                    }
                    j += 1;
                }
                any_beyond |= P::HAS_SIZE && is_beyond(size, &scale);
                if IS_INNER || row < self.dem.height {
                    let cell = row * self.dem.width + self.column;
                    if COUNT == MOST {
                        out.set_vector(cell, values.map(f32::to_bits));
                    } else {
                        out.set(cell, values[0]);
                    }
                }
                (above, own) = (own, below[i]);
                i += 1;
            }
            below = next;
        }
        any_beyond
    }

    /// Some rows, each as by [`row`](Self::row).
    #[inline(always)]
    fn rows<E: Edge, const IS_INNER: bool>(&self, first: u32) -> [Row; BATCH] {
        let mut rows = [[0.0; MOST + 2]; BATCH];
        let mut i = 0;
        while i < BATCH {
            rows[i] = self.row::<E, IS_INNER>(first.wrapping_add(i as u32));
            i += 1;
        }
        rows
    }

    /// The cells of a row. Beyond the raster they are NaN if `E::IS_LEVEL`, else anything. The columns are in the
    /// raster. With `IS_INNER` the row is, too, and it is neither the first nor the last.
    #[inline(always)]
    fn row<E: Edge, const IS_INNER: bool>(&self, row: u32) -> Row {
        let is_row = IS_INNER || row < self.dem.height;
        let row = if is_row { row } else { self.dem.height - 1 };
        let (is_first, is_last) = (self.column == 0, self.column + COUNT as u32 == self.dem.width);
        let mut cells = [0.0; MOST + 2];
        // At the raster's border, cells beside the columns are ignored, or belong to the rows before and after, which
        // exist.
        let own = self.dem.heights.from(row * self.dem.width + self.column);
        let is_free = IS_INNER && !E::IS_LEVEL;
        cells[0] = own.get(-((is_free || !is_first) as isize));
        cells[COUNT + 1] = own.get(COUNT - 1 + (is_free || !is_last) as usize);
        if COUNT == MOST {
            let four = own.get_vector(0);
            let mut j = 0;
            while j < MOST {
                cells[1 + j] = f32::from_bits(four[j]);
                j += 1;
            }
        } else {
            cells[1] = own.get(0);
        }
        if E::IS_LEVEL {
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

/// The scale of all rows, and the table of each row's scale if there is one.
type Scales<'a> = (Scale, Option<In<'a, f32>>);

/// Writes the product of every cell. Instances whose names end in 4 use the gradient over four neighbours.
///
/// See [`product_of`]. Without a table all rows have `scale`. Grid: one block for every [`BLOCK`]
/// times [`columns_of_thread`] by [`ROWS`] cells, row by row.
///
/// # Safety
/// `out` has an element for each cell, fewer than 2^32, and starts at a multiple of 16 bytes. `table` is what
/// [`measure_rows`](mod@super::measure_rows) writes for as many rows as the DEM has.
#[kernel(block = BLOCK, key: (Kind, bool, bool) =
    (<P as Product>::KIND, <P as Product>::IS_HORN, <E as Edge>::IS_LEVEL), instances(
    degrees: <Of<Horn, Degrees>, Nodata>;
    degrees_4: <Of<ZevenbergenThorne, Degrees>, Nodata>;
    percent: <Of<Horn, Percent>, Nodata>;
    percent_4: <Of<ZevenbergenThorne, Percent>, Nodata>;
    azimuth: <Of<Horn, Azimuth>, Nodata>, resident = 3;
    azimuth_4: <Of<ZevenbergenThorne, Azimuth>, Nodata>, resident = 3;
    trigonometric: <Of<Horn, Trigonometric>, Nodata>, resident = 3;
    trigonometric_4: <Of<ZevenbergenThorne, Trigonometric>, Nodata>, resident = 3;
    shade: <Of<Horn, Shade>, Nodata>, resident = 3;
    shade_4: <Of<ZevenbergenThorne, Shade>, Nodata>, resident = 3;
    multidirectional: <Of<Horn, Multidirectional>, Nodata>, resident = 3;
    multidirectional_4: <Of<ZevenbergenThorne, Multidirectional>, Nodata>, resident = 3;
    plan: <Plan, Nodata>;
    profile: <Profile, Nodata>;
    riley: <Riley, Nodata>;
    wilson: <Wilson, Nodata>;
    position: <Position, Nodata>;
    roughness: <Roughness, Nodata>;
    degrees_level: <Of<Horn, Degrees>, Level>;
    degrees_4_level: <Of<ZevenbergenThorne, Degrees>, Level>;
    percent_level: <Of<Horn, Percent>, Level>;
    percent_4_level: <Of<ZevenbergenThorne, Percent>, Level>;
    azimuth_level: <Of<Horn, Azimuth>, Level>;
    azimuth_4_level: <Of<ZevenbergenThorne, Azimuth>, Level>;
    trigonometric_level: <Of<Horn, Trigonometric>, Level>;
    trigonometric_4_level: <Of<ZevenbergenThorne, Trigonometric>, Level>;
    shade_level: <Of<Horn, Shade>, Level>;
    shade_4_level: <Of<ZevenbergenThorne, Shade>, Level>;
    multidirectional_level: <Of<Horn, Multidirectional>, Level>;
    multidirectional_4_level: <Of<ZevenbergenThorne, Multidirectional>, Level>;
    plan_level: <Plan, Level>;
    profile_level: <Profile, Level>;
    riley_level: <Riley, Level>;
    wilson_level: <Wilson, Level>;
    position_level: <Position, Level>;
    roughness_level: <Roughness, Level>;
    combined: <Of<Horn, Combined>, Nodata>;
    combined_4: <Of<ZevenbergenThorne, Combined>, Nodata>, resident = 3;
    igor: <Of<Horn, Igor>, Nodata>, resident = 3;
    igor_4: <Of<ZevenbergenThorne, Igor>, Nodata>, resident = 3;
    combined_level: <Of<Horn, Combined>, Level>, resident = 4;
    combined_4_level: <Of<ZevenbergenThorne, Combined>, Level>, resident = 4;
    igor_level: <Of<Horn, Igor>, Level>;
    igor_4_level: <Of<ZevenbergenThorne, Igor>, Level>;
))]
pub unsafe fn product<P: Product, E: Edge>(
    dem: Dem<'_>,
    scale: Scale,
    table: Option<In<'_, f32>>,
    out: Out<'_, f32>,
) {
    let scales = (scale, table);
    if !E::IS_LEVEL && columns_of_thread(dem, E::IS_LEVEL) == MOST as u32 {
        Strip::<MOST>::own(dem).write::<P, E>(scales, out);
    } else {
        Strip::<1>::own(dem).write::<P, E>(scales, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
