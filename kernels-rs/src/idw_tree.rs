//! All pairs with far points expanded in nodes: crate `idw`.
//!
//! Plan, after Wang, Krasny and Tlupova (2020, doi:10.4208/cicp.OA-2019-0177):
//!
//! 1. Data points are sorted along a curve. A leaf is a run of [`LEAF`] of them; an item of the next
//!    level stands for [`CHILDREN`] of the one below, up to one root. [`stage_leaves_1`] finds the boxes
//!    of the leaves and puts the points relative to their middles.
//! 2. Over a box that is far from a query the weight of a data point is nearly a polynomial of its
//!    place: that with the same values at the [`NODES`] Chebyshev nodes of the box. So the sum over the
//!    points is one over the nodes, each with the weight `sum w L_k(x) L_l(y)` over the points and the
//!    like sums of weighted values, with Lagrange's polynomials L. [`weigh_1`] computes these, for leaves
//!    from their points, for items above from their children's nodes, as if they were points.
//! 3. A block takes queries near each other, and visits the items from the root, all threads the same.
//!    An item far from the box of its queries gives its nodes, a leaf that is near its points, and any
//!    other item is opened. Nodes and points go through the same loop: a point is a node of weight 1.
//! 4. A query near the points of a leaf may lose by places in f32: as in module `idw`, the sums tell, and
//!    the warp sums the leaf anew by distances in f64.
//! 5. Sums over an item are in f32, those over items in f64; `combine_f32_1` of module `idw` makes
//!    results of them, and lists what must be computed anew.
//!
//! Where there are few queries, blocks share the items: each takes every so-many-th that is visited.

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{kernel, thread, warp};

use crate::idw_pairs::{AnyPower, Frame, Law, MulAdd, Power, Setup, Targets, split};
use crate::idw_pairs::{BLOCK, Block, Group, GroupSums, setup};

/// Data points of a leaf.
pub const LEAF: u32 = 256;

/// Items of the next level below that an item stands for.
pub const CHILDREN: u32 = 4;

/// Nodes along each axis of a box.
pub const SIDE: u32 = 9;

/// Nodes of a box.
pub const NODES: u32 = SIDE * SIDE;

/// Queries of a thread with one value a point.
pub const QUERIES: u32 = 4;

/// Queries of a thread with several values a point.
pub const QUERIES_SEVERAL: u32 = 2;

/// Values a point in the kernels for several.
pub const SEVERAL: u32 = 4;

const _: () = assert!(NODES <= BLOCK && NODES <= LEAF);

/// The data points and the nodes, and the boxes of the items.
#[derive(Clone, Copy)]
struct Tree {
    /// Of each point, then of each node of each item: place relative to the middle of its item, weight,
    /// first weighted value.
    sources: *mut Vector,
    /// All weighted values of each, where there are several.
    values: *mut Vector,
    /// Of each item: least x and y, greatest x and y, in units.
    extents: *mut f64,
    /// Of each item: x and y of the middle, and half of the longer side; then of each leaf: x and y of
    /// the origin of its points.
    boxes: *mut Vector,
    points: u32,
    items: u32,
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

impl Tree {
    /// # Safety
    /// The item has a box.
    #[inline(always)]
    unsafe fn extent(&self, item: u32) -> [f64; 4] {
        // SAFETY: passed on to the caller.
        unsafe {
            let e = self.extents.add(4 * item as usize);
            [*e, *e.add(1), *e.add(2), *e.add(3)]
        }
    }

    /// # Safety
    /// The item exists, and one thread alone writes its box.
    #[inline(always)]
    unsafe fn set_box(&self, item: u32, [a, b, c, d]: [f64; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let e = self.extents.add(4 * item as usize);
            (*e, *e.add(1), *e.add(2), *e.add(3)) = (a, b, c, d);
            vector::store(self.boxes.add(item as usize).cast(), Middle::of([a, b, c, d]).packed());
        }
    }

