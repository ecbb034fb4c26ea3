//! Decides which points count for a target in sums over a radius, which have no list of points.

use crate::Params;
use crate::cpu::pairs::frame::MOST;
use crate::search::{Ellipse, Search};

/// A circle or an ellipse around each target; on the sphere a cap.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    /// The square of the radius; infinite for an ellipse.
    square: f64,
    ellipse: Option<Ellipse>,
    /// The factor from differences to ground units: a power of two, so that it loses nothing.
    unit: f64,
}

/// How much of a box counts for the targets of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Share {
    /// Nothing, for any target.
    Nothing,
    /// Some of it, or all of it for some targets.
    Some,
    /// All, for every target.
    All,
}

impl Limit {
    /// Returns the limit of a search by radius. Differences of coordinates come multiplied by `scale`, a power of two.
    pub fn of(params: &Params, scale: f64) -> Self {
        let Search { reach, ellipse, .. } = Search::of(params);
        Self { square: reach * reach, ellipse, unit: 1.0 / scale }
    }

    /// Whether a point counts that differs by this much from a target: the decision of the search by lists.
    #[inline(always)]
    pub fn holds(&self, difference: [f64; 3]) -> bool {
        let [dx, dy, dz] = difference.map(|d| d * self.unit);
        let is_near = dx * dx + dy * dy + dz * dz <= self.square;
        is_near && self.ellipse.is_none_or(|ellipse| ellipse.holds(dx, dy))
    }

    /// Makes squared distances infinite for the targets of a chunk for which a point does not count, so that the point
    /// weighs nothing.
    #[inline(always)]
    pub fn clear(
        &self,
        [px, py, pz]: [f64; 3],
        [x, y, z]: [&[f64; MOST]; 3],
        squares: &mut [f64; MOST],
    ) {
        let unit = self.unit;
        // Decided once, so that either loop is one of vectors.
        match self.ellipse {
            None => {
                for (k, square) in squares.iter_mut().enumerate() {
                    let (dx, dy) = ((px - x[k]) * unit, (py - y[k]) * unit);
                    let dz = (pz - z[k]) * unit;
                    let counts = dx * dx + dy * dy + dz * dz <= self.square;
                    *square = if counts { *square } else { f64::INFINITY };
                }
            }
            Some(ellipse) => {
                for (k, square) in squares.iter_mut().enumerate() {
                    let (dx, dy) = ((px - x[k]) * unit, (py - y[k]) * unit);
                    *square = if ellipse.holds(dx, dy) { *square } else { f64::INFINITY };
                }
            }
        }
    }

    /// Returns how much of a box counts, if all its points differ from all targets by numbers in these intervals.
    /// Rounding keeps the order of differences and of squares, so the decision holds for each point of the box.
    pub fn share(&self, differences: [[f64; 2]; 3]) -> Share {
        let axes = differences.map(|axis| axis.map(|d| d * self.unit));
        let square = |of: fn([f64; 2]) -> f64| {
            let [dx, dy, dz] = axes.map(of);
            dx * dx + dy * dy + dz * dz
        };
        let nearest = square(|[low, high]| low.max(-high).max(0.0));
        let farthest = square(|[low, high]| high.max(-low));
        let [x, y, _] = axes;
        if nearest > self.square || self.ellipse.is_some_and(|ellipse| ellipse.misses([x, y])) {
            return Share::Nothing;
        }
        match farthest <= self.square && self.ellipse.is_none_or(|e| e.covers([x, y])) {
            true => Share::All,
            false => Share::Some,
        }
    }
}
