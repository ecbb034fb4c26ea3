//! Where edges of cells lie: on multiples of the cell size, read as decimals.

use gpu_core::Bounds;

/// Places are rounded to multiples of this part of a cell, so that rounding of decimals does not move a place off an
/// edge.
pub const STEP: f64 = 1.0 / (1 << 22) as f64;

/// A coordinate in cells, to a multiple of [`STEP`].
///
/// Example: 515368.6 is 5,153,686 cells of 0.1, but the quotient of the two floats is a billionth less. Rounded
/// outward, it would add a cell.
pub fn in_cells(coordinate: f64, cell: f64) -> f64 {
    (coordinate / cell / STEP).round_ties_even() * STEP
}

/// A rectangle in cells.
pub fn bounds_in_cells(b: Bounds, cell: f64) -> Bounds {
    Bounds {
        min_x: in_cells(b.min_x, cell),
        min_y: in_cells(b.min_y, cell),
        max_x: in_cells(b.max_x, cell),
        max_y: in_cells(b.max_y, cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_on_an_edge_are_on_it() {
        for (coordinate, cell, cells) in
            [(515368.6, 0.1, 5_153_686.0), (0.3, 0.1, 3.0), (-0.7, 0.1, -7.0), (5e9, 0.5, 1e10)]
        {
            assert_eq!(in_cells(coordinate, cell), cells, "{coordinate} in cells of {cell}");
        }
        assert!(in_cells(0.300001, 0.1) > 3.0 && in_cells(0.299999, 0.1) < 3.0);
    }
}
