//! The sums over points and nodes in f64.

use device_std::block::BlockReduce;
use device_std::math::{mul_add, reciprocal, reciprocal_sqrt};
use device_std::power::negative_powers;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::super::MODULE;
use super::super::visit::{SourceRun, Way};
use super::super::{LEAF, box_of, extent};
use super::{NODES, Node, Tree, middle, node};
use crate::idw::targets::Targets;
use crate::idw::weights::Weighting;
use crate::idw::{BLOCK, Summing};

/// Targets of a thread.
pub const TARGETS: u32 = 4;

const Q: usize = TARGETS as usize;

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
        // SAFETY: the slot is staged, as the caller says.
        let (place, sums) = unsafe { (self.0.load(2 * slot), self.0.load(2 * slot + 1)) };
        let ([x, y], [weight, value]) = (unpacked(place), unpacked(sums));
        [x, y, weight, value]
    }

    /// # Safety
    /// There is such a slot, and nobody else touches it meanwhile.
    #[inline(always)]
    unsafe fn store(&self, slot: u32, [x, y, weight, value]: Node) {
        // SAFETY: the slot is the caller's.
        unsafe {
            self.0.store(2 * slot, packed(x, y));
            self.0.store(2 * slot + 1, packed(weight, value));
        }
    }
}

/// The targets of a thread, in units, and their sums.
#[derive(Clone, Copy)]
struct OfThread {
    x: [f64; Q],
    y: [f64; Q],
    weights: [f64; Q],
    values: [f64; Q],
}

/// Writes sums in f64, which `combine` of module `pairs` completes. An instance's name says where the targets are, and
/// whether the power is 2 or the one that `law` and `exponent` tell.
///
/// Grid: as for `sum_items` of the tree in f32.
///
/// # Safety
/// The tree is as [`weigh_in_f64`](mod@super::nodes::weigh_in_f64) leaves it, with `items` items up to the root of
/// level `top`, and is not written. The rest is as for `sum_items`.
#[kernel(block = BLOCK, carve = |carver| shared(carver), key: Summing = Summing {
    on_grid: ROW, law: LAW, values: 1, has_each: false
}, instances(
    scattered_2: <2, false>, resident = 4;
    scattered_any: <0, false>, resident = 4;
    on_grid_2: <2, true>, resident = 4;
    on_grid_any: <0, true>, resident = 4;
))]
pub unsafe fn sum_in_double<const LAW: u32, const ROW: bool>(
    tree: Tree<'_>,
    items: u32,
    top: u32,
    separation: f64,
    targets: Targets<'_>,
    law: u32,
    weighting: Weighting<'_>,
    partial: Out<'_, f64>,
) {
    let law = if LAW > 0 { LAW } else { law };
    let leaves = tree.points.count.div_ceil(LEAF);
    let (staged, reduce) = shared(&mut Carver::new());
    // SAFETY: all threads of the block come here, and visit the same items.
    unsafe {
        let mut own = OfThread::place::<ROW>(&targets, tree.scale);
        let around = own.bounds(reduce);
        let is_far =
            |item: u32| item >= leaves && is_far(around, extent(tree.extents, item), separation);
        let way = Way::new(tree.points.count, items, top);
        let (rows, mine) = (thread::grid_dim_y(), thread::block_idx_y());
        let mut visit = way.start();
        let mut turn = 0;
        while visit.level <= way.top {
            let found = way.next(&mut visit, is_far);
            if turn == mine {
                let (origin, count) = stage(&tree, leaves, &staged, found);
                own.add::<LAW, ROW>(&targets, (law, &weighting), &staged, origin, count);
            }
            turn = if turn + 1 == rows { 0 } else { turn + 1 };
        }
        own.write::<ROW>(&targets, partial);
    }
}

/// Whether a box is far from that of the targets.
#[inline(always)]
fn is_far(around: [f64; 4], extent: [f64; 4], separation: f64) -> bool {
    let ([x, y], half) = middle(extent);
    let gap_x = f64::max(f64::max(around[0] - x, x - around[2]), 0.0);
    let gap_y = f64::max(f64::max(around[1] - y, y - around[3]), 0.0);
    let squared = gap_x * gap_x + gap_y * gap_y;
    let reach = separation * f64::max(half[0], half[1]);
    // An item without extent that a target lies on is not far.
    squared >= reach * reach && squared > 0.0
}

