//! The places at which values are wanted: columns, or the cells of a grid; and coordinates in units.

use device_std::{In, arguments, thread};

use super::BLOCK;

/// Threads of a block that share a row of a grid: each has every eighth cell.
pub const ROW_THREADS: u32 = 8;

/// Rows of a grid that a block has.
pub const PATCH_ROWS: u32 = BLOCK / ROW_THREADS;

/// Targets: places in two columns, or the cells of a grid, row by row from the north.
#[arguments]
pub struct Targets<'a> {
    /// x of each; `None` for a grid.
    pub x: Option<In<'a, f64>>,
    /// y of each; there if x is.
    pub y: Option<In<'a, f64>>,
    /// How many targets there are.
    pub count: u64,
    /// Columns of the grid.
    pub width: u32,
    /// Rows of the grid.
    pub height: u32,
    /// x of the grid's west edge, y of its north edge, cell size.
    pub grid: [f64; 3],
}

impl Targets<'_> {
    /// The index of the thread's target `j`; beyond the targets, `count`.
    #[inline(always)]
    pub fn target<const ROW: bool, const Q: usize>(&self, j: usize) -> u64 {
        self.target_of::<ROW, Q>(thread::thread_idx_x(), j)
    }

    /// The index of target `j` of thread `me` of the block; beyond the targets, `count`.
    #[inline(always)]
    pub fn target_of<const ROW: bool, const Q: usize>(&self, me: u32, j: usize) -> u64 {
        let block = thread::block_idx_x();
        if !ROW {
            let first = block as u64 * (BLOCK as u64 * Q as u64);
            return u64::min(first + j as u64 * BLOCK as u64 + me as u64, self.count);
        }
        let (column, row) = self.cell::<Q>(block, me, j);
        if column < self.width && row < self.height {
            row as u64 * self.width as u64 + column as u64
        } else {
            self.count
        }
    }

    /// The cell of target `j` of thread `me`.
    #[inline(always)]
    pub fn cell<const Q: usize>(&self, block: u32, me: u32, j: usize) -> (u32, u32) {
        let across = self.width.div_ceil(ROW_THREADS * Q as u32);
        let patch_row = block.checked_div(across).unwrap_or(0);
        let patch_column = block - patch_row * across;
        let column = patch_column * (ROW_THREADS * Q as u32) + me % ROW_THREADS;
        (column + j as u32 * ROW_THREADS, patch_row * PATCH_ROWS + me / ROW_THREADS)
    }

    /// The place of a target.
    #[inline(always)]
    pub fn at(&self, target: u64) -> [f64; 2] {
        let Some(x) = self.x else {
            let row = target.checked_div(self.width as u64).unwrap_or(0);
            let column = target - row * self.width as u64;
            return centre(self.grid, column as f64, row as f64);
        };
        // SAFETY: a launch gives both columns or neither.
        let y = unsafe { self.y.unwrap_unchecked() };
        [x.get(target), y.get(target)]
    }

    /// The centre of a cell.
    #[inline(always)]
    pub fn cell_place(&self, column: u32, row: u32) -> [f64; 2] {
        centre(self.grid, column as f64, row as f64)
    }

    /// The place of target `j`, on the ground.
    ///
    /// # Safety
    /// As for [`Self::place_of`].
    #[inline(always)]
    pub unsafe fn place<const ROW: bool, const Q: usize>(&self, j: usize) -> [f64; 2] {
        // SAFETY: the caller has what `place_of` asks.
        unsafe { self.place_of::<ROW, Q>(thread::thread_idx_x(), j) }
    }

    /// The place of target `j` of thread `me` of the block, on the ground.
    ///
    /// # Safety
    /// The count is not 0; unless `ROW`, the targets are columns.
    #[inline(always)]
    pub unsafe fn place_of<const ROW: bool, const Q: usize>(&self, me: u32, j: usize) -> [f64; 2] {
        if ROW {
            let (column, row) = self.cell::<Q>(thread::block_idx_x(), me, j);
            return self.cell_place(column, row);
        }
        let target = u64::min(self.target_of::<ROW, Q>(me, j), self.count - 1);
        // SAFETY: the caller says that there are columns.
        let (x, y) = unsafe { (self.x.unwrap_unchecked(), self.y.unwrap_unchecked()) };
        [x.get(target), y.get(target)]
    }
}

/// The centre of a cell of a grid whose west edge, north edge and cell size are given.
#[inline(always)]
pub fn centre([west, north, cell]: [f64; 3], column: f64, row: f64) -> [f64; 2] {
    [west + (column + 0.5) * cell, north - (row + 0.5) * cell]
}

/// A number rounded to f32, and the rest.
#[inline(always)]
pub fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - high as f64) as f32]
}

/// Coordinates relative to the middle of the data, in units.
#[arguments]
pub struct Frame {
    /// The middle of the data, on the ground.
    pub centre: [f64; 2],
    /// Units in one of the ground's: a power of two.
    pub scale: f64,
}

impl Frame {
    /// An x in units.
    #[inline(always)]
    pub fn x(&self, x: f64) -> f64 {
        (x - self.centre[0]) * self.scale
    }

    /// A y in units.
    #[inline(always)]
    pub fn y(&self, y: f64) -> f64 {
        (y - self.centre[1]) * self.scale
    }
}
