//! The sums over points and nodes in f64.

use device_std::block::BlockReduce;
use device_std::math::{mul_add, reciprocal, reciprocal_sqrt};
use device_std::power::negative_powers;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::super::visit::{Found, Way};
use super::super::{LEAF, box_of};
use super::{NODES, Node, Tree, middle};
use crate::idw::BLOCK;
use crate::idw::targets::Targets;

/// Queries of a thread.
pub const QUERIES: u32 = 4;

const Q: usize = QUERIES as usize;

const _: () = assert!(NODES <= LEAF);

/// The staged sources, two vectors each.
#[derive(Clone, Copy)]
struct Staged(SharedArray<Vector>);

#[inline(always)]
const fn shared(carver: &mut Carver) -> (Staged, BlockReduce<f64>) {
    (Staged(carver.array(2 * LEAF)), BlockReduce::new(carver, BLOCK as usize))
}

/// Two numbers as a vector, and back.
#[inline(always)]
fn packed(a: f64, b: f64) -> Vector {
    let (a, b) = (a.to_bits(), b.to_bits());
    [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
}

#[inline(always)]
fn unpacked([a, b, c, d]: Vector) -> [f64; 2] {
    let whole = |low: u32, high: u32| f64::from_bits(low as u64 | (high as u64) << 32);
    [whole(a, b), whole(c, d)]
}

impl Staged {
    /// # Safety
    /// The slot is staged.
    #[inline(always)]
    unsafe fn load(&self, slot: u32) -> Node {
        // SAFETY: passed on to the caller.
        let (place, sums) = unsafe { (self.0.load(2 * slot), self.0.load(2 * slot + 1)) };
        let ([x, y], [weight, value]) = (unpacked(place), unpacked(sums));
        [x, y, weight, value]
    }

    /// # Safety
    /// There is such a slot, and nobody else touches it meanwhile.
    #[inline(always)]
    unsafe fn store(&self, slot: u32, [x, y, weight, value]: Node) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.0.store(2 * slot, packed(x, y));
            self.0.store(2 * slot + 1, packed(weight, value));
        }
    }
}

/// How weights follow from squared distances, beside the law that an instance has.
#[derive(Clone, Copy)]
struct Weighting {
    law: u32,
    smoothing: f64,
    exponent: f64,
    /// Minus half the power of each query, or null.
    exponents: *const f64,
}

/// The queries of a thread, in units, and their sums.
#[derive(Clone, Copy)]
struct Queries {
    x: [f64; Q],
    y: [f64; Q],
    weights: [f64; Q],
    values: [f64; Q],
}

/// Sums in f64, to be completed by `combine` of module `pairs`; an instance's name says at which targets, and whether
/// the power is 2 or one that `law` and `exponent` tell.
///
/// Grid: as for `sum_items` of the tree in f32.
///
/// # Safety
/// `places`, `values`, `range`, `nodes` and `extents` are as
/// [`weigh_in_f64`](mod@super::nodes::weigh_in_f64) leaves them for `points` points and `items` items, up to the root of
/// level `top`; the rest as for `sum_items`.
#[kernel(block = BLOCK, carve = |carver| shared(carver), instances(
    scattered_2: <2, false>, resident = 4;
    scattered_any: <0, false>, resident = 4;
    on_grid_2: <2, true>, resident = 4;
    on_grid_any: <0, true>, resident = 4;
))]
pub unsafe fn sum_in_double<const LAW: u32, const ROW: bool>(
    places: *const f64,
    values: *const f64,
    range: *const f64,
    nodes: *const Node,
    extents: *const f64,
    points: u32,
    items: u32,
    top: u32,
    separation: f64,
    x: *const f64,
    y: *const f64,
    count: u64,
    width: u32,
    height: u32,
    grid: [f64; 3],
    scale: f64,
    law: u32,
    smoothing: f64,
    exponent: f64,
    exponents: *const f64,
    partial: *mut f64,
) {
    let (nodes, extents) = (nodes.cast_mut(), extents.cast_mut());
    let leaves = points.div_ceil(LEAF);
    let tree = Tree { places, values, range, nodes, extents, points, leaves, scale };
    let targets = Targets { x, y, count, width, height, grid };
    let weighting = Weighting { law, smoothing, exponent, exponents };
    let (staged, reduce) = shared(&mut Carver::new());
    // SAFETY: passed on to the caller; all threads of the block come here, and visit the same items.
    unsafe {
        let mut queries = Queries::place::<ROW>(&targets, scale);
        let around = queries.bounds(reduce);
        let is_far = |item: u32| item >= leaves && is_far(around, tree.extent(item), separation);
        let way = Way::new(points, items, top);
        let (rows, mine) = (thread::grid_dim_y(), thread::block_idx_y());
        let mut visit = way.start();
        let mut turn = 0;
        while visit.level <= way.top {
            let found = way.next(&mut visit, is_far);
            if turn == mine {
                let (origin, count) = stage(&tree, &staged, found);
                queries.add::<LAW, ROW>(&targets, &weighting, &staged, origin, count);
            }
            turn = if turn + 1 == rows { 0 } else { turn + 1 };
        }
        queries.write::<ROW>(&targets, partial);
    }
}

