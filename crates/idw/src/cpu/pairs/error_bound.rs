//! Bounds the rounding error of an f32 sum over a group of points, and sums again in f64 if the bound is too large.
//!
//! In: a chunk of targets and their f32 sums over a *group*, a tile or leaf of points relative to an origin. Out:
//! running sums with a relative error of at most 1e-5. `kernels_rs::idw::error_bound` has the idea, the drawing and the
//! proof; the test here is the same.
//!
//! ```text
//! add(group, chunk):
//!     the chunk's box is farther from the group than twice its reach: add the f32 sums, nothing is tested (is_near)
//!     for each target nearer than that:
//!         p r S^(1/p) <= 128:                     fine, with a share of at most 1
//!         p r S^(1/p) share <= 128:               fine, with the share of this group in all weights and values, which
//!                                                 counts as 2^-9 / p at least
//!         p r share / d_min <= 128:               fine, with the least distance itself
//!         else, or a point is left out:           sum the group again in f64
//! ```
//!
//! If the group reaches `r` from its origin, a place has an error of `2^-24 r`. So a weight `d^-p` has a relative error
//! of `p 2^-24 r / d`. S is the sum of the group's weights, and `1 / d <= S^(1/p)`. The tests come by rising cost: a
//! root, some divisions, a pass over the group.

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::pairs::frame::{Chunk, Frame, MOST, Sums};
use crate::points::Range;

/// The largest error of the result that one group may cause, in multiples of `2^-24`: 7.6e-6, below the promised 1e-5.
const MAX_DOUBT: f64 = 128.0;

/// The least share times the power, as in `kernels_rs::idw::error_bound`.
const LEAST_SHARE: f64 = MAX_DOUBT / 65_536.0;

/// Tests sums over groups of equal size, and replaces those that fail.
pub(crate) struct Doubt<'a> {
    index: &'a Index<'a>,
    frame: Frame,
    group: usize,
    origins: Vec<[f64; 2]>,
    /// How far the points of each group are from its origin, along either axis.
    reaches: Vec<f64>,
    smoothing: f64,
    law: u32,
    /// The columns of values that are summed.
    first: usize,
    columns: usize,
}

impl<'a> Doubt<'a> {
    /// Makes the test for groups of `group` points, relative to these origins.
    pub fn new(
        index: &'a Index<'a>,
        params: &Params,
        frame: Frame,
        (group, origins): (usize, Vec<[f64; 2]>),
        (first, columns): (usize, usize),
    ) -> Self {
        let place = |i: usize| frame.place(index.places[i][0], index.places[i][1]);
        let reach = |(g, [x, y]): (usize, &[f64; 2])| {
            let points = g * group..index.len().min((g + 1) * group);
            points.map(place).fold(0.0, |far, p| (p[0] - x).abs().max((p[1] - y).abs()).max(far))
        };
        Self {
            index,
            frame,
            group,
            reaches: origins.iter().enumerate().map(reach).collect(),
            origins,
            smoothing: (params.smoothing * frame.scale).powi(2),
            law: params.law(),
            first,
            columns,
        }
    }

    /// Whether any place in a box is near a group.
    pub fn is_near(&self, group: usize, (low, high): &([f64; 2], [f64; 2])) -> bool {
        let (origin, reach) = (self.origins[group], 2.0 * self.reaches[group]);
        (0..2).all(|axis| low[axis] - origin[axis] <= reach && origin[axis] - high[axis] <= reach)
    }

    /// Adds the sums of a chunk over a group to the running sums. If a target's sums fail the test, or the target
    /// leaves out a point of the group, f64 computes them again first.
    pub fn add(&self, group: usize, chunk: &Chunk, of_group: &mut Sums, sums: &mut Sums) {
        let (origin, reach) = (self.origins[group], 2.0 * self.reaches[group]);
        for i in 0..MOST {
            let [dx, dy] = [chunk.x[i] - origin[0], chunk.y[i] - origin[1]];
            let left_out =
                chunk.left_out.map(|first| first + i).filter(|&p| p / self.group == group);
            let is_due = || left_out.is_some() || self.is_due(group, chunk, i, of_group, sums);
            if dx.abs().max(dy.abs()) <= reach && is_due() {
                self.sum(group, chunk, i, left_out, of_group);
            }
        }
        for (sum, of_group) in sums[..=self.columns].iter_mut().zip(of_group) {
            sum.iter_mut().zip(of_group).for_each(|(sum, of_group)| *sum += *of_group);
        }
    }

