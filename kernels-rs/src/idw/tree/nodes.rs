//! The nodes of the items: a thread a source, then a thread a node.

use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{Out, arguments, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::chebyshev::Chebyshev;
use super::{
    CHILDREN, Extents, LEAF, Middle, NODES, SIDE, Tree, extent, extent_of_all, set_extent,
};
use crate::idw::{BLOCK, SEVERAL};

const _: () = assert!(NODES <= BLOCK && NODES <= LEAF);

const ALL: usize = SEVERAL as usize;
const AXIS: usize = SIDE as usize;

/// The sources that a block takes at a time, in shared memory: Lagrange's polynomials along each axis, weights and
/// weighted values. A column has one element more than it needs, so that nodes of a warp read from different banks.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    across: SharedArray<f32>,
    up: SharedArray<f32>,
    weights: SharedArray<f32>,
}

/// The sums of a node.
#[derive(Clone, Copy)]
pub(super) struct OfNode<const V: usize> {
    pub weight: f64,
    pub values: [f64; V],
}

impl<const V: usize> OfNode<V> {
    pub const NONE: Self = Self { weight: 0.0, values: [0.0; V] };

    /// The values' sums as the nodes have them.
    #[inline(always)]
    pub fn packed(&self) -> Vector {
        let mut all = [0u32; 4];
        let mut v = 0;
        while v < V {
            all[v] = (self.values[v] as f32).to_bits();
            v += 1;
        }
        all
    }
}

const COLUMN: u32 = BLOCK + 1;

impl Scales {
    pub const fn new(carver: &mut Carver, values: u32) -> Self {
        Self {
            across: carver.array(SIDE * COLUMN),
            up: carver.array(SIDE * COLUMN),
            weights: carver.array((1 + values) * BLOCK),
        }
    }

    /// Stores the thread's source: its place in -1..1 along both axes, its weight and its weighted values.
    ///
    /// # Safety
    /// Nobody reads meanwhile.
    #[inline(always)]
    pub unsafe fn put<const V: usize>(&self, [x, y]: [f64; 2], weight: u32, values: &Vector) {
        let me = thread::thread_idx_x();
        let (across, up) = (Chebyshev::<AXIS>::basis(x), Chebyshev::<AXIS>::basis(y));
        // SAFETY: slots are the thread's own.
        unsafe {
            let mut k = 0;
            while k < SIDE {
                self.across.store(k * COLUMN + me, across[k as usize] as f32);
                self.up.store(k * COLUMN + me, up[k as usize] as f32);
                k += 1;
            }
            self.weights.store(me, f32::from_bits(weight));
            let mut v = 0;
            while v < V {
                self.weights.store((v as u32 + 1) * BLOCK + me, f32::from_bits(values[v]));
                v += 1;
            }
        }
    }

    /// Adds the first `count` sources to the sums of the thread's node.
    ///
    /// # Safety
    /// They are stored.
    #[inline(always)]
    pub unsafe fn add<const V: usize>(&self, count: u32, sums: &mut OfNode<V>) {
        let me = thread::thread_idx_x();
        let (row, column) = (me / SIDE % SIDE * COLUMN, me % SIDE * COLUMN);
        let mut i = 0;
        while i < vector::unknown(count) {
            // SAFETY: the sources are stored, as the caller says.
            unsafe {
                let (a, b) = (self.across.load(row + i), self.up.load(column + i));
                let share = a as f64 * b as f64;
                sums.weight += share * self.weights.load(i) as f64;
                let mut v = 0;
                while v < V {
                    let value = self.weights.load((v as u32 + 1) * BLOCK + i);
                    sums.values[v] += share * value as f64;
                    v += 1;
                }
            }
            i += 1;
        }
    }
}

/// The coordinates of the thread's node in -1..1.
#[inline(always)]
pub(super) fn place_of_node() -> [f64; 2] {
    let me = thread::thread_idx_x();
    [Chebyshev::<AXIS>::node(me / SIDE), Chebyshev::<AXIS>::node(me % SIDE)]
}

/// 1 / half of a side. A box without extent has all its nodes in one place, and any basis will do.
#[inline(always)]
pub(super) fn per_half(half: f64) -> f64 {
    if half > 0.0 { 1.0 / half } else { 0.0 }
}

