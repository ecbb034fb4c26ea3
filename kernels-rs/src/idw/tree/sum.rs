//! The sums over points and nodes: steps 3 and 4 of the plan.

use device_std::block::BlockReduce;
use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::visit::{SourceRun, Way};
use super::{LEAF, Tree, box_of};
use crate::idw::error_bound::{Block, Group, unknown};
use crate::idw::staged::{Near, Shared, Source, slot, sum_staged};
use crate::idw::targets::{Frame, Targets, split};
use crate::idw::weights::{Law, Power, Weighting};
use crate::idw::{BLOCK, SEVERAL, Summing};

/// Targets of a thread with one value a point, and with several.
pub const TARGETS: [u32; 2] = [4, 2];

const ONE: usize = TARGETS[0] as usize;
const FEW: usize = TARGETS[1] as usize;
const MANY: usize = SEVERAL as usize;

/// The shared memory of a block.
#[inline(always)]
const fn shared(carver: &mut Carver, targets: usize, values: usize) -> (Shared, BlockReduce<f64>) {
    let room = Shared::new(carver, targets as u32, values as u32);
    (room, BlockReduce::new(carver, BLOCK as usize))
}

/// The data points of the tree, as they lie on the ground.
#[arguments]
pub struct PlanePoints<'a> {
    /// x of each, then y.
    pub places: In<'a, f64>,
    /// The farthest distance of each leaf's points from its origin, as `measure_tiles` of module `pairs` writes it.
    pub reaches: In<'a, f32>,
    /// The values' ranges, in the form of [`Points`](crate::idw::points::Points).
    pub ranges: In<'a, f64>,
}

/// The targets of a block, as the test for far items sees them.
#[derive(Clone, Copy)]
struct Around {
    /// The box of their places, rounded outwards.
    low: [f32; 2],
    high: [f32; 2],
    /// The square of the least distance of a far item, in multiples of half the longer side of its box: (2.25 + p /
    /// 2)^2.
    separation: f32,
}

impl Around {
    /// Whether an item is far from the targets.
    #[inline(always)]
    fn is_far(&self, [x, y, half]: [f32; 3]) -> bool {
        let gap_x = f32::max(f32::max(self.low[0] - x, x - self.high[0]), 0.0);
        let gap_y = f32::max(f32::max(self.low[1] - y, y - self.high[1]), 0.0);
        let squared = gap_x * gap_x + gap_y * gap_y;
        // The distance from the targets' box to the item's middle, so no target is nearer. An item without extent is
        // not far from a target on it: its points give their values.
        squared >= self.separation * half * half && squared > 0.0
    }
}

/// Writes sums in f32 and f64, which `combine` of module `pairs` completes. An instance's name says where the targets
/// are, by which power, and whether a point has one or [`SEVERAL`] values. Instances with `each` in their names take a
/// power for each target, and leave points out; the others spare that test in their inner loop. (One spills 16 bytes on
/// sm_80 alone; its times were taken with as many blocks.)
///
/// Grid in x: a block for each `BLOCK * Q` targets, which should lie near each other, or for each patch of a grid, as
/// for `sum_tiles` of module `pairs`. In y: blocks that share the items.
///
/// # Safety
/// The slices have what their structs say, and there are targets. The tree is as
/// [`weigh_nodes`](mod@super::nodes::weigh_nodes) leaves it, up to the root of level `top`, and is not written. If
/// `leave_out` is not 0, the targets are the points in their order, and each leaves itself out. `partial` has an
/// element a target for each sum and each row of blocks.
#[kernel(block = BLOCK, carve = |carver| shared(carver, Q, V), key: Summing = Summing {
    on_grid: ROW, law: LAW, values: V, has_each: EACH
}, instances(
    scattered_1: <1, false, false, ONE, 1>, resident = 7;
    scattered_2: <2, false, false, ONE, 1>, resident = 7;
    scattered_3: <3, false, false, ONE, 1>, resident = 7;
    scattered_4: <4, false, false, ONE, 1>, resident = 7;
    scattered_any: <0, false, false, ONE, 1>, resident = 7;
    on_grid_1: <1, true, false, ONE, 1>, resident = 8;
    on_grid_2: <2, true, false, ONE, 1>, resident = 8;
    on_grid_3: <3, true, false, ONE, 1>, resident = 8;
    on_grid_4: <4, true, false, ONE, 1>, resident = 8;
    on_grid_any: <0, true, false, ONE, 1>, resident = 8;
    scattered_2_several: <2, false, false, FEW, MANY>, resident = 4;
    scattered_any_several: <0, false, false, FEW, MANY>, resident = 4;
    on_grid_2_several: <2, true, false, FEW, MANY>, resident = 4;
    on_grid_any_several: <0, true, false, FEW, MANY>, resident = 4;
    each_scattered_2: <2, false, true, ONE, 1>, resident = 7;
    each_scattered_any: <0, false, true, ONE, 1>, resident = 7, spills = 16;
    each_on_grid_any: <0, true, true, ONE, 1>, resident = 7;
))]
pub unsafe fn sum_items<
    const LAW: u32,
    const ROW: bool,
    const EACH: bool,
    const Q: usize,
    const V: usize,
