//! What the squares of a tier are made of: cells, or the squares of the tier below.

use device_std::vector;

use super::summary::{Binning, Summary, binned, raw_cell};
use super::value::{Kind, Value};

/// Elements on a side of a patch.
pub const PATCH: u32 = 8;

/// How cells become keys, and where the steps between bins are.
#[derive(Clone, Copy)]
pub struct Seen {
    /// What is NODATA, and how many steps there are.
    pub binning: Binning,
    /// `2^steps - 1` steps, in global memory.
    pub steps: *const u32,
}

/// What a tier is made of. An element's summary has its raw keys first, which are reduced as they are: the bins of the
/// least and of the greatest are looked up once for a quadrant.
pub trait Source<E: Copy>: Copy {
    /// Whether they are cells, which have no children.
    const ARE_CELLS: bool;

    /// The summary of an element, raw.
    fn raw(element: E, seen: &Seen) -> Summary;

    /// The summary as nodes have it.
    ///
    /// # Safety
    /// The steps are there.
    unsafe fn seen(raw: Summary, seen: &Seen) -> Summary;

    /// Two elements in a row.
    ///
    /// # Safety
    /// They are there; `is_aligned` only if they begin at a multiple of both their sizes.
    unsafe fn pair(from: *const E, is_aligned: bool) -> [E; 2];

    /// Writes a node by its keys. `kind` is the type of its cells.
    ///
    /// # Safety
    /// There is a node of that type at `index`, nobody else's.
    unsafe fn store(nodes: *mut u8, kind: u32, index: u32, keys: (u32, u32), link: u32);
}

/// Cells of a type.
#[derive(Clone, Copy)]
pub struct Cells<T>(core::marker::PhantomData<T>);

/// Elements that are squares of the tier below.
#[derive(Clone, Copy)]
pub struct Squares;

impl<T: Value> Source<T> for Cells<T> {
    const ARE_CELLS: bool = true;

    #[inline(always)]
    fn raw(element: T, seen: &Seen) -> Summary {
        raw_cell(element, seen.binning)
    }

    #[inline(always)]
    unsafe fn seen(raw: Summary, seen: &Seen) -> Summary {
        // SAFETY: passed on to the caller.
        binned::<T>(raw, seen.binning, |i| unsafe { *seen.steps.add(i as usize) })
    }

    #[inline(always)]
    unsafe fn pair(from: *const T, is_aligned: bool) -> [T; 2] {
        // SAFETY: passed on to the caller.
        unsafe {
            if !is_aligned {
                return [*from, *from.add(1)];
            }
            let (word, bits) = match size_of::<T>() {
                4 => (*from.cast::<u64>(), 32),
                2 => (*from.cast::<u32>() as u64, 16),
                _ => (*from.cast::<u16>() as u64, 8),
            };
            [T::of_bits(word as u32), T::of_bits((word >> bits) as u32)]
        }
    }

    #[inline(always)]
    unsafe fn store(nodes: *mut u8, _: u32, index: u32, (min, max): (u32, u32), link: u32) {
        // SAFETY: passed on to the caller.
        unsafe { store_node::<T>(nodes, index, (min, max), link) }
    }
}

impl<T: Value> Cells<T> {
    /// Rows of a patch that are read at once: 16 registers of them.
    const ROWS: usize = 8 / size_of::<T>();

