//! The boxes of the leaves, and boxes and nodes of the items above, in f64.

use device_std::block::BlockReduce;
use device_std::math::mul_add;
use device_std::shared::{Carver, SharedArray};
use device_std::vector;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::super::chebyshev::Chebyshev;
use super::super::nodes::{Level, per_half};
use super::super::{CHILDREN, LEAF, box_of, extent, extent_of_all, set_extent};
use super::{NODES, Node, SIDE, Tree, middle, node};

const AXIS: usize = SIDE as usize;

/// Sources that a block takes at a time.
const BATCH: u32 = 64;

/// A column of sources. One element more than [`BATCH`], so that nodes of a warp read from different banks.
const COLUMN: u32 = BATCH + 1;

/// The boxes of the leaves. Grid: a block a leaf.
///
/// # Safety
/// `places` has `2 * points` elements, which is not 0, `extents` 4 for each leaf.
#[kernel(block = LEAF, carve = |carver| BlockReduce::<f64>::new(carver, LEAF as usize))]
pub unsafe fn bound_leaves(places: In<'_, f64>, points: u32, scale: f64, extents: Out<'_, f64>) {
    let block = BlockReduce::<f64>::new(&mut Carver::new(), LEAF as usize);
    let leaf = thread::block_idx_x();
    // Threads beyond the points take the last point.
    let i = u32::min(leaf * LEAF + thread::thread_idx_x(), points - 1) as usize;
    let place = [places.get(i) * scale, places.get(i + points as usize) * scale];
    // SAFETY: the whole block is here.
    let extent = unsafe { box_of(block, place, place) };
    if thread::thread_idx_x() == 0 {
        set_extent(extents, leaf, extent);
    }
}

/// The sources in a block's shared memory: Lagrange's polynomials along each axis, weights and weighted values.
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

/// Writes boxes and nodes of the items of a level above the leaves. Grid: a block an item.
///
/// # Safety
/// The slices have what [`Tree`] says, and `leaves` items are leaves; boxes and nodes of the level below are written.
#[kernel(block = NODES, carve = |carver| Scales::new(carver))]
pub unsafe fn weigh_in_f64(tree: Tree<'_>, leaves: u32, level: Level) {
    let Level { start, below, below_count } = level;
    let scales = Scales::new(&mut Carver::new());
    let (item, me) = (thread::block_idx_x(), thread::thread_idx_x());
    let first_child = item * CHILDREN;
    let children = u32::min(CHILDREN, below_count - first_child);
    let extent_of_item = extent_of_all(tree.extents, below + first_child, children);
    if me == 0 {
        set_extent(tree.extents, start + item, extent_of_item);
    }
    let ([x, y], half) = middle(extent_of_item);
    let per = [per_half(half[0]), per_half(half[1])];
    let of_points = below_count == leaves;
    let first = first_child * LEAF;
    let count = match of_points {
        true => u32::min(children * LEAF, tree.points.count - first),
        false => children * NODES,
    };
    let (row, column) = (me / SIDE * COLUMN, me % SIDE * COLUMN);
    let (mut weight, mut value) = (0.0, 0.0);
    let mut done = 0;
    while done < count {
        // SAFETY: the whole block comes to both barriers; between them a thread stores its own slots.
        unsafe {
            thread::sync_threads();
            if me < BATCH && done + me < count {
                let (mut source, mut from);
                if of_points {
                    source = tree.point(first + done + me);
                    from = [0.0; 2];
                } else {
                    let child = below + first_child + (done + me) / NODES;
                    source = tree.nodes.get(node(leaves, child, (done + me) % NODES));
                    (from, _) = middle(extent(tree.extents, child));
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
        }
        done += BATCH;
    }
    let x = Chebyshev::<AXIS>::node(me / SIDE) * half[0];
    let y = Chebyshev::<AXIS>::node(me % SIDE) * half[1];
    tree.nodes.set(node(leaves, start + item, me), [x, y, weight, value]);
}

/// Stores the thread's source. Its place is relative to the middle of a box; `per` is 1 / half of each side.
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