    /// x and y of the middle, and half of the longer side; behind the items the origins of the leaves.
    ///
    /// # Safety
    /// The item has a box.
    #[inline(always)]
    unsafe fn middle(&self, item: u32) -> [f32; 3] {
        // SAFETY: passed on to the caller.
        let [x, y, half, _] = unsafe { vector::load(self.boxes.add(item as usize).cast()) };
        [f32::from_bits(x), f32::from_bits(y), f32::from_bits(half)]
    }
}

/// The least of the block's numbers, in every thread.
///
/// # Safety
/// The whole block of `warps` warps comes to the same call; the array has as many elements.
#[inline(always)]
unsafe fn least(shared: SharedArray<f64>, warps: u32, value: f64) -> f64 {
    // SAFETY: passed on to the caller; barriers stand between writes and reads.
    unsafe {
        let of_warp = warp::reduce(value, f64::min);
        thread::sync_threads();
        if warp::lane_id() == 0 {
            shared.store(warp::warp_id(), of_warp);
        }
        thread::sync_threads();
        let mut all = shared.load(0);
        let mut i = 1;
        while i < warps {
            all = f64::min(all, shared.load(i));
            i += 1;
        }
        all
    }
}

/// Shared memory of [`stage_leaves_1`] and [`stage_leaves_4`].
pub const STAGE_SHARED: u32 = LEAF / warp::SIZE * 8;

/// The body of the kernels `stage_leaves`.
#[inline(always)]
unsafe fn stage_leaves<const V: usize>(
    places: *const f64,
    values: *const f64,
    setup: Setup,
    tree: Tree,
) {
    let shared = Carver::new().array(LEAF / warp::SIZE);
    let leaf = thread::block_idx_x();
    let point = leaf * LEAF + thread::thread_idx_x();
    // SAFETY: the block stays together; beyond the points its threads take the last one.
    unsafe {
        let n = tree.points as usize;
        let i = u32::min(point, tree.points - 1) as usize;
        let frame = Frame::new(setup);
        let (x, y) = (frame.x(*places.add(i)), frame.y(*places.add(i + n)));
        let warps = LEAF / warp::SIZE;
        let low = [least(shared, warps, x), least(shared, warps, y)];
        let high = [-least(shared, warps, -x), -least(shared, warps, -y)];
        let extent = [low[0], low[1], high[0], high[1]];
        // The point in the middle of the order: where points crowd, there f32 should keep most.
        let half = u32::min(LEAF, tree.points - leaf * LEAF) / 2;
        let origin = (leaf * LEAF + half) as usize;
        let origin_x = frame.x(*places.add(origin)) as f32;
        let origin_y = frame.y(*places.add(origin + n)) as f32;
        if thread::thread_idx_x() == 0 {
            tree.set_box(leaf, extent);
            let packed = [origin_x.to_bits(), origin_y.to_bits(), 0, 0];
            vector::store(tree.boxes.add((tree.items + leaf) as usize).cast(), packed);
        }
        if point < tree.points {
            // The same operations as for queries, so that one on a point is at distance 0.
            let ([x, x_rest], [y, y_rest]) = (split(x), split(y));
            let (x, y) = ((x - origin_x) + x_rest, (y - origin_y) + y_rest);
            let mut all = [0u32; 4];
            let mut v = 0;
            while v < V {
                let offset = *setup.add(setup::VALUES + 3 * v);
                all[v] = ((*values.add(i + v * n) - offset) as f32).to_bits();
                v += 1;
            }
            let source = [x.to_bits(), y.to_bits(), 1f32.to_bits(), all[0]];
            vector::store(tree.sources.add(i).cast(), source);
            if V > 1 {
                vector::store(tree.values.add(i).cast(), all);
            }
        }
    }
}

macro_rules! stage_kernels {
    ($($name:ident: $values:literal;)+) => {$(
        /// The boxes of the leaves, and their points as sources. Grid: a block a leaf.
        ///
        /// # Safety
        /// `places` has `2 * points` elements, `values` that of each value; `points` is not 0; `setup`
        /// is as [`setup`] says; `sources` has a vector for each point, `all` (with several values)
        /// too, `extents` 4 numbers and `boxes` a vector
        /// for each of `items` items, and `boxes` one more for each leaf.
        #[kernel(block = 256)]
        pub unsafe fn $name(
            places: *const f64,
            values: *const f64,
            points: u32,
            items: u32,
            setup: *const f64,
            sources: *mut u32,
            all: *mut u32,
            extents: *mut f64,
            boxes: *mut u32,
        ) {
            let (sources, boxes) = (sources.cast(), boxes.cast());
            let tree = Tree { sources, values: all.cast(), extents, boxes, points, items };
            // SAFETY: passed on to the caller.
            unsafe { stage_leaves::<$values>(places, values, setup, tree) };
        }
    )+};
}

stage_kernels! {
    stage_leaves_1: 1;
    stage_leaves_4: 4;
}

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

/// What a block that weighs nodes keeps of so many sources at a time: Lagrange's polynomials along each
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

/// Bytes of shared memory of [`weigh_1`] and [`weigh_4`].
pub const WEIGH_SHARED: [u32; 2] = [weigh_bytes(1), weigh_bytes(SEVERAL)];

const fn weigh_bytes(values: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Scales::new(&mut carver, values);
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

/// The body of the kernels `weigh`: a thread a source, then a thread a node.
#[inline(always)]
unsafe fn weigh<const V: usize>(tree: Tree, level: Level) {
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

macro_rules! weigh_kernels {
    ($($name:ident: $values:literal;)+) => {$(
        /// The nodes of a level's items: `start` is the first of them, `below` the first of those below,
        /// of which there are `below_count`; 0 for leaves. Grid: a block an item.
        ///
        /// # Safety
        /// `sources` has a vector for each point and each node, `all` (with several values) too,
        /// `extents` 4 numbers and `boxes` a vector for each item, and `boxes` one more for each leaf; those
        /// of the level below, or of the leaves, are written.
        #[kernel(block = 128)]
        pub unsafe fn $name(
            points: u32,
            items: u32,
            start: u32,
            below: u32,
            below_count: u32,
            sources: *mut u32,
            all: *mut u32,
            extents: *mut f64,
            boxes: *mut u32,
        ) {
            let (sources, boxes) = (sources.cast(), boxes.cast());
            let tree = Tree { sources, values: all.cast(), extents, boxes, points, items };
            // SAFETY: passed on to the caller.
            unsafe { weigh::<$values>(tree, Level { start, below, below_count }) };
        }
    )+};
}

weigh_kernels! {
    weigh_1: 1;
    weigh_4: 4;
}

/// The shared memory of a block that sums.
struct Room {
    /// Places of the queries, relative to the middle of the data, in units: x and the rest that f32
    /// leaves of it, y and the rest.
    queries: SharedArray<Vector>,
    /// Sums: weights, then weighted values, of each query of each thread.
    sums: SharedArray<f64>,
    /// The sources of an item.
    sources: SharedArray<Vector>,
    /// Their values, where there are several.
    values: SharedArray<Vector>,
    /// One number of each warp.
    warps: SharedArray<f64>,
}

impl Room {
    #[inline(always)]
    const fn new(carver: &mut Carver, queries: u32, values: u32) -> Self {
        let of_block = BLOCK * queries;
        Self {
            queries: carver.array(of_block),
            sums: carver.array(of_block * (1 + values)),
            sources: carver.array(LEAF),
            values: carver.array(if values > 1 { LEAF } else { 0 }),
            warps: carver.array(BLOCK / warp::SIZE),
        }
    }
}

/// Bytes of shared memory of the kernels for one value, and for several.
pub const SHARED: [u32; 2] = [sum_bytes(QUERIES, 1), sum_bytes(QUERIES_SEVERAL, SEVERAL)];

const fn sum_bytes(queries: u32, values: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Room::new(&mut carver, queries, values);
    // The vectors begin at multiples of 16, since whatever lies before has whole ones.
    carver.bytes()
}

/// A staged source.
#[derive(Clone, Copy)]
struct Source<const V: usize> {
    x: f32,
    y: f32,
    weight: f32,
    values: [f32; V],
}

impl<const V: usize> Source<V> {
    /// # Safety
    /// `slot` holds a source.
    #[inline(always)]
    unsafe fn load(room: &Room, slot: u32) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let [x, y, weight, value] = room.sources.load(slot);
            let all = if V > 1 { room.values.load(slot) } else { [value, 0, 0, 0] };
            let mut values = [0.0; V];
            let mut v = 0;
            while v < V {
                values[v] = f32::from_bits(all[v]);
                v += 1;
            }
            let [x, y, weight] = [f32::from_bits(x), f32::from_bits(y), f32::from_bits(weight)];
            Self { x, y, weight, values }
        }
    }
}

/// The queries of a thread, relative to the middle of an item, and what a weight needs.
struct Near<const Q: usize> {
    x: [f32; Q],
    y: [f32; Q],
    smoothing: f32,
    exponent: f32,
}

impl<const Q: usize> Near<Q> {
    /// The squared distance of query `j` to a source, `row` being the share of the queries' row.
    #[inline(always)]
    fn squared<const ROW: bool, const V: usize>(&self, j: usize, p: &Source<V>, row: f32) -> f32 {
        let dx = p.x - self.x[j];
        dx.mul_add_(dx, if ROW { row } else { self.of_y(j, p) })
    }

