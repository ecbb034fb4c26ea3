//! Neighbours: the kernel that a search takes, and its arguments.

use gpu_core::{Blocks, Column};
use kernels_rs::idw::neighbours::interpolate;
use kernels_rs::idw::neighbours::nearest::MOST_KEPT;
use kernels_rs::idw::statistic;

use super::Call;
use super::number::DeviceNumber;
use crate::ground::RADIUS;
use crate::search::Search;
use crate::{Below, Result};

impl Call<'_> {
    /// The values of all queries from their neighbours, and statistics of those; `exponents`, where each
    /// query has a power of its own. Enqueues and returns.
    pub(super) fn search<T: DeviceNumber>(
        &self,
        exponents: Option<&Column<f64>>,
    ) -> Result<(Column<T>, Option<Column<T>>)> {
        let about = &self.index.about;
        let count = self.queries.count as usize;
        // SAFETY: every value of every query, and every statistic, is written, but for the columns that
        // only fill up.
        let (mut values, mut statistics) = unsafe {
            let values = self.gpu.uninitialized::<T>(about.padded() * count)?;
            let statistics = match self.params.statistics {
                true => Some(self.gpu.uninitialized::<T>(statistic::ALL * count)?),
                false => None,
            };
            (values, statistics)
        };
        let search = Search::of(self.params);
        let kept = !search.quadrants && search.max_points.max(search.min_points) <= MOST_KEPT;
        let kernel = T::neighbours(kept.then_some(search.max_points));
        let arguments = self.arguments(&search, exponents, &mut values, statistics.as_mut())?;
        // SAFETY: the index's columns and the queries' have the lengths that the kernel needs.
        unsafe {
            let blocks = Blocks::for_each(&kernel, self.queries.count)?;
            self.gpu.enqueue(kernel, blocks, arguments)?;
        }
        Ok((values, statistics))
    }

    fn arguments<T: DeviceNumber>(
        &self,
        search: &Search,
        exponents: Option<&Column<f64>>,
        values: &mut Column<T>,
        statistics: Option<&mut Column<T>>,
    ) -> Result<interpolate::Args<T>> {
        let &Self { index, queries, params, .. } = self;
        let (about, sorted) = (&index.about, index.searched()?);
        Ok(interpolate::Args {
            plan: index.plan.as_ptr(),
            starts: sorted.starts.as_ptr(),
            order: sorted.order.as_ptr(),
            places: sorted.places.as_ptr(),
            point_values: sorted.values.as_ptr(),
            ranges: index.ranges.as_ptr(),
            points: index.len() as u32,
            x: queries.x,
            y: queries.y,
            vectors: queries.vectors,
            count: queries.count,
            width: queries.width(),
            grid: queries.grid_numbers(),
            law: params.law(),
            smoothing: params.smoothing * params.smoothing,
            exponent: -0.5 * params.power,
            exponents: exponents.map_or(std::ptr::null(), Column::as_ptr),
            sphere: if about.ground.geographic { RADIUS } else { 0.0 },
            reach: [search.reach, search.arc],
            extent: search.extent,
            ellipse: search.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
            leaves_out: u32::from(self.leave_out),
            by_quadrants: u32::from(search.quadrants),
            max_points: search.max_points,
            min_points: search.min_points,
            max_per_quadrant: search.max_per_quadrant,
            min_per_quadrant: search.min_per_quadrant,
            falls_back: u32::from(search.below == Below::Nearest),
            value_count: about.ranges.len() as u32,
            values: values.as_mut_ptr(),
            statistics: statistics.map_or(std::ptr::null_mut(), Column::as_mut_ptr),
        })
    }
}
