//! The kernels of Mei, *Evaluating the Power of GPU Acceleration for IDW Interpolation Algorithm* (2014,
//! doi:10.1155/2014/171574), for one value: the baseline. Sums are in f32 throughout.

use device_std::shared::{Carver, SharedArray};
use device_std::vector;
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::combine::{is_far, is_good_mean, is_good_weight, list};
use super::within;
use crate::idw::targets::{Frame, Targets};
use crate::idw::weights::any_power;

/// Threads of a block, and points of a tile.
pub const PAPER_BLOCK: u32 = 256;

/// What every thread of a launch has.
struct Paper {
    places: *const f64,
    values: *const f64,
    points: u32,
    range: [f64; 3],
    targets: Targets,
    frame: Frame,
    smoothing: f32,
    exponent: f32,
}

impl Paper {
    /// The thread's query and its place, in f32 relative to the middle of the data, in units; as in the
    /// paper without regard to what f32 leaves.
    #[inline(always)]
    unsafe fn query(&self) -> (u64, [f32; 2]) {
        let query = thread::index_1d();
        // SAFETY: the query is brought below the count.
        let [x, y] = unsafe { self.targets.at(u64::min(query, self.targets.count - 1)) };
        (query, [self.frame.x(x) as f32, self.frame.y(y) as f32])
    }

    /// A data point in the same way: x, y, value.
    #[inline(always)]
    unsafe fn point(&self, i: u32) -> [f32; 3] {
        let i = i as usize;
        // SAFETY: passed on to the caller.
        unsafe {
            [
                self.frame.x(*self.places.add(i)) as f32,
                self.frame.y(*self.places.add(i + self.points as usize)) as f32,
                (*self.values.add(i) - self.range[0]) as f32,
            ]
        }
    }

    /// A pair as in the paper: 1 / d^2, or a power of d^2 and its reciprocal.
    #[inline(always)]
    fn add<const SQUARE: bool>(&self, [x, y]: [f32; 2], p: [f32; 3], sums: &mut [f32; 2]) {
        let (dx, dy) = (p[0] - x, p[1] - y);
        let squared = dx * dx + dy * dy + self.smoothing;
        let weight = if SQUARE { 1.0 / squared } else { any_power(squared, self.exponent) };
        sums[0] += weight;
        sums[1] += weight * p[2];
    }

    /// Writes a query's result, or puts it on the list of those to rescue.
    #[inline(always)]
    unsafe fn finish(
        &self,
        (query, [x, y]): (u64, [f32; 2]),
        [weight, sum]: [f32; 2],
        results: *mut f32,
        rescued: *mut u32,
    ) {
        let (weight, mean) = (weight as f64, sum as f64 / weight as f64);
        let good = is_good_weight(weight) && is_good_mean(mean);
        // SAFETY: the query is below the count.
        unsafe {
            *results.add(query as usize) = within(self.range[0] + mean, self.range) as f32;
            if !good || is_far(x, y, self.smoothing) {
                list(rescued, query);
            }
        }
    }

    /// The sums of a query, from global memory.
    #[inline(always)]
    unsafe fn sum<const SQUARE: bool>(&self, place: [f32; 2]) -> [f32; 2] {
        let mut sums = [0.0; 2];
        let mut i = 0;
        while i < self.points {
            // SAFETY: the point is below the count.
            self.add::<SQUARE>(place, unsafe { self.point(i) }, &mut sums);
            i += 1;
        }
        sums
    }

    /// The sums of a query, by tiles in shared memory.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn sum_by_tiles<const SQUARE: bool>(&self, place: [f32; 2]) -> [f32; 2] {
        let (tile, me) = (tile(&mut Carver::new()), thread::thread_idx_x());
        let mut sums = [0.0; 2];
        let mut first = 0;
        while first < self.points {
            // SAFETY: points are below their count; barriers stand between stores and loads.
            unsafe {
                thread::sync_threads();
                if first + me < self.points {
                    let [x, y, value] = self.point(first + me);
                    tile.store(me, x);
                    tile.store(me + PAPER_BLOCK, y);
                    tile.store(me + 2 * PAPER_BLOCK, value);
                }
                thread::sync_threads();
                let in_tile = u32::min(PAPER_BLOCK, self.points - first);
                let mut i = 0;
                while i < vector::unknown(in_tile) {
                    let [x, y] = [tile.load(i), tile.load(i + PAPER_BLOCK)];
                    let point = [x, y, tile.load(i + 2 * PAPER_BLOCK)];
                    self.add::<SQUARE>(place, point, &mut sums);
                    i += 1;
                }
                first += in_tile;
            }
        }
        sums
    }
}

/// A tile of data points: x, y and value of each.
#[inline(always)]
const fn tile(carver: &mut Carver) -> SharedArray<f32> {
    carver.array(3 * PAPER_BLOCK)
}

/// Bytes of it.
const TILE_BYTES: u32 = {
    let mut carver = Carver::new();
    let _ = tile(&mut carver);
    carver.bytes()
};

/// Sums over all points and writes results. `TILED`, data points pass through shared memory, as many at a
/// time as the block has threads; else every thread reads every data point from global memory. Grid: a
/// thread a query.
///
/// # Safety
/// As for [`sum_tiles`](mod@super::direct::sum_tiles) and [`combine`](mod@super::combine::combine), with one value,
/// whose range is `range`.
#[kernel(block = PAPER_BLOCK, shared = if TILED { TILE_BYTES } else { 0 }, instances(
    naive_square: <false, true>;
    naive_any: <false, false>;
    tiled_square: <true, true>;
    tiled_any: <true, false>;
))]
pub unsafe fn sum_as_paper<const TILED: bool, const SQUARE: bool>(
    places: *const f64,
    values: *const f64,
    range: [f64; 3],
    points: u32,
    x: *const f64,
    y: *const f64,
    count: u64,
    width: u32,
    grid: [f64; 3],
    centre: [f64; 2],
    scale: f64,
    smoothing: f64,
    exponent: f64,
    results: *mut f32,
    rescued: *mut u32,
) {
    let targets = Targets { x, y, count, width, height: 0, grid };
    let frame = Frame::new(centre, scale);
    let (smoothing, exponent) = (smoothing as f32, exponent as f32);
    let paper = Paper { places, values, points, range, targets, frame, smoothing, exponent };
    // SAFETY: passed on to the caller; the whole block comes here.
    unsafe {
        let (query, place) = paper.query();
        let sums =
            if TILED { paper.sum_by_tiles::<SQUARE>(place) } else { paper.sum::<SQUARE>(place) };
        if query < count {
            paper.finish((query, place), sums, results, rescued);
        }
    }
}
