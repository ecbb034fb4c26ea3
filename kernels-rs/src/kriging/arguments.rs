//! What the kernels of this module take.

use core::ops::Range;

use device_std::{In, Out, arguments};

use super::correlation::Correlation;
use crate::rtree::layout::NONE;
use crate::rtree::patches::{Patches, Target};

/// The targets of a launch: a part of all.
#[arguments]
pub struct TargetPart<'a> {
    /// All of them.
    pub all: Patches<'a>,
    /// The thread of all that has the first of the part.
    pub first: u64,
}

impl TargetPart<'_> {
    /// A target of the part, unless none has this number.
    #[inline(always)]
    pub fn target(&self, number: u64) -> Option<Target> {
        self.all.target_of(self.first + number)
    }
}

/// The points, in the order of the tree.
#[arguments]
pub struct Points<'a> {
    /// x of each.
    pub x: In<'a, f64>,
    /// y of each.
    pub y: In<'a, f64>,
    /// Values, column after column.
    pub values: In<'a, f64>,
    /// How many points.
    pub count: u32,
    /// Columns of values.
    pub columns: u32,
}

impl Points<'_> {
    /// A value of a point.
    #[inline(always)]
    pub fn value(&self, column: u32, position: u32) -> f64 {
        self.values.get(column as u64 * self.count as u64 + position as u64)
    }

    /// The mean of the values at a neighbour's place: of the neighbour, and of the other points there, which are left
    /// out.
    #[inline(always)]
    pub fn mean(
        &self,
        column: u32,
        of: Range<u32>,
        position: impl Fn(u32) -> u32,
        is_left_out: impl Fn(u32) -> bool,
    ) -> f64 {
        let at = position(of.start);
        let (mut sum, mut count, mut i) = (self.value(column, at), 1.0, of.start + 1);
        while i < of.end {
            let other = position(i);
            let is_at_one_place =
                self.x.get(at) == self.x.get(other) && self.y.get(at) == self.y.get(other);
            if is_at_one_place && is_left_out(i) {
                sum += self.value(column, other);
                count += 1.0;
            }
            i += 1;
        }
        sum / count
    }
}

/// The neighbours of the targets of a part.
#[arguments]
pub struct Neighbours<'a> {
    /// Positions in the order of the tree, nearest first: entry `i` of target `t` is element `i * targets + t`. [`NONE`] stands
    /// after the last.
    pub positions: In<'a, u32>,
    /// Targets that there is room for.
    pub targets: u32,
    /// Entries of each.
    pub most: u32,
}

impl Neighbours<'_> {
    /// An entry of a target.
    #[inline(always)]
    pub fn position(&self, target: u64, i: u32) -> u32 {
        self.positions.get(i as u64 * self.targets as u64 + target)
    }

    /// The neighbours of a target, at most `K`, and how many there are: loaded all at once.
    #[inline(always)]
    pub fn all<const K: usize, const L: usize>(&self, target: u64) -> ([u32; L], u32) {
        let (mut positions, mut count, mut i) = ([NONE; L], 0, 0);
        while i < K {
            positions[i] = self.position(target, u32::min(i as u32, self.most - 1));
            i += 1;
        }
        i = 0;
        while i < K {
            count += ((i as u32) < self.most && positions[i] != NONE) as u32;
            i += 1;
        }
        (positions, count)
    }

    /// How many neighbours a target has.
    #[inline(always)]
    pub fn count(&self, target: u64) -> u32 {
        let mut count = 0;
        while count < self.most && self.position(target, count) != NONE {
            count += 1;
        }
        count
    }
}

/// How points are related.
#[arguments]
pub struct Law {
    /// Their correlation.
    pub correlation: Correlation,
    /// The variance of a point alone.
    pub sill: f64,
    /// What brings a vector to where the correlation is the same in all directions: two rows of a matrix.
    pub isotropy: [f64; 4],
    /// With fewer neighbours a target has no value.
    pub least: u32,
}

impl Law {
    /// A place relative to a target, where the correlation is the same in all directions.
    #[inline(always)]
    pub fn place(&self, point: [f64; 2], target: [f64; 2]) -> [f64; 2] {
        isotropic(self.isotropy, [point[0] - target[0], point[1] - target[1]])
    }
}

/// The product of a matrix and a vector.
#[inline(always)]
pub fn isotropic([a, b, c, d]: [f64; 4], [dx, dy]: [f64; 2]) -> [f64; 2] {
    [a * dx + b * dy, c * dx + d * dy]
}

/// The outputs for the targets.
#[arguments]
pub struct Results<'a> {
    /// The values of all targets, column after column.
    pub values: Out<'a, f64>,
    /// The variance of each target.
    pub variances: Out<'a, f64>,
    /// All targets.
    pub targets: u64,
}

impl Results<'_> {
    /// Sets a value.
    #[inline(always)]
    pub fn set(&self, column: u32, target: &Target, value: f64) {
        self.values.set(column as u64 * self.targets + target.index, value);
    }

    /// Gives a target no value.
    #[inline(always)]
    pub fn set_nothing(&self, columns: u32, target: &Target) {
        self.variances.set(target.index, f64::NAN);
        let mut column = 0;
        while column < columns {
            self.set(column, target, f64::NAN);
            column += 1;
        }
    }
}
