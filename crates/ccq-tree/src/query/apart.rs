//! Trees whose grid differs from the grid of the search.
//!
//! The finest grid leads. A cell of the search's grid takes the value of the other raster's cell in which its centre
//! lies. So a quadrant corresponds to a rectangle of the other raster's cells. The search keeps the smallest node of
//! the other tree that holds the rectangle. The node's bounds hold for the rectangle too. Once the rectangle is a cell,
//! or the node a leaf, the bounds are its value.

use gpu_core::GridSpec;

use super::Searched;
use crate::params::Window;
use crate::tree::Place;

/// Where the cells of a grid lie among those of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    /// The first cell's centre, from the other's corner on to the east and to the south.
    x: f64,
    y: f64,
    /// A cell's side, and the other's. What rounds is one division, so that places that are whole numbers are exact.
    step: f64,
    size: f64,
    /// The other's columns and rows.
    width: u32,
    height: u32,
}

/// Cells of the other raster: the first and the last column and row, and whether it has all that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rectangle {
    columns: [u32; 2],
    rows: [u32; 2],
    pub is_whole: bool,
}

/// A node that holds a rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub node: u32,
    pub level: u8,
}

impl Mapping {
    /// `None` if the grids do not overlap, or one of them has no place on the ground.
    pub fn new(lead: &GridSpec, other: &GridSpec) -> Option<Self> {
        let is_nowhere = |grid: &GridSpec| *grid == GridSpec::of_pixels(grid.width, grid.height);
        let (a, b) = (lead.bounds(), other.bounds());
        let meet = a.min_x < b.max_x && b.min_x < a.max_x && a.min_y < b.max_y && b.min_y < a.max_y;
        if !meet || is_nowhere(lead) || is_nowhere(other) {
            return None;
        }
        Some(Self {
            x: lead.origin_x - other.origin_x + 0.5 * lead.cell_size,
            y: other.origin_y - lead.origin_y + 0.5 * lead.cell_size,
            step: lead.cell_size,
            size: other.cell_size,
            width: other.width,
            height: other.height,
        })
    }

    /// The column or row of the other in which the centre of a cell of a column or row lies.
    fn at(&self, first: f64, i: u32) -> f64 {
        ((first + f64::from(i) * self.step) / self.size).floor()
    }

    /// Returns the other's cell in which a cell's centre lies.
    pub fn cell(&self, column: u32, row: u32) -> Option<usize> {
        let at = |first: f64, i: u32, length: u32| {
            let at = self.at(first, i);
            (at >= 0.0 && at < f64::from(length)).then_some(at as usize)
        };
        let (x, y) = (at(self.x, column, self.width)?, at(self.y, row, self.height)?);
        Some(y * self.width as usize + x)
    }

    /// The other's cells of a part; `None` where it has none.
    pub(super) fn rectangle(&self, cells: Window) -> Option<Rectangle> {
        let range = |first: f64, from: u32, to: u32, length: u32| {
            let (first, last) = (self.at(first, from), self.at(first, to - 1));
            let end = f64::from(length) - 1.0;
            let is_there = last >= 0.0 && first <= end;
            let is_whole = first >= 0.0 && last <= end;
            is_there.then(|| ([first.max(0.0) as u32, last.min(end) as u32], is_whole))
        };
        let (columns, has_columns) = range(self.x, cells.column0, cells.column1, self.width)?;
        let (rows, has_rows) = range(self.y, cells.row0, cells.row1, self.height)?;
        Some(Rectangle { columns, rows, is_whole: has_columns && has_rows })
    }
}

impl Rectangle {
    /// Returns the smallest node that holds it, searched down from a node that does; `None` where all of its cells are
    /// NODATA.
    pub fn holder(&self, tree: &dyn Searched, from: Holder) -> Option<Holder> {
        let (bits, mut at) = (tree.bits(), from);
        while u32::from(at.level) < bits && tree.node(at.node)?.has_children {
            let level = u32::from(at.level);
            let shift = bits - level - 1;
            let [[x, last_x], [y, last_y]] =
                [self.columns, self.rows].map(|ends| ends.map(|at| at >> shift));
            if (x, y) != (last_x, last_y) {
                break;
            }
            let place = Place { level, x: x >> 1, y: y >> 1 };
            let corner = (x & 1) | (y & 1) << 1;
            let node = tree.children(at.node, place).get(corner)?;
            at = Holder { node, level: at.level + 1 };
        }
        Some(at)
    }
}
