//! What becomes of a query's neighbours: values and statistics.

use device_std::math;
use device_std::real::Real;

use super::search::Index;
use crate::idw::statistic;

/// Where results go: values, column after column, and unless null the [`statistic`]s likewise.
#[derive(Clone, Copy)]
pub struct Results<T> {
    pub values: *mut T,
    pub value_count: u32,
    pub statistics: *mut T,
    pub count: u64,
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
