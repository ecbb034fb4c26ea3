//! The elements of a tier's squares: cells, or the squares of the tier below.

use device_std::{In, Out, arguments, vector};

use super::summary::{Binning, Summary, binned, raw_cell};
use super::value::{Kind, Value};

/// Elements on a side of a patch.
pub const PATCH: u32 = 8;

/// The elements of a tier, row by row. Elements are reduced by their raw keys. Only a quadrant's least and greatest key
/// are then looked up among the bins.
pub trait Source: Copy {
    /// An element.
    type Element: Copy;

    /// Whether they are cells, which have no children.
    const ARE_CELLS: bool;

    /// The elements.
    fn input(&self) -> In<'_, Self::Element>;

    /// The raw summary of an element.
    fn raw(&self, element: Self::Element) -> Summary;

    /// The first two elements of a slice.
    ///
    /// # Safety
    /// `is_aligned` only if they begin at a multiple of both their sizes.
    unsafe fn pair(from: In<'_, Self::Element>, is_aligned: bool) -> [Self::Element; 2];

    /// The summary in the form of nodes.
    fn seen(&self, raw: Summary) -> Summary;

    /// Whether pairs of elements in a raster of this width begin at multiples of their size.
    fn has_aligned_pairs(&self, width: u32) -> bool;

    /// Writes node `index` of a tree whose cells are of type `kind`, by its keys.
    fn store(nodes: Out<'_, u32>, kind: u32, index: u32, keys: (u32, u32), link: u32);
}

/// The cells of a raster, and how they become keys.
#[arguments]
pub struct Cells<'a, T> {
    /// The cells.
    pub input: In<'a, T>,
    /// Which value is NODATA, and how many steps there are between bins.
    pub binning: Binning,
    /// For each step the greatest key below it: `2^steps - 1` of them.
    pub steps: In<'a, u32>,
}

/// Elements that are squares of the tier below. Their keys are bins already.
#[arguments]
pub struct Squares<'a> {
    /// The elements.
    pub input: In<'a, Summary>,
}

impl<T: Value> Source for Cells<'_, T> {
    type Element = T;

    const ARE_CELLS: bool = true;

    #[inline(always)]
    fn input(&self) -> In<'_, T> {
        self.input
    }

    #[inline(always)]
    fn raw(&self, element: T) -> Summary {
        raw_cell(element, self.binning)
    }

    #[inline(always)]
    unsafe fn pair(from: In<'_, T>, is_aligned: bool) -> [T; 2] {
        if !is_aligned {
            return [from.get(0u32), from.get(1u32)];
        }
        // SAFETY: passed on to the caller.
        let (word, bits) = unsafe {
            match size_of::<T>() {
                4 => (from.cast::<u64>().get(0u32), 32),
                2 => (from.cast::<u32>().get(0u32) as u64, 16),
                _ => (from.cast::<u16>().get(0u32) as u64, 8),
            }
        };
        [T::of_bits(word as u32), T::of_bits((word >> bits) as u32)]
    }

    #[inline(always)]
    fn seen(&self, raw: Summary) -> Summary {
        binned::<T>(raw, self.binning, |i| self.steps.get(i))
    }

    #[inline(always)]
    fn has_aligned_pairs(&self, width: u32) -> bool {
        width & 1 == 0 && self.input.start() as usize & (2 * size_of::<T>() - 1) == 0
    }

    #[inline(always)]
    fn store(nodes: Out<'_, u32>, _: u32, index: u32, keys: (u32, u32), link: u32) {
        store_node::<T>(nodes, index, keys, link);
    }
}

