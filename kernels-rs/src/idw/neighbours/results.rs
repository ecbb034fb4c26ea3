//! From a target's neighbours to its values and statistics.

use device_std::{In, Out, arguments, math};

use super::weighing::Weighing;
use crate::idw::statistic;

/// The values of the points.
#[arguments]
pub struct Values<'a> {
    /// One column after the other, in the order in which a search numbers points: the tree's order, or the points' own.
    pub of_points: In<'a, f64>,
    /// For each column: offset, lowest, highest.
    pub ranges: In<'a, f64>,
    /// How many columns.
    pub columns: u32,
    /// How many points.
    pub points: u32,
}

impl Values<'_> {
    /// The value of a point in column `v`.
    #[inline(always)]
    pub fn get(&self, v: u32, point: u32) -> f64 {
        self.of_points.get(v as u64 * self.points as u64 + point as u64)
    }

    /// Offset, lowest and highest of column `v`.
    #[inline(always)]
    pub fn range(&self, v: u32) -> [f64; 3] {
        [0, 1, 2].map(|i| self.ranges.get(3 * v + i))
    }
}

/// Where results go, in f32 or in f64: the values of all targets, column after column, and the [`statistic`]s likewise,
/// if wanted.
#[arguments]
pub struct Results<'a> {
    /// Values in f32; `None` for results in f64.
    pub values_f32: Option<Out<'a, f32>>,
    /// Values in f64.
    pub values_f64: Option<Out<'a, f64>>,
    /// Statistics in f32.
    pub statistics_f32: Option<Out<'a, f32>>,
    /// Statistics in f64.
    pub statistics_f64: Option<Out<'a, f64>>,
    /// How many targets.
    pub targets: u64,
}

/// Sets element `i` of the column that exists.
#[inline(always)]
fn set(f32s: Option<Out<'_, f32>>, f64s: Option<Out<'_, f64>>, i: u64, value: f64) {
    if let Some(column) = f32s {
        column.set(i, value as f32);
    } else if let Some(column) = f64s {
        column.set(i, value);
    }
}

/// The neighbours of a target, once they are known.
pub trait Neighbours {
    /// Whether there are at least as many as are wanted.
    fn are_enough(&self) -> bool;

    /// The squared distance of the nearest, if the visit does not begin with it.
    fn nearest(&self) -> Option<f64>;

    /// Shows the squared distance and position of each neighbour: in one order, whatever the group.
    ///
    /// # Safety
    /// The whole warp comes to the same call. The neighbours lie where their fields say.
    unsafe fn visit(&self, see: impl FnMut(f64, u32));
}

/// The sums over a target's neighbours.
#[derive(Clone, Copy)]
struct Sums {
    count: f64,
    values: f64,
    squares: f64,
    min: f64,
    max: f64,
    nearest: f64,
    distance: f64,
}

impl Sums {
    pub const EMPTY: Self = Self {
        count: 0.0,
        values: 0.0,
        squares: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        nearest: f64::INFINITY,
        distance: 0.0,
    };

    #[inline(always)]
    pub fn add(&mut self, value: f64, offset: f64, distance: f64) {
        let rest = value - offset;
        self.count += 1.0;
        self.values += rest;
        self.squares += rest * rest;
        self.min = f64::min(self.min, value);
        self.max = f64::max(self.max, value);
        self.nearest = f64::min(self.nearest, distance);
        self.distance += distance;
    }

    /// Writes the statistics of values whose sums are relative to `offset`.
    #[inline(always)]
    pub fn write(&self, offset: f64, target: u64, results: &Results<'_>) {
        let mean = self.values / self.count;
        let variance = f64::max(0.0, self.squares / self.count - mean * mean);
        let some = self.count > 0.0;
        let put = |i: usize, value: f64, missing: f64| {
            let at = i as u64 * results.targets + target;
            let value = if some { value } else { missing };
            set(results.statistics_f32, results.statistics_f64, at, value);
        };
        put(statistic::COUNT, self.count, 0.0);
        put(statistic::MIN, self.min, f64::NAN);
        put(statistic::MAX, self.max, f64::NAN);
        put(statistic::MEAN, mean + offset, f64::NAN);
        put(statistic::DEVIATION, math::sqrt(variance), f64::NAN);
        put(statistic::NEAREST, self.nearest, f64::NAN);
        put(statistic::DISTANCE, self.distance / self.count, f64::NAN);
    }
}

