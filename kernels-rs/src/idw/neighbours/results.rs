//! What becomes of a query's neighbours: values and statistics.

use device_std::math;
use device_std::real::Real;

use super::search::{Index, Query, Search};
use crate::idw::statistic;

/// Where results go: values, column after column, and unless null the [`statistic`]s likewise.
#[derive(Clone, Copy)]
pub struct Results<T> {
    pub values: *mut T,
    pub value_count: u32,
    pub statistics: *mut T,
    pub count: u64,
}

/// The neighbours of a query, once they are known.
pub trait Neighbours {
    /// Whether they are as many as are wanted at least.
    fn are_enough(&self) -> bool;

    /// Shows squared distance and index of each: the nearest first, of equal ones the lower index.
    ///
    /// # Safety
    /// They are of this index and query.
    unsafe fn visit(&self, index: &Index, query: &Query, see: impl FnMut(f64, u32));
}

/// The sums over a query's neighbours.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    count: f64,
    /// Neighbours that lie on the query.
    pub coincident: f64,
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
        coincident: 0.0,
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

    /// Writes the statistics of values whose sums had `offset` taken off.
    #[inline(always)]
    pub unsafe fn write<T: Real>(&self, offset: f64, query: u64, results: &Results<T>) {
        let mean = self.values / self.count;
        let variance = f64::max(0.0, self.squares / self.count - mean * mean);
        let some = self.count > 0.0;
        let put = |i: usize, value: f64, missing: f64| {
            let value = if some { value } else { missing };
            // SAFETY: the caller's statistics have `count` elements each.
            unsafe {
                *results.statistics.add((i as u64 * results.count + query) as usize) =
                    T::from_f64(value)
            }
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

impl Index {
    /// Offset, lowest and highest of value `v`.
    ///
    /// # Safety
    /// There is such a value.
    #[inline(always)]
    pub unsafe fn range(&self, v: u32) -> [f64; 3] {
        // SAFETY: there are three numbers for each value.
        unsafe {
            let of_value = self.ranges.add(3 * v as usize);
            [*of_value, *of_value.add(1), *of_value.add(2)]
        }
    }
}

impl<T: Real> Results<T> {
    /// Writes values, and statistics, from a query's neighbours, added in their order.
    ///
    /// # Safety
    /// The neighbours are of this index and query, as [`interpolate`](mod@super::interpolate) says.
    #[inline(always)]
    pub unsafe fn interpolate(
        &self,
        index: &Index,
        search: &Search,
        query: &Query,
        neighbours: &impl Neighbours,
    ) {
        // SAFETY: passed on to the caller; values are below the count.
        unsafe {
            if !self.statistics.is_null() {
                let [offset, _, _] = index.range(0);
                let mut statistics = Sums::EMPTY;
                neighbours.visit(index, query, |squared, point| {
                    let distance = math::sqrt(search.on_ground(squared));
                    statistics.add(*index.values.add(point as usize), offset, distance);
                });
                statistics.write(offset, query.index, self);
            }
            let mut v = 0;
            while v < self.value_count {
                let value = self.interpolate_one(index, search, query, neighbours, v);
                self.put(v, query.index, value);
                v += 1;
            }
        }
    }

    /// Value `v` of a query. To have several from one walk over the neighbours takes registers, and so warps.
    ///
    /// # Safety
    /// As there; there is such a value.
    #[inline(always)]
    unsafe fn interpolate_one(
        &self,
        index: &Index,
        search: &Search,
        query: &Query,
        neighbours: &impl Neighbours,
        v: u32,
    ) -> f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            let [range_offset, low, high] = index.range(v);
            let values = index.values.add(v as usize * index.points as usize);
            let (mut sum, mut weights, mut offset) = (0.0, 0.0, range_offset);
            // That of the nearest, with which the walk begins.
            let (mut nearest, mut coincident) = (-1.0, false);
            neighbours.visit(index, query, |squared, point| {
                if nearest < 0.0 {
                    nearest = search.smoothed(squared);
                    coincident = nearest == 0.0;
                    offset = if coincident { 0.0 } else { range_offset };
                }
                let weight = if coincident {
                    (squared == 0.0) as u32 as f64
                } else {
                    search.weight(squared, nearest)
                };
                weights += weight;
                sum += weight * (*values.add(point as usize) - offset);
            });
            let value = mean(offset, sum, weights, low, high);
            if neighbours.are_enough() { value } else { f64::NAN }
        }
    }

    /// Writes value `v` of a query.
    ///
    /// # Safety
    /// There are such a value and such a query.
    #[inline(always)]
    pub unsafe fn put(&self, v: u32, query: u64, value: f64) {
        // SAFETY: the values have `count` elements each.
        unsafe { *self.values.add((v as u64 * self.count + query) as usize) = T::from_f64(value) }
    }

    /// Writes that a query has no neighbour.
    ///
    /// # Safety
    /// There is such a query.
    #[inline(always)]
    pub unsafe fn put_nothing(&self, query: u64) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut v = 0;
            while v < self.value_count {
                self.put(v, query, f64::NAN);
                v += 1;
            }
            if !self.statistics.is_null() {
                Sums::EMPTY.write(0.0, query, self);
            }
        }
    }
}

/// The value from its sums, between the lowest and the highest.
#[inline(always)]
pub(super) fn mean(offset: f64, sum: f64, weight: f64, low: f64, high: f64) -> f64 {
    if weight > 0.0 { f64::min(f64::max(offset + sum / weight, low), high) } else { f64::NAN }
}