impl<T: Value> Cells<'_, T> {
    /// Rows of a patch that are read at once: 16 registers of them.
    const ROWS: usize = 8 / size_of::<T>();

    /// Eight cells in a row.
    ///
    /// # Safety
    /// They begin at a multiple of their size, or of 16.
    #[inline(always)]
    unsafe fn eight(from: In<'_, T>) -> [T; PATCH as usize] {
        let mut cells = [T::of_bits(0); PATCH as usize];
        let each = 4 / size_of::<T>();
        // SAFETY: passed on to the caller.
        let words: [u32; 8] = unsafe {
            if size_of::<T>() == 1 {
                let word = from.cast::<u64>().get(0u32);
                [word as u32, (word >> 32) as u32, 0, 0, 0, 0, 0, 0]
            } else {
                let words = from.cast::<u32>();
                let [a, b, c, d] = words.get_vector(0u32);
                let [e, f, g, h] =
                    if size_of::<T>() == 4 { words.get_vector(4u32) } else { [0; 4] };
                [a, b, c, d, e, f, g, h]
            }
        };
        let mut i = 0;
        while i < PATCH as usize {
            let shift = (i % each) * 8 * size_of::<T>();
            cells[i] = T::of_bits(words[i / each] >> shift);
            i += 1;
        }
        cells
    }

    /// The raw summary of a patch, whose rows are `stride` cells apart.
    ///
    /// # Safety
    /// [`has_aligned_rows`](Self::has_aligned_rows) holds for the stride, and `from` begins at a multiple of 8 cells in
    /// its row.
    #[inline(always)]
    pub unsafe fn whole_patch(&self, from: In<'_, T>, stride: u32) -> Summary {
        let binning = self.binning;
        // SAFETY: passed on to the caller.
        unsafe {
            if binning.has_nodata != 0 {
                Self::reduce_rows(from, stride, |cell| raw_cell(cell, binning))
            } else {
                let none = Binning { has_nodata: 0, ..binning };
                Self::reduce_rows(from, stride, |cell| raw_cell(cell, none))
            }
        }
    }

    /// # Safety
    /// As [`whole_patch`](Self::whole_patch).
    #[inline(always)]
    unsafe fn reduce_rows(from: In<'_, T>, stride: u32, raw: impl Fn(T) -> Summary) -> Summary {
        let (mut all, mut line) = (Summary::OUTSIDE, from);
        let mut first = 0;
        while first < PATCH as usize {
            // All reads come before the first use, so that they are in flight together.
            let mut rows = [[T::of_bits(0); PATCH as usize]; PATCH as usize];
            let mut row = 0;
            while row < Self::ROWS {
                // SAFETY: passed on to the caller.
                rows[row] = unsafe { Self::eight(line) };
                // After the last row this may lie beyond the raster.
                line = line.wrapping_from(stride);
                row += 1;
            }
            row = 0;
            while row < Self::ROWS {
                let mut i = 0;
                while i < PATCH as usize {
                    all = all.and(raw(rows[row][i]));
                    i += 1;
                }
                row += 1;
            }
            first += Self::ROWS;
        }
        all
    }

    /// The raw summary of a patch that the raster's edge cuts; the sides of the part within the raster are given.
    #[inline(always)]
    pub fn part_of_patch(
        &self,
        from: In<'_, T>,
        stride: u32,
        (width, height): (u32, u32),
    ) -> Summary {
        let mut all = Summary::OUTSIDE;
        let mut row = 0;
        while row < height {
            let mut column = 0;
            while column < PATCH {
                if column < width {
                    let cell = from.get(row as u64 * stride as u64 + column as u64);
                    all = all.and(raw_cell(cell, self.binning));
                }
                column += 1;
            }
            row = vector::unknown(row + 1);
        }
        all
    }

    /// Whether all rows of a raster of this width begin as [`whole_patch`](Self::whole_patch) wants it.
    #[inline(always)]
    pub fn has_aligned_rows(&self, width: u32) -> bool {
        let bytes = u64::min(PATCH as u64 * size_of::<T>() as u64, vector::BYTES as u64);
        ((width as u64 * size_of::<T>() as u64) | self.input.start() as u64) & (bytes - 1) == 0
    }
}

/// Writes a node of a type.
#[inline(always)]
fn store_node<T: Value>(nodes: Out<'_, u32>, index: u32, (min, max): (u32, u32), link: u32) {
    let (min, max) = (T::of_key(min).bits(), T::of_key(max).bits());
    if size_of::<T>() == 4 {
        let node = nodes.from(3 * index as usize);
        node.set(0u32, min);
        node.set(1u32, max);
        node.set(2u32, link);
    } else {
        let values = min | max << (8 * size_of::<T>());
        // SAFETY: the nodes of these types have 8 bytes each, and begin where memory was allocated.
        unsafe { nodes.cast::<u64>() }.set(index, values as u64 | (link as u64) << 32);
    }
}

impl Source for Squares<'_> {
    type Element = Summary;

    const ARE_CELLS: bool = false;

    #[inline(always)]
    fn input(&self) -> In<'_, Summary> {
        self.input
    }

    #[inline(always)]
    fn raw(&self, element: Summary) -> Summary {
        element
    }

    #[inline(always)]
    unsafe fn pair(from: In<'_, Summary>, _: bool) -> [Summary; 2] {
        [from.get(0u32), from.get(1u32)]
    }

    #[inline(always)]
    fn seen(&self, raw: Summary) -> Summary {
        raw
    }

    #[inline(always)]
    fn has_aligned_pairs(&self, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn store(nodes: Out<'_, u32>, kind: u32, index: u32, keys: (u32, u32), link: u32) {
        if kind == Kind::U8 as u32 {
            store_node::<u8>(nodes, index, keys, link);
        } else if kind == Kind::I16 as u32 {
            store_node::<i16>(nodes, index, keys, link);
        } else if kind == Kind::U16 as u32 {
            store_node::<u16>(nodes, index, keys, link);
        } else if kind == Kind::I32 as u32 {
            store_node::<i32>(nodes, index, keys, link);
        } else if kind == Kind::U32 as u32 {
            store_node::<u32>(nodes, index, keys, link);
        } else {
            store_node::<f32>(nodes, index, keys, link);
        }
    }
}
