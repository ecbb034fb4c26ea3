//! The tree in f64, for results in f64.
//!
//! Plan, where it differs from the tree in f32:
//!
//! 1. 16 x 16 nodes a box keep 1e-12 of a weight, as 9 x 9 keep 1e-5 in f32 (`docs/internals/idw.md`). A leaf has as
//!    many points as that, so leaves have no nodes. Items above have, and those of the next level compute theirs from
//!    the points themselves.
//! 2. Points are summed by differences of their coordinates, as in the direct sum in f64. Nodes, and targets where
//!    nodes are summed, are relative to the middle of a box: so places far from the origin lose nothing.
//! 3. No error bound is tested: sums are in f64 throughout.

pub mod nodes;
pub mod sum;

use device_std::{Out, arguments};

use crate::idw::points::Points;

/// Nodes along each axis of a box.
pub const SIDE: u32 = 16;

/// Nodes of a box.
pub const NODES: u32 = SIDE * SIDE;

/// The data points and the nodes, and the boxes of the items.
#[arguments]
pub struct Tree<'a> {
    /// The points; only the first value counts.
    pub points: Points<'a>,
    /// Units in one of the ground's: a power of two.
    pub scale: f64,
    /// For each node of each item above the leaves: x and y relative to the middle of the item, the weight, and the
    /// weighted value.
    pub nodes: Out<'a, Node>,
    /// For each item: least x and y, greatest x and y, in units.
    pub extents: Out<'a, f64>,
}

/// A source: x, y, weight, weighted value.
pub type Node = [f64; 4];

impl Tree<'_> {
    /// A point, in units.
    #[inline(always)]
    fn point(&self, i: u32) -> Node {
        let (points, i) = (&self.points, i as usize);
        let x = points.places.get(i) * self.scale;
        let y = points.places.get(i + points.count as usize) * self.scale;
        [x, y, 1.0, points.values.get(i) - points.offset(0)]
    }
}

/// The index of node `k` of an item above the `leaves` leaves.
#[inline(always)]
fn node(leaves: u32, item: u32, k: u32) -> usize {
    (item - leaves) as usize * NODES as usize + k as usize
}

/// The middle of a box, and half of its sides as seen from there.
#[inline(always)]
fn middle([low_x, low_y, high_x, high_y]: [f64; 4]) -> ([f64; 2], [f64; 2]) {
    let (x, y) = (low_x * 0.5 + high_x * 0.5, low_y * 0.5 + high_y * 0.5);
    ([x, y], [f64::max(high_x - x, x - low_x), f64::max(high_y - y, y - low_y)])
}