    /// Whether the f32 sums of target `i` may be too wrong.
    fn is_due(
        &self,
        group: usize,
        chunk: &Chunk,
        i: usize,
        of_group: &Sums,
        before: &Sums,
    ) -> bool {
        let (weight, exponent) = (of_group[0][i], chunk.exponents[i]);
        if weight == 0.0 {
            return false;
        }
        // Above power 4 the promise itself is in proportion to the power.
        let rounding = (-2.0 * exponent).min(4.0) * self.reaches[group];
        // S^(1/p): an upper bound of 1 / d.
        let inverse = match self.law {
            1 => weight,
            2 => weight.sqrt(),
            4 => weight.sqrt().sqrt(),
            _ => weight.powf(-0.5 / exponent),
        };
        // A share is 1 at most: most targets end here, before W is bounded. False if something is not a number.
        if rounding * inverse <= MAX_DOUBT {
            return false;
        }
        // W is at least this: all points in the farthest corner of their box.
        let [x, y] = self.frame.offset_from_middle(chunk.x[i], chunk.y[i]);
        let [x, y] = [x + self.frame.half[0], y + self.frame.half[1]];
        let farthest = x * x + y * y + self.smoothing;
        let least = self.index.len() as f64 * farthest.powf(exponent);
        let known = (before[0][i] + weight).max(least);
        let mut share = weight / known;
        for v in 0..self.columns {
            let Range { offset, low, high } = self.index.range(self.first + v);
            let sum = (of_group[1 + v][i] + offset * weight).abs();
            if low < 0.0 && high > 0.0 {
                // Values of both signs may cancel: the sums do not tell the magnitudes, and this group may have them all.
                share = 1.0;
            } else if sum > 0.0 {
                let all = (before[1 + v][i] + offset * before[0][i]).abs() + sum;
                share = share.max(sum / all.max(low.abs().min(high.abs()) * known));
            }
        }
        // A share that was summed over rounded distances is true only where these are far above their rounding.
        let rounding = (rounding * share).max(self.reaches[group] * LEAST_SHARE);
        // First with the bound of 1 / d, then with the least distance itself, which costs a pass over the group.
        let is_fine = |inverse: f64| rounding * inverse <= MAX_DOUBT;
        !is_fine(inverse) && !is_fine(1.0 / (self.nearest(group, chunk, i) + self.smoothing).sqrt())
    }

    /// Returns the square of the least distance of a target to a point of a group.
    fn nearest(&self, group: usize, chunk: &Chunk, i: usize) -> f64 {
        let points = group * self.group..self.index.len().min((group + 1) * self.group);
        let squared = |p: &[f64; 3]| {
            let [x, y] = self.frame.place(p[0], p[1]);
            (x - chunk.x[i]).powi(2) + (y - chunk.y[i]).powi(2)
        };
        self.index.places[points].iter().map(squared).fold(f64::INFINITY, f64::min)
    }

    /// Sums a group again in f64 for one target, without the point that the target leaves out. Replaces the sums in
    /// `of_group`.
    fn sum(
        &self,
        group: usize,
        chunk: &Chunk,
        i: usize,
        left_out: Option<usize>,
        of_group: &mut Sums,
    ) {
        let place = |i: usize| self.frame.place(self.index.places[i][0], self.index.places[i][1]);
        let mut sums = [0.0; 5];
        let all = group * self.group..self.index.len().min((group + 1) * self.group);
        for at in all.filter(|&at| Some(at) != left_out) {
            let [x, y] = place(at);
            let (dx, dy) = (x - chunk.x[i], y - chunk.y[i]);
            let squared = dx * dx + dy * dy + self.smoothing;
            let weight = match self.law {
                1 => 1.0 / squared.sqrt(),
                2 => 1.0 / squared,
                3 => 1.0 / (squared * squared.sqrt()),
                4 => 1.0 / (squared * squared),
                _ => squared.powf(chunk.exponents[i]),
            };
            sums[0] += weight;
            for v in 0..self.columns {
                let value = self.index.value(self.first + v, at);
                sums[1 + v] += weight * (value - self.index.range(self.first + v).offset);
            }
        }
        for (all, sum) in of_group.iter_mut().zip(sums) {
            all[i] = sum;
        }
    }
}
