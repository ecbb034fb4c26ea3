//! Inverse distance weighting with all pairs: crate `idw`.
//!
//! Plan:
//!
//! 1. A block takes [`BLOCK`]` * Q` query points, `Q` a thread, and walks over the data points by
//!    tiles of [`TILE`], which it stages in shared memory. Data points lie along a curve (module
//!    `idw_index`), so a tile is a small piece of ground, and positions in it are taken relative to its
//!    middle point: exact enough in f32 wherever a query is near enough for that to matter.
//! 2. A thread sums weights and weighted values of a tile in f32, tiles in f64 up to a segment, and
//!    segments in f64. A segment is a fixed number of tiles, which depends on the number of data points
//!    alone: so the bits do not depend on how a launch splits the work.
//! 3. Where there are few queries, blocks share the data: each writes the sums of its segments, and
//!    `combine_segments` adds them in order.
//! 4. A query near the points of a tile may lose by places in f32: where points crowd in a part of the
//!    tile. The sums tell ([`Block::add`]), and the warp sums the tile anew for that query, by distances in f64.
//! 5. A query whose sum of weights is infinite lies on a data point (or so near, or so far, that f32
//!    overflowed); it is put on a list, and [`rescue`] computes it anew in f64, relative to its nearest
//!    data point.
//!
//! A pair costs 4 f32 operations for the distance (2 where the queries of a thread lie in one row of a
//! grid), 2 for the sums, and the weight: one reciprocal or reciprocal square root, or a logarithm and a
//! power. At power 2 two data points share a reciprocal: 1/a + 1/b = (a + b) / (a b).
//!
//! [`naive_square`] and [`tiled_square`] are the kernels of Mei (2014, doi:10.1155/2014/171574),
//! [`naive_any`] and [`tiled_any`] the same for any power: the baseline.

use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector};
use device_std::{atomic, kernel, thread, warp};

use crate::idw_pairs::{AnyPower, Frame, Law, MulAdd, Power, Setup, Targets, split};
pub use crate::idw_pairs::{BLOCK, PATCH_ROWS, ROW_THREADS, setup};
use crate::idw_pairs::{Block, Group, GroupSums};

/// Data points that are staged, and summed in f32, together.
pub const TILE: u32 = 256;

/// Queries of a thread with one value a point.
pub const QUERIES: u32 = 8;

/// Queries of a thread with several values a point.
pub const QUERIES_SEVERAL: u32 = 2;

/// Values a point in the kernels for several.
pub const SEVERAL: u32 = 4;

/// Sums beyond these bounds (weights) or distances (squared, in units) are computed anew in f64.
const LEAST: f64 = 8.5e-22;
const MOST: f64 = 3.0e38;
const FARTHEST: f32 = 1.0e18;

/// The weight where the law is known at run time: 1 to 4, else any.
#[inline(always)]
fn weight_by(law: u32, squared: f64, exponent: f64) -> f64 {
    match law {
        1 => Power::<1>::weight(squared, exponent),
        2 => Power::<2>::weight(squared, exponent),
        3 => Power::<3>::weight(squared, exponent),
        4 => Power::<4>::weight(squared, exponent),
        _ => AnyPower::weight(squared, exponent),
    }
}

/// The data points.
#[derive(Clone, Copy)]
struct Points {
    /// x of each, then y of each; on a sphere then z.
    places: *const f64,
    /// The first value of each, then the second.
    values: *const f64,
    count: u32,
    /// Tiles of a segment.
    segment: u32,
    /// How far the points of each tile are from its origin, as [`measure_tiles`] writes it.
    reaches: *const f32,
}

/// Where results go.
#[derive(Clone, Copy)]
struct Results<T> {
    /// The first value of each query, then the second.
    values: *mut T,
    /// The number of queries to rescue, then their indices.
    rescued: *mut u32,
}

/// The segments that blocks of this row of the launch take.
#[inline(always)]
fn segments(points: &Points) -> (u32, u32) {
    let tiles = points.count.div_ceil(TILE);
    let all = tiles.checked_div(points.segment).unwrap_or(0)
        + (tiles.checked_rem(points.segment).unwrap_or(0) > 0) as u32;
    let rows = thread::grid_dim_y();
    let each = all.checked_div(rows).unwrap_or(0) + (all.checked_rem(rows).unwrap_or(0) > 0) as u32;
    let first = u32::min(each * thread::block_idx_y(), all);
    (first, u32::min(first + each, all))
}

/// The shared memory of a block.
struct Shared {
    /// Places of the queries, relative to the middle of the data, in units: x and the rest that f32
    /// leaves of it, y and the rest.
    queries: SharedArray<Vector>,
    /// Sums over a segment: weights, then weighted values, of each query of each thread.
    sums: SharedArray<f64>,
    /// The tile: x, y, and with one value a point that value.
    tile: SharedArray<Vector>,
    /// The values of the tile's points, where there are several.
    values: SharedArray<Vector>,
}