impl Results<'_> {
    /// Whether statistics are wanted.
    #[inline(always)]
    pub fn has_statistics(&self) -> bool {
        self.statistics_f32.is_some() || self.statistics_f64.is_some()
    }

    /// Writes values, and statistics, of a lane's target from its neighbours, added in their order. A lane without a target
    /// writes nothing.
    ///
    /// # Safety
    /// As [`Neighbours::visit`].
    #[inline(always)]
    pub unsafe fn interpolate(
        &self,
        values: &Values<'_>,
        weighing: &Weighing,
        target: Option<u64>,
        neighbours: &impl Neighbours,
    ) {
        // SAFETY: the neighbours may be visited, as the caller says.
        unsafe {
            if self.has_statistics() {
                let [offset, _, _] = values.range(0);
                let mut statistics = Sums::EMPTY;
                neighbours.visit(|squared, point| {
                    let distance = math::sqrt(weighing.on_ground(squared));
                    statistics.add(values.get(0, point), offset, distance);
                });
                if let Some(target) = target {
                    statistics.write(offset, target, self);
                }
            }
            let mut v = 0;
            while v < values.columns {
                let value = interpolate_one(values, weighing, neighbours, v);
                if let Some(target) = target {
                    self.put(v, target, value);
                }
                v += 1;
            }
        }
    }

    /// Writes value `v` of a target.
    #[inline(always)]
    pub fn put(&self, v: u32, target: u64, value: f64) {
        set(self.values_f32, self.values_f64, v as u64 * self.targets + target, value);
    }

    /// Writes that a target has no neighbour, and none of its values.
    #[inline(always)]
    pub fn put_nothing(&self, columns: u32, target: u64) {
        let mut v = 0;
        while v < columns {
            self.put(v, target, f64::NAN);
            v += 1;
        }
        if self.has_statistics() {
            Sums::EMPTY.write(0.0, target, self);
        }
    }
}

/// Value `v` of a target. Several values from one walk over the neighbours would take registers, and so cost warps.
///
/// # Safety
/// As [`Neighbours::visit`].
#[inline(always)]
unsafe fn interpolate_one(
    values: &Values<'_>,
    weighing: &Weighing,
    neighbours: &impl Neighbours,
    v: u32,
) -> f64 {
    let [range_offset, low, high] = values.range(v);
    let (mut sum, mut weights) = (0.0, 0.0);
    // The smoothed square of the nearest neighbour, once it is known.
    let mut nearest = neighbours.nearest().map_or(-1.0, |squared| weighing.smoothed(squared));
    let mut coincident = weighing.is_exact(nearest);
    // SAFETY: the neighbours may be visited, as the caller says.
    unsafe {
        neighbours.visit(|squared, point| {
            // Read before its weight is computed, which takes as long.
            let value = values.get(v, point);
            if nearest < 0.0 {
                nearest = weighing.smoothed(squared);
                coincident = weighing.is_exact(nearest);
            }
            let offset = if coincident { 0.0 } else { range_offset };
            let weight = if coincident {
                (squared == 0.0) as u32 as f64
            } else {
                weighing.weight(squared, nearest)
            };
            weights += weight;
            sum += weight * (value - offset);
        });
    }
    let offset = if coincident { 0.0 } else { range_offset };
    let value = mean(offset, sum, weights, low, high);
    if neighbours.are_enough() { value } else { f64::NAN }
}

/// The value from its sums, between the lowest and the highest.
#[inline(always)]
fn mean(offset: f64, sum: f64, weight: f64, low: f64, high: f64) -> f64 {
    if weight > 0.0 { f64::min(f64::max(offset + sum / weight, low), high) } else { f64::NAN }
}
