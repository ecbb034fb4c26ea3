//! The tree in f64, for results in f64.
//!
//! Plan, where it differs from that in f32:
//!
//! 1. 16 x 16 nodes a box keep 1e-12 of a weight, as 9 x 9 keep 1e-5 in f32 (`docs/idw.md`). They are as many as the
//!    points of a leaf, so leaves have none: items above do, those of the next level from the points themselves.
//! 2. Points are summed by differences of their coordinates, as the direct sum in f64 has them. Nodes lie relative to
//!    the middle of their box, and so do queries where nodes are summed: places far from the origin lose nothing.
//! 3. Nothing is in doubt: sums are in f64 throughout.

pub mod nodes;
pub mod sum;

/// Nodes along each axis of a box.
pub const SIDE: u32 = 16;

/// Nodes of a box.
pub const NODES: u32 = SIDE * SIDE;

/// The data points and the nodes, and the boxes of the items.
#[derive(Clone, Copy)]
struct Tree {
    /// x of each point, then y, on the ground.
    places: *const f64,
    /// The value of each point.
    values: *const f64,
    /// Offset, lowest and highest of the values.
    range: *const f64,
    /// Of each node of each item above the leaves: x and y relative to the middle of the item, the weight, and the
    /// weighted value.
    nodes: *mut Node,
    /// Of each item: least x and y, greatest x and y, in units.
    extents: *mut f64,
    points: u32,
    leaves: u32,
    /// Units in one of the ground's: a power of two.
    scale: f64,
}

/// A source: x, y, weight, weighted value.
type Node = [f64; 4];

impl Tree {
    /// # Safety
    /// The item has an extent.
    #[inline(always)]
    unsafe fn extent(&self, item: u32) -> [f64; 4] {
        // SAFETY: passed on to the caller.
        unsafe {
            let e = self.extents.add(4 * item as usize);
            [*e, *e.add(1), *e.add(2), *e.add(3)]
        }
    }

    /// # Safety
    /// The item exists, and one thread alone writes its extent.
    #[inline(always)]
    unsafe fn set_extent(&self, item: u32, [a, b, c, d]: [f64; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let e = self.extents.add(4 * item as usize);
            (*e, *e.add(1), *e.add(2), *e.add(3)) = (a, b, c, d);
        }
    }

    /// A point, in units.
    ///
    /// # Safety
    /// It is below the number of points.
    #[inline(always)]
    unsafe fn point(&self, i: u32) -> Node {
        let (i, n) = (i as usize, self.points as usize);
        // SAFETY: passed on to the caller.
        unsafe {
            let (x, y) = (*self.places.add(i) * self.scale, *self.places.add(i + n) * self.scale);
            [x, y, 1.0, *self.values.add(i) - *self.range]
        }
    }

    /// Where node `k` of an item above the leaves lies.
    #[inline(always)]
    fn node(&self, item: u32, k: u32) -> *mut Node {
        self.nodes.wrapping_add((item - self.leaves) as usize * NODES as usize + k as usize)
    }
}

/// The middle of a box, and half of its sides as seen from there.
#[inline(always)]
fn middle([low_x, low_y, high_x, high_y]: [f64; 4]) -> ([f64; 2], [f64; 2]) {
    let (x, y) = (low_x * 0.5 + high_x * 0.5, low_y * 0.5 + high_y * 0.5);
    ([x, y], [f64::max(high_x - x, x - low_x), f64::max(high_y - y, y - low_y)])
}
