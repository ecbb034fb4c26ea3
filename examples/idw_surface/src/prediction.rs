//! The prediction error: how well the points that count for a cell follow from the points around them.
//!
//! It takes two searches, one after the other: each point is predicted from its neighbours, and a cell takes the mean of
//! the squares over its own.

use gpu_core::{On, Points, Targets};
use idw::{Input, Params, Result, ValueRange};

/// Stands for the square of an error that is not known yet, where points may lack neighbours. Squares are not negative,
/// so it is their least value, and sums are relative to 0 with it and without.
const UNKNOWN: f64 = -1.0;

/// The errors of all points.
pub struct Errors {
    /// The squared errors, divided by the square of `unit`; NaN where the others do not predict a point.
    squares: Vec<f64>,
    /// A power of two near the width of the range of values: squares over its own are numbers of f32.
    unit: f64,
    /// The greatest square that values of the range may have.
    greatest: f64,
}

impl Errors {
    /// Predicts each point from the others. Results depend on [`Params::value_range`], and without it on the range of
    /// the points' values.
    ///
    /// # Errors
    /// The errors of [`idw::cross_validate`].
    pub fn of(on: On, points: Points, params: &Params) -> Result<Self> {
        let found = idw::cross_validate(on, points, params)?;
        let values = points.values.first().copied().unwrap_or_default();
        let range = params.value_range.unwrap_or_else(|| {
            let start = ValueRange { min: f64::INFINITY, max: f64::NEG_INFINITY };
            let wider =
                |r: ValueRange, &v: &f64| ValueRange { min: r.min.min(v), max: r.max.max(v) };
            values.iter().fold(start, wider)
        });
        let width = (range.max - range.min).max(0.0);
        let unit = power_of_two(width);
        let square = |error: f64| (error / unit) * (error / unit);
        let squares = found.errors.into_iter().map(square).collect();
        Ok(Self { squares, unit, greatest: square(width) })
    }

    /// Returns the root of the mean of the squares around each target, weighted as its value is. Points without an error
    /// count for none, and a target all of whose points are such is NaN.
    ///
    /// With `is_limited`, points without an error lack neighbours that were not read. A target is then NaN if one of them
    /// is among its points.
    ///
    /// # Errors
    /// The errors of [`idw::interpolate`].
    pub fn around(
        &self,
        on: On,
        (points, targets): (Points, Targets),
        params: &Params,
        is_limited: bool,
    ) -> Result<Vec<f32>> {
        let missing = if is_limited { UNKNOWN } else { 0.0 };
        let or_missing = |&square: &f64| if square.is_nan() { missing } else { square };
        let squares: Vec<f64> = self.squares.iter().map(or_missing).collect();
        // The share of a target's weight that points with an error have.
        let known = |square: &f64| f64::from(u8::from(!square.is_nan()));
        let known: Vec<f64> = self.squares.iter().map(known).collect();
        let wants_shares = !is_limited && known.contains(&0.0);
        let columns = [&squares[..], &known[..]];
        let params = params
            .statistics(is_limited)
            .value_range(ValueRange { min: UNKNOWN, max: self.greatest });
        let points = Points { values: &columns[..1 + usize::from(wants_shares)], ..points };
        let surface = idw::interpolate::<f32>(on, Input::new(points, targets), &params)?;
        let mut columns = surface.values.into_iter();
        let mut errors = columns.next().unwrap_or_default();
        if let Some(shares) = columns.next() {
            errors.iter_mut().zip(shares).for_each(|(mean, share)| *mean = of_share(*mean, share));
        }
        // Means of squares are not negative but for rounding.
        let root = |mean: f32| f64::from(if mean < 0.0 { 0.0 } else { mean.sqrt() });
        errors.iter_mut().for_each(|e| *e = (root(*e) * self.unit) as f32);
        if let Some(found) = surface.statistics {
            let unknown = errors.iter_mut().zip(&found.min).filter(|&(_, &least)| least < 0.0);
            unknown.for_each(|(error, _)| *error = f32::NAN);
        }
        Ok(errors)
    }
}

/// The mean over the points that have this share of the weight, where the others counted as 0. A share is rounded: beside 1
/// it is 1, so that a part of the points gives the bits of the whole.
fn of_share(mean: f32, share: f32) -> f32 {
    const ROUNDING: f32 = 1e-5;
    match share {
        share if share < ROUNDING => f32::NAN,
        share if share > 1.0 - ROUNDING => mean,
        _ => mean / share,
    }
}

/// The power of two at a number or next below it; 1 for numbers without one.
fn power_of_two(number: f64) -> f64 {
    let power = f64::from_bits(number.to_bits() & f64::INFINITY.to_bits());
    if power.is_normal() { power } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_those_next_below() {
        for (number, power) in [(1.0, 1.0), (3.9, 2.0), (0.3, 0.25), (1e38, 2f64.powi(126))] {
            assert_eq!(power_of_two(number), power);
        }
        for number in [0.0, f64::INFINITY, f64::NAN, 1e-310] {
            assert_eq!(power_of_two(number), 1.0);
        }
    }
}
