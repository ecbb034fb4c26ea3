//! The cells of the index that modules `idw_index` and `idw_neighbours` share.

use device_std::math;

/// A uniform grid of square cells.
#[derive(Clone, Copy)]
pub struct Cells {
    /// x of the western edge.
    pub west: f64,
    /// y of the southern edge.
    pub south: f64,
    /// 1 / side of a cell.
    pub per_unit: f64,
    /// Columns.
    pub columns: u32,
    /// Rows.
    pub rows: u32,
}

impl Cells {
    /// The column of an x, brought into the grid.
    #[inline(always)]
    pub fn column(&self, x: f64) -> u32 {
        cell_along((x - self.west) * self.per_unit, self.columns)
    }

    /// The row of a y, brought into the grid.
    #[inline(always)]
    pub fn row(&self, y: f64) -> u32 {
        cell_along((y - self.south) * self.per_unit, self.rows)
    }
}

#[inline(always)]
fn cell_along(position: f64, cells: u32) -> u32 {
    let last = cells as f64 - 1.0;
    f64::max(0.0, f64::min(math::floor(position), last)) as u32
}
