//! The rectangle that a quadtree divides: which cell of it holds a place, and where a cell's edges lie.

use device_std::arguments;

use super::morton;

/// A rectangle divided into 2^level columns and rows of equal cells.
///
/// A cell is half open: it holds its western and southern edges. Places on the rectangle's eastern and northern edges,
/// and beyond, belong to the last column and row; places before the first column or row belong to the first.
#[arguments]
#[derive(PartialEq)]
pub struct Frame {
    /// x of the western edge.
    pub west: f64,
    /// y of the southern edge.
    pub south: f64,
    /// Columns of the deepest level to a unit of x; finite.
    pub columns_per_unit: f64,
    /// Rows of the deepest level to a unit of y; finite.
    pub rows_per_unit: f64,
    /// The deepest level: at most [`morton::MAX_LEVEL`].
    pub level: u32,
}

impl Frame {
    /// A frame with a south-western corner, and a number of columns and of rows to a unit.
    #[inline(always)]
    pub fn new([west, south]: [f64; 2], per_unit: [f64; 2], level: u32) -> Self {
        let [columns_per_unit, rows_per_unit] = per_unit;
        Self { west, south, columns_per_unit, rows_per_unit, level }
    }

    /// The deepest level's column of an x, clamped to the frame; the last for NaN.
    #[inline(always)]
    pub fn column(&self, x: f64) -> u32 {
        self.along((x - self.west) * self.columns_per_unit)
    }

    /// The deepest level's row of a y, clamped to the frame; the last for NaN.
    #[inline(always)]
    pub fn row(&self, y: f64) -> u32 {
        self.along((y - self.south) * self.rows_per_unit)
    }

    /// The Morton code of the deepest level's cell that holds a place.
    #[inline(always)]
    pub fn code(&self, x: f64, y: f64) -> u64 {
        morton::encode(self.column(x), self.row(y))
    }

    /// Positions of at least 0 are rounded down by the conversion.
    #[inline(always)]
    fn along(&self, position: f64) -> u32 {
        let last = ((1u64 << self.level) - 1) as f64;
        let within = f64::max(0.0, f64::min(position, last));
        // SAFETY: the number is from 0 to 2^31 - 1 and no NaN, since `min` and `max` of a number and NaN give the
        // number.
        unsafe { within.to_int_unchecked::<i32>() as u32 }
    }
}