impl Shared {
    #[inline(always)]
    const fn new(carver: &mut Carver, queries: u32, values: u32) -> Self {
        let of_block = BLOCK * queries;
        Self {
            queries: carver.array(of_block),
            sums: carver.array(of_block * (1 + values)),
            tile: carver.array(TILE),
            values: carver.array(if values > 1 { TILE } else { 0 }),
        }
    }
}

/// Bytes of shared memory of the kernels for one value, and for several.
pub const SHARED: [u32; 2] = [shared_bytes(QUERIES, 1), shared_bytes(QUERIES_SEVERAL, SEVERAL)];

const fn shared_bytes(queries: u32, values: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::new(&mut carver, queries, values);
    // The vectors begin at multiples of 16, since whatever lies before has whole ones.
    carver.bytes()
}

/// Stages the tile whose first point is `first`, relative to its middle point; returns that point's place.
///
/// # Safety
/// The whole block comes to the same call; `first` is a point.
#[inline(always)]
unsafe fn stage<const V: usize>(
    shared: &Shared,
    points: &Points,
    frame: &Frame,
    setup: Setup,
    first: u32,
) -> [f32; 2] {
    let n = points.count as usize;
    // SAFETY: the caller keeps the block together and `first` below the count.
    unsafe {
        // In the middle of the order, so that the farthest point of the tile is not too far.
        let origin = (first + u32::min(TILE, points.count - first) / 2) as usize;
        let origin_x = frame.x(*points.places.add(origin)) as f32;
        let origin_y = frame.y(*points.places.add(origin + n)) as f32;
        thread::sync_threads();
        let mut k = 0;
        while k < TILE / BLOCK {
            let slot = k * BLOCK + thread::thread_idx_x();
            let point = first + slot;
            if point < points.count {
                let i = point as usize;
                // The same operations as for queries, so that one on a point is at distance 0.
                let [x, x_rest] = split(frame.x(*points.places.add(i)));
                let [y, y_rest] = split(frame.y(*points.places.add(i + n)));
                let (x, y) = ((x - origin_x) + x_rest, (y - origin_y) + y_rest);
                let mut values = [0u32; 4];
                let mut v = 0;
                while v < V {
                    let offset = *setup.add(setup::VALUES + 3 * v);
                    values[v] = ((*points.values.add(i + v * n) - offset) as f32).to_bits();
                    v += 1;
                }
                shared.tile.store(slot, [x.to_bits(), y.to_bits(), values[0], 0]);
                if V > 1 {
                    shared.values.store(slot, values);
                }
            }
            k += 1;
        }
        thread::sync_threads();
        [origin_x, origin_y]
    }
}

/// A staged point.
#[derive(Clone, Copy)]
struct Staged<const V: usize> {
    x: f32,
    y: f32,
    values: [f32; V],
}

impl<const V: usize> Staged<V> {
    /// # Safety
    /// `slot` holds a point of the tile.
    #[inline(always)]
    unsafe fn load(shared: &Shared, slot: u32) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let [x, y, value, _] = shared.tile.load(slot);
            let all = if V > 1 { shared.values.load(slot) } else { [value, 0, 0, 0] };
            let mut values = [0.0; V];
            let mut v = 0;
            while v < V {
                values[v] = f32::from_bits(all[v]);
                v += 1;
            }
            Self { x: f32::from_bits(x), y: f32::from_bits(y), values }
        }
    }
}

/// The queries of a thread, relative to a tile's middle point, and what a weight needs.
struct Near<const Q: usize> {
    x: [f32; Q],
    y: [f32; Q],
    smoothing: f32,
    exponents: [f32; Q],
}

impl<const Q: usize> Near<Q> {
    /// The squared distance of query `j` to a point, `dy` being that of the row.
    #[inline(always)]
    fn squared<const ROW: bool, const V: usize>(&self, j: usize, p: &Staged<V>, dy: f32) -> f32 {
        let dx = p.x - self.x[j];
        if ROW {
            return dx.mul_add_(dx, dy);
        }
        let dy = p.y - self.y[j];
        dx.mul_add_(dx, dy.mul_add_(dy, self.smoothing))
    }

    /// The row's share of the squared distance, and the smoothing.
    #[inline(always)]
    fn of_row<const V: usize>(&self, p: &Staged<V>) -> f32 {
        let dy = p.y - self.y[0];
        dy.mul_add_(dy, self.smoothing)
    }

    /// Adds one point.
    #[inline(always)]
    fn add<L: Law, const ROW: bool, const V: usize>(
        &self,
        p: Staged<V>,
        sums: &mut GroupSums<Q, V>,
    ) {
        let row = self.of_row(&p);
        let mut j = 0;
        while j < Q {
            let weight = L::weight(self.squared::<ROW, V>(j, &p, row), self.exponents[j]);
            sums.weights[j] += weight;
            let mut v = 0;
            while v < V {
                sums.values[v][j] = weight.mul_add_(p.values[v], sums.values[v][j]);
                v += 1;
            }
            j += 1;
        }
    }

