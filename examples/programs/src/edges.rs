//! Where edges of cells lie: on multiples of the cell size, read as decimals.

use std::path::Path;

use gpu_core::{Bounds, Shortest};

use crate::args::Size;

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

/// The option that gives a raster its cells.
#[derive(Clone, Copy)]
pub enum CellsBy<'a> {
    /// `--resolution`, as given or by default.
    Resolution(f64),
    /// `--size`.
    Size(Size),
    /// `--template`.
    Template(&'a Path),
}

impl CellsBy<'_> {
    /// The option and its value.
    pub fn option(self) -> String {
        match self {
            Self::Resolution(cell) => format!("--resolution {}", Shortest(cell)),
            Self::Size(size) => format!("--size {size}"),
            Self::Template(path) => format!("--template {}", path.display()),
        }
    }

    /// Says that there are too many cells, and why, and how to get fewer.
    pub fn too_many(self, why: impl std::fmt::Display) -> String {
        let advice = match self {
            Self::Resolution(_) => "a larger --resolution, or a smaller ground by --bounds",
            Self::Size(_) => "a smaller --size",
            Self::Template(_) => "a raster of fewer cells",
        };
        format!("{}: {why}; give {advice}", self.option())
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
