//! Scattered points in device memory.

use crate::{Column, Error, Extent, Gpu, Points, Result, Slice};

/// Points in device memory, as columns of equal length, and their extent.
///
/// The caller gives their extent; `gpu_scan::gpu::extent` finds it on the device. A point or value outside of the
/// extent makes results meaningless, but no call reads or writes beyond the given memory.
#[derive(Clone, Debug)]
pub struct DevicePoints<'a> {
    x: Slice<'a, f64>,
    y: Slice<'a, f64>,
    values: Vec<Slice<'a, f64>>,
    extent: Extent,
}

impl<'a> DevicePoints<'a> {
    /// Takes columns as points.
    ///
    /// # Errors
    /// - [`Error::Length`]: the columns differ in length.
    /// - [`Error::Length`]: there are points, but the extent does not have a range for each column of values.
    /// - [`Error::NoBounds`]: there are points, but the extent has no bounds.
    pub fn new(
        x: impl Into<Slice<'a, f64>>,
        y: impl Into<Slice<'a, f64>>,
        values: impl IntoIterator<Item = Slice<'a, f64>>,
        extent: Extent,
    ) -> Result<Self> {
        let points =
            Self { x: x.into(), y: y.into(), values: values.into_iter().collect(), extent };
        let check = |what, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(Error::Length { what, expected: expected as u64, found: found as u64 }),
        };
        check("column of y", points.y.len(), points.len())?;
        for column in &points.values {
            check("column of values", column.len(), points.len())?;
        }
        if !points.is_empty() {
            check("list of value ranges", points.extent.ranges.len(), points.values.len())?;
            points.extent.bounds.ok_or(Error::NoBounds)?;
        }
        Ok(points)
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Eastings, or longitudes.
    pub fn x(&self) -> Slice<'a, f64> {
        self.x
    }

    /// Northings, or latitudes.
    pub fn y(&self) -> Slice<'a, f64> {
        self.y
    }

    /// The columns of values.
    pub fn values(&self) -> &[Slice<'a, f64>] {
        &self.values
    }

    /// The extent of the points and of their values.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }
}

/// Points copied from the host to a device: their columns.
#[derive(Debug)]
pub struct UploadedPoints {
    x: Column<f64>,
    y: Column<f64>,
    values: Vec<Column<f64>>,
}

impl UploadedPoints {
    /// Copies points to the device. Waits for the copies.
    ///
    /// # Errors
    /// [`Error::Driver`], [`Error::OutOfMemory`] where the device or its memory fails.
    pub fn new(gpu: &Gpu, points: &Points<'_>) -> Result<Self> {
        let values = points.values.iter().map(|column| gpu.upload(column));
        let values = values.collect::<Result<_>>()?;
        Ok(Self { x: gpu.upload(points.x)?, y: gpu.upload(points.y)?, values })
    }

    /// Eastings, or longitudes.
    pub fn x(&self) -> &Column<f64> {
        &self.x
    }

    /// Northings, or latitudes.
    pub fn y(&self) -> &Column<f64> {
        &self.y
    }

    /// The points, which lie within `extent`.
    ///
    /// # Errors
    /// The errors of [`DevicePoints::new`].
    pub fn points(&self, extent: Extent) -> Result<DevicePoints<'_>> {
        DevicePoints::new(&self.x, &self.y, self.values.iter().map(Into::into), extent)
    }
}