    /// What y and the smoothing give to the squared distance.
    #[inline(always)]
    fn of_y<const V: usize>(&self, j: usize, p: &Source<V>) -> f32 {
        let dy = p.y - self.y[j];
        dy.mul_add_(dy, self.smoothing)
    }

    /// Adds one source.
    #[inline(always)]
    fn add<L: Law, const ROW: bool, const V: usize>(
        &self,
        p: Source<V>,
        sums: &mut GroupSums<Q, V>,
    ) {
        let row = self.of_y(0, &p);
        let mut j = 0;
        while j < Q {
            let kernel = L::weight(self.squared::<ROW, V>(j, &p, row), self.exponent);
            sums.weights[j] = kernel.mul_add_(p.weight, sums.weights[j]);
            let mut v = 0;
            while v < V {
                sums.values[v][j] = kernel.mul_add_(p.values[v], sums.values[v][j]);
                v += 1;
            }
            j += 1;
        }
    }

    /// Adds two sources that share a reciprocal: v / a + w / b = (v b + w a) / (a b).
    #[inline(always)]
    fn add_two<const ROW: bool, const V: usize>(
        &self,
        p: Source<V>,
        q: Source<V>,
        sums: &mut GroupSums<Q, V>,
    ) {
        let (row_p, row_q) = (self.of_y(0, &p), self.of_y(0, &q));
        let mut j = 0;
        while j < Q {
            let a = self.squared::<ROW, V>(j, &p, row_p);
            let b = self.squared::<ROW, V>(j, &q, row_q);
            let reciprocal = (a * b).reciprocal();
            let crossed = p.weight.mul_add_(b, q.weight * a);
            sums.weights[j] = crossed.mul_add_(reciprocal, sums.weights[j]);
            let mut v = 0;
            while v < V {
                let crossed = p.values[v].mul_add_(b, q.values[v] * a);
                sums.values[v][j] = crossed.mul_add_(reciprocal, sums.values[v][j]);
                v += 1;
            }
            j += 1;
        }
    }
}

/// Where the visit of the items is.
#[derive(Clone, Copy)]
struct Visit {
    level: u32,
    /// The place of the item among those of its level.
    at: u32,
}

/// What to add.
#[derive(Clone, Copy)]
struct Found {
    /// What its sources are relative to: its place among the boxes.
    origin: u32,
    /// The first source and their number.
    first: u32,
    count: u32,
}

/// How items are visited.
#[derive(Clone, Copy)]
struct Way {
    /// The first item of each level, and behind the last the number of all.
    levels: *const u32,
    /// The level of the root.
    top: u32,
    /// The square of how far, in multiples of half the longer side, is far enough.
    separation: f32,
    /// The box of the queries.
    low: [f32; 2],
    high: [f32; 2],
}

impl Way {
    /// Whether an item is far from the queries.
    #[inline(always)]
    fn is_far(&self, [x, y, half]: [f32; 3]) -> bool {
        let gap_x = f32::max(f32::max(self.low[0] - x, x - self.high[0]), 0.0);
        let gap_y = f32::max(f32::max(self.low[1] - y, y - self.high[1]), 0.0);
        let squared = gap_x * gap_x + gap_y * gap_y;
        // An item without extent that a query lies on is not far.
        squared >= self.separation * half * half && squared > 0.0
    }