>(
    tree: Tree<'_>,
    top: u32,
    separation: f64,
    ground: PlanePoints<'_>,
    targets: Targets<'_>,
    frame: Frame,
    extent: [f64; 2],
    weighting: Weighting<'_>,
    leave_out: u32,
    partial: Out<'_, f64>,
) {
    let (room, reduce) = shared(&mut Carver::new(), Q, V);
    let exponents = if EACH { weighting.exponents } else { None };
    let block = Block {
        room,
        targets: &targets,
        frame,
        weighting: Weighting { exponents, ..weighting },
        leaves_out: EACH && leave_out != 0,
        extent,
        ranges: ground.ranges,
    };
    // SAFETY: the whole block is here.
    unsafe {
        let (low, high) = place_targets::<ROW, Q>(&block, reduce);
        let around = Around { low, high, separation: (separation * separation) as f32 };
        let way = Way::new(tree.points, tree.items, top);
        add_items::<Power<LAW>, ROW, Q, V>(&tree, &block, ground, &way, &around);
        write_sums::<ROW, Q, V>(&targets, block.room.sums, partial);
    }
}

/// Stores the block's targets in shared memory. Returns the box of their places, rounded outwards.
///
/// # Safety
/// The whole block comes to the same call; there are targets, and unless `ROW` they are columns.
#[inline(always)]
unsafe fn place_targets<const ROW: bool, const Q: usize>(
    block: &Block<'_>,
    reduce: BlockReduce<f64>,
) -> ([f32; 2], [f32; 2]) {
    // SAFETY: the block is whole and the targets are as the caller says; slots are the thread's own.
    unsafe {
        let (targets, frame) = (block.targets, &block.frame);
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut j = 0;
        while j < Q {
            let mut place = targets.place::<ROW, Q>(j);
            if ROW && targets.target::<ROW, Q>(j) >= targets.count {
                // A thread beyond the grid takes the first cell of its block, which does not widen the box.
                let (column, row) = targets.cell::<Q>(thread::block_idx_x(), 0, 0);
                place = targets.cell_place(column, row);
            }
            let (x, y) = (frame.x(place[0]), frame.y(place[1]));
            low = [f64::min(low[0], x), f64::min(low[1], y)];
            high = [f64::max(high[0], x), f64::max(high[1], y)];
            let ([x, x_rest], [y, y_rest]) = (split(x), split(y));
            let packed = [x.to_bits(), x_rest.to_bits(), y.to_bits(), y_rest.to_bits()];
            block.room.targets.store(j as u32 * BLOCK + thread::thread_idx_x(), packed);
            j += 1;
        }
        // Outwards by 2.4e-7 of itself, four times what rounding to f32 may take: a box too small would call a near
        // item far.
        let down = |x: f64| x as f32 - f32::abs(x as f32) * 2.4e-7;
        let [west, south, east, north] = box_of(reduce, low, high);
        ([down(west), down(south)], [-down(-east), -down(-north)])
    }
}

