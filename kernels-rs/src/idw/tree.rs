//! All pairs with far points expanded in nodes.
//!
//! Plan, after Wang, Krasny and Tlupova (2020, doi:10.4208/cicp.OA-2019-0177):
//!
//! 1. Data points are sorted along a curve. A leaf is a run of [`LEAF`] of them; an item of the next
//!    level stands for [`CHILDREN`] of the one below, up to one root. [`leaves`] finds the boxes of the
//!    leaves and puts the points relative to their middles.
//! 2. Over a box that is far from a target the weight of a data point is nearly a polynomial of its
//!    place: that with the same values at the [`NODES`] Chebyshev nodes of the box. So the sum over the
//!    points is one over the nodes, each with the weight `sum w L_k(x) L_l(y)` over the points and the
//!    like sums of weighted values, with Lagrange's polynomials L. [`nodes`] computes these, for leaves
//!    from their points, for items above from their children's nodes, as if they were points.
//! 3. A block takes targets near each other, and `visit`s the items from the root, all threads the same.
//!    An item far from the box of its targets gives its nodes, a leaf that is near its points, and any
//!    other item is opened. Nodes and points go through the same loop (`staged`): a point
//!    is a node of weight 1.
//! 4. A target near the points of a leaf may lose by places in f32: the leaf is summed anew
//!    (`doubt`).
//! 5. Sums over an item are in f32, those over items in f64; `combine` of module `pairs` makes results of
//!    them, and lists what must be computed anew.
//!
//! [`globe`] has the same on the sphere, [`f64_tree`] in f64.
//!
//! Where there are few targets, blocks share the items: with n rows of blocks, each row takes every n-th
//! item that is visited.

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

/// Items of the next level below that an item stands for.
pub const CHILDREN: u32 = 4;

/// Nodes along each axis of a box.
pub const SIDE: u32 = 9;

/// Nodes of a box.
pub const NODES: u32 = SIDE * SIDE;

/// The data points and the nodes, and the boxes of the items.
#[arguments]
pub struct Tree<'a> {
    /// Of each point, then of each node of each item: place relative to the middle of its item, weight,
    /// first weighted value.
    pub sources: Out<'a, Vector>,
    /// All weighted values of each; where there is one value, nothing.
    pub values: Out<'a, Vector>,
    /// Of each item: x and y of the middle, and half of the longer side; then of each leaf: x and y of
    /// the origin of its points.
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

    /// As [`Tree::boxes`] has it; the half is not rounded down.
    #[inline(always)]
    fn packed(&self) -> Vector {
        let half = f64::max(self.half_x, self.half_y) as f32 * 1.000_000_5;
        [self.x.to_bits(), self.y.to_bits(), half.to_bits(), 0]
    }
}

/// The boxes of the items: of each least x and y, greatest x and y, in units.
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
