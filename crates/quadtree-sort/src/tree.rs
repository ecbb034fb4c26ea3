//! The tree: nodes in the order of levels, and the points in the order of leaves.

use bytemuck::{Pod, Zeroable};
use gpu_core::Bounds;
use kernels_rs::spatial::frame::Frame;
use kernels_rs::spatial::morton;

use crate::array::Array;

/// A node: a cell with points in it. Cells without points are no nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// The Morton code of the cell among those of its level: x has the even bits.
    pub code: u64,
    /// The first of its points, in the order of the tree.
    pub start: u64,
    /// Its points; positive.
    pub count: u64,
    /// The first of its children, which follow each other in the order south-west, south-east,
    /// north-west, north-east; 0 for a leaf.
    pub first_child: u32,
    /// How often the root was divided to get it.
    pub level: u8,
    /// Which quadrants are children: bit 0 for the south-west, 1 for the south-east, 2 for the
    /// north-west, 3 for the north-east.
    pub quadrants: u8,
    /// Zero.
    pub reserved: [u8; 2],
}

impl Node {
    /// Whether it has no children.
    pub fn is_leaf(&self) -> bool {
        self.quadrants == 0
    }

    /// The places of its points in the order of the tree.
    pub fn points(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }

    /// The places of its children among the nodes.
    pub fn children(&self) -> std::ops::Range<usize> {
        let first = self.first_child as usize;
        first..first + self.quadrants.count_ones() as usize
    }
}

/// What was read, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Points given.
    pub points: u64,
    /// Points left out since they lie outside the bounds.
    pub skipped: u64,
    /// Leaves.
    pub leaves: u64,
    /// Leaves of the deepest level with more points than the threshold.
    pub overfull: u64,
    /// The deepest level that has nodes.
    pub depth: u32,
}

/// A point quadtree.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadtree {
    pub(crate) frame: Frame,
    pub(crate) bounds: Bounds,
    pub(crate) threshold: u32,
    pub(crate) nodes: Array<Node>,
    pub(crate) order: Array<u32>,
    pub(crate) x: Array<f64>,
    pub(crate) y: Array<f64>,
    pub(crate) given: u64,
}

impl Quadtree {
    /// The nodes: level after level from the root, those of a level in the order of their codes.
    /// Without points there is none.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes without children, in the order of levels.
    pub fn leaves(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_leaf())
    }

    /// The indices, as given, of the points in the order of the tree: leaf after leaf in the order of
    /// codes, and in a leaf as given.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The x of the points in the order of the tree.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The y of the points in the order of the tree.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// What the root covers.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The most points of a leaf above the deepest level.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The deepest level that a node may have.
    pub fn max_level(&self) -> u32 {
        self.frame.level
    }

    /// The edges of a node's cell. Its points have `min_x <= x < max_x` and `min_y <= y < max_y`; those
    /// of the last column and row of a level may also lie on the root's eastern and northern edge.
    ///
    /// The edges are exact: `min_x` is the least number that belongs to the cell.
    pub fn cell(&self, node: &Node) -> Bounds {
        let (column, row) = morton::decode(node.code);
        let level = u32::from(node.level);
        let x = |column| {
            edge(
                |x| self.frame.column(x),
                self.bounds.min_x,
                self.bounds.max_x,
                self.deepest(column, level),
            )
        };
        let y = |row| {
            edge(
                |y| self.frame.row(y),
                self.bounds.min_y,
                self.bounds.max_y,
                self.deepest(row, level),
            )
        };
        Bounds {
            min_x: x(u64::from(column)),
            min_y: y(u64::from(row)),
            max_x: x(u64::from(column) + 1),
            max_y: y(u64::from(row) + 1),
        }
    }

    /// The deepest level's number of a column or row of a level.
    fn deepest(&self, number: u64, level: u32) -> u64 {
        number << (self.frame.level - level)
    }

    /// What was read, and what became of it.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            points: self.given,
            skipped: self.given - self.order.len() as u64,
            depth: self.nodes.last().map_or(0, |node| node.level.into()),
            ..Summary::default()
        };
        for leaf in self.leaves() {
            summary.leaves += 1;
            summary.overfull += u64::from(leaf.count > u64::from(self.threshold));
        }
        summary
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
