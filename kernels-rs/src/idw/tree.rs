//! Sums over all pairs of points and targets, with far points expanded in nodes (Wang, Krasny and Tlupova 2020,
//! doi:10.4208/cicp.OA-2019-0177).
//!
//! In: points sorted along a curve, their values, and targets near each other. Out: for each target the sum of weights
//! `d^-p` and the sums of weighted values over all points, such that results keep 1e-5.
//!
//! # Idea
//!
//! Over a box that is far from a target, the weight is a smooth function of the point's place. It is nearly the
//! polynomial with the same values at 9 x 9 Chebyshev nodes. So the sum over the box's points is a sum over 81 nodes. A
//! node's weight is the sum of `w L_k(x) L_l(y)` over the points, with Lagrange's polynomials L. It does not depend on
//! the target.
//!
//! ```text
//!           +-----------+  half
//!           | .  : .    |<--->        middle of the box to the nearest target,
//!    box    |  x     .  |- - - - - - - - - - - - - - - - - ->  * targets of a block
//!           |    .  :   |              at least (2.25 + p / 2) half: far
//!           +-----------+
//! ```
//!
//! ```text
//! build     leaves = runs of 256 points; an item for every 4 of the level below, up to a root          stage_leaves
//!           nodes of a leaf from its points, of an item above from the nodes of its four children      weigh_nodes
//! visit(item, targets), the same in all threads of a block:
//!           far from the box of the targets:  sum its 81 nodes
//!           a leaf:                           sum its points
//!           else:                             visit its four children
//! ```
//!
//! The same loop (`staged`) sums nodes and points: a point is a node of weight 1. With few targets, n rows of blocks
//! share the items: each row takes every n-th one that is visited.
//!
//! # Why it is right
//!
//! - The error of one weight, at the least distance of a far box, is at most 6.2e-6 of it for powers up to 4. In the
//!   mean over the box it is 4e-7 (docs/internals/idw.md has it by power). It falls fast with the distance. A result is
//!   off by a weighted mean of these errors, times how far the values lie from it. If values differ tenfold that is not
//!   quite a proof of 1e-5; measured errors are far below.
//! - A target on a point lies in no far box. A box without extent is far only from targets elsewhere.
//! - A near leaf is summed as without a tree, with the same test of rounding ([`error_bound`](super::error_bound)).
//!   Nodes pass that test by reach -1.
//! - Nodes are summed in f64, an item's sources in f32, items in f64. `combine` of module `pairs` makes results of
//!   them, and lists targets that must be computed again in f64.
//!
//! # What it costs
//!
//! On the CPU, with chunks of 64 targets, a target meets 4800 points and 5600 nodes of 2^18 uniform points at power 2.
//! Sparse targets make a block's box large, so that every item is near; this costs time, not accuracy.
//!
//! [`globe`] is the same on the sphere, and [`f64_tree`] in f64 with 16 x 16 nodes.

mod chebyshev;
pub mod f64_tree;
pub mod globe;
pub mod leaves;
pub mod nodes;
pub mod sum;
pub mod visit;

use device_std::block::BlockReduce;
use device_std::vector::Vector;
use device_std::{Out, arguments};

use super::TILE;

/// Data points of a leaf.
pub const LEAF: u32 = TILE;

/// Items of the level below that an item stands for.
pub const CHILDREN: u32 = 4;

/// Nodes along each axis of a box.
pub const SIDE: u32 = 9;

/// Nodes of a box.
pub const NODES: u32 = SIDE * SIDE;

/// The data points and the nodes, and the boxes of the items.
#[arguments]
pub struct Tree<'a> {
    /// For each point, then for each node of each item: place relative to the middle of its item, weight, first
    /// weighted value.
    pub sources: Out<'a, Vector>,
    /// All weighted values of each; empty if a point has one value.
    pub values: Out<'a, Vector>,
    /// For each item: x and y of the middle, and half of the longer side. Then for each leaf: x and y of the origin of
    /// its points.
    pub boxes: Out<'a, Vector>,
    /// How many points there are.
    pub points: u32,
    /// How many items.
    pub items: u32,
}

/// The middle of an item, and half of its sides as seen from there.
#[derive(Clone, Copy)]
struct Middle {
    x: f32,
    y: f32,
    half_x: f64,
    half_y: f64,
}

impl Middle {
    #[inline(always)]
    fn of([low_x, low_y, high_x, high_y]: [f64; 4]) -> Self {
        let (x, y) = ((low_x * 0.5 + high_x * 0.5) as f32, (low_y * 0.5 + high_y * 0.5) as f32);
        let half_x = f64::max(high_x - x as f64, x as f64 - low_x);
        let half_y = f64::max(high_y - y as f64, y as f64 - low_y);
        Self { x, y, half_x, half_y }
    }

    /// The middle as [`Tree::boxes`] has it; the half is rounded up.
    #[inline(always)]
    fn packed(&self) -> Vector {
        let half = f64::max(self.half_x, self.half_y) as f32 * 1.000_000_5;
        [self.x.to_bits(), self.y.to_bits(), half.to_bits(), 0]
    }
}

/// The boxes of the items: for each, least x and y, greatest x and y, in units.
type Extents<'a> = Out<'a, f64>;

/// The box of an item.
#[inline(always)]
fn extent(extents: Extents<'_>, item: u32) -> [f64; 4] {
    let of_item = extents.from(4 * item as usize);
    [of_item.get(0u32), of_item.get(1u32), of_item.get(2u32), of_item.get(3u32)]
}

/// Writes the box of an item.
#[inline(always)]
fn set_extent(extents: Extents<'_>, item: u32, [a, b, c, d]: [f64; 4]) {
    let of_item = extents.from(4 * item as usize);
    of_item.set(0u32, a);
    of_item.set(1u32, b);
    of_item.set(2u32, c);
    of_item.set(3u32, d);
}

/// The box around that of an item and those of its neighbours, `count` in all.
#[inline(always)]
fn extent_of_all(extents: Extents<'_>, first: u32, count: u32) -> [f64; 4] {
    let mut all = extent(extents, first);
    let mut item = 1;
    while item < count {
        let other = extent(extents, first + item);
        all = [
            f64::min(all[0], other[0]),
            f64::min(all[1], other[1]),
            f64::max(all[2], other[2]),
            f64::max(all[3], other[3]),
        ];
        item += 1;
    }
    all
}

impl Tree<'_> {
    /// Writes the middle of an item, and half of the longer side.
    #[inline(always)]
    fn set_middle(&self, item: u32, extent: [f64; 4]) {
        self.boxes.store(item, Middle::of(extent).packed());
    }

    /// x and y of the middle, and half of the longer side; behind the items the origins of the leaves.
    #[inline(always)]
    fn middle(&self, item: u32) -> [f32; 3] {
        let [x, y, half, _] = self.boxes.load(item);
        [f32::from_bits(x), f32::from_bits(y), f32::from_bits(half)]
    }
}

/// The box of the block's places between `low` and `high`, in every thread: least x and y, greatest x and y.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn box_of(block: BlockReduce<f64>, low: [f64; 2], high: [f64; 2]) -> [f64; 4] {
    // SAFETY: the whole block is here, as the caller says.
    unsafe {
        let least = |x| block.reduce(x, f64::INFINITY, f64::min);
        let greatest = |x| block.reduce(x, f64::NEG_INFINITY, f64::max);
        [least(low[0]), least(low[1]), greatest(high[0]), greatest(high[1])]
    }
}

device_std::ptx_module! { "idw_tree" }