    /// The next item to add; moves the visit behind it. The visit is not at its end.
    ///
    /// # Safety
    /// The items have boxes.
    #[inline(always)]
    unsafe fn next(&self, tree: &Tree, visit: &mut Visit) -> Found {
        // SAFETY: the visit stays within the items, as `levels` has them.
        unsafe {
            loop {
                let item = *self.levels.add(visit.level as usize) + visit.at;
                let far = self.is_far(tree.middle(item));
                if far || visit.level == 0 {
                    let first = visit.at * LEAF;
                    let found = if far {
                        Found { origin: item, first: tree.points + item * NODES, count: NODES }
                    } else {
                        let count = u32::min(LEAF, tree.points - first);
                        Found { origin: tree.items + visit.at, first, count }
                    };
                    self.advance(visit);
                    return found;
                }
                *visit = Visit { level: visit.level - 1, at: visit.at * CHILDREN };
            }
        }
    }

    /// On to the next item that is neither done nor within one that is; beyond the root at the end.
    #[inline(always)]
    unsafe fn advance(&self, visit: &mut Visit) {
        visit.at += 1;
        // SAFETY: `levels` has an element more than there are levels.
        unsafe {
            loop {
                let level = self.levels.add(visit.level as usize);
                let whole = visit.at.is_multiple_of(CHILDREN) || *level + visit.at == *level.add(1);
                if !whole {
                    return;
                }
                *visit = Visit { level: visit.level + 1, at: (visit.at - 1) / CHILDREN + 1 };
                if visit.level > self.top {
                    return;
                }
            }
        }
    }
}

/// Puts the block's queries into shared memory; returns the box of their places, not too small.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn place_queries<const ROW: bool, const Q: usize>(
    room: &Room,
    targets: &Targets,
    setup: Setup,
) -> ([f32; 2], [f32; 2]) {
    // SAFETY: passed on to the caller; slots are the thread's own.
    unsafe {
        let frame = Frame::new(setup);
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut j = 0;
        while j < Q {
            let mut place = targets.place::<ROW, Q>(setup, j);
            if ROW && targets.query::<ROW, Q>(j) >= targets.count {
                // Beyond the grid: any cell of the block's will do.
                place = first_cell::<Q>(targets, setup);
            }
            let (x, y) = (frame.x(place[0]), frame.y(place[1]));
            low = [f64::min(low[0], x), f64::min(low[1], y)];
            high = [f64::max(high[0], x), f64::max(high[1], y)];
            let ([x, x_rest], [y, y_rest]) = (split(x), split(y));
            let packed = [x.to_bits(), x_rest.to_bits(), y.to_bits(), y_rest.to_bits()];
            room.queries.store(j as u32 * BLOCK + thread::thread_idx_x(), packed);
            j += 1;
        }
        let warps = BLOCK / warp::SIZE;
        let down = |x: f64| x as f32 - f32::abs(x as f32) * 2.4e-7;
        let low = [least(room.warps, warps, low[0]), least(room.warps, warps, low[1])];
        let high = [least(room.warps, warps, -high[0]), least(room.warps, warps, -high[1])];
        ([down(low[0]), down(low[1])], [-down(high[0]), -down(high[1])])
    }
}

