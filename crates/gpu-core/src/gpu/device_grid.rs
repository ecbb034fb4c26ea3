//! Rasters in device memory.

use crate::raster::check_raster;
use crate::{Column, Element, Gpu, Grid, GridSpec, GridView, Result, Slice, SliceMut};

/// A row-major raster in device memory, row 0 in the north.
#[derive(Debug)]
pub struct DeviceGrid<T: Element> {
    column: Column<T>,
    grid: GridSpec,
}

/// A row-major raster in device memory, borrowed: a slice of a column, and where its cells lie.
#[derive(Clone, Copy, Debug)]
pub struct GridSlice<'a, T> {
    values: Slice<'a, T>,
    grid: GridSpec,
}

impl<T: Element> DeviceGrid<T> {
    /// Takes a column as the raster of `grid`.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) unless there is an element for each cell, and the errors of
    /// [`GridSpec::check`].
    pub fn from_column(column: Column<T>, grid: GridSpec) -> Result<Self> {
        check_raster(column.len(), &grid)?;
        Ok(Self { column, grid })
    }

    /// Copies a raster to the device. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn upload<'a>(gpu: &Gpu, raster: impl Into<GridView<'a, T>>) -> Result<Self> {
        let raster = raster.into();
        Self::from_column(gpu.upload(raster.values())?, *raster.grid())
    }

    /// Where the cells lie.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }

    /// Columns of the raster.
    pub fn width(&self) -> u32 {
        self.grid.width
    }

    /// Rows of the raster.
    pub fn height(&self) -> u32 {
        self.grid.height
    }

    /// The elements, row by row.
    pub fn column(&self) -> &Column<T> {
        &self.column
    }

    /// Returns the elements for writing, row by row. It is a slice, since a caller could swap the column itself for
    /// another of the wrong length.
    pub fn column_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut::from(&mut self.column)
    }

    /// Enqueues a copy of another raster's elements, on the stream of this raster's column.
    ///
    /// # Errors
    /// The errors of [`Column::copy_from`].
    pub fn copy_from<'a>(&mut self, elements: impl Into<Slice<'a, T>>) -> Result<()> {
        self.column.copy_from(elements)
    }

    /// The elements alone.
    pub fn into_column(self) -> Column<T> {
        self.column
    }

    /// Copies the raster to the host. Waits for the stream.
    ///
    /// # Errors
    /// The errors of [`Column::to_host`].
    pub fn to_host(&self) -> Result<Grid<T>> {
        Grid::new(self.column.to_host()?, self.grid)
    }
}

impl<'a, T> GridSlice<'a, T> {
    /// Takes a slice as the raster of `grid`.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) unless there is an element for each cell, and the errors of
    /// [`GridSpec::check`].
    pub fn new(values: impl Into<Slice<'a, T>>, grid: GridSpec) -> Result<Self> {
        let values = values.into();
        check_raster(values.len(), &grid)?;
        Ok(Self { values, grid })
    }

    /// The elements, row by row.
    pub fn values(&self) -> Slice<'a, T> {
        self.values
    }

    /// Where the cells lie.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }
}

impl<'a, T: Element> From<&'a DeviceGrid<T>> for GridSlice<'a, T> {
    fn from(raster: &'a DeviceGrid<T>) -> Self {
        Self { values: (&raster.column).into(), grid: raster.grid }
    }
}
