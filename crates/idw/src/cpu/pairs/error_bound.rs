//! Which sums in f32 are in doubt, and what they are in f64.
//!
//! A place relative to the origin of its tile is off by about `2^-24` of the tile's reach `r`, and so a
//! weight `d^-p` by the share `p 2^-24 r / d`: much, where points crowd in a part of the tile and a target
//! lies among them. No distance is known afterwards, but the sum `S` of the tile's weights is, and
//! `1 / d <= S^(1/p)`; where that does not settle it, the least distance is looked for. What a weight off by a share makes of the result is that share times `S / W`, `W`
//! being the sum of all weights, and likewise with weighted values. Of `W` what was summed before is known,
//! and that it is not less than if all points were as far as the farthest corner of their box. The kernels
//! (`kernels_rs::idw_pairs`) do the same.

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::pairs::frame::{Chunk, Frame, MOST, Sums};
use crate::points::Range;

/// The most of a share, in multiples of `2^-24`, that is borne.
const MAX_DOUBT: f64 = 128.0;

/// The points by groups of equal size, and what decides on the sums over a group.
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
    /// For groups of `group` points, relative to these origins.
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

    /// Adds the sums of a chunk over a group to the sums before. They are computed anew in f64 where their error
    /// bound is too large, or where a target leaves out a point of the group.
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
        // Above power 4 what is promised is in proportion to the power.
        let rounding = (-2.0 * exponent).min(4.0) * self.reaches[group];
        let inverse = match self.law {
            1 => weight,
            2 => weight.sqrt(),
            4 => weight.sqrt().sqrt(),
            _ => weight.powf(-0.5 / exponent),
        };
        // A share is 1 at most. What is not a number is in doubt.
        if rounding * inverse <= MAX_DOUBT {
            return false;
        }
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
                // Of values of both signs the sums do not tell the magnitudes: they may be all here.
                share = 1.0;
            } else if sum > 0.0 {
                let all = (before[1 + v][i] + offset * before[0][i]).abs() + sum;
                share = share.max(sum / all.max(low.abs().min(high.abs()) * known));
            }
        }
        let rounding = rounding * share;
        let is_fine = |inverse: f64| rounding * inverse <= MAX_DOUBT;
        !is_fine(inverse) && !is_fine(1.0 / (self.nearest(group, chunk, i) + self.smoothing).sqrt())
    }

    /// The square of the least distance of a target to a point of a group.
    fn nearest(&self, group: usize, chunk: &Chunk, i: usize) -> f64 {
        let points = group * self.group..self.index.len().min((group + 1) * self.group);
        let squared = |p: &[f64; 3]| {
            let [x, y] = self.frame.place(p[0], p[1]);
            (x - chunk.x[i]).powi(2) + (y - chunk.y[i]).powi(2)
        };
        self.index.places[points].iter().map(squared).fold(f64::INFINITY, f64::min)
    }

    /// The sums of one target over a group, but for a point that it leaves out.
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