/// The place of the first cell of the block's patch.
///
/// # Safety
/// The setup is whole.
#[inline(always)]
unsafe fn first_cell<const Q: usize>(targets: &Targets, setup: Setup) -> [f64; 2] {
    let (column, row) = targets.cell::<Q>(thread::block_idx_x(), 0, 0);
    // SAFETY: passed on to the caller.
    unsafe { Targets::cell_place(setup, column, row) }
}

/// The body of every kernel that sums: leaves the sums of weights and weighted values in `partial`.
///
/// # Safety
/// As the kernels say.
#[inline(always)]
unsafe fn sum<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    tree: Tree,
    (places, reaches): (*const f64, *const f32),
    (levels, top, separation): (*const u32, u32, f64),
    targets: Targets,
    setup: Setup,
    partial: *mut f64,
) {
    let room = Room::new(&mut Carver::new(), Q as u32, V as u32);
    // SAFETY: the block stays together: its threads visit the same items. Slots are the thread's own;
    // the arrays are as long as the kernels ask.
    unsafe {
        let (low, high) = place_queries::<ROW, Q>(&room, &targets, setup);
        let separation = (separation * separation) as f32;
        let way = Way { levels, top, separation, low, high };
        let mut c = 0;
        while c < (1 + V) as u32 * Q as u32 {
            room.sums.store(c * BLOCK + thread::thread_idx_x(), 0.0);
            c += 1;
        }
        let Room { queries, sums, .. } = room;
        let exponents = core::ptr::null();
        let block = Block { queries, sums, targets: &targets, setup, exponents };
        let (rows, mine) = (thread::grid_dim_y(), thread::block_idx_y());
        let mut visit = Visit { level: top, at: 0 };
        let mut turn = 0;
        while visit.level <= top {
            let found = way.next(&tree, &mut visit);
            if turn == mine {
                add_item::<L, ROW, Q, V>(&room, &tree, &block, (places, reaches), found);
            }
            turn = if turn + 1 == rows { 0 } else { turn + 1 };
        }
        let row = mine as u64 * (1 + V as u64);
        let mut j = 0;
        while j < Q {
            let query = targets.query::<ROW, Q>(j);
            let mut c = 0;
            while c < 1 + V && query < targets.count {
                let sum = room.sums.load(sum_slot::<Q>(c, j));
                *partial.add(((row + c as u64) * targets.count + query) as usize) = sum;
                c += 1;
            }
            j += 1;
        }
    }
}

