//! The neighbours of a target in order of distance: their weights, and what they give.

use super::careful;
use super::index::Index;
use crate::Params;
use crate::points::Range;

/// Statistics of the neighbours of a target.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
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
pub(super) struct Candidate {
    /// Square of the distance; on the sphere of the chord.
    pub squared: f64,
    pub index: u32,
    /// In a search by quadrants, else 0.
    pub quadrant: u8,
}

impl Candidate {
    /// What orders candidates.
    pub fn key(&self) -> (u64, u32) {
        // The bits of floats that are not negative are in the order of their values.
        (self.squared.to_bits(), self.index)
    }
}

/// Memory that searches of one thread share; after a search it holds what was found.
#[derive(Default)]
pub(super) struct Scratch {
    /// The neighbours, nearest first.
    pub candidates: Vec<Candidate>,
    /// Whether there are as many as the parameters want.
    pub enough: bool,
    weights: Vec<f64>,
}

impl Scratch {
    /// The weights of the candidates, which are in order, relative to that of the nearest, so that none
    /// overflows. Those that lie on the target leave nothing to the others.
    pub fn weigh(&mut self, params: &Params) {
        let smoothing = params.smoothing * params.smoothing;
        let on_target =
            smoothing == 0.0 && self.candidates.first().is_some_and(|c| c.squared == 0.0);
        let squared = |c: &Candidate| {
            let squared = if params.geographic { careful::on_ground(c.squared) } else { c.squared };
            squared + smoothing
        };
        let nearest = self.candidates.first().map_or(1.0, squared);
        let weight = |c: &Candidate| {
            if on_target {
                return f64::from(u8::from(c.squared == 0.0));
            }
            let ratio = nearest / squared(c);
            match params.law() {
                1 => ratio.sqrt(),
                2 => ratio,
                3 => ratio * ratio.sqrt(),
                4 => ratio * ratio,
                _ => ratio.powf(0.5 * params.power),
            }
        };
        self.weights.clear();
        self.weights.extend(self.candidates.iter().map(weight));
    }

    /// Value `v` of the target, once its neighbours are weighed.
    pub fn value(&self, index: &Index, params: &Params, v: usize) -> f64 {
        if !self.enough {
            return f64::NAN;
        }
        let Range { offset, low, high } = index.range(v);
        let exact =
            params.smoothing == 0.0 && self.candidates.first().is_some_and(|c| c.squared == 0.0);
        let offset = if exact { 0.0 } else { offset };
        let (mut weights, mut sum) = (0.0, 0.0);
        for (c, &weight) in self.candidates.iter().zip(&self.weights) {
            weights += weight;
            if weight > 0.0 {
                sum += weight * (index.data.values[v][c.index as usize] - offset);
            }
        }
        if weights > 0.0 { (offset + sum / weights).clamp(low, high) } else { f64::NAN }
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
            if params.geographic { careful::on_ground(squared).sqrt() } else { squared.sqrt() }
        };
        found.nearest = on_ground(nearest.squared);
        // The rest is for statistics and the adaptive power.
        let (offset, n) = (index.range(0).offset, f64::from(found.count));
        let (mut sum, mut squares) = (0.0, 0.0);
        (found.min, found.max) = (f64::INFINITY, f64::NEG_INFINITY);
        for c in &self.candidates {
            let value = index.data.values[0][c.index as usize];
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
