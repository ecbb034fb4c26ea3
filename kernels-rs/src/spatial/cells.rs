//! Points sorted by the cells of a uniform grid: which cell a place lies in, and which places a block of cells surely
//! holds.
//!
//! Cells are numbered row by row from the south-west. Places beyond the grid belong to the nearest cell of its edge. So
//! the order of places along both axes is kept, and a search over the cells of a box finds every point of the box. The
//! cells of an edge reach to infinity.

use device_std::math;

/// A uniform grid of square cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// x of the western edge.
    pub west: f64,
    /// y of the southern edge.
    pub south: f64,
    /// Side of a cell.
    pub side: f64,
    /// 1 / side.
    pub per_unit: f64,
    /// Columns, at least 1.
    pub columns: u32,
    /// Rows, at least 1.
    pub rows: u32,
}

/// By how much borders are assumed nearer than they are, in sides of a cell: more than rounding moves a point over a
/// border.
const MARGIN: f64 = 1e-6;

/// Cells from a column and row to a column and row, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First and last column.
    pub columns: [u32; 2],
    /// First and last row.
    pub rows: [u32; 2],
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

    /// Cells of the grid.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.columns as u64 * self.rows as u64
    }

    /// Whether there is no cell; there always is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells up to `half` columns and rows around a place.
    #[inline(always)]
    pub fn around(&self, place: [f64; 2], half: u32) -> Block {
        let (column, row) = (self.column(place[0]), self.row(place[1]));
        Block {
            columns: [
                column.saturating_sub(half),
                u32::min(column.saturating_add(half), self.columns - 1),
            ],
            rows: [row.saturating_sub(half), u32::min(row.saturating_add(half), self.rows - 1)],
        }
    }

    /// Whether a block is the whole grid.
    #[inline(always)]
    pub fn is_whole(&self, block: Block) -> bool {
        let columns = block.columns[0] == 0 && block.columns[1] == self.columns - 1;
        columns && block.rows[0] == 0 && block.rows[1] == self.rows - 1
    }

    /// How near to a place in the block a point outside of the block may be; infinite if none can be outside.
    #[inline(always)]
    pub fn reach(&self, block: Block, place: [f64; 2]) -> f64 {
        let x = open_interval(block.columns, self.columns);
        let y = open_interval(block.rows, self.rows);
        let across = interval_reach(x, place[0] - self.west, self.side);
        let along = interval_reach(y, place[1] - self.south, self.side);
        f64::min(across, along) - MARGIN * self.side
    }

    /// A box around a place, relative to the place: from x to x, and from y to y. The block holds all points of the
    /// box. Infinite where the grid ends.
    #[inline(always)]
    pub fn within(&self, block: Block, place: [f64; 2]) -> [[f64; 2]; 2] {
        let ends = |range: [u32; 2], cells: u32, position: f64| {
            let [first, end] = open_interval(range, cells);
            [(first + MARGIN) * self.side - position, (end - MARGIN) * self.side - position]
        };
        [
            ends(block.columns, self.columns, place[0] - self.west),
            ends(block.rows, self.rows, place[1] - self.south),
        ]
    }

    /// The box, relative to a place, that holds every point of these columns and rows. They go from a first to the end
    /// of a last, which may be parts of columns and rows. Infinite where the grid ends.
    #[inline(always)]
    pub fn around_all(&self, columns: [f64; 2], rows: [f64; 2], place: [f64; 2]) -> [[f64; 2]; 2] {
        let ends = |[first, end]: [f64; 2], cells: u32, position: f64| {
            let first = if first <= 0.0 { f64::NEG_INFINITY } else { first - MARGIN };
            let end = if end >= cells as f64 { f64::INFINITY } else { end + MARGIN };
            [first * self.side - position, end * self.side - position]
        };
        [
            ends(columns, self.columns, place[0] - self.west),
            ends(rows, self.rows, place[1] - self.south),
        ]
    }

    /// Where the points of a row may lie: from y to y, relative to the southern edge.
    #[inline(always)]
    pub fn strip(&self, row: u32) -> [f64; 2] {
        let [first, end] = open_interval([row, row], self.rows);
        [(first - MARGIN) * self.side, (end + MARGIN) * self.side]
    }
}

/// Where cells from a first to a last begin and end, in a grid of `cells` cells; infinity beyond the grid.
#[inline(always)]
fn open_interval([first, last]: [u32; 2], cells: u32) -> [f64; 2] {
    [
        if first == 0 { f64::NEG_INFINITY } else { first as f64 },
        if last + 1 == cells { f64::INFINITY } else { (last + 1) as f64 },
    ]
}

/// How far a position is from the nearer end of an interval of cells.
#[inline(always)]
fn interval_reach([first, end]: [f64; 2], position: f64, side: f64) -> f64 {
    f64::min(position - first * side, end * side - position)
}

#[inline(always)]
fn cell_along(position: f64, cells: u32) -> u32 {
    let last = cells as f64 - 1.0;
    f64::max(0.0, f64::min(math::floor(position), last)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_a_block_is_beyond_its_reach() {
        let cells =
            Cells { west: -3.3, south: 7.7, side: 0.3, per_unit: 1.0 / 0.3, columns: 9, rows: 6 };
        let place_of = |i: u32| {
            let x = (f64::from(i % 97) / 97.0 - 0.2) * 4.0 - 3.3;
            [x, 7.7 + (f64::from(i % 89) / 89.0 - 0.2) * 3.0]
        };
        for i in 0..200u32 {
            let place = place_of(i * 7919);
            for half in 0..8 {
                let block = cells.around(place, half);
                let reach = cells.reach(block, place);
                for j in 0..400u32 {
                    let other = place_of(j * 104_729);
                    let cell = [cells.column(other[0]), cells.row(other[1])];
                    let strip = cells.strip(cell[1]);
                    let y = other[1] - cells.south;
                    assert!(strip[0] <= y && y <= strip[1], "{y} in {strip:?}");
                    let within = |range: [u32; 2], i: u32| range[0] <= i && i <= range[1];
                    if !(within(block.columns, cell[0]) && within(block.rows, cell[1])) {
                        let away = f64::hypot(other[0] - place[0], other[1] - place[1]);
                        assert!(away >= reach, "{other:?} is {away} from {place:?}, not {reach}");
                    }
                }
                assert_eq!(cells.is_whole(block), reach == f64::INFINITY);
            }
        }
    }
}
