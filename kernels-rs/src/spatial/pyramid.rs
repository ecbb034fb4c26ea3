//! The nodes above the cells of a uniform grid: 4 x 4 cells make a node of level 1, 4 x 4 of these one of level 2, and so on
//! to a level of one node, the top. So what a large part of the ground holds is known without a look at its cells.
//!
//! Numbers of the nodes lie level after level from the first on, row by row.

use super::cells::Cells;

/// Bits of a column, or a row, that tell a node from the others of the same parent.
pub const BITS: u32 = 2;

/// The least top. What sums nodes begins with three levels together.
pub const LEAST_TOP: u32 = 3;

/// How many columns and rows of nodes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pyramid {
    columns: u32,
    rows: u32,
}

impl Pyramid {
    /// That of a grid.
    #[inline(always)]
    pub fn over(cells: &Cells) -> Self {
        Self { columns: cells.columns, rows: cells.rows }
    }

    /// Columns of the nodes of a level; level 0 are the cells.
    #[inline(always)]
    pub fn columns(&self, level: u32) -> u32 {
        (self.columns.saturating_sub(1) >> (BITS * level)) + 1
    }

    /// Rows of the nodes of a level.
    #[inline(always)]
    pub fn rows(&self, level: u32) -> u32 {
        (self.rows.saturating_sub(1) >> (BITS * level)) + 1
    }

    /// Nodes of a level.
    #[inline(always)]
    pub fn nodes(&self, level: u32) -> u32 {
        self.columns(level) * self.rows(level)
    }

    /// The level that has one node: 16 for the largest grid.
    #[inline(always)]
    pub fn top(&self) -> u32 {
        let widest = u32::max(self.columns, self.rows).saturating_sub(1);
        let bits = u32::BITS - widest.leading_zeros();
        u32::max(bits.div_ceil(BITS), LEAST_TOP)
    }

    /// Where the numbers of the nodes of a level begin; of all of them, where they end, at the level above the top.
    #[inline(always)]
    pub fn start(&self, level: u32) -> u32 {
        let (mut start, mut below) = (0, 1);
        while below < level {
            start += self.nodes(below);
            below += 1;
        }
        start
    }
}

/// The most nodes above so many cells.
pub const fn most_nodes(cells: u64) -> u64 {
    // A level has cells / 16^level, rounded up along both axes: of one row of cells a quarter of those below.
    2 * cells / 5 + 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_nodes_than_there_is_room_for() {
        let sides = [1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 257, 1000, 2049];
        let pairs = sides.iter().flat_map(|&a| sides.iter().map(move |&b| (a, b)));
        for (columns, rows) in pairs.chain([(8_388_610, 1), (1, 8_388_610), (4_194_305, 2)]) {
            let pyramid = Pyramid { columns, rows };
            let (top, cells) = (pyramid.top(), u64::from(columns) * u64::from(rows));
            assert_eq!((pyramid.nodes(top), pyramid.columns(0)), (1, columns));
            assert!(top == LEAST_TOP || pyramid.nodes(top - 1) > 1);
            assert!(u64::from(pyramid.start(top + 1)) <= most_nodes(cells), "{columns} x {rows}");
        }
    }
}