    /// Adds two points that share a reciprocal.
    #[inline(always)]
    fn add_two<const ROW: bool, const V: usize>(
        &self,
        p: Staged<V>,
        q: Staged<V>,
        sums: &mut GroupSums<Q, V>,
    ) {
        let (row_p, row_q) = (self.of_row(&p), self.of_row(&q));
        let mut j = 0;
        while j < Q {
            let a = self.squared::<ROW, V>(j, &p, row_p);
            let b = self.squared::<ROW, V>(j, &q, row_q);
            let reciprocal = (a * b).reciprocal();
            sums.weights[j] = (a + b).mul_add_(reciprocal, sums.weights[j]);
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

/// The body of every kernel in f32: leaves the sums of weights and weighted values in `partial`.
///
/// # Safety
/// As the kernels say.
#[inline(always)]
unsafe fn all_pairs<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    points: Points,
    targets: Targets,
    setup: Setup,
    exponents: *const f64,
    partial: *mut f64,
) {
    let shared = Shared::new(&mut Carver::new(), Q as u32, V as u32);
    let me = thread::thread_idx_x();
    // SAFETY: the block stays together; slots are the thread's own; the arrays are as long as the
    // kernels ask.
    unsafe {
        let frame = Frame::new(setup);
        let mut near = Near {
            x: [0.0; Q],
            y: [0.0; Q],
            smoothing: *setup.add(setup::SMOOTHING) as f32,
            exponents: [*setup.add(setup::EXPONENT) as f32; Q],
        };
        let mut j = 0;
        while j < Q {
            let [x, y] = targets.place::<ROW, Q>(setup, j);
            let ([x, x_rest], [y, y_rest]) = (split(frame.x(x)), split(frame.y(y)));
            let place = [x.to_bits(), x_rest.to_bits(), y.to_bits(), y_rest.to_bits()];
            shared.queries.store(j as u32 * BLOCK + me, place);
            if !exponents.is_null() {
                let query = u64::min(targets.query::<ROW, Q>(j), targets.count - 1);
                near.exponents[j] = *exponents.add(query as usize) as f32;
            }
            j += 1;
        }
        let Shared { queries, sums, .. } = shared;
        let block = Block { queries, sums, targets: &targets, setup, exponents };
        let (first, last) = segments(&points);
        let mut segment = first;
        while segment < last {
            near = sum_segment::<L, ROW, Q, V>(&shared, &points, &frame, &block, segment, near);
            let split = thread::grid_dim_y() > 1;
            let row = if split { segment as u64 } else { 0 } * (1 + V as u64);
            let mut j = 0;
            while j < Q {
                let query = targets.query::<ROW, Q>(j);
                let mut c = 0;
                while c < 1 + V && query < targets.count {
                    let sum = partial.add(((row + c as u64) * targets.count + query) as usize);
                    let before = if split || segment == first { 0.0 } else { *sum };
                    *sum = before + shared.sums.load(sum_slot::<Q>(c, j));
                    c += 1;
                }
                j += 1;
            }
            segment += 1;
        }
    }
}

/// Whether squares of distances may leave the range of f32.
#[inline(always)]
fn is_far(x: f32, y: f32, smoothing: f32) -> bool {
    let squared = x * x + y * y + smoothing;
    squared.is_nan() || squared >= FARTHEST
}

/// Where a thread keeps sum `c` of its query `j`.
#[inline(always)]
fn sum_slot<const Q: usize>(c: usize, j: usize) -> u32 {
    (c as u32 * Q as u32 + j as u32) * BLOCK + thread::thread_idx_x()
}

/// Leaves the sums of a thread's queries over a segment in shared memory.
///
/// # Safety
/// The whole block comes to the same call; the segment has a point.
#[inline(always)]
unsafe fn sum_segment<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    shared: &Shared,
    points: &Points,
    frame: &Frame,
    block: &Block,
    segment: u32,
    mut near: Near<Q>,
) -> Near<Q> {
    let start = segment * points.segment * TILE;
    let end =
        u64::min(start as u64 + points.segment as u64 * TILE as u64, points.count as u64) as u32;
    let mut first = start;
    while first < end {
        // SAFETY: passed on to the caller; the tile has `end - first` points at least.
        unsafe {
            let [origin_x, origin_y] = stage::<V>(shared, points, frame, block.setup, first);
            let mut j = 0;
            while j < Q {
                let [x, x_rest, y, y_rest] =
                    shared.queries.load(j as u32 * BLOCK + thread::thread_idx_x());
                near.x[j] = (f32::from_bits(x) - origin_x) + f32::from_bits(x_rest);
                near.y[j] = (f32::from_bits(y) - origin_y) + f32::from_bits(y_rest);
                j += 1;
            }
            let count = u32::min(TILE, end - first);
            let sums = sum_tile::<L, ROW, Q, V>(shared, &near, count);
            let group = Group {
                places: points.places,
                points: points.count,
                first,
                count,
                origin: [origin_x, origin_y],
                reach: *points.reaches.add((first / TILE) as usize),
            };
            let values = |slot: u32| Staged::<V>::load(shared, slot).values;
            let places = (&near.x, &near.y);
            block.add::<L, ROW, Q, V>(group, places, &sums, first == start, shared.tile, values);
            first += count;
        }
    }
    near
}

/// The sums over a staged tile, in f32.
///
/// # Safety
/// `count` points are staged.
#[inline(always)]
unsafe fn sum_tile<L: Law, const ROW: bool, const Q: usize, const V: usize>(
    shared: &Shared,
    near: &Near<Q>,
    count: u32,
) -> GroupSums<Q, V> {
    let mut sums = GroupSums::NONE;
    let mut slot = 0;
    // SAFETY: slots below the count are staged.
    unsafe {
        while slot + 4 <= vector::unknown(count) {
            let a = Staged::load(shared, slot);
            let b = Staged::load(shared, slot + 1);
            let c = Staged::load(shared, slot + 2);
            let d = Staged::load(shared, slot + 3);
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
            near.add::<L, ROW, V>(Staged::load(shared, slot), &mut sums);
            slot += 1;
        }
    }
    sums
}

/// Writes the results of a query from its sums, or puts it on the list of those to rescue.
///
/// # Safety
/// The query is below the count; the results' arrays are as long as the kernels ask.
#[inline(always)]
unsafe fn finish<T: Real, const V: usize>(
    weight: f64,
    sums: [f64; V],
    far: bool,
    setup: Setup,
    query: u64,
    count: u64,
    results: Results<T>,
) {
    let mut good = weight > LEAST && weight < MOST && !far;
    let mut v = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        while v < V {
            let [offset, low, high] = bounds(setup, v);
            let mean = sums[v] / weight;
            good = good && mean > -MOST && mean < MOST;
            *results.values.add((v as u64 * count + query) as usize) =
                T::from_f64(within(offset + mean, low, high));
            v += 1;
        }
        if !good {
            let at = atomic::add_u32(results.rescued, 1);
            *results.rescued.add(1 + at as usize) = query as u32;
        }
    }
}

