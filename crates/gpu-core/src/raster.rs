//! Rasters in host memory: row-major values, and where they lie.

use crate::{Error, GridSpec, Result};

/// A borrowed raster: row-major, row 0 in the north.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridView<'a, T> {
    values: &'a [T],
    grid: GridSpec,
}

impl<'a, T> GridView<'a, T> {
    /// Takes values as the raster of `grid`.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is a value for each cell, and the errors of [`GridSpec::check`].
    pub fn new(values: &'a [T], grid: GridSpec) -> Result<Self> {
        check_raster(values.len(), &grid)?;
        Ok(Self { values, grid })
    }

    /// The values, row by row.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// Where the cells lie.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }
}

/// A raster that owns its values: row-major, row 0 in the north.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<T> {
    values: Vec<T>,
    grid: GridSpec,
}

impl<T> Grid<T> {
    /// Takes values as the raster of `grid`.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is a value for each cell, and the errors of [`GridSpec::check`].
    pub fn new(values: Vec<T>, grid: GridSpec) -> Result<Self> {
        check_raster(values.len(), &grid)?;
        Ok(Self { values, grid })
    }

    /// The values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values for writing, row by row.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values alone.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Where the cells lie.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }

    /// The value of a cell; `None` outside the grid.
    pub fn get(&self, column: u32, row: u32) -> Option<&T> {
        let inside = column < self.grid.width && row < self.grid.height;
        let cell = row as usize * self.grid.width as usize + column as usize;
        if inside { self.values.get(cell) } else { None }
    }

    /// The raster, borrowed.
    pub fn view(&self) -> GridView<'_, T> {
        GridView { values: &self.values, grid: self.grid }
    }
}

impl<'a, T> From<&'a Grid<T>> for GridView<'a, T> {
    fn from(grid: &'a Grid<T>) -> Self {
        grid.view()
    }
}

/// Checks a grid, and how many values there are for it.
pub(crate) fn check_raster(found: usize, grid: &GridSpec) -> Result<()> {
    grid.check()?;
    let (expected, found) = (grid.cells(), found as u64);
    if found != expected {
        return Err(Error::Length { what: "raster", expected, found });
    }
    Ok(())
}

/// Checks that an array has the sides of a grid.
#[cfg(any(feature = "dlpack", feature = "ndarray"))]
pub(crate) fn check_shape((rows, columns): (usize, usize), grid: &GridSpec) -> Result<()> {
    if (rows as u64, columns as u64) != (grid.height.into(), grid.width.into()) {
        let (width, height) = (grid.width, grid.height);
        return Err(Error::Shape { rows, columns, width, height });
    }
    Ok(())
}

#[cfg(feature = "ndarray")]
mod arrays {
    use ndarray::{Array2, ArrayView2};

    use super::{Grid, GridView, check_shape};
    use crate::{Error, GridSpec, Result};

    impl<'a, T> GridView<'a, T> {
        /// Takes an array of `height` rows and `width` columns as the raster of `grid`, without a copy.
        ///
        /// # Errors
        /// [`Error::Shape`] where the sides differ from the grid's, [`Error::Strides`] unless the
        /// elements lie row after row without gaps: copy such a view first
        /// (`as_standard_layout`).
        pub fn from_array(array: ArrayView2<'a, T>, grid: GridSpec) -> Result<Self> {
            check_shape(array.dim(), &grid)?;
            let strides = [array.strides()[0], array.strides()[1]];
            let values = array.to_slice().ok_or(Error::Strides { strides })?;
            Self::new(values, grid)
        }

        /// The raster as an array of `height` rows and `width` columns, without a copy.
        pub fn to_array(&self) -> ArrayView2<'a, T> {
            let sides = (self.grid.height as usize, self.grid.width as usize);
            ArrayView2::from_shape(sides, self.values).expect("a value for each cell")
        }
    }

    impl<T> Grid<T> {
        /// Takes an array of `height` rows and `width` columns as the raster of `grid`, without a copy.
        ///
        /// # Errors
        /// The errors of [`GridView::from_array`].
        pub fn from_array(array: Array2<T>, grid: GridSpec) -> Result<Self> {
            check_shape(array.dim(), &grid)?;
            let strides = [array.strides()[0], array.strides()[1]];
            if !array.is_standard_layout() {
                return Err(Error::Strides { strides });
            }
            let (mut values, start) = array.into_raw_vec_and_offset();
            // An array that was sliced may begin behind its memory's beginning, and end before its end.
            values.drain(..start.unwrap_or(0));
            values.truncate(grid.cells() as usize);
            Self::new(values, grid)
        }

        /// The raster as an array of `height` rows and `width` columns, without a copy.
        pub fn into_array(self) -> Array2<T> {
            let sides = (self.grid.height as usize, self.grid.width as usize);
            Array2::from_shape_vec(sides, self.values).expect("a value for each cell")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raster_has_a_value_for_each_cell() {
        let grid = GridSpec::of_pixels(3, 2);
        let lacking = Error::Length { what: "raster", expected: 6, found: 5 };
        assert_eq!(GridView::new(&[0; 5], grid), Err(lacking.clone()));
        assert_eq!(Grid::new(vec![0; 5], grid), Err(lacking));
        let raster = Grid::new(vec![1, 2, 3, 4, 5, 6], grid).unwrap();
        assert_eq!((raster.get(2, 1), raster.get(3, 0), raster.get(0, 2)), (Some(&6), None, None));
        assert_eq!(raster.view().values(), [1, 2, 3, 4, 5, 6]);
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_go_in_and_out_without_a_copy() {
        use ndarray::{Array2, s};
        let array = Array2::from_shape_fn((2, 3), |(row, column)| 10 * row + column);
        let grid = GridSpec::of_pixels(3, 2);
        let view = GridView::from_array(array.view(), grid).unwrap();
        assert_eq!(view.values().as_ptr(), array.as_ptr());
        assert_eq!(view.to_array()[[1, 2]], 12);
        let part = GridView::from_array(array.slice(s![1..2, ..]), GridSpec::of_pixels(3, 1));
        assert_eq!(part.unwrap().values(), [10, 11, 12]);
        let gaps = GridView::from_array(array.slice(s![.., 1..]), GridSpec::of_pixels(2, 2));
        assert_eq!(gaps, Err(Error::Strides { strides: [3, 1] }));
        let turned = GridView::from_array(array.t(), GridSpec::of_pixels(2, 3));
        assert_eq!(turned, Err(Error::Strides { strides: [1, 3] }));
        let other = GridView::from_array(array.view(), GridSpec::of_pixels(2, 3));
        assert_eq!(other, Err(Error::Shape { rows: 2, columns: 3, width: 2, height: 3 }));

        let address = array.as_ptr();
        let raster = Grid::from_array(array, grid).unwrap();
        assert_eq!(raster.values().as_ptr(), address);
        assert_eq!(raster.into_array().as_ptr(), address);
        let late = Array2::from_shape_vec((3, 1), vec![1, 2, 3]).unwrap().slice_move(s![1..2, ..]);
        let late = Grid::from_array(late, GridSpec::of_pixels(1, 1)).unwrap();
        assert_eq!(late.values(), [2]);
    }
}
