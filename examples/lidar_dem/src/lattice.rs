//! Where edges of cells lie.

use gpu_core::{Bounds, GridSpec};
use programs::edges;

/// Edges of cells, at whole numbers of cells from a place.
///
/// Coordinates of places count cells from that place. So the corners of grids are integers, and differences of places
/// are exact for any cell size. A tile and the whole raster have different corners, and yet each cell has the same bits
/// in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// A crossing of edges, in the coordinates' units.
    pub anchor: [f64; 2],
    /// Side of a cell, in the same units.
    pub cell: f64,
}

impl Lattice {
    /// Edges at multiples of the cell size.
    pub fn of_multiples(cell: f64) -> Self {
        Self { anchor: [0.0; 2], cell }
    }

    /// A coordinate in cells: x for axis 0, y for axis 1. It moves by 2^-23 of a cell at most.
    pub fn in_cells(&self, axis: usize, coordinate: f64) -> f64 {
        edges::in_cells(coordinate - self.anchor[axis], self.cell)
    }

    /// A rectangle in cells.
    pub fn bounds_in_cells(&self, b: &Bounds) -> Bounds {
        let ([min_x, max_x], [min_y, max_y]) = (
            [b.min_x, b.max_x].map(|x| self.in_cells(0, x)),
            [b.min_y, b.max_y].map(|y| self.in_cells(1, y)),
        );
        Bounds { min_x, min_y, max_x, max_y }
    }

    /// A rectangle of cells in the coordinates' units.
    pub fn bounds(&self, b: &Bounds) -> Bounds {
        let ((min_x, min_y), (max_x, max_y)) =
            (self.place(b.min_x, b.min_y), self.place(b.max_x, b.max_y));
        Bounds { min_x, min_y, max_x, max_y }
    }

    /// The coordinates of a place in cells.
    pub fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.anchor[0] + x * self.cell, self.anchor[1] + y * self.cell)
    }

    /// The corner of a grid whose cells are the lattice's, in cells.
    pub fn corner(&self, grid: &GridSpec) -> (f64, f64) {
        let corner = |axis: usize, place: f64| ((place - self.anchor[axis]) / self.cell).round();
        (corner(0, grid.origin_x), corner(1, grid.origin_y))
    }

    /// The centres of the columns and of the rows of a grid whose cells are the lattice's. They lie at whole numbers of
    /// cells and a half from the anchor, the same in a tile as in the whole.
    pub fn centres(&self, grid: &GridSpec) -> [Vec<f64>; 2] {
        let (west, north) = self.corner(grid);
        let x = |column| self.place(west + f64::from(column) + 0.5, 0.0).0;
        let y = |row| self.place(0.0, north - f64::from(row) - 0.5).1;
        [(0..grid.width).map(x).collect(), (0..grid.height).map(y).collect()]
    }

    /// A grid whose cells are the lattice's, with a cell as the unit of length.
    pub fn grid_in_cells(&self, grid: &GridSpec) -> GridSpec {
        let (origin_x, origin_y) = self.corner(grid);
        GridSpec { origin_x, origin_y, cell_size: 1.0, ..*grid }
    }

    /// The grid of a rectangle of cells.
    fn grid(&self, of_cells: &GridSpec) -> gpu_core::Result<GridSpec> {
        let (x, y) = self.place(of_cells.origin_x, of_cells.origin_y);
        GridSpec::new(x, y, self.cell, of_cells.width, of_cells.height)
    }

    /// The grid over points, each of which lies in a cell.
    ///
    /// # Errors
    /// It has too many cells.
    pub fn covering(&self, points: &Bounds) -> gpu_core::Result<GridSpec> {
        self.grid(&GridSpec::covering(self.bounds_in_cells(points), 1.0)?)
    }

    /// Returns the grid over the bounds that the user gives. [`covering`](Self::covering) would add a column for points
    /// on their eastern edge.
    ///
    /// # Errors
    /// It has too many cells.
    pub fn snapped(&self, b: &Bounds) -> gpu_core::Result<GridSpec> {
        let b = self.bounds_in_cells(b);
        let (west, south) = (b.min_x.floor(), b.min_y.floor());
        // Bounds that rounding makes one place lie in a cell.
        let (columns, rows) = ((b.max_x.ceil() - west).max(1.0), (b.max_y.ceil() - south).max(1.0));
        let side = f64::from(u32::MAX);
        if !(columns <= side && rows <= side) {
            return Err(gpu_core::Error::GridTooLarge { columns, rows });
        }
        let (width, height) = (columns as u32, rows as u32);
        let (x, y) = self.place(west, south + rows);
        GridSpec::new(x, y, self.cell, width, height)
    }
}

/// Bounds widened by this much on each side.
pub fn widened(b: &Bounds, by: f64) -> Bounds {
    Bounds { min_x: b.min_x - by, min_y: b.min_y - by, max_x: b.max_x + by, max_y: b.max_y + by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_on_edges_of_cells_are_kept() {
        let b = Bounds { min_x: 515368.6, min_y: 4918340.3, max_x: 515401.1, max_y: 4918381.2 };
        let lattice = Lattice::of_multiples(0.1);
        let grid = lattice.snapped(&b).unwrap();
        assert_eq!((grid.width, grid.height), (325, 409));
        // Points on the eastern and the southern edge are in the next cell.
        let grid = lattice.covering(&b).unwrap();
        assert_eq!((grid.width, grid.height), (326, 410));
        assert!(
            (grid.origin_x - 515368.6).abs() < 1e-6 && (grid.origin_y - 4918381.2).abs() < 1e-6
        );
    }

    #[test]
    fn bounds_narrower_than_rounding_have_a_cell() {
        for (west, wide) in [(0.0, 1e-9), (0.0, 1e-320), (5.0, 1e-9), (0.25, 1e-9), (-3.0, 1e-8)] {
            let b = Bounds { min_x: west, min_y: west, max_x: west + wide, max_y: west + wide };
            let grid = Lattice::of_multiples(1.0).snapped(&b).unwrap();
            assert_eq!((grid.width, grid.height), (1, 1), "{b:?}");
            assert_eq!(grid.origin_x, west.floor(), "{b:?}");
        }
    }

    #[test]
    fn an_anchor_is_kept_to_the_bit() {
        let anchor = [634_000.37, 851_001.59];
        let lattice = Lattice { anchor, cell: 0.3 };
        let given = GridSpec::new(anchor[0], anchor[1], 0.3, 1000, 700).unwrap();
        let grid = lattice.snapped(&given.bounds()).unwrap();
        assert_eq!(grid, given);
        let cells = lattice.grid_in_cells(&grid);
        assert_eq!((cells.origin_x, cells.origin_y, cells.cell_size), (0.0, 0.0, 1.0));
    }
}