/// Offset, lowest and highest of a value.
#[inline(always)]
unsafe fn bounds(setup: Setup, v: usize) -> [f64; 3] {
    // SAFETY: the setup has three numbers for each value.
    unsafe {
        let of_value = setup.add(setup::VALUES + 3 * v);
        [*of_value, *of_value.add(1), *of_value.add(2)]
    }
}

#[inline(always)]
fn within(x: f64, low: f64, high: f64) -> f64 {
    f64::min(f64::max(x, low), high)
}

/// Writes how far the points of each tile are from its origin, along either axis in units, and what f32
/// does to a place there. Grid: a block a tile.
///
/// # Safety
/// `places` has `2 * points` elements, `reaches` one for each tile; `points` is not 0.
#[kernel(block = 256)]
pub unsafe fn measure_tiles(
    places: *const f64,
    points: u32,
    centre_x: f64,
    centre_y: f64,
    scale: f64,
    reaches: *mut f32,
) {
    let shared: SharedArray<f64> = Carver::new().array(RESCUE_WARPS);
    let (tile, n) = (thread::block_idx_x(), points as usize);
    let first = tile * TILE;
    let frame = Frame::of(centre_x, centre_y, scale);
    // SAFETY: the block stays together; beyond the points its threads take the last one.
    unsafe {
        let i = u32::min(first + thread::thread_idx_x(), points - 1) as usize;
        let origin = (first + u32::min(TILE, points - first) / 2) as usize;
        let x = frame.x(*places.add(origin)) as f32 as f64;
        let y = frame.y(*places.add(origin + n)) as f32 as f64;
        let (dx, dy) = (frame.x(*places.add(i)) - x, frame.y(*places.add(i + n)) - y);
        let farthest = f64::max(f64::abs(dx), f64::abs(dy));
        let reach = of_block(shared, farthest, f64::max);
        if thread::thread_idx_x() == 0 {
            let of_place = f64::max(f64::abs(x), f64::abs(y)) / 16_777_216.0;
            *reaches.add(tile as usize) = ((reach + of_place) * 1.000_000_2) as f32;
        }
    }
}

/// Shared memory of [`measure_tiles`].
pub const MEASURE_SHARED: u32 = RESCUE_SHARED;

macro_rules! all_pairs_kernels {
    ($($name:ident: $law:ty, $row:literal, $queries:ident, $values:expr, $resident:literal;)+) => {$(
        /// Sums in f32, to be completed by [`combine_f32_1`] or the like; the name says at which
        /// targets, by which power, and whether one or [`SEVERAL`] values of each point.
        ///
        /// Grid in x: a block for each `BLOCK * Q` queries, or for each patch of [`PATCH_ROWS`] rows
        /// and `ROW_THREADS * Q` columns; in y: blocks that share the segments. `exponents` replaces
        /// the setup's for each query, unless null.
        ///
        /// # Safety
        /// `places` has `2 * points` elements, `values` that of each value, `targets` `2 * count` (or
        /// is null for a grid, then `count` is `width * height`); neither `points` nor `count` is 0;
        /// `reaches` has what [`measure_tiles`] writes;
        /// `partial` has `count` for each sum, where blocks share segments for each segment; `setup` is
        /// as [`setup`] says.
        #[kernel(block = 128, resident = $resident)]
        pub unsafe fn $name(
            places: *const f64,
            values: *const f64,
            points: u32,
            segment: u32,
            targets: *const f64,
            count: u64,
            width: u32,
            height: u32,
            setup: *const f64,
            exponents: *const f64,
            reaches: *const f32,
            partial: *mut f64,
        ) {
            let points = Points { places, values, count: points, segment, reaches };
            let targets = Targets { places: targets, count, width, height };
            // SAFETY: passed on to the caller.
            unsafe {
                all_pairs::<$law, $row, { $queries as usize }, $values>(
                    points, targets, setup, exponents, partial,
                )
            };
        }
    )+};
}

