//! The direct sum in f32: steps 1 and 2 of the plan.

use device_std::shared::Carver;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::Segmented;
use crate::idw::error_bound::{Block, Group};
use crate::idw::points::Points;
use crate::idw::staged::{Near, Shared, Source, slot, sum_staged};
use crate::idw::targets::{Frame, Targets, split};
use crate::idw::weights::{Law, Power, Weighting};
use crate::idw::{BLOCK, SEVERAL, Summing, TILE};

/// Targets of a thread with one value a point, and with several.
pub const TARGETS: [u32; 2] = [8, 2];

const ONE: usize = TARGETS[0] as usize;
const FEW: usize = TARGETS[1] as usize;
const MANY: usize = SEVERAL as usize;

/// Bytes of shared memory.
const fn shared_bytes(targets: usize, values: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::new(&mut carver, targets as u32, values as u32);
    carver.bytes()
}

/// Sums in f32, to be completed by [`combine`](mod@super::combine::combine); an instance's name says at which
/// targets, by which power, and whether one or [`SEVERAL`] values of each point.
///
/// Grid in x: a block for each `BLOCK * Q` targets, or for each patch of
/// [`PATCH_ROWS`](crate::idw::targets::PATCH_ROWS) rows and `ROW_THREADS * Q` columns; in y: blocks that
/// share the segments.
///
/// # Safety
/// The slices have what their structs say, and there are points and targets. `reaches` has what `measure_tiles` writes.
/// `partial` has an element a target for each sum; if blocks share segments, it has these elements for each segment.
#[kernel(block = BLOCK, shared = shared_bytes(Q, V), key: Summing = Summing {
    on_grid: ROW, law: LAW, values: V, has_each: false
}, instances(
    scattered_1: <1, false, ONE, 1>, resident = 5;
    scattered_2: <2, false, ONE, 1>, resident = 5;
    scattered_3: <3, false, ONE, 1>, resident = 5;
    scattered_4: <4, false, ONE, 1>, resident = 5;
    scattered_any: <0, false, ONE, 1>, resident = 4;
    on_grid_1: <1, true, ONE, 1>, resident = 5;
    on_grid_2: <2, true, ONE, 1>, resident = 5;
    on_grid_3: <3, true, ONE, 1>, resident = 5;
    on_grid_4: <4, true, ONE, 1>, resident = 5;
    on_grid_any: <0, true, ONE, 1>, resident = 5;
    scattered_2_several: <2, false, FEW, MANY>, resident = 4;
    scattered_any_several: <0, false, FEW, MANY>, resident = 4;
    on_grid_2_several: <2, true, FEW, MANY>, resident = 4;
    on_grid_any_several: <0, true, FEW, MANY>, resident = 4;
))]
pub unsafe fn sum_tiles<const LAW: u32, const ROW: bool, const Q: usize, const V: usize>(
    points: Segmented<'_>,
    targets: Targets<'_>,
    frame: Frame,
    extent: [f64; 2],
    weighting: Weighting<'_>,
    reaches: In<'_, f32>,
    partial: Out<'_, f64>,
) {
    let block = Block {
        room: Shared::new(&mut Carver::new(), Q as u32, V as u32),
        targets: &targets,
        frame,
        weighting,
        leaves_out: false,
        extent,
        ranges: points.points.ranges,
    };
    // SAFETY: the whole block is here.
    unsafe { all_pairs::<Power<LAW>, ROW, Q, V>(&points, &block, reaches, partial) };
}

