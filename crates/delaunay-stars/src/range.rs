//! Whether decisions about coordinates are exact, and the power of two that makes them so.

use gpu_core::parallel;
use kernels_rs::stars::exact::MAX_BITS;
use kernels_rs::stars::predicates::Predicates;

use crate::{Error, Result};

/// The greatest power of two that a magnitude may reach, and the negative of the least unit.
const LIMIT: i32 = MAX_BITS / 2;

/// The range of bits that coordinates have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Span {
    /// The least magnitude but 0.
    least: f64,
    /// The greatest magnitude.
    greatest: f64,
    /// All coordinates are multiples of 2 to this power.
    lowest: i32,
}

impl Span {
    /// The span of no numbers.
    pub const EMPTY: Self = Self { least: f64::INFINITY, greatest: 0.0, lowest: i32::MAX };

    /// The span of numbers: the least magnitude but 0, the greatest, and the exponent of the lowest bit of all.
    #[cfg(feature = "cuda")]
    pub(crate) fn new(least: f64, greatest: f64, lowest: i32) -> Self {
        Self { least, greatest, lowest }
    }

    /// Returns the span of columns of finite numbers.
    pub(crate) fn of(columns: [&[f64]; 2]) -> Self {
        let parts = columns.map(|column| {
            parallel::map_ranges(column.len(), parallel::FINE, &|range| {
                column[range].iter().fold(Self::EMPTY, |span, &value| span.with(value))
            })
        });
        parts.into_iter().flatten().fold(Self::EMPTY, Self::joined)
    }

    /// Returns the span of these numbers together with one more.
    pub fn with(self, value: f64) -> Self {
        if value == 0.0 {
            return self;
        }
        let magnitude = value.abs();
        Self {
            least: self.least.min(magnitude),
            greatest: self.greatest.max(magnitude),
            lowest: self.lowest.min(lowest_bit(magnitude)),
        }
    }

    /// Returns the span of the centres of a grid's cells, as f64 rounds them. `origin` is the grid's western and its
    /// northern edge. No edge of a cell is farther from 0 than `greatest`.
    pub fn of_grid(origin: [f64; 2], cell_size: f64, greatest: f64) -> Self {
        if !(cell_size > 0.0 && cell_size < f64::INFINITY) {
            return Self::EMPTY;
        }
        // Half a cell.
        let exact = origin.into_iter().fold(Self::EMPTY, Self::with).with(cell_size);
        let lowest = exact.lowest.min(lowest_bit(cell_size) - 1);
        let all = Self { lowest, greatest: exact.greatest.max(greatest), ..exact };
        // Where sums have no more bits than f64 they are exact. Else the last bit is that of the least number that rounding
        // leaves: half a cell, or an edge.
        let is_exact = all.highest() - lowest <= f64::MANTISSA_DIGITS as i32;
        let rounded = lowest_bit(cell_size) + significant_bits(cell_size) - 56;
        Self { lowest: if is_exact { lowest } else { lowest.min(rounded) }, ..all }
    }

    /// Returns the span of the numbers of both.
    pub fn joined(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            lowest: self.lowest.min(other.lowest),
        }
    }

    /// The power of two that magnitudes are below.
    fn highest(&self) -> i32 {
        lowest_bit(self.greatest) + significant_bits(self.greatest)
    }

    /// The error for coordinates of too many bits.
    fn refused(&self, bits: i32) -> Error {
        Error::Range {
            least: self.least,
            greatest: self.greatest,
            bits: bits as u32,
            most: MAX_BITS as u32,
        }
    }

    /// The scale that brings the coordinates to where predicates are exact, and the predicates there.
    pub(crate) fn scale(&self) -> Result<(Scale, Predicates)> {
        if self.greatest == 0.0 {
            return Ok((Scale(0), Predicates::new(0)));
        }
        let (lowest, highest) = (self.lowest, self.highest());
        if highest - lowest > MAX_BITS {
            return Err(self.refused(highest - lowest));
        }
        // Otherwise the middle of the range goes to 1, so that queries may lie beyond it on both sides.
        let is_within = lowest >= -LIMIT && highest <= LIMIT;
        let scale = Scale(if is_within { 0 } else { -(lowest + highest).div_euclid(2) });
        Ok((scale, self.predicates(scale)?))
    }

    /// The predicates for coordinates times a scale.
    pub(crate) fn predicates(&self, scale: Scale) -> Result<Predicates> {
        if self.greatest == 0.0 {
            return Ok(Predicates::new(0));
        }
        let [lowest, highest] = [self.lowest, self.highest()].map(|exponent| exponent + scale.0);
        if lowest < -LIMIT || highest > LIMIT {
            return Err(self.refused(2 * highest.max(-lowest)));
        }
        Ok(Predicates::new(lowest))
    }
}

