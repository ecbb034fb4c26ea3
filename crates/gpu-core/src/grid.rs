//! The raster that every crate shares: where its cells lie on the ground.

use std::ops::Range;

use crate::parallel::{self, FINE};
use crate::{Error, Result};

/// An axis-aligned rectangle on the ground, in the units of the coordinate system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Western edge.
    pub min_x: f64,
    /// Southern edge.
    pub min_y: f64,
    /// Eastern edge.
    pub max_x: f64,
    /// Northern edge.
    pub max_y: f64,
}

impl Bounds {
    /// The smallest rectangle around the points, or `None` where there are none.
    ///
    /// Coordinates that are not finite are ignored.
    pub fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let of_range = |range: Range<usize>| {
            let points = x[range.clone()].iter().zip(&y[range]);
            let finite = points.filter(|(x, y)| x.is_finite() && y.is_finite());
            finite.fold(None, |all: Option<Self>, (&x, &y)| {
                let point = Self { min_x: x, min_y: y, max_x: x, max_y: y };
                Some(all.map_or(point, |all| all.with(&point)))
            })
        };
        let parts = parallel::map_ranges(x.len().min(y.len()), FINE, &of_range);
        parts.into_iter().flatten().reduce(|all, part| all.with(&part))
    }

    /// The smallest rectangle around both.
    fn with(&self, other: &Self) -> Self {
        // The positive one of two zeros, whichever comes first.
        let least = |a: f64, b: f64| a.min(b) + 0.0;
        let greatest = |a: f64, b: f64| a.max(b) + 0.0;
        Self {
            min_x: least(self.min_x, other.min_x),
            min_y: least(self.min_y, other.min_y),
            max_x: greatest(self.max_x, other.max_x),
            max_y: greatest(self.max_y, other.max_y),
        }
    }
}

