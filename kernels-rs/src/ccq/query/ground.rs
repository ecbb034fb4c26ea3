//! The raster that a search covers, its parts, and its squares.

use device_std::arguments;

use super::super::plan::rank;
use super::super::{LEVELS, SIDE};

/// A part of the raster: rows and columns from the first (`row0`, `column0`) to before the second.
#[arguments]
pub struct Window {
    /// The first row.
    pub row0: u32,
    /// The first column.
    pub column0: u32,
    /// The row after the last.
    pub row1: u32,
    /// The column after the last.
    pub column1: u32,
}

impl Window {
    /// The intersection of both parts.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self {
            row0: u32::max(self.row0, other.row0),
            column0: u32::max(self.column0, other.column0),
            row1: u32::min(self.row1, other.row1),
            column1: u32::min(self.column1, other.column1),
        }
    }

    /// Whether it has no cell.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.column0 >= self.column1 || self.row0 >= self.row1
    }

    /// Whether the other part has all of its cells.
    #[inline(always)]
    pub fn is_in(self, other: Self) -> bool {
        self.column0 >= other.column0
            && self.row0 >= other.row0
            && self.column1 <= other.column1
            && self.row1 <= other.row1
    }

    /// How many cells it has.
    #[inline(always)]
    pub fn cells(self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        (self.column1 - self.column0) as u64 * (self.row1 - self.row0) as u64
    }
}

/// The raster that a search covers.
#[arguments]
pub struct SearchGrid {
    /// Its columns.
    pub width: u32,
    /// Its rows.
    pub height: u32,
    /// Levels of the trees below their roots.
    pub bits: u32,
    /// The cells that count.
    pub window: Window,
}

impl SearchGrid {
    /// A quadrant's part of the raster; empty outside.
    #[inline(always)]
    pub fn part(&self, (column, row): (u32, u32), side: u32) -> Window {
        Window {
            row0: row,
            column0: column,
            row1: u32::min(row + side, self.height),
            column1: u32::min(column + side, self.width),
        }
    }

    /// Columns and rows of squares.
    #[inline(always)]
    pub fn squares(&self) -> (u32, u32) {
        (self.width.div_ceil(SIDE), self.height.div_ceil(SIDE))
    }

    /// The column and row of a square, and its place in Z-order.
    #[inline(always)]
    pub fn square(&self, index: u32) -> ((u32, u32), usize) {
        let (columns, rows) = self.squares();
        let row = index.checked_div(columns).unwrap_or(0);
        let square = (index - row * columns, row);
        let bits = self.bits.saturating_sub(LEVELS);
        (square, rank(square, (columns, rows), bits) as usize)
    }
}
