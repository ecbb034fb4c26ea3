//! Scattered points in host memory.

use crate::{Bounds, Error, Result};

/// Points as columns of equal length, with any number of values each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Points<'a> {
    /// Eastings, or longitudes, in the units of the coordinate system.
    pub x: &'a [f64],
    /// Northings, or latitudes.
    pub y: &'a [f64],
    /// The values of the points, a column each: elevation, intensity, a colour.
    pub values: &'a [&'a [f64]],
}

impl<'a> Points<'a> {
    /// Points without values.
    pub fn new(x: &'a [f64], y: &'a [f64]) -> Self {
        Self { x, y, values: &[] }
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Checks that all columns have the same length.
    ///
    /// # Errors
    /// [`Error::Length`] for the first column whose length differs from x's.
    pub fn check_lengths(&self) -> Result<()> {
        let expected = self.x.len() as u64;
        let check = |what, found: usize| match found as u64 {
            found if found == expected => Ok(()),
            found => Err(Error::Length { what, expected, found }),
        };
        check("column of y", self.y.len())?;
        self.values.iter().try_for_each(|column| check("column of values", column.len()))
    }
}

/// The least and the greatest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// The bounds of points, and the ranges of their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extent {
    /// The bounds of x and y; `None` where there are no points.
    pub bounds: Option<Bounds>,
    /// The range of each column of values; empty where there are no points.
    pub ranges: Vec<ValueRange>,
}

impl Extent {
    /// The extent of points on the host.
    ///
    /// # Errors
    /// The errors of [`Points::check_lengths`], and [`Error::NotFinite`] of the first coordinate, then of the first
    /// value that is NaN or infinite.
    pub fn of(points: &Points<'_>) -> Result<Self> {
        points.check_lengths()?;
        if points.is_empty() {
            return Ok(Self::default());
        }
        let x = ValueRange::of("x", points.x)?;
        let y = ValueRange::of("y", points.y)?;
        let ranges = points.values.iter().map(|column| ValueRange::of("value", column));
        Ok(Self {
            bounds: Some(Bounds { min_x: x.min, min_y: y.min, max_x: x.max, max_y: y.max }),
            ranges: ranges.collect::<Result<_>>()?,
        })
    }
}

impl ValueRange {
    /// The range of a column that has elements.
    fn of(what: &'static str, column: &[f64]) -> Result<Self> {
        if let Some(index) = column.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { what, index: index as u64, value: column[index] });
        }
        let start = Self { min: column[0], max: column[0] };
        // Zeros of both signs count as equal; the first one met stays.
        Ok(column.iter().fold(start, |range, &value| Self {
            min: if value < range.min { value } else { range.min },
            max: if value > range.max { value } else { range.max },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extent_of_points_names_what_is_not_finite() {
        let (x, y, z) = ([2.0, -1.0, 3.0], [0.0, 5.0, 4.0], [7.0, 7.0, 9.0]);
        let points = Points { x: &x, y: &y, values: &[&z, &x] };
        let extent = Extent::of(&points).unwrap();
        let bounds = Bounds { min_x: -1.0, min_y: 0.0, max_x: 3.0, max_y: 5.0 };
        assert_eq!(extent.bounds, Some(bounds));
        let ranges = [ValueRange { min: 7.0, max: 9.0 }, ValueRange { min: -1.0, max: 3.0 }];
        assert_eq!(extent.ranges, ranges);

        assert_eq!(Extent::of(&Points::default()), Ok(Extent::default()));
        let bad = [1.0, 2.0, f64::NEG_INFINITY];
        let value = f64::NEG_INFINITY;
        let error = Err(Error::NotFinite { what: "y", index: 2, value });
        assert_eq!(Extent::of(&Points::new(&x, &bad)), error);
        let short = Points { x: &x, y: &y, values: &[&z[..2]] };
        let error = Error::Length { what: "column of values", expected: 3, found: 2 };
        assert_eq!(short.check_lengths(), Err(error));
    }
}