all_pairs_kernels! {
    scattered_1: Power<1>, false, QUERIES, 1, 5;
    scattered_2: Power<2>, false, QUERIES, 1, 5;
    scattered_3: Power<3>, false, QUERIES, 1, 5;
    scattered_4: Power<4>, false, QUERIES, 1, 5;
    scattered_any: AnyPower, false, QUERIES, 1, 4;
    grid_1: Power<1>, true, QUERIES, 1, 5;
    grid_2: Power<2>, true, QUERIES, 1, 5;
    grid_3: Power<3>, true, QUERIES, 1, 5;
    grid_4: Power<4>, true, QUERIES, 1, 5;
    grid_any: AnyPower, true, QUERIES, 1, 5;
    scattered_2_several: Power<2>, false, QUERIES_SEVERAL, 4, 4;
    scattered_any_several: AnyPower, false, QUERIES_SEVERAL, 4, 4;
    grid_2_several: Power<2>, true, QUERIES_SEVERAL, 4, 4;
    grid_any_several: AnyPower, true, QUERIES_SEVERAL, 4, 4;
}

/// Adds the segments' sums of each query, in order, and writes the results; the body of the kernels
/// `combine`. Grid: a thread a query.
#[inline(always)]
unsafe fn combine_segments<T: Real, const V: usize>(
    segments: u32,
    in_f32: bool,
    targets: Targets,
    setup: Setup,
    results: Results<T>,
    partial: *const f64,
) {
    let query = thread::index_1d();
    if query >= targets.count {
        return;
    }
    // SAFETY: the query is below the count; the caller's arrays are as long as said.
    unsafe {
        let mut sums = [0.0; V];
        let mut weight = 0.0;
        let mut segment = 0;
        while segment < segments as u64 {
            let row = partial.add((segment * (1 + V as u64) * targets.count) as usize);
            weight += *row.add(query as usize);
            let mut v = 0;
            while v < V {
                sums[v] += *row.add(((v as u64 + 1) * targets.count + query) as usize);
                v += 1;
            }
            segment += 1;
        }
        let frame = Frame::new(setup);
        let [x, y, _] = targets.at(setup, query, 2);
        let smoothing = *setup.add(setup::SMOOTHING) as f32;
        // In f64 nothing is far.
        let far = in_f32 && is_far(frame.x(x) as f32, frame.y(y) as f32, smoothing);
        finish(weight, sums, far, setup, query, targets.count, results);
    }
}

macro_rules! combine_kernels {
    ($($name:ident: $type:ty, $values:literal;)+) => {$(
        /// Adds the segments' sums of each query, in order, and writes the results; `in_f32` is not 0
        /// where the fast kernels made them. Grid: a thread a query.
        ///
        /// # Safety
        /// As for the kernel that wrote `partial`.
        #[kernel(block = 128)]
        pub unsafe fn $name(
            segments: u32,
            in_f32: u32,
            targets: *const f64,
            count: u64,
            width: u32,
            setup: *const f64,
            results: *mut $type,
            rescued: *mut u32,
            partial: *const f64,
        ) {
            let targets = Targets { places: targets, count, width, height: 0 };
            let results = Results { values: results, rescued };
            // SAFETY: passed on to the caller.
            unsafe { combine_segments::<$type, $values>(segments, in_f32 != 0, targets, setup, results, partial) };
        }
    )+};
}

combine_kernels! {
    combine_f32_1: f32, 1;
    combine_f32_4: f32, 4;
    combine_f64_1: f64, 1;
    combine_f64_4: f64, 4;
}

/// How the general kernels measure, beside the setup.
#[derive(Clone, Copy)]
struct General {
    /// 2 in the plane, 3 on the sphere.
    dimensions: u32,
    /// 1 to 4, else any power.
    law: u32,
    /// For each sorted point its index, where query `i` leaves point `i` out; else null.
    left_out: *const u32,
    /// Minus half the power of each query, or null.
    exponents: *const f64,
}

/// The squared distance in f64: in the plane in units, on the sphere of the arc in units.
///
/// # Safety
/// `point` is one of `points` places of `dimensions` dimensions.
#[inline(always)]
unsafe fn squared_distance(
    dimensions: u32,
    scale: f64,
    (point, points): (*const f64, usize),
    query: [f64; 3],
) -> f64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let dx = *point - query[0];
        let dy = *point.add(points) - query[1];
        let plane = dx * dx + dy * dy;
        if dimensions < 3 {
            return plane * (scale * scale);
        }
        let dz = *point.add(2 * points) - query[2];
        let arc = (plane + dz * dz).arc_of_squared_chord() * scale;
        arc * arc
    }
}