/// Where a thread keeps sum `c` of its query `j`.
#[inline(always)]
fn sum_slot<const Q: usize>(c: usize, j: usize) -> u32 {
    (c as u32 * Q as u32 + j as u32) * BLOCK + thread::thread_idx_x()
}

/// Adds an item's sources to the sums of the block's queries.
///
/// # Safety
/// The whole block comes to the same call, for an item with sources.
#[inline(always)]
unsafe fn add_item<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    room: &Room,
    tree: &Tree,
    block: &Block,
    (places, reaches): (*const f64, *const f32),
    found: Found,
) {
    let me = thread::thread_idx_x();
    // SAFETY: passed on to the caller; slots are the thread's own.
    unsafe {
        thread::sync_threads();
        let mut slot = me;
        while slot < found.count {
            let source = (found.first + slot) as usize;
            room.sources.store(slot, vector::load(tree.sources.add(source).cast()));
            if V > 1 {
                room.values.store(slot, vector::load(tree.values.add(source).cast()));
            }
            slot += BLOCK;
        }
        thread::sync_threads();
        let [origin_x, origin_y, _] = tree.middle(found.origin);
        let mut near = Near {
            x: [0.0; Q],
            y: [0.0; Q],
            smoothing: *block.setup.add(setup::SMOOTHING) as f32,
            exponent: *block.setup.add(setup::EXPONENT) as f32,
        };
        let mut j = 0;
        while j < Q {
            let [x, x_rest, y, y_rest] = room.queries.load(j as u32 * BLOCK + me);
            near.x[j] = (f32::from_bits(x) - origin_x) + f32::from_bits(x_rest);
            near.y[j] = (f32::from_bits(y) - origin_y) + f32::from_bits(y_rest);
            j += 1;
        }
        let sums = sum_sources::<L, ROW, Q, V>(room, &near, found.count);
        let Found { origin, first, count } = found;
        // The nodes of an item are for queries far from it.
        let is_leaf = first < tree.points;
        let leaf = (first / LEAF) as usize;
        let reach = if is_leaf { *reaches.add(leaf) } else { -1.0 };
        let [x, y, _] = tree.middle(origin);
        let (points, origin) = (tree.points, [x, y]);
        let group = Group { places, points, first, count, origin, reach };
        let values = |slot: u32| Source::<V>::load(room, slot).values;
        let places = (&near.x, &near.y);
        block.add::<L, ROW, Q, V>(group, places, &sums, false, room.sources, values);
    }
}

/// The sums over staged sources, in f32.
///
/// # Safety
/// `count` sources are staged.
#[inline(always)]
unsafe fn sum_sources<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    room: &Room,
    near: &Near<Q>,
    count: u32,
) -> GroupSums<Q, V> {
    let mut sums = GroupSums::NONE;
    let mut slot = 0;
    // SAFETY: slots below the count are staged.
    unsafe {
        while slot + 4 <= vector::unknown(count) {
            let a = Source::load(room, slot);
            let b = Source::load(room, slot + 1);
            let c = Source::load(room, slot + 2);
            let d = Source::load(room, slot + 3);
            if L::SHARED {
                near.add_two::<ROW, V>(a, b, &mut sums);
                near.add_two::<ROW, V>(c, d, &mut sums);
            } else {
                near.add::<L, ROW, V>(a, &mut sums);
                near.add::<L, ROW, V>(b, &mut sums);
                near.add::<L, ROW, V>(c, &mut sums);
                near.add::<L, ROW, V>(d, &mut sums);
            }
            slot += 4;
        }
        while slot < vector::unknown(count) {
            near.add::<L, ROW, V>(Source::load(room, slot), &mut sums);
            slot += 1;
        }
    }
    sums
}

