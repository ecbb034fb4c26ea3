//! How much of its heights a DEM loses, since products are made of 32-bit floats.

use std::ops::Range;

use gpu_core::Shortest;
use gpu_core::parallel::{self, FINE};

/// Products depend on differences of heights: what is lost shows once it is more than this part of their range.
const SHOWS: f64 = 1e-4;

/// The range of a DEM's heights, and the most that one of them loses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    low: f64,
    high: f64,
    lost: f64,
}

impl Rounding {
    /// The measure of no heights.
    pub const NONE: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, lost: 0.0 };

    /// Measures heights; NaN stands for none.
    pub fn of(heights: &[f64]) -> Self {
        let of_range = |range: Range<usize>| {
            let finite = heights[range].iter().filter(|height| height.is_finite());
            finite.fold(Self::NONE, |all, &height| {
                let lost = (f64::from(height as f32) - height).abs();
                all.and(Self { low: height, high: height, lost })
            })
        };
        let parts = parallel::map_ranges(heights.len(), FINE, &of_range);
        parts.into_iter().fold(Self::NONE, Self::and)
    }

    /// Joins two measures.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            lost: self.lost.max(other.lost),
        }
    }

    /// A note if rounding shows.
    pub fn note(&self) -> Option<String> {
        let Self { low, high, lost } = *self;
        (low < high && lost > SHOWS * (high - low)).then(|| {
            let [low, high, lost] = [low, high, lost].map(Shortest);
            format!(
                "heights from {low} to {high} are taken as 32-bit floats, which changes them by up to {lost}; take a number \
                 off the heights first that they have in common"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_measured_by_the_range() {
        let note = |heights: &[f64]| Rounding::of(heights).note();
        for fine in [
            &[][..],
            &[f64::NAN, f64::INFINITY, 0.1],
            &[812.345, 2961.127],
            &[1e7, 1e7 + 1.0],
            &[0.0, 0.1],
        ] {
            assert_eq!(note(fine), None, "{fine:?}");
        }
        let coarse = note(&[20_000_001.0, 20_000_002.0, f64::NAN]).unwrap();
        assert!(coarse.starts_with("heights from 20000001 to 20000002 are"), "{coarse}");
        assert!(coarse.contains("by up to 1;"), "{coarse}");
    }
}
