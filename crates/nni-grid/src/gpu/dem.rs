//! The result of an interpolation in device memory.

use gpu_core::{Column, DeviceGrid, Gpu, Grid, GridSlice, GridSpec, Slice, host_memory};
use kernels_rs::nni::tallies;

use crate::{Dem, Result, Summary};

/// A DEM in device memory: a raster for each column of values, and the layers that belong to all columns.
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Debug)]
pub struct DeviceDem {
    grid: GridSpec,
    /// As [`Dem::counts`].
    pub counts: Option<DeviceGrid<u32>>,
    /// As [`Dem::distances`].
    pub distances: Option<DeviceGrid<f32>>,
    /// As [`Dem::deviations`].
    pub deviations: Option<DeviceGrid<f32>>,
    /// The rasters of the groups in which the values were interpolated, one after the other, each with its
    /// number of values.
    pub(crate) rasters: Vec<(Column<f32>, usize)>,
    pub(crate) tallies: Tallies,
    points: u64,
    counted: Counted,
}

/// The counts of the kernels, and the index of the first bad point.
#[derive(Debug)]
pub(crate) struct Tallies {
    pub counts: Column<u64>,
    pub first_bad: Column<i64>,
}

impl Tallies {
    pub fn new(gpu: &Gpu) -> Result<Self> {
        let first_bad = gpu.filled_with_byte(0x7f, 1)?;
        Ok(Self { counts: gpu.zeroed(tallies::TALLIES)?, first_bad })
    }
}

/// The meaning of the kernels' tallies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The method on pixels.
    Queried,
    /// The method on pixels, with a pass over the cells after the queries.
    Finished,
    /// The exact method, which uses points outside the grid too.
    Exactly,
}

impl DeviceDem {
    /// A DEM without rasters yet.
    pub(crate) fn new(grid: GridSpec, points: usize, counted: Counted, tallies: Tallies) -> Self {
        let (counts, distances, deviations) = (None, None, None);
        let (rasters, points) = (Vec::new(), points as u64);
        Self { grid, counts, distances, deviations, rasters, tallies, points, counted }
    }

    /// Where the cells lie.
    pub fn grid(&self) -> &GridSpec {
        &self.grid
    }

    /// The number of rasters of values.
    pub fn len(&self) -> usize {
        self.rasters.iter().map(|(_, values)| values).sum()
    }

    /// Whether the points had no values.
    pub fn is_empty(&self) -> bool {
        self.rasters.is_empty()
    }

    /// The raster of a column of values; NaN is NODATA. Other functions of Tessera take it.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where there is no such column.
    pub fn values(&self, column: usize) -> Result<GridSlice<'_, f32>> {
        let (cells, len) = (self.grid.cells() as usize, self.len());
        let mut left = column;
        for (raster, values) in &self.rasters {
            if left < *values {
                let slice = Slice::from(raster).slice(left * cells..(left + 1) * cells)?;
                return Ok(GridSlice::new(slice, self.grid)?);
            }
            left -= values;
        }
        let (start, end, len) = (column as u64, column as u64 + 1, len as u64);
        Err(gpu_core::Error::OutOfBounds { start, end, len }.into())
    }

    /// How many points were read, merged and left out. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn summary(&self) -> Result<Summary> {
        if self.is_empty() {
            return Ok(Summary::default());
        }
        Ok(summary(&self.tallies.counts.to_host()?, self.points, self.counted))
    }

    /// Copies everything to the host. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Dem> {
        let floats = |layer: &Option<DeviceGrid<f32>>| layer.as_ref().map(|l| l.to_host());
        Ok(Dem {
            grid: self.grid,
            summary: self.summary()?,
            values: (0..self.len()).map(|column| self.raster(column)).collect::<Result<_>>()?,
            counts: self.counts.as_ref().map(DeviceGrid::to_host).transpose()?,
            distances: floats(&self.distances).transpose()?,
            deviations: floats(&self.deviations).transpose()?,
        })
    }

    /// The raster of a column of values, on the host.
    pub(crate) fn raster(&self, column: usize) -> Result<Grid<f32>> {
        let gpu = self.tallies.counts.gpu();
        let mut host = host_memory::zeroed(self.grid.cells() as usize)?;
        // SAFETY: the host's array stays until the stream has been waited for.
        let copied = unsafe { gpu.enqueue_read(self.values(column)?.values(), &mut host) };
        gpu.synchronize()?;
        copied?;
        Ok(Grid::new(host, self.grid)?)
    }
}

/// The summary from the kernels' tallies.
pub(crate) fn summary(counts: &[u64], points: u64, counted: Counted) -> Summary {
    let (outside, sites) = (counts[tallies::OUTSIDE], counts[tallies::SITES]);
    let nodata = match counted {
        Counted::Queried => counts[tallies::UNITED],
        Counted::Finished | Counted::Exactly => counts[tallies::LEFT],
    };
    let skipped = if counted == Counted::Exactly { 0 } else { outside };
    Summary { points, outside, sites, merged: points.saturating_sub(skipped + sites), nodata }
}
