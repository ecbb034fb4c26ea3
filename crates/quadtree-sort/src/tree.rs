//! The tree: nodes in the order of levels, and the points in the order of leaves.

use bytemuck::{Pod, Zeroable};
use gpu_core::Bounds;
use kernels_rs::spatial::frame::Frame;

use crate::array::Array;
use crate::values::{self, Value, Values};
use crate::{Cells, Result};

/// A node: a cell with points in it. Cells without points are not nodes.
///
/// Example: see [`Quadtree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// The Morton code of the cell among the cells of its level: x has the even bits.
    pub code: u64,
    /// The first of its points, in the order of the tree.
    pub start: u64,
    /// Its points; positive.
    pub count: u64,
    /// The first of its children, which come in the order south-west, south-east, north-west, north-east; 0 for a leaf.
    pub first_child: u32,
    /// The node's level: how often the root was divided to get it.
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

    /// The places of its points in the order of the tree. The end of a node that was edited is at most 2^64 - 1.
    pub fn points(&self) -> std::ops::Range<usize> {
        self.start as usize..self.start.saturating_add(self.count) as usize
    }

    /// The places of its children among the nodes.
    pub fn children(&self) -> std::ops::Range<usize> {
        let first = self.first_child as usize;
        first..first + self.quadrants.count_ones() as usize
    }
}

/// How many points were read, left out and kept.
///
/// Example: see [`Params`](crate::Params).
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
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Params, build};
///
/// let points = Points::new(&[0.0, 1.0, 8.0], &[0.0, 1.0, 8.0]);
/// let tree = build(&Device::Cpu, points, &Params::new().threshold(2))?;
/// let leaf = tree.leaves().next().unwrap();
/// assert_eq!(tree.order()[leaf.points()], [0, 1]); // the points in the south-west
/// assert_eq!(tree.cell(leaf).max_x, 4.0);
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Quadtree {
    pub(crate) frame: Frame,
    pub(crate) bounds: Bounds,
    pub(crate) threshold: u32,
    pub(crate) nodes: Array<Node>,
    pub(crate) order: Array<u32>,
    pub(crate) x: Array<f64>,
    pub(crate) y: Array<f64>,
    pub(crate) values: Vec<Values>,
    pub(crate) given: u64,
    /// The code of the coordinate system in the EPSG list, or 0.
    pub(crate) system: u16,
}

impl Quadtree {
    /// Returns the nodes, level after level from the root; within a level in the order of codes. Without points there
    /// is none.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes without children, in the order of levels.
    pub fn leaves(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_leaf())
    }

    /// The indices, as given, of the points in the order of the tree: leaf after leaf in the order of codes, and within
    /// a leaf in the order as given.
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

    /// Returns the same tree, whose points also carry values: `values[i]` belongs to point `i` as given. The tree and
    /// its file keep the values in the tree's own order.
    ///
    /// Cost: a gather; memory for the column.
    ///
    /// # Errors
    /// [`gpu_core::Error::Length`] unless each given point has a value; [`Error::ValuesName`](crate::Error::ValuesName)
    /// for a name that is empty, longer than [`MAX_NAME`](crate::MAX_NAME), or used by another column;
    /// [`Error::Core`](crate::Error::Core) where memory does not suffice.
    pub fn with_values<T: Value>(mut self, name: &str, values: &[T]) -> Result<Self> {
        let names = self.values.iter().map(Values::name);
        values::check(name, names, [self.given, values.len() as u64])?;
        self.values.push(Values::gathered(name, &self.order, values)?);
        Ok(self)
    }

    /// The columns of values that the points carry, in the order in which the tree was given them.
    pub fn values(&self) -> &[Values] {
        &self.values
    }

    /// Returns the column of values with a name, in the order of the tree; `None` if the tree has no column of this
    /// name and type.
    pub fn values_of<T: Value>(&self, name: &str) -> Option<&[T]> {
        self.values.iter().find(|values| values.name() == name)?.as_slice()
    }

    /// Returns the places of points in the order of the tree, by their indices as given. They are positions in
    /// [`x`](Self::x), [`y`](Self::y) and [`values_of`](Self::values_of), so you can look up the points that a search
    /// found. A point that is not in the tree has [`NONE`](crate::NONE).
    ///
    /// Cost: one pass over the order, and memory of up to 32 bytes for each point of the tree and 4 for each index.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where memory does not suffice.
    pub fn places_of(&self, indices: &[u32]) -> Result<Vec<u32>> {
        values::places_of(&self.order, self.given, indices)
    }

    /// Returns the root's ground.
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

    /// The edges of a node's cell. Its points have `min_x <= x < max_x` and `min_y <= y < max_y`; in the last column
    /// and row of a level they may also lie on the root's eastern and northern edge.
    ///
    /// The edges are exact: `min_x` is the least number that belongs to the cell.
    pub fn cell(&self, node: &Node) -> Bounds {
        self.cells().edges(node.level.into(), node.code)
    }

    /// Sets the EPSG code of the points' coordinate system, which the tree's file keeps. No search depends on the code;
    /// 0 means none.
    #[must_use]
    pub fn with_system(self, code: u16) -> Self {
        Self { system: code, ..self }
    }

    /// Returns the EPSG code of the coordinate system, if the tree has one.
    pub fn system(&self) -> Option<u16> {
        (self.system != 0).then_some(self.system)
    }

    /// The cells that the tree divides its root into.
    pub fn cells(&self) -> Cells {
        Cells { frame: self.frame, bounds: self.bounds }
    }

    /// How many points were read, left out and kept.
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
