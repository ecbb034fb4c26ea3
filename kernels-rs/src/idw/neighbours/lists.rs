//! The neighbours of the queries of a block or a warp, in shared memory once they are known, and what
//! becomes of them.

use device_std::math;
use device_std::real::Real;
use device_std::shared::SharedArray;

use super::results::{Results, Sums, mean};
use super::search::{Index, Query, Search};

/// A list of neighbours for each of some threads, nearest first.
#[derive(Clone, Copy)]
pub struct Lists {
    /// Squared distances, later weights.
    pub squared: SharedArray<f64>,
    /// Which points.
    pub index: SharedArray<u32>,
    /// How many threads have a list.
    pub threads: u32,
    /// Which of them this is.
    pub thread: u32,
}

impl Lists {
    /// Where the thread keeps neighbour `i`.
    #[inline(always)]
    pub fn slot(self, i: u32) -> u32 {
        i * self.threads + self.thread
    }

    /// Keeps neighbour `i`.
    ///
    /// # Safety
    /// The list has room for it.
    #[inline(always)]
    pub unsafe fn store(self, i: u32, squared: f64, index: u32) {
        // SAFETY: the slot is the thread's own, and passed on to the caller.
        unsafe {
            self.squared.store(self.slot(i), squared);
            self.index.store(self.slot(i), index);
        }
    }

    /// Puts a neighbour among the `found` that there are, which are in order.
    ///
    /// # Safety
    /// The list has room for it.
    #[inline(always)]
    pub unsafe fn insert(self, found: u32, squared: f64, index: u32) {
        let mut to = found;
        // SAFETY: passed on to the caller; slots are the thread's own.
        unsafe {
            while to > 0 {
                let (other, other_index) =
                    (self.squared.load(self.slot(to - 1)), self.index.load(self.slot(to - 1)));
                if other < squared || (other == squared && other_index < index) {
                    break;
                }
                self.store(to, other, other_index);
                to -= 1;
            }
            self.store(to, squared, index);
        }
    }

    /// Writes values, and statistics, from the neighbours in the thread's list.
    ///
    /// # Safety
    /// `found` neighbours are in it; index, query and results are as [`interpolate`](super::interpolate) says.
    #[inline(always)]
    pub unsafe fn interpolate<T: Real>(
        self,
        index: &Index,
        search: &Search,
        query: &Query,
        found: u32,
        min_points: u32,
        results: &Results<T>,
    ) {
        // SAFETY: slots are the thread's own; the rest is passed on to the caller.
        unsafe {
            let enough = found >= min_points && found > 0;
            let smooth = search.smoothing > 0.0;
            let coincident = enough && !smooth && self.squared.load(self.slot(0)) == 0.0;
            let [first_offset, _, _] = index.range(0);
            let mut statistics = Sums::EMPTY;
            let nearest =
                if found > 0 { search.smoothed(self.squared.load(self.slot(0))) } else { 1.0 };
            let mut i = 0;
            while i < found {
                let squared = self.squared.load(self.slot(i));
                if !results.statistics.is_null() {
                    let value = *index.values.add(self.index.load(self.slot(i)) as usize);
                    statistics.add(value, first_offset, math::sqrt(search.on_ground(squared)));
                }
                let weight = if coincident {
                    (squared == 0.0) as u32 as f64
                } else {
                    search.weight(squared, nearest)
                };
                self.squared.store(self.slot(i), weight);
                i += 1;
            }
            if !results.statistics.is_null() {
                statistics.write(first_offset, query.index, results);
            }
            let mut v = 0;
            while v < results.value_count {
                let [offset, low, high] = index.range(v);
                let offset = if coincident { 0.0 } else { offset };
                let values = index.values.add(v as usize * index.points as usize);
                let (mut weights, mut sum) = (0.0, 0.0);
                let mut i = 0;
                while i < found {
                    let weight = self.squared.load(self.slot(i));
                    weights += weight;
                    sum += weight * (*values.add(self.index.load(self.slot(i)) as usize) - offset);
                    i += 1;
                }
                let value = if enough { mean(offset, sum, weights, low, high) } else { f64::NAN };
                results.put(v, query.index, value);
                v += 1;
            }
        }
    }
}