/// A raster on the ground: row-major, row 0 in the north, a pixel is an area.
///
/// Cell (column 0, row 0) has its north-west corner at (`origin_x`, `origin_y`); x grows with
/// the column, y falls with the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridSpec {
    /// x of the western edge.
    pub origin_x: f64,
    /// y of the northern edge.
    pub origin_y: f64,
    /// Side of the square cell, in ground units; positive.
    pub cell_size: f64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl GridSpec {
    /// A grid with the given north-west corner.
    ///
    /// # Errors
    /// [`Error::CellSize`] unless the cell size is finite and positive, [`Error::Origin`] unless
    /// the corner is finite.
    pub fn new(
        origin_x: f64,
        origin_y: f64,
        cell_size: f64,
        width: u32,
        height: u32,
    ) -> Result<Self> {
        let grid = Self { origin_x, origin_y, cell_size, width, height };
        grid.check()?;
        Ok(grid)
    }

    /// Checks the fields, which are public, so callers may have set them.
    ///
    /// # Errors
    /// [`Error::CellSize`] unless the cell size is finite and positive, [`Error::Origin`] unless
    /// the corner is finite.
    pub fn check(&self) -> Result<()> {
        let &Self { origin_x, origin_y, cell_size, .. } = self;
        check_cell_size(cell_size)?;
        if !(origin_x.is_finite() && origin_y.is_finite()) {
            return Err(Error::Origin { x: origin_x, y: origin_y });
        }
        Ok(())
    }

    /// Returns the grid of a raster without a place on the ground: cells have side 1, and the south-west corner is (0,
    /// 0).
    pub fn of_pixels(width: u32, height: u32) -> Self {
        Self { origin_x: 0.0, origin_y: height.into(), cell_size: 1.0, width, height }
    }

    /// Returns the smallest grid over `bounds` whose western and northern edges are whole multiples of `cell_size`. If
    /// a multiple, rounded to `f64`, lies within the bounds, the edge of the bounds takes its place.
    ///
    /// Every point of the bounds lies in a cell by [`cell_of`](Self::cell_of). The columns and rows are counted
    /// with its arithmetic. A point on the eastern or southern edge would belong to the next cell, so it adds a
    /// column or a row.
    ///
    /// # Errors
    /// - The errors of [`GridSpec::new`].
    /// - [`Error::Bounds`]: the least x or y is above the greatest, or one is NaN.
    /// - [`Error::GridTooLarge`]: a side would not fit `u32`.
    pub fn covering(bounds: Bounds, cell_size: f64) -> Result<Self> {
        check_cell_size(cell_size)?;
        if !(bounds.min_x <= bounds.max_x && bounds.min_y <= bounds.max_y) {
            return Err(Error::Bounds { bounds });
        }
        let west = (bounds.min_x / cell_size).floor();
        let north = (bounds.max_y / cell_size).ceil();
        let origin_x = (west * cell_size).min(bounds.min_x);
        let origin_y = (north * cell_size).max(bounds.max_y);
        let grid = Self::new(origin_x, origin_y, cell_size, 0, 0)?;
        // The larger of two counts: that of multiples, and that of cells up to the farthest corner. Rounding can make
        // either one too small.
        let (last_column, last_row) = grid.position(bounds.max_x, bounds.min_y);
        let columns = ((bounds.max_x / cell_size).floor() - west).max(last_column) + 1.0;
        let rows = (north - (bounds.min_y / cell_size).ceil()).max(last_row) + 1.0;
        let side = f64::from(u32::MAX);
        if !(columns <= side && rows <= side) {
            return Err(Error::GridTooLarge { columns, rows });
        }
        let (width, height) = (columns.max(1.0) as u32, rows.max(1.0) as u32);
        Ok(Self { width, height, ..grid })
    }

    /// Cells in the grid.
    pub fn cells(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The rectangle that the grid covers.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            min_x: self.origin_x,
            min_y: self.origin_y - f64::from(self.height) * self.cell_size,
            max_x: self.origin_x + f64::from(self.width) * self.cell_size,
            max_y: self.origin_y,
        }
    }

    /// Ground coordinates of the centre of a cell.
    pub fn cell_centre(&self, column: u32, row: u32) -> (f64, f64) {
        (
            self.origin_x + (f64::from(column) + 0.5) * self.cell_size,
            self.origin_y - (f64::from(row) + 0.5) * self.cell_size,
        )
    }

    /// The cell (column, row) that holds a point, or `None` outside the grid.
    pub fn cell_of(&self, x: f64, y: f64) -> Option<(u32, u32)> {
        let (column, row) = self.position(x, y);
        let inside = column >= 0.0
            && row >= 0.0
            && column < f64::from(self.width)
            && row < f64::from(self.height);
        inside.then_some((column as u32, row as u32))
    }

    /// The column and row of a point, as whole numbers, of the grid without end. Both grow steadily with the
    /// distance from the corner, however they are rounded.
    fn position(&self, x: f64, y: f64) -> (f64, f64) {
        let column = ((x - self.origin_x) / self.cell_size).floor();
        let row = ((self.origin_y - y) / self.cell_size).floor();
        (column, row)
    }

    /// Returns the grid of the same ground with cells `factor` times finer in x and y.
    ///
    /// # Errors
    /// [`Error::GridTooLarge`] where a side would pass `u32`; [`Error::CellSize`] for a factor of 0, and for a factor
    /// that makes cells vanish.
    pub fn refined(&self, factor: u32) -> Result<Self> {
        let side = |n: u32| n.checked_mul(factor);
        match (side(self.width), side(self.height)) {
            (Some(width), Some(height)) => {
                let cell_size = self.cell_size / f64::from(factor);
                Self::new(self.origin_x, self.origin_y, cell_size, width, height)
            }
            _ => Err(Error::GridTooLarge {
                columns: f64::from(self.width) * f64::from(factor),
                rows: f64::from(self.height) * f64::from(factor),
            }),
        }
    }

    /// GDAL's six geotransform numbers.
    pub fn geotransform(&self) -> [f64; 6] {
        [self.origin_x, self.cell_size, 0.0, self.origin_y, 0.0, -self.cell_size]
    }
}