/// The body: leaves the sums of weights and weighted values in `partial`.
///
/// # Safety
/// The whole block comes to the same call, and there are points and targets; unless `ROW`, these are columns.
#[inline(always)]
unsafe fn all_pairs<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    points: &Segmented<'_>,
    block: &Block<'_>,
    reaches: In<'_, f32>,
    partial: Out<'_, f64>,
) {
    let (room, targets, weighting) = (block.room, block.targets, block.weighting);
    let me = thread::thread_idx_x();
    // SAFETY: the block stays together; slots are the thread's own.
    unsafe {
        let mut near = Near {
            x: [0.0; Q],
            y: [0.0; Q],
            smoothing: weighting.smoothing as f32,
            exponents: [weighting.exponent as f32; Q],
        };
        let mut j = 0;
        while j < Q {
            let [x, y] = targets.place::<ROW, Q>(j);
            let ([x, x_rest], [y, y_rest]) = (split(block.frame.x(x)), split(block.frame.y(y)));
            let place = [x.to_bits(), x_rest.to_bits(), y.to_bits(), y_rest.to_bits()];
            room.targets.store(j as u32 * BLOCK + me, place);
            if let Some(exponents) = weighting.exponents {
                let target = u64::min(targets.target::<ROW, Q>(j), targets.count - 1);
                near.exponents[j] = exponents.get(target) as f32;
            }
            j += 1;
        }
        let (first, last) = points.segments();
        let mut segment = first;
        while segment < last {
            near = sum_segment::<L, ROW, Q, V>(points, block, reaches, segment, near);
            let split = thread::grid_dim_y() > 1;
            let row = if split { segment as u64 } else { 0 } * (1 + V as u64);
            let mut j = 0;
            while j < Q {
                let target = targets.target::<ROW, Q>(j);
                let mut c = 0;
                while c < 1 + V && target < targets.count {
                    let sum = (row + c as u64) * targets.count + target;
                    let before = if split || segment == first { 0.0 } else { partial.get(sum) };
                    partial.set(sum, before + room.sums.load(slot::<Q>(c, j as u32, me)));
                    c += 1;
                }
                j += 1;
            }
            segment += 1;
        }
    }
}

/// Leaves the sums of a thread's targets over a segment in shared memory.
///
/// # Safety
/// The whole block comes to the same call; the segment has a point.
#[inline(always)]
unsafe fn sum_segment<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    segmented: &Segmented<'_>,
    block: &Block<'_>,
    reaches: In<'_, f32>,
    segment: u32,
    mut near: Near<Q>,
) -> Near<Q> {
    let (room, &Segmented { points, segment: tiles }) = (&block.room, segmented);
    let start = segment * tiles * TILE;
    let end = u64::min(start as u64 + tiles as u64 * TILE as u64, points.count as u64) as u32;
    let mut first = start;
    while first < end {
        // SAFETY: the whole block is here, and the tile has `end - first` points at least.
        unsafe {
            let origin = stage::<V>(room, &points, &block.frame, first);
            near.place(room, thread::thread_idx_x(), origin);
            let count = u32::min(TILE, end - first);
            let sums = sum_staged::<L, ROW, false, Q, V>(room, &near, count);
            let group = Group {
                places: points.places,
                points: points.count,
                first,
                count,
                origin,
                reach: reaches.get(first / TILE),
            };
            let values = |slot: u32| Source::<false, V>::load(room, slot).values;
            let places = (&near.x, &near.y);
            block.add::<L, ROW, Q, V>(group, places, &sums, first == start, values);
            first += count;
        }
    }
    near
}

/// Stages the tile whose first point is `first`, relative to its middle point; returns that point's place.
///
/// # Safety
/// The whole block comes to the same call; `first` is a point.
#[inline(always)]
unsafe fn stage<const V: usize>(
    room: &Shared,
    points: &Points<'_>,
    frame: &Frame,
    first: u32,
) -> [f32; 2] {
    let (n, places) = (points.count as usize, points.places);
    // SAFETY: the caller keeps the block together; slots are the thread's own between the barriers.
    unsafe {
        // In the middle of the order, so that the farthest point of the tile is not too far.
        let origin = (first + u32::min(TILE, points.count - first) / 2) as usize;
        let origin_x = frame.x(places.get(origin)) as f32;
        let origin_y = frame.y(places.get(origin + n)) as f32;
        thread::sync_threads();
        let mut k = 0;
        while k < TILE / BLOCK {
            let slot = k * BLOCK + thread::thread_idx_x();
            let point = first + slot;
            if point < points.count {
                let i = point as usize;
                // These are the same operations as for targets, so that a target on a point is at distance 0.
                let [x, x_rest] = split(frame.x(places.get(i)));
                let [y, y_rest] = split(frame.y(places.get(i + n)));
                let (x, y) = ((x - origin_x) + x_rest, (y - origin_y) + y_rest);
                let mut values = [0u32; 4];
                let mut v = 0;
                while v < V {
                    let offset = points.offset(v);
                    values[v] = ((points.values.get(i + v * n) - offset) as f32).to_bits();
                    v += 1;
                }
                room.sources.store(slot, [x.to_bits(), y.to_bits(), values[0], 0]);
                if V > 1 {
                    room.values.store(slot, values);
                }
            }
            k += 1;
        }
        thread::sync_threads();
        [origin_x, origin_y]
    }
}