/// Bytes of shared memory.
const fn shared_bytes(values: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Scales::new(&mut carver, values as u32);
    carver.bytes()
}

/// A level of items, and the level below.
#[arguments]
pub struct Level {
    /// The first item.
    pub start: u32,
    /// The first of the items below.
    pub below: u32,
    /// How many items are below; 0 for leaves.
    pub below_count: u32,
}

impl Level {
    #[inline(always)]
    pub(super) fn is_leaves(&self) -> bool {
        self.below_count == 0
    }

    /// The first source of an item of a tree over `points` points, and their number.
    #[inline(always)]
    pub(super) fn sources(&self, points: u32, item: u32) -> (u32, u32) {
        if self.is_leaves() {
            return (item * LEAF, u32::min(LEAF, points - item * LEAF));
        }
        let children = u32::min(CHILDREN, self.below_count - item * CHILDREN);
        (points + (self.below + item * CHILDREN) * NODES, children * NODES)
    }

    /// The origin of source `i` of an item: its index among the boxes of a tree of `items` items.
    #[inline(always)]
    pub(super) fn origin(&self, items: u32, item: u32, i: u32) -> u32 {
        if self.is_leaves() { items + item } else { self.below + item * CHILDREN + i / NODES }
    }
}

/// The box of the block's item, which follows from its children's boxes.
#[inline(always)]
fn extent_of(tree: &Tree<'_>, extents: Extents<'_>, level: Level) -> [f64; 4] {
    let item = thread::block_idx_x();
    if level.is_leaves() {
        return extent(extents, level.start + item);
    }
    let first = item * CHILDREN;
    let children = u32::min(CHILDREN, level.below_count - first);
    let extent = extent_of_all(extents, level.below + first, children);
    if thread::thread_idx_x() == 0 {
        set_extent(extents, level.start + item, extent);
        tree.set_middle(level.start + item, extent);
    }
    extent
}

/// Writes the nodes of a level's items. Grid: a block an item.
///
/// # Safety
/// The slices have what [`Tree`] says, and `extents` has 4 numbers for each item. The sources of the level below, or of
/// the leaves, are written.
#[kernel(block = BLOCK, shared = shared_bytes(V), instances(one: <1>; several: <ALL>))]
pub unsafe fn weigh_nodes<const V: usize>(level: Level, tree: Tree<'_>, extents: Out<'_, f64>) {
    let scales = Scales::new(&mut Carver::new(), V as u32);
    let (item, me) = (thread::block_idx_x(), thread::thread_idx_x());
    let middle = Middle::of(extent_of(&tree, extents, level));
    let (per_x, per_y) = (per_half(middle.half_x), per_half(middle.half_y));
    let (first, count) = level.sources(tree.points, item);
    let mut sums = OfNode::<V>::NONE;
    let mut start = 0;
    while start < count {
        // SAFETY: the whole block comes to both barriers; between them a thread stores its own slots.
        unsafe {
            thread::sync_threads();
            if start + me < count {
                let source = first + start + me;
                let [x, y, weight, value] = tree.sources.load(source);
                let all = if V > 1 { tree.values.load(source) } else { [value; 4] };
                let [from_x, from_y, _] = tree.middle(level.origin(tree.items, item, start + me));
                let x = f32::from_bits(x) as f64 + (from_x as f64 - middle.x as f64);
                let y = f32::from_bits(y) as f64 + (from_y as f64 - middle.y as f64);
                scales.put::<V>([x * per_x, y * per_y], weight, &all);
            }
            thread::sync_threads();
            scales.add(u32::min(BLOCK, count - start), &mut sums);
        }
        start += BLOCK;
    }
    if me < NODES {
        let [x, y] = place_of_node();
        let (x, y) = ((x * middle.half_x) as f32, (y * middle.half_y) as f32);
        let all = sums.packed();
        let node = tree.points + (level.start + item) * NODES + me;
        let weight = sums.weight as f32;
        tree.sources.store(node, [x.to_bits(), y.to_bits(), weight.to_bits(), all[0]]);
        if V > 1 {
            tree.values.store(node, all);
        }
    }
}
