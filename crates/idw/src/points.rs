//! Points and targets, checked and brought into the form that both back ends take.

use std::borrow::Cow;

use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, GridSpec, Points, Targets, ValueRange};
use kernels_rs::spatial::sphere;

use crate::ground::Ground;
use crate::{Error, NonFinite, Number, Params, Result};

/// Points, and where to interpolate them.
///
/// Both are data, not parameters: they may differ from call to call while the parameters stay the same.
///
/// Example: see [`interpolate`](crate::interpolate).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The points, with one or more columns of values, interpolated in one pass.
    pub points: Points<'a>,
    /// Where to interpolate.
    pub targets: Targets<'a>,
}

impl<'a> Input<'a> {
    /// Returns an input of points, and targets: a [`GridSpec`] or [`Targets::Points`].
    pub fn new(points: Points<'a>, targets: impl Into<Targets<'a>>) -> Self {
        Self { points, targets: targets.into() }
    }
}

/// Checks that every target is a place.
pub(crate) fn check_targets(targets: Targets, geographic: bool) -> Result<()> {
    check_count("targets", targets.len())?;
    match targets {
        Targets::Points { x, y } => {
            check_len("column of targets' y", x.len(), y.len())?;
            (0..x.len()).try_for_each(|i| check_target(i, (x[i], y[i]), geographic))
        }
        Targets::Grid(grid) => check_grid(grid, geographic),
    }
}

/// Checks that a target is a place.
fn check_target(index: usize, (x, y): (f64, f64), geographic: bool) -> Result<()> {
    if !(x.is_finite() && y.is_finite()) || (geographic && y.abs() > 90.0) {
        return Err(Error::Target { index, x, y });
    }
    if geographic || (has_square(x) && has_square(y)) {
        return Ok(());
    }
    Err(Error::Place { what: "target", index, x, y })
}

/// Checks that the cells of a grid are places, and not too many.
pub(crate) fn check_grid(grid: GridSpec, geographic: bool) -> Result<()> {
    let GridSpec { origin_x, origin_y, cell_size, width, height } = grid;
    GridSpec::new(origin_x, origin_y, cell_size, width, height)?;
    check_count("targets", grid.cells())?;
    if grid.cells() == 0 {
        return Ok(());
    }
    // Every centre is a sum of the edge and half cells; what cancels to less than a cell is 0, or more
    // than rounding leaves of one.
    if !geographic && cell_size < LEAST_LENGTH / f64::EPSILON {
        let (x, y) = (cell_size, cell_size);
        return Err(Error::Place { what: "the size of cells, target", index: 0, x, y });
    }
    check_target(0, grid.cell_centre(0, 0), geographic)?;
    check_target(grid.cells() as usize - 1, grid.cell_centre(width - 1, height - 1), geographic)
}

/// Checks that indices can name them all.
pub(crate) fn check_count(what: &'static str, count: u64) -> Result<()> {
    Ok(gpu_core::require_at_most(what, count, MAX_POINTS)?)
}

/// Checks the length of a column.
pub(crate) fn check_len(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found != expected {
        let (expected, found) = (expected as u64, found as u64);
        return Err(gpu_core::Error::Length { what, expected, found }.into());
    }
    Ok(())
}

/// The most points, and the most targets, of a call.
pub const MAX_POINTS: u64 = (1 << 31) - 1;

/// The least and the greatest length whose square is a number, and so are the squares of sums and differences. Lengths
/// between them have squares and ratios of squares without overflow or loss.
pub(crate) const LEAST_LENGTH: f64 = 1e-130;
pub(crate) const GREATEST_LENGTH: f64 = 1e150;

/// Whether the differences of such coordinates can be squared.
pub(crate) fn has_square(coordinate: f64) -> bool {
    coordinate == 0.0 || (LEAST_LENGTH..=GREATEST_LENGTH).contains(&coordinate.abs())
}

/// A column of values, and what its sums are relative to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub offset: f64,
    pub low: f64,
    pub high: f64,
}