/// Visits the items and sums over those of this row of blocks, in shared memory.
///
/// # Safety
/// The whole block comes to the same call, and has stored its targets.
#[inline(always)]
unsafe fn add_items<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    tree: &Tree<'_>,
    block: &Block<'_>,
    ground: PlanePoints<'_>,
    way: &Way,
    around: &Around,
) {
    // SAFETY: slots are the thread's own; all threads of the block visit the same items.
    unsafe {
        let mut c = 0;
        while c < (1 + V) as u32 * Q as u32 {
            block.room.sums.store(c * BLOCK + thread::thread_idx_x(), 0.0);
            c += 1;
        }
        // All rows of blocks visit the same items; each adds every `rows`-th one, so that their sums make up the whole.
        let (rows, mine) = (thread::grid_dim_y(), thread::block_idx_y());
        let mut visit = way.start();
        let mut turn = 0;
        while visit.level <= way.top {
            let found = way.next(&mut visit, |item| around.is_far(tree.middle(item)));
            if turn == mine {
                add_item::<L, ROW, Q, V>(tree, block, ground, found);
            }
            turn = if turn + 1 == rows { 0 } else { turn + 1 };
        }
    }
}

/// Writes the sums of the thread's targets.
///
/// # Safety
/// The thread has stored its sums.
#[inline(always)]
pub(super) unsafe fn write_sums<const ROW: bool, const Q: usize, const V: usize>(
    targets: &Targets<'_>,
    sums: SharedArray<f64>,
    partial: Out<'_, f64>,
) {
    let me = thread::thread_idx_x();
    let row = thread::block_idx_y() as u64 * (1 + V as u64);
    let mut j = 0;
    while j < Q {
        let target = targets.target::<ROW, Q>(j);
        let mut c = 0;
        while c < 1 + V && target < targets.count {
            // SAFETY: slots are the thread's own.
            let sum = unsafe { sums.load(slot::<Q>(c, j as u32, me)) };
            partial.set((row + c as u64) * targets.count + target, sum);
            c += 1;
        }
        j += 1;
    }
}

/// Adds an item's sources to the sums of the block's targets.
///
/// # Safety
/// The whole block comes to the same call, for an item with sources, and has stored its targets and begun its sums.
#[inline(always)]
unsafe fn add_item<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    tree: &Tree<'_>,
    block: &Block<'_>,
    ground: PlanePoints<'_>,
    found: SourceRun,
) {
    let (room, me) = (&block.room, thread::thread_idx_x());
    // SAFETY: the block is whole, as the caller says; slots are the thread's own between the barriers.
    unsafe {
        // All threads have summed the sources of the item before.
        thread::sync_threads();
        let mut slot = me;
        while slot < found.count {
            let source = found.first + slot;
            room.sources.store(slot, tree.sources.load(source));
            if V > 1 {
                room.values.store(slot, tree.values.load(source));
            }
            slot += BLOCK;
        }
        thread::sync_threads();
        let SourceRun { origin, first, count } = found;
        let [x, y, _] = tree.middle(origin);
        let origin = [x, y];
        let mut near = Near {
            x: [0.0; Q],
            y: [0.0; Q],
            smoothing: unknown(block.weighting.smoothing) as f32,
            exponents: [unknown(block.weighting.exponent) as f32; Q],
        };
        let mut j = 0;
        while j < Q && block.weighting.exponents.is_some() {
            near.exponents[j] = block.exponent::<ROW, Q>(me, j as u32) as f32;
            j += 1;
        }
        near.place(room, me, origin);
        let sums = sum_staged::<L, ROW, true, Q, V>(room, &near, count);
        // Nodes are summed for targets far from them: at reach -1 no target is near, and no bound is tested.
        let is_leaf = first < tree.points;
        let reach = if is_leaf { ground.reaches.get(first / LEAF) } else { -1.0 };
        let (points, places) = (tree.points, ground.places);
        let group = Group { places, points, first, count, origin, reach };
        let values = |slot: u32| Source::<true, V>::load(room, slot).values;
        block.add::<L, ROW, Q, V>(group, (&near.x, &near.y), &sums, false, values);
    }
}