/// The body of the kernels in f64, for whatever the fast ones do not: a thread a query, straight from
/// global memory; tiles and segments as there.
#[inline(always)]
unsafe fn general<const V: usize>(
    points: Points,
    targets: Targets,
    how: General,
    setup: Setup,
    partial: *mut f64,
) {
    let query = thread::index_1d();
    if query >= targets.count {
        return;
    }
    // SAFETY: query and points are below their counts; the caller's arrays are as long as said.
    unsafe {
        let scale = *setup.add(setup::SCALE);
        let smoothing = *setup.add(setup::SMOOTHING);
        let place = targets.at(setup, query, how.dimensions);
        let exponent = if how.exponents.is_null() {
            *setup.add(setup::EXPONENT)
        } else {
            *how.exponents.add(query as usize)
        };
        let (first, last) = segments(&points);
        let mut segment = first;
        while segment < last {
            let mut weights = 0.0;
            let mut values = [0.0; V];
            let mut i = segment as u64 * points.segment as u64 * TILE as u64;
            let end = u64::min(i + points.segment as u64 * TILE as u64, points.count as u64);
            while i < end {
                let point = i as usize;
                let squared = squared_distance(
                    how.dimensions,
                    scale,
                    (points.places.add(point), points.count as usize),
                    place,
                ) + smoothing;
                let mut weight = weight_by(how.law, squared, exponent);
                if !how.left_out.is_null() && *how.left_out.add(point) as u64 == query {
                    weight = 0.0;
                }
                weights += weight;
                let mut v = 0;
                while v < V {
                    let offset = *setup.add(setup::VALUES + 3 * v);
                    values[v] +=
                        weight * (*points.values.add(point + v * points.count as usize) - offset);
                    v += 1;
                }
                i += 1;
            }
            let split = thread::grid_dim_y() > 1;
            let row = if split { segment as u64 } else { 0 } * (1 + V as u64);
            let mut c = 0;
            while c < 1 + V {
                let sum = partial.add(((row + c as u64) * targets.count + query) as usize);
                let before = if split || segment == first { 0.0 } else { *sum };
                *sum = before + if c == 0 { weights } else { values[(c - 1) % V] };
                c += 1;
            }
            segment += 1;
        }
    }
}

macro_rules! general_kernels {
    ($($name:ident: $values:literal;)+) => {$(
        /// Sums in f64 whatever the fast kernels do not: on the sphere, with a power for each
        /// query, leaving one point out. Grid in x: a thread a query; in y as for the fast kernels.
        ///
        /// # Safety
        /// `places` has `dimensions * points` elements, `targets` `dimensions * count`, `left_out`
        /// (unless null) `points`, `exponents` (unless null) `count`; the rest as for the fast
        /// kernels.
        #[kernel(block = 128)]
        pub unsafe fn $name(
            places: *const f64,
            values: *const f64,
            points: u32,
            segment: u32,
            targets: *const f64,
            count: u64,
            width: u32,
            dimensions: u32,
            law: u32,
            left_out: *const u32,
            exponents: *const f64,
            setup: *const f64,
            partial: *mut f64,
        ) {
            let reaches = core::ptr::null();
            let points = Points { places, values, count: points, segment, reaches };
            let targets = Targets { places: targets, count, width, height: 0 };
            let how = General { dimensions, law, left_out, exponents };
            // SAFETY: passed on to the caller.
            unsafe { general::<$values>(points, targets, how, setup, partial) };
        }
    )+};
}

general_kernels! {
    general_1: 1;
    general_4: 4;
}

/// Threads of a block of [`rescue`](rescue_f32).
pub const RESCUE_BLOCK: u32 = 256;

const RESCUE_WARPS: u32 = RESCUE_BLOCK / warp::SIZE;

/// Shared memory of [`rescue`](rescue_f32).
pub const RESCUE_SHARED: u32 = RESCUE_WARPS * 8;

/// The combination of the block's values in a fixed order, in every thread.
///
/// # Safety
/// The whole block comes to the same call.
#[inline(always)]
unsafe fn of_block(shared: SharedArray<f64>, value: f64, combine: impl Fn(f64, f64) -> f64) -> f64 {
    // SAFETY: passed on to the caller; barriers stand between writes and reads.
    unsafe {
        let of_warp = warp::reduce(value, &combine);
        thread::sync_threads();
        if warp::lane_id() == 0 {
            shared.store(warp::warp_id(), of_warp);
        }
        thread::sync_threads();
        let mut all = shared.load(0);
        let mut i = 1;
        while i < RESCUE_WARPS {
            all = combine(all, shared.load(i));
            i += 1;
        }
        all
    }
}