/// Refuses what the type of the results cannot hold: the range of values, and what stands for no value.
pub(crate) fn require_type<T: Number>(ranges: &[Range], params: &Params) -> Result<()> {
    let nodata = params.nodata;
    if T::overflows(nodata) {
        return Err(Error::Nodata { value: nodata });
    }
    match ranges.iter().find(|range| T::overflows(range.low) || T::overflows(range.high)) {
        Some(&Range { low, high, .. }) => Err(Error::ValueRange { min: low, max: high }),
        None => Ok(()),
    }
}

/// The points of a call: finite, with what the back ends need to know of them.
#[derive(Clone, Debug)]
pub(crate) struct Data<'a> {
    /// x, or longitude between -180 and 180.
    pub x: Cow<'a, [f64]>,
    pub y: Cow<'a, [f64]>,
    pub values: Vec<Cow<'a, [f64]>>,
    pub ranges: Vec<Range>,
    /// The points' indices as given, if some points were left out.
    pub kept: Option<Vec<u32>>,
    /// Points left out.
    pub skipped: u64,
    pub ground: Ground,
}

impl<'a> Data<'a> {
    /// Checks the points. Leaves out points that are not finite, or refuses them.
    pub fn of(points: Points<'a>, params: &Params) -> Result<Self> {
        let n = points.x.len();
        if points.values.is_empty() {
            return Err(Error::NoValues);
        }
        points.check_lengths()?;
        check_count("points", n as u64)?;
        let fault = |i: usize| fault(&points, i, params.geographic);
        let bad = parallel::filter(n as u32, FINE, |i| fault(i as usize).is_some());
        if let (Some(&first), NonFinite::Refuse) = (bad.first(), params.non_finite) {
            return Err(fault(first as usize).unwrap_or(Error::NoValues));
        }
        let is_good = |i: u32| fault(i as usize).is_none();
        let kept = (!bad.is_empty()).then(|| parallel::filter(n as u32, FINE, is_good));
        let take = |column: &'a [f64]| match &kept {
            None => Cow::Borrowed(column),
            Some(kept) => Cow::Owned(kept.iter().map(|&i| column[i as usize]).collect()),
        };
        let mut x = take(points.x);
        if params.geographic {
            x = Cow::Owned(x.iter().map(|&lon| sphere::normalised(lon)).collect());
        }
        let y = take(points.y);
        let values: Vec<Cow<[f64]>> = points.values.iter().map(|&column| take(column)).collect();
        let range = |column: &Cow<[f64]>| Range::of(column, params.value_range);
        let ranges = values.iter().map(range).collect();
        let (count, bounds) = (x.len(), Bounds::of(&x, &y));
        let ground = Ground { count, bounds, geographic: params.geographic };
        let skipped = bad.len() as u64;
        Ok(Self { x, y, values, ranges, kept, skipped, ground })
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Checks that the type of the results can hold all values; the error names the value that does not fit.
    pub fn require_type<T: Number>(&self, params: &Params) -> Result<()> {
        let Err(error) = require_type::<T>(&self.ranges, params) else { return Ok(()) };
        let of_column = |column: &Cow<[f64]>| {
            let i = parallel::first(column.len(), FINE, |i| T::overflows(column[i]))?;
            let index = self.kept.as_ref().map_or(i, |kept| kept[i] as usize);
            Some(Error::Value { index, value: column[i] })
        };
        Err(self.values.iter().find_map(of_column).unwrap_or(error))
    }

    /// Whether f32 holds the first value of each point exactly.
    pub fn is_of_f32(&self) -> bool {
        let column = &self.values[0];
        let is_lost = |i: usize| {
            let magnitude = column[i].abs();
            magnitude > f64::from(f32::MAX)
                || (magnitude > 0.0 && magnitude < f64::from(f32::MIN_POSITIVE))
        };
        parallel::first(column.len(), FINE, is_lost).is_none()
    }

