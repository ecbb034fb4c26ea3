//! Queries that lie on a data point, or too near or too far for f32, anew in f64.

use device_std::block::BlockReduce;
use device_std::real::Real;
use device_std::shared::Carver;
use device_std::{kernel, thread};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::general::{place_of, squared_distance};
use super::{Points, within};
use crate::idw::part::Weight;
use crate::idw::targets::Targets;

/// Threads of a block.
pub const RESCUE_BLOCK: u32 = 256;

/// What a block combines its values in.
pub(super) type Shared = BlockReduce<f64>;

/// The list's queries, and all that their values follow from.
struct Rescue<T> {
    points: Points,
    targets: Targets,
    vectors: *const f64,
    /// Ground units in one of the places'.
    scale: f64,
    smoothing: f64,
    left_out: *const u32,
    results: *mut T,
    /// Of each query the power of two, then the sums of weights beside it, or null.
    weights: *mut f64,
}

/// A query on the list.
struct Listed {
    query: u64,
    place: [f64; 3],
    exponent: f64,
}

impl<T: Real> Rescue<T> {
    /// Whether point `i` counts for a query.
    #[inline(always)]
    unsafe fn counts(&self, query: u64, i: usize) -> bool {
        // SAFETY: the point is below the count.
        self.left_out.is_null() || unsafe { *self.left_out.add(i) } as u64 != query
    }

    /// The square of its distance on the ground, smoothed.
    #[inline(always)]
    unsafe fn squared(&self, place: [f64; 3], i: usize) -> f64 {
        let dimensions = if self.vectors.is_null() { 2 } else { 3 };
        // SAFETY: the point is below the count.
        unsafe {
            let at = (self.points.places.add(i), self.points.count as usize);
            squared_distance(dimensions, self.scale, at, place) + self.smoothing
        }
    }

    /// The square of the distance to the nearest point, in every thread.
    #[inline(always)]
    unsafe fn nearest(&self, shared: Shared, listed: &Listed) -> f64 {
        let mut nearest = f64::INFINITY;
        let mut i = thread::thread_idx_x() as usize;
        // SAFETY: points are below their count; the whole block is here.
        unsafe {
            while i < self.points.count as usize {
                if self.counts(listed.query, i) {
                    nearest = f64::min(nearest, self.squared(listed.place, i));
                }
                i += RESCUE_BLOCK as usize;
            }
            shared.reduce(nearest, f64::INFINITY, f64::min)
        }
    }

    /// Writes value `v`: the mean of the data points that lie on the query, else weights relative to that
    /// of the nearest data point, so that none overflows.
    #[inline(always)]
    unsafe fn write(&self, shared: Shared, listed: &Listed, nearest: f64, v: usize) {
        let n = self.points.count as usize;
        // SAFETY: points are below their count; the whole block is here.
        unsafe {
            let range = self.points.range(v);
            // A point on the query gives its value, not what is left of it after an offset.
            let offset = if nearest > 0.0 { range[0] } else { 0.0 };
            let (mut weights, mut sum) = (0.0, 0.0);
            let mut i = thread::thread_idx_x() as usize;
            while i < n {
                let square = self.squared(listed.place, i);
                let mut weight = if nearest > 0.0 {
                    (listed.exponent * (square / nearest).log2()).exp2()
                } else {
                    (square == 0.0) as u32 as f64
                };
                if !self.counts(listed.query, i) {
                    weight = 0.0;
                }
                let value = *self.points.values.add(i + v * n);
                weights += weight;
                if weight > 0.0 {
                    sum += weight * (value - offset);
                }
                i += RESCUE_BLOCK as usize;
            }
            let weights = shared.reduce(weights, 0.0, |a, b| a + b);
            let sum = shared.reduce(sum, 0.0, |a, b| a + b);
            if thread::thread_idx_x() == 0 {
                // From a query that is no place no distance is a number, and weights mean nothing.
                let has_value = nearest < f64::INFINITY && weights > 0.0;
                let value =
                    if has_value { within(offset + sum / weights, range) } else { f64::NAN };
                let at = v as u64 * self.targets.count + listed.query;
                *self.results.add(at as usize) = T::from_f64(value);
                if v == 0 && !self.weights.is_null() {
                    let weight = Weight::at_square(nearest, listed.exponent, weights);
                    self.write_weight(listed.query, if has_value { weight } else { Weight::NONE });
                }
            }
        }
    }

    /// Writes how much all points weigh for a query.
    #[inline(always)]
    unsafe fn write_weight(&self, query: u64, Weight { exponent, sum }: Weight) {
        // SAFETY: the query is below the count; there are two numbers for each.
        unsafe {
            *self.weights.add(query as usize) = exponent;
            *self.weights.add((self.targets.count + query) as usize) = sum;
        }
    }
}

/// Computes the queries on the list anew, in f64, a block a query. Grid: any number of blocks.
///
/// `scale` is the ground units in one of the places', `smoothing` the square in ground units, of which the
/// squares are numbers, however many units of the data they are.
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
    places: *const f64,
    values: *const f64,
    ranges: *const f64,
    points: u32,
    value_count: u32,
    x: *const f64,
    y: *const f64,
    vectors: *const f64,
    count: u64,
    width: u32,
    grid: [f64; 3],
    scale: f64,
    smoothing: f64,
    exponent: f64,
    exponents: *const f64,
    left_out: *const u32,
    results: *mut T,
    weights: *mut f64,
    rescued: *const u32,
) {
    let shared = Shared::new(&mut Carver::new(), RESCUE_BLOCK as usize);
    let points = Points { places, values, count: points, segment: 1, ranges };
    let targets = Targets { x, y, count, width, height: 0, grid };
    let rescue = Rescue { points, targets, vectors, scale, smoothing, left_out, results, weights };
    // SAFETY: the block stays together: the list is the same for all its threads. Queries and points
    // are below their counts.
    unsafe {
        let listed = *rescued;
        let mut at = thread::block_idx_x();
        while at < listed {
            let query = *rescued.add(1 + at as usize) as u64;
            let exponent =
                if exponents.is_null() { exponent } else { *exponents.add(query as usize) };
            let listed = Listed { query, place: place_of(&targets, vectors, query), exponent };
            let nearest = rescue.nearest(shared, &listed);
            let mut v = 0;
            while v < value_count as usize {
                rescue.write(shared, &listed, nearest, v);
                v += 1;
            }
            at += thread::grid_dim_x();
        }
    }
}
