//! Cells, and their distances from a place.

use crate::spatial::frame::Frame;

/// A cell of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its column among those of its level.
    pub column: u32,
    /// Its row.
    pub row: u32,
    /// How often the root was divided to get it.
    pub level: u32,
}

impl Cell {
    /// The root's cell.
    pub const ROOT: Self = Self { column: 0, row: 0, level: 0 };

    /// One of its quadrants.
    #[inline(always)]
    pub fn child(self, quadrant: u32) -> Self {
        let (column, row) = (self.column << 1 | quadrant & 1, self.row << 1 | quadrant >> 1);
        Self { column, row, level: self.level + 1 }
    }

    /// The cell that it is a quadrant of.
    #[inline(always)]
    pub fn parent(self) -> Self {
        Self { column: self.column >> 1, row: self.row >> 1, level: self.level - 1 }
    }

    /// Which quadrant of its parent it is.
    #[inline(always)]
    pub fn quadrant(self) -> u32 {
        self.column & 1 | (self.row & 1) << 1
    }

    /// Its first and last column and row on the deepest level: west, south, east, north.
    #[inline(always)]
    pub fn span(self, deepest: u32) -> [u32; 4] {
        let below = deepest - self.level;
        let size = (1u64 << below) as u32;
        let (west, south) = (self.column << below, self.row << below);
        [west, south, west + (size - 1), south + (size - 1)]
    }
}

/// A place from which the distances of cells are measured.
#[derive(Clone, Copy)]
pub struct Origin {
    /// In columns and rows of the deepest level.
    position: [f64; 2],
    /// More than the error that rounding may cause in this position, or in that of a point.
    slack: [f64; 2],
    /// A little less than the width and the height of a cell of the deepest level.
    sides: [f64; 2],
}

impl Origin {
    /// A place in a frame.
    #[inline(always)]
    pub fn new(frame: &Frame, [x, y]: [f64; 2]) -> Self {
        let per_unit = [frame.columns_per_unit, frame.rows_per_unit];
        let position = [(x - frame.west) * per_unit[0], (y - frame.south) * per_unit[1]];
        let cells = (1u64 << frame.level) as f64;
        let slack = |position: f64| (position.abs() + cells) * EPSILON;
        let side = |per_unit: f64| (1.0 / per_unit).min(f64::MAX) * (1.0 - EPSILON);
        Self {
            position,
            slack: [slack(position[0]), slack(position[1])],
            sides: [side(per_unit[0]), side(per_unit[1])],
        }
    }

    /// A lower bound of the squared distance to any point of the cell, as f64 computes it by `dx * dx + dy * dy`. More
    /// than the rounding error is subtracted. 0 if no bound is known.
    #[inline(always)]
    pub fn gap_squared(&self, cell: Cell, deepest: u32) -> f64 {
        let size = (1u64 << (deepest - cell.level)) as f64;
        let along = |axis: usize, number: u32| {
            let (first, position) = (number as f64 * size, self.position[axis]);
            let beside = f64::max(first - position, position - (first + size));
            f64::max(0.0, beside - self.slack[axis]) * self.sides[axis]
        };
        let (dx, dy) = (along(0, cell.column), along(1, cell.row));
        (dx * dx + dy * dy) * (1.0 - 4.0 * EPSILON)
    }

    /// [`gap_squared`](Self::gap_squared) of each quadrant of a cell, and the quadrant that the place lies in or is
    /// nearest to.
    #[inline(always)]
    pub fn of_quadrants(&self, cell: Cell, deepest: u32) -> ([f64; 4], u32) {
        let half = (1u64 << (deepest - cell.level - 1)) as f64;
        // For the two halves along an axis: lower bounds of their squared distances, and which half the place is nearer
        // to.
        let along = |axis: usize, number: u32| {
            let (first, position) = (number as f64 * (2.0 * half), self.position[axis]);
            let middle = first + half;
            let gap = |low: f64, high: f64| {
                let beside = f64::max(low - position, position - high);
                let gap = f64::max(0.0, beside - self.slack[axis]) * self.sides[axis];
                gap * gap
            };
            ([gap(first, middle), gap(middle, middle + half)], (position >= middle) as u32)
        };
        let ((x, right), (y, upper)) = (along(0, cell.column), along(1, cell.row));
        let gap = |column: usize, row: usize| (x[column] + y[row]) * (1.0 - 4.0 * EPSILON);
        ([gap(0, 0), gap(1, 0), gap(0, 1), gap(1, 1)], right | upper << 1)
    }
}

/// Many times the error of one rounding.
pub const EPSILON: f64 = 1.0 / (1u64 << 49) as f64;