    /// Eight cells in a row.
    ///
    /// # Safety
    /// They are there, and begin at a multiple of their size, or of 16.
    #[inline(always)]
    unsafe fn eight(from: *const T) -> [T; PATCH as usize] {
        let mut cells = [T::of_bits(0); PATCH as usize];
        let each = 4 / size_of::<T>();
        // SAFETY: passed on to the caller.
        let words: [u32; 8] = unsafe {
            let from = from.cast::<u8>();
            if size_of::<T>() == 4 {
                let ([a, b, c, d], [e, f, g, h]) = (vector::load(from), vector::load(from.add(16)));
                [a, b, c, d, e, f, g, h]
            } else if size_of::<T>() == 2 {
                let [a, b, c, d] = vector::load(from);
                [a, b, c, d, 0, 0, 0, 0]
            } else {
                let word = *from.cast::<u64>();
                [word as u32, (word >> 32) as u32, 0, 0, 0, 0, 0, 0]
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
    /// All of its cells are there, and its rows begin as [`eight`](Self::eight) wants it.
    #[inline(always)]
    pub unsafe fn whole_patch(from: *const T, stride: u32, seen: &Seen) -> Summary {
        // SAFETY: passed on to the caller.
        unsafe {
            if seen.binning.has_nodata != 0 {
                Self::reduce_rows(from, stride, |cell| raw_cell(cell, seen.binning))
            } else {
                let none = Binning { has_nodata: 0, ..seen.binning };
                Self::reduce_rows(from, stride, |cell| raw_cell(cell, none))
            }
        }
    }

    /// # Safety
    /// As [`whole_patch`](Self::whole_patch).
    #[inline(always)]
    unsafe fn reduce_rows(from: *const T, stride: u32, raw: impl Fn(T) -> Summary) -> Summary {
        let (mut all, mut line) = (Summary::OUTSIDE, from);
        let mut first = 0;
        while first < PATCH as usize {
            // All reads before the first use: they are under way together.
            let mut rows = [[T::of_bits(0); PATCH as usize]; PATCH as usize];
            let mut row = 0;
            while row < Self::ROWS {
                // SAFETY: passed on to the caller.
                rows[row] = unsafe { Self::eight(line) };
                line = line.wrapping_add(stride as usize);
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

    /// The raw summary of the part of a patch that the raster has, whose sides are given.
    ///
    /// # Safety
    /// The part is there.
    #[inline(always)]
    pub unsafe fn part_of_patch(
        from: *const T,
        stride: u32,
        (width, height): (u32, u32),
        seen: &Seen,
    ) -> Summary {
        let mut all = Summary::OUTSIDE;
        let mut row = 0;
        while row < height {
            let mut column = 0;
            while column < PATCH {
                if column < width {
                    let at = row as u64 * stride as u64 + column as u64;
                    // SAFETY: passed on to the caller.
                    all = all.and(raw_cell(unsafe { *from.add(at as usize) }, seen.binning));
                }
                column += 1;
            }
            row = vector::unknown(row + 1);
        }
        all
    }

    /// Whether all rows of a raster of this width begin as [`whole_patch`](Self::whole_patch) wants it.
    #[inline(always)]
    pub fn has_aligned_rows(from: *const T, width: u32) -> bool {
        let bytes = u64::min(PATCH as u64 * size_of::<T>() as u64, vector::BYTES as u64);
        ((width as u64 * size_of::<T>() as u64) | from as u64) & (bytes - 1) == 0
    }
}

/// Writes a node of a type.
///
/// # Safety
/// As [`Source::store`].
#[inline(always)]
unsafe fn store_node<T: Value>(nodes: *mut u8, index: u32, (min, max): (u32, u32), link: u32) {
    let (min, max) = (T::of_key(min).bits(), T::of_key(max).bits());
    // SAFETY: passed on to the caller.
    unsafe {
        if size_of::<T>() == 4 {
            let node = nodes.cast::<u32>().add(3 * index as usize);
            *node = min;
            *node.add(1) = max;
            *node.add(2) = link;
        } else {
            let values = min | max << (8 * size_of::<T>());
            *nodes.cast::<u64>().add(index as usize) = values as u64 | (link as u64) << 32;
        }
    }
}

impl Source<Summary> for Squares {
    const ARE_CELLS: bool = false;

    #[inline(always)]
    fn raw(element: Summary, _: &Seen) -> Summary {
        element
    }

    #[inline(always)]
    unsafe fn seen(raw: Summary, _: &Seen) -> Summary {
        raw
    }

    #[inline(always)]
    unsafe fn pair(from: *const Summary, _: bool) -> [Summary; 2] {
        // SAFETY: passed on to the caller.
        unsafe { [*from, *from.add(1)] }
    }

    #[inline(always)]
    unsafe fn store(nodes: *mut u8, kind: u32, index: u32, keys: (u32, u32), link: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            if kind == Kind::U8 as u32 {
                store_node::<u8>(nodes, index, keys, link)
            } else if kind == Kind::I16 as u32 {
                store_node::<i16>(nodes, index, keys, link)
            } else if kind == Kind::U16 as u32 {
                store_node::<u16>(nodes, index, keys, link)
            } else if kind == Kind::I32 as u32 {
                store_node::<i32>(nodes, index, keys, link)
            } else if kind == Kind::U32 as u32 {
                store_node::<u32>(nodes, index, keys, link)
            } else {
                store_node::<f32>(nodes, index, keys, link)
            }
        }
    }
}
