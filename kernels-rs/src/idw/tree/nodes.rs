//! The nodes of the items: a thread a source, then a thread a node.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{CHILDREN, LEAF, Middle, NODES, SIDE, Tree};
use crate::idw::{BLOCK, SEVERAL};

const _: () = assert!(NODES <= BLOCK && NODES <= LEAF);

const ALL: usize = SEVERAL as usize;

/// The cosine, by its series.
const fn cosine(x: f64) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1);
    while k < 16 {
        term *= -x * x / ((2 * k - 1) * (2 * k)) as f64;
        sum += term;
        k += 1;
    }
    sum
}

/// The Chebyshev nodes of -1..1.
const CHEBYSHEV: [f64; SIDE as usize] = {
    let mut all = [0.0; SIDE as usize];
    let mut k = 0;
    while k < SIDE as usize {
        all[k] = cosine((2 * k + 1) as f64 * core::f64::consts::PI / (2 * SIDE) as f64);
        k += 1;
    }
    all
};

/// 1 / the product of each node's distances from the others.
const FACTORS: [f64; SIDE as usize] = {
    let mut all = [1.0; SIDE as usize];
    let mut k = 0;
    while k < SIDE as usize {
        let mut j = 0;
        while j < SIDE as usize {
            if j != k {
                all[k] /= CHEBYSHEV[k] - CHEBYSHEV[j];
            }
            j += 1;
        }
        k += 1;
    }
    all
};

/// The node with this number.
#[inline(always)]
fn chebyshev(number: u32) -> f64 {
    let mut node = 0.0;
    let mut k = 0;
    while k < SIDE {
        if k == number {
            node = CHEBYSHEV[k as usize];
        }
        k += 1;
    }
    node
}

/// Lagrange's polynomials of the nodes at a place of -1..1.
#[inline(always)]
fn basis(t: f64) -> [f64; SIDE as usize] {
    let mut all = FACTORS;
    let mut below = 1.0;
    let mut k = 0;
    while k < SIDE as usize {
        all[k] *= below;
        below *= t - CHEBYSHEV[k];
        k += 1;
    }
    let mut above = 1.0;
    while k > 0 {
        k -= 1;
        all[k] *= above;
        above *= t - CHEBYSHEV[k];
    }
    all
}

/// What a block that weighs nodes keeps of the sources that it takes at a time: Lagrange's polynomials along each
/// axis, weights and weighted values. A column has one element more than it needs, so that nodes of a
/// warp read from different banks.
struct Scales {
    across: SharedArray<f32>,
    up: SharedArray<f32>,
    weights: SharedArray<f32>,
}

const COLUMN: u32 = BLOCK + 1;

impl Scales {
    const fn new(carver: &mut Carver, values: u32) -> Self {
        Self {
            across: carver.array(SIDE * COLUMN),
            up: carver.array(SIDE * COLUMN),
            weights: carver.array((1 + values) * BLOCK),
        }
    }
}

/// Bytes of shared memory.
const fn shared_bytes(values: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Scales::new(&mut carver, values as u32);
    carver.bytes()
}

/// A level of items, and that below.
#[derive(Clone, Copy)]
struct Level {
    /// The first item, and the first and the number of those below; of leaves none.
    start: u32,
    below: u32,
    below_count: u32,
}

impl Level {
    #[inline(always)]
    fn is_leaves(&self) -> bool {
        self.below_count == 0
    }
}

/// The box of an item, which it gets from its children.
///
/// # Safety
/// The block's item is of the level; its children have boxes.
#[inline(always)]
unsafe fn extent_of(tree: &Tree, level: Level) -> [f64; 4] {
    let item = thread::block_idx_x();
    // SAFETY: passed on to the caller.
    unsafe {
        if level.is_leaves() {
            return tree.extent(level.start + item);
        }
        let first = item * CHILDREN;
        let mut extent = tree.extent(level.below + first);
        let mut child = first + 1;
        while child < u32::min(first + CHILDREN, level.below_count) {
            let other = tree.extent(level.below + child);
            extent = [
                f64::min(extent[0], other[0]),
                f64::min(extent[1], other[1]),
                f64::max(extent[2], other[2]),
                f64::max(extent[3], other[3]),
            ];
            child += 1;
        }
        if thread::thread_idx_x() == 0 {
            tree.set_box(level.start + item, extent);
        }
        extent
    }
}