/// Whether a box is far from that of the queries.
#[inline(always)]
fn is_far(around: [f64; 4], extent: [f64; 4], separation: f64) -> bool {
    let ([x, y], half) = middle(extent);
    let gap_x = f64::max(f64::max(around[0] - x, x - around[2]), 0.0);
    let gap_y = f64::max(f64::max(around[1] - y, y - around[3]), 0.0);
    let squared = gap_x * gap_x + gap_y * gap_y;
    let reach = separation * f64::max(half[0], half[1]);
    // An item without extent that a query lies on is not far.
    squared >= reach * reach && squared > 0.0
}

/// Brings the sources of an item into shared memory; returns what they are relative to, and their number.
///
/// # Safety
/// The whole block comes to the same call; the sources are written.
#[inline(always)]
unsafe fn stage(tree: &Tree, staged: &Staged, found: Found) -> ([f64; 2], u32) {
    let is_leaf = found.first < tree.points;
    let count = if is_leaf { found.count } else { NODES };
    // SAFETY: passed on to the caller; slots are the thread's own.
    unsafe {
        thread::sync_threads();
        let mut slot = thread::thread_idx_x();
        while slot < count {
            let source = match is_leaf {
                true => tree.point(found.first + slot),
                false => *tree.node(found.origin, slot),
            };
            staged.store(slot, source);
            slot += BLOCK;
        }
        thread::sync_threads();
        // Points by their own coordinates: differences of these lose nothing.
        (if is_leaf { [0.0; 2] } else { middle(tree.extent(found.origin)).0 }, count)
    }
}

/// The weights at the squared distances of a thread's queries; side by side, so that their law is asked for once.
#[inline(always)]
fn weigh<const LAW: u32>(law: u32, squared: [f64; Q], exponents: [f64; Q]) -> [f64; Q] {
    match if LAW > 0 { LAW } else { law } {
        1 => squared.map(reciprocal_sqrt),
        2 => squared.map(reciprocal),
        3 => squared.map(|squared| {
            let root = reciprocal_sqrt(squared);
            root * root * root
        }),
        4 => squared.map(|squared| {
            let root = reciprocal(squared);
            root * root
        }),
        _ => negative_powers(squared, exponents),
    }
}

impl Queries {
    /// # Safety
    /// The targets are as [`sum_in_double`] asks.
    #[inline(always)]
    unsafe fn place<const ROW: bool>(targets: &Targets, scale: f64) -> Self {
        let mut queries = Self { x: [0.0; Q], y: [0.0; Q], weights: [0.0; Q], values: [0.0; Q] };
        let mut j = 0;
        while j < Q {
            // SAFETY: passed on to the caller.
            let mut place = unsafe { targets.place::<ROW, Q>(j) };
            if ROW && targets.query::<ROW, Q>(j) >= targets.count {
                // Beyond the grid: any cell of the block's will do.
                let (column, row) = targets.cell::<Q>(thread::block_idx_x(), 0, 0);
                place = targets.cell_place(column, row);
            }
            (queries.x[j], queries.y[j]) = (place[0] * scale, place[1] * scale);
            j += 1;
        }
        queries
    }