    /// Returns the same points with only their first value.
    #[cfg(feature = "cuda")]
    pub fn with_first_value(&self) -> Data<'_> {
        let values = self.values.iter().take(1).map(|column| Cow::Borrowed(&column[..]));
        Data {
            x: Cow::Borrowed(&self.x),
            y: Cow::Borrowed(&self.y),
            values: values.collect(),
            ranges: self.ranges.iter().take(1).copied().collect(),
            kept: None,
            ..*self
        }
    }

    /// The points' own places as targets.
    pub fn as_targets(&self) -> Targets<'_> {
        Targets::Points { x: &self.x, y: &self.y }
    }
}

/// Returns the fault of a point, if it has one.
fn fault(points: &Points, index: usize, geographic: bool) -> Option<Error> {
    let (x, y) = (points.x[index], points.y[index]);
    let bad = points.values.iter().map(|column| column[index]).find(|v| !v.is_finite());
    if !(x.is_finite() && y.is_finite()) || bad.is_some() {
        let value = bad.unwrap_or(points.values[0][index]);
        return Some(Error::NotFinite { index, x, y, value });
    }
    if geographic {
        return (y.abs() > 90.0).then_some(Error::Latitude { index, latitude: y });
    }
    let can = has_square(x) && has_square(y);
    (!can).then_some(Error::Place { what: "point", index, x, y })
}

impl Range {
    /// Returns the range of finite values, widened to the whole's range if they are a part. Zeros for no values.
    fn of(values: &[f64], whole: Option<ValueRange>) -> Self {
        let start =
            whole.map_or((f64::INFINITY, f64::NEG_INFINITY), |whole| (whole.min, whole.max));
        let (low, high) = values.iter().fold(start, |(low, high), &v| (low.min(v), high.max(v)));
        if values.is_empty() { Self::NONE } else { Self::between(low, high) }
    }

    /// Returns the offset of a target's sums. It is 0 for a target on points, so that rounding does not change their
    /// value.
    #[inline(always)]
    pub fn offset_of(&self, is_exact: bool) -> f64 {
        if is_exact { 0.0 } else { self.offset }
    }

    /// The range of no values.
    pub const NONE: Self = Self { offset: 0.0, low: 0.0, high: 0.0 };

    /// Returns the range from a lowest to a highest value.
    pub fn between(low: f64, high: f64) -> Self {
        // The middle, but never farther from a value than 0 is. For values of one sign, f32 then loses only a share of
        // the weighted magnitudes in a sum of weighted differences. This holds however few values make the range wide.
        let middle = low / 2.0 + high / 2.0;
        let offset = if low > 0.0 {
            middle.min(2.0 * low)
        } else if high < 0.0 {
            middle.max(2.0 * high)
        } else {
            0.0
        };
        Self { offset, low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_are_not_finite_are_refused_or_counted() {
        let (x, y) = ([0.0, 1.0, f64::NAN, 3.0], [0.0; 4]);
        let values = [1.0, f64::INFINITY, 2.0, 5.0];
        let points = Points { x: &x, y: &y, values: &[&values] };
        let error = Data::of(points, &Params::default()).unwrap_err();
        assert!(matches!(error, Error::NotFinite { index: 1, value: f64::INFINITY, .. }));
        let skip = Params::default().non_finite(NonFinite::Skip);
        let data = Data::of(points, &skip).unwrap();
        assert_eq!((data.len(), data.skipped), (2, 2));
        assert_eq!(data.kept, Some(vec![0, 3]));
        assert_eq!(data.ranges[0], Range { offset: 2.0, low: 1.0, high: 5.0 });
    }

    #[test]
    fn columns_of_other_lengths_are_named() {
        let points = Points { x: &[0.0], y: &[0.0], values: &[&[1.0], &[1.0, 2.0]] };
        let error = Data::of(points, &Params::default()).unwrap_err();
        let what = "column of values";
        let length = gpu_core::Error::Length { what, expected: 1, found: 2 };
        assert_eq!(error, Error::Core(length));
        let points = Points::new(&[0.0], &[0.0]);
        assert_eq!(Data::of(points, &Params::default()).unwrap_err(), Error::NoValues);
    }
}
