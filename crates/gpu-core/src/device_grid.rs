//! Rasters in device memory.

use crate::{Column, Element, Error, Gpu, Result, Slice, SliceMut};

/// A row-major raster in device memory.
#[derive(Debug)]
pub struct DeviceGrid<T: Element> {
    column: Column<T>,
    width: u32,
    height: u32,
}

impl<T: Element> DeviceGrid<T> {
    /// Takes a column of `width * height` elements as a raster.
    ///
    /// # Errors
    /// [`Error::Length`] where it has another length.
    pub fn new(column: Column<T>, width: u32, height: u32) -> Result<Self> {
        let expected = u64::from(width) * u64::from(height);
        let found = column.len() as u64;
        if found != expected {
            return Err(Error::Length { what: "raster", expected, found });
        }
        Ok(Self { column, width, height })
    }

    /// Columns of the raster.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows of the raster.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The elements, row by row.
    pub fn column(&self) -> &Column<T> {
        &self.column
    }

    /// The elements, row by row, to be written. (A slice, for the column itself could be put in
    /// another's place, and the raster would not have its length any more.)
    pub fn column_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut::from(&mut self.column)
    }

    /// Enqueues a copy of as many elements, on the stream of this raster's column.
    ///
    /// # Errors
    /// As [`Column::copy_from`].
    pub fn copy_from<'a>(&mut self, elements: impl Into<Slice<'a, T>>) -> Result<()> {
        self.column.copy_from(elements)
    }

    /// The elements alone.
    pub fn into_column(self) -> Column<T> {
        self.column
    }
}

impl Gpu {
    /// Copies a row-major raster to the device. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::Length`] unless `host` has `width * height` elements, [`Error::OutOfMemory`],
    /// [`Error::Driver`].
    pub fn upload_grid<T: Element>(
        &self,
        host: &[T],
        width: u32,
        height: u32,
    ) -> Result<DeviceGrid<T>> {
        DeviceGrid::new(self.upload(host)?, width, height)
    }
}
