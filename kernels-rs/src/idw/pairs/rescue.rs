//! Computes targets again in f64 that lie on a data point, or too near or too far for f32.

use device_std::block::BlockReduce;
use device_std::real::Real;
use device_std::shared::Carver;
use device_std::{In, Out, kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::general::{place_of, squared_distance};
use super::within;
use crate::idw::part::Weight;
use crate::idw::points::Points;
use crate::idw::targets::Targets;
use crate::idw::weights::{Weighting, any_power};

/// Threads of a block.
pub const RESCUE_BLOCK: u32 = 256;

/// The block's reduction, which combines its values.
pub(super) type Shared = BlockReduce<f64>;

/// The targets on the list, and the data that their values follow from.
struct Rescue<'a, T> {
    points: Points<'a>,
    targets: Targets<'a>,
    vectors: Option<In<'a, f64>>,
    /// Ground units in one of the places'.
    scale: f64,
    smoothing: f64,
    left_out: Option<In<'a, u32>>,
    results: Out<'a, T>,
    /// For each target the power of two, then the sums of weights in multiples of it.
    weights: Option<Out<'a, f64>>,
}

/// A target on the list.
struct Listed {
    target: u64,
    place: [f64; 3],
    exponent: f64,
}

impl<T: Real> Rescue<'_, T> {
    /// Whether point `i` counts for a target.
    #[inline(always)]
    fn counts(&self, target: u64, i: usize) -> bool {
        self.left_out.is_none_or(|left_out| left_out.get(i) as u64 != target)
    }

    /// The smoothed square of point `i`'s distance on the ground.
    #[inline(always)]
    fn squared(&self, place: [f64; 3], i: usize) -> f64 {
        let dimensions = if self.vectors.is_none() { 2 } else { 3 };
        let at = (self.points.places.from(i), self.points.count as usize);
        squared_distance(dimensions, self.scale, at, place) + self.smoothing
    }

    /// The square of the distance to the nearest point, in every thread.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn nearest(&self, shared: Shared, listed: &Listed) -> f64 {
        let mut nearest = f64::INFINITY;
        let mut i = thread::thread_idx_x() as usize;
        while i < self.points.count as usize {
            if self.counts(listed.target, i) {
                nearest = f64::min(nearest, self.squared(listed.place, i));
            }
            i += RESCUE_BLOCK as usize;
        }
        // SAFETY: the whole block is here.
        unsafe { shared.reduce(nearest, f64::INFINITY, f64::min) }
    }

    /// Writes value `v`: the mean of the data points that lie on the target, or else of all points. Weights are then
    /// relative to that of the nearest data point, so that none overflows.
    ///
    /// # Safety
    /// The whole block comes to the same call.
    #[inline(always)]
    unsafe fn write(&self, shared: Shared, listed: &Listed, nearest: f64, v: usize) {
        let n = self.points.count as usize;
        let range = self.points.range(v);
        // A point on the target gives its value itself; an offset taken off and added again would round it.
        let offset = if nearest > 0.0 { range[0] } else { 0.0 };
        let (mut weights, mut sum) = (0.0, 0.0);
        let mut i = thread::thread_idx_x() as usize;
        while i < n {
            let square = self.squared(listed.place, i);
            let mut weight = if nearest > 0.0 {
                any_power(square / nearest, listed.exponent)
            } else {
                (square == 0.0) as u32 as f64
            };
            if !self.counts(listed.target, i) {
                weight = 0.0;
            }
            let value = self.points.values.get(i + v * n);
            weights += weight;
            if weight > 0.0 {
                sum += weight * (value - offset);
            }
            i += RESCUE_BLOCK as usize;
        }
        // SAFETY: the whole block is here.
        let (weights, sum) = unsafe {
            let weights = shared.reduce(weights, 0.0, |a, b| a + b);
            (weights, shared.reduce(sum, 0.0, |a, b| a + b))
        };
        if thread::thread_idx_x() == 0 {
            // If the target is not finite, every distance is NaN, and the weights mean nothing.
            let has_value = nearest < f64::INFINITY && weights > 0.0;
            let value = if has_value { within(offset + sum / weights, range) } else { f64::NAN };
            let count = self.targets.count;
            self.results.set(v as u64 * count + listed.target, T::from_f64(value));
            if v == 0
                && let Some(out) = self.weights
            {
                let weight = Weight::at_square(nearest, listed.exponent, weights);
                let Weight { exponent, sum } = if has_value { weight } else { Weight::NONE };
                out.set(listed.target, exponent);
                out.set(count + listed.target, sum);
            }
        }
    }
}

/// Computes the targets on the list again, in f64, a block a target. Grid: any number of blocks.
///
/// `scale` is the number of ground units in a unit of the places; the smoothing is in ground units. So their squares
/// stay finite, whatever the size of the data.
///
/// # Safety
/// `rescued` and `weights` are as [`combine`](mod@super::combine::combine) leaves them; the rest as for
/// [`sum_in_f64`](mod@super::general::sum_in_f64).
#[kernel(
    block = RESCUE_BLOCK,
    carve = |carver| Shared::new(carver, RESCUE_BLOCK as usize),
    instances(f32: <f32>; f64: <f64>)
)]
pub unsafe fn rescue<T: Real>(
    points: Points<'_>,
    value_count: u32,
    targets: Targets<'_>,
    vectors: Option<In<'_, f64>>,
    scale: f64,
    weighting: Weighting<'_>,
    left_out: Option<In<'_, u32>>,
    results: Out<'_, T>,
    weights: Option<Out<'_, f64>>,
    rescued: In<'_, u32>,
) {
    let shared = Shared::new(&mut Carver::new(), RESCUE_BLOCK as usize);
    let smoothing = weighting.smoothing;
    let rescue = Rescue { points, targets, vectors, scale, smoothing, left_out, results, weights };
    let listed = rescued.get(0u32);
    let mut at = thread::block_idx_x();
    while at < listed {
        let target = rescued.get(1 + at as usize) as u64;
        let exponent = weighting.exponent_of(target);
        let listed = Listed { target, place: place_of(&targets, vectors, target), exponent };
        // SAFETY: the block stays together: the list is the same for all its threads.
        unsafe {
            let nearest = rescue.nearest(shared, &listed);
            let mut v = 0;
            while v < value_count as usize {
                rescue.write(shared, &listed, nearest, v);
                v += 1;
            }
        }
        at += thread::grid_dim_x();
    }
}