/// Computes the queries on the list anew, a block a query: the mean of the data points that lie on it,
/// else weights relative to that of the nearest data point, so that none overflows.
#[inline(always)]
unsafe fn rescue<T: Real>(
    points: Points,
    value_count: u32,
    targets: Targets,
    how: General,
    setup: Setup,
    results: Results<T>,
) {
    let shared: SharedArray<f64> = Carver::new().array(RESCUE_WARPS);
    let n = points.count as usize;
    // SAFETY: the block stays together: the list is the same for all its threads. Queries and points
    // are below their counts.
    unsafe {
        let listed = *results.rescued;
        // In ground units, of which the squares are numbers, however many units of the data they are.
        let scale = *setup.add(setup::GROUND);
        let smoothing = *setup.add(setup::GROUND + 1);
        let mut at = thread::block_idx_x();
        while at < listed {
            let query = *results.rescued.add(1 + at as usize) as u64;
            let place = targets.at(setup, query, how.dimensions);
            let exponent = if how.exponents.is_null() {
                *setup.add(setup::EXPONENT)
            } else {
                *how.exponents.add(query as usize)
            };
            let counts = |i: usize| how.left_out.is_null() || *how.left_out.add(i) as u64 != query;
            let squared = |i: usize| {
                squared_distance(how.dimensions, scale, (points.places.add(i), n), place)
                    + smoothing
            };
            let mut nearest = f64::INFINITY;
            let mut i = thread::thread_idx_x() as usize;
            while i < n {
                if counts(i) {
                    nearest = f64::min(nearest, squared(i));
                }
                i += RESCUE_BLOCK as usize;
            }
            let nearest = of_block(shared, nearest, f64::min);
            let mut v = 0;
            while v < value_count as usize {
                let [offset, low, high] = bounds(setup, v);
                let (mut weights, mut sum) = (0.0, 0.0);
                let mut i = thread::thread_idx_x() as usize;
                while i < n {
                    let square = squared(i);
                    let mut weight = if nearest > 0.0 {
                        (exponent * (square / nearest).log2()).exp2()
                    } else {
                        (square == 0.0) as u32 as f64
                    };
                    if !counts(i) {
                        weight = 0.0;
                    }
                    let value = *points.values.add(i + v * n);
                    weights += weight;
                    // A point on the query gives its value, not what is left of it after an offset.
                    let offset = if nearest > 0.0 { offset } else { 0.0 };
                    if weight > 0.0 {
                        sum += weight * (value - offset);
                    }
                    i += RESCUE_BLOCK as usize;
                }
                let weights = of_block(shared, weights, |a, b| a + b);
                let sum = of_block(shared, sum, |a, b| a + b);
                if thread::thread_idx_x() == 0 {
                    let offset = if nearest > 0.0 { offset } else { 0.0 };
                    let value = if weights > 0.0 {
                        within(offset + sum / weights, low, high)
                    } else {
                        f64::NAN
                    };
                    *results.values.add((v as u64 * targets.count + query) as usize) =
                        T::from_f64(value);
                }
                v += 1;
            }
            at += thread::grid_dim_x();
        }
    }
}

macro_rules! rescue_kernels {
    ($($name:ident: $type:ty;)+) => {$(
        /// Computes the queries on the list anew, in f64. Grid: any number of blocks.
        ///
        /// # Safety
        /// As for the kernel that wrote the list.
        #[kernel(block = 256)]
        pub unsafe fn $name(
            places: *const f64,
            values: *const f64,
            value_count: u32,
            points: u32,
            targets: *const f64,
            count: u64,
            width: u32,
            dimensions: u32,
            left_out: *const u32,
            exponents: *const f64,
            setup: *const f64,
            results: *mut $type,
            rescued: *mut u32,
        ) {
            let reaches = core::ptr::null();
            let points = Points { places, values, count: points, segment: 1, reaches };
            let targets = Targets { places: targets, count, width, height: 0 };
            let how = General { dimensions, law: 0, left_out, exponents };
            let results = Results { values: results, rescued };
            // SAFETY: passed on to the caller.
            unsafe { rescue::<$type>(points, value_count, targets, how, setup, results) };
        }
    )+};
}

rescue_kernels! {
    rescue_f32: f32;
    rescue_f64: f64;
}

/// The thread's query and its place, in f32 relative to the middle of the data, in units; as in the
/// paper without regard to what f32 leaves.
#[inline(always)]
unsafe fn paper_query(targets: &Targets, setup: Setup) -> (u64, [f32; 2]) {
    // SAFETY: passed on to the caller.
    unsafe {
        let query = thread::index_1d();
        let frame = Frame::new(setup);
        let [x, y, _] = targets.at(setup, u64::min(query, targets.count - 1), 2);
        (query, [frame.x(x) as f32, frame.y(y) as f32])
    }
}

/// A data point in the same way: x, y, value.
#[inline(always)]
unsafe fn paper_point(points: &Points, frame: &Frame, setup: Setup, i: u32) -> [f32; 3] {
    // SAFETY: passed on to the caller.
    unsafe {
        let i = i as usize;
        [
            frame.x(*points.places.add(i)) as f32,
            frame.y(*points.places.add(i + points.count as usize)) as f32,
            (*points.values.add(i) - *setup.add(setup::VALUES)) as f32,
        ]
    }
}