/// A multiplication by a power of two, kept as its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Scale(i32);

impl Scale {
    /// The number, multiplied.
    pub fn apply(self, value: f64) -> f64 {
        times_power_of_two(value, self.0)
    }

    /// The exponent of the power of two.
    #[cfg(feature = "cuda")]
    pub(crate) fn exponent(self) -> i32 {
        self.0
    }

    /// The scale that brings lengths back.
    #[cfg(feature = "cuda")]
    pub(crate) fn inverse(self) -> Self {
        Self(-self.0)
    }

    /// Two factors, one after the other: a power of two may be beyond f64.
    #[cfg(feature = "cuda")]
    pub(crate) fn factors(self) -> [f64; 2] {
        let half = self.0 / 2;
        [half, self.0 - half].map(|exponent| times_power_of_two(1.0, exponent))
    }

    /// Converts a product of `lengths` scaled lengths to the original unit.
    pub fn undo(self, value: f64, lengths: i32) -> f64 {
        times_power_of_two(value, -self.0 * lengths)
    }
}

/// A number times a power of two, by steps that f64 holds. Exact where the result is a normal number, and where the
/// number gets larger.
fn times_power_of_two(mut value: f64, mut exponent: i32) -> f64 {
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        value *= f64::from_bits(((step + 1023) as u64) << 52);
        exponent -= step;
    }
    value
}

/// The exponent of the lowest bit of a positive number.
fn lowest_bit(magnitude: f64) -> i32 {
    let (significand, exponent) = parts(magnitude);
    exponent + significand.trailing_zeros() as i32
}

/// The bits of a positive number from its highest to its lowest.
fn significant_bits(magnitude: f64) -> i32 {
    let (significand, _) = parts(magnitude);
    (u64::BITS - significand.leading_zeros() - significand.trailing_zeros()) as i32
}

/// A positive number as a whole number times a power of two.
fn parts(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_of_numbers_reaches_from_their_highest_to_their_lowest_bit() {
        let span = Span::of([&[0.0, -5.0, 0.75], &[2.0, 0.0, 1.0]]);
        assert_eq!((span.lowest, span.highest()), (-2, 3));
        assert_eq!((span.least, span.greatest), (0.75, 5.0));
        let tiny = f64::from_bits(3);
        let span = Span::of([&[tiny], &[0.0]]);
        assert_eq!((span.lowest, span.highest()), (-1074, -1072));
        let (scale, _) = span.scale().unwrap();
        let large = scale.apply(tiny);
        assert!(large.is_normal() && scale.undo(large, 1) == tiny);
        let span = Span::of([&[f64::MAX], &[1e200]]);
        assert_eq!(span.highest(), 1024);
        let (scale, _) = span.scale().unwrap();
        assert_eq!(scale.undo(scale.apply(f64::MAX), 1), f64::MAX);
    }

    #[test]
    fn a_span_that_is_too_long_is_refused() {
        let limit = 2f64.powi(MAX_BITS);
        assert!(Span::of([&[limit / 2.0], &[1.0]]).scale().is_ok());
        let error = Span::of([&[limit], &[-1.0]]).scale().unwrap_err();
        let bits = MAX_BITS as u32 + 1;
        assert_eq!(
            error,
            Error::Range { least: 1.0, greatest: limit, bits, most: MAX_BITS as u32 }
        );
    }
}