/// Brings the sources of an item into shared memory; returns their origin, and their number.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn stage(
    tree: &Tree<'_>,
    leaves: u32,
    staged: &Staged,
    found: SourceRun,
) -> ([f64; 2], u32) {
    let is_leaf = found.first < tree.points.count;
    let count = if is_leaf { found.count } else { NODES };
    // SAFETY: the whole block is here, as the caller says; slots are the thread's own between the barriers.
    unsafe {
        thread::sync_threads();
        let mut slot = thread::thread_idx_x();
        while slot < count {
            let source = match is_leaf {
                true => tree.point(found.first + slot),
                false => tree.nodes.get(node(leaves, found.origin, slot)),
            };
            staged.store(slot, source);
            slot += BLOCK;
        }
        thread::sync_threads();
        // Points keep their own coordinates, since the differences of these lose nothing.
        (if is_leaf { [0.0; 2] } else { middle(extent(tree.extents, found.origin)).0 }, count)
    }
}

/// The weights at the squared distances of a thread's targets. All targets share one test of the law.
#[inline(always)]
fn weigh(law: u32, squared: [f64; Q], exponents: [f64; Q]) -> [f64; Q] {
    match law {
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

impl OfThread {
    /// # Safety
    /// There are targets, and unless `ROW` they are columns.
    #[inline(always)]
    unsafe fn place<const ROW: bool>(targets: &Targets<'_>, scale: f64) -> Self {
        let mut own = Self { x: [0.0; Q], y: [0.0; Q], weights: [0.0; Q], values: [0.0; Q] };
        let mut j = 0;
        while j < Q {
            // SAFETY: the targets are as the caller says.
            let mut place = unsafe { targets.place::<ROW, Q>(j) };
            if ROW && targets.target::<ROW, Q>(j) >= targets.count {
                // Beyond the grid, any cell of the block may stand in.
                let (column, row) = targets.cell::<Q>(thread::block_idx_x(), 0, 0);
                place = targets.cell_place(column, row);
            }
            (own.x[j], own.y[j]) = (place[0] * scale, place[1] * scale);
            j += 1;
        }
        own
    }

    /// The box of the block's targets.
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
        // SAFETY: the whole block is here, as the caller says.
        unsafe { box_of(reduce, low, high) }
    }

    /// Adds the staged sources, which are relative to `origin`.
    ///
    /// # Safety
    /// `count` sources are staged.
    #[inline(always)]
    unsafe fn add<const LAW: u32, const ROW: bool>(
        &mut self,
        targets: &Targets<'_>,
        (law, weighting): (u32, &Weighting<'_>),
        staged: &Staged,
        origin: [f64; 2],
        count: u32,
    ) {
        let (mut near_x, mut near_y) = ([0.0; Q], [0.0; Q]);
        let mut exponents = [weighting.exponent; Q];
        let mut j = 0;
        while j < Q {
            (near_x[j], near_y[j]) = (self.x[j] - origin[0], self.y[j] - origin[1]);
            if let (0, Some(of_targets)) = (LAW, weighting.exponents) {
                let target = u64::min(targets.target::<ROW, Q>(j), targets.count - 1);
                exponents[j] = of_targets.get(target);
            }
            j += 1;
        }
        let squared = |j: usize, p: &Node| {
            let (dx, dy) = (p[0] - near_x[j], p[1] - near_y[j]);
            mul_add(dx, dx, mul_add(dy, dy, weighting.smoothing))
        };
        let mut slot = 0;
        // SAFETY: slots below the count are staged.
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
                let weights = weigh(law, all, exponents);
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
    #[inline(always)]
    fn write<const ROW: bool>(&self, targets: &Targets<'_>, partial: Out<'_, f64>) {
        let row = 2 * thread::block_idx_y() as u64;
        let mut j = 0;
        while j < Q {
            let target = targets.target::<ROW, Q>(j);
            if target < targets.count {
                partial.set(row * targets.count + target, self.weights[j]);
                partial.set((row + 1) * targets.count + target, self.values[j]);
            }
            j += 1;
        }
    }
}
