//! The places at which values are wanted: columns, or the cells of a grid; and coordinates in units.

use device_std::thread;

use super::BLOCK;

/// Threads of a block that share a row of a grid: each has every eighth cell.
pub const ROW_THREADS: u32 = 8;

/// Rows of a grid that a block serves.
pub const PATCH_ROWS: u32 = BLOCK / ROW_THREADS;

/// Queries: columns of places, or the cells of a grid, row by row from the north.
#[derive(Clone, Copy)]
pub struct Targets {
    /// x of each; null for a grid.
    pub x: *const f64,
    /// y of each.
    pub y: *const f64,
    /// How many.
    pub count: u64,
    /// Columns of the grid.
    pub width: u32,
    /// Rows of the grid.
    pub height: u32,
    /// x of the grid's west edge, y of its north edge, cell size.
    pub grid: [f64; 3],
}

impl Targets {
    /// The index of the thread's query `j`; beyond the queries, `count`.
    #[inline(always)]
    pub fn query<const ROW: bool, const Q: usize>(&self, j: usize) -> u64 {
        self.query_of::<ROW, Q>(thread::thread_idx_x(), j)
    }

    /// The index of query `j` of thread `me` of the block; beyond the queries, `count`.
    #[inline(always)]
    pub fn query_of<const ROW: bool, const Q: usize>(&self, me: u32, j: usize) -> u64 {
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

    /// The cell of query `j` of thread `me`.
    #[inline(always)]
    pub fn cell<const Q: usize>(&self, block: u32, me: u32, j: usize) -> (u32, u32) {
        let across = self.width.div_ceil(ROW_THREADS * Q as u32);
        let patch_row = block.checked_div(across).unwrap_or(0);
        let patch_column = block - patch_row * across;
        let column = patch_column * (ROW_THREADS * Q as u32) + me % ROW_THREADS;
        (column + j as u32 * ROW_THREADS, patch_row * PATCH_ROWS + me / ROW_THREADS)
    }

    /// The place of a query.
    ///
    /// # Safety
    /// The query is below the count; the columns are as long.
    #[inline(always)]
    pub unsafe fn at(&self, query: u64) -> [f64; 2] {
        if self.x.is_null() {
            let row = query.checked_div(self.width as u64).unwrap_or(0);
            let column = query - row * self.width as u64;
            return centre(self.grid, column as f64, row as f64);
        }
        // SAFETY: passed on to the caller.
        unsafe { [*self.x.add(query as usize), *self.y.add(query as usize)] }
    }

    /// The centre of a cell.
    #[inline(always)]
    pub fn cell_place(&self, column: u32, row: u32) -> [f64; 2] {
        centre(self.grid, column as f64, row as f64)
    }

    /// The place of query `j`, on the ground.
    ///
    /// # Safety
    /// As for [`Self::place_of`].
    #[inline(always)]
    pub unsafe fn place<const ROW: bool, const Q: usize>(&self, j: usize) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe { self.place_of::<ROW, Q>(thread::thread_idx_x(), j) }
    }

    /// The place of query `j` of thread `me` of the block, on the ground.
    ///
    /// # Safety
    /// The count is not 0, and the columns are as long.
    #[inline(always)]
    pub unsafe fn place_of<const ROW: bool, const Q: usize>(&self, me: u32, j: usize) -> [f64; 2] {
        if ROW {
            let (column, row) = self.cell::<Q>(thread::block_idx_x(), me, j);
            return self.cell_place(column, row);
        }
        let query = u64::min(self.query_of::<ROW, Q>(me, j), self.count - 1) as usize;
        // SAFETY: the index is brought below the count.
        unsafe { [*self.x.add(query), *self.y.add(query)] }
    }
}

/// The centre of a cell of a grid whose west edge, north edge and cell size are given.
#[inline(always)]
pub fn centre([west, north, cell]: [f64; 3], column: f64, row: f64) -> [f64; 2] {
    [west + (column + 0.5) * cell, north - (row + 0.5) * cell]
}

/// A number and what f32 leaves of it.
#[inline(always)]
pub fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - high as f64) as f32]
}

/// Coordinates relative to the middle of the data, in units.
#[derive(Clone, Copy)]
pub struct Frame {
    centre: [f64; 2],
    /// Units in one of the ground's: a power of two.
    pub scale: f64,
}

impl Frame {
    /// With this middle, and `scale` units in one of the ground's.
    #[inline(always)]
    pub fn new(centre: [f64; 2], scale: f64) -> Self {
        Self { centre, scale }
    }

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