    /// The box of the block's queries.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn bounds(&self, reduce: BlockReduce<f64>) -> [f64; 4] {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut j = 0;
        while j < Q {
            low = [f64::min(low[0], self.x[j]), f64::min(low[1], self.y[j])];
            high = [f64::max(high[0], self.x[j]), f64::max(high[1], self.y[j])];
            j += 1;
        }
        // SAFETY: passed on to the caller.
        unsafe { box_of(reduce, low, high) }
    }

    /// Adds the staged sources, which are relative to `origin`.
    ///
    /// # Safety
    /// `count` sources are staged; the exponents are as [`sum_in_double`] asks.
    #[inline(always)]
    unsafe fn add<const LAW: u32, const ROW: bool>(
        &mut self,
        targets: &Targets,
        weighting: &Weighting,
        staged: &Staged,
        origin: [f64; 2],
        count: u32,
    ) {
        let (mut near_x, mut near_y) = ([0.0; Q], [0.0; Q]);
        let mut exponents = [weighting.exponent; Q];
        let mut j = 0;
        while j < Q {
            (near_x[j], near_y[j]) = (self.x[j] - origin[0], self.y[j] - origin[1]);
            if LAW == 0 && !weighting.exponents.is_null() {
                let query = u64::min(targets.query::<ROW, Q>(j), targets.count - 1);
                // SAFETY: passed on to the caller; the query is below the count.
                exponents[j] = unsafe { *weighting.exponents.add(query as usize) };
            }
            j += 1;
        }
        let squared = |j: usize, p: &Node| {
            let (dx, dy) = (p[0] - near_x[j], p[1] - near_y[j]);
            mul_add(dx, dx, mul_add(dy, dy, weighting.smoothing))
        };
        let mut slot = 0;
        // SAFETY: slots below the count are staged; queries are brought below their count.
        unsafe {
            while LAW == 2 && slot + 2 <= vector::unknown(count) {
                let (p, q) = (staged.load(slot), staged.load(slot + 1));
                let mut j = 0;
                while j < Q {
                    self.add_two(j, [squared(j, &p), squared(j, &q)], [&p, &q]);
                    j += 1;
                }
                slot += 2;
            }
            while slot < vector::unknown(count) {
                let p = staged.load(slot);
                let mut all = [0.0; Q];
                let mut j = 0;
                while j < Q {
                    all[j] = squared(j, &p);
                    j += 1;
                }
                let weights = weigh::<LAW>(weighting.law, all, exponents);
                j = 0;
                while j < Q {
                    self.weights[j] = mul_add(weights[j], p[2], self.weights[j]);
                    self.values[j] = mul_add(weights[j], p[3], self.values[j]);
                    j += 1;
                }
                slot += 1;
            }
        }
    }

    /// Adds two sources that share a reciprocal: v / a + w / b = (v b + w a) / (a b).
    #[inline(always)]
    fn add_two(&mut self, j: usize, [a, b]: [f64; 2], [p, q]: [&Node; 2]) {
        let shared = reciprocal(a * b);
        let crossed = |k: usize| mul_add(p[k], b, q[k] * a);
        self.weights[j] = mul_add(crossed(2), shared, self.weights[j]);
        self.values[j] = mul_add(crossed(3), shared, self.values[j]);
    }

    /// Writes the sums.
    ///
    /// # Safety
    /// `partial` is as [`sum_in_double`] says.
    #[inline(always)]
    unsafe fn write<const ROW: bool>(&self, targets: &Targets, partial: *mut f64) {
        let row = 2 * thread::block_idx_y() as u64;
        let mut j = 0;
        while j < Q {
            let query = targets.query::<ROW, Q>(j);
            if query < targets.count {
                // SAFETY: passed on to the caller.
                unsafe {
                    *partial.add((row * targets.count + query) as usize) = self.weights[j];
                    *partial.add(((row + 1) * targets.count + query) as usize) = self.values[j];
                }
            }
            j += 1;
        }
    }
}