/// The nodes of a level's items: `start` is the first of them, `below` the first of those below, of which
/// there are `below_count`; 0 for leaves. Grid: a block an item.
///
/// # Safety
/// `sources` has a vector for each point and each node, `all` (with several values) too, `extents` 4 numbers
/// and `boxes` a vector for each item, and `boxes` one more for each leaf; those of the level below, or of
/// the leaves, are written.
#[kernel(named, block = BLOCK, shared = shared_bytes(V), instances(one: <1>; several: <ALL>))]
pub unsafe fn weigh_nodes<const V: usize>(
    points: u32,
    items: u32,
    start: u32,
    below: u32,
    below_count: u32,
    sources: *mut Vector,
    all: *mut Vector,
    extents: *mut f64,
    boxes: *mut Vector,
) {
    let level = Level { start, below, below_count };
    let tree = Tree { sources, values: all, extents, boxes, points, items };
    let scales = Scales::new(&mut Carver::new(), V as u32);
    let (item, me) = (thread::block_idx_x(), thread::thread_idx_x());
    // SAFETY: the block stays together; the sources of the item are written; a thread writes its own
    // slots, and its own node.
    unsafe {
        let middle = Middle::of(extent_of(&tree, level));
        // A box without extent has all its nodes in one place, and any basis will do.
        let per_x = if middle.half_x > 0.0 { 1.0 / middle.half_x } else { 0.0 };
        let per_y = if middle.half_y > 0.0 { 1.0 / middle.half_y } else { 0.0 };
        let (first, count) = if level.is_leaves() {
            (item * LEAF, u32::min(LEAF, tree.points - item * LEAF))
        } else {
            let children = u32::min(CHILDREN, level.below_count - item * CHILDREN);
            (tree.points + (level.below + item * CHILDREN) * NODES, children * NODES)
        };
        let (row, column) = (me / SIDE % SIDE * COLUMN, me % SIDE * COLUMN);
        let mut sums = [0.0f64; V];
        let mut weight = 0.0f64;
        let mut start = 0;
        while start < count {
            thread::sync_threads();
            if start + me < count {
                let source = (first + start + me) as usize;
                let [x, y, w, value] = vector::load(tree.sources.add(source).cast());
                let all =
                    if V > 1 { vector::load(tree.values.add(source).cast()) } else { [value; 4] };
                let (mut x, mut y) = (f32::from_bits(x) as f64, f32::from_bits(y) as f64);
                let from = if level.is_leaves() {
                    tree.items + item
                } else {
                    level.below + item * CHILDREN + (start + me) / NODES
                };
                let [from_x, from_y, _] = tree.middle(from);
                x += from_x as f64 - middle.x as f64;
                y += from_y as f64 - middle.y as f64;
                let (across, up) = (basis(x * per_x), basis(y * per_y));
                let mut k = 0;
                while k < SIDE {
                    scales.across.store(k * COLUMN + me, across[k as usize] as f32);
                    scales.up.store(k * COLUMN + me, up[k as usize] as f32);
                    k += 1;
                }
                scales.weights.store(me, f32::from_bits(w));
                let mut v = 0;
                while v < V {
                    scales.weights.store((v as u32 + 1) * BLOCK + me, f32::from_bits(all[v]));
                    v += 1;
                }
            }
            thread::sync_threads();
            let mut i = 0;
            while i < vector::unknown(u32::min(BLOCK, count - start)) {
                let (a, b) = (scales.across.load(row + i), scales.up.load(column + i));
                let share = a as f64 * b as f64;
                weight += share * scales.weights.load(i) as f64;
                let mut v = 0;
                while v < V {
                    sums[v] += share * scales.weights.load((v as u32 + 1) * BLOCK + i) as f64;
                    v += 1;
                }
                i += 1;
            }
            start += BLOCK;
        }
        if me < NODES {
            let x = (chebyshev(me / SIDE) * middle.half_x) as f32;
            let y = (chebyshev(me % SIDE) * middle.half_y) as f32;
            let mut all = [0u32; 4];
            let mut v = 0;
            while v < V {
                all[v] = (sums[v] as f32).to_bits();
                v += 1;
            }
            let node = (tree.points + (level.start + item) * NODES + me) as usize;
            let source = [x.to_bits(), y.to_bits(), (weight as f32).to_bits(), all[0]];
            vector::store(tree.sources.add(node).cast(), source);
            if V > 1 {
                vector::store(tree.values.add(node).cast(), all);
            }
        }
    }
}