macro_rules! sum_kernels {
    ($($name:ident: $law:ty, $row:literal, $queries:ident, $values:literal, $resident:literal;)+) => {$(
        /// Sums in f32 and f64, to be completed by `combine_f32_1` or `combine_f32_4`; the name says at
        /// which targets, by which power, and whether one or [`SEVERAL`] values of each point.
        ///
        /// Grid in x: a block for each `BLOCK * Q` queries, which should lie near each other, or for
        /// each patch of a grid, as for the kernels of module `idw`; in y: blocks that share the items.
        ///
        /// # Safety
        /// `sources`, `all` and `boxes` are as `weigh_1` or `weigh_4` leaves them, `places` has the
        /// points' x and then their y, `reaches` what `measure_tiles` of module `idw` writes, `levels` the
        /// first item of each level up to that of the root, `top`, and behind it the number of items;
        /// `targets` has `2 * count` elements or is null for a grid, then `count` is `width * height`;
        /// it is not 0; `partial` has `count` for each sum and each row of blocks.
        #[kernel(block = 128, resident = $resident)]
        pub unsafe fn $name(
            sources: *const u32,
            all: *const u32,
            boxes: *const u32,
            points: u32,
            places: *const f64,
            reaches: *const f32,
            levels: *const u32,
            top: u32,
            separation: f64,
            targets: *const f64,
            count: u64,
            width: u32,
            height: u32,
            setup: *const f64,
            partial: *mut f64,
        ) {
            let (sources, boxes) = (sources.cast_mut().cast(), boxes.cast_mut().cast());
            let (values, extents) = (all.cast_mut().cast(), core::ptr::null_mut());
            // SAFETY: `levels` has as many elements.
            let items = unsafe { *levels.add(top as usize + 1) };
            let tree = Tree { sources, values, extents, boxes, points, items };
            let targets = Targets { places: targets, count, width, height };
            let way = (levels, top, separation);
            // SAFETY: passed on to the caller.
            unsafe {
                sum::<$law, $row, { $queries as usize }, $values>(
                    tree, (places, reaches), way, targets, setup, partial,
                )
            };
        }
    )+};
}

sum_kernels! {
    expand_scattered_1: Power<1>, false, QUERIES, 1, 7;
    expand_scattered_2: Power<2>, false, QUERIES, 1, 7;
    expand_scattered_3: Power<3>, false, QUERIES, 1, 7;
    expand_scattered_4: Power<4>, false, QUERIES, 1, 7;
    expand_scattered_any: AnyPower, false, QUERIES, 1, 7;
    expand_grid_1: Power<1>, true, QUERIES, 1, 8;
    expand_grid_2: Power<2>, true, QUERIES, 1, 8;
    expand_grid_3: Power<3>, true, QUERIES, 1, 8;
    expand_grid_4: Power<4>, true, QUERIES, 1, 8;
    expand_grid_any: AnyPower, true, QUERIES, 1, 8;
    expand_scattered_2_several: Power<2>, false, QUERIES_SEVERAL, 4, 4;
    expand_scattered_any_several: AnyPower, false, QUERIES_SEVERAL, 4, 4;
    expand_grid_2_several: Power<2>, true, QUERIES_SEVERAL, 4, 4;
    expand_grid_any_several: AnyPower, true, QUERIES_SEVERAL, 4, 4;
}

device_std::ptx_module! {
    "idw_tree": stage_leaves_1, stage_leaves_4, weigh_1, weigh_4,
    expand_scattered_1, expand_scattered_2, expand_scattered_3, expand_scattered_4,
    expand_scattered_any,
    expand_grid_1, expand_grid_2, expand_grid_3, expand_grid_4, expand_grid_any,
    expand_scattered_2_several, expand_scattered_any_several,
    expand_grid_2_several, expand_grid_any_several
}