/// A pair as in the paper: 1 / d^2, or a power of d^2 and its reciprocal.
#[inline(always)]
fn paper_add(square: bool, [x, y]: [f32; 2], p: [f32; 3], sums: &mut [f32; 2], law: [f32; 2]) {
    let (dx, dy) = (p[0] - x, p[1] - y);
    let squared = dx * dx + dy * dy + law[0];
    let weight = if square { 1.0 / squared } else { AnyPower::weight(squared, law[1]) };
    sums[0] += weight;
    sums[1] += weight * p[2];
}

/// The naive kernel: every thread reads every data point from global memory.
#[inline(always)]
unsafe fn naive(
    square: bool,
    points: Points,
    targets: Targets,
    setup: Setup,
    results: Results<f32>,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let (query, place) = paper_query(&targets, setup);
        if query >= targets.count {
            return;
        }
        let frame = Frame::new(setup);
        let law = [*setup.add(setup::SMOOTHING) as f32, *setup.add(setup::EXPONENT) as f32];
        let mut sums = [0.0; 2];
        let mut i = 0;
        while i < points.count {
            paper_add(square, place, paper_point(&points, &frame, setup, i), &mut sums, law);
            i += 1;
        }
        let far = is_far(place[0], place[1], law[0]);
        let (weight, sum) = (sums[0] as f64, [sums[1] as f64]);
        finish(weight, sum, far, setup, query, targets.count, results);
    }
}

/// The tiled kernel: a tile of as many data points as the block has threads, in shared memory.
#[inline(always)]
unsafe fn tiled(
    square: bool,
    points: Points,
    targets: Targets,
    setup: Setup,
    results: Results<f32>,
) {
    let tile: SharedArray<f32> = Carver::new().array(3 * PAPER_BLOCK);
    let me = thread::thread_idx_x();
    // SAFETY: the block stays together; the rest is passed on to the caller.
    unsafe {
        let (query, place) = paper_query(&targets, setup);
        let frame = Frame::new(setup);
        let law = [*setup.add(setup::SMOOTHING) as f32, *setup.add(setup::EXPONENT) as f32];
        let mut sums = [0.0; 2];
        let mut first = 0;
        while first < points.count {
            thread::sync_threads();
            if first + me < points.count {
                let point = paper_point(&points, &frame, setup, first + me);
                tile.store(me, point[0]);
                tile.store(me + PAPER_BLOCK, point[1]);
                tile.store(me + 2 * PAPER_BLOCK, point[2]);
            }
            thread::sync_threads();
            let count = u32::min(PAPER_BLOCK, points.count - first);
            let mut i = 0;
            while i < vector::unknown(count) {
                let point =
                    [tile.load(i), tile.load(i + PAPER_BLOCK), tile.load(i + 2 * PAPER_BLOCK)];
                paper_add(square, place, point, &mut sums, law);
                i += 1;
            }
            first += count;
        }
        if query < targets.count {
            let far = is_far(place[0], place[1], law[0]);
            let (weight, sum) = (sums[0] as f64, [sums[1] as f64]);
            finish(weight, sum, far, setup, query, targets.count, results);
        }
    }
}

/// Threads of a block, and points of a tile, of the paper's kernels.
pub const PAPER_BLOCK: u32 = 256;

/// Shared memory of the paper's tiled kernel.
pub const PAPER_SHARED: u32 = 3 * 4 * PAPER_BLOCK;

macro_rules! paper_kernels {
    ($($name:ident: $body:ident, $square:literal;)+) => {$(
        /// A kernel of the paper, with sums in f32 throughout. Grid: a thread a query.
        ///
        /// # Safety
        /// As for the fast kernels.
        #[kernel(block = 256)]
        pub unsafe fn $name(
            places: *const f64,
            values: *const f64,
            points: u32,
            targets: *const f64,
            count: u64,
            width: u32,
            setup: *const f64,
            results: *mut f32,
            rescued: *mut u32,
        ) {
            let reaches = core::ptr::null();
            let points = Points { places, values, count: points, segment: 1, reaches };
            let targets = Targets { places: targets, count, width, height: 0 };
            let results = Results { values: results, rescued };
            // SAFETY: passed on to the caller.
            unsafe { $body($square, points, targets, setup, results) };
        }
    )+};
}

paper_kernels! {
    naive_square: naive, true;
    naive_any: naive, false;
    tiled_square: tiled, true;
    tiled_any: tiled, false;
}

device_std::ptx_module! {
    "idw": scattered_1, scattered_2, scattered_3, scattered_4, scattered_any,
    grid_1, grid_2, grid_3, grid_4, grid_any,
    scattered_2_several, scattered_any_several, grid_2_several, grid_any_several,
    combine_f32_1, combine_f32_4, combine_f64_1, combine_f64_4,
    general_1, general_4, measure_tiles,
    rescue_f32, rescue_f64, naive_square, naive_any, tiled_square, tiled_any
}
