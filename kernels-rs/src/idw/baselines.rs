//! The kernels of Mei, *Evaluating the Power of GPU Acceleration for IDW Interpolation Algorithm* (2014,
//! doi:10.1155/2014/171574), for one value: the baseline. Sums are in f32 throughout.

use device_std::shared::{Carver, SharedArray};
use device_std::vector;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::pairs::MODULE;
use super::pairs::combine::{is_far, is_good_mean, is_good_weight, list};
use super::pairs::within;
use super::targets::{Frame, Targets};
use super::weights::any_power;

/// Threads of a block, and points of a tile.
pub const BLOCK: u32 = 256;

/// The arguments that all threads of a launch share.
struct Paper<'a> {
    places: In<'a, f64>,
    values: In<'a, f64>,
    points: u32,
    range: [f64; 3],
    targets: Targets<'a>,
    frame: Frame,
    smoothing: f32,
    exponent: f32,
}

impl Paper<'_> {
    /// The thread's target and its place: f32, relative to the middle of the data, in units. As in the paper, the
    /// rounding to f32 is ignored.
    #[inline(always)]
    fn target(&self) -> (u64, [f32; 2]) {
        let target = thread::index_1d();
        let [x, y] = self.targets.at(u64::min(target, self.targets.count - 1));
        (target, [self.frame.x(x) as f32, self.frame.y(y) as f32])
    }

    /// A data point in the same way: x, y, value.
    #[inline(always)]
    fn point(&self, i: u32) -> [f32; 3] {
        let i = i as usize;
        [
            self.frame.x(self.places.get(i)) as f32,
            self.frame.y(self.places.get(i + self.points as usize)) as f32,
            (self.values.get(i) - self.range[0]) as f32,
        ]
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

    /// Writes a target's result. If the sums may be wrong, puts the target on the list of those to rescue.
    #[inline(always)]
    fn finish(
        &self,
        (target, [x, y]): (u64, [f32; 2]),
        [weight, sum]: [f32; 2],
        results: Out<'_, f32>,
        rescued: Out<'_, u32>,
    ) {
        let (weight, mean) = (weight as f64, sum as f64 / weight as f64);
        let good = is_good_weight(weight) && is_good_mean(mean);
        results.set(target, within(self.range[0] + mean, self.range) as f32);
        if !good || is_far(x, y, self.smoothing) {
            list(rescued, target);
        }
    }

    /// The sums of a target, from global memory.
    #[inline(always)]
    fn sum<const SQUARE: bool>(&self, place: [f32; 2]) -> [f32; 2] {
        let mut sums = [0.0; 2];
        let mut i = 0;
        while i < self.points {
            self.add::<SQUARE>(place, self.point(i), &mut sums);
            i += 1;
        }
        sums
    }

    /// The sums of a target, by tiles in shared memory.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn sum_by_tiles<const SQUARE: bool>(&self, place: [f32; 2]) -> [f32; 2] {
        let (tile, me) = (tile(&mut Carver::new()), thread::thread_idx_x());
        let mut sums = [0.0; 2];
        let mut first = 0;
        while first < self.points {
            // SAFETY: the whole block is here, and barriers stand between stores and loads.
            unsafe {
                thread::sync_threads();
                if first + me < self.points {
                    let [x, y, value] = self.point(first + me);
                    tile.store(me, x);
                    tile.store(me + BLOCK, y);
                    tile.store(me + 2 * BLOCK, value);
                }
                thread::sync_threads();
                let in_tile = u32::min(BLOCK, self.points - first);
                let mut i = 0;
                while i < vector::unknown(in_tile) {
                    let [x, y] = [tile.load(i), tile.load(i + BLOCK)];
                    let point = [x, y, tile.load(i + 2 * BLOCK)];
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
    carver.array(3 * BLOCK)
}

/// Bytes of it.
const TILE_BYTES: u32 = {
    let mut carver = Carver::new();
    let _ = tile(&mut carver);
    carver.bytes()
};

/// Sums over all points and writes results. With `TILED`, data points pass through shared memory, as many at a time as
/// the block has threads; otherwise every thread reads every data point from global memory. Grid: a thread a target.
///
/// # Safety
/// There are points and targets, and the targets are as [`Targets`] says. `places` has x of each point and then y;
/// `values` has one value of each, whose range is `range`. `results` has an element a target. `rescued` is as for
/// [`combine`](mod@super::pairs::combine::combine).
#[kernel(block = BLOCK, shared = if TILED { TILE_BYTES } else { 0 }, instances(
    naive_square: <false, true>;
    naive_any: <false, false>;
    tiled_square: <true, true>;
    tiled_any: <true, false>;
))]
pub unsafe fn sum_as_paper<const TILED: bool, const SQUARE: bool>(
    places: In<'_, f64>,
    values: In<'_, f64>,
    range: [f64; 3],
    points: u32,
    targets: Targets<'_>,
    frame: Frame,
    smoothing: f64,
    exponent: f64,
    results: Out<'_, f32>,
    rescued: Out<'_, u32>,
) {
    let (smoothing, exponent) = (smoothing as f32, exponent as f32);
    let paper = Paper { places, values, points, range, targets, frame, smoothing, exponent };
    let (target, place) = paper.target();
    let sums = match TILED {
        // SAFETY: the whole block is here.
        true => unsafe { paper.sum_by_tiles::<SQUARE>(place) },
        false => paper.sum::<SQUARE>(place),
    };
    if target < targets.count {
        paper.finish((target, place), sums, results, rescued);
    }
}
