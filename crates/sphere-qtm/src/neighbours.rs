//! Neighbours of a cell, computed from digits alone, without coordinates.
//!
//! Edge `e` of a cell lies opposite to its vertex `e`. The middle child of a cell touches the child at vertex `e` along
//! edge `e`. A child at a vertex has its two other edges on its parent's edges. So the search for a neighbour goes up
//! while the edge lies on the parent's edge, at most to an octant. On the way down on the other side, the digits are
//! the same, except that the sides number vertices differently.

use crate::Cell;

/// The neighbour across an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Across {
    /// The neighbour.
    pub(crate) cell: Cell,
    /// The neighbour's name for each vertex of the cell; for the vertex opposite, its name for its own.
    pub(crate) names: [usize; 3],
}

/// The names after a step across edge `e` where the two vertices on it change theirs.
fn swapped(e: usize) -> [usize; 3] {
    [[0, 2, 1], [2, 1, 0], [1, 0, 2]][e]
}

impl Cell {
    /// Returns the three cells that share an edge with this one; element `i` lies across the edge opposite to vertex
    /// `i`.
    pub fn edge_neighbours(self) -> [Cell; 3] {
        [0, 1, 2].map(|edge| self.across(edge).cell)
    }

    /// Returns the cells that share a vertex with this one, in order of their ids. Cells that share an edge are
    /// among them.
    ///
    /// A cell has 12 such neighbours. It has 10 if one of its vertices is a vertex of the octahedron, where four cells
    /// meet instead of six. An octant has 6.
    pub fn vertex_neighbours(self) -> Vec<Cell> {
        let mut found = Vec::with_capacity(15);
        for vertex in 0..3 {
            // Around the vertex, each time across the edge that was not crossed before.
            let (mut cell, mut name, mut edge) = (self, vertex, (vertex + 1) % 3);
            loop {
                let Across { cell: next, names } = cell.across(edge);
                if next == self {
                    break;
                }
                found.push(next);
                let (new_name, crossed) = (names[name], names[edge]);
                (cell, name, edge) = (next, new_name, 3 - new_name - crossed);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the neighbour across the edge opposite to a vertex, 0 to 2.
    pub(crate) fn across(self, edge: usize) -> Across {
        let (level, index) = (self.level(), self.index());
        let mut up = 0;
        let (above, names) = loop {
            if up == level.get() {
                let (octant, names) = across_octant((index >> (2 * up)) as u32, edge);
                break (u64::from(octant), names);
            }
            let digit = index >> (2 * up) & 3;
            let corner = edge as u64 + 1;
            if digit == 0 || digit == corner {
                let sibling = if digit == 0 { corner } else { 0 };
                break (index >> (2 * up) & !3 | sibling, swapped(edge));
            }
            up += 1;
        };
        let mut there = above;
        for step in (0..up).rev() {
            // All digits below are at a vertex.
            let digit = (index >> (2 * step) & 3) as usize;
            there = there << 2 | (names[digit - 1] as u64 + 1);
        }
        Across { cell: Cell::at(level, there), names }
    }

    /// Whether an edge lies on the meridian of 180 degrees.
    pub(crate) fn is_on_antimeridian(self, edge: usize) -> bool {
        // It divides octant 1 from 2 and 5 from 6.
        let there = self.across(edge).cell;
        let (a, b) = (self.octant() % 4, there.octant() % 4);
        (a, b) == (1, 2) || (a, b) == (2, 1)
    }
}

/// The octant across an edge, and its names for the vertices.
fn across_octant(octant: u32, edge: usize) -> (u32, [usize; 3]) {
    let side = octant & 4;
    match edge {
        // The equator: both sides have the pole first, then west, then east.
        0 => (octant ^ 4, [0, 1, 2]),
        // Opposite to the western vertex is the meridian in the east, which the other has in the west.
        1 => (side | (octant + 1) & 3, [0, 2, 1]),
        _ => (side | (octant + 3) & 3, [0, 2, 1]),
    }
}
