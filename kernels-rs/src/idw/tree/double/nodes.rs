//! The boxes of the leaves, and boxes and nodes of the items above, in f64.

use device_std::block::BlockReduce;
use device_std::math::mul_add;
use device_std::shared::{Carver, SharedArray};
use device_std::vector;
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::super::chebyshev::Chebyshev;
use super::super::nodes::per_half;
use super::super::{CHILDREN, LEAF, box_of};
use super::{NODES, Node, SIDE, Tree, middle};

const AXIS: usize = SIDE as usize;

/// Sources that a block takes at a time.
const BATCH: u32 = 64;

/// A column of them: one more, so that nodes of a warp read from different banks.
const COLUMN: u32 = BATCH + 1;

/// The boxes of the leaves. Grid: a block a leaf.
///
/// # Safety
/// `places` has `2 * points` elements, which is not 0, `extents` 4 for each leaf.
#[kernel(block = LEAF, carve = |carver| BlockReduce::<f64>::new(carver, LEAF as usize))]
pub unsafe fn bound_leaves(places: *const f64, points: u32, scale: f64, extents: *mut f64) {
    let block = BlockReduce::<f64>::new(&mut Carver::new(), LEAF as usize);
    let leaf = thread::block_idx_x();
    // SAFETY: the block stays together; beyond the points its threads take the last one.
    unsafe {
        let i = u32::min(leaf * LEAF + thread::thread_idx_x(), points - 1) as usize;
        let place = [*places.add(i) * scale, *places.add(i + points as usize) * scale];
        let [a, b, c, d] = box_of(block, place, place);
        if thread::thread_idx_x() == 0 {
            let e = extents.add(4 * leaf as usize);
            (*e, *e.add(1), *e.add(2), *e.add(3)) = (a, b, c, d);
        }
    }
}

/// What a block keeps of its sources: Lagrange's polynomials along each axis, weights and weighted values.
#[derive(Clone, Copy)]
struct Scales {
    across: SharedArray<f64>,
    up: SharedArray<f64>,
    weights: SharedArray<f64>,
    values: SharedArray<f64>,
}

impl Scales {
    const fn new(carver: &mut Carver) -> Self {
        Self {
            across: carver.array(SIDE * COLUMN),
            up: carver.array(SIDE * COLUMN),
            weights: carver.array(BATCH),
            values: carver.array(BATCH),
        }
    }
}

/// The nodes of a level's items: `start` is the first of them, `below` the first of those below, of which
/// there are `below_count`. Grid: a block an item.
///
/// # Safety
/// `places` has `2 * points` elements, `values` as many as there are points, `range` three; `nodes` has the nodes of the
/// items from `leaves` on; `extents` has 4 for each item, and those of the level below are written, like its nodes.
#[kernel(block = NODES, carve = |carver| Scales::new(carver))]
pub unsafe fn weigh_in_f64(
    places: *const f64,
    values: *const f64,
    range: *const f64,
    points: u32,
    leaves: u32,
    start: u32,
    below: u32,
    below_count: u32,
    scale: f64,
    nodes: *mut Node,
    extents: *mut f64,
) {
    let tree = Tree { places, values, range, nodes, extents, points, leaves, scale };
    let scales = Scales::new(&mut Carver::new());
    let (item, me) = (thread::block_idx_x(), thread::thread_idx_x());
    let first_child = item * CHILDREN;
    let children = u32::min(CHILDREN, below_count - first_child);
    // SAFETY: the block stays together; what it reads is written; a thread writes its own slots and its own node.
    unsafe {
        let extent = extent_of(&tree, below + first_child, children);
        if me == 0 {
            tree.set_extent(start + item, extent);
        }
        let ([x, y], half) = middle(extent);
        let per = [per_half(half[0]), per_half(half[1])];
        let of_points = below_count == leaves;
        let first = first_child * LEAF;
        let count = match of_points {
            true => u32::min(children * LEAF, points - first),
            false => children * NODES,
        };
        let (row, column) = (me / SIDE * COLUMN, me % SIDE * COLUMN);
        let (mut weight, mut value) = (0.0, 0.0);
        let mut done = 0;
        while done < count {
            thread::sync_threads();
            if me < BATCH && done + me < count {
                let (mut source, mut from);
                if of_points {
                    source = tree.point(first + done + me);
                    from = [0.0; 2];
                } else {
                    let child = below + first_child + (done + me) / NODES;
                    source = *tree.node(child, (done + me) % NODES);
                    (from, _) = middle(tree.extent(child));
                }
                from = [from[0] - x, from[1] - y];
                (source[0], source[1]) = (source[0] + from[0], source[1] + from[1]);
                put(&scales, &source, per);
            }
            thread::sync_threads();
            let mut i = 0;
            while i < vector::unknown(u32::min(BATCH, count - done)) {
                let share = scales.across.load(row + i) * scales.up.load(column + i);
                weight = mul_add(share, scales.weights.load(i), weight);
                value = mul_add(share, scales.values.load(i), value);
                i += 1;
            }
            done += BATCH;
        }
        let x = Chebyshev::<AXIS>::node(me / SIDE) * half[0];
        let y = Chebyshev::<AXIS>::node(me % SIDE) * half[1];
        *tree.node(start + item, me) = [x, y, weight, value];
    }
}

/// The box of an item from those of its children.
///
/// # Safety
/// These have extents.
#[inline(always)]
unsafe fn extent_of(tree: &Tree, first: u32, children: u32) -> [f64; 4] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut extent = tree.extent(first);
        let mut child = 1;
        while child < children {
            let other = tree.extent(first + child);
            extent = [
                f64::min(extent[0], other[0]),
                f64::min(extent[1], other[1]),
                f64::max(extent[2], other[2]),
                f64::max(extent[3], other[3]),
            ];
            child += 1;
        }
        extent
    }
}

/// Stores the thread's source; its place is relative to the middle of a box, `per` 1 / half of the sides.
///
/// # Safety
/// Nobody reads meanwhile; the thread is one of the first [`BATCH`].
#[inline(always)]
unsafe fn put(scales: &Scales, source: &Node, per: [f64; 2]) {
    let me = thread::thread_idx_x();
    // SAFETY: slots are the thread's own.
    unsafe {
        let across = Chebyshev::<AXIS>::basis(source[0] * per[0]);
        let mut k = 0;
        while k < SIDE {
            scales.across.store(k * COLUMN + me, across[k as usize]);
            k += 1;
        }
        let up = Chebyshev::<AXIS>::basis(source[1] * per[1]);
        k = 0;
        while k < SIDE {
            scales.up.store(k * COLUMN + me, up[k as usize]);
            k += 1;
        }
        scales.weights.store(me, source[2]);
        scales.values.store(me, source[3]);
    }
}
