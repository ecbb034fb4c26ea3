//! Results on the device.

use gpu_core::{Column, Gpu, GridSpec};
use kernels_rs::idw::statistic;

use super::{DeviceTargets, Index};
use crate::points::Range;
use crate::statistics::moments_of;
use crate::{Number, Params, Result, Statistics, Summary, Surface};

/// Interpolated values on the device.
///
/// Example: see [the module](crate::gpu).
#[derive(Debug)]
#[non_exhaustive]
pub struct DeviceSurface<T: Number> {
    /// The values of each target, column after column; NaN where a target has none. There may be more columns than the
    /// points have: the kernels take groups of columns, and the surplus columns have no meaning.
    pub values: Column<T>,
    /// Where the values lie, if the targets are a grid.
    pub grid: Option<GridSpec>,
    /// The targets' number.
    count: usize,
    /// The points' number, and the ranges of their values.
    points: usize,
    ranges: Vec<Range>,
    statistics: Option<Column<T>>,
    /// Where all points count: what their mean and deviation follow from, then their lowest and highest value.
    sums: Option<Column<f64>>,
    nodata: f64,
}

impl<T: Number> DeviceSurface<T> {
    pub(super) fn new(
        index: &Index,
        targets: DeviceTargets,
        params: &Params,
        values: Column<T>,
        statistics: Option<Column<T>>,
        sums: Option<Column<f64>>,
    ) -> Result<Self> {
        let grid = targets.grid();
        Ok(Self {
            values,
            grid,
            count: targets.len() as usize,
            points: index.len(),
            ranges: index.about.ranges.clone(),
            statistics,
            sums,
            nodata: params.nodata,
        })
    }

    /// Combines values over parts of the points, in this many columns for this many targets.
    pub(super) fn of_means(
        values: Column<T>,
        grid: Option<GridSpec>,
        (count, columns): (usize, usize),
        points: usize,
        params: &Params,
    ) -> Self {
        let (ranges, nodata) = (vec![Range::NONE; columns], params.nodata);
        Self { values, grid, count, points, ranges, statistics: None, sums: None, nodata }
    }

    /// No target has a value.
    pub(super) fn nothing(
        gpu: &Gpu,
        index: &Index,
        targets: DeviceTargets,
        params: &Params,
    ) -> Result<Self> {
        let count = targets.len() as usize;
        // Every byte of NaN is set.
        let nodata = |columns: usize| gpu.filled_with_byte(0xff, columns * count);
        let statistics = if params.statistics { Some(nodata(statistic::ALL)?) } else { None };
        Self::new(index, targets, params, nodata(index.about.padded())?, statistics, None)
    }

    /// How many targets.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Copies the results to the host, with [`Params::nodata`] where there are none. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Surface<T>> {
        let columns = self.ranges.len();
        // Columns that only fill up were never written.
        let all = self.values.first_to_host(columns * self.count)?;
        let nodata = T::from_f64(self.nodata);
        let mut values: Vec<Vec<T>> = match columns {
            1 => vec![all],
            _ => (0..columns).map(|v| self.column(&all, v)).collect(),
        };
        let first = values.first().map_or(&[][..], |values| &values[..]);
        let missing = first.iter().filter(|v| v.is_missing()).count() as u64;
        let is_missing = |value: &&mut T| value.is_missing();
        values.iter_mut().flatten().filter(is_missing).for_each(|value| *value = nodata);
        let summary = Summary { points: self.points as u64, skipped: 0, nodata: missing };
        Ok(Surface { values, grid: self.grid, statistics: self.statistics()?, summary })
    }

    fn column(&self, all: &[T], column: usize) -> Vec<T> {
        all.iter().skip(column * self.count).take(self.count).copied().collect()
    }

    fn statistics(&self) -> Result<Option<Statistics<T>>> {
        let Some(statistics) = &self.statistics else { return Ok(None) };
        let all = statistics.to_host()?;
        let take = |column: usize| self.column(&all, column);
        let nearest_distance = take(statistic::NEAREST);
        if let Some(sums) = &self.sums {
            let (sums, offset) = (sums.to_host()?, self.ranges[0].offset);
            let [mean, deviation] = moments_of([sums[0], sums[1]], self.points, offset);
            let of_values = [sums[2], sums[3], mean, deviation];
            let count = self.points as u32;
            return Ok(Some(Statistics::constant(count, of_values, nearest_distance)));
        }
        let counts = take(statistic::COUNT).into_iter();
        Ok(Some(Statistics {
            count: counts.map(|n| if n.is_missing() { 0 } else { n.to_f64() as u32 }).collect(),
            min: take(statistic::MIN),
            max: take(statistic::MAX),
            mean: take(statistic::MEAN),
            deviation: take(statistic::DEVIATION),
            nearest_distance,
        }))
    }
}
