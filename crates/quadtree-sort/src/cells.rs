//! The cells that a tree divides its root into.

use gpu_core::Bounds;
use kernels_rs::spatial::frame::Frame;
use kernels_rs::spatial::morton;

use crate::{Params, Result};

/// Tells which cell of a level holds a place, and where a cell's edges lie. It is the same for all trees with equal
/// bounds, levels and shape of cells. A program that builds a tree in [parts](crate::join) uses it to find the points
/// of a part.
///
/// ```
/// use gpu_core::Bounds;
/// use quadtree_sort::{Cells, Params};
///
/// let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 };
/// let cells = Cells::new(bounds, &Params::new())?;
/// let code = cells.code(1, 6.0, 2.0); // level 1 has four cells: south-east is number 1
/// assert_eq!(code, 1);
/// assert_eq!(cells.edges(1, code), Bounds { min_x: 4.0, min_y: 0.0, max_x: 8.0, max_y: 4.0 });
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    pub(crate) frame: Frame,
    pub(crate) bounds: Bounds,
}

impl Cells {
    /// Returns the cells of trees with such parameters over `bounds`. It ignores the bounds in the parameters.
    ///
    /// # Errors
    /// [`Error::Threshold`](crate::Error::Threshold), [`Error::MaxLevel`](crate::Error::MaxLevel) and
    /// [`Error::Bounds`](crate::Error::Bounds).
    pub fn new(bounds: Bounds, params: &Params) -> Result<Self> {
        let params = params.bounds(bounds);
        params.check()?;
        let (frame, bounds) = params.frame(bounds)?;
        Ok(Self { frame, bounds })
    }

    /// Returns the root's ground.
    pub fn root(&self) -> Bounds {
        self.bounds
    }

    /// The deepest level.
    pub fn max_level(&self) -> u32 {
        self.frame.level
    }

    /// Returns the Morton code of the cell that holds a place, in a level: x has the even bits. Places outside of the
    /// root belong to the cells at its edges. A level beyond the deepest means the deepest.
    pub fn code(&self, level: u32, x: f64, y: f64) -> u64 {
        self.frame.code(x, y) >> (2 * self.frame.level.saturating_sub(level))
    }

    /// Returns the code of a cell by its column and row in its level, counted from the south-west.
    pub fn code_at(column: u32, row: u32) -> u64 {
        morton::encode(column, row)
    }

    /// Returns the exact edges of a cell: `min_x` is the least number that belongs to it. Its places have `min_x <= x <
    /// max_x` and `min_y <= y < max_y`; in the last column and row of a level they may also lie on the root's eastern
    /// and northern edge.
    pub fn edges(&self, level: u32, code: u64) -> Bounds {
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        let (column, row) = morton::decode(code);
        let first = |number: u64| number << self.frame.level.saturating_sub(level);
        let x = |number| edge(|x| self.frame.column(x), min_x, max_x, first(number));
        let y = |number| edge(|y| self.frame.row(y), min_y, max_y, first(number));
        let (column, row) = (u64::from(column), u64::from(row));
        Bounds { min_x: x(column), min_y: y(row), max_x: x(column + 1), max_y: y(row + 1) }
    }
}

/// The least number from `low` to `high` whose cell is `first` or one after it; `high` where there is
/// none. By bisection over the floats' own order, so exact whatever the formula rounds.
fn edge(cell: impl Fn(f64) -> u32, low: f64, high: f64, first: u64) -> f64 {
    let belongs = |x: f64| u64::from(cell(x)) >= first;
    if belongs(low) {
        return low;
    }
    if !belongs(high) {
        return high;
    }
    let (mut before, mut after) = (rank(low), rank(high));
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if belongs(of_rank(middle)) {
            after = middle;
        } else {
            before = middle;
        }
    }
    of_rank(after)
}

/// The place of a finite float among all: rises with it.
fn rank(x: f64) -> i128 {
    let bits = x.to_bits();
    let magnitude = i128::from(bits & (u64::MAX >> 1));
    if bits >> 63 == 0 { magnitude } else { -magnitude }
}

/// The float of a rank.
fn of_rank(rank: i128) -> f64 {
    let magnitude = f64::from_bits(rank.unsigned_abs() as u64);
    if rank < 0 { -magnitude } else { magnitude }
}
