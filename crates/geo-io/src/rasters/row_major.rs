//! Rasters in arrays of other crates: input of writers, and read rasters as arrays of `ndarray`.

use crate::{Error, Result};

/// The values of a raster, row by row from the north: the input of the functions `write_..`.
///
/// Slices, vectors and fixed-size arrays implement it. With the feature `ndarray`, arrays of two dimensions do too;
/// their rows and columns are the raster's.
///
/// ```
/// use geo_io::{Cells, RowMajor};
///
/// # fn main() -> geo_io::Result<()> {
/// let values = vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let cells = Cells::Values { values: values.row_major((3, 2))?, nodata: -9999.0 };
/// assert!(values.row_major((3, 3)).is_err());
/// # drop(cells);
/// # Ok(())
/// # }
/// ```
pub trait RowMajor<T> {
    /// Returns the values of a raster with this many columns and rows, without a copy.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a value for each cell. [`Error::Array`] for an array with other sides, and for
    /// an array whose rows do not lie one after the other without gaps: copy such a view first (`as_standard_layout`).
    fn row_major(&self, size: (usize, usize)) -> Result<&[T]>;
}

impl<T> RowMajor<T> for [T] {
    fn row_major(&self, (width, height): (usize, usize)) -> Result<&[T]> {
        let (expected, found) = ((width as u64).saturating_mul(height as u64), self.len() as u64);
        match expected == found {
            true => Ok(self),
            false => Err(Error::Shape { what: "raster", expected, found }),
        }
    }
}

impl<T> RowMajor<T> for Vec<T> {
    fn row_major(&self, size: (usize, usize)) -> Result<&[T]> {
        self[..].row_major(size)
    }
}

impl<T, const N: usize> RowMajor<T> for [T; N] {
    fn row_major(&self, size: (usize, usize)) -> Result<&[T]> {
        self[..].row_major(size)
    }
}

impl<T, V: RowMajor<T> + ?Sized> RowMajor<T> for &V {
    fn row_major(&self, size: (usize, usize)) -> Result<&[T]> {
        (**self).row_major(size)
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use gpu_core::ndarray::{Array2, ArrayBase, ArrayView2, Data, Ix2};

    use super::RowMajor;
    use crate::{ArrayData, Error, Mask, NpyElement, Raster, Result};

    impl<S: Data> RowMajor<S::Elem> for ArrayBase<S, Ix2> {
        fn row_major(&self, (width, height): (usize, usize)) -> Result<&[S::Elem]> {
            match (self.dim() == (height, width), self.as_slice()) {
                (true, Some(values)) => Ok(values),
                _ => Err(Error::Array {
                    rows: self.nrows(),
                    columns: self.ncols(),
                    strides: self.strides().to_vec(),
                    width,
                    height,
                }),
            }
        }
    }

    impl Raster {
        /// The values as an array of rows and columns, without a copy. (Feature `ndarray`.)
        ///
        /// ```
        /// use geo_io::{read_raster, write_npy};
        /// use gpu_core::ndarray::array;
        ///
        /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// # let folder = tempfile::tempdir()?;
        /// let path = folder.path().join("dem.npy");
        /// write_npy(&path, &array![[1.5f32, 2.5, 3.5], [4.5, 5.5, 6.5]], 3, 2)?;
        /// let raster = read_raster(&path, None)?;
        /// assert_eq!(raster.to_array::<f32>()?[[1, 2]], 6.5);
        /// assert_eq!(raster.to_floats(), raster.to_array::<f32>()?.mapv(f64::from));
        /// let error = raster.into_array::<u8>().unwrap_err().to_string();
        /// assert_eq!(error, "raster: found elements f32, expected elements u8");
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// # Errors
        /// [`gpu_core::Error::Unfit`] for values of another type, which [`to_floats`](Self::to_floats) converts.
        pub fn to_array<T: NpyElement>(&self) -> gpu_core::Result<ArrayView2<'_, T>> {
            let values = self.values.as_slice().ok_or_else(|| unfit::<T>(&self.values))?;
            Ok(ArrayView2::from_shape((self.height, self.width), values).expect(SHAPED))
        }

        /// The values as an array of rows and columns, without a copy. (Feature `ndarray`.)
        ///
        /// # Errors
        /// The errors of [`to_array`](Self::to_array).
        pub fn into_array<T: NpyElement>(self) -> gpu_core::Result<Array2<T>> {
            let values = self.values.into_vec().map_err(|values| unfit::<T>(&values))?;
            Ok(Array2::from_shape_vec((self.height, self.width), values).expect(SHAPED))
        }

        /// The values as floats of 64 bits, NaN where a value is NODATA. (Feature `ndarray`.)
        pub fn to_floats(&self) -> Array2<f64> {
            let values = self.values.to_floats(self.nodata);
            Array2::from_shape_vec((self.height, self.width), values).expect(SHAPED)
        }
    }

    /// A value for each cell is what readers give.
    const SHAPED: &str = "a value for each cell";

    fn unfit<T>(values: &ArrayData) -> gpu_core::Error {
        let expected = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        gpu_core::Error::Unfit {
            what: "raster".to_owned(),
            found: format!("elements {}", values.sample_type()),
            expected: format!("elements {expected}"),
        }
    }

    impl Mask {
        /// The sites as an array of rows and columns, without a copy. (Feature `ndarray`.)
        pub fn to_array(&self) -> ArrayView2<'_, u8> {
            ArrayView2::from_shape((self.height, self.width), &self.sites).expect(SHAPED)
        }
    }
}