fn check_cell_size(cell_size: f64) -> Result<()> {
    match cell_size.is_finite() && cell_size > 0.0 {
        true => Ok(()),
        false => Err(Error::CellSize { cell_size }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corners as surveys have them: whole centimetres and decimetres, and thirds.
    #[test]
    fn covering_holds_the_corners_of_any_bounds() {
        let mut state = 1_u64;
        let mut below = |end: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        let sizes = [0.01, 0.1, 0.3, 1.0 / 3.0, 0.07, 0.25, 1.0, 2.5, 12.34, 1e-9, 1e5];
        for round in 0..200_000 {
            let cell_size = sizes[round % sizes.len()];
            let unit = [0.01, 0.1, 1.0 / 3.0, cell_size][round / sizes.len() % 4];
            let place = |whole: u64| (whole as f64 - 2e8) * unit;
            let (x, y) = (below(400_000_000), below(400_000_000));
            let bounds = Bounds {
                min_x: place(x),
                min_y: place(y),
                max_x: place(x + below(50)),
                max_y: place(y + below(50)),
            };
            let Ok(grid) = GridSpec::covering(bounds, cell_size) else {
                assert!(unit / cell_size > 1e6, "{bounds:?} in cells of {cell_size}");
                continue;
            };
            let Bounds { min_x, min_y, max_x, max_y } = bounds;
            for (x, y) in [(min_x, min_y), (min_x, max_y), (max_x, min_y), (max_x, max_y)] {
                assert!(
                    grid.cell_of(x, y).is_some(),
                    "({x}, {y}) in cells of {cell_size}: {grid:?}"
                );
            }
            let off = |edge: f64| (edge / cell_size - (edge / cell_size).round()).abs();
            let most = 1e-14 * (1.0 + max_x.abs().max(max_y.abs()) / cell_size);
            assert!(off(grid.origin_x) <= most && off(grid.origin_y) <= most, "{grid:?}");
        }
    }

    #[test]
    fn grids_without_cells_of_a_size_are_refused() {
        let grid = GridSpec::of_pixels(2, 2);
        assert_eq!(grid.refined(0), Err(Error::CellSize { cell_size: f64::INFINITY }));
        let tiny = GridSpec { cell_size: 5e-324, ..grid };
        assert_eq!(tiny.refined(3), Err(Error::CellSize { cell_size: 0.0 }));
        for cell_size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let grid = GridSpec { cell_size, ..grid };
            assert!(matches!(grid.check(), Err(Error::CellSize { .. })), "{cell_size}");
            assert!(crate::GridView::new(&[0; 4], grid).is_err(), "{cell_size}");
            assert!(crate::Grid::new(vec![0; 4], grid).is_err(), "{cell_size}");
        }
    }

    #[test]
    fn covering_holds_every_corner_of_the_bounds() {
        let bounds = Bounds { min_x: 0.4, min_y: -3.0, max_x: 10.0, max_y: 2.0 };
        let grid = GridSpec::covering(bounds, 1.0).unwrap();
        assert_eq!((grid.origin_x, grid.origin_y), (0.0, 2.0));
        assert_eq!((grid.width, grid.height), (11, 6));
        for (x, y) in [(0.4, -3.0), (10.0, 2.0), (0.4, 2.0), (10.0, -3.0)] {
            assert!(grid.cell_of(x, y).is_some(), "({x}, {y}) is outside");
        }
    }

    #[test]
    fn cell_centres_lie_in_their_cells() {
        let grid = GridSpec::new(500.25, 1000.5, 0.25, 7, 3).unwrap();
        for row in 0..3 {
            for column in 0..7 {
                let (x, y) = grid.cell_centre(column, row);
                assert_eq!(grid.cell_of(x, y), Some((column, row)));
            }
        }
        assert_eq!(grid.cell_of(500.0, 1000.0), None);
    }

    #[test]
    fn refinement_keeps_the_ground() {
        let grid = GridSpec::new(3.0, 9.0, 2.0, 5, 4).unwrap();
        let fine = grid.refined(4).unwrap();
        assert_eq!(fine.bounds(), grid.bounds());
        assert_eq!((fine.width, fine.height, fine.cell_size), (20, 16, 0.5));
    }

    #[test]
    fn bad_grids_are_named() {
        let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 1e9, max_y: 1.0 };
        assert!(matches!(GridSpec::covering(bounds, 0.0), Err(Error::CellSize { .. })));
        assert!(matches!(GridSpec::covering(bounds, f64::NAN), Err(Error::CellSize { .. })));
        assert!(matches!(GridSpec::covering(bounds, 1e-3), Err(Error::GridTooLarge { .. })));
        assert!(matches!(GridSpec::new(f64::NAN, 0.0, 1.0, 1, 1), Err(Error::Origin { .. })));
    }

    #[test]
    fn bounds_with_swapped_corners_have_no_grid() {
        let [min_x, min_y, max_x, max_y] = [1.0, 2.0, 5.0, 2.0];
        assert!(GridSpec::covering(Bounds { min_x, min_y, max_x, max_y }, 1.0).is_ok());
        for bounds in [
            Bounds { min_x: max_x, min_y, max_x: min_x, max_y },
            Bounds { min_x, min_y: 2.5, max_x, max_y },
            Bounds { min_x, min_y, max_x: f64::NAN, max_y },
        ] {
            let error = GridSpec::covering(bounds, 1.0).unwrap_err();
            assert!(matches!(error, Error::Bounds { .. }), "{error}");
        }
    }

    #[test]
    fn bounds_skip_what_is_not_finite() {
        let b = Bounds::of(&[f64::NAN, 2.0, -1.0], &[0.0, 5.0, f64::INFINITY]).unwrap();
        assert_eq!(b, Bounds { min_x: 2.0, min_y: 5.0, max_x: 2.0, max_y: 5.0 });
        assert_eq!(Bounds::of(&[], &[]), None);
    }
}
