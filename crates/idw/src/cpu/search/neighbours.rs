//! The neighbours of a target in order of distance, their weights, and the target's value.

use kernels_rs::idw::kernel_weights::{FIRST_KERNEL, kernel_weight};

use crate::Params;
use crate::cpu::f64_value;
use crate::cpu::index::Index;
use crate::cpu::search::kd_tree::Way;
use crate::points::Range;

/// Statistics of the neighbours of a target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub count: u32,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub deviation: f64,
    /// The distance to the nearest, on the ground.
    pub nearest: f64,
    /// The mean distance, on the ground.
    pub distance: f64,
}

/// A point near a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// The squared distance; on the sphere the squared chord.
    pub squared: f64,
    pub index: u32,
    /// Its index among the sorted points.
    pub sorted: u32,
    /// The quadrant in a search by quadrants, else 0.
    pub quadrant: u8,
}

impl Candidate {
    /// Returns the key that orders candidates.
    pub fn key(&self) -> (u64, u32) {
        // The bits of floats that are not negative are in the order of their values.
        (self.squared.to_bits(), self.index)
    }
}

/// Memory that searches of one thread share; after a search it holds what was found.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The neighbours, nearest first.
    pub candidates: Vec<Candidate>,
    /// Whether the search found as many neighbours as the parameters want.
    pub enough: bool,
    /// Whether there are too many neighbours for a list. Then the list is empty, and the sum needs none.
    pub many: bool,
    /// The stack of a single search.
    pub way: Way,
    weights: Vec<f64>,
    /// Whether the nearest lies on the target, which then has its value.
    is_exact: bool,
}

/// How neighbours weigh.
#[derive(Clone, Copy)]
pub(crate) struct Law {
    law: u32,
    /// Minus half the power, or the square of a bandwidth.
    exponent: f64,
    /// The square of the smoothing.
    smoothing: f64,
    geographic: bool,
}

impl Law {
    pub fn of(params: &Params) -> Self {
        Self {
            law: params.law(),
            exponent: params.exponent(),
            smoothing: params.smoothing * params.smoothing,
            geographic: params.geographic,
        }
    }

    /// Whether a nearest neighbour lies on the target, which then has its value.
    #[inline(always)]
    pub fn is_exact(&self, nearest: f64) -> bool {
        self.smoothing == 0.0 && nearest == 0.0 && self.law < FIRST_KERNEL
    }

    /// Returns the weight of a neighbour relative to the weight of the nearest, so that none overflows. If
    /// neighbours lie on the target, all others weigh nothing. `nearest` is [`smoothed`](Self::smoothed); `squared`
    /// is not.
    #[inline(always)]
    pub fn weight(&self, is_exact: bool, nearest: f64, squared: f64) -> f64 {
        if is_exact {
            return f64::from(u8::from(squared == 0.0));
        }
        if self.law >= FIRST_KERNEL {
            return kernel_weight(self.law, self.smoothed(squared), nearest, self.exponent);
        }
        let ratio = nearest / self.smoothed(squared);
        match self.law {
            1 => ratio.sqrt(),
            2 => ratio,
            3 => ratio * ratio.sqrt(),
            4 => ratio * ratio,
            _ => ratio.powf(-self.exponent),
        }
    }

    /// Returns the square of a distance on the ground plus the square of the smoothing, from the square of a distance
    /// in coordinates.
    #[inline(always)]
    pub fn smoothed(&self, squared: f64) -> f64 {
        let squared = if self.geographic { f64_value::on_ground(squared) } else { squared };
        squared + self.smoothing
    }
}

/// Returns the mean from the sums of weights and of weighted values, less their offset.
#[inline(always)]
pub(crate) fn mean(range: Range, is_exact: bool, weights: f64, sum: f64) -> f64 {
    let offset = range.offset_of(is_exact);
    if weights > 0.0 { (offset + sum / weights).clamp(range.low, range.high) } else { f64::NAN }
}

impl Scratch {
    /// Leaves a target to the sums without a list. Returns true: the search is done.
    pub fn sum_without_list(&mut self) -> bool {
        self.candidates.clear();
        (self.many, self.enough) = (true, true);
        true
    }

    /// Weighs the candidates, which are in order.
    pub fn weigh(&mut self, params: &Params) {
        let law = Law::of(params);
        let nearest = self.candidates.first().map_or(f64::INFINITY, |c| c.squared);
        self.is_exact = law.is_exact(nearest);
        let nearest = law.smoothed(nearest);
        self.weights.clear();
        let weight = |c: &Candidate| law.weight(self.is_exact, nearest, c.squared);
        self.weights.extend(self.candidates.iter().map(weight));
    }

    /// Returns value `v` of the target, after its neighbours have weights.
    pub fn value(&self, index: &Index, v: usize) -> f64 {
        if !self.enough {
            return f64::NAN;
        }
        let range = index.range(v);
        let offset = range.offset_of(self.is_exact);
        let (mut weights, mut sum) = (0.0, 0.0);
        for (c, &weight) in self.candidates.iter().zip(&self.weights) {
            weights += weight;
            if weight > 0.0 {
                sum += weight * (index.values[v][c.sorted as usize] - offset);
            }
        }
        mean(range, self.is_exact, weights, sum)
    }

    /// The statistics of the first value.
    pub fn found(&self, index: &Index, params: &Params) -> Found {
        let missing = f64::NAN;
        let mut found = Found { count: self.candidates.len() as u32, ..Found::default() };
        let Some(nearest) = self.candidates.first() else {
            let (min, max, mean, deviation) = (missing, missing, missing, missing);
            return Found {
                count: 0,
                min,
                max,
                mean,
                deviation,
                nearest: missing,
                distance: missing,
            };
        };
        let on_ground = |squared: f64| {
            if params.geographic { f64_value::on_ground(squared).sqrt() } else { squared.sqrt() }
        };
        found.nearest = on_ground(nearest.squared);
        // The rest is for statistics and the adaptive power.
        let (offset, n) = (index.range(0).offset, f64::from(found.count));
        let (mut sum, mut squares) = (0.0, 0.0);
        (found.min, found.max) = (f64::INFINITY, f64::NEG_INFINITY);
        for c in &self.candidates {
            let value = index.values[0][c.sorted as usize];
            (found.min, found.max) = (found.min.min(value), found.max.max(value));
            sum += value - offset;
            squares += (value - offset) * (value - offset);
            found.distance += on_ground(c.squared) / n;
        }
        let mean = sum / n;
        found.mean = offset + mean;
        found.deviation = (squares / n - mean * mean).max(0.0).sqrt();
        found
    }
}
