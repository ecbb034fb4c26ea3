//! Points in arrays and geometries of other crates.

use std::borrow::Cow;

#[cfg(any(doc, feature = "ndarray"))]
use crate::Error;
use crate::{Points, Result};

/// Points in arrays or geometries of other crates. [`points`](Self::points) returns them as the [`Points`] that
/// Tessera's functions take. The features `ndarray`, `arrow` and `geo` each have constructors.
///
/// It borrows a column whose elements lie side by side, and copies any other column. So it copies the columns of an
/// array with a row for each point, and borrows those of the transposed array.
///
/// ```
/// # #[cfg(feature = "ndarray")]
/// # {
/// use gpu_core::ArrayPoints;
/// use gpu_core::ndarray::array;
///
/// # fn main() -> gpu_core::Result<()> {
/// let rows = array![[0.5, 1.5], [9.5, 2.5], [1.0, 3.5]];
/// let of_rows = ArrayPoints::from_rows(rows.view())?;
/// assert_eq!(of_rows.points().y, [1.5, 2.5, 3.5]);
/// let (x, y, z) = (array![0.5, 9.5], array![1.5, 2.5], [7.0, 8.0]);
/// let of_columns = ArrayPoints::from_columns(x.view(), y.view())?.with_values(&z)?;
/// assert_eq!(of_columns.points().x.as_ptr(), x.as_ptr());
/// assert_eq!(of_columns.points().values, [[7.0, 8.0]]);
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ArrayPoints<'a> {
    x: Cow<'a, [f64]>,
    y: Cow<'a, [f64]>,
    values: Vec<&'a [f64]>,
}

impl<'a> ArrayPoints<'a> {
    pub(crate) fn new(x: Cow<'a, [f64]>, y: Cow<'a, [f64]>) -> Result<Self> {
        let points = Self { x, y, values: Vec::new() };
        points.points().check_lengths()?;
        Ok(points)
    }

    /// Borrows one more column of values for the points.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is a value for each point.
    pub fn with_values(mut self, column: &'a [f64]) -> Result<Self> {
        self.values.push(column);
        self.points().check_lengths()?;
        Ok(self)
    }

    /// Returns the points with their columns of values.
    pub fn points(&self) -> Points<'_> {
        Points { x: &self.x, y: &self.y, values: &self.values }
    }
}

#[cfg(feature = "ndarray")]
mod of_ndarray {
    use super::*;
    use ndarray::{ArrayView1, ArrayView2, Axis};

    impl<'a> ArrayPoints<'a> {
        /// Takes an array with a row for each point: x and y. (Feature `ndarray`.)
        ///
        /// # Errors
        /// [`Error::Length`] unless rows have two numbers.
        pub fn from_rows(array: ArrayView2<'a, f64>) -> Result<Self> {
            let found = array.ncols() as u64;
            if found != 2 {
                let what = "row of an array of points";
                return Err(Error::Length { what, expected: 2, found });
            }
            let (x, y) = array.split_at(Axis(1), 1);
            let of = |column: ArrayView2<'a, f64>| column.remove_axis(Axis(1));
            Self::from_columns(of(x), of(y))
        }

        /// Takes an array of x and one of y. (Feature `ndarray`.)
        ///
        /// # Errors
        /// [`Error::Length`] unless both have the same number of elements.
        pub fn from_columns(x: ArrayView1<'a, f64>, y: ArrayView1<'a, f64>) -> Result<Self> {
            Self::new(side_by_side(x), side_by_side(y))
        }
    }

    fn side_by_side(column: ArrayView1<'_, f64>) -> Cow<'_, [f64]> {
        match column.to_slice() {
            Some(elements) => Cow::Borrowed(elements),
            None => Cow::Owned(column.to_vec()),
        }
    }
}

#[cfg(all(test, feature = "ndarray"))]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_points_however_they_lie() {
        use ndarray::{Array1, Array2, s};
        let rows = Array2::from_shape_fn((5, 2), |(row, column)| (10 * column + row) as f64);
        let (x, y) = ([0.0, 1.0, 2.0, 3.0, 4.0], [10.0, 11.0, 12.0, 13.0, 14.0]);
        let points = ArrayPoints::from_rows(rows.view()).unwrap();
        assert_eq!((points.points().x, points.points().y), (&x[..], &y[..]));
        // Column after column in memory: borrowed.
        let turned = rows.t().as_standard_layout().into_owned();
        let points = ArrayPoints::from_rows(turned.t()).unwrap();
        assert_eq!((points.points().x, points.points().y), (&x[..], &y[..]));
        assert_eq!(points.points().x.as_ptr(), turned.as_ptr());
        let points = ArrayPoints::from_rows(rows.slice(s![..;-2, ..])).unwrap();
        assert_eq!(points.points().x, [4.0, 2.0, 0.0]);
        assert!(ArrayPoints::from_rows(rows.slice(s![..0, ..])).unwrap().points().is_empty());
        let error = ArrayPoints::from_rows(rows.slice(s![.., ..1])).unwrap_err();
        let what = "row of an array of points";
        assert_eq!(error, Error::Length { what, expected: 2, found: 1 });
        let (x, y) = (Array1::from_vec(x.to_vec()), Array1::from_vec(y.to_vec()));
        let points = ArrayPoints::from_columns(x.view(), y.slice(s![..;-1])).unwrap();
        assert_eq!(points.points().y, [14.0, 13.0, 12.0, 11.0, 10.0]);
        assert_eq!(points.points().x.as_ptr(), x.as_ptr());
        assert!(ArrayPoints::from_columns(x.view(), y.slice(s![1..])).is_err());
    }
}
